"""The configuration of a training run: one YAML file, which is validated completely before the run starts.

Its defaults are the recipe of all policies that come with the package. What it has no key for is a matter of a few
lines of Python (docs/training.md).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from trick_envs.agents import make_agent
from trick_envs.agents.spec import not_trusted, runs_code
from trick_envs.engine.game import Game
from trick_envs.engine.registry import game_names, load_game_with
from trick_envs.errors import InputError
from trick_envs.evaluation.seeds import MAX_RUN_SEED
from trick_envs.files import LARGEST

MAX_BYTES, MAX_DEPTH = 64_000, 8  # of a YAML text
MAX_SAMPLES = 1 << 24  # between two updates: gigabytes of observations
MAX_DEALS = 1_000_000
MAX_ENTROPY = 1e6  # a weight that float32 numbers cannot hold leaves nothing to learn from
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
Deals = Annotated[int, Field(ge=1, le=MAX_DEALS)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class RunConfig(BaseModel):
    """One training run. Unknown keys and values of a wrong type are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    game: str = Field(description="the game, such as pepper")
    num_players: Positive | None = Field(None, description="seats; the default is the game's own")
    num_deals: Positive | None = Field(1, description="deals per training match; null plays what the original plays")
    options: dict[str, bool] = Field({}, description="options of the game")
    reward: Literal["score", "zero_sum", "win"] = Field("zero_sum", description="what is maximised")
    opponent: str | None = Field(
        None, description="a fixed player in all seats except one (or one team); null is self-play"
    )
    init_from: str | None = Field(
        None, description="of the initial weights: a policy.onnx or policy.zip of the same network, or pretrained"
    )
    seed: Annotated[int, Field(ge=0, le=MAX_RUN_SEED)] = Field(0, description="of all random numbers")
    width: Annotated[int, Field(ge=1, le=2048)] = Field(64, description="of every layer of the network, per suit")
    depth: Annotated[int, Field(ge=1, le=16)] = Field(3, description="number of layers of the network")
    total_samples: Positive = Field(2_000_000, description="decisions to learn from, of all learning seats")
    n_envs: Positive = Field(512, description="games played in parallel")
    n_steps: Positive = Field(64, description="decisions per game between two updates")
    batch_size: Annotated[int, Field(ge=2)] = Field(1024, description="samples per minibatch")
    n_epochs: Positive = Field(1, description="passes over the samples per update")
    update_fraction: float = Field(
        0.5,
        gt=0.0,
        le=1.0,
        description="how many of the samples are learned from in a pass on a CPU: those with the largest gradients are "
        "the likeliest, and weights make up for it",
    )
    learning_rate: float = Field(4e-3, gt=0.0, le=1.0, description="at the start")
    final_learning_rate: float = Field(4e-4, ge=0.0, le=1.0, description="at the end of a linear schedule")
    ent_coef: float = Field(0.1, ge=0.0, le=MAX_ENTROPY, description="weight of the entropy bonus, at the start")
    final_ent_coef: float = Field(0.005, ge=0.0, le=MAX_ENTROPY, description="at the end of a linear schedule")
    gamma: Fraction = Field(1.0, description="discount factor per decision of one seat")
    evaluate_every: Positive = Field(250_000, description="samples between two evaluations")
    checkpoint_every: Positive = Field(5_000_000, description="samples between two checkpoints")
    opponents: list[str] = Field(
        ["random", "greedy"], min_length=1, description="specs of players against whom the policy is measured"
    )
    deals: Deals = Field(100, description="duplicate deals per evaluation and opponent")
    final_deals: Deals = Field(500, description="duplicate deals per opponent of the evaluation at the end")
    device: str = Field("cpu", description="device of the network: cpu, cuda or auto")
    threads: Annotated[int, Field(ge=1, le=1024)] = Field(
        2,
        description="threads that share every batch on a CPU. The weights depend on this number, but not on how many "
        "cores there are",
    )

    @field_validator("game")
    @classmethod
    def _known_game(cls, game: str) -> str:
        if game not in game_names():
            raise InputError(f"expected one of {', '.join(game_names())}")
        return game

    @field_validator("device")
    @classmethod
    def _known_device(cls, device: str) -> str:
        if not re.fullmatch(r"auto|cpu|mps|xpu|cuda(:[0-9]{1,2})?", device):
            raise InputError("expected cpu, cuda or auto")
        return device

    @model_validator(mode="after")
    def _playable(self, info: ValidationInfo) -> RunConfig:
        samples = self.n_envs * self.n_steps
        if samples < self.batch_size:
            raise InputError(f"n_envs * n_steps is {samples}, fewer than batch_size ({self.batch_size})")
        if samples > MAX_SAMPLES:
            raise InputError(f"n_envs * n_steps is {samples:,}: at most {MAX_SAMPLES:,} decisions fit an update")
        try:
            game = self.make_game()
        except TypeError as error:
            raise InputError(str(error)) from None
        for spec in self.measured_against:
            if runs_code(spec) and not (info.context or {}).get("trust"):
                raise InputError(not_trusted(spec, "a config"))
            make_agent(spec, game)
        return self

    def make_game(self) -> Game:
        """The game with this run's players, length and options."""
        return load_game_with(self.game, self.num_players, self.num_deals, self.options)

    @property
    def measured_against(self) -> list[str]:
        """The opponents in evaluations: first the player that the policy is trained against, if there is one."""
        first = [] if self.opponent is None else [self.opponent]
        return [*first, *(spec for spec in self.opponents if spec not in first)]


class ConfigError(InputError):
    """An invalid config; the message names every wrong key and what is allowed."""


def load_config(path: Path, overrides: list[str] | None = None, trust: bool = False) -> RunConfig:
    """Reads and validates a run's YAML file.

    Args:
        path: the file.
        overrides: ``key=value`` or ``options.key=value``, the value as YAML; they replace values of the file.
        trust: whether its players may be programs or Python functions.

    Raises:
        ConfigError: names the file, the key and what is allowed.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError("expected a file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        loaded = read_yaml(content.decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: expected a text in UTF-8") from None
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: not readable as YAML: {error}") from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path}: expected keys and values, such as 'game: pepper'")
    for override in overrides or []:
        apply_override(loaded, override)
    return make_config(loaded, f"{path} with --set" if overrides else str(path), trust)


def make_config(values: dict[str, Any], source: str, trust: bool = False) -> RunConfig:
    """Validates the values of a run.

    Args:
        values: as in a YAML file.
        source: where they come from, for error messages.
        trust: whether its players may be programs or Python functions.

    Raises:
        ConfigError: names the source, the key and what is allowed.
    """
    try:
        return RunConfig.model_validate(values, context={"trust": trust})
    except UnicodeEncodeError:  # pydantic's, of half a letter in a message
        raise ConfigError(f"{source}: expected names in Unicode") from None
    except ValidationError as error:
        raise ConfigError(f"{source}:\n" + "\n".join(_explain(problem) for problem in error.errors())) from None


class _Loader(yaml.SafeLoader):
    """YAML 1.1, but numbers such as ``1e-3`` and ``2E5`` are floats, as in YAML 1.2 and in JSON, not strings.

    Without aliases, by which a small file can mean an endless or an enormous value, and not nested deeply.
    """

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise InputError("expected no alias (*name)")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InputError(f"expected at most {MAX_DEPTH} levels")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []  # or the parser says what it is
        keys = [(key.tag, key.value) for key, _ in pairs if isinstance(key, yaml.ScalarNode)]
        twice = [key for key, times in Counter(keys).items() if times > 1]
        if twice:  # YAML forbids it, PyYAML takes the last
            raise InputError(f"expected {twice[0][1]!r:.60} once")
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def read_yaml(text: str) -> Any:
    """The value of a YAML text, which is at most ``MAX_BYTES`` long and ``MAX_DEPTH`` deep, and has no aliases.

    Raises:
        yaml.YAMLError, ValueError: if it is not readable.
    """
    if len(text) > MAX_BYTES:
        raise InputError(f"expected at most {MAX_BYTES:,} characters")
    try:
        return yaml.load(text, _Loader)
    except (LookupError, AttributeError):  # PyYAML's, of ``!!int ''``, ``!!bool x`` and ``!!timestamp x``
        raise InputError("expected values that are what their tags say") from None


def apply_override(loaded: dict[str, Any], override: str) -> None:
    """Changes one value of a config that is not validated yet.

    Args:
        loaded: as in a YAML file; changed in place.
        override: ``key=value`` or ``options.key=value``, the value as YAML.

    Raises:
        ConfigError: if it is something else.
    """
    key, found, value = override.partition("=")
    if not found:
        raise ConfigError(f"{override!r}: expected key=value, such as learning_rate=0.0005")
    section, dot, option = key.strip().partition(".")
    try:
        parsed = read_yaml(value)
    except (yaml.YAMLError, ValueError):  # a date such as 2001-99-99 is a ValueError
        raise ConfigError(f"{override!r}: {value!r} is not readable as a YAML value") from None
    if not dot:
        loaded[section] = parsed
        return
    options = loaded.setdefault(section, {})
    if section != "options" or not isinstance(options, dict):
        raise ConfigError(f"{override!r}: expected key=value, or options.NAME=value for an option of the game")
    options[option] = parsed


def _explain(problem: Any) -> str:
    """One problem in a line: the path of the key, what is wrong, what is allowed."""
    where = ".".join(str(part) for part in problem["loc"]) or "config"
    if problem["type"] == "extra_forbidden":
        return f"  {where}: unknown key; expected one of {', '.join(RunConfig.model_fields)}"
    message = problem["msg"].removeprefix("Value error, ")
    if not problem["loc"]:
        return f"  {message}"
    try:
        shown = repr(problem["input"])
    except ValueError:
        shown = "such a long number"
    return f"  {where}: {message[0].lower()}{message[1:]}, not {shown if len(shown) < 200 else shown[:200] + '…'}"


def dump_config(config: RunConfig) -> str:
    """The whole config, defaults included, as YAML."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False)
