"""Many games at once as a Gymnasium vector environment: one seat learns in each, compiled code plays the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from trick_envs.engine.arguments import MOST_GAMES, action_numbers, seat_number, whole_number
from trick_envs.engine.history import Events, Recall
from trick_envs.engine.interrupts import Interruptible, whole
from trick_envs.engine.rng import fresh_seed, game_seeds
from trick_envs.engine.state import Numbers, States
from trick_envs.errors import InputError, InputTypeError, ResetNeeded, shown
from trick_envs.interfaces.learners import Learners, Masked
from trick_envs.interfaces.options import SeatOptions, reset_options
from trick_envs.interfaces.rendering import FPS, Rendering, no_render_mode
from trick_envs.matches.seating import checked_seat
from trick_envs.view import table_view

Infos = dict[str, Any]

_MODES = ("ansi", "rgb_array")


class VectorSeatEnv(Interruptible, VectorEnv[Masked, npt.NDArray[Any], npt.NDArray[Any]]):
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
        autoreset_mode: when the next match of a game begins: with the step after the last one (``NEXT_STEP``, whose
            action is ignored), with the last one itself (``SAME_STEP``; the end is in ``infos["final_obs"]`` and
            ``infos["final_info"]``), or by ``reset(options={"reset_mask": …})`` (``DISABLED``). Gymnasium's enum, or
            the name (``"SAME_STEP"``) or value (``"SameStep"``) of one of its members.
        options: those of ``SeatOptions``, and the game's own. An ``Agent`` object is reseeded by ``reset(seed=…)``
            alone, and there is no ``render_mode="human"``.

    Attributes:
        game: the game.
        layout: the blocks of an observation.
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        self.num_envs = whole_number(num_envs, 1, MOST_GAMES, "num_envs")
        self.game, chosen = SeatOptions.read("VectorSeatEnv", game, options, ("num_envs", "autoreset_mode"))
        self.render_mode = chosen.render_mode
        self._rendering = Rendering(self.game, chosen.render_mode, chosen.render_view, _MODES)
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {"render_modes": [*_MODES], "render_fps": FPS, "autoreset_mode": self.autoreset_mode}
        self._learners = Learners(self.game, chosen, self.num_envs)
        self.layout = self._learners.layout
        self.single_observation_space = self._learners.space
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    @property
    def states(self) -> States:
        """``(num_envs,)`` records: the positions. They are trusted, as in ``BatchEnv``."""
        return self._learners.states

    @property
    def seats(self) -> npt.NDArray[np.int64]:
        """``(num_envs,) int64``, read-only: where the learner sits in each game."""
        seats = self._learners.seats.view()
        seats.flags.writeable = False  # compiled code trusts them
        return seats

    def __repr__(self) -> str:
        about = f"{self.num_envs} x {self.game.name} for {self.game.num_players} players"
        return f"<VectorSeatEnv of {about}: {self.autoreset_mode.name}{', not reset' * (not self._learners.started)}>"

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Masked, Infos]:
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
        chosen = reset_options(options)
        rows = self._rows_to_reset(chosen.pop("reset_mask", None))
        seat = checked_seat(chosen.pop("seat", None), self.game, "options['seat']")
        dealer = checked_seat(chosen.pop("dealer", None), self.game, "options['dealer']")
        if "deals" in chosen:
            raise InputError("options['deals']: only a single environment plays given deals (gymnasium.make)")
        for option in chosen:
            gymnasium.logger.warn(f"reset: option {option!r} means nothing here")
        given = self._given_seeds(seed)
        return self._reset(rows, seed, given, dealer, seat)

    @whole
    def _reset(self, rows: Numbers, seed: Any, given: list[int | None], dealer: int, seat: int) -> tuple[Masked, Infos]:
        learners = self._learners
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
        seeds = learners.following_seeds(rows)
        for k, i in enumerate(rows.tolist()):
            if (one := given[i]) is not None:
                seeds[k] = one
        if seed is not None or not learners.started:
            learners.opponents.seed(int(seeds[0]))
        learners.begin(rows, seeds, dealer, seat)
        learners.started = True
        learners.let_agents_play()
        return self._show({})

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Masked, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], Infos]:
        """Plays one card of the learner in every game, and on to its next decision or the end of the match.

        Args:
            actions: ``(num_envs,)`` integers.

        Raises:
            IllegalAction: with ``illegal="raise"``; names game, card and rule. No game has moved then.
            InvalidAction: (a ``ValueError``) if there is not one whole number per game.
            ResetNeeded: before ``reset``; with autoreset disabled also after the end of a match; and when an opponent
                has raised, or Ctrl-C has stopped the step before.
        """
        chosen, learners = action_numbers(actions, self.num_envs), self._learners
        self._needs_complete()
        rows, (ended,) = learners.all, learners.over.nonzero()
        if len(ended):
            if not learners.started or self.autoreset_mode is AutoresetMode.DISABLED:
                raise ResetNeeded(f"game {ended[0]}: no match is going on: call reset(), perhaps with a 'reset_mask'")
            (rows,) = (~learners.over).nonzero()
            chosen = chosen[rows]
        learners.check(rows, chosen)
        return self._step(rows, chosen, ended)

    @whole
    def _step(
        self, rows: Numbers, chosen: Numbers, ended: Numbers
    ) -> tuple[Masked, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], Infos]:
        learners = self._learners
        rewards = learners.step(rows, chosen, ended)  # in mode NEXT_STEP, the next match begins where one had ended
        terminations, (ended,) = learners.over.copy(), learners.over.nonzero()
        final: Infos = {}
        if len(ended) and self.autoreset_mode is AutoresetMode.SAME_STEP:
            final = self._final(ended)
            learners.begin(ended, learners.following_seeds(ended))
            learners.let_agents_play()
        observations, infos = self._show(final)
        return observations, rewards, terminations, np.zeros(self.num_envs, np.bool_), infos

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The learners' legal actions, ``(num_envs, A) int8``; the ``end_mask`` where a match is over."""
        return self._learners.masks.copy()

    def history(self, env_id: int, seat: int | None = None) -> Events:
        """Everything that the learner of a game has seen in its match, or another seat: ``(T, 4) int16``.

        The games have to be made with ``observation="history"``. ``history`` of the AEC environment says what is in it.
        """
        log, env_id = self._learners.log, whole_number(env_id, 0, self.num_envs - 1, "env_id")
        if log is None:
            raise InputError("history() needs the order of play: make the games with observation='history'")
        looking = self.seats[env_id] if seat is None else seat
        return Recall(self.game).history(log.deals(env_id), seat_number(looking, self.game.num_players))

    def render(self) -> tuple[Any, ...] | None:
        """Every table: as text in mode ``"ansi"``, as ``(600, 800, 3) uint8`` in mode ``"rgb_array"``."""
        if self.render_mode is None:
            no_render_mode(_MODES)
            return None
        observers = [self._rendering.observer(seat) for seat in self.seats.tolist()]
        views = (table_view(self.game, self.states[i : i + 1], seat) for i, seat in enumerate(observers))
        return tuple(map(self._rendering.show, views))

    # --- inside --------------------------------------------------------------------------------------------------

    def _rows_to_reset(self, mask: object) -> Numbers:
        if mask is None:
            return self._learners.all
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise InputTypeError(f"options['reset_mask']: expected a NumPy array of bool, not {shown(mask)}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise InputError(
                f"options['reset_mask']: expected shape ({self.num_envs},) with at least one True, not {shown(mask)}"
            )
        if not (self._learners.started and self._complete) and not mask.all():
            which = "this" if self._learners.started else "the first"
            raise ResetNeeded(f"{which} reset() has to start every game: leave the 'reset_mask' out")
        return np.flatnonzero(mask)

    def _given_seeds(self, seed: Any) -> list[int | None]:
        """The seeds of the next matches, as far as they are given."""
        if seed is None and not self._learners.started:
            seed = fresh_seed()
        return [None] * self.num_envs if seed is None else game_seeds(seed, self.num_envs, some=True)

    def _show(self, final: Infos) -> tuple[Masked, Infos]:
        """What the learners see now, and the infos: these, and the masks."""
        learners = self._learners
        vectors, learners.masks = learners.observe(learners.all)
        infos = {**final, "action_mask": learners.masks.copy(), "_action_mask": np.ones(self.num_envs, np.bool_)}
        return learners.in_space(vectors, learners.masks), infos

    def _final(self, rows: Numbers) -> Infos:
        """How the matches of these games ended, in the form of Gymnasium's ``SyncVectorEnv``."""
        learners = self._learners
        vectors, last_masks = learners.observe(rows)
        ended = np.zeros(self.num_envs, np.bool_)
        ended[rows] = True
        last = np.full(self.num_envs, None, object)
        for row, vector, mask in zip(rows, vectors, last_masks, strict=True):
            last[row] = learners.in_space(vector, mask)
        masks = np.zeros_like(learners.masks)
        masks[rows] = last_masks
        infos = {"action_mask": masks, "_action_mask": ended.copy()}
        return {"final_obs": last, "_final_obs": ended, "final_info": infos, "_final_info": ended.copy()}


def _autoreset_mode(given: AutoresetMode | str) -> AutoresetMode:
    """Gymnasium's enum, from a member of it, or the value or name of one."""
    for mode in AutoresetMode:
        if given is mode or (isinstance(given, str) and given in (mode.value, mode.name)):
            return mode
    known = ", ".join(repr(mode.name) for mode in AutoresetMode)
    raise InputError(f"autoreset_mode: expected one of {known}, or a gymnasium AutoresetMode, not {shown(given)}")
