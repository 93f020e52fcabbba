"""What a play has done: who takes a trick and why, what else changes, what the points of a deal consist of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers import deal, every_game, every_table, greedy_action, legal_of

from trick_envs.engine.registry import load_game
from trick_envs.matches.events import (
    CardPlayed,
    Changed,
    DealScored,
    Event,
    MatchWon,
    Play,
    TrickTaken,
    imagine,
    play,
    plays_of,
    tell,
    tell_all,
)
from trick_envs.matches.fixed_deals import read_deals
from trick_envs.matches.match import Match
from trick_envs.matches.transcript import narrate
from trick_envs.matches.viewing import match_view

RANKS = ("3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")


def match_of(name: str, hands: list[str], dealer: int, stock: str = "", num_deals: int = 1, **options: Any) -> Match:
    """A match whose first deal is given."""
    game = load_game(name, len(hands), num_deals, **options)
    return Match(game, 0, read_deals(game, [deal(hands, dealer, stock)]))


def played(match: Match, cards: str) -> list[Play]:
    return [play(match, match.game.deck.parse(card)) for card in cards.split()]


def told(done: Play, observer: int | None = None) -> str:
    return tell_all(done.events(observer), done.look(observer))


def find(done: Play, kind: type[Event]) -> Any:
    found = [event for event in done.events(None) if isinstance(event, kind)]
    return found[0] if found else None


def reasons(match: Match, cards: str) -> list[str]:
    """Why the tricks of some plays are taken."""
    return [find(done, TrickTaken).why for done in played(match, cards) if find(done, TrickTaken)]


def greedily(match: Match) -> list[Play]:
    """The rest of a match, played by the heuristic."""
    plays = []
    while not match.over:
        plays.append(play(match, greedy_action(match.game, match.states)))
    return plays


# --- all games ----------------------------------------------------------------------------------------------------


@every_table
def test_each_play_says_what_it_did_and_the_parts_of_a_score_add_up(name, players):
    match, rng = Match(load_game(name, players, 2), 3), np.random.default_rng(players)
    tricks, scores = [], []
    while not match.over:
        acts, deals = int(match.states["seat"][0]), len(match.deals)
        chosen = int(rng.choice(legal_of(match.game, match.states)))
        imagined = imagine(match, chosen)
        done = play(match, chosen)
        assert imagined.trick == done.trick
        first, *others = done.events(None)
        assert first == CardPlayed(acts, first.phase, chosen)
        for event in others:
            if isinstance(event, TrickTaken):
                tricks.append((event.plays, event.taker))
                assert event.number == int(done.before["tricks"][0]) + 1
                assert event.why
            elif isinstance(event, DealScored):
                scores.append(list(event.scores))
                assert event.number == deals
                assert [sum(item.points for item in items) for items in event.items] == list(event.scores)
                assert all(item.words for items in event.items for item in items)
            elif isinstance(event, MatchWon):
                assert list(event.winners) == match.winners()
                assert list(event.scores) == match.states["score"][0][:players].tolist()
        assert done.ends == (
            "match" if match.over else "deal" if len(match.deals) > deals else "trick" if done.trick else ""
        )
        if done.trick:
            view = match_view(match, 0)
            assert tricks[-1] == (view.previous, view.previous_taker)
    assert scores == [each.score for each in match.deals]


@every_table
def test_a_finished_trick_lies_on_the_table_with_all_that_it_has_changed(name, players):
    """Also the last one of a deal: the deal has its number, the scores are the new ones, and nobody has won yet."""
    match = Match(load_game(name, players, 2), 5)
    for done in greedily(match):
        view = done.look(1)
        if not done.ends:
            continue
        assert (view.acting, view.legal, view.winners) == (None, (), ())
        assert len(view.trick) == players
        assert view.taking == done.trick[1]
        assert view.prompt == ("you take the trick" if view.taking == 1 else f"player_{view.taking} takes the trick")
        assert (view.deal, view.num_deals) == (done.deal + 1, 2)
        piles = [sum(len(members) for members in (seat.taken, *seat.places.values())) for seat in view.seats]
        assert sum(piles) >= players
        if done.score is not None:
            ended = [each.score for each in match.deals[: view.deal]]
            assert [seat.score for seat in view.seats] == np.sum(ended, axis=0).tolist()
            assert [seat.last_score for seat in view.seats] == list(done.score)


@every_game
def test_playing_a_match_again_gives_the_same_events(name):
    match = Match(load_game(name, None, 2), 8)
    first = [done.events(0) for done in greedily(match)]
    assert [done.events(0) for done in plays_of(match)] == first


@every_table
def test_what_a_seat_is_told_is_the_same_in_all_worlds_that_look_alike_to_it(name, players):
    """Hidden cards redealt before every play: if that play looks the same afterwards, so do its words."""
    game, rng, compared = load_game(name, players, 1), np.random.default_rng(2), 0
    for seed in range(3):
        match = Match(game, seed)
        while not match.over:
            action = int(rng.choice(legal_of(game, match.states)))
            observer, before = int(rng.integers(players)), match.states.copy()
            done = play(match, action)
            for world in game.resample(np.repeat(before, 3), observer, rng).reshape(3, 1):
                if action not in legal_of(game, world):
                    continue
                after = world.copy()
                game.kernels.play_without_dealing(after, action)
                twin = Play(
                    game, world, after, done.number, done.deal, done.seat, action, done.previous, done.trick,
                    None if done.score is None else tuple(after["deal_score"][0][:players].tolist()),
                    done.winners,
                )  # fmt: skip
                if twin.look(observer) == done.look(observer):  # else the seat saw the difference
                    compared += 1
                    assert twin.events(observer) == done.events(observer)
    assert compared > 40  # of several hundred


def test_a_deal_of_another_length_scores_as_it_does_in_its_match():
    """The last position of a deal is the match's own: its length decides whether the development bonus is paid."""
    for deals in (4, 6):
        match = Match(load_game("tricky_express", 4, deals), 11)
        for done in greedily(match):
            if done.score is not None:
                scored = find(done, DealScored)
                assert scored.scores == tuple(done.after["deal_score"][0].tolist()) == done.score
                assert match.deals[done.deal].score == list(done.score)


# --- Pepper -------------------------------------------------------------------------------------------------------

THREE = [
    "2R 3R 4R 5R 6R 2Y 3Y 4Y 5Y 6Y 1G 2G", "7R 8R 9R 7Y 8Y 9Y 3G 4G 5G 1B 2B 3B", "1R 1Y 6G 7G 8G 9G 4B 5B 6B 7B 8B 9B",
]  # fmt: skip


def test_pepper_says_which_card_takes_and_where_the_peppers_lie():
    match = match_of("pepper", THREE, dealer=0)
    one, two, three = played(match, "2R 7R 1R")
    assert told(one, 0) == "You lead 2 red"
    assert told(two) == "player_1 plays 7 red"
    assert told(three, 1) == (
        "player_2 plays 1 red. You take the trick: 7 red is the highest red card. "
        "The red pepper lies in front of you now"
    )
    assert reasons(match, "3G 6G 2G 4B 1G 1B") == [
        "6 green is the highest green card",
        "4 blue is the highest blue card",
    ]
    alone = [
        "1R 2R 3R 4R 5R 6R 7R 8R 9R 1Y 2Y 3Y",
        "4Y 5Y 6Y 7Y 8Y 9Y 1G 2G 3G 4G 5G 6G",
        "7G 8G 9G 1B 2B 3B 4B 5B 6B 7B 8B 9B",
    ]
    assert reasons(match_of("pepper", alone, dealer=0), "9R 7Y 9B") == ["9 red is the only red card"]


def test_pepper_itemises_peppers_and_the_cards_of_their_colours():
    match = match_of("pepper", THREE, dealer=0)
    scored = next(event for done in greedily(match) for event in done.events(None) if isinstance(event, DealScored))
    for seat, items in enumerate(scored.items):
        assert scored.scores[seat] == sum(item.points for item in items)
    view = match_view(match)
    for seat, items in zip(view.seats, scored.items, strict=True):
        expected = []
        for kind in seat.places["front"]:
            colour = view.suit_of(kind)
            name, count = {"R": "red", "Y": "yellow", "G": "green", "B": "blue"}[colour], 0
            count = sum(view.suit_of(card) == colour for card in seat.taken)
            expected.append((f"{name} pepper", -2))
            if count:
                words = ("", "one", "two", "three", "four", "five", "six", "seven", "eight")[count]
                expected.append((f"{words} {name} card{'s' if count > 1 else ''}", -count))
        left = [kind for kind in seat.hand if f"1{view.suit_of(kind)}" in [view.card(k) for k in seat.places["front"]]]
        if left:
            expected.append(("left in the hand", -len(left)))
        assert list(items) == expected


# --- Donguri ------------------------------------------------------------------------------------------------------


def test_donguri_says_who_votes_for_what():
    match = match_of("donguri", [" ".join(rank + suit for rank in RANKS) for suit in "CDHS"], dealer=3)
    trick = played(match, "5C AD KH QS")  # the second card has no vote
    assert find(trick[-1], TrickTaken).why == "wildcats 2 to 1: the weakest takes it"
    assert told(trick[-1], 0) == (
        "player_3 plays Q spades. You take the trick: wildcats 2 to 1: the weakest takes it. Six points captured"
    )
    assert reasons(match, "3C 3D 4H KS") == ["acorns 2 to 1: the strongest takes it"]
    assert reasons(match, "JS 8C QD JH") == ["wildcats 3 to 0: the weakest takes it"]


def test_donguri_counts_votes_of_five_and_the_first_of_equal_cards_takes():
    hands = [" ".join(f"{rank}{suit}" for rank in range(1, 17)) for suit in "CDHSX"]
    match = match_of("donguri", hands, dealer=4)
    assert reasons(match, "9C 9D 16H 1S 15X") == ["wildcats 4 to 1: the weakest takes it"]
    assert reasons(match, "9S 9X 10C 11D 12H") == ["wildcats 5 to 0: the weakest takes it, the first of equal ranks"]


def test_donguri_compares_with_the_most_captured():
    match = match_of("donguri", [" ".join(rank + suit for rank in RANKS) for suit in "CDHS"], dealer=3)
    scored = find(greedily(match)[-1], DealScored)
    captured = match_view(match).sections["captured"]
    most = max(captured)
    number = {8: "eight", 10: "ten", 12: "twelve"}
    for seat, items in enumerate(scored.items):
        words = f"{number.get(captured[seat], captured[seat])} points captured"
        assert items[1] == ("minus the most captured", -most)
        assert items[0].points == captured[seat]
        if captured[seat] > 12:
            assert items[0].words == words


# --- Zaraba 22 ----------------------------------------------------------------------------------------------------

ZARABA = [
    "5S 3H 2C 3C 4C 5C 6C 7C 8C 9C 10C JC AC 2D", "6S 2H 3D 4D 5D 6D 7D 8D 9D 10D JD AD 4H 5H",
    "JS 6H 7H 8H 9H JH AS 2S 3S 4S 7S 8S 9S 10S",
]  # fmt: skip


def test_zaraba_says_which_lead_is_kept_and_what_the_chart_does():
    match = match_of("zaraba22", ZARABA, dealer=0, stock="10H AH")
    plays = played(match, "5S 3H 6S JS")
    assert told(plays[2], 1) == "You play 6 spades. 3 hearts goes to the chart: hearts crash at 24, the price is −1"
    assert told(plays[3]) == (
        "player_2 plays J spades. player_2 takes the trick: the lead 5 spades is kept, J spades is the highest spade"
    )
    assert find(plays[3], TrickTaken).plays == tuple(
        (seat, match.game.deck.parse(card)) for seat, card in ((0, "5S"), (0, "3H"), (1, "6S"), (2, "JS"))
    )
    kept = played(match, "AS 6H 2D 4H")
    assert told(kept[3]) == (
        "player_1 plays 4 hearts. player_2 takes the trick: the lead 6 hearts is kept, and nobody beats it. "
        "A spades goes to the chart: spades now at price 1"
    )


def test_zaraba_says_when_a_suit_has_crashed_before():
    match = match_of("zaraba22", ZARABA, dealer=0, stock="10H AH")
    plays = played(match, "5S 3H 6S JS 7H 8H 2D 2H 8H")
    assert told(plays[-1]) == (
        "player_1 keeps 8 hearts. player_2 takes the trick: the lead 8 hearts is kept, and nobody beats it. "
        "7 hearts goes to the chart: hearts have crashed before"
    )


def test_zaraba_itemises_cards_times_prices():
    match = match_of("zaraba22", ZARABA, dealer=0, stock="10H AH")
    scored = find(greedily(match)[-1], DealScored)
    view = match_view(match)
    numbers = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    for seat, items in enumerate(scored.items):
        counts = {letter: sum(view.suit_of(kind) == letter for kind in view.seats[seat].taken) for letter in "CDHS"}
        expected = []
        for letter, name in zip("CDHS", ("club", "diamond", "heart", "spade"), strict=True):
            price, count = view.sections["chart"][letter]["price"], counts[letter]
            if count:
                words = f"{numbers[count]} {name}{'s' if count > 1 else ''} (price {price})".replace("-", "−")
                expected.append((words, count * price))
        assert list(items)[: len(expected)] == expected
        assert [item.words for item in items[len(expected) :]] in ([], ["left in the hand"])


# --- Double-Deck German Whist -------------------------------------------------------------------------------------


def test_whist_says_whether_a_trump_takes_and_who_gets_the_stock():
    match = Match(load_game("double_deck_whist", 4, 1), 3)
    plays = greedily(match)
    seen = {find(done, TrickTaken).why.partition(" is ")[2] for done in plays if done.trick}
    trump = match_view(match).sections["trump"]
    assert trump == "C"
    assert {"the highest trump", "the only trump", "the highest heart", "the highest spade"} <= seen
    assert "the highest club" not in seen
    identical = [
        find(done, TrickTaken) for done in plays if done.trick and "played first" in find(done, TrickTaken).why
    ]
    for taken in identical:
        best = next(kind for seat, kind in taken.plays if seat == taken.taker)
        assert [kind for _, kind in taken.plays].count(best) == 2
    assert told(plays[4]) == "player_2 picks 9 clubs. player_0 gets K hearts, the others draw a card each"
    assert told(plays[4], 0) == "player_2 picks 9 clubs. You get K hearts, the others draw a card each"
    last = plays[-1]
    won = match_view(match).sections["won"]
    words = {6: "six", 7: "seven"}
    winner = last.trick[1]
    assert find(last, Changed).words.startswith(f"{words[won[winner % 2]]} tricks for player_{winner % 2} and ")
    items = find(last, DealScored).items
    assert items[0] == (("seven tricks of the second half, which win the deal", 7),)
    assert items[1] == (("six tricks of the second half", 6),)


# --- Tricky Express -----------------------------------------------------------------------------------------------


def test_express_says_which_pass_a_station_ends_and_hides_what_is_passed():
    match = Match(load_game("tricky_express", 4, 1), 3)
    plays = greedily(match)
    passes = plays[:16]
    for done in passes:
        for observer in range(4):
            card = told(done, observer)
            assert card.endswith("passes a card") == (observer != done.seat)
    assert find(passes[0], CardPlayed).kind == passes[0].action
    line: list[int] = []
    for done in plays[16:]:
        if not done.trick:
            assert find(done, Changed) is None
            continue
        taker = done.trick[1]
        line.append(taker)
        before = [station for station, seat in enumerate(line[:-1], 1) if seat == taker]
        ends = f", which ends a pass of {len(line) - before[-1] - 1}" if before else ""
        assert find(done, Changed).words == f"station {len(line)}{ends}"


@pytest.mark.parametrize(
    ("line", "items"),
    [
        (  # passes: 0: 6 and 4; 1: 2, 1; 2: 4 (later); 3: none
            [0, 1, 2, 1, 2, 1, 1, 0, 2, 2, 2, 2, 0],
            [
                [("first long pass", 6), ("the longest of all", 2), ("the longest second pass", 1)],
                [("first long pass", 1)],
                [("first long pass", 3)],
                [("no pass", 0)],
            ],
        ),
    ],
)
def test_express_itemises_the_first_long_pass_and_the_bonuses(line, items):
    from trick_envs.games.tricky_express.view import score_items

    view = match_view(Match(load_game("tricky_express", 4, 1), 0))
    scores = [sum(points for _, points in seat) for seat in items]
    seats = tuple(replace(seat, last_score=score) for seat, score in zip(view.seats, scores, strict=True))
    found = score_items(replace(view, seats=seats, sections={**view.sections, "line": line}))
    assert [list(each) for each in found] == items


def test_express_says_which_first_passes_never_fall():
    """Bonuses that occur in matches of 4 deals; the words name the lengths of the seat's first passes."""
    game, found = load_game("tricky_express", 4, 4), []
    for seed in range(400):
        match = Match(game, seed)
        while not match.over:
            match.step(greedy_action(game, match.states))
        lengths = np.array(match.states["first_passes"][0]).reshape(4, 4)
        rising = [seat for seat in range(4) if (np.diff(lengths[seat]) >= 0).all() and len(set(lengths[seat])) > 1]
        if rising:
            last = list(plays_of(match))[-1]
            scored = find(last, DealScored)
            for seat in rising:
                words = f"first passes that never fall ({', '.join(map(str, lengths[seat]))})"
                assert words in [item.words for item in scored.items[seat]], (seed, seat)
                points = next(item.points for item in scored.items[seat] if item.words == words)
                assert points == 8 - int((np.diff(lengths[seat]) == 0).sum())
                found.append(seat)
        if len(found) >= 2:
            return
    pytest.fail("no seed with a development bonus")


# --- the text of a record -----------------------------------------------------------------------------------------


def test_the_text_of_a_record_says_why_and_itemises_the_score():
    match = match_of("pepper", THREE, dealer=0)
    greedily(match)
    text = narrate(match.record())
    lines = text.splitlines()
    tricks = [line for line in lines if line.startswith("  trick")]
    assert all(": " in line.partition("taken by")[2] for line in tricks)
    score = next(i for i, line in enumerate(lines) if line.startswith("  score"))
    view = match_view(match)
    for line in lines[score + 1 :]:
        if not line.startswith("  player_"):
            break
        seat = int(line[9])
        assert view.seats[seat].places["front"]
        assert " pepper −2" in line


def test_a_game_without_words_of_its_own_tells_who_takes_a_trick(monkeypatch):
    game = load_game("donguri", 3, 1)
    object.__setattr__(game.type, "view", None)
    try:
        last = greedily(Match(game, 2))[-1]
        assert find(last, TrickTaken).why == ""
        assert find(last, DealScored).items == ()
        assert find(last, Changed) is None
        taker = last.trick[1]
        assert f"player_{taker} takes the trick. Deal 1: player_0 " in told(last)
        assert tell(find(last, MatchWon), last.look(None)).endswith(" the match")
    finally:
        from trick_envs.games.donguri import view

        object.__setattr__(game.type, "view", view)
