"""What a search wins over the policy behind it, decision by decision, in points per deal.

::

    python docs/measure_search.py pepper
    python docs/measure_search.py pepper pretrained+ismcts:1000 --deals 500 --share 0.2

The policy plays deals against itself. At a share of the decisions the search chooses, too; where it chooses another
action, both are played, and the policy plays on in all seats to the end of the deal. The mean difference of the seat's
margins, times the number of decisions in a seat's deal, is what the search wins, as if it deviated once at a time. The
search plays no deals for it, so this is much cheaper than an arena, and it says how far its estimates can be trusted.

Prints

- how many decisions were searched, and how often the search changed the policy's choice,
- what the changes win per deal, with the 95 % interval, and the same for the half of them with the larger estimates,
- the slope of what they won on what the search had expected: 1 if the estimates are right, 0 if they say nothing.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs import BatchEnv
from trick_envs.agents import make_agent
from trick_envs.agents.spec import parse_spec
from trick_envs.engine.game import Game
from trick_envs.engine.registry import load_game
from trick_envs.evaluation.intervals import half_width_95
from trick_envs.evaluation.seeds import Purpose, match_seeds

Reals = npt.NDArray[np.float64]


def decisions(game: Game, policy: Any, deals: int, share: float, seed: int) -> tuple[BatchEnv, int]:
    """Positions with a choice from deals that the policy plays, and how many decisions there were in all."""
    games, rng = BatchEnv(game.name, deals, game.num_players, 1, **game.options), np.random.default_rng(seed)
    games.reset(match_seeds(Purpose.VALIDATION, seed, 0, deals))
    kept, total, running = [], 0, np.arange(deals)
    while len(running):
        asked = running[games.action_masks[running].sum(axis=1) > 1]
        total += len(asked)
        kept.append(games.states[asked[rng.random(len(asked)) < share]])
        actions = policy.act(games.observations[running], games.action_masks[running], games.states[running])
        running = running[~games.step(actions, running)[1][running]]
    return positions(game, np.concatenate(kept)), total


def positions(game: Game, states: Any) -> BatchEnv:
    """Games that stand at these positions."""
    games = BatchEnv(game.name, len(states), game.num_players, 1, "zero_sum", **game.options)
    games.reset(0)
    games.states[:] = states
    games.observe()
    return games


def outcomes(game: Game, policy: Any, states: Any, actions: Any) -> Reals:
    """The margins of the seats to act after these actions, where the policy plays on for everybody."""
    games = positions(game, states)
    seats, margins, running = games.seats.copy(), np.zeros(len(states)), np.arange(len(states))
    while len(running):
        rewards, ended = games.step(actions, running)
        margins[ended] = rewards[ended, seats[ended]]
        running = running[~ended[running]]
        actions = policy.act(games.observations[running], games.action_masks[running], games.states[running])
    return margins if game.type.teams else margins * game.num_players / (game.num_players - 1)


def report(won: Reals, expected: Reals, per_deal: float) -> None:
    """Prints what was found: differences by decision, 0 where the search has changed nothing."""
    changed = expected != 0.0
    large = np.where(expected > np.median(expected[changed]), won, 0.0)
    slope = (won * expected).sum() / (expected**2).sum()
    error = np.sqrt(((won - slope * expected)[changed] ** 2).mean() / (expected**2).sum())
    for name, gains in (("all changes", won), ("their larger half", large)):
        print(f"{name}: {per_deal * gains.mean():+.2f} ± {per_deal * half_width_95(gains):.2f} points a deal")
    print(
        f"changed: {changed.mean():.0%}; slope of what was won on what was expected: {slope:.2f} ± {1.96 * error:.2f}"
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("search", nargs="?", default="pretrained+rollout:64")
    parser.add_argument("--deals", type=int, default=300)
    parser.add_argument("--share", type=float, default=0.25, help="of the decisions with a choice that are searched")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    game = load_game(arguments.game, None, 1)
    policy = make_agent(str(parse_spec(arguments.search).policy), game, arguments.seed)
    search: Any = make_agent(arguments.search, game, arguments.seed)
    found, total = decisions(game, policy, arguments.deals, arguments.share, arguments.seed)
    per_deal = total / arguments.deals / game.num_players
    result = search.compare(found.observations, found.action_masks, found.states)
    changed = np.flatnonzero(result.actions != result.baselines)
    print(f"{arguments.search} in {game.name}: {len(found.states):,} of {total:,} decisions with a choice searched")
    if not len(changed):
        print("the search chose as the policy everywhere")
        return
    won, expected = np.zeros((2, len(found.states)))
    states = found.states[changed]
    won[changed] = outcomes(game, policy, states, result.actions[changed])
    won[changed] -= outcomes(game, policy, states, result.baselines[changed])
    expected[changed] = result.advantages[changed, result.actions[changed]]
    report(won, expected, per_deal)


if __name__ == "__main__":
    main()
