"""The review of a match: what plays have cost, mistakes, what a seat could infer, and the same cards once more."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from helpers import legal_of

pytest.importorskip("onnxruntime")

from trick_envs.agents import make_agent
from trick_envs.engine.positions import observe
from trick_envs.engine.registry import load_game
from trick_envs.matches.events import match_after, plays_of
from trick_envs.matches.loop import play_match
from trick_envs.matches.match import Match
from trick_envs.matches.replay import replay
from trick_envs.play.hints import CardHint, advisor_of
from trick_envs.play.review import MARKS, Decision, Review, SeatReview, belief, duplicate, review, review_told

PLAYERS = ["random", "pretrained", "pretrained"]


def played(name: str = "donguri", seed: int = 4, deals: int = 1, players: list[str] = PLAYERS) -> Match:
    """A match of three; seat 0 plays at random."""
    game = load_game(name, 3, deals)
    agents = {seat: make_agent(spec, game, seat) for seat, spec in enumerate(players)}
    return replay(play_match(name, agents, seed, 3, deals))


@pytest.fixture(scope="module")
def match() -> Match:
    return played(deals=2)


@pytest.fixture(scope="module")
def found(match) -> Review:
    return review(match)


def test_every_play_is_judged_and_the_played_card_has_a_value_of_its_own(match, found):
    plays = list(plays_of(match))
    assert [(one.number, one.seat, one.played) for one in found.decisions] == [
        (done.number - 1, done.seat, done.action) for done in plays
    ]
    for one, done in zip(found.decisions, plays, strict=True):
        legal = np.flatnonzero(observe(match.game, done.before, done.seat)[1]).tolist()
        assert [card.kind for card in one.cards] == legal
        (own,) = [card for card in one.cards if card.kind == one.played]
        assert own.advantage == 0.0
        assert one.loss is not None
        assert one.loss >= 0.0
        assert (one.best == one.played) == (one.loss == 0.0)
        if one.loss:
            (best,) = [card for card in one.cards if card.kind == one.best]
            assert best.advantage == one.loss > one.error
        if len(legal) == 1:
            assert one.loss == 0.0


def test_marks_follow_from_the_loss(found):
    for one in found.decisions:
        reached = [mark for mark, share in MARKS.items() if (one.loss or 0.0) >= share * found.spread - 0.01]
        assert one.mark == (reached[0] if reached else "") or any(
            abs(one.loss - share * found.spread) < 0.02 for share in MARKS.values()
        )
    for seat, one in enumerate(found.seats):
        own = [each for each in found.decisions if each.seat == seat and len(each.cards) > 1]
        assert one.decisions == len(own)
        assert one.points_lost == pytest.approx(sum(each.loss for each in own))
        assert one.accuracy == pytest.approx(1 - sum(bool(each.mark) for each in own) / len(own), abs=1e-3)
        assert sum(one.marks.values()) == sum(bool(each.mark) for each in own)


def test_who_plays_at_random_loses_more_than_the_policy(found):
    lost = [one.points_lost for one in found.seats]
    assert lost[0] > 3 * max(lost[1:])
    assert found.seats[0].accuracy < min(one.accuracy for one in found.seats[1:])


def test_the_review_of_a_lost_match_names_the_decisive_mistake(match, found):
    """The bar: the costliest mistake of the seat, in words, with its loss."""
    assert 0 not in match.winners()
    worst = found.decisive(0)
    assert worst is not None
    assert worst.loss == max(one.loss for one in found.decisions if one.seat == 0)
    said = found.verdict(0)
    assert f"Your decisive {worst.mark}: deal {worst.deal}, trick {worst.trick}: you " in said
    assert f"is better by {worst.loss:.1f}" in said
    behind = max(found.score) - found.score[0]
    assert said.startswith(f"You are {behind} points behind the first.")
    assert said in review_told(found, 0)
    assert found.verdict(match.winners()[0]).startswith("You have won.")


def test_other_worlds_confirm_what_the_mistakes_have_cost(match, found):
    """The best of several uncertain cards looks better than it is; a loss is from a second comparison."""
    marked = found.mistakes()
    assert len(marked) > 5
    plays = list(plays_of(match))
    states = np.concatenate([plays[one.number].before for one in marked])
    best, own = (np.array([getattr(one, name) for one in marked]) for name in ("best", "played"))
    again = advisor_of(match.game).judge(states, own, 512, 77, best)
    rows = np.arange(len(marked))
    losses, errors = again.advantages[rows, best], again.errors[rows, best]
    assert (losses > 0.0).all()
    noise = np.hypot(errors, [one.error for one in marked])
    assert (np.abs(losses - [one.loss for one in marked]) < 1.8 * noise + 0.01).all()
    assert abs(float(np.mean(losses - [one.loss for one in marked]))) < 0.3


def test_the_same_match_gives_the_same_review(match, found):
    again = review(replay(json.loads(json.dumps(match.record()))))
    assert again == found
    json.dumps(found.as_dict(), allow_nan=False)


def test_a_play_is_judged_alike_in_all_worlds_that_look_alike_to_its_seat(match):
    plays = list(plays_of(match))[3:9]
    states, own = np.concatenate([done.before for done in plays]), np.array([done.action for done in plays])
    others = match.game.resample(states, states["seat"], np.random.default_rng(3))
    assert (others["hand"] != states["hand"]).any()
    one, other = (advisor_of(match.game).judge(each, own, 16, 0, None) for each in (states, others))
    assert one.likely is not None
    for name in ("masks", "likely", "values", "advantages", "errors", "counts"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_a_review_is_made_in_a_bounded_time_and_says_what_is_missing(match):
    progress: list[tuple[int, int]] = []
    found = review(match, lambda done, total: progress.append((done, total)), seconds=0.0, first=1)
    assert all(one.loss is None for one in found.decisions if len(one.cards) != 1 or one.loss is None)
    assert sum(one.decisions for one in found.seats) == 0
    assert "could not be judged in time" in found.verdict(0)
    assert progress[0][0] == 0


def test_the_decisions_of_the_first_seat_come_first(match, monkeypatch):
    """When time runs out, those of others are missing."""
    clock = iter(range(10**6))
    monkeypatch.setattr("trick_envs.play.review.time.monotonic", lambda: float(next(clock)))
    found = review(match, seconds=2.5, first=0, worlds=8, again=8)  # two batches of sixteen
    judged = {seat: sum(one.seat == seat and one.expected is not None for one in found.decisions) for seat in range(3)}
    choices = sum(one.seat == 0 and (len(one.cards) > 1 or one.loss is None) for one in found.decisions)
    assert judged[0] == choices
    assert sum(judged.values()) == 32


def test_progress_ends_where_all_is_done(match):
    progress: list[tuple[int, int]] = []
    review(match, lambda done, total: progress.append((done, total)), worlds=8, again=8)
    assert progress[-1][0] == progress[-1][1] > 0
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)


def test_the_expected_result_counts_the_deals_before(match, found):
    score = match.deals[0].score
    margin = score[1] - (sum(score) - score[1]) / 2
    assert found.margins[0][1] == pytest.approx(margin, abs=0.01)
    one = next(each for each in found.decisions if each.deal == 2 and each.seat == 1 and each.expected is not None)
    assert found.expected(one) == pytest.approx(margin + one.expected, abs=0.02)


def test_a_game_without_a_policy_is_reviewed_by_sampling(monkeypatch):
    monkeypatch.setattr("trick_envs.play.hints.pretrained_file", lambda *_: __import__("pathlib").Path("/nowhere.onnx"))
    from trick_envs.play.hints import _advisor

    _advisor.cache_clear()
    try:
        matches = [played("zaraba22", seed, players=["random", "greedy", "greedy"]) for seed in range(3)]
        found = [review(match, worlds=32, again=64) for match in matches]
    finally:
        _advisor.cache_clear()
    assert found[0].sources == ("pimc:64",)
    assert all(one.expected is None and one.loss is not None for one in found[0].decisions)
    lost = [sum(each.seats[seat].points_lost for each in found) for seat in range(3)]
    assert lost[0] > max(lost[1:])


def test_a_belief_is_about_unseen_cards_and_holds_the_truth():
    game = load_game("donguri", 3, 1)
    match = Match(game, 3)
    for _ in range(7):
        match.step(legal_of(game, match.states)[0])
    seat = match.seat
    found = belief(game, match.states, seat)
    sizes = dict.fromkeys(range(3), 0.0)
    for kind, shares, truth in zip(found.kinds, found.shares, found.truth, strict=True):
        assert shares[seat] == truth[seat] == 0
        assert kind not in legal_of(game, match.states)
        for other in range(3):
            assert truth[other] == 0 or shares[other] > 0  # the true world is among the possible ones
            sizes[other] += shares[other]
    for other in range(3):
        held = sum(truth[other] for truth in found.truth)
        assert sizes[other] == pytest.approx(held, abs=0.05)


def test_a_seat_that_has_shown_a_void_is_believed_to_have_none():
    game = load_game("pepper", 4, 1)
    match, rng = Match(game, 1), np.random.default_rng(1)
    while True:
        match.step(int(rng.choice(legal_of(game, match.states))))
        void = match.states["void"][0].reshape(-1)[: 4 * int(match.states["num_suits"][0])].reshape(4, -1)
        shown = [(seat, suit) for seat, suit in np.argwhere(void) if seat != match.seat]
        if shown and match.states["hand"][0][shown[0][0]].any():
            break
    other, suit = shown[0]
    found = belief(game, match.states, match.seat)
    ranks = len(game.deck.ranks)
    of_suit = [shares for kind, shares in zip(found.kinds, found.shares, strict=True) if kind // ranks == suit]
    assert of_suit
    assert all(shares[other] == 0 for shares in of_suit)


def test_the_same_cards_are_played_by_the_policy_against_the_same_players():
    match = played()
    match.notes["players"] = ["person", "pretrained", "pretrained"]
    found = duplicate(match, "pretrained")
    assert found is not None
    assert list(found.compared) == match.record()["score"]
    own = played(players=["pretrained"] * 3)
    assert list(found.score) == own.record()["score"]
    assert duplicate(match, "pretrained", seconds=-1.0) is None
    begun = match_after(match, 30)
    begun.notes["players"] = match.notes["players"]
    assert duplicate(begun, "pretrained") is None  # no deal has ended


@pytest.mark.parametrize("players", [None, ["person"] * 3, ["person", "os:system", "greedy"], ["person", 1, "greedy"],
                                     ["greedy"] * 3, ["person", "p.onnx", "greedy"], ["person", "greedy"]])  # fmt: skip
def test_players_that_a_record_may_not_name_are_not_made(players):
    match = played()
    match.notes["players"] = players
    assert duplicate(match, "pretrained") is None


def test_the_command_names_the_mistake_and_writes_the_review(tmp_path):
    testing = pytest.importorskip("typer.testing")
    from trick_envs.cli import app

    match = played()
    record: dict[str, Any] = {**match.record(), "players": ["person", "pretrained", "pretrained"]}
    (tmp_path / "match.json").write_text(json.dumps(record))
    arguments = ["review", str(tmp_path / "match.json"), "--json", str(tmp_path / "review.json")]
    result = testing.CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found = review(match)
    assert found.verdict(0) in result.output
    assert "points lost" in result.output
    assert json.loads((tmp_path / "review.json").read_text()) == json.loads(json.dumps(found.as_dict()))
    wrong = testing.CliRunner().invoke(app, ["review", str(tmp_path / "match.json"), "--seat", "7"])
    assert wrong.exit_code != 0
    wrong = testing.CliRunner().invoke(app, [*arguments, "--worlds", "1" + "0" * 20])
    assert str(wrong.exception).startswith("--worlds: expected a whole number of 8 to 1,000,000, not 1000")


# --- in words -------------------------------------------------------------------------------------------------------


def judged(loss: float | None, mark: str = "", cards: int = 3, expected: float | None = None) -> Decision:
    """Seat 0 has played the lowest card; the next one was better by ``loss``."""
    hints = tuple(CardHint(kind, 0.0, 0.0 if kind == 0 else loss, 0.1, 9) for kind in range(cards))
    return Decision(7, 1, 3, 0, "lead", 0, 1 if loss else 0, loss, 0.3 if loss else 0.0, mark, hints, expected)


def reviewed(*decisions: Decision, winners: tuple[int, ...] | None = (1,)) -> Review:
    seats = tuple(SeatReview(1, 0.0, 1.0, {}) for _ in range(3))
    game = load_game("donguri", 3, 1)
    return Review(game, decisions, seats, ((-5.0, 4.0, 1.0),), (-2, 3, 0), winners, 6.0, ("greedy", "pimc:9"))


BEHIND, NOT_OVER, WON = "You are 5 points behind the first.", "The match did not come to its end.", "You have won."
BETTER = "deal 1, trick 3: you lead {played}; {best} is better by"
NOTHING = "No play of yours is worse than another by more than the noise of the search."


@pytest.mark.parametrize(
    ("decisions", "winners", "expected"),
    [
        ([judged(5.0, "blunder")], (1,), f"{BEHIND} Your decisive blunder: {BETTER} 5.0 ± 0.3 points. That is as much "
         "as the 5 that you are behind."),
        ([judged(4.9, "mistake")], (1,), f"{BEHIND} Your decisive mistake: {BETTER} 4.9 ± 0.3 points."),
        ([judged(5.0, "blunder")], None, f"{NOT_OVER} Your costliest blunder: {BETTER} 5.0 ± 0.3 points."),
        ([judged(5.0, "blunder")], (0, 1), f"{WON} Your costliest blunder: {BETTER} 5.0 ± 0.3 points."),
        ([judged(0.0), judged(None)], (1,), f"{BEHIND} {NOTHING} A part of your plays could not be judged in time."),
        ([judged(0.0)], (0,), f"{WON} {NOTHING}"),
    ],
)  # fmt: skip
def test_the_verdict_names_the_result_and_the_costliest_mistake(
    decisions: list[Decision], winners: tuple[int, ...] | None, expected: str
) -> None:
    found = reviewed(*decisions, winners=winners)
    words = {"played": found._card(0), "best": found._card(1)}
    assert found.verdict(0) == expected.format(**words)
    assert found.as_dict()["verdicts"][0] == found.verdict(0)


def test_a_note_says_why_a_play_has_no_judgement_and_what_was_expected() -> None:
    notes = [
        one["note"]
        for one in reviewed(
            judged(0.0, cards=1),
            judged(None),
            judged(0.0),
            judged(5.0, "blunder"),
            judged(0.1),
            judged(0.0, expected=2.0),
        ).as_dict()["decisions"]
    ]
    assert notes[0].endswith(" was the only legal card.")
    assert notes[1] == "There was no time to judge this play."
    assert notes[2] == "No other card is better by more than the noise of the search."
    assert notes[3].startswith("Blunder: ")
    assert notes[3].endswith(" is better by 5.0 ± 0.3 points.")
    assert notes[4].endswith(" is better by 0.1 ± 0.3 points.")
    assert notes[5].startswith(notes[2])
    assert notes[5].endswith("could expect to end the deal 2.0 points ahead of the average of the others.")
