"""Match records: played again, card by card, and told as a card player would read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trick_envs.agents import Agent
from trick_envs.engine.game import setup
from trick_envs.interfaces.aec import RawEnv

_NEEDED = {"game": str, "version": int, "num_players": int, "deals": list}


def play_match(
    game: str, agents: Mapping[int, Agent], seed: int, num_players: int | None = None, num_deals: int | None = None
) -> dict[str, Any]:
    """Plays a match and returns its record.

    Args:
        game: the game.
        agents: a player for every seat.
        seed: of the deals.
        num_players: seats, where the rules allow a choice.
        num_deals: exact length; ``None`` plays the original's.
    """
    env = RawEnv(setup(game, num_players, num_deals))
    env.reset(seed=seed)
    while not any(env.terminations.values()):
        seat = int(env.states["seat"][0])
        seen = env.observe(env.agent_selection)
        actions = agents[seat].act(seen["observation"][None], seen["action_mask"][None], env.states)
        env.step(int(actions[0]))
    return env.record()


def replay(record: Mapping[str, Any]) -> RawEnv:
    """Plays a record's deals and actions again, checking each.

    Returns:
        the environment as the record leaves it; its ``record()`` equals the given one.

    Raises:
        ValueError: if it is no record, or an action is illegal or out of turn, or a score is not what the cards say;
            names the deal and the play.
    """
    if not isinstance(record, Mapping):
        raise ValueError(f"a record: expected a dict such as record() returns, not {type(record).__name__}")
    env = _table(record, record.get("num_deals"))
    env.reset(seed=record.get("seed"), options={"deals": record["deals"]})
    for number, deal in enumerate(record["deals"]):
        if env.phase == "over":
            raise ValueError(f"deal {number + 1}: the match was over before it")
        _play_deal(env, number, deal)
        score = env.record()["deals"][number]["score"]
        if score != deal.get("score", score):
            raise ValueError(f"deal {number + 1}: the record says the score is {deal['score']}, the cards say {score}")
    return env


def narrate(record: Mapping[str, Any]) -> str:
    """A record as text: for each deal the hands, every trick with its taker, and the scores.

    Raises:
        ValueError: as ``replay`` does.
    """
    replay(record)
    title = setup(record["game"], record["num_players"]).rules.game.title
    lines = [f"{title}, {record['num_players']} players, seed {record.get('seed')}"]
    for number, deal in enumerate(record["deals"]):
        lines += ["", *_narrate_deal(record, number, deal)]
    winners = record.get("winners")
    if winners:
        lines += ["", f"match {_scores(record['score'])}", f"won by {', '.join(f'player_{seat}' for seat in winners)}"]
    return "\n".join(lines)


def _table(record: Mapping[str, Any], num_deals: int | None) -> RawEnv:
    if not isinstance(record, Mapping):
        raise ValueError(f"a match record is a dict, not {type(record).__name__}")
    for key, kind in _NEEDED.items():
        if not isinstance(record.get(key), kind):
            raise ValueError(f"a match record has {key!r}, a {kind.__name__}; found {record.get(key)!r}")
    table = setup(record["game"], record["num_players"], num_deals, **record.get("options", {}))
    if record["version"] != table.rules.version:
        raise ValueError(f"this is a record of version {record['version']}; the rules here are {table.rules.version}")
    return RawEnv(table)


def _play_deal(env: RawEnv, number: int, deal: Mapping[str, Any], told: list[str] | None = None) -> None:
    """Plays the actions of one deal; a sentence for each trick and each named card goes to ``told``."""
    before = len(env.record()["deals"])
    row: list[str] = []
    for play, action in enumerate(deal.get("actions", [])):
        where = f"deal {number + 1}, play {play + 1}"
        if not isinstance(action, (list, tuple)) or len(action) != 2:
            raise ValueError(f"{where}: expected [seat, card], not {action!r}")
        seat, card = action
        acts, phase = int(env.states["seat"][0]), env.phase
        if env.phase == "over" or len(env.record()["deals"]) > before:
            raise ValueError(f"{where}: the deal was over before it")
        if seat != acts:
            raise ValueError(f"{where}: it is player_{acts}'s turn to {phase}, not player_{seat}'s")
        tricks = int(env.states["tricks"][0])
        try:
            env.step(env.setup.deck.parse(card))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        if told is None:
            continue
        row.append(f"player_{seat} {card}" if phase in ("lead", "follow") else f"player_{seat} to {phase} {card}")
        ended = env.phase == "over" or int(env.states["tricks"][0]) > tricks
        if ended:
            told.append(f"  trick {tricks + 1:>2}  {', '.join(row)}; taken by player_{env.states['taking'][0]}")
        elif phase == "pass":
            told.append(f"  {row[0]}")
        if ended or phase == "pass":
            row = []
    if told is not None and row:
        told.append(f"  running   {', '.join(row)}")


def _narrate_deal(record: Mapping[str, Any], number: int, deal: Mapping[str, Any]) -> list[str]:
    """One deal, played on a table of its own, so that its last position stays on it."""
    env = _table(record, 1)
    env.reset(options={"deals": [deal]})
    lines = [f"deal {number + 1}, dealt by player_{deal['dealer']}"]
    lines += [f"  player_{seat}  {' '.join(hand)}" for seat, hand in enumerate(deal["hands"])]
    if deal.get("stock"):
        lines.append(f"  stock     {' '.join(deal['stock'])}")
    _play_deal(env, number, deal, lines)
    score = deal.get("score")
    lines.append(f"  score     {_scores(score)}" if score is not None else "  not finished")
    return lines


def _scores(score: list[int]) -> str:
    return ", ".join(f"player_{seat} {points:+d}" for seat, points in enumerate(score))
