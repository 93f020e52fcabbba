"""Double-Deck German Whist (ダブルデッキ・ジャーマンホイスト): German Whist with two packs for two against two.

Seats 0 and 2 play against seats 1 and 3. The first 13 tricks win better cards, the last 13 win the deal. Everybody
sees the hand of the right neighbour, an opponent, at all times.

Cards ``2C … AS``, each twice. The top card of the stock shows the trump suit and stays there, face up (the original
sets it aside and lets a joker stand for it, which comes to the same).

Ruling: of the two face-down cards the first one goes to the winner's left neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trick_envs.engine.cards import CardSet, Deck, cards, common, first, is_empty, put, rest, size, union, without
from trick_envs.engine.compile import rule
from trick_envs.engine.game import Game
from trick_envs.engine.lowlevel import clear_bytes
from trick_envs.engine.observation import Block, write_cards, write_number, write_taking
from trick_envs.engine.table import (
    FOLLOW,
    LEAD,
    OVER,
    PICK,
    Place,
    contest,
    follow_suit,
    hand_size,
    higher,
    kind,
    lay,
    lead_trick,
    led_suit,
    left,
    move,
    next_to_play,
    of_suit,
    put_away,
    rank,
    rank_if_led,
    right,
    show,
    show_all,
    show_hand,
    suit,
    trick_complete,
)

HALF = 13  # tricks
MAJORITY = 7  # of the tricks of the second half
DEALS_TO_WIN = 3


def deck(num_players: int) -> Deck:
    return Deck("CDHS", ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"), copies=2)


def blocks(num_players: int) -> Sequence[Block]:
    return (
        Block("trump", 4, "the trump suit, one of 4"),
        Block("upturned", 52, "by card: how many lie face up beside the stock", 2),
        Block("tricks", 1, "finished tricks of the deal", 2 * HALF),
        Block("second_half", 1, "1 in the second half, which begins when the stock is used up"),
        Block("won", 2, "tricks of the second half: own team, other team", HALF),
        Block("deals_won", 4, "deals won by own team, by the other team, each as hundreds and the rest", 127),
        Block("taking", num_players, "by seat: 1 if its card takes the trick so far"),
    )


def secret_blocks(num_players: int) -> Sequence[Block]:
    return (Block("stock", 52, "in drawing order: 1 + the action of a card not yet turned up or drawn, else 0", 52),)


GAME = Game(
    title="Double-Deck German Whist",
    players=(4,),
    default_players=4,
    deck=deck,
    hand_size=lambda num_players: 13,
    deals=lambda num_players: 2 * DEALS_TO_WIN - 1,
    phases=(LEAD, FOLLOW, PICK),
    teams=True,
    hands_seen=True,
    places=(Place("stock", per_seat=False, open=False), Place("upturned", per_seat=False)),
    match_fields=[("deals_won", np.int32, (2,))],  # by team
    deal_fields=[("trump", np.int8), ("won", np.int8, (2,))],  # won: tricks of the second half, by team
    demands={
        FOLLOW: "whoever has the led suit must play it",
        PICK: "the winner of the trick takes one of the two cards that lie face up",
    },
    blocks=blocks,
    secret_blocks=secret_blocks,
)


@rule
def team(seat: int) -> int:
    return seat & 1


# --- the deal -----------------------------------------------------------------------------------------------------


@rule
def begin(state: Any) -> None:
    """All see the hand of their right neighbour. The top card of the stock shows trumps; the dealer's left leads."""
    for seat in range(state.num_players):
        show_hand(state, seat, left(state, seat))
    for i in range(state.num_players * state.hand_size, state.num_cards):
        put(state.stock, state.order[i])
    state.trump = suit(state, top_of_stock(state, 0))
    turn_up(state)
    lead_trick(state, left(state, state.dealer))


@rule
def top_of_stock(state: Any, i: int) -> int:
    """The ``i``-th of the four stock cards that the next trick is about: two face up, two face down."""
    return state.order[state.num_players * (state.hand_size + state.tricks) + i]


@rule
def turn_up(state: Any) -> None:
    """The next two cards of the stock are laid face up."""
    move(top_of_stock(state, 0), state.stock, state.upturned)
    move(top_of_stock(state, 1), state.stock, state.upturned)


@rule
def legal(state: Any) -> CardSet:
    """Any card is led; followers must follow suit. The winner of a trick picks one of the face-up cards."""
    if state.phase == PICK:
        return cards(state.upturned)
    hand = cards(state.hand[state.seat])
    return hand if state.phase == LEAD else follow_suit(state, hand)


@rule
def strength(state: Any, card: int) -> int:
    """The highest trump takes the trick, or without one the highest card of the led suit."""
    return state.num_ranks + rank(state, card) if suit(state, card) == state.trump else rank_if_led(state, card)


@rule
def play(state: Any, card: int) -> None:
    if state.phase == PICK:
        pick(state, card)
        return
    lay(state, card, state.hand[state.seat])
    contest(state, strength(state, card))  # of two identical cards the one played first is the stronger
    if not trick_complete(state):
        next_to_play(state)
        return
    winner = state.taking
    for i in range(state.trick_size):
        put_away(state, i, state.pile[winner])
    state.trick_size = 0
    if state.tricks < HALF:
        state.seat, state.phase = winner, PICK
        return
    state.won[team(winner)] += 1
    state.tricks += 1
    if state.tricks < 2 * HALF:
        lead_trick(state, winner)
    else:
        state.phase = OVER


@rule
def pick(state: Any, card: int) -> None:
    """The winner takes a face-up card of choice, the partner the other; each opponent draws one face down."""
    winner = state.seat
    take_face_up(state, winner, card)
    take_face_up(state, left(state, left(state, winner)), first(cards(state.upturned)))
    draw_face_down(state, left(state, winner), top_of_stock(state, 2))
    draw_face_down(state, right(state, winner), top_of_stock(state, 3))
    state.tricks += 1
    if state.tricks < HALF:
        turn_up(state)
    lead_trick(state, winner)


@rule
def take_face_up(state: Any, seat: int, card: int) -> None:
    """Everybody sees it: the seat has this suit again."""
    move(card, state.upturned, state.hand[seat])
    show_all(state, card)
    state.void[seat * state.num_suits + suit(state, card)] = 0


@rule
def draw_face_down(state: Any, seat: int, card: int) -> None:
    """Only the seat and its left neighbour see it: for the others it may be of any suit."""
    move(card, state.stock, state.hand[seat])
    show(state, card, seat)
    show(state, card, left(state, seat))
    clear_bytes(state.void, seat * state.num_suits, state.num_suits)


@rule
def score_deal(state: Any) -> None:
    """Both members of a team score its tricks of the second half; the majority wins the deal."""
    for seat in range(state.num_players):
        state.deal_score[seat] = state.won[team(seat)]
    for side in range(2):
        if state.won[side] >= MAJORITY:
            state.deals_won[side] += 1


@rule
def match_over(state: Any) -> bool:
    """The first team with 3 won deals wins the original's match."""
    if state.original:
        return max(state.deals_won[0], state.deals_won[1]) >= DEALS_TO_WIN
    return state.deal_number >= state.num_deals


@rule
def standing(state: Any, seat: int) -> int:
    """Won deals decide the match, whatever the tricks."""
    return state.deals_won[team(seat)]


# --- what a seat sees beside the cards ----------------------------------------------------------------------------


@rule
def features(state: Any, observer: int, out: Any, at: int) -> int:
    own, other = team(observer), 1 - team(observer)
    clear_bytes(out, at, state.num_suits)
    out[at + state.trump] = 1
    at = write_cards(state, cards(state.upturned), out, at + state.num_suits)
    out[at], out[at + 1] = state.tricks, state.tricks >= HALF
    out[at + 2], out[at + 3] = state.won[own], state.won[other]
    at = write_number(state.deals_won[own], out, at + 4)
    at = write_number(state.deals_won[other], out, at)
    return write_taking(state, observer, out, at)


@rule
def secrets(state: Any, out: Any, at: int) -> int:
    dealt, gone = state.num_players * state.hand_size, state.num_players * state.tricks + 2
    for i in range(state.num_cards - dealt):
        out[at + i] = 1 + kind(state, state.order[dealt + i]) if i >= gone else 0
    return at + state.num_cards - dealt


# --- a rule of thumb ----------------------------------------------------------------------------------------------


@rule
def worth(state: Any, card: int) -> float:
    """What the card is likely to win now, less what it may win later.

    In the first half a trick is worth as much as its face-up cards are better than two unknown ones.
    """
    if state.phase == PICK:
        return tricks_to_come(state, card)
    stake = 1.0
    if state.tricks < HALF:
        one, other = first(cards(state.upturned)), first(rest(cards(state.upturned)))
        stake = tricks_to_come(state, one) + tricks_to_come(state, other) - 2 * OF_ANY_CARD
    return stake * chance_of_trick(state, card) - tricks_to_come(state, card)


OF_ANY_CARD = 0.28


@rule
def tricks_to_come(state: Any, card: int) -> float:
    """How many tricks of the second half a card in hand is likely to win."""
    height = rank(state, card) / (state.num_ranks - 1)
    return 0.4 + 0.6 * height if suit(state, card) == state.trump else 0.7 * height * height * height


@rule
def chance_of_trick(state: Any, card: int) -> float:
    """How likely the team of the seat to act takes the trick if it plays this card."""
    seat, best = state.seat, card
    partner, ours = left(state, left(state, seat)), True
    if state.phase == FOLLOW and strength(state, card) <= state.strength:
        ours = team(state.taking) == team(seat)
        for i in range(state.trick_size):
            if state.trick_seat[i] == state.taking:
                best = state.trick[i]
    led = suit(state, card) if state.phase == LEAD else led_suit(state)
    stands, rescue, later = 1.0, 0.0, state.num_players - 1 - state.trick_size
    if later >= 1:
        stands *= 1.0 - chance_to_beat(state, left(state, seat), best, led)
    if later >= 2:
        rescue = 0.5 * chance_to_beat(state, partner, best, led)
    if later >= 3:
        stands *= 1.0 - chance_to_beat(state, right(state, seat), best, led)
    return stands + (1.0 - stands) * rescue if ours else (1.0 + stands) * rescue


@rule
def chance_to_beat(state: Any, other: int, best: int, led: int) -> float:
    """How likely another seat has a card that beats the best of the trick, and may play it.

    Its cards are those that the seat to act knows, and any others out of its sight.
    """
    seen = cards(state.seen[state.seat])
    known, unseen = common(cards(state.hand[other]), seen), out_of_sight(state)
    missing = max(size(unseen), 1)
    elsewhere = 1.0 - (hand_size(state, other) - size(known)) / missing  # that a card unseen is not in that hand

    void = 0.0 if not is_empty(of_suit(state, known, led)) else elsewhere ** size(of_suit(state, unseen, led))
    if state.void[other * state.num_suits + led] == 1:
        void = 1.0
    follows = 0.0
    if suit(state, best) == led:
        above = higher(state, unseen, best)
        follows = 1.0 if not is_empty(higher(state, known, best)) else 1.0 - elsewhere ** size(above)
    if led == state.trump:
        return follows * (1.0 - void)
    ruffs = (
        1.0
        if not is_empty(trumps_over(state, known, best))
        else (1.0 - elsewhere ** size(trumps_over(state, unseen, best)))
    )
    return follows * (1.0 - void) + ruffs * void


@rule
def trumps_over(state: Any, held: CardSet, best: int) -> CardSet:
    return higher(state, held, best) if suit(state, best) == state.trump else of_suit(state, held, state.trump)


@rule
def out_of_sight(state: Any) -> CardSet:
    """The cards in hands and stock of which the seat to act does not know where they are."""
    hidden = cards(state.stock)
    for other in range(state.num_players):
        hidden = union(hidden, cards(state.hand[other]))
    return without(hidden, cards(state.seen[state.seat]))
