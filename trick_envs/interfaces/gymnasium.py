"""The games as Gymnasium environments: one seat learns, agents play the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from trick_envs.engine.arguments import action_number, seat_or_agent
from trick_envs.engine.deal import Deal
from trick_envs.engine.history import Events, Recall
from trick_envs.engine.interrupts import Interruptible, whole
from trick_envs.engine.observation import Layout
from trick_envs.engine.positions import phase_name
from trick_envs.engine.rng import checked_seed
from trick_envs.engine.state import States
from trick_envs.errors import ResetNeeded
from trick_envs.interfaces.learners import Learners, Masked
from trick_envs.interfaces.options import SeatOptions, given_deals, reset_options
from trick_envs.interfaces.rendering import FPS, MODES, Rendered, Rendering, no_render_mode
from trick_envs.matches.match import Match
from trick_envs.matches.record import Record
from trick_envs.matches.seating import checked_seat
from trick_envs.matches.viewing import match_view

Info = dict[str, Any]
_HUGE = 2**62


class SeatEnv(Interruptible, gymnasium.Env[Masked, np.int64]):
    """A trick-taking game from one seat. Make it with ``gymnasium.make("trick_envs/Pepper-v0", …)``.

    - Observation: ``(D,) float32``, relative to the seat; ``layout`` says what is where. With a ``mask_key``, a
      dict of this vector and the mask.
    - Action: ``Discrete(A)``, the kind of card to name; ``info["action_mask"]``, ``(A,) int8``, marks the legal ones.
    - Reward: the sum of the learner's rewards since its last action, including those for plays of the opponents.
    - End: ``terminated`` when the match is over, or by an illegal action; nothing truncates.

    A seed gives the same deals as in all other interfaces, whoever plays them. The learner's seat and the choices of
    random opponents come from a separate random stream, which the seed of the match determines.

    Args:
        game: the game, such as ``"pepper"``.
        options: those of ``SeatOptions``, and the game's own. An ``Agent`` object is reseeded for each match.

    Attributes:
        game: the game.
        layout: the observation, block by block.
    """

    metadata: dict[str, Any] = {"render_modes": [*MODES], "render_fps": FPS}  # noqa: RUF012

    def __init__(self, game: str, **options: Any) -> None:
        self.game, chosen = SeatOptions.read("SeatEnv", game, options)
        self.render_mode = chosen.render_mode
        self._rendering = Rendering(self.game, chosen.render_mode, chosen.render_view)
        self._learners = Learners(self.game, chosen, 1, noted=True)
        self.layout: Layout = self._learners.layout
        self.observation_space = self._learners.space
        self.action_space = spaces.Discrete(self.game.num_actions)
        self._given: Sequence[Deal] = ()
        self._match: Match | None = None  # what has been played, as far as somebody has asked

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Masked, Info]:
        """Starts a match and plays on to the learner's first decision.

        Args:
            seed: fixes the deals, the first dealer, the learner's seat and the opponents' choices. ``None`` continues
                the random stream of the previous match; without one, the seed is random.
            options: ``seat``, where the learner sits in this match; ``dealer`` and ``deals`` as for the AEC
                environment.

        Raises:
            ValueError: for an invalid seed, seat, dealer or deal.
        """
        return self._reset(*self._checked(seed, options))

    def _checked(self, seed: Any, options: dict[str, Any] | None) -> tuple[int | None, int, Sequence[Deal]]:
        """The arguments of ``reset``: seed, seat and given deals."""
        chosen = reset_options(options)
        seat = checked_seat(chosen.pop("seat", None), self.game, "options['seat']")
        given = given_deals(self.game, chosen)
        return None if seed is None else checked_seed(seed), seat, given

    @whole
    def _reset(self, seed: int | None, seat: int, given: Sequence[Deal]) -> tuple[Masked, Info]:
        super().reset(seed=seed)
        learners = self._learners
        seeds = learners.following_seeds(learners.all) if seed is None else np.array([seed], np.uint64)
        self._match, self._given = None, given
        learners.opponents.seed(int(seeds[0]))
        learners.begin(learners.all, seeds, seat=seat, given=given)
        learners.started = True
        learners.let_agents_play()
        if self.render_mode == "human":
            self._played(each=True)
        return self._observe()

    def step(self, action: int | np.integer | npt.NDArray[np.integer]) -> tuple[Masked, float, bool, bool, Info]:
        """Plays the card that the learner names, and on to its next decision or the end of the match.

        Args:
            action: a whole number: ``int``, NumPy's, or an array of one.

        Raises:
            InvalidAction: (a ``ValueError``) for anything else.
            IllegalAction: with ``illegal="raise"``: names the card and the rule. Nothing has changed then.
            ResetNeeded: before ``reset`` and after the end of the match; and when an opponent has raised, or Ctrl-C has
                stopped the step before.
        """
        number, learners = action_number(action), self._learners
        self._needs_match()
        actions = np.array([min(max(number, -_HUGE), _HUGE)])
        learners.check(learners.all, actions, "")
        return self._step(actions)

    def _needs_match(self) -> None:
        self._needs_complete()
        if self._learners.over[0]:
            raise ResetNeeded("no match is going on: call reset() first")

    @whole
    def _step(self, actions: npt.NDArray[np.int64]) -> tuple[Masked, float, bool, bool, Info]:
        learners = self._learners
        reward = float(learners.step(learners.all, actions)[0])
        if self.render_mode == "human":
            self._played(each=True)
        observation, info = self._observe()
        return observation, reward, bool(learners.over[0]), False, info

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The learner's legal actions, ``(A,) int8``; the ``end_mask`` when the match is over."""
        return self._learners.masks[0].copy()

    def render(self) -> Rendered:
        """The table: text in mode ``"ansi"``, ``(600, 800, 3) uint8`` in ``"rgb_array"``; ``"human"`` shows it."""
        if self.render_mode is None:
            no_render_mode()
            return None
        return self._show(self._played())

    def close(self) -> None:
        """Closes the window of mode ``"human"``."""
        self._rendering.close()

    def __repr__(self) -> str:
        about = f"{self.game.name} for {self.game.num_players} players"
        if not self._learners.started:
            return f"<SeatEnv of {about}: not reset>"
        return f"<SeatEnv of {about}: learner at seat {self.seat}, {self._played().moment()}>"

    def _repr_html_(self) -> str | None:
        """The table as a picture, for notebooks, once there is a match."""
        if not self._learners.started:
            return None
        return match_view(self._played(), self._rendering.observer(self.seat))._repr_html_()

    def record(self) -> Record:
        """The match so far, as a JSON-serialisable dict (see the AEC environment)."""
        return self._played().record()

    def history(self, seat: int | str | None = None) -> Events:
        """Everything that the learner has seen in this match, or another seat: ``(T, 4) int16`` (see the AEC one)."""
        number = self.seat if seat is None else seat_or_agent(seat, self.game.num_players)
        return Recall(self.game).history(self._played().deals, number)

    @property
    def seat(self) -> int:
        """Where the learner sits in this match."""
        return int(self._learners.seats[0])

    @property
    def phase(self) -> str:
        """What naming a card means now: ``lead``, ``follow``, ``pass``, ``keep``, ``pick``, or ``over``."""
        return phase_name(self.states)

    @property
    def states(self) -> States:
        """The position: an array of one record, as agents take it; to be read only."""
        return self._learners.states

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_match": None}

    # --- inside --------------------------------------------------------------------------------------------------

    def _observe(self) -> tuple[Masked, Info]:
        learners = self._learners
        vectors, learners.masks = learners.observe(learners.all)
        mask = learners.masks[0]
        return learners.in_space(vectors[0], mask), {"action_mask": mask.copy()}

    def _played(self, each: bool = False) -> Match:
        """The match as it has been played; ``each`` of the plays is shown that nobody has asked for yet."""
        if not self._learners.started:
            raise ResetNeeded("no match is going on: call reset() first")
        match = self._match
        if match is None:
            seed = int(self.states["seed"][0])
            match = self._match = Match(self.game, seed, self._given, self._learners.reward)
            if each:
                self._show(match)
        for action in self._learners.plays.actions(0)[sum(len(deal.actions) for deal in match.deals) :]:
            match.play(action)
            if each:
                self._show(match)
        return match

    def _show(self, match: Match) -> Rendered:
        return self._rendering.show(match_view(match, self._rendering.observer(self.seat)))
