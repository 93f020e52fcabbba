"""Players, named by short specs that every command and every ``opponents=`` takes.

| spec | player |
| --- | --- |
| ``random`` | any legal card |
| ``greedy`` | the rule of thumb at the end of the game's rules file |
| ``pimc:N``, ``ismcts:N`` | search over N sampled worlds (``trick_envs/agents/search.py``); ``search:N``: the better |
| ``cheat:N`` | search in the true world: the upper bound, and no player |
| ``PATH.onnx`` | a trained policy's best action |
| ``PATH.onnx:sample`` | an action drawn from its distribution |
| ``PATH.onnx+ismcts:N`` | search that starts from the policy's best action; ``pimc``, ``search``, ``cheat`` likewise |
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trick_envs.agents.chance import Chance, pick
from trick_envs.engine.game import Setup
from trick_envs.interfaces.batch import checked_seed

SEARCHES = ("search", "pimc", "ismcts", "cheat")
Actions = npt.NDArray[np.int64]


class Agent(Protocol):
    """A player of one game, for many tables at once.

    Attributes:
        name: the spec it was made from.
    """

    name: str

    def act(
        self, observations: npt.NDArray[Any], action_masks: npt.NDArray[Any], states: npt.NDArray[Any] | None = None
    ) -> Actions:
        """Names a card for every row.

        Args:
            observations: ``(B, D)``, what the seat to act sees.
            action_masks: ``(B, A)``, its legal actions; a row of zeros gets any action.
            states: ``(B,)`` records, for players that compute on the game itself (they read of it only what the
                seat to act has seen). ``BatchEnv.states``, or ``env.unwrapped.states`` of an AEC environment.
                With them a decision's random choices are the same however games are batched.

        Returns:
            ``(B,) int64`` legal actions.
        """
        ...

    def seed(self, seed: int) -> None:
        """Starts its random choices anew."""
        ...


class RandomAgent:
    """Any legal card, each as likely."""

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self.seed(seed)

    def seed(self, seed: int) -> None:
        self._chance = Chance(seed)

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Actions:
        masks = np.asarray(action_masks)
        return pick(masks != 0, self._chance.draw(len(masks), states))


class GreedyAgent:
    """The rule of thumb at the end of the game's rules file. Needs ``states``."""

    name = "greedy"

    def __init__(self, game: Setup) -> None:
        self._greedy = game.kernels.greedy_actions

    def seed(self, seed: int) -> None:
        """It has no random choices."""

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Actions:
        if states is None:
            raise ValueError("greedy computes on the game itself: call act(observations, action_masks, env.states)")
        actions = np.zeros(len(states), np.int64)
        self._greedy(states, actions)
        return actions


def make_agent(spec: str, game: Setup, seed: int = 0) -> Agent:
    """A player from its spec.

    Args:
        spec: as in the table at the head of this file.
        game: the game it is to play.
        seed: of its random choices.

    Raises:
        ValueError: for a spec that means nothing, a policy of another game, or a bad seed; says what is allowed.
    """
    seed = checked_seed(seed)
    if spec == "random":
        return RandomAgent(seed)
    if spec == "greedy":
        return GreedyAgent(game)
    if spec.partition(":")[0] in SEARCHES:
        from trick_envs.agents.search import SearchAgent

        return SearchAgent(spec, game, seed)
    if ".onnx+" in spec:
        from trick_envs.agents.search import SearchAgent

        policy, _, search = spec.rpartition("+")
        return SearchAgent(search, game, seed, usual=make_agent(policy, game, seed))
    path, sample = Path(spec.removesuffix(":sample")), spec.endswith(":sample")
    if path.suffix == ".onnx":
        from trick_envs.agents.policy import PolicyAgent

        return PolicyAgent(path, game, sample, seed)
    raise ValueError(
        f"{spec!r} is no player: expected 'random', 'greedy', a search such as 'pimc:100', or a path to a policy.onnx "
        "(':sample' behind it draws from its distribution instead of playing its best action, '+ismcts:100' searches; "
        "one of the two)"
    )
