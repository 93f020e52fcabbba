"""The games as Gymnasium environments: one seat learns, agents play the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from trick_envs.engine.arguments import action_number
from trick_envs.engine.history import Events
from trick_envs.engine.kernels.seats import END_MATCH, GREEDY_PLAYER, RAISE, RANDOM_PLAYER
from trick_envs.engine.observation import Layout
from trick_envs.engine.registry import load_game_for
from trick_envs.engine.rng import checked_seed
from trick_envs.engine.state import States
from trick_envs.errors import IllegalAction, ResetNeeded
from trick_envs.interfaces.aec import RawEnv
from trick_envs.interfaces.illegal_penalty import illegal_warning, worst_total
from trick_envs.interfaces.masking import OBSERVATION_KEY, Masking
from trick_envs.interfaces.rendering import FPS, MODES, Rendered
from trick_envs.matches.loop import play_on
from trick_envs.matches.record import Record
from trick_envs.matches.seating import Opponent, Opponents, checked_seat, illegal_mode

Observation: TypeAlias = npt.NDArray[np.float32] | dict[str, npt.NDArray[np.float32 | np.int8]]
Info = dict[str, Any]


class SeatEnv(gymnasium.Env[Observation, np.int64]):
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
        seat: where the learner sits; ``None`` draws a seat for each match.
        opponents: one player for all other seats, or a list with one for each, clockwise from the learner. A player
            is a spec (``"greedy"``, …), an ``Agent``, or a function ``(observations, action_masks) -> actions`` on
            batches (here of one row). An ``Agent`` object is reseeded for each match.
        illegal: what an illegal action does: ``"terminate"`` ends the match, and its rewards then add up to less than
            those of any honest match (``illegal_penalty.worst_total``); ``"raise"`` is an ``IllegalAction`` (a
            ``ValueError``); ``"substitute"`` plays a random legal card instead.
        reward: ``"score"``, ``"zero_sum"`` or ``"win"``.
        num_players: seats, where the rules allow a choice.
        num_deals: exact length of a match; ``None`` plays what the original plays or recommends.
        render_mode: ``None``, ``"ansi"``, ``"rgb_array"`` or ``"human"``, as in the AEC environment.
        render_view: whose view is rendered: ``None``, the learner's, another seat's, or ``"all"``.
        mask_key, observation_key: make the observation a dict of the mask and the vector under these keys, such as
            ``"action_mask"`` and ``"observations"``; ``mask_key=None`` leaves it a vector.
        end_mask: the mask when the match is over, ``"zeros"`` or ``"ones"``. All zeros are NaN in a softmax of masked
            logits.
        observation: ``"position"``, or ``"history"``, with blocks that say when every card was played. Opponents that
            are functions get the same observations, all others those of the position.
        options: the game's own options.

    Attributes:
        aec: the AEC environment inside.
        game: the game.
        seat: where the learner sits in this match.
    """

    metadata: dict[str, Any] = {"render_modes": [*MODES], "render_fps": FPS}  # noqa: RUF012

    def __init__(
        self,
        game: str,
        seat: int | None = None,
        opponents: Opponent | Sequence[Opponent] = "greedy",
        illegal: str = "terminate",
        reward: str = "score",
        num_players: int | None = None,
        num_deals: int | None = None,
        render_mode: str | None = None,
        render_view: int | str | None = None,
        mask_key: str | None = None,
        observation_key: str = OBSERVATION_KEY,
        end_mask: str = "zeros",
        observation: str = "position",
        **options: Any,
    ) -> None:
        self.game = load_game_for(SeatEnv.__init__, game, num_players, num_deals, options)
        self.aec = RawEnv(self.game, reward, render_mode, render_view, observation)
        self.render_mode = render_mode
        self._masking = Masking(self.game, self.aec.layout, mask_key, observation_key, end_mask)
        self.observation_space = self._masking.space
        self.action_space = spaces.Discrete(self.game.num_actions)
        self.seat = self._wanted = checked_seat(seat, self.game, "seat")
        self._illegal = illegal_mode(illegal)
        self._opponents = Opponents(opponents, self.game)
        self._stream = np.zeros(1, np.uint64)
        self._mask = np.zeros(self.game.num_actions, np.int8)
        self._over, self._paid, self._warned = True, 0.0, False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Starts a match and plays on to the learner's first decision.

        Args:
            seed: fixes the deals, the first dealer, the learner's seat and the opponents' choices. ``None`` continues
                the random stream of the previous match; without one, the seed is random.
            options: ``seat``, where the learner sits in this match; ``dealer`` and ``deals`` as for the AEC
                environment.

        Raises:
            ValueError: for an invalid seed, seat, dealer or deal.
        """
        chosen = dict(options or {})
        seat = checked_seat(chosen.pop("seat", None), self.game, "options['seat']")
        seed = None if seed is None else checked_seed(seed)
        self.aec.reset(seed, chosen)
        super().reset(seed=seed)
        drawn = int(self.game.kernels.draw_seat(self.states, 0, self._stream))
        self.seat = next(place for place in (seat, self._wanted, drawn) if place >= 0)
        self.aec.render_observer = self.seat
        self._agent = self.aec.possible_agents[self.seat]
        self._opponents.seed(int(self.states["seed"][0]))
        self._over, self._paid = False, 0.0
        if self.render_mode == "human":
            self.render()
        self._let_opponents_play()
        return self._observe()

    def step(self, action: int | np.integer | npt.NDArray[np.integer]) -> tuple[Observation, float, bool, bool, Info]:
        """Plays the card that the learner names, and on to its next decision or the end of the match.

        Args:
            action: a whole number: ``int``, NumPy's, or an array of one.

        Raises:
            InvalidAction: (a ``ValueError``) for anything else.
            IllegalAction: with ``illegal="raise"``: names the card and the rule. Nothing has changed then.
            gymnasium.error.ResetNeeded: before ``reset`` and after the end of the match.
        """
        if self._over:
            raise ResetNeeded("no match is going on: call reset() first")
        action = action_number(action)
        try:
            self.aec.step(action)
        except IllegalAction:
            if self._illegal == RAISE:
                raise
            if self._illegal == END_MATCH:
                return self._forfeit()
            self.aec.step(int(self.game.kernels.random_action(self.states, 0, self._stream)))
        self._let_opponents_play()
        observation, info = self._observe()
        reward = self.aec._cumulative_rewards[self._agent]
        self._paid += reward
        return observation, reward, self._over, False, info

    def _forfeit(self) -> tuple[Observation, float, bool, bool, Info]:
        """The end of the match by an illegal action."""
        if not self._warned:
            gymnasium.logger.warn(illegal_warning())
        self._over = self._warned = True
        observation, info = self._observe()
        return observation, worst_total(self.game, self.aec.reward) - self._paid, True, False, info

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The learner's legal actions, ``(A,) int8``; the ``end_mask`` when the match is over."""
        return self._mask.copy()

    def render(self) -> Rendered:
        """The table: text in mode ``"ansi"``, ``(600, 800, 3) uint8`` in ``"rgb_array"``; ``"human"`` shows it."""
        return self.aec.render()

    def close(self) -> None:
        """Closes the window of mode ``"human"``."""
        self.aec.close()

    def __repr__(self) -> str:
        about, match = f"{self.game.name} for {self.game.num_players} players", self.aec._match
        if match is None:
            return f"<SeatEnv of {about}: not reset>"
        return f"<SeatEnv of {about}: learner at seat {self.seat}, {match.moment()}>"

    def _repr_html_(self) -> str | None:
        """The table as a picture, for notebooks, once there is a match."""
        return self.aec._repr_html_()

    def record(self) -> Record:
        """The match so far, as a JSON-serialisable dict (see the AEC environment)."""
        return self.aec.record()

    def history(self, seat: int | str | None = None) -> Events:
        """Everything that the learner has seen in this match, or another seat: ``(T, 4) int16`` (see the AEC one)."""
        return self.aec.history(self.seat if seat is None else seat)

    @property
    def layout(self) -> Layout:
        """The observation, block by block."""
        return self.aec.layout

    @property
    def states(self) -> States:
        """The position: an array of one record, as agents take it; to be read only."""
        return self.aec.states

    def _let_opponents_play(self) -> None:
        play_on(self.aec, self._ask_opponent, self.seat)
        self._over = self.aec.phase == "over"

    def _ask_opponent(self, seat: int) -> int:
        """The action of an opponent."""
        player, kernels = self._opponents.players[(seat - self.seat) % self.game.num_players - 1], self.game.kernels
        if player == GREEDY_PLAYER:
            return int(kernels.greedy_action(self.states, 0))
        if player == RANDOM_PLAYER:
            return int(kernels.random_action(self.states, 0, self._stream))
        seen = self.aec.observe(self.aec.agent_selection)
        observations, masks = seen["observation"][None], seen["action_mask"][None]
        plays = self.aec.plays if self.aec.knows_order else None
        return int(self._opponents.act(player, observations, masks, self.states, plays)[0])

    def _observe(self) -> tuple[Observation, Info]:
        seen = self.aec.observe(self._agent)
        self._mask = seen["action_mask"]
        if self._over:
            self._mask.fill(self._masking.end)
        return self._masking.observation(seen["observation"], self._mask), {"action_mask": self._mask.copy()}
