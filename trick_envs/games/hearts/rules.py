"""Hearts: take no hearts, and not the queen of spades.

Cards ``2C … AS``, 13 each. Before play, every player passes three cards: in the first deal of a match to the left, then
to the right, across, and not at all in the fourth; then again. The holder of the two of clubs leads it.

Players must follow suit; the highest card of the led suit takes the trick. No points may be played to the first trick,
unless a hand has nothing else. Hearts may not be led before they are broken: a heart, or the queen of spades, has been
played (or the leader has nothing else).

Every heart costs 1 point, the queen of spades 13. Whoever takes them all has shot the moon: nothing for that seat, 26
for each of the others. Scores are negative points. A match ends when a seat has 100 points; the fewest win. With
``num_deals=n``, exactly n deals are played, and the direction of the pass goes by dealer (seat 0 left, 1 right, 2
across, 3 none), so that single deals have every direction.

Options have the names that they have in OpenSpiel's Hearts.

Source: https://www.pagat.com/reverse/hearts.html, and ``open_spiel/games/hearts``.
"""

from __future__ import annotations

import numpy as np

from trick_envs.engine.build import rule
from trick_envs.engine.cards import CardSet, Deck, cards, first, has, is_empty, just, rest, without
from trick_envs.engine.state import (
    LEAD,
    OVER,
    PASS,
    PLAYERS,
    Numbers,
    Place,
    State,
    number,
    numbers,
    option,
    place_per_seat,
)
from trick_envs.engine.table import (
    contest,
    lay,
    lead_trick,
    led_suit,
    left,
    move,
    next_to_play,
    of_suit,
    put_away,
    rank_if_led,
    show,
    show_all,
    suit,
    trick_complete,
)

TRICKS = 13
PASSED = 3  # cards
ALL_POINTS = 26
MATCH_POINTS = 100
LONGEST_MATCH = 50  # deals; only bonuses keep a match going for so long

CLUBS, DIAMONDS, HEARTS, SPADES = range(4)
TWO_OF_CLUBS, JACK_OF_DIAMONDS, QUEEN_OF_SPADES = 0, 13 + 9, 3 * 13 + 10  # as actions
QUEEN_POINTS, JACK_POINTS, NO_TRICK_POINTS = 13, -10, -5


def deck(num_players: int) -> Deck:
    """52 cards, ranks A high to 2."""
    return Deck("CDHS", ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"))


class HeartsState(State):
    """What Hearts adds to a position."""

    pass_cards: int = option(True, "three cards are passed before play")
    no_pts_on_first_trick: int = option(True, "neither hearts nor the queen of spades in the first trick")
    can_lead_any_club: int = option(False, "the holder of the two of clubs may lead another club")
    jd_bonus: int = option(False, "the jack of diamonds takes 10 points off")
    avoid_all_tricks_bonus: int = option(False, "5 points off for taking no trick")
    must_break_hearts: int = option(True, "hearts may not be led before they are broken")
    qs_breaks_hearts: int = option(True, "the queen of spades breaks hearts, too")
    can_lead_hearts_instead_of_qs: int = option(False, "with only hearts and the queen of spades, hearts may be led")

    passed: Place = place_per_seat("the cards that a seat has named to pass", open=False)
    pass_to: int = number(np.int8, "how many seats to the left the cards are passed; 0: no pass")
    named: int = number(np.int8, "cards named to be passed, by all seats together", derived=True)
    gave: Numbers = numbers(np.int64, (PLAYERS,), "by seat: the cards that it has passed, one bit each")
    hearts: Numbers = numbers(np.int8, (PLAYERS,), "by seat: hearts taken")
    queen: Numbers = numbers(np.int8, (PLAYERS,), "by seat: 1 if it has taken the queen of spades")
    jack: Numbers = numbers(np.int8, (PLAYERS,), "by seat: 1 if it has taken the jack of diamonds")
    taken: Numbers = numbers(np.int8, (PLAYERS,), "by seat: tricks taken")
    only_points: Numbers = numbers(np.int8, (PLAYERS,), "by seat: 1 if it has shown that it holds points alone")
    broken: int = number(np.int8, "1: hearts may be led")


# --- the pass -----------------------------------------------------------------------------------------------------


@rule
def begin(state: HeartsState) -> None:
    """Pass to the left, to the right, across, then not at all; the dealer's left neighbour names cards first."""
    turn = state.deal_number & 3 if state.original else state.dealer
    state.pass_to = direction(turn) if state.pass_cards else 0
    state.broken = not state.must_break_hearts
    if state.pass_to > 0:
        state.seat, state.phase = left(state, state.dealer), PASS
    else:
        begin_play(state)


@rule
def direction(turn: int) -> int:
    """Left, right, across, none, in seats to the left."""
    return 1 if turn == 0 else 3 if turn == 1 else 2 if turn == 2 else 0


@rule
def partner(state: HeartsState, seat: int, distance: int) -> int:
    """The seat so many places to the left."""
    other = seat + distance
    return other - state.num_players if other >= state.num_players else other


@rule
def receiver(state: HeartsState, seat: int) -> int:
    """Who gets the cards that a seat passes."""
    return partner(state, seat, state.pass_to)


@rule
def giver(state: HeartsState, seat: int) -> int:
    """Whose cards a seat gets."""
    return partner(state, seat, state.num_players - state.pass_to)


@rule
def passing_is_done(state: HeartsState) -> bool:
    """All have named their three cards."""
    return state.named == PASSED * state.num_players


@rule
def name_card_to_pass(state: HeartsState, card: int) -> None:
    """Each player names three cards; when all have, the cards change hands."""
    seat = state.seat
    move(card, state.hand[seat], state.passed[seat])
    state.gave[seat] |= 1 << card
    state.named += 1
    if state.named % PASSED == 0:
        state.seat = left(state, seat)
    if passing_is_done(state):
        for other in range(state.num_players):
            hand_over(state, other)
        begin_play(state)


@rule
def hand_over(state: HeartsState, seat: int) -> None:
    """The receiver takes up three cards, and the giver knows where they are."""
    target, some = receiver(state, seat), cards(state.passed[seat])
    while not is_empty(some):
        move(first(some), state.passed[seat], state.hand[target])
        show(state, first(some), target)
        some = rest(some)


# --- the play -----------------------------------------------------------------------------------------------------


@rule
def begin_play(state: HeartsState) -> None:
    """The holder of the two of clubs leads, so all know where it is."""
    for seat in range(state.num_players):
        if has(cards(state.hand[seat]), TWO_OF_CLUBS):
            lead_trick(state, seat)
    show_all(state, TWO_OF_CLUBS)


@rule
def without_points(state: HeartsState, held: CardSet) -> CardSet:
    """The cards among ``held`` that are neither hearts nor the queen of spades."""
    return without(without(held, of_suit(state, held, HEARTS)), just(QUEEN_OF_SPADES))


@rule
def legal(state: HeartsState) -> CardSet:
    """Pass: any card. Lead: the two of clubs first, later no unbroken hearts. Follow: must follow suit."""
    hand = cards(state.hand[state.seat])
    if state.phase == PASS:
        return hand
    return may_lead(state, hand) if state.phase == LEAD else may_follow(state, hand)


@rule
def may_lead(state: HeartsState, hand: CardSet) -> CardSet:
    """No hearts before they are broken, unless the hand has nothing else."""
    if state.tricks == 0:
        return of_suit(state, hand, CLUBS) if state.can_lead_any_club else just(TWO_OF_CLUBS)
    others = without(hand, of_suit(state, hand, HEARTS))
    if state.broken or is_empty(others):
        return hand
    if state.can_lead_hearts_instead_of_qs and others == just(QUEEN_OF_SPADES):
        return hand
    return others


@rule
def may_follow(state: HeartsState, hand: CardSet) -> CardSet:
    """Who has none of the led suit may play any card, but no points to the first trick, if possible."""
    following = of_suit(state, hand, led_suit(state))
    if not is_empty(following):
        return following
    harmless = without_points(state, hand)
    if state.no_pts_on_first_trick and state.tricks == 0 and not is_empty(harmless):
        return harmless
    return hand


@rule
def play(state: HeartsState, card: int) -> None:
    """The highest card of the led suit takes the trick; the taker leads next."""
    if state.phase == PASS:
        name_card_to_pass(state, card)
        return
    notice_points_alone(state, card)
    lay(state, card, state.hand[state.seat])
    contest(state, rank_if_led(state, card))
    if suit(state, card) == HEARTS or (card == QUEEN_OF_SPADES and state.qs_breaks_hearts):
        state.broken = 1
    if not trick_complete(state):
        next_to_play(state)
        return
    taker = state.taking
    for i in range(state.trick_size):
        took = state.trick[i]
        state.hearts[taker] += suit(state, took) == HEARTS
        state.queen[taker] += took == QUEEN_OF_SPADES
        state.jack[taker] += took == JACK_OF_DIAMONDS
        put_away(state, i, state.pile[taker])
    state.taken[taker] += 1
    state.tricks += 1
    lead_trick(state, taker)
    if state.tricks == TRICKS:
        state.phase = OVER


@rule
def notice_points_alone(state: HeartsState, card: int) -> None:
    """Whoever plays points to the first trick, or leads hearts before they are broken, has shown to hold nothing else.

    (That is, nothing but hearts, and perhaps the queen of spades, unless that one is played.)
    """
    seat, heart = state.seat, suit(state, card) == HEARTS
    leads_hearts = state.phase == LEAD and heart and state.broken == 0
    discards = state.phase != LEAD and state.tricks == 0 and state.no_pts_on_first_trick == 1
    if leads_hearts or (discards and (heart or card == QUEEN_OF_SPADES)):
        state.only_points[seat] = 1
        state.void[seat * state.num_suits + CLUBS] = 1
        state.void[seat * state.num_suits + DIAMONDS] = 1
        if leads_hearts and state.can_lead_hearts_instead_of_qs == 0:
            state.void[seat * state.num_suits + SPADES] = 1
    if card == QUEEN_OF_SPADES or queen_is_played(state):
        for other in range(state.num_players):
            if state.only_points[other]:
                state.void[other * state.num_suits + SPADES] = 1


@rule
def queen_is_played(state: HeartsState) -> bool:
    """The queen of spades lies on the table or in a taken trick."""
    found = False
    for i in range(state.trick_size):
        found = found or state.trick[i] == QUEEN_OF_SPADES
    for seat in range(state.num_players):
        found = found or state.queen[seat] == 1
    return found


# --- the score ----------------------------------------------------------------------------------------------------


@rule
def points(state: HeartsState, seat: int) -> int:
    """What the cards cost that a seat has taken."""
    jack = JACK_POINTS * state.jack[seat] if state.jd_bonus else 0
    return state.hearts[seat] + QUEEN_POINTS * state.queen[seat] + jack


@rule
def shot_the_moon(state: HeartsState, seat: int) -> bool:
    """The seat has taken all hearts and the queen of spades."""
    return state.hearts[seat] == TRICKS and state.queen[seat] == 1


@rule
def score_deal(state: HeartsState) -> None:
    """Every seat pays what it has taken; whoever has shot the moon nothing, and the others 26 each."""
    moon = False
    for seat in range(state.num_players):
        moon = moon or shot_the_moon(state, seat)
    for seat in range(state.num_players):
        cost = points(state, seat)
        if moon:
            cost += -ALL_POINTS if shot_the_moon(state, seat) else ALL_POINTS
        elif state.avoid_all_tricks_bonus and state.taken[seat] == 0:
            cost += NO_TRICK_POINTS
        state.deal_score[seat] = -cost


@rule
def match_over(state: HeartsState) -> bool:
    """A match ends when a seat has 100 points, after 50 deals at the latest; with ``num_deals=n``, after n deals."""
    if state.original:
        for seat in range(state.num_players):
            if state.score[seat] <= -MATCH_POINTS:
                return True
    return state.deal_number >= state.num_deals
