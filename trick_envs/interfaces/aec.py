"""The games as PettingZoo AEC environments: the bare one, ``raw_env``. ``env`` is in ``env.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger

from trick_envs.engine.arguments import action_number, reward_mode, seat_or_agent
from trick_envs.engine.copies import OwnCopies
from trick_envs.engine.game import Game
from trick_envs.engine.history import Events, Recall
from trick_envs.engine.kernels.observing import ROOM_BEHIND
from trick_envs.engine.observation import Layout
from trick_envs.engine.play_log import layout_of, with_history
from trick_envs.engine.positions import phase_name, why_illegal
from trick_envs.engine.rng import checked_seed, fresh_seed
from trick_envs.engine.state import States
from trick_envs.errors import IllegalAction, InputError, InvalidAction, shown
from trick_envs.interfaces.options import given_deals, reset_options
from trick_envs.interfaces.rendering import ALL, FPS, MODES, Rendered, Rendering, no_render_mode
from trick_envs.matches.match import Match
from trick_envs.matches.record import Record
from trick_envs.matches.viewing import match_view
from trick_envs.view import TableView

_ONLY_AFTER_RESET = frozenset(
    {
        "rewards",
        "terminations",
        "truncations",
        "infos",
        "agent_selection",
        "agents",
        "_cumulative_rewards",
        "_states",
    }
)
Action: TypeAlias = int | np.integer | npt.NDArray[np.integer] | None  # ``None`` is the dead step

_ONLY_ROW = np.zeros(1, np.int64)
_FLOAT, _BYTE = np.dtype(np.float32), np.dtype(np.int8)
_empty = np.empty


class Observation(TypedDict):
    """What an agent sees: ``(D,) float32``, and its legal actions, ``(A,) int8``."""

    observation: npt.NDArray[np.float32]
    action_mask: npt.NDArray[np.int8]


class _Seats(dict[str, int]):
    """The seats of the agents."""

    def __missing__(self, agent: object) -> NoReturn:
        raise InputError(f"agent: expected one of {', '.join(self)}, not {shown(agent)}")


class RawEnv(OwnCopies, AECEnv[str, Observation, int | None]):
    """A trick-taking game as a PettingZoo AEC environment, without checks of the order of calls.

    - Observation: ``{"observation": (D,) float32, "action_mask": (A,) int8}``, relative to the seat; ``layout`` says
      what is where. The mask is all zeros for a seat that does not act and for a finished game.
    - Action: ``Discrete(A)``, the kind of card to name (``game.deck.names``).
    - Reward: paid when a deal ends; see ``reward``.
    - End: all seats terminate on the same step, when the match is over.
    - State: ``state()``, ``(S,) float32``, the position with all hidden information.

    Args:
        game: the game.
        reward: ``"score"`` (the rules' points), ``"zero_sum"`` (own minus the mean of all; in team games own team
            minus the other) or ``"win"`` (at the end of the match the winners share +1, the others -1; 0 if all win).
        render_mode: ``None``, ``"ansi"`` (``render()`` returns text), ``"rgb_array"`` (``(600, 800, 3) uint8``, with
            Pillow) or ``"human"`` (every step shows it: in a window with pygame-ce and a display, else as text).
        render_view: ``"all"``, or the seat whose view is rendered. (``None``: ``render_observer`` says it.)
        observation: ``"position"``, or ``"history"``, with blocks that say when every card was played.
    """

    def __init__(
        self,
        game: Game,
        reward: str = "score",
        render_mode: str | None = None,
        render_view: int | str | None = ALL,
        observation: str = "position",
    ) -> None:
        super().__init__()
        self._shows_history = with_history(observation)
        self._layout = layout_of(game, observation)
        self._rendering, self.render_observer = Rendering(game, render_mode, render_view), 0
        self.game, self.reward, self.render_mode = game, reward, render_mode
        self.metadata: dict[str, Any] = {
            "name": game.type.versioned_name,
            "render_modes": [*MODES],
            "is_parallelizable": False,
            "render_fps": FPS,
        }
        self.num_players = game.num_players
        self.possible_agents = [f"player_{seat}" for seat in range(game.num_players)]
        self._seats = _Seats((agent, seat) for seat, agent in enumerate(self.possible_agents))
        low, high = self._layout.bounds()
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
        reward_mode(reward)
        self._match: Match | None = None
        self._bind()

    _maker = "raw_env"
    _complete = True  # whether the last step, reset or set_state has run to its end
    _taken_up: tuple[Match, bool, int] | None = None  # what everything is to follow from, while it does not
    _finished = True  # no match is going on: only dead steps are left, or none
    _illegal = False  # the match was ended by an illegal action
    _ends_by_illegal = False  # whether it can be
    _has_updated = False  # whether there has been a step or reset since ``agent_iter`` last named an agent

    def _bind(self) -> None:
        self._shape, self._mask_shape = (self._layout.size,), (self.game.num_actions,)
        self._scratch = np.empty(self.game.layout.size + ROOM_BEHIND, np.int8)

    # --- PettingZoo ---------------------------------------------------------------------------------------------

    def observation_space(self, agent: str) -> spaces.Dict:
        """The space of an agent's observation: the same object at every call."""
        return self.observation_spaces[self.possible_agents[self._seat(agent)]]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The space of an agent's actions: the same object at every call."""
        return self.action_spaces[self.possible_agents[self._seat(agent)]]

    def _seat(self, agent: str) -> int:
        try:
            return self._seats[agent]
        except TypeError:  # a list, for example
            return self._seats.__missing__(agent)

    def reset(self, seed: int | None = None, options: Mapping[str, object] | None = None) -> None:
        """Starts a match.

        Args:
            seed: fixes every deal of the match, and the first dealer. ``None`` continues the random stream of the
                previous match; without one, the seed is random.
            options: ``dealer``, the seat that deals first; ``deals``, a list of deals as in ``record()`` (``hands``,
                ``stock`` if the game has one, and optionally ``dealer``) to be played instead of random ones. If there
                are fewer than the match needs, the rest are random. The ``deals`` of a record can be passed unchanged.

        Raises:
            ValueError: for an invalid seed, dealer or deal; names the wrong card.
        """
        given = given_deals(self.game, reset_options(options))
        if seed is not None:
            seed = checked_seed(seed)
        elif self._match is not None:
            seed = self._match.next_seed
        else:
            seed = fresh_seed()
        self._take_up(Match(self.game, seed, given, self.reward))
        self._has_updated = True

    def _take_up(self, match: Match, illegal: bool = False, dead_steps: int = 0) -> None:
        """Goes on with another match: whole, or, if that stops before it has begun, not at all."""
        try:
            self._complete = False
            self._taken_up = match, illegal, dead_steps
            self._recover()
        except BaseException:
            self._recover()
            raise

    def _begin(self, match: Match) -> None:
        """Starts with a match that has just been dealt."""
        self._match, self.agents, self._illegal = match, self.possible_agents[:], False
        self._states, self._play = match.states, match.play
        self._observe = self.game.kernels.direct("observe_float")
        self._recall: Recall | None = None
        if self._shows_history:
            self._observe_position, self._observe = self._observe, self._observe_history
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self._paid = self._finished = False
        self.agent_selection = self.possible_agents[match.seat]

    def step(self, action: Action) -> None:
        """Plays the card that ``agent_selection`` names.

        Raises:
            IllegalAction: names the seat, the card and the rule. Nothing has changed then.
            InvalidAction: if it is not one whole number (``3``, ``np.int64(3)``, ``np.array([3])``).
        """
        if not self._complete:
            self._recover()
        self._has_updated = True
        try:
            if self._finished:
                self._dead_step(action)
            elif not self._advance(action if type(action) is int else self._number(action)):
                self._refuse(self._number(action))
        except BaseException:
            if not self._complete:
                self._recover()
            raise

    def _refuse(self, action: int) -> None:
        raise IllegalAction(why_illegal(self.game, self._states, action))

    def _recover(self) -> None:
        """Makes everything follow from the match again: a step or a reset has stopped half-way, by Ctrl-C for example.

        The match, the seats that have made their dead step and an illegal end change at once, or not at all.
        """
        if self._taken_up is None and self._match is not None:
            self._taken_up = self._match, self._illegal, len(self.possible_agents) - len(self.agents)
        if self._taken_up is not None:
            self._resume(*self._taken_up)
        self._taken_up = None
        self._complete = True

    def _dead_step(self, action: Action) -> None:
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        if action is not None:
            self._was_dead_step(action)  # which says that it has to be ``None``
        self._complete = False
        self._was_dead_step(None)
        self._complete = True

    def _number(self, action: object) -> int:
        if action is None:
            raise InvalidAction(f"{self.agent_selection} has to name a card, not None: it is not done yet")
        return action_number(action)

    def _advance(self, action: int) -> bool:
        """Plays an action and pays; returns whether it was legal. If not, nothing has changed."""
        self._complete = False
        result = self._play(action)
        if result < 0:
            self._complete = True
            return False
        match, agents = self._match, self.possible_agents
        assert match is not None
        if self._paid:
            self.rewards = dict.fromkeys(agents, 0.0)
            self._paid = False
        self._cumulative_rewards[self.agent_selection] = 0.0
        if result:
            for each, reward in zip(agents, match.ended.rewards, strict=True):
                self.rewards[each] = reward
                self._cumulative_rewards[each] += reward
            self._paid = True
            if match.over:
                self._finished = True
                self.terminations = dict.fromkeys(agents, True)
        self.agent_selection = agents[match.seat]
        self._complete = True
        if self.render_mode == "human":
            self.render()
        return True

    @property
    def num_agents(self) -> int:
        """How many seats have not made their last step."""
        if self._match is None:
            raise AttributeError("num_agents cannot be accessed before reset")
        return len(self.agents)

    def observe(self, agent: str) -> Observation:
        """What a seat sees now, for any seat and at any time, also after the end; returns new arrays."""
        if self._match is None:
            EnvLogger.error_observe_before_reset()
        observation, mask = _empty(self._shape, _FLOAT), _empty(self._mask_shape, _BYTE)
        try:
            seat = self._seats[agent]
        except TypeError:  # what has no hash
            seat = self._seat(agent)
        self._observe(self._states, seat, self._scratch, observation, mask)
        return {"observation": observation, "action_mask": mask}

    def _observe_history(self, states: States, seat: int, scratch: Any, observation: Any, mask: Any) -> None:
        self._observe_position(states, seat, scratch, observation[: self.game.layout.size], mask)
        assert self._match is not None
        self._match.log().write(_ONLY_ROW, np.array([seat]), observation[None])

    def _observe_without_mask(self, states: States, seat: int, scratch: Any, observation: Any, mask: Any) -> None:
        self._observe_play(states, seat, scratch, observation, mask)
        mask.fill(0)  # an illegal action has ended the match

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation, cumulative reward, termination, truncation and info of the agent that is to act."""
        agent = self.agent_selection
        seen = self.observe(agent) if observe else None
        return (
            seen,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def state(self) -> npt.NDArray[np.float32]:
        """The position with all hidden information: ``(S,) float32`` (``game.state_layout`` says what is where)."""
        if self._match is None:
            EnvLogger.error_state_before_reset()
        out = np.zeros(self.game.state_layout.size, np.int8)
        self.game.kernels.write_full_state(self._states, 0, out)
        return out.astype(np.float32)

    def render(self) -> Rendered:
        """The table: text in mode ``"ansi"``, ``(600, 800, 3) uint8`` in ``"rgb_array"``; ``"human"`` shows it."""
        if self._match is None:
            EnvLogger.error_render_before_reset()
        if self.render_mode is None:
            no_render_mode()
            return None
        return self._rendering.show(self._view())

    def close(self) -> None:
        """Closes the window of mode ``"human"``; the environment can still be looked at, copied and reset."""
        self._rendering.close()

    def _view(self) -> TableView:
        assert self._match is not None
        return match_view(self._match, self._rendering.observer(self.render_observer))

    def __repr__(self) -> str:
        about = f"{self.metadata['name']}.{self._maker}() for {self.num_players} players"
        if self._match is None:
            return f"<{about}: not reset>"
        return f"<{about}: {self._match.moment()}{', ended by an illegal action' * self._illegal}>"

    def _repr_html_(self) -> str | None:
        """The table as a picture, for notebooks, once there is a match."""
        return None if self._match is None else self._view()._repr_html_()

    # --- what these games add ------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """The observation, block by block."""
        return self._layout

    @property
    def phase(self) -> str:
        """What naming a card means now: ``lead``, ``follow``, ``pass``, ``keep``, ``pick``, or ``over``."""
        return phase_name(self._states)

    @property
    def states(self) -> States:
        """The position: an array of one record, as agents take it; to be read only."""
        return self._states

    def record(self) -> Record:
        """The match so far, as a JSON-serialisable dict that never changes once returned (see ``Match.record``)."""
        if self._match is None:
            raise RuntimeError("record() needs a match: call reset() first")
        return self._match.record()

    def history(self, seat: int | str) -> Events:
        """Everything that a seat has seen in this match, in order: perfect recall.

        Args:
            seat: the seat, or its agent, such as ``"player_0"``.

        Returns:
            ``(T, 4) int16``, a row per event: the deal (from 0), a seat, what happened, and a card (an action).
            What happened is a phase (0 to 4: the seat leads, follows, passes, keeps or picks the card, which is -1
            where the observer did not see it), or

            - 5: the deal is over, and the last number is not a card but the seat's points in it,
            - 6: a deal begins, dealt by the seat; the card is -1,
            - 7: the observer comes to see the card in the hand or in front of the seat, or of nobody (-1): dealt,
              turned up, drawn, taken up. Cards that are passed to it are in order of the seats that pass them.

            Two histories of a seat are equal if it has seen the same, and only then.
        """
        number = seat_or_agent(seat, self.num_players)
        if self._match is None:
            raise RuntimeError("history() needs a match: call reset() first")
        recall, self._recall = self._recall or Recall(self.game), None  # one that is stopped half-way is not kept
        events = recall.history(self._match.deals, number)
        self._recall = recall
        return events

    @property
    def knows_order(self) -> bool:
        """Whether observations show the order of play: with ``observation="history"``."""
        return self._shows_history

    def plays(self) -> Events:
        """The plays of the match as the seat to act saw them, ``(1, T, 4) int16``, as ``BatchEnv.plays()``."""
        if self._match is None:
            raise RuntimeError("plays() needs a match: call reset() first")
        return self._match.log().plays(_ONLY_ROW, np.array([self._match.seat]))

    def get_state(self) -> bytes:
        """The running match, including its record, as bytes for ``set_state``.

        Equal positions after equal plays give equal bytes.
        """
        if self._match is None:
            raise RuntimeError("get_state() needs a match: call reset() first")
        return self._match.to_bytes(self._extra())

    def set_state(self, state: bytes) -> None:
        """Restores what ``get_state`` of an equal environment returned, by playing its actions again.

        Raises:
            ValueError: if the bytes are not from ``get_state``, are damaged, or are of another game, number of players,
                length, options or reward. The environment does not change then.
        """
        try:
            match, extra = Match.from_bytes(state, self.game, self.reward)
            self._check_extra(extra, match)
        except ValueError as error:
            raise InputError(f"set_state: {error}") from None
        self._take_up(match, **extra)

    # --- inside --------------------------------------------------------------------------------------------------

    def _extra(self) -> dict[str, bool | int]:
        """What the match does not know: an end by an illegal action, and how many seats have made their dead step."""
        return {"illegal": self._illegal, "dead_steps": len(self.possible_agents) - len(self.agents)}

    def _check_extra(self, extra: object, match: Match) -> None:
        expected = {"illegal": bool, "dead_steps": int}
        if not isinstance(extra, dict) or {name: type(value) for name, value in extra.items()} != expected:
            raise InputError(f"a saved match with {shown(extra)}")
        if extra["illegal"] and (match.over or not self._ends_by_illegal):
            raise InputError("a saved match that ended by an illegal action, which cannot be here")
        if not 0 <= extra["dead_steps"] <= (self.num_players if match.over or extra["illegal"] else 0):
            raise InputError(f"a saved match with {extra['dead_steps']} dead steps")

    def _resume(self, match: Match, illegal: bool, dead_steps: int) -> None:
        """Continues a match that has been replayed."""
        self._begin(match)
        played = [deal for deal in match.deals if deal.actions]
        for deal in played:
            for seat in {seat for seat, _ in deal.actions}:
                self._cumulative_rewards[self.possible_agents[seat]] = 0.0
            for agent, reward in zip(self.possible_agents, deal.rewards, strict=False):
                self._cumulative_rewards[agent] += reward
        if played and played[-1].rewards:  # the last play has ended a deal
            self.rewards = dict(zip(self.possible_agents, played[-1].rewards, strict=True))
            self._paid = True
        if match.over:
            self._finished = True
            self.terminations = dict.fromkeys(self.agents, True)
        if illegal:
            self._end_by_illegal(self.agent_selection)
        for _ in range(dead_steps):
            self._was_dead_step(None)

    def _end_by_illegal(self, agent: str) -> None:
        """Ends the match because of an illegal action: its agent gets -1, the others 0, all terminate and truncate."""
        self._illegal = True
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[agent] = -1.0
        self._cumulative_rewards[agent] = 0.0
        self._accumulate_rewards()
        self._deads_step_first()
        self._finished = True
        self._observe_play, self._observe = self._observe, self._observe_without_mask

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in _NOT_PICKLED}
        return {**kept, "_saved": None if self._match is None else self.get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = state.pop("_saved")
        self.__dict__.update(state)
        self._match = None
        self._bind()
        if saved is not None:
            RawEnv.set_state(self, saved)


class _OnlyAfterReset:
    """Stands in the class for what ``reset`` puts into the instance.

    ``__getattr__`` would do as well, but with it, Python takes five times as long for every attribute that is there.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, env: RawEnv | None, kind: type[RawEnv] | None = None) -> NoReturn:
        raise AttributeError(f"{self._name.lstrip('_')} cannot be accessed before reset")


for _name in _ONLY_AFTER_RESET:
    setattr(RawEnv, _name, _OnlyAfterReset(_name))


# "_bind" and "_begin" make them
_NOT_PICKLED = frozenset(
    {"_match", "_states", "_play", "_observe", "_observe_position", "_observe_play", "_scratch", "_recall", "_taken_up"}
)
