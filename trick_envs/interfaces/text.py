"""The games in words: for language models, and for everybody who reads and writes.

- ``rules_text`` says the rules, ``position_text`` what a seat knows and what it is asked, and ``parse_answer`` reads
  its answer;
- ``TextEnv`` is a Gymnasium environment of them: ``gymnasium.make("trick_envs/Pepper-text-v0", …)``.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from trick_envs.agents.agent import Observations
from trick_envs.agents.judge import Judge
from trick_envs.discovery import gymnasium_id
from trick_envs.engine.arguments import check_render_mode, number_among, whole_number
from trick_envs.engine.deal import Deal
from trick_envs.engine.game import Game
from trick_envs.engine.history import Events
from trick_envs.engine.interrupts import Interruptible, whole
from trick_envs.engine.registry import arguments_of, load_game_for
from trick_envs.engine.state import OVER, States, copy_states
from trick_envs.errors import InputTypeError, shown
from trick_envs.interfaces.gymnasium import SeatEnv
from trick_envs.interfaces.rendering import FPS, MODES, Rendered
from trick_envs.matches.record import Record
from trick_envs.matches.seating import Opponent
from trick_envs.view.answer import Answer, parse_answer
from trick_envs.view.reader import estimated_tokens, plain, position_text, rules_text

__all__ = ["Answer", "TextEnv", "estimated_tokens", "parse_answer", "position_text", "rules_text"]

BAD_ANSWERS = ("retry", "substitute", "terminate")
MOST_LETTERS = 10_000  # of a text in the spaces; longer answers are read as well


class TextEnv(Interruptible, gymnasium.Env[str, str]):
    """A trick-taking game from one seat, in words. Make it with ``gymnasium.make("trick_envs/Pepper-text-v0", …)``.

    - Observation: ``str``, what the seat knows and what is asked (``position_text``); ASCII, at most about 600 tokens.
      ``info["rules"]`` of ``reset`` says the rules (``rules_text``).
    - Action: ``str``, an answer of any length (``parse_answer``): its last card in ``<play>…</play>`` counts.
    - Reward: the points, paid when a deal ends, as in ``SeatEnv``; with ``loss`` minus what a decision has lost.
    - End: ``terminated`` when the match is over, or by a bad answer; nothing truncates.

    ``info`` has ``action_mask``; ``played``, the card that the last answer has put on the table (empty: none);
    ``problem``, what was wrong with it; ``bad_answers``, ``substituted`` and ``decisions``, which count on through the
    match; and with ``loss`` also ``loss``, ``loss_error`` and ``points``.

    Args:
        game: the game, such as ``"pepper"``.
        bad_answers: what an answer without a legal card does: ``"retry"`` asks again, with a sentence that says what
            was understood and what is legal, ``retries`` times at a decision, and then substitutes; ``"substitute"``
            plays a random legal card; ``"terminate"`` ends the match, and its rewards then add up to less than those of
            any honest match.
        retries: how often ``"retry"`` asks again.
        loss: a search, such as ``"pretrained+rollout:64"``: the reward of every answer is then minus the points that
            the card played loses against the search's choice, the mean over sampled worlds that the choice was not made
            in: unbiased, so that it is sometimes above 0 by chance. ``info["loss_error"]`` is its standard error.
        seat, opponents, reward, num_players, num_deals, render_mode, render_view: as for ``SeatEnv``.
        options: the game's own.

    Attributes:
        rules: the rules.
    """

    metadata: dict[str, Any] = {"render_modes": [*MODES], "render_fps": FPS}  # noqa: RUF012

    def __init__(
        self,
        game: str,
        bad_answers: str = "retry",
        retries: int = 2,
        loss: str | None = None,
        seat: int | None = None,
        opponents: Opponent | Sequence[Opponent] = "greedy",
        reward: str = "score",
        num_players: int | None = None,
        num_deals: int | None = None,
        render_mode: str | None = None,
        render_view: int | str | None = None,
        **options: Any,
    ) -> None:
        number_among(bad_answers, BAD_ANSWERS, "bad_answers")
        retries = whole_number(retries, 0, math.inf, "retries")
        check_render_mode(render_mode, MODES)
        own = [*arguments_of(TextEnv, "game")]  # the other ones of SeatEnv do not fit a text
        chosen = load_game_for("TextEnv", own, game, num_players, num_deals, options)
        made = gymnasium.make(
            gymnasium_id(chosen.name), seat=seat, opponents=opponents, reward=reward, num_players=num_players,
            num_deals=num_deals, render_mode=render_mode, render_view=render_view, disable_env_checker=True,
            illegal="terminate" if bad_answers == "terminate" else "substitute", **options,
        )  # fmt: skip
        self._inside = cast(SeatEnv, made.unwrapped)
        self.render_mode = render_mode
        self.rules = rules_text(self.game)
        self.observation_space = spaces.Text(MOST_LETTERS, charset=string.printable)
        self.action_space = spaces.Text(MOST_LETTERS, min_length=0, charset=string.printable)
        self._bad_answers, self._retries = bad_answers, retries if bad_answers == "retry" else 0
        wanted = "loss: expected a search, such as 'pretrained+rollout:64' or 'pimc:100'"
        self._judge = None if loss is None else Judge(loss, self.game, wanted)
        self._told = ""
        self._asked_again = 0
        self._counts = dict.fromkeys(("decisions", "bad_answers", "substituted"), 0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts a match and plays on to the first question; arguments and errors as ``SeatEnv.reset``."""
        return self._reset(*self._inside._checked(seed, options))

    @whole
    def _reset(self, seed: int | None, seat: int, given: Sequence[Deal]) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self._seen, _ = self._inside._reset(seed, seat, given)
        self._asked_again = 0
        self._counts = dict.fromkeys(self._counts, 0)
        self._told = self._text()
        return self._told, {**self._info(), "rules": self.rules}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Plays the card that an answer names, and on to the next question or the end of the match.

        Raises:
            TypeError: if the answer is no text.
            gymnasium.error.ResetNeeded: before ``reset`` and after the end of the match; and when an opponent or a
                search has raised, or Ctrl-C has stopped the step before.
        """
        if not isinstance(action, str):
            raise InputTypeError(f"an answer is a text, not {shown(action)}")
        self._needs_match()
        return self._step(action)

    def _needs_match(self) -> None:
        self._needs_complete()
        self._inside._needs_match()

    @whole
    def _step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        names, mask = self.game.deck.names, self._inside.action_masks()
        card, problem = parse_answer(action, [names[kind] for kind in np.flatnonzero(mask)], self.game.deck)
        self._counts["bad_answers"] += card is None
        if card is None and self._told and self._asked_again < self._retries:
            self._asked_again += 1
            return f"{self._told}\n\n{plain(problem)}", 0.0, False, False, self._info(problem=problem)
        before, seen = copy_states(self.states), cast(Observations, self._seen)
        plays = len(self._own_cards())
        named = int(np.argmin(mask)) if card is None else names.index(card)
        self._seen, reward, over, cut, _ = self._inside.step(named)
        self._asked_again = 0
        played = self._own_cards()[plays:][:1]  # what was substituted is in the match
        self._counts["decisions"] += 1
        self._counts["substituted"] += card is None and bool(played)
        about: dict[str, Any] = {"played": names[played[0]] if played else "", "problem": problem}
        if self._judge is not None:
            loss = error = 0.0
            if played:
                lost = self._judge.lost(seen[None], mask[None], before, np.array(played))
                loss, error = (float(each[0]) for each in lost)
            about |= {"loss": loss, "loss_error": error, "points": float(reward)}
            reward = -loss if played else reward
        self._told = self._text()
        return self._told, float(reward), over, cut, self._info(**about)

    def _text(self) -> str:
        return position_text(self.game, self.states, self.seat, self._inside.history())

    def _own_cards(self) -> list[int]:
        """The cards that the seat has named in this match, in order."""
        events = self._inside.history()
        return events[(events[:, 1] == self.seat) & (events[:, 2] < OVER), 3].tolist()

    def _info(self, **about: Any) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), "played": "", "problem": "", **self._counts, **about}

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The legal cards, ``(A,) int8``; zeros when the match is over."""
        return self._inside.action_masks()

    @property
    def game(self) -> Game:
        """The game."""
        return self._inside.game

    @property
    def seat(self) -> int:
        """Where the learner sits in this match."""
        return self._inside.seat

    @property
    def states(self) -> States:
        """The position, a record; to be read only."""
        return self._inside.states

    def record(self) -> Record:
        """The match so far, as a JSON-serialisable dict."""
        return self._inside.record()

    def history(self, seat: int | str | None = None) -> Events:
        """Everything that the learner has seen in this match, or another seat (``SeatEnv.history``)."""
        return self._inside.history(seat)

    def render(self) -> Rendered:
        """The table, as ``SeatEnv.render``."""
        return self._inside.render()

    def close(self) -> None:
        """Closes the window of mode ``"human"``."""
        self._inside.close()
