"""One match of a game: the position, the record, and the bytes of a saved state.

A match is determined by its seed, the deals that were given instead of random ones, and the actions. These are what
``to_bytes`` writes; ``from_bytes`` plays them again, so whatever it accepts is a position that play can reach.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, cast

import numpy as np

from trick_envs.engine.arguments import action_number, reward_mode, whole_numbers
from trick_envs.engine.deal import BY_THE_RULES, Deal, Plays, Trick, ends_trick
from trick_envs.engine.game import Game, checked_game
from trick_envs.engine.kernels.playing import DEAL_ENDED, ILLEGAL, MATCH_ENDED
from trick_envs.engine.play_log import PlayLog
from trick_envs.engine.positions import dealt, phase_name, why_illegal, winners_in
from trick_envs.engine.rng import checked_seed
from trick_envs.engine.state import FOLLOW, LEAD, States, copy_states
from trick_envs.errors import IllegalAction, InputError, InputTypeError, in_a_line, shown
from trick_envs.matches.fixed_deals import checked_deals, deal_given
from trick_envs.matches.record import Record

_ENDS = DEAL_ENDED + MATCH_ENDED
_MAGIC = b"trick_envs match 1 "
_ONLY_ROW = np.zeros(1, np.int64)


class Match:
    """A match, from its start. It can be copied and pickled.

    Whatever interrupts a play, also Ctrl-C: it has not happened then, or it has happened whole.

    Args:
        game: the game.
        seed: fixes the first dealer and every deal that is not given.
        given: deals to be dealt instead of random ones, from the first on; only their ``dealer`` and ``order`` matter.
        reward: what ``rewards`` are: ``"score"``, ``"zero_sum"`` or ``"win"``.

    Attributes:
        game: the game.
        states: ``(1,)`` records: the position.
        deals: the deals so far; the last one is being played, until the match is over.
        seat: the seat to act; after the end, the one whose dead step comes first in PettingZoo.
        over: whether the match has ended.
        notes: further entries of the record, such as ``players``; JSON-serialisable. (Saved states leave them out.)
        names: what texts and pictures call the seats; empty: ``player_0`` and so on. The record leaves it out.
    """

    def __init__(self, game: Game, seed: int, given: Sequence[Deal] = (), reward: str = "score") -> None:
        self.game, self.reward = game, reward
        self.states = np.zeros(1, checked_game(game).dtype)
        self.deals: list[Deal] = []
        self.over, self.seat = False, -1
        self.notes: dict[str, object] = {}
        self.names: tuple[str, ...] = ()
        self._given = checked_deals(game, given)
        self._deal = Deal()  # the one that is being played
        self._log: PlayLog | None = None
        self._bind()
        game.kernels.start_match(self.states, 0, game.template, np.uint64(checked_seed(seed)))
        self._begin_deal()

    def _bind(self) -> None:
        self._mode, self._num_actions = reward_mode(self.reward), self.game.num_actions
        self._rewards = np.zeros(self.game.num_players, np.float64)
        self._step = self.game.kernels.direct("step_one")
        self._bytes = self.states.view(np.uint8).data

    @property
    def seed(self) -> int:
        """The seed of the match."""
        return int(self.states["seed"][0])

    @property
    def phase(self) -> str:
        """What naming a card means now: ``lead``, ``follow``, ``pass``, ``keep``, ``pick``, or ``over``."""
        return phase_name(self.states)

    @property
    def next_seed(self) -> int:
        """The seed of the match that follows this one in its stream, should it be left now."""
        seeds = np.zeros(1, np.uint64)
        self.game.kernels.next_seeds(copy_states(self.states), _ONLY_ROW, seeds)
        return int(seeds[0])

    def play(self, action: int) -> int:
        """Plays an action of the seat to act.

        Returns:
            ``ILLEGAL`` (-1) if it is not legal: nothing has changed then. Else 0, or ``DEAL_ENDED`` if it has ended a
            deal, plus ``MATCH_ENDED`` if that was the last one; ``ended`` is this deal.

        Raises:
            InvalidAction: if it is not one whole number.
        """
        if type(action) is not int:
            action = action_number(action)
        if not 0 <= action < self._num_actions:
            return ILLEGAL
        deal, before = self._deal, self._bytes.tobytes()
        try:
            result: int = self._step(self.states, action, self._mode, self._rewards)
            if result == ILLEGAL:
                return ILLEGAL
            deal.actions.append((self.seat, action))
            deal.positions.append(before)
            if self._log is not None:
                self._log.note(self.before, _ONLY_ROW, [action])
                self._log.follow(self.states, _ONLY_ROW)
            if result < DEAL_ENDED:
                self.seat = result
                return 0
            self._end_deal(result)
            return result & _ENDS
        except BaseException:
            self._take_back(deal, before)
            raise

    def _take_back(self, deal: Deal, before: bytes) -> None:
        """Makes it so that a play in this deal, of which any part may have been done, has not happened."""
        self._bytes[:] = before
        while self.deals[-1] is not deal:
            self.deals.pop()
        if deal.positions and deal.positions[-1] is before:
            deal.positions.pop()
        del deal.actions[len(deal.positions) :]
        deal.score, deal.rewards = None, []
        self._deal, self.seat, self.over, self._log = deal, int(self.states["seat"][0]), False, None

    @property
    def before(self) -> States:
        """The position before the last play, as ``states``; to be read only."""
        deal = self._deal if self._deal.actions else self._deal_before("before: nothing has been played yet")
        return np.frombuffer(deal.positions[-1], self.game.dtype)

    @property
    def after(self) -> States:
        """The position after the last play: at the end of a deal its last one, before the next one was dealt."""
        return self.states if self._deal.actions or len(self.deals) == 1 else self._last_of(self.deals[-2])

    def _last_of(self, deal: Deal) -> States:
        """The last position of the deal before this one."""
        after = copy_states(np.frombuffer(deal.positions[-1], self.game.dtype))
        self.game.kernels.play_without_dealing(after, deal.actions[-1][1])
        return after

    @property
    def trick(self) -> Plays:
        """The cards of the running trick as they were played."""
        running = self.states["trick_size"][0] > 0 and not self.over
        return self._trick_until(self._deal, len(self._deal.actions)) if running else ()

    @property
    def last_trick(self) -> Trick | None:
        """The last finished trick, at first that of the deal before; ``None`` before the first one."""
        for deal in self.deals[:-3:-1]:
            after = self.states if deal is self._deal else self._last_of(deal)
            for number in reversed(range(len(deal.actions))):
                if not deal.positions[number]:  # a saved match: its deal has not finished a trick (``_play_again``)
                    break
                before = np.frombuffer(deal.positions[number], self.game.dtype)
                if ends_trick(before, after):
                    return Trick(self._trick_until(deal, number + 1), int(after["taking"][0]))
                after = before
        return None

    def _trick_until(self, deal: Deal, end: int) -> Plays:
        """The cards of a trick up to the play before number ``end`` of a deal, which belongs to it."""
        plays = []
        for number in reversed(range(end)):
            before = np.frombuffer(deal.positions[number], self.game.dtype)
            phase = before["phase"][0]
            if phase in (LEAD, FOLLOW):
                plays.append(deal.actions[number])
            if phase == LEAD and before["trick_size"][0] == 0:
                break
        return tuple(reversed(plays))

    def step(self, action: int) -> None:
        """Like ``play``, but an illegal action is an error.

        Raises:
            IllegalAction: names the seat, the card and the rule.
        """
        if self.play(action) == ILLEGAL:
            raise IllegalAction(why_illegal(self.game, self.states, action_number(action)))

    def _begin_deal(self) -> None:
        """Records the deal that has just been dealt, or deals a given one instead."""
        number = len(self.deals)
        deal_given(self.game, self.states, self._given, number)
        self.deals.append(Deal(int(self.states["dealer"][0]), tuple(self.states["order"][0].tolist())))
        self._deal, self.seat = self.deals[-1], int(self.states["seat"][0])
        if number > 2:  # one more than is needed, should this deal be taken back
            self.deals[-4].positions = []

    @property
    def ended(self) -> Deal:
        """The deal that has ended last; there has to be one."""
        return self.deals[-1] if self.over else self._deal_before("ended: no deal has ended yet")

    def _deal_before(self, otherwise: str) -> Deal:
        """The deal before this one."""
        if len(self.deals) < 2:
            raise InputError(otherwise)
        return self.deals[-2]

    def _end_deal(self, result: int) -> None:
        """Records how the deal ended, and begins the next one."""
        self.deals[-1].rewards = self._rewards.tolist()
        self.deals[-1].score = self.states["deal_score"][0][: self.game.num_players].tolist()
        if result & MATCH_ENDED:
            self.over, self.seat = True, int(self.states["seat"][0])
        else:
            self._begin_deal()

    def winners(self) -> list[int] | None:
        """The seats that share the win; ``None`` while the match goes on."""
        return winners_in(self.game, self.states) if self.over else None

    def record(self) -> Record:
        """The match so far, as a JSON-serialisable dict that never changes once returned.

        ``options`` is there if one of them is not the default. ``deals`` has an entry per deal: ``dealer``, ``hands``
        as dealt, ``stock`` in drawing order, ``actions`` as ``[seat, card]``, and its ``score`` by seat (``None``
        while it is being played). What ``notes`` say stands behind the rest.
        """
        game, deals = self.game, list[dict[str, Any]]()
        for deal in self.deals:
            hands, stock = dealt(game, deal.order)
            actions = [[int(seat), game.deck.format(action)] for seat, action in deal.actions]
            score = None if deal.score is None else list(deal.score)
            told = {"dealer": deal.dealer, "hands": hands, "stock": stock, "actions": actions, "score": score}
            deals.append({**told, **deepcopy(deal.notes)})
        record = {
            "game": game.name,
            "version": game.type.version,
            "num_players": game.num_players,
            "num_deals": game.num_deals,
            **({"options": game.options} if game.options != game.type.options else {}),
            "seed": self.seed,
            "deals": deals,
            "score": [int(score) for score in self.states["score"][0][: game.num_players]],
            "winners": self.winners(),
            **deepcopy(self.notes),
        }
        return cast(Record, record)

    def moment(self) -> str:
        """Where the match is, in words, such as ``seed 7, deal 2, player_3 to lead``."""
        if self.over:
            return f"seed {self.seed}, over"
        return f"seed {self.seed}, deal {len(self.deals)}, player_{self.seat} to {self.phase}"

    def __repr__(self) -> str:
        return f"<match of {self.game.name} for {self.game.num_players}: {self.moment()}>"

    # --- bytes ---------------------------------------------------------------------------------------------------

    def to_bytes(self, extra: object = None) -> bytes:
        """The match as bytes for ``from_bytes``: equal matches give equal bytes.

        Args:
            extra: JSON-serialisable data to save with it.
        """
        content = {
            "played": _key(self.game, self.reward),
            "seed": self.seed,
            "given": [[None if one.dealer == BY_THE_RULES else one.dealer, one.order or None] for one in self._given],
            "actions": [[action for _, action in deal.actions] for deal in self.deals],
            "extra": extra,
        }
        payload = json.dumps(content, separators=(",", ":")).encode()
        return _MAGIC + _digest(payload) + b"\n" + payload

    @classmethod
    def from_bytes(cls, data: bytes, game: Game, reward: str) -> tuple[Match, Any]:
        """The match that ``to_bytes`` wrote, played again, and its ``extra``.

        Raises:
            ValueError: if the bytes are damaged or not from ``to_bytes``, are of another game, number of players,
                length, options or reward, or hold an action that is not legal.
        """
        try:
            head, _, payload = memoryview(data).tobytes().partition(b"\n")
        except TypeError:
            raise InputTypeError(f"expected the bytes of a saved match, not {shown(data)}") from None
        if head != _MAGIC + _digest(payload):
            raise InputError("these bytes are not a saved match, or they are damaged")
        try:
            content = json.loads(payload)
            played = content["played"]
            if played == _key(game, reward):
                match = cls(game, checked_seed(content["seed"]), _given(content["given"], game), reward)
                match._play_again(content["actions"])
                return match, content["extra"]
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InputError(f"these bytes are not a saved match ({in_a_line(error)})") from None
        raise InputError(f"this is a match of {shown(played)}, and the environment is {_key(game, reward)}")

    def _play_again(self, deals: Any) -> None:
        """Plays the actions of a saved match, deal by deal."""
        for number, listed in enumerate(deals):
            actions = whole_numbers(listed or np.zeros(0, np.int64)) if isinstance(listed, list) else None
            if actions is None or actions.ndim != 1 or number != len(self.deals) - 1:
                raise InputError(f"deal {number + 1} of the saved match cannot be played")
            # the last finished trick ends among the last plays of one of the last two deals: they are played one by one
            alone = 2 * (self.game.num_players + 2) if number >= len(deals) - 2 else 0
            at_once = actions[: max(len(actions) - alone, 0)].astype(np.int64)
            seats = np.zeros(len(at_once), np.int64)
            count, result = self.game.kernels.replay_actions(self.states, at_once, self._mode, self._rewards, seats)
            self._deal.actions += zip(seats[:count].tolist(), at_once[:count].tolist(), strict=True)
            self._deal.positions += [b""] * count
            self.seat = int(self.states["seat"][0])
            if result >= DEAL_ENDED:
                self._end_deal(result)
            for action in actions[count:].tolist():
                if self.over or number != len(self.deals) - 1 or self.play(action) == ILLEGAL:
                    raise InputError(f"deal {number + 1} of the saved match: play {count + 1} is not legal")
                count += 1
        if len(deals) != len(self.deals):
            raise InputError(f"a saved match of {len(deals)} deals, of which {len(self.deals)} can be played")

    def __reduce__(self) -> tuple[Any, ...]:
        notes = self.notes, [deal.notes for deal in self.deals]
        return _loaded, (self.to_bytes(), self.game, self.reward, self.names, *notes)

    def log(self) -> PlayLog:
        """Who has played what and when, as observations with history show it: a log of one game.

        Once asked for, it is kept up to date.
        """
        if self._log is None:
            log = PlayLog(self.game, 1)
            log.load(self.deals)
            self._log = log
        return self._log


def _loaded(
    data: bytes, game: Game, reward: str, names: tuple[str, ...], notes: dict[str, Any], of_deals: Any
) -> Match:
    """A match that was copied or pickled."""
    match, _ = Match.from_bytes(data, game, reward)
    match.names, match.notes = names, notes
    for deal, further in zip(match.deals, of_deals, strict=True):
        deal.notes = further
    return match


def _key(game: Game, reward: str) -> list[object]:
    """What a saved match is bound to."""
    return [game.name, game.type.version, game.num_players, game.num_deals, game.options, reward]


def _digest(payload: bytes) -> bytes:
    return hashlib.sha256(payload).hexdigest()[:32].encode()


def _given(listed: Any, game: Game) -> list[Deal]:
    """Checks the given deals of a saved match."""
    found = []
    for dealer, order in listed:
        if dealer is not None and not (type(dealer) is int and 0 <= dealer < game.num_players):
            raise InputError(f"a saved match with the dealer {shown(dealer)}")
        if order is not None and sorted(order) != sorted(game.deck.cards):
            raise InputError("a saved match with cards that are not the deck")
        found.append(Deal(BY_THE_RULES if dealer is None else dealer, () if order is None else tuple(map(int, order))))
    return found
