"""Trained policies, as ONNX files: loading one executes no code from the file, and needs no torch.

A file may come from a stranger. Before compiled code sees it, Python reads it (``onnx_file.py``), its operators and
the sizes of all its numbers are checked for every number of rows (``onnx_sizes.py``), and so are its metadata. Then it
has to judge the beginning of some deals. Nothing of what it says of illegal actions is used, then or later.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trick_envs.agents.agent import Actions, Masks, Observations, rows_of
from trick_envs.agents.chance import Chance, pick, softmax_weights
from trick_envs.agents.onnx_file import MAX_BYTES, Graph, GraphError, read_graph, short
from trick_envs.agents.onnx_sizes import BatchSize, sizes_of
from trick_envs.engine.copies import OwnCopies
from trick_envs.engine.game import Game, checked_game
from trick_envs.engine.history import Events
from trick_envs.engine.observation import VERSION
from trick_envs.engine.play_log import layout_of
from trick_envs.engine.state import States
from trick_envs.errors import InputError, MissingExtraError, checked_path, in_a_line

if TYPE_CHECKING:
    import onnxruntime

METADATA_KEY = "trick_envs"
FORMAT = 1
MAX_METADATA = 1 << 20  # characters
MAX_NUMBERS = 1 << 28  # that a policy may hold at the same time: more rows are judged in parts
TRIED = 3  # deals that a policy is tried on as it is loaded
TOLERANCE = 1e-3  # relative to the largest number: how much a row's judgement may depend on the rows beside it
ILLEGAL_LOGIT = -1e8  # the logit of an action that is not legal, as in sb3-contrib


class PolicyError(InputError):
    """A policy that fails on a position, or says what is no number; the message says which."""


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


def read_policy_file(path: str | Path) -> bytes:
    """The content of a policy file.

    Raises:
        ValueError: if there is none, or it is too large.
        TypeError: if it is no path.
    """
    path = checked_path(path, "path", "the path of a policy file")
    try:
        if not path.is_file():
            raise InputError(f"{path}: there is no such policy file")
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: not a policy of trick_envs: it has more than {MAX_BYTES:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path!s:.200}: not readable ({error.strerror})") from None


def _session(model: bytes) -> onnxruntime.InferenceSession:
    """An ``onnxruntime`` session of a model, on one thread."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # it would number this machine, and tell its makers
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise MissingExtraError("a policy file needs onnxruntime: pip install 'trick_envs[play]'") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what is wrong is in the error
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _metadata(graph: Graph) -> dict[str, Any]:
    """The metadata of a policy file.

    Raises:
        GraphError: if there is none, or it is not what ``policy_metadata`` makes.
    """
    text = graph.metadata.get(METADATA_KEY)
    if text is None:
        raise GraphError(f"it has no metadata {METADATA_KEY!r}")
    if len(text) > MAX_METADATA:
        raise GraphError(f"its metadata have more than {MAX_METADATA:,} characters")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise GraphError("its metadata are no JSON") from None
    if not isinstance(found, dict):
        raise GraphError("its metadata are no JSON object")
    found = {"options": {}, "run": {}, **found}
    for key, kind in (
        ("format", int), ("game", str), ("num_players", int), ("options", dict), ("observation", str), ("run", dict),
    ):  # fmt: skip
        if type(found.get(key)) is not kind:
            raise GraphError(f"the entry {key!r} of its metadata is {short(found.get(key))}")
    return found


def made_for(path: Path, content: bytes | None = None) -> tuple[str, int]:
    """The name of the game, and the number of players, for which a policy file was made.

    Args:
        path: the file.
        content: what it holds, where it has been read already.

    Raises:
        ValueError: if there is no such file, or it is no policy.
    """
    try:
        found = _metadata(read_graph(read_policy_file(path) if content is None else content))
    except GraphError as error:
        raise InputError(f"{path}: not a policy of trick_envs: {error}") from error
    return found["game"], found["num_players"]


def _rows_at_once(graph: Graph, game: Game, size: int) -> int:
    """How many rows the policy may judge at once.

    Raises:
        GraphError: if it does not take what ``PolicyAgent`` says, does not return it for any number of rows, or needs
            too much memory or work for it.
    """
    wanted = {"observation": size, "action_mask": game.num_actions}
    if set(graph.inputs) != set(wanted):
        raise GraphError(f"its inputs are {short(sorted(graph.inputs))}: expected 'action_mask' and 'observation'")
    for name, shape in graph.inputs.items():
        if shape and (len(shape) != 2 or shape[0] is not None or shape[1] not in (None, wanted[name])):
            expected = f"expected any number of rows of {wanted[name]} numbers"
            raise GraphError(f"its input {name!r} has the shape {list(shape)}: {expected}")
    sizes = sizes_of(graph, {name: (BatchSize(1), length) for name, length in wanted.items()})
    for name, shapes in (
        ("logits", [(BatchSize(1), game.num_actions)]),
        ("value", [(BatchSize(1),), (BatchSize(1), 1)]),
    ):
        if name not in graph.outputs or name not in sizes.values:
            raise GraphError(f"it has no output {name!r}")
        if sizes.values[name].shape not in shapes:
            found = list(sizes.values[name].shape)
            raise GraphError(f"its output {name!r} has the shape {found} for n rows: expected {list(shapes[0])}")
    return max(1, MAX_NUMBERS // sizes.numbers_a_row)


def masked_logits(logits: npt.NDArray[np.float32], legal: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    """Logits ``(B, A)`` with ``ILLEGAL_LOGIT`` for illegal actions, and more for all others.

    Only differences between logits count. Where some legal ones are so low, the largest of the row becomes 0.
    """
    found = np.where(legal, logits, np.float32(ILLEGAL_LOGIT))
    low = np.flatnonzero(np.where(legal, logits, 0.0).min(axis=1, initial=0.0) <= ILLEGAL_LOGIT / 2)
    if len(low):
        best = np.where(legal[low], logits[low], -np.inf).max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            found[low] = np.where(legal[low], np.maximum(logits[low] - best, ILLEGAL_LOGIT / 2), ILLEGAL_LOGIT)
    return found


class PolicyAgent(OwnCopies):
    """A policy from an ONNX file: inputs ``observation`` and ``action_mask``, outputs ``logits`` and ``value``.

    It keeps the content of the file, so copies and pickles of it play wherever the file is not.

    Attributes:
        name: what it is called.
        observation: what it sees, as its file says: ``"position"`` or ``"history"``.
        metadata: of the file.
        content: what the file holds.

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
        path: str | Path,
        game: Game,
        sample: bool = False,
        seed: int = 0,
        name: str = "",
        content: bytes | None = None,
    ) -> None:
        self.content = read_policy_file(path) if content is None else content
        self.name = f"{name or path}{':sample' if sample else ''}"
        self._sample, self._num_actions = sample, checked_game(game).num_actions
        self.seed(seed)
        try:
            graph = read_graph(self.content)
            self.metadata = _metadata(graph)
            self.observation = self._observation(path, game)
            self._size = layout_of(game, self.observation).size
            self._rows_at_once = _rows_at_once(graph, game, self._size)
            self._session = _session(self.content)
            self._try(game)
        except (GraphError, PolicyError) as error:
            raise InputError(f"{path}: not a policy of trick_envs: {error}") from error
        except (ImportError, InputError):
            raise
        except Exception as error:  # onnxruntime has many of its own
            raise InputError(f"{path}: not a policy of trick_envs ({in_a_line(error)})") from error
        if content is None:  # who has read the file has been told
            self._warn_of_other_rules(path, game)

    def _warn_of_other_rules(self, path: str | Path, game: Game) -> None:
        """Says if it has learned with options that are neither the game's own nor those with which it is to play."""
        own, known = game.type.options, self.metadata["options"]
        learned = {name: bool(known.get(name, default)) for name, default in own.items()}
        if learned not in (own, game.options):
            other = ", ".join(f"{name}={value}" for name, value in learned.items() if value != game.options[name])
            warnings.warn(f"{path}: a policy that has learned other rules, with {other}", stacklevel=3)

    def seed(self, seed: int) -> None:
        """Reseeds its draws."""
        self._chance = Chance(seed)

    def _observation(self, path: str | Path, game: Game) -> str:
        """What it sees, as its metadata say.

        Raises:
            InputError: if they say that it is for another game.
        """
        with_order = self.metadata["observation"] == observation_version(game, "history")
        observation = "history" if with_order else "position"
        expected = policy_metadata(game, {}, observation)
        for key, meaning in (
            ("format", "file format"), ("game", "game"), ("num_players", "number of players"),
            ("observation", "observation version"),
        ):  # fmt: skip
            if self.metadata[key] != expected[key]:
                found = short(self.metadata[key])
                raise InputError(f"{path}: a policy for {meaning} {found}, but this is {expected[key]!r}")
        return observation

    def _try(self, game: Game) -> None:
        """Judges the beginning of some deals, one by one and together.

        Raises:
            PolicyError: if that fails, or makes a difference.
        """
        types = {one.name: one.type for one in self._session.get_outputs()}
        if any(types[name] != "tensor(float)" for name in ("logits", "value")):
            raise PolicyError(f"it returns {types['logits']} and {types['value']}, not float32 numbers")
        states, seats = np.zeros(TRIED, game.dtype), np.zeros(TRIED, np.int64)
        game.kernels.reset_batch(states, game.template, np.arange(TRIED, dtype=np.uint64))
        masks, observations = np.zeros((TRIED, game.num_actions), np.int8), np.zeros((TRIED, self._size), np.int8)
        seen = np.zeros((TRIED, game.layout.size), np.int8)  # the order of play comes behind it; there is none yet
        game.kernels.observe_batch(states, seen, masks, seats)
        observations[:, : game.layout.size] = seen
        together = self._run(observations, masks)
        for rows in (1, 2):
            alone = self._run(observations[:rows], masks[:rows])
            for one, other in zip(alone, (each[:rows] for each in together), strict=True):
                legal = masks[:rows] != 0 if one.ndim == 2 else np.ones(rows, np.bool_)
                one, other = one[legal], other[legal]
                if not np.abs(one - other).max() <= TOLERANCE * max(1.0, float(np.abs(other).max())):
                    raise PolicyError("what it says of a position depends on the other rows that it is asked about")

    def evaluate(
        self, observations: Observations, action_masks: Masks
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Masked logits ``(B, A) float32`` (``ILLEGAL_LOGIT`` where illegal, else larger), values ``(B,) float32``.

        Raises:
            ValueError: if it sees the order of play, and the observations do not have it, or the other way round; if
                they are of another game.
            PolicyError: if it fails, or says of a legal action or of a position what is no finite number.
        """
        numbers = rows_of(observations, "observations").shape[1]
        if numbers != self._size:
            game = f"{self.metadata['game']} for {self.metadata['num_players']}"
            raise InputError(
                f"{self.name} sees the {self.observation}, {self._size} numbers in {game}, not {numbers}: "
                f"make the environment with observation={self.observation!r}, and the player for its game"
            )
        if np.shape(action_masks) != (len(observations), self._num_actions):
            raise InputError(
                f"{self.name}: expected action masks of shape ({len(observations)}, {self._num_actions}), not "
                f"{np.shape(action_masks)}"
            )
        try:
            return self._run(observations, action_masks)
        except PolicyError as error:
            raise PolicyError(f"{self.name}: {error}") from error

    def _run(
        self, observations: Observations, action_masks: Masks
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """``evaluate``, of arrays that fit."""
        seen, masks = np.asarray(observations, np.float32), np.asarray(action_masks, np.float32)
        logits, values = np.zeros(masks.shape, np.float32), np.zeros(len(masks), np.float32)
        for start in range(0, len(masks), self._rows_at_once):
            part = slice(start, start + self._rows_at_once)
            try:
                found = self._session.run(["logits", "value"], {"observation": seen[part], "action_mask": masks[part]})
                logits[part], values[part] = found[0], found[1].reshape(-1)
            except Exception as error:  # onnxruntime has many of its own
                raise PolicyError(f"it fails on a position ({in_a_line(error)})") from error
        legal = masks != 0
        if not (np.isfinite(logits[legal]).all() and np.isfinite(values).all()):
            raise PolicyError("it judges a position with what is no finite number")
        return masked_logits(logits, legal), values

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
        self._session = _session(self.content)
