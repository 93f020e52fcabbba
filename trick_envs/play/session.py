"""A person's match against players, without a screen: what happens, advice, taking back, and its record on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trick_envs.agents import make_agent
from trick_envs.agents.pretrained import PRETRAINED, pretrained_file
from trick_envs.engine.game import Game
from trick_envs.engine.inspect import observe, why_illegal
from trick_envs.engine.rng import MAX_SEED
from trick_envs.errors import InputError
from trick_envs.files import write_json
from trick_envs.matches.events import Play, match_after, number_of_plays, play
from trick_envs.matches.match import Match
from trick_envs.matches.replay import replay
from trick_envs.matches.seating import checked_seat
from trick_envs.matches.viewing import match_view
from trick_envs.play.advice import Advice
from trick_envs.play.hints import advisor_of
from trick_envs.view import TableView

PERSON = "person"  # in the record's players
SEARCH = "ismcts:1000"  # the opponents where no trained policy comes with the game


def default_player(game: Game) -> str:
    """The spec of the policy that comes with the game, or of a search if there is none."""
    return PRETRAINED if pretrained_file(game.type, game.num_players).is_file() else SEARCH


class Session:
    """A match in which one seat is a person's. ``play`` saves its record after each of the person's plays.

    Args:
        match: the match, at its start or later.
        players: the spec of every seat's player; ``PERSON`` for the person's.
        file: for the record.

    Attributes:
        seat: the person's.
        taken_back: how often the person has taken back a play.
    """

    def __init__(self, match: Match, players: Sequence[str], file: Path) -> None:
        self.match, self.game, self.file = match, match.game, file
        self.players, self.seat, self.taken_back = list(players), list(players).index(PERSON), 0
        self._agents = {
            seat: make_agent(spec, self.game, (match.seed + seat) % (MAX_SEED + 1))
            for seat, spec in enumerate(players)
            if seat != self.seat
        }

    @classmethod
    def start(cls, game: Game, seat: int, opponents: str, seed: int, file: Path) -> Session:
        """A new match.

        Args:
            game: the game.
            seat: the person's.
            opponents: one spec for all others, or one for each, separated by commas, clockwise from the person's left.
            seed: seed of the deals and of the players.
            file: for the record.

        Raises:
            ValueError: if there is no such seat or player, or the file exists.
        """
        if file.exists():
            raise InputError(f"{file} exists: continue that match with --resume, or name another file")
        specs, others = opponents.split(","), game.num_players - 1
        if len(specs) not in (1, others):
            raise InputError(f"--opponents: expected 1 spec, or {others} separated by commas, not {len(specs)}")
        players = [PERSON] * game.num_players
        checked_seat(seat, game, "--seat")
        for number in range(others):
            players[(seat + 1 + number) % game.num_players] = specs[number % len(specs)]
        return cls(Match(game, seed), players, file)

    @classmethod
    def resume(cls, file: Path) -> Session:
        """The match that a session has saved.

        Raises:
            ValueError: if the file holds none, or one that is over.
        """
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
            players = record["players"]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{file}: not saved by trick play ({type(error).__name__}: {error})") from None
        match = replay(record)
        valid = isinstance(players, list) and all(isinstance(player, str) for player in players)
        if not valid or len(players) != match.game.num_players or players.count(PERSON) != 1:
            raise InputError(f"{file}: expected 'players', a spec for every seat and one {PERSON!r}, not {players!r}")
        if match.over:
            raise InputError(f"{file}: this match is over; 'trick replay' prints it")
        session, taken_back = cls(match, players, file), record.get("taken_back", 0)
        session.taken_back = taken_back if isinstance(taken_back, int) else 0
        return session

    def prepare(self) -> None:
        """Compiles what playing needs, with the first tricks of another match."""
        other = Match(self.game, 0)
        for _ in range(3 * self.game.num_players):
            match_view(other, self.seat)
            _, mask = observe(self.game, other.states, int(other.states["seat"][0]))
            other.step(int(mask.argmax()))

    @property
    def number(self) -> int:
        """How many plays there were: every position of the match has its own."""
        return number_of_plays(self.match)

    @property
    def begun(self) -> bool:
        """Whether the person has played a card."""
        return any(seat == self.seat for deal in self.match.deals for seat, _ in deal.actions)

    @property
    def asks(self) -> bool:
        """Whether the person is to act."""
        return not self.match.over and int(self.match.states["seat"][0]) == self.seat

    def view(self) -> TableView:
        """The table as the person sees it."""
        return match_view(self.match, self.seat)

    def choose(self) -> int:
        """The action of the player who is to act."""
        acts = int(self.match.states["seat"][0])
        observation, mask = observe(self.game, self.match.states, acts)
        return int(self._agents[acts].act(observation[None], mask[None], self.match.states)[0])

    def play(self, action: int) -> Play:
        """Plays an action of the seat to act; returns what it has done.

        Raises:
            ValueError: if it is illegal; says the rule.
        """
        own = self.asks
        done = play(self.match, action)
        if own or self.match.over:
            self.save()
        return done

    def why_illegal(self, action: int) -> str:
        """Why the person may not name a card now."""
        return to_you(why_illegal(self.game, self.match.states, action), self.seat)

    def advise(self) -> Advice:
        """What policy and search think of the decision that is to be made, from what the seat to act knows."""
        number, states = self.number, self.match.states.copy()
        return Advice(number, advisor_of(self.game).advise(states))

    def take_back(self) -> bool:
        """Returns to the person's last decision, whatever was played since; the record says how often this was done.

        Returns:
            whether there was one.
        """
        plays = [each for deal in self.match.deals for each in deal.actions]
        own = [number for number, (seat, _) in enumerate(plays) if seat == self.seat]
        if not own:
            return False
        self.match, self.taken_back = match_after(self.match, own[-1]), self.taken_back + 1
        self.save()
        return True

    def save(self) -> None:
        """Writes the record, with the players."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_json(self.file, self.record())

    def record(self) -> dict[str, Any]:
        """The record so far, with ``players``: the spec of every seat's player, and how often plays were taken back."""
        taken_back = {"taken_back": self.taken_back} if self.taken_back else {}
        return {**self.match.record(), "players": self.players, **taken_back}


def to_you(text: str, seat: int) -> str:
    """A message about a seat as one says it to the person who sits there."""
    name = f"player_{seat}"
    return text.replace(f"{name} does not have", "you do not have").replace(name, "you")
