"""Trained policies, as ONNX files: loading one executes no code from the file, and needs no torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trick_envs.agents.agent import Actions, Masks, Observations
from trick_envs.agents.chance import Chance, pick, softmax_weights
from trick_envs.engine.game import Game
from trick_envs.engine.history import Events, layout_of
from trick_envs.engine.observation import VERSION
from trick_envs.engine.state import States
from trick_envs.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import onnxruntime

METADATA_KEY = "trick_envs"
FORMAT = 1
ILLEGAL = -1e8  # the logit of an action that is not legal, as in sb3-contrib


def observation_version(game: Game, observation: str = "position") -> str:
    """The version of the observation, which a policy depends on: it changes whenever the layout does."""
    blocks = [VERSION, *((block.name, block.length) for block in layout_of(game, observation))]
    return f"{game.type.version}-{hashlib.sha256(repr(blocks).encode()).hexdigest()[:12]}"


def policy_metadata(game: Game, run: Mapping[str, object], observation: str = "position") -> dict[str, object]:
    """The metadata of a policy file.

    Args:
        game: the game that it plays.
        run: about the run that trained it, JSON-serialisable.
        observation: what it sees, ``"position"`` or ``"history"``.
    """
    return {
        "format": FORMAT,
        "game": game.name,
        "num_players": game.num_players,
        "options": game.options,
        "observation": observation_version(game, observation),
        "run": run,
    }


def _session(model: bytes) -> onnxruntime.InferenceSession:
    """An ``onnxruntime`` session of a model, on one thread."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError("a policy file needs onnxruntime: pip install 'trick_envs[play]'") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class PolicyAgent:
    """A policy from an ONNX file: inputs ``observation`` and ``action_mask``, outputs ``logits`` and ``value``.

    It keeps the content of the file, so copies and pickles of it play wherever the file is not.

    Attributes:
        name: what it is called.
        observation: what it sees, as its file says: ``"position"`` or ``"history"``.
        metadata: of the file.

    Args:
        path: the file.
        game: the game it is to play.
        sample: whether to draw actions from its distribution; else it plays its best action.
        seed: seed of these draws.
        name: what it is called; by default the path. ``:sample`` is appended if it draws.
        content: the content of the file, where it has been read already.

    Raises:
        ImportError: without onnxruntime.
        ValueError: if there is no such file, it is not a policy, or it is for another game, number of players or
            observation; says which.
    """

    def __init__(
        self,
        path: Path,
        game: Game,
        sample: bool = False,
        seed: int = 0,
        name: str = "",
        content: bytes | None = None,
    ) -> None:
        if content is None and not path.is_file():
            raise InputError(f"{path}: there is no such policy file")
        try:
            self._content = path.read_bytes() if content is None else content
            self._session = _session(self._content)
            found = json.loads(self._session.get_modelmeta().custom_metadata_map[METADATA_KEY])
        except ImportError:
            raise
        except Exception as error:
            raise InputError(f"{path}: not a policy of trick_envs ({type(error).__name__}: {error})") from error
        with_order = found.get("observation") == observation_version(game, "history")
        self.observation = "history" if with_order else "position"
        self._size = layout_of(game, self.observation).size
        expected = policy_metadata(game, {}, self.observation)
        for key, meaning in (
            ("format", "file format"), ("game", "game"), ("num_players", "number of players"),
            ("observation", "observation version"),
        ):  # fmt: skip
            if found.get(key) != expected[key]:
                raise InputError(f"{path}: a policy for {meaning} {found.get(key)!r}, but this is {expected[key]!r}")
        self.name = f"{name or path}{':sample' if sample else ''}"
        self.metadata: dict[str, Any] = found
        self._sample = sample
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Reseeds its draws."""
        self._chance = Chance(seed)

    def evaluate(
        self, observations: Observations, action_masks: Masks
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Masked logits ``(B, A) float32`` (``ILLEGAL`` where illegal) and values ``(B,) float32``.

        Raises:
            ValueError: if it sees the order of play, and the observations do not have it, or the other way round.
        """
        if np.shape(observations)[1] != self._size:
            raise InputError(
                f"{self.name} sees the {self.observation}, {self._size} numbers, not {np.shape(observations)[1]}: make "
                f"the environment with observation={self.observation!r}"
            )
        inputs = {
            "observation": np.asarray(observations, np.float32),
            "action_mask": np.asarray(action_masks, np.float32),
        }
        logits, values = self._session.run(["logits", "value"], inputs)
        return np.asarray(logits), np.asarray(values).reshape(-1)

    def act(
        self, observations: Observations, action_masks: Masks, states: States | None = None, plays: Events | None = None
    ) -> Actions:
        """The best action for every row, or one drawn from the policy's distribution: ``(B,) int64``."""
        logits, _ = self.evaluate(observations, action_masks)
        if self._sample:
            return pick(softmax_weights(logits), self._chance.draw(len(logits), states))
        return logits.argmax(axis=1)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_session"}

    def __setstate__(self, state: dict[str, Any]) -> None:  # a session cannot be copied: there is a new one
        self.__dict__.update(state)
        self._session = _session(self._content)
