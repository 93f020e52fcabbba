"""The games as Gymnasium environments: one seat learns, agents play the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from trick_envs.engine.game import setup
from trick_envs.engine.kernels import END_MATCH, GREEDY_PLAYER, RAISE, RANDOM_PLAYER
from trick_envs.interfaces.aec import RawEnv
from trick_envs.interfaces.batch import checked_seed
from trick_envs.interfaces.opponents import Opponent, Opponents, checked_seat, illegal_mode

Observation = npt.NDArray[np.float32]
Info = dict[str, Any]


class SeatEnv(gymnasium.Env[Observation, np.int64]):
    """A trick-taking game from one seat. Make it with ``gymnasium.make("trick_envs/Pepper-v0", …)``.

    Observation: ``(D,) float32``, relative to the seat; ``setup.layout`` says what is where.
    Action: ``Discrete(A)``, the kind of card to name; ``info["action_mask"]``, ``(A,) int8``, marks the legal ones.
    Reward: what the learner was paid since its last action, while the opponents played too.
    End: ``terminated`` when the match is over, or by an illegal action; nothing truncates.

    A seed gives the same deals as everywhere else, whoever plays them. Where the learner sits and what random
    opponents do is drawn from a stream of their own, started from the seed of each match.

    Args:
        game: the game, such as ``"pepper"``.
        seat: where the learner sits; ``None`` draws a seat for each match.
        opponents: one player for all other seats, or a list with one for each, clockwise from the learner. A player
            is a spec (``"greedy"``, …), an ``Agent``, or a function ``(observations, action_masks) -> actions`` on
            batches (here of one row). An ``Agent`` that is given as such is seeded anew for each match.
        illegal: what an illegal action does: ``"terminate"`` ends the match with a reward of -1, ``"raise"`` is a
            ``ValueError``, ``"random"`` plays a random legal card instead.
        reward: ``"score"``, ``"zero_sum"`` or ``"win"``.
        num_players: seats, where the rules allow a choice.
        num_deals: exact length of a match; ``None`` plays what the original plays or recommends.
        render_mode: ``None``, ``"ansi"`` or ``"human"``.
        options: the game's own options.

    Attributes:
        aec: the AEC environment inside.
        setup: the game as it is set up.
        seat: where the learner sits in this match.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "human"], "render_fps": 2}  # noqa: RUF012

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
        **options: Any,
    ) -> None:
        self.setup = setup(game, num_players, num_deals, **options)
        self.aec = RawEnv(self.setup, reward, render_mode)
        self.render_mode = render_mode
        self.observation_space = spaces.Box(*self.setup.layout.bounds(), dtype=np.float32)
        self.action_space = spaces.Discrete(self.setup.num_actions)
        self.seat = self._wanted = checked_seat(seat, self.setup, "seat")
        self._illegal = illegal_mode(illegal)
        self._opponents = Opponents(opponents, self.setup)
        self._stream = np.zeros(1, np.uint64)
        self._mask = np.zeros(self.setup.num_actions, np.int8)
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Starts a match and plays on to the learner's first decision.

        Args:
            seed: fixes the deals, the first dealer, the learner's seat and the opponents' choices. ``None`` goes on
                in the stream of the matches before, or starts anywhere.
            options: ``seat``, where the learner sits in this match; ``dealer`` and ``deals`` as for the AEC
                environment.

        Raises:
            ValueError: for a bad seed, seat, dealer or deal.
        """
        chosen = dict(options or {})
        seat = checked_seat(chosen.pop("seat", None), self.setup, "options['seat']")
        seed = None if seed is None else checked_seed(seed)
        self.aec.reset(seed, chosen)
        super().reset(seed=seed)
        drawn = int(self.setup.kernels.draw_seat(self.states, 0, self._stream))
        self.seat = next(place for place in (seat, self._wanted, drawn) if place >= 0)
        self._agent = self.aec.possible_agents[self.seat]
        self._opponents.seed(int(self.states["seed"][0]))
        self._over = False
        self._let_opponents_play()
        return self._look()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        """Plays the card that the learner names, and on to its next decision or the end of the match.

        Raises:
            ValueError: for an illegal action, with ``illegal="raise"``; names the card and the rule. Nothing has
                changed then.
            gymnasium.error.ResetNeeded: before ``reset`` and after the end of the match.
        """
        if self._over:
            raise ResetNeeded("no match is going on: call reset() first")
        try:
            self.aec.step(action)
        except ValueError:
            if self._illegal == RAISE:
                raise
            if self._illegal == END_MATCH:
                self._over = True
                observation, info = self._look()
                return observation, -1.0, True, False, info
            self.aec.step(int(self.setup.kernels.random_action(self.states, 0, self._stream)))
        self._let_opponents_play()
        observation, info = self._look()
        return observation, self.aec._cumulative_rewards[self._agent], self._over, False, info

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The learner's legal actions, ``(A,) int8``; all zeros when the match is over."""
        return self._mask.copy()

    def render(self) -> Any:
        """The table as text: returned in mode ``"ansi"``, printed in mode ``"human"``."""
        return self.aec.render()

    def record(self) -> dict[str, Any]:
        """The match so far, as a JSON-serialisable dict (see the AEC environment)."""
        return self.aec.record()

    @property
    def states(self) -> npt.NDArray[Any]:
        """The game itself: an array of one record, as agents take it."""
        return self.aec.states

    def _let_opponents_play(self) -> None:
        aec, agent, kernels = self.aec, self._agent, self.setup.kernels
        while not aec.terminations[agent] and aec.agent_selection != agent:
            player = self._opponents.players[(int(self.states["seat"][0]) - self.seat) % aec.num_players - 1]
            if player == GREEDY_PLAYER:
                action = kernels.greedy_action(self.states, 0)
            elif player == RANDOM_PLAYER:
                action = kernels.random_action(self.states, 0, self._stream)
            else:
                seen = aec.observe(aec.agent_selection)
                observations, masks = seen["observation"][None], seen["action_mask"][None]
                action = self._opponents.act(player, observations, masks, self.states)[0]
            aec.step(int(action))
        self._over = aec.terminations[agent]

    def _look(self) -> tuple[Observation, Info]:
        seen = self.aec.observe(self._agent)
        self._mask = np.zeros_like(seen["action_mask"]) if self._over else seen["action_mask"]
        return seen["observation"], {"action_mask": self._mask.copy()}
