"""Pepper and Donguri once more, slowly and from the rule pages alone: what a record should say.

Nothing here looks at the engine. Cards are texts, places are lists.
"""

from __future__ import annotations

from typing import Any


def number(card: str) -> int:
    return int(card[:-1])


def pepper(deal: dict[str, Any], num_players: int, lead_peppers: bool = False) -> tuple[list[int], int]:
    """Plays the actions of a finished deal and checks every one; returns the score and the next dealer."""
    hands = [[card for card in hand if number(card) != 1] for hand in deal["hands"]]
    front = [[card for card in hand if number(card) == 1] for hand in deal["hands"]]
    piles: list[list[str]] = [[] for _ in range(num_players)]
    actions = list(deal["actions"])
    leader = deal["dealer"]
    while all(hands):
        trick: list[tuple[str, int]] = []
        for i in range(num_players):
            seat, card = actions.pop(0)
            assert seat == (leader + i) % num_players, "clockwise"
            own = hands[seat] + front[seat]
            if not trick:
                assert card in (own if lead_peppers else hands[seat]), f"{seat} leads {card}"
            else:
                led = [other for other in own if other[-1] == trick[0][0][-1]]
                assert card in (led or own), f"{seat} plays {card}"
            (front if number(card) == 1 else hands)[seat].remove(card)
            trick.append((card, seat))
        of_led_colour = [(number(card), seat) for card, seat in trick if card[-1] == trick[0][0][-1]]
        leader = max(of_led_colour)[1]
        for card, _ in trick:
            (front if number(card) == 1 else piles)[leader].append(card)
    assert not actions, "the deal should have ended before"
    score = []
    for seat in range(num_players):
        points = 0
        for own_pepper in front[seat]:
            points -= 2 + sum(card[-1] == own_pepper[-1] for card in piles[seat] + hands[seat])
        score.append(points)
    return score, leader


DONGURI_RANKS = ["3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"]
DONGURI_POINTS = {
    3: {"6": 3, "J": 3, "5": 2, "Q": 2},
    4: {"5": 2, "6": 2, "J": 2, "Q": 2},
    5: {"4": 2, "5": 2, "12": 2, "13": 2},
}


def donguri(deal: dict[str, Any], num_players: int) -> tuple[list[int], list[int]]:
    """Plays the actions of a finished deal and checks every one; returns the captured points and the score."""
    ranks = [str(rank) for rank in range(1, 17)] if num_players == 5 else DONGURI_RANKS
    hands = [list(hand) for hand in deal["hands"]]
    captured = [0] * num_players
    actions = list(deal["actions"])
    leader = (deal["dealer"] + 1) % num_players
    while any(hands):
        trick: list[tuple[str, int]] = []
        for i in range(num_players):
            seat, card = actions.pop(0)
            assert seat == (leader + i) % num_players, "clockwise"
            following = [other for other in hands[seat] if trick and other[-1] == trick[0][0][-1]]
            assert card in (following or hands[seat]), f"{seat} plays {card}"
            hands[seat].remove(card)
            trick.append((card, seat))
        votes = [card for i, (card, _) in enumerate(trick) if not (num_players == 4 and i == 1)]
        acorns = sum(ranks.index(card[:-1]) < len(ranks) / 2 for card in votes)
        in_order = [ranks.index(card[:-1]) for card, _ in trick]
        wanted = max(in_order) if acorns > len(votes) - acorns else min(in_order)
        leader = trick[in_order.index(wanted)][1]  # of equal ranks the first one
        captured[leader] += sum(DONGURI_POINTS[num_players].get(card[:-1], 1) for card, _ in trick)
    assert not actions
    return captured, [points - max(captured) for points in captured]
