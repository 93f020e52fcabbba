"""Many games at once as a Gymnasium vector environment: one seat learns in each, compiled code plays the rest."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from trick_envs.engine.arguments import action_numbers, seat_number, whole_number
from trick_envs.engine.batch import reward_mode
from trick_envs.engine.history import Events, PlayLog, Recall, layout_of, with_history
from trick_envs.engine.inspect import why_illegal
from trick_envs.engine.kernels.seats import END_MATCH, GREEDY_PLAYER, RAISE, RANDOM_PLAYER, SUBSTITUTE
from trick_envs.engine.registry import load_game_for
from trick_envs.engine.rng import MAX_SEED, checked_seed, fresh_seed
from trick_envs.engine.state import OVER
from trick_envs.errors import IllegalAction, InputError, InputTypeError, ResetNeeded
from trick_envs.interfaces.illegal_penalty import illegal_warning, worst_total
from trick_envs.interfaces.masking import OBSERVATION_KEY, Masking
from trick_envs.interfaces.rendering import FPS, Rendering
from trick_envs.matches.seating import Opponent, Opponents, checked_seat, illegal_mode
from trick_envs.view import table_view

Vectors = npt.NDArray[np.float32]
Observations: TypeAlias = Vectors | dict[str, npt.NDArray[np.float32 | np.int8]]
Rows = npt.NDArray[np.int64]
Infos = dict[str, Any]

_MODES = ("ansi", "rgb_array")
_NOTHING_NAMED = np.zeros(0, np.int64)


class VectorSeatEnv(VectorEnv[Observations, npt.NDArray[Any], npt.NDArray[Any]]):
    """``num_envs`` games in lock step, each from one seat; the single game is ``SeatEnv``, which plays the same.

    Make it with ``gymnasium.make_vec("trick_envs/Pepper-v0", num_envs, vectorization_mode="vector_entry_point", …)``.
    Every ``step`` plays on in all games until the learner is to act in each. Opponents ``"random"`` and ``"greedy"``
    are compiled; other agents act on all games that wait for them at once.

    - Observation: ``(num_envs, D) float32``, or with a ``mask_key`` a dict of this array and the masks.
    - Action: ``(num_envs,)`` integers; ``infos["action_mask"]``, ``(num_envs, A) int8``, marks the legal ones.

    Every step returns new arrays.

    Args:
        game: the game, such as ``"pepper"``.
        num_envs: how many games.
        opponents: as for ``SeatEnv``, but only ``reset(seed=…)`` reseeds an ``Agent`` object, not every match.
        seat, illegal, reward, num_players, num_deals, mask_key, observation_key, end_mask, options: as for ``SeatEnv``.
        observation: as for ``SeatEnv``. With ``"history"``, also ``"random"`` and ``"greedy"`` are asked play by play.
        autoreset_mode: when the next match of a game begins: with the step after the last one (``NEXT_STEP``, whose
            action is ignored), with the last one itself (``SAME_STEP``; the end is in ``infos["final_obs"]`` and
            ``infos["final_info"]``), or by ``reset(options={"reset_mask": …})`` (``DISABLED``). Gymnasium's enum, or
            the name (``"SAME_STEP"``) or value (``"SameStep"``) of one of its members.
        render_mode: ``None``, ``"ansi"`` or ``"rgb_array"``.
        render_view: whose view is rendered: ``None``, the learner's in each game, another seat's, or ``"all"``.

    Attributes:
        game: the game.
        layout: the blocks of an observation.
        seats: ``(num_envs,) int64``: where the learner sits in each game.
        states: ``(num_envs,)`` records: the positions. They are trusted, as in ``BatchEnv``.
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        seat: int | None = None,
        opponents: Opponent | Sequence[Opponent] = "greedy",
        illegal: str = "terminate",
        reward: str = "score",
        num_players: int | None = None,
        num_deals: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        render_view: int | str | None = None,
        mask_key: str | None = None,
        observation_key: str = OBSERVATION_KEY,
        end_mask: str = "zeros",
        observation: str = "position",
        **options: Any,
    ) -> None:
        self.game = load_game_for(VectorSeatEnv.__init__, game, num_players, num_deals, options)
        self.num_envs, self.render_mode = whole_number(num_envs, 1, inf, "num_envs"), render_mode
        self._rendering = Rendering(self.game, render_mode, render_view, _MODES)
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {"render_modes": [*_MODES], "render_fps": FPS, "autoreset_mode": self.autoreset_mode}
        self._log = PlayLog(self.game, self.num_envs) if with_history(observation) else None
        self.layout = layout_of(self.game, observation)
        self._masking = Masking(self.game, self.layout, mask_key, observation_key, end_mask)
        self.single_observation_space = self._masking.space
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._wanted = checked_seat(seat, self.game, "seat")
        self._illegal, self._mode, self._reward = illegal_mode(illegal), reward_mode(reward), reward
        self._opponents = Opponents(opponents, self.game)
        self._players = self._opponents.players
        if self._log is not None:  # compiled players would play on without telling what they play
            agents = len(self._opponents.agents)
            self._players = np.where(self._players < 0, agents - 1 - self._players, self._players)
        self.states = np.zeros(num_envs, self.game.dtype)
        self.seats = np.zeros(num_envs, np.int64)
        self._all = np.arange(num_envs)
        self._streams = np.zeros(num_envs, np.uint64)
        self._waiting = np.full(num_envs, -1)  # the agent that has to act, by its number
        self._over = np.ones(num_envs, np.bool_)
        self._paid = np.zeros(num_envs)  # what the learners got in this match
        self._masks = np.zeros((num_envs, self.game.num_actions), np.int8)
        self._started = self._warned = False

    def __repr__(self) -> str:
        about = f"{self.num_envs} x {self.game.name} for {self.game.num_players} players"
        return f"<VectorSeatEnv of {about}: {self.autoreset_mode.name}{', not reset' * (not self._started)}>"

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Starts a match in every game.

        Args:
            seed: game ``i`` gets ``seed + i``, or a sequence with one seed per game. ``None`` continues each game's own
                random stream.
            options: ``reset_mask``, ``(num_envs,) bool``: only these games are reset. ``seat`` and ``dealer``: where
                the learner sits and who deals first in these matches.

        Raises:
            ValueError: for an invalid seed, seat, dealer or mask.
            TypeError: if the mask is not a NumPy array of ``bool``.
        """
        chosen = dict(options or {})
        rows = self._rows_to_reset(chosen.pop("reset_mask", None))
        seat = checked_seat(chosen.pop("seat", None), self.game, "options['seat']")
        dealer = checked_seat(chosen.pop("dealer", None), self.game, "options['dealer']")
        if "deals" in chosen:
            raise InputError("options['deals']: only a single environment plays given deals (gymnasium.make)")
        for option in chosen:
            gymnasium.logger.warn(f"reset: option {option!r} means nothing here")
        seeds = self._seeds(seed, rows)
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
        if seed is not None or not self._started:
            self._opponents.seed(int(seeds[0]))
        self._started = True
        self._seat_learners(rows, seeds, dealer, seat)
        self._let_agents_play(np.zeros(self.num_envs))
        return self._show({})

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Observations, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], Infos]:
        """Plays one card of the learner in every game, and on to its next decision or the end of the match.

        Args:
            actions: ``(num_envs,)`` integers.

        Raises:
            IllegalAction: with ``illegal="raise"``; names game, card and rule. No game has moved then.
            ValueError: if there is not one whole number per game.
            gymnasium.error.ResetNeeded: before ``reset``; with autoreset disabled also after the end of a match.
        """
        chosen = action_numbers(actions, self.num_envs)
        rows, (ended,) = self._all, self._over.nonzero()
        if len(ended):
            if not self._started or self.autoreset_mode is AutoresetMode.DISABLED:
                raise ResetNeeded(f"game {ended[0]}: no match is going on: call reset(), perhaps with a 'reset_mask'")
            (rows,) = (~self._over).nonzero()
            chosen = chosen[rows]
        if self._illegal == RAISE:
            self._check(rows, chosen)

        rewards = np.zeros(self.num_envs)
        if len(rows):
            self._play(rows, chosen, rewards)
        if len(ended):  # in mode NEXT_STEP
            self._start_next(ended)
        self._let_agents_play(rewards)
        terminations, (ended,) = self._over.copy(), self._over.nonzero()
        if self._illegal == END_MATCH:
            self._forfeit(ended, rewards)
        self._paid += rewards

        final: Infos = {}
        if len(ended) and self.autoreset_mode is AutoresetMode.SAME_STEP:
            final = self._final(ended)
            self._start_next(ended)
            self._let_agents_play(np.zeros(self.num_envs))
        observations, infos = self._show(final)
        return observations, rewards, terminations, np.zeros(self.num_envs, np.bool_), infos

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The learners' legal actions, ``(num_envs, A) int8``; the ``end_mask`` where a match is over."""
        return self._masks.copy()

    def history(self, env_id: int, seat: int | None = None) -> Events:
        """Everything that the learner of a game has seen in its match, or another seat: ``(T, 4) int16``.

        The games have to be made with ``observation="history"``. ``history`` of the AEC environment says what is in it.
        """
        if self._log is None:
            raise InputError("history() needs the order of play: make the games with observation='history'")
        env_id = whole_number(env_id, 0, self.num_envs - 1, "env_id")
        looking = self.seats[env_id] if seat is None else seat
        return Recall(self.game).history(self._log.deals(env_id), seat_number(looking, self.game.num_players))

    def render(self) -> tuple[Any, ...] | None:
        """Every table: as text in mode ``"ansi"``, as ``(600, 800, 3) uint8`` in mode ``"rgb_array"``."""
        if self.render_mode is None:
            gymnasium.logger.warn(f"render() needs a render_mode: make the environment with {' or '.join(_MODES)}")
            return None
        observers = [self._rendering.observer(seat) for seat in self.seats.tolist()]
        views = (table_view(self.game, self.states[i : i + 1], seat) for i, seat in enumerate(observers))
        return tuple(map(self._rendering.show, views))

    # --- inside --------------------------------------------------------------------------------------------------

    def _rows_to_reset(self, mask: object) -> Rows:
        if mask is None:
            return self._all
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise InputTypeError(f"options['reset_mask']: expected a NumPy array of bool, not {mask!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise InputError(
                f"options['reset_mask']: expected shape ({self.num_envs},) with at least one True, not {mask!r}"
            )
        if not self._started and not mask.all():
            raise ResetNeeded("the first reset() has to start every game: leave the 'reset_mask' out")
        return np.flatnonzero(mask)

    def _seeds(self, seed: Any, rows: Rows) -> npt.NDArray[np.uint64]:
        """The seeds of the next matches of these games; those not given come from the games' own streams."""
        if seed is not None and not isinstance(seed, (int, np.integer)):
            if len(seed) != self.num_envs:
                raise InputError(f"seed: expected {self.num_envs} seeds, one per game, not {len(seed)}")
            given = [None if one is None else checked_seed(one) for one in seed]
        elif seed is not None or not self._started:
            first = fresh_seed() if seed is None else checked_seed(seed)
            given = [(first + i) % (MAX_SEED + 1) for i in range(self.num_envs)]
        else:
            given = [None] * self.num_envs
        seeds = np.zeros(len(rows), np.uint64)
        self.game.kernels.next_seeds(self.states, rows, seeds)
        for k, i in enumerate(rows.tolist()):
            one = given[i]
            if one is not None:
                seeds[k] = one
            elif not self._started:
                seeds[k] = fresh_seed()
        return seeds

    def _start_next(self, rows: Rows) -> None:
        """The next match of each of these games, from its own stream."""
        seeds = np.zeros(len(rows), np.uint64)
        self.game.kernels.next_seeds(self.states, rows, seeds)
        self._seat_learners(rows, seeds, -1, -1)

    def _seat_learners(self, rows: Rows, seeds: npt.NDArray[np.uint64], dealer: int, seat: int) -> None:
        """Starts matches and plays to the learners' first decisions, as far as the opponents are compiled."""
        self.game.kernels.seat_learners(
            self.states, self.game.template, rows, seeds, dealer, self._wanted if seat < 0 else seat, self._streams,
            self.seats,
        )  # fmt: skip
        self._over[rows], self._paid[rows] = False, 0
        if self._log is not None:
            self._log.begin_matches(self.states, rows)
        self._play(rows, _NOTHING_NAMED, np.zeros(self.num_envs))

    def _play(self, rows: Rows, actions: Rows, rewards: npt.NDArray[np.float64]) -> None:
        noted = rows[:0]
        if self._log is not None and len(actions):
            actions, legal = self._legal(rows, actions)
            noted = rows[legal]
            self._log.note(self.states, noted, actions[legal])
        self.game.kernels.play_rows(
            self.states, rows, actions, self.seats, self._players, self._streams, self._mode, self._illegal, rewards,
            self._over, self._waiting,
        )  # fmt: skip
        if self._log is not None and len(noted):
            self._log.follow(self.states, noted)

    def _legal(self, rows: Rows, actions: Rows) -> tuple[Rows, npt.NDArray[np.bool_]]:
        """The actions that will be played, and which of them are legal: illegal ones may be substituted."""
        masks, inside = self._observe_position(rows, self.states["seat"].astype(np.int64))[1], actions.clip(0)
        legal = (actions == inside) & (actions < self.game.num_actions)
        legal[legal] = masks[np.flatnonzero(legal), actions[legal]] != 0
        if legal.all() or self._illegal != SUBSTITUTE:
            return actions, legal
        drawn = actions.copy()
        for k in np.flatnonzero(~legal):
            drawn[k] = self.game.kernels.random_action(self.states, int(rows[k]), self._streams)
        return drawn, np.ones(len(rows), np.bool_)

    def _let_agents_play(self, rewards: npt.NDArray[np.float64]) -> None:
        """Plays on where agents have to act, until no game waits for one."""
        agents = range(int(self._players.max()) + 1)
        while agents and (self._waiting >= 0).any():
            for number in agents:
                rows = np.flatnonzero(self._waiting == number)
                if len(rows):
                    self._play(rows, self._asked(number, rows), rewards)

    def _asked(self, number: int, rows: Rows) -> Rows:
        """What a player names in the games that wait for it."""
        kernels, compiled = self.game.kernels, len(self._opponents.agents) - 1 - number
        if compiled == GREEDY_PLAYER:
            actions = np.zeros(len(rows), np.int64)
            kernels.greedy_actions(self.states[rows], actions)
            return actions
        if compiled == RANDOM_PLAYER:
            return np.array([kernels.random_action(self.states, i, self._streams) for i in rows.tolist()], np.int64)
        seats, log = self.states["seat"].astype(np.int64), self._log
        observations, masks = self._observe(rows, seats)
        plays = None if log is None else lambda: log.plays(rows, seats[rows])
        return self._opponents.act(number, observations, masks, self.states[rows], plays)

    def _forfeit(self, ended: Rows, rewards: npt.NDArray[np.float64]) -> None:
        """What learners get whose illegal action is what has just ended their match."""
        illegal = ended[self.states["phase"][ended] != OVER]
        if not len(illegal):
            return
        rewards[illegal] = worst_total(self.game, self._reward) - self._paid[illegal]
        if not self._warned:
            gymnasium.logger.warn(illegal_warning())
            self._warned = True

    def _observe(self, rows: Rows, seats: Rows | None = None) -> tuple[Vectors, npt.NDArray[np.int8]]:
        seats = self.seats if seats is None else seats
        vectors, masks = self._observe_position(rows, seats)
        if self._log is None:
            return vectors, masks
        observations = np.empty((len(rows), self.layout.size), np.float32)
        observations[:, : self.game.layout.size] = vectors
        self._log.write(rows, seats[rows], observations)
        return observations, masks

    def _observe_position(self, rows: Rows, seats: Rows) -> tuple[Vectors, npt.NDArray[np.int8]]:
        observations = np.empty((len(rows), self.game.layout.size), np.float32)
        masks = np.empty((len(rows), self.game.num_actions), np.int8)
        self.game.kernels.observe_rows(self.states, rows, seats, self._over, observations, masks)
        if self._masking.end:
            masks[self._over[rows]] = 1
        return observations, masks

    def _check(self, rows: Rows, actions: Rows) -> None:
        wrong = self.game.kernels.first_illegal(self.states, rows, actions)
        if wrong >= 0:
            i = int(rows[wrong])
            reason = why_illegal(self.game, self.states[i : i + 1], int(actions[wrong]))
            raise IllegalAction(f"game {i}: {reason}")

    def _show(self, final: Infos) -> tuple[Observations, Infos]:
        """What the learners see now, and the infos: these, and the masks."""
        vectors, self._masks = self._observe(self._all)
        infos = {**final, "action_mask": self._masks.copy(), "_action_mask": np.ones(self.num_envs, np.bool_)}
        return self._masking.observation(vectors, self._masks), infos

    def _final(self, rows: Rows) -> Infos:
        """How the matches of these games ended, in the form of Gymnasium's ``SyncVectorEnv``."""
        vectors, last_masks = self._observe(rows)
        ended = np.zeros(self.num_envs, np.bool_)
        ended[rows] = True
        last = np.full(self.num_envs, None, object)
        for row, vector, mask in zip(rows, vectors, last_masks, strict=True):
            last[row] = self._masking.observation(vector, mask)
        masks = np.zeros_like(self._masks)
        masks[rows] = last_masks
        infos = {"action_mask": masks, "_action_mask": ended.copy()}
        return {"final_obs": last, "_final_obs": ended, "final_info": infos, "_final_info": ended.copy()}


def _autoreset_mode(given: AutoresetMode | str) -> AutoresetMode:
    """Gymnasium's enum, from a member of it, or the value or name of one."""
    for mode in AutoresetMode:
        if given in (mode, mode.value, mode.name):
            return mode
    known = ", ".join(repr(mode.name) for mode in AutoresetMode)
    raise InputError(f"autoreset_mode: expected one of {known}, or a gymnasium.vector.AutoresetMode, not {given!r}")
