"""A person's match against players, without a screen: what happens, advice, taking back, and its record on disk.

The terminal and the page present it.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from trick_envs.agents.pretrained import PRETRAINED, pretrained_file
from trick_envs.agents.program import IllegalAnswer
from trick_envs.agents.spec import not_trusted, runs_code
from trick_envs.engine.arguments import is_whole
from trick_envs.engine.game import Game
from trick_envs.engine.positions import can_name, led_cards, legal_names, observe
from trick_envs.engine.rng import MAX_SEED
from trick_envs.engine.state import PHASES, States
from trick_envs.errors import IllegalAction, InputError, in_a_line, shown
from trick_envs.files import write_json
from trick_envs.matches.events import Play, match_after, number_of_plays, play, plays_of, tell_all
from trick_envs.matches.loop import choose_action
from trick_envs.matches.match import Match
from trick_envs.matches.replay import replay
from trick_envs.matches.seating import checked_seat
from trick_envs.matches.viewing import match_view
from trick_envs.play.characters import PERSON, names_of
from trick_envs.play.hints import Hint, advisor_of
from trick_envs.play.players import STAND_IN, Player
from trick_envs.view import TableView
from trick_envs.view.messages import declared, said
from trick_envs.view.words import card_words

SEARCH = "ismcts:1000"  # the opponents where no trained policy comes with the game


def default_player(game: Game) -> str:
    """The spec of the policy that comes with the game, or of a search if there is none."""
    return PRETRAINED if pretrained_file(game.type, game.num_players).is_file() else SEARCH


class Session:
    """A match in which one seat is a person's. ``play`` saves its record whenever it is the person's turn.

    Args:
        match: the match, at its start or later.
        players: the spec of every seat's player; ``PERSON`` for the person's.
        file: for the record; ``None``: it is not saved.
        named: whether pictures and texts call the others by names for people; else ``player_1`` and so on.
        policies: where the policies are that people have brought to a server.

    Attributes:
        seat: the person's.
        players: as above; a player that fails leaves its place to another.
        start_number: how many plays there were when the person sat down: not 0 if the match goes on from a replay.
        taken_back: how often the person has taken back a play.
        ended: whether the person has ended the match before its end.
        same_cards: the name under which others get the same cards; empty for none.
        unsaved: why the record could not be written at the last try; empty if it could.
        log: what the person was told of every play so far, a line each.

    Raises:
        ValueError: if there is no such player.
    """

    def __init__(
        self, match: Match, players: Sequence[str], file: Path | None = None, named: bool = False,
        policies: Path | None = None,
    ) -> None:  # fmt: skip
        self.match, self.game, self.file, self._policies = match, match.game, file, policies
        match.names = names_of(players) if named else ()
        self.start_number = number_of_plays(match)
        self.players, self.seat = list(players), list(players).index(PERSON)
        self.taken_back, self.ended, self.same_cards, self.unsaved = 0, False, "", ""
        self._on_disk: tuple[int, int] | None = None  # the file that was last read or written here
        self.agents = {seat: self._player(seat) for seat in range(len(players)) if seat != self.seat}
        self.log = [told_of(done, self.seat) for done in plays_of(match)]
        self._question: Question | None = None

    def _player(self, seat: int) -> Player:
        return Player(self.players[seat], self.game, (self.match.seed + seat) % (MAX_SEED + 1), self._policies)

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
        checked_seat(seat, game, "--seat")
        return cls(Match(game, seed), seated(seat, specs * (others // len(specs))), file)

    @classmethod
    def load(cls, file: Path, named: bool = False, trust: bool = False, policies: Path | None = None) -> Session:
        """The match that a session has saved.

        Args:
            file: the record.
            named: as above.
            trust: whether its players may be programs, Python functions or services.
            policies: as above.

        Raises:
            ValueError: if the file holds none, or such players; tells no path: whoever asks may be a stranger.
        """
        on_disk = _identity(file)
        try:
            record = json.loads(file.read_text(encoding="utf-8-sig"))
            players = record["players"]
        except (ValueError, RecursionError, TypeError, KeyError) as error:
            raise InputError(f"not saved by trick play ({in_a_line(error)})") from None
        match = replay(record)
        valid = isinstance(players, list) and all(isinstance(player, str) for player in players)
        if not valid or len(players) != match.game.num_players or players.count(PERSON) != 1:
            raise InputError(f"expected 'players', a spec for every seat and one {PERSON!r}, not {shown(players)}")
        for player in players:
            if runs_code(player) and not trust:
                raise InputError(not_trusted(player, "a record"))
        session = cls(match, players, file, named, policies)
        counts = [record.get(key, 0) for key in ("taken_back", "start_number")]
        if not all(is_whole(count, 0, most) for count, most in zip(counts, (1 << 53, session.number), strict=True)):
            raise InputError(f"'taken_back' and 'start_number' count plays: they are {counts!r:.200}")
        session.taken_back, session.start_number = counts
        session._on_disk = on_disk
        session.ended = record.get("ended") is True
        session.same_cards = str(record.get("same_cards", ""))
        return session

    @classmethod
    def resume(cls, file: Path, trust: bool = False) -> Session:
        """The match that a session has saved, to be played on; arguments as of ``load``.

        Raises:
            ValueError: if the file holds none, or one that is over; names the file.
        """
        try:
            session = cls.load(file, trust=trust)
        except ValueError as error:
            raise InputError(f"{file}: {error}") from None
        if session.over:
            raise InputError(f"{file}: this match is over; 'trick replay' prints it")
        return session

    def prepare(self) -> None:
        """Compiles what playing needs, with the first tricks of another match."""
        other = Match(self.game, 0)
        for _ in range(3 * self.game.num_players):
            if other.over:
                break
            match_view(other, self.seat)
            _, mask = observe(self.game, other.states, int(other.states["seat"][0]))
            other.step(int(mask.argmax()))

    @property
    def number(self) -> int:
        """How many plays there were: every position of the match has its own."""
        return number_of_plays(self.match)

    @property
    def moment(self) -> tuple[int, int]:
        """What no other position of this session has: how often plays were taken back, and how many there are."""
        return self.taken_back, self.number

    @property
    def over(self) -> bool:
        """Whether nobody plays any more."""
        return self.match.over or self.ended

    @property
    def begun(self) -> bool:
        """Whether the person has played a card."""
        return bool(self._own_plays())

    def _own_plays(self) -> list[int]:
        """The numbers of the plays that the person has made in this session, from 0."""
        plays = [seat for deal in self.match.deals for seat, _ in deal.actions]
        return [number for number in range(self.start_number, len(plays)) if plays[number] == self.seat]

    @property
    def asks(self) -> bool:
        """Whether the person is to act."""
        return not self.over and self.acts == self.seat

    @property
    def acts(self) -> int:
        """The seat to act."""
        return int(self.match.states["seat"][0])

    def view(self) -> TableView:
        """The table as the person sees it."""
        return match_view(self.match, self.seat)

    def choose(self, busy: int = 1) -> int:
        """The action of the player who is to act.

        Args:
            busy: how many moves are being computed at this time, this one included: searches shrink.

        Raises:
            ValueError: if the player names no legal card; tells no cards, which the person may not see.
        """
        seat = self.acts
        try:
            return choose_action(self.match, self.agents[seat].act(busy))
        except (IllegalAction, IllegalAnswer) as error:
            raise IllegalAction(f"{self.view().you(seat)} ({self.players[seat]}) named no legal card") from error

    def stand_in(self, seat: int) -> bool:
        """Gives the seat of a player that has failed to ``STAND_IN``; returns whether this is another player."""
        if self.players[seat] == STAND_IN:
            return False
        self.players[seat] = STAND_IN
        self.agents[seat] = self._player(seat)
        return True

    def play(self, action: int) -> Play:
        """Plays an action of the seat to act; returns what it has done. After any error nothing has been played.

        Raises:
            ValueError: if it is illegal; says the rule.
        """
        match, number = self.match, self.number
        try:
            done = play(match, action)
            line = told_of(done, self.seat)
        except InputError:  # refused before anything was changed
            raise
        except BaseException:
            self.match = match_after(match, number)
            raise
        self.log.append(line)
        if self.asks or self.match.over:
            self.save()  # with the answers of the others: what comes back is what the person has seen
        return done

    def why_illegal(self, action: int) -> str:
        """Why the person may not name a card now; empty if it is legal.

        Cards are called as the person knows them: in words where seats have names for people, else as they are typed.
        """
        game, states, phase = self.game, self.match.states, self.match.phase
        deck = game.deck
        if observe(game, states, self.acts)[1][action]:
            return ""

        def called(*names: str) -> str:
            if not self.match.names:
                return " ".join(names)
            return said("words.comma").join(card_words(deck.suits, deck.ranks, deck.parse(name)) for name in names)

        told = {"card": called(deck.format(action)), "legal": called(*legal_names(game, states))}
        if not can_name(game, states, action):
            return said("illegal.missing", **told)
        rule = declared(game.name, phase, game.type.legality_rule(PHASES.index(phase)))
        return said(f"illegal.{phase}", **told, rule=rule, led=called(*led_cards(game, states)))

    def question(self) -> Question:
        """The decision that is to be made: the same object until something is played or taken back."""
        if self._question is None or self._question.moment != self.moment:
            self._question = Question(self.moment, self.game, self.match.states.copy())
        return self._question

    def take_back(self) -> bool:
        """Returns to the person's last decision, whatever was played since; the record says how often this was done.

        Returns:
            whether there was one.
        """
        own = self._own_plays()
        if not own or self.over:
            return False
        self.match, self.taken_back = match_after(self.match, own[-1]), self.taken_back + 1
        del self.log[own[-1] :]
        self.save()
        return True

    def end(self) -> None:
        """Ends the match before its end: nobody plays any more."""
        self.ended = not self.match.over
        if self.begun:
            self.save()

    def from_the_start(self) -> Match:
        """A match with the same cards, at the position at which the person has sat down."""
        return match_after(self.match, self.start_number)

    @property
    def gone_on_elsewhere(self) -> bool:
        """Whether another process has written the file since it was last read or written here."""
        found = None if self.file is None else _identity(self.file)
        return None not in (found, self._on_disk) and found != self._on_disk

    @property
    def deleted(self) -> bool:
        """Whether the file that was last read or written here was deleted, and its folder was not."""
        if self.file is None or self._on_disk is None:
            return False
        try:
            return not self.file.exists() and self.file.parent.is_dir()
        except OSError:  # nobody may look into the folder: whoever saves is told why
            return False

    def save(self) -> None:
        """Writes the record, with the players, if there is a file for it.

        A file that cannot be written does not end the match, nor is one overwritten that another process has written,
        or written again that was deleted: ``unsaved`` says why.
        """
        if self.file is None:
            return
        if self.deleted:
            self.unsaved = said("refused.deleted")
            return
        if self.gone_on_elsewhere:
            self.unsaved = said("refused.elsewhere")
            return
        try:
            write_json(self.file, self.record())
            self.unsaved, self._on_disk = "", _identity(self.file)
        except OSError as error:
            self.unsaved = error.strerror or str(error)  # no path: whoever plays may be a stranger

    def record(self) -> dict[str, Any]:
        """The record so far, with ``players``: the spec of every seat's player.

        Where it is so: ``taken_back`` says how often plays were taken back, ``ended`` that the person has ended the
        match, ``start_number`` after how many plays of another match this one began, ``same_cards`` under which name
        others get the same cards.
        """
        notes = {
            "taken_back": self.taken_back, "ended": self.ended, "start_number": self.start_number,
            "same_cards": self.same_cards,
        }  # fmt: skip
        return {**self.match.record(), "players": self.players, **{key: note for key, note in notes.items() if note}}


@dataclass(frozen=True, eq=False)
class Question:
    """A decision that is to be made; the match may go on while it is thought about.

    Attributes:
        moment: which one: ``Session.moment``.
        game: the game.
        states: the position.
    """

    moment: tuple[int, int]
    game: Game
    states: States

    @cached_property
    def hint(self) -> Hint:
        """What policy and search think of it, from what the seat to act knows; found when it is first asked for."""
        return advisor_of(self.game).advise(self.states)


def seated(seat: int, others: Sequence[str]) -> list[str]:
    """The specs of all seats: a person's, and those of the others, clockwise from the person's left."""
    players, n = [PERSON] * (len(others) + 1), len(others) + 1
    for number, spec in enumerate(others):
        players[(seat + 1 + number) % n] = spec
    return players


def _identity(file: Path) -> tuple[int, int] | None:
    """What changes when a file is replaced; ``None`` if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def told_of(done: Play, observer: int) -> str:
    """What an observer is told of a play, in words."""
    return tell_all(done.events(observer), done.look(observer))
