"""The games as PettingZoo AEC environments.

``raw_env`` is the bare environment. ``env`` behaves as it would under PettingZoo's three standard wrappers
(TerminateIllegal, AssertOutOfBounds, OrderEnforcing), with their checks built in: the wrappers themselves would take
most of the time of a step.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.env import AECIterable, AECIterator
from pettingzoo.utils.env_logger import EnvLogger

from trick_envs.engine.game import Setup, load_rules, setup
from trick_envs.engine.kernels import DEAL_ENDED, ILLEGAL, MATCH_ENDED
from trick_envs.interfaces.batch import checked_seed, fresh_seed, reward_mode
from trick_envs.interfaces.reading import dealt, phase_name, why_illegal
from trick_envs.interfaces.text import describe

_SEAT_BITS = DEAL_ENDED - 1
_ONLY_AFTER_RESET = frozenset(
    {
        "rewards",
        "terminations",
        "truncations",
        "infos",
        "agent_selection",
        "num_agents",
        "agents",
        "_cumulative_rewards",
    }
)
_RESET_OPTIONS = ("dealer", "deals")


class RawEnv(AECEnv[str, Any, Any]):
    """A trick-taking game as a PettingZoo AEC environment, without checks of the order of calls.

    Observation: ``{"observation": (D,) float32, "action_mask": (A,) int8}``, relative to the seat; ``layout`` says
    what is where. The mask is all zeros for a seat that does not act and for a finished game.
    Action: ``Discrete(A)``, the kind of card to name (``setup.deck.names``).
    Reward: paid when a deal ends; see ``reward``.
    End: all seats terminate on the same step, when the match is over.
    State: ``state()``, everything, nothing hidden.

    Args:
        game: the game as it is set up.
        reward: ``"score"`` (the rules' points), ``"zero_sum"`` (own minus the mean of all; in team games own team
            minus the other) or ``"win"`` (at the end of the match the winners share +1, the others -1; 0 if all win).
        render_mode: ``None``, ``"ansi"`` (``render()`` returns text) or ``"human"`` (every step prints it).
    """

    def __init__(self, game: Setup, reward: str = "score", render_mode: str | None = None) -> None:
        super().__init__()
        self.setup, self.reward, self.render_mode = game, reward, render_mode
        name = f"{game.rules.name}_v{game.rules.version}"
        modes = ["ansi", "human"]
        self.metadata: dict[str, Any] = {
            "name": name,
            "render_modes": modes,
            "is_parallelizable": False,
            "render_fps": 2,
        }
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode: expected None, 'ansi' or 'human', not {render_mode!r}")
        self.num_players = game.num_players
        self.possible_agents = [f"player_{seat}" for seat in range(game.num_players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        low, high = game.layout.bounds()
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(low, high, dtype=np.float32),
                    "action_mask": spaces.Box(0, 1, (game.num_actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(game.num_actions) for agent in self.possible_agents}
        self.state_space = spaces.Box(*game.state_layout.bounds(), dtype=np.float32)
        self._states = np.zeros(1, game.rules.dtype)
        self._started = False  # some match has been started, so that there is a stream to go on
        self._bind()

    def _bind(self) -> None:
        self._mode = reward_mode(self.reward)
        self._kernels = self.setup.kernels
        self._play, self._look = self._kernels.step_one, self._kernels.look
        self._pay = np.zeros(self.num_players, np.float64)
        self._view = np.zeros(self.setup.layout.size, np.int8)
        self._mask = np.zeros(self.setup.num_actions, np.int8)

    # --- PettingZoo ---------------------------------------------------------------------------------------------

    def observation_space(self, agent: str) -> Any:
        """The space of an agent's observation: the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """The space of an agent's actions: the same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Starts a match.

        Args:
            seed: fixes every deal of the match, and the first dealer. ``None`` goes on in the stream of the matches
                before, or starts anywhere.
            options: ``dealer``, the seat that deals first; ``deals``, a list of deals as in ``record()`` (``hands``,
                ``stock`` where there is one, and perhaps ``dealer``) to be played instead of random ones. If there
                are fewer than the match needs, the rest are random. A record's own ``deals`` can be given back whole.

        Raises:
            ValueError: for a bad seed, a bad dealer, or a deal that is not one; says which card is wrong.
        """
        given = self._read_options(options or {})
        if seed is not None:
            seed = checked_seed(seed)
        elif self._started:
            seed = int(self._kernels.next_seed(self._states))
        else:
            seed = fresh_seed()
        self._kernels.start_match(self._states, 0, self.setup.template, np.uint64(seed))
        self._started = True
        self._given = given
        self._deals: list[dict[str, Any]] = []
        self._actions: list[tuple[int, int]] = []
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self._paid = self._finished = False
        self._open_deal()
        self.agent_selection = self.possible_agents[int(self._states["seat"][0])]

    def step(self, action: Any) -> None:
        """Plays the card that ``agent_selection`` names.

        Raises:
            ValueError: if the card is not legal; names the seat, the card and the rule. Nothing has changed then.
        """
        agents = self.agents
        if not agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        agent = self.agent_selection
        if self._finished:
            self._was_dead_step(action)
            return
        played = int(action) if action is not None else ILLEGAL
        result = self._play(self._states, played, self._mode, self._pay)
        if result == ILLEGAL:
            if action is None:
                raise ValueError(f"{agent} has to name a card, not None: it is not done yet")
            raise ValueError(why_illegal(self.setup, self._states, played))
        self._actions.append((self._seats[agent], played))
        if self._paid:
            self.rewards = dict.fromkeys(agents, 0.0)
            self._paid = False
        self._cumulative_rewards[agent] = 0.0
        if result > _SEAT_BITS:
            result = self._end_deal(result)
        self.agent_selection = self.possible_agents[result]
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, npt.NDArray[Any]]:
        """What a seat sees now: fresh arrays, for any seat, at any moment, also after the end."""
        view, mask = self._view, self._mask
        self._look(self._states, 0, self._seats[agent], view, mask)
        return {"observation": view.astype(np.float32), "action_mask": mask.copy()}

    def state(self) -> npt.NDArray[np.float32]:
        """Everything, nothing hidden: ``(S,) float32`` (``setup.state_layout`` says what is where)."""
        out = np.zeros(self.setup.state_layout.size, np.int8)
        self._kernels.look_at_all(self._states, 0, out)
        return out.astype(np.float32)

    def render(self) -> str | None:
        """The table as text: returned in mode ``"ansi"``, printed in mode ``"human"``."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: make the environment with 'ansi' or 'human'")
            return None
        text = describe(self.setup, self._states)
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def close(self) -> None:
        """Nothing to release: the environment can still be looked at, copied and reset."""

    # --- what these games add ------------------------------------------------------------------------------------

    @property
    def layout(self) -> Any:
        """The observation, block by block."""
        return self.setup.layout

    @property
    def phase(self) -> str:
        """What naming a card means now: ``lead``, ``follow``, ``pass``, ``keep``, ``pick``, or ``over``."""
        return phase_name(self._states)

    @property
    def states(self) -> npt.NDArray[Any]:
        """The game itself: an array of one record, as agents take it."""
        return self._states

    def record(self) -> dict[str, Any]:
        """The match so far, as a JSON-serialisable dict that never changes once returned.

        ``options`` are there where one is not the default. ``deals`` has an entry a deal: ``dealer``, ``hands`` as
        dealt, ``stock`` in drawing order, ``actions`` as ``[seat, card]``, and its ``score`` by seat (``None`` while
        it is being played).
        """
        if not self._deals_open():
            raise RuntimeError("record() needs a match: call reset() first")
        deck = self.setup.deck
        deals = []
        for deal in self._deals:
            hands, stock = dealt(self.setup, deal["order"])
            actions = [[seat, deck.format(action)] for seat, action in deal["actions"]]
            score = None if deal["score"] is None else list(deal["score"])
            deals.append({"dealer": deal["dealer"], "hands": hands, "stock": stock, "actions": actions, "score": score})
        state = self._states[0]
        over = self.phase == "over"
        bits = int(self._kernels.winners_of(self._states)) if over else 0
        return {
            "game": self.setup.rules.name,
            "version": self.setup.rules.version,
            "num_players": self.num_players,
            "num_deals": self.setup.num_deals,
            **({"options": dict(self.setup.options)} if self.setup.options != self.setup.rules.game.options else {}),
            "seed": int(state.seed),
            "deals": deals,
            "score": [int(score) for score in state.score[: self.num_players]],
            "winners": [seat for seat in range(self.num_players) if (bits >> seat) & 1] if over else None,
        }

    def get_state(self) -> bytes:
        """Everything about the running match, its record included, as bytes for ``set_state``."""
        if not self._deals_open():
            raise RuntimeError("get_state() needs a match: call reset() first")
        head = {
            "setup": self._setup_key(),
            "deals": [{**deal, "order": list(map(int, deal["order"]))} for deal in self._deals],
            "given": self._given,
            "bookkeeping": {name: getattr(self, name) for name in _BOOKKEEPING},
        }
        return json.dumps(head).encode() + b"\n" + self._states.tobytes()

    def set_state(self, state: bytes) -> None:
        """Goes on from what ``get_state`` of an equal environment returned.

        Raises:
            ValueError: if the bytes are none of those, or are of another game, number of players or reward.
        """
        head_bytes, found, record = state.partition(b"\n")
        try:
            head = json.loads(head_bytes) if found else {}
        except ValueError:
            head = {}
        if not isinstance(head, dict) or "setup" not in head:
            raise ValueError("set_state: these bytes are not from get_state()")
        if head["setup"] != self._setup_key() or len(record) != self._states.nbytes:
            raise ValueError(
                f"set_state: this is a state of {head['setup']}, and the environment is {self._setup_key()}"
            )
        self._states = np.frombuffer(record, self._states.dtype).copy()
        self._deals = [
            {**deal, "order": np.array(deal["order"], np.int8), "actions": [tuple(pair) for pair in deal["actions"]]}
            for deal in head["deals"]
        ]
        self._given = [tuple(deal) for deal in head["given"]]
        for name, value in head["bookkeeping"].items():
            setattr(self, name, value)
        self._actions = self._deals[-1]["actions"]
        self._started = True

    # --- inside --------------------------------------------------------------------------------------------------

    def _setup_key(self) -> list[Any]:
        game = self.setup
        digest = hashlib.sha256(repr(game.rules.dtype.descr).encode()).hexdigest()[:8]
        return [
            game.rules.name,
            game.rules.version,
            digest,
            game.num_players,
            game.num_deals,
            game.options,
            self.reward,
        ]

    def _read_options(self, options: Mapping[str, Any]) -> list[tuple[int | None, list[int]]]:
        """The deals to be played instead of random ones: dealer (if given) and cards in dealing order."""
        for option in options:
            if option not in _RESET_OPTIONS:
                known = " and ".join(map(repr, _RESET_OPTIONS))
                gymnasium.logger.warn(f"reset: option {option!r} means nothing here (the options are {known})")
        deals = options.get("deals") or []
        if isinstance(deals, (str, Mapping)) or not isinstance(deals, Sequence):
            raise ValueError(f"options['deals']: expected a list of deals, not {deals!r}")
        given = [self._read_deal(number, deal) for number, deal in enumerate(deals)]
        dealer = self._read_dealer(options.get("dealer"), "options['dealer']")
        self._dealer = given[0][0] if given and dealer is None else dealer
        if given and given[0][0] not in (None, self._dealer):
            raise ValueError(f"options['dealer'] is {dealer}, but options['deals'][0] is dealt by {given[0][0]}")
        return given

    def _read_dealer(self, dealer: Any, where: str) -> int | None:
        if dealer is None:
            return None
        whole = isinstance(dealer, (int, np.integer)) and not isinstance(dealer, bool)
        if not whole or not 0 <= dealer < self.num_players:
            raise ValueError(f"{where}: expected a seat of 0 to {self.num_players - 1}, not {dealer!r}")
        return int(dealer)

    def _read_deal(self, number: int, deal: Any) -> tuple[int | None, list[int]]:
        where = f"options['deals'][{number}]"
        if not isinstance(deal, Mapping) or not isinstance(deal.get("hands"), Sequence):
            raise ValueError(f"{where}: expected a dict with 'hands' (and 'dealer', 'stock'), not {deal!r}")
        hands, stock = deal["hands"], deal.get("stock") or []
        if len(hands) != self.num_players:
            raise ValueError(f"{where}: expected {self.num_players} hands, not {len(hands)}")
        try:
            order = self.setup.deck.parse_deal(hands, stock, self.setup.hand_size)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        return self._read_dealer(deal.get("dealer"), f"{where}['dealer']"), order

    def _open_deal(self) -> None:
        """Opens the record of a deal that has just been dealt, or deals a given one instead."""
        number = len(self._deals)
        dealer, order = self._given[number] if number < len(self._given) else (None, None)
        if number == 0:
            dealer = self._dealer
        if dealer is not None or order is not None:
            state = self._states[0]
            cards = state.order.copy() if order is None else np.array(order, np.int8)
            self._kernels.set_order(self._states, cards, state.dealer if dealer is None else dealer)
        self._actions = []
        deal = {
            "dealer": int(self._states["dealer"][0]),
            "order": self._states["order"][0].copy(),
            "actions": self._actions,
            "score": None,
        }
        self._deals.append(deal)

    def _end_deal(self, result: int) -> int:
        """Books the deal that has just ended; returns the seat to act next."""
        paid = self._pay.tolist()
        for agent, reward in zip(self.agents, paid, strict=True):
            self.rewards[agent] = reward
            self._cumulative_rewards[agent] += reward
        self._paid = True
        self._deals[-1]["score"] = self._states["deal_score"][0][: self.num_players].tolist()
        if result & MATCH_ENDED:
            self._finished = True
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            self._open_deal()
        return int(self._states["seat"][0])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _BOUND}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._deals_open():
            self._actions = self._deals[-1]["actions"]
        self._bind()

    def _deals_open(self) -> bool:
        return bool(self.__dict__.get("_deals"))

    def __getattr__(self, name: str) -> Any:  # only for what is not there
        if name in _ONLY_AFTER_RESET:
            raise AttributeError(f"{name} cannot be accessed before reset")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


_BOOKKEEPING = (
    "agents", "rewards", "_cumulative_rewards", "terminations", "truncations", "infos", "agent_selection",
    "_skip_agent_selection", "_paid", "_finished", "_dealer",
)  # fmt: skip
_BOUND = frozenset({"_kernels", "_play", "_look", "_pay", "_view", "_mask", "_mode"})


class Env(RawEnv):
    """``RawEnv`` with what PettingZoo's three standard wrappers check.

    - An action outside the action space is an ``AssertionError``.
    - An illegal action ends the match: its agent gets -1, the others 0, all terminate and truncate.
    - ``step``, ``observe``, ``state``, ``render`` and ``agent_iter`` before ``reset`` are errors, and a step after
      the end is a warning; ``agent_iter`` wants a step between two agents.
    """

    _has_reset = False
    _has_updated = False
    _illegal = False  # the match was ended by an illegal action

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        super().reset(seed, options)
        self._has_reset = self._has_updated = True
        self._illegal = False

    def step(self, action: Any) -> None:
        if not self._has_reset:
            EnvLogger.error_step_before_reset()
        self._has_updated = True
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        agent = self.agent_selection
        in_space = type(action) is int and 0 <= action < self.setup.num_actions
        dead = action is None and self._finished
        assert in_space or dead or self.action_spaces[agent].contains(action), "action is not in action space"
        if self._finished:
            self._was_dead_step(action)
            return
        try:
            super().step(action)
        except ValueError:
            self._end_by_illegal(agent)

    def _end_by_illegal(self, agent: str) -> None:
        EnvLogger.warn_on_illegal_move()
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[agent] = -1.0
        self._cumulative_rewards[agent] = 0.0
        self._accumulate_rewards()
        self._deads_step_first()
        self._finished = self._illegal = True

    def observe(self, agent: str) -> dict[str, npt.NDArray[Any]]:
        if not self._has_reset:
            EnvLogger.error_observe_before_reset()
        seen = super().observe(agent)
        if self._illegal:
            seen["action_mask"][:] = 0
        return seen

    def state(self) -> npt.NDArray[np.float32]:
        if not self._has_reset:
            EnvLogger.error_state_before_reset()
        return super().state()

    def render(self) -> str | None:
        if not self._has_reset:
            EnvLogger.error_render_before_reset()
        return super().render()

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Any, Any]:
        if not self._has_reset:
            EnvLogger.error_agent_iter_before_reset()
        return _StrictIterable(self, max_iter)

    def set_state(self, state: bytes) -> None:
        super().set_state(state)
        self._has_reset = self._has_updated = True
        self._illegal = self._finished and self.phase != "over"


class _StrictIterable(AECIterable[str, Any, Any]):
    def __iter__(self) -> AECIterator[str, Any, Any]:
        return _StrictIterator(self.env, self.max_iter)


class _StrictIterator(AECIterator[str, Any, Any]):
    def __next__(self) -> str:
        agent = super().__next__()
        assert self.env._has_updated, "need to call step() or reset() in a loop over `agent_iter`"
        self.env._has_updated = False
        return agent


def environments(game: str) -> tuple[Callable[..., Env], Callable[..., RawEnv]]:
    """``env`` and ``raw_env`` of a game, as its ``*_v0`` module offers them."""

    def env(**options: Any) -> Env:
        return _make(Env, game, options)

    def raw_env(**options: Any) -> RawEnv:
        return _make(RawEnv, game, options)

    for function, wrapped in ((env, "with the checks of PettingZoo's standard wrappers"), (raw_env, "without checks")):
        function.__signature__ = _signature(game)  # type: ignore[attr-defined]
        function.__doc__ = f"{load_rules(game).game.title}, {wrapped}. {_ARGUMENTS}"
    return env, raw_env


_ARGUMENTS = """Arguments, all by name:

    num_players: seats, where the rules allow a choice.
    num_deals: exact number of deals in a match; None plays what the original plays or recommends.
    reward: "score", "zero_sum" or "win".
    render_mode: None, "ansi" or "human".
    and the game's own options.
"""


def _make(kind: Any, game: str, options: dict[str, Any]) -> Any:
    own = {name: options.pop(name) for name in ("reward", "render_mode") if name in options}
    return kind(setup(game, **options), **own)


def _signature(game: str) -> inspect.Signature:
    declared = load_rules(game).game
    defaults: dict[str, Any] = {"num_deals": None, "reward": "score", "render_mode": None, **declared.options}
    if len(declared.players) > 1:
        defaults = {"num_players": declared.default_players, **defaults}
    by_name = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature([inspect.Parameter(name, by_name, default=value) for name, value in defaults.items()])
