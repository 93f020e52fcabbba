"""The configuration of a training run: one YAML file, which is validated completely before the run starts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from trick_envs.agents import make_agent
from trick_envs.agents.spec import ROLLOUT, parse_spec
from trick_envs.engine.game import Game
from trick_envs.engine.registry import game_names, load_game
from trick_envs.errors import InputError
from trick_envs.evaluation.seeds import MAX_RUN_SEED

Positive = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Widths = list[Annotated[int, Field(ge=1, le=8192)]]

FEWEST_GAMES = 64  # of a rollout worker, unless the config says otherwise: networks are slow on smaller batches
EARLIER = "earlier"  # in an opponent_pool: the policy of some rounds before


class Strict(BaseModel):
    """A section of the file: unknown keys and values of a wrong type are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class StageConfig(Strict):
    """What the sections of all stages have in common.

    Attributes:
        title: of the method.
        unit: of what the stage counts.
        budget: the key that says how much of it there is.
        resumes_anywhere: whether an interrupted stage can be saved between any two updates.
        plays_opponent: whether the method can train against a fixed opponent.
    """

    title: ClassVar[str]
    unit: ClassVar[str]
    budget: ClassVar[str]
    resumes_anywhere: ClassVar[bool]
    plays_opponent: ClassVar[bool]

    method: str

    @property
    def total(self) -> int:
        """The length of the stage, in its unit."""
        return getattr(self, self.budget)

    @property
    def players(self) -> list[str]:
        """Specs of other players that it needs."""
        return []

    @property
    def needs_policy(self) -> str | None:
        """What it cannot do with an untrained network; ``None``: nothing."""
        return None

    def with_rollout_workers(self, workers: int) -> Self:
        """The same stage, with a number of rollout workers where the config leaves it open."""
        return self


class PPO(StageConfig):
    """A stage of self-play with proximal policy optimisation (Schulman et al. 2017). The names are those of
    Stable-Baselines3."""

    title: ClassVar[str] = "PPO"
    unit: ClassVar[str] = "samples"
    budget: ClassVar[str] = "total_samples"
    resumes_anywhere: ClassVar[bool] = True  # not only between two rounds
    plays_opponent: ClassVar[bool] = True

    method: Literal["ppo"] = "ppo"
    total_samples: Positive = Field(2_000_000, description="decisions to learn from, of all learning seats")
    checkpoint_every_samples: Positive = Field(500_000, description="samples between two checkpoints")
    evaluate_every_samples: Positive = Field(250_000, description="samples between two evaluations")
    n_envs: Positive = Field(512, description="games played in parallel")
    n_steps: Positive = Field(64, description="decisions per game between two updates")
    rollout_workers: Positive | None = Field(
        None,
        description="workers among which the games are divided, 1: this process plays them all; null: 1, or with "
        "--ray one per core. The weights depend on this number, but not on where the workers are",
    )
    batch_size: Positive = Field(2048, description="samples per minibatch")
    n_epochs: Positive = Field(1, description="passes over the samples per update")
    learning_rate: float = Field(4e-3, gt=0.0, le=1.0, description="at the start")
    final_learning_rate: float = Field(4e-4, ge=0.0, le=1.0, description="at the end of a linear schedule")
    gamma: Fraction = Field(1.0, description="discount factor per decision of one seat")
    gae_lambda: Fraction = Field(0.95, description="the lambda of generalised advantage estimation")
    clip_range: float = Field(0.2, gt=0.0, description="clipping of the probability ratio")
    ent_coef: float = Field(0.1, ge=0.0, description="weight of the entropy bonus, at the start")
    final_ent_coef: float | None = Field(
        0.005, ge=0.0, description="at the end of a linear schedule; null: ent_coef to the end"
    )
    vf_coef: float = Field(0.5, ge=0.0, description="weight of the value loss")
    max_grad_norm: float = Field(0.5, gt=0.0, description="gradients are clipped to this norm")
    kl_coef: float = Field(
        0.0, ge=0.0, description="weight of the divergence from the policy with which the stage began; 0: none"
    )

    privileged_critic: bool = Field(
        False, description="whether values for the advantages come from a network that also sees what is hidden"
    )

    @model_validator(mode="after")
    def _one_batch(self) -> PPO:
        samples = self.n_envs * self.n_steps
        if samples < self.batch_size:
            raise InputError(f"n_envs * n_steps is {samples}, fewer than batch_size ({self.batch_size})")
        if self.rollout_workers is not None and self.rollout_workers > self.n_envs:
            raise InputError(f"rollout_workers: {self.rollout_workers} is more than n_envs ({self.n_envs})")
        return self

    def with_rollout_workers(self, workers: int) -> Self:
        if self.rollout_workers is not None:
            return self
        return self.model_copy(update={"rollout_workers": max(1, min(workers, self.n_envs // FEWEST_GAMES))})


class ExpertIteration(StageConfig):
    """A stage in which a search labels the policy's decisions, and the policy learns from the labels (Anthony, Tian,
    Barber 2017). ``training/expert/labels.py`` plays and labels, ``training/expert/learner.py`` learns."""

    title: ClassVar[str] = "expert iteration"
    unit: ClassVar[str] = "labels"
    budget: ClassVar[str] = "total_labels"
    resumes_anywhere: ClassVar[bool] = False
    plays_opponent: ClassVar[bool] = False

    method: Literal["expert_iteration"] = "expert_iteration"
    total_labels: Positive = Field(400_000, description="decisions to label")
    labels_per_round: Positive = Field(50_000, description="labels between two hand-overs of new weights")
    replay_capacity: Positive = Field(400_000, description="how many of the latest labels are learned from")
    search: str = Field("ismcts:100", description="the teacher: a search that starts from the policy's best action")
    label_fraction: Fraction = Field(0.33, gt=0.0, description="fraction of the decisions that are labelled")
    games: Positive = Field(128, description="matches that a worker plays side by side; one task")
    opponent_pool: list[str] = Field(
        [], description="who also plays, unlabelled: specs of players, or earlier: the policy of some rounds before"
    )
    opponent_fraction: Fraction = Field(0.2, description="fraction of the seats that the pool plays, if it has players")
    target: Literal["argmax", "softmax", "kl_prior"] = Field(
        "argmax",
        description="what is imitated: the search's choice; a softmax of the advantages; the policy's own "
        "distribution, moved by the advantages",
    )
    inverse_temperature: float = Field(
        1.0, gt=0.0, description="softmax, kl_prior: factor on the advantages in standard errors"
    )
    n_epochs: Positive = Field(8, description="how often a label is learned from, on average")
    batch_size: Positive = Field(2048, description="labels per minibatch")
    learning_rate: float = Field(2e-3, gt=0.0, le=1.0, description="at the start")
    final_learning_rate: float = Field(1e-4, ge=0.0, le=1.0, description="at the end of a linear schedule")
    vf_coef: float = Field(0.5, ge=0.0, description="weight of the value loss")
    max_grad_norm: float = Field(1.0, gt=0.0, description="gradients are clipped to this norm")

    @property
    def players(self) -> list[str]:
        return [spec for spec in self.opponent_pool if spec != EARLIER]

    @property
    def needs_policy(self) -> str | None:
        return f"search: {self.search}" if self.search.startswith(ROLLOUT) else None

    @field_validator("search")
    @classmethod
    def _a_search(cls, search: str) -> str:
        parsed = parse_spec(f"student.onnx+{search}")
        if parsed.method is None or parsed.policy != "student.onnx":
            raise InputError("expected a search without a policy, such as ismcts:100 or rollout:16")
        if parsed.method == "cheat":
            raise InputError("cheat looks at hidden cards, which a policy cannot learn; expected such as ismcts:100")
        return search


METHODS: dict[str, type[Strict]] = {"ppo": PPO, "expert_iteration": ExpertIteration}


class Network(Strict):
    """The network; policy and value share its first layers."""

    kind: Literal["suit_equivariant", "mlp"] = Field(
        "suit_equivariant",
        description="shared over suits (``training/networks/suits.py``), or a multi-layer perceptron",
    )
    width: Annotated[int, Field(ge=1, le=8192)] = Field(64, description="suit_equivariant: of every layer, per suit")
    depth: Annotated[int, Field(ge=1, le=64)] = Field(3, description="suit_equivariant: number of layers")
    shared: Widths = Field([256], min_length=1, description="mlp: widths of the layers that both use")
    policy: Widths = Field([256], description="mlp: widths of the layers that only the policy has")
    value: Widths = Field([256], description="mlp: widths of the layers that only the value has")
    activation: Literal["relu", "tanh"] = Field("relu", description="mlp: after every layer")


class Evaluation(Strict):
    """When and against whom the policy is measured on duplicate deals (``trick_envs/evaluation/duplicate.py``)."""

    deals: Positive = Field(100, description="deals per evaluation and opponent")
    final_deals: Positive = Field(500, description="deals per opponent of the evaluation at the end")
    opponents: list[str] = Field(["random", "greedy"], min_length=1, description="specs of players")


class RunConfig(Strict):
    """One training run."""

    game: str = Field(description="the game, such as pepper")
    num_players: Positive | None = Field(None, description="seats; the default is the game's own")
    num_deals: Positive | None = Field(1, description="deals per training match; null plays what the original plays")
    options: dict[str, bool] = Field({}, description="options of the game")
    reward: Literal["score", "zero_sum", "win"] = Field("zero_sum", description="what is maximised")
    reward_scale: float = Field(
        0.1, gt=0.0, description="factor on all rewards, so that values are about 1: one for all stages"
    )
    opponent: str | None = Field(
        None, description="a fixed player in all seats except one (or one team); null is self-play"
    )
    init_from: str | None = Field(
        None, description="of the initial weights: a policy.onnx or policy.zip of the same network, or pretrained"
    )
    seed: Annotated[int, Field(ge=0, le=MAX_RUN_SEED)] = Field(0, description="of all random numbers")
    stages: list[Annotated[PPO | ExpertIteration, Field(discriminator="method")]] = Field(
        [PPO()], min_length=1, description="how the policy is trained, one stage after the other"
    )
    workers: Positive = Field(2, description="processes that label in expert iteration, or that rollout_workers use")
    device: str = Field("cpu", description="device of the network: cpu, cuda or auto")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="of matrix products; auto is bfloat16 where the device is good at it"
    )
    threads: Positive = Field(
        2,
        description="threads that share a minibatch of ppo, on a CPU. The weights depend on this number, but not on "
        "how many cores there are",
    )
    network: Network = Network()
    evaluation: Evaluation = Evaluation()

    @field_validator("game")
    @classmethod
    def _known_game(cls, game: str) -> str:
        if game not in game_names():
            raise InputError(f"expected one of {', '.join(game_names())}")
        return game

    @model_validator(mode="after")
    def _playable(self) -> RunConfig:
        try:
            game = self.make_game()
        except TypeError as error:
            raise InputError(str(error)) from None
        for spec in [*self.opponents, *(spec for stage in self.stages for spec in stage.players)]:
            make_agent(spec, game)
        needs = self.stages[0].needs_policy
        if needs is not None and self.init_from is None:
            raise InputError(f"stages.0.{needs} needs a policy: expected a stage before, or init_from")
        if self.opponent is not None and not all(stage.plays_opponent for stage in self.stages):
            raise InputError("opponent: a best response is trained by stages of ppo, not of expert_iteration")
        return self

    def make_game(self) -> Game:
        """The game with this run's players, length and options."""
        return load_game(self.game, self.num_players, self.num_deals, **self.options)

    @property
    def opponents(self) -> list[str]:
        """The opponents in evaluations: first the player that the policy is trained against, if there is one."""
        listed = self.evaluation.opponents
        first = [] if self.opponent is None else [self.opponent]
        return [*first, *(spec for spec in listed if spec not in first)]


class ConfigError(InputError):
    """An invalid config; the message names every wrong key and what is allowed."""


def load_config(path: Path, overrides: list[str] | None = None) -> RunConfig:
    """Reads and validates a run's YAML file.

    Args:
        path: the file.
        overrides: ``key=value``, ``section.key=value`` or ``stages.0.key=value``, the value as YAML; they replace
            values of the file.

    Raises:
        ConfigError: names the file, the key and what is allowed.
    """
    try:
        loaded = read_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such config file") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: not readable as YAML: {error}") from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path}: expected keys and values, such as 'game: pepper'")
    for override in overrides or []:
        apply_override(loaded, override)
    return make_config(loaded, str(path))


def make_config(values: dict[str, Any], source: str) -> RunConfig:
    """Validates the values of a run.

    Args:
        values: as in a YAML file.
        source: where they come from, for error messages.

    Raises:
        ConfigError: names the source, the key and what is allowed.
    """
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{source}:\n" + "\n".join(_explain(problem) for problem in error.errors())) from None


class _Loader(yaml.SafeLoader):
    """YAML 1.1, but numbers such as ``1e-3`` and ``2E5`` are floats, as in YAML 1.2 and in JSON, not strings."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def read_yaml(text: str) -> Any:
    """The value of a YAML text.

    Raises:
        yaml.YAMLError, ValueError: if it is not readable.
    """
    return yaml.load(text, _Loader)


def apply_override(loaded: dict[str, Any], override: str) -> None:
    """Changes one value of a config that is not validated yet.

    Args:
        loaded: as in a YAML file, with new names; changed in place.
        override: ``key=value``, ``section.key=value`` or ``stages.0.key=value``, the value as YAML.

    Raises:
        ConfigError: if it is something else, or names no section or stage of the config.
    """
    key, found, value = override.partition("=")
    if not found:
        raise ConfigError(f"{override!r}: expected key=value, such as stages.0.learning_rate=0.0005")
    *sections, last = key.strip().split(".")
    place: Any = loaded
    for section in sections:
        if isinstance(place, list) and section.isdecimal() and int(section) < len(place):
            place = place[int(section)]
        elif isinstance(place, dict):
            place = place.setdefault(section, {})
        if not isinstance(place, (dict, list)):
            raise ConfigError(f"{override!r}: {section} is not a section")
    if not isinstance(place, dict):
        raise ConfigError(f"{override!r}: expected the number of a stage and a key of it, such as stages.0.n_epochs")
    try:
        place[last] = read_yaml(value)
    except (yaml.YAMLError, ValueError):  # a date such as 2001-99-99 is a ValueError
        raise ConfigError(f"{override!r}: {value!r} is not readable as a YAML value") from None


def _explain(problem: Any) -> str:
    """One problem in a line: the path of the key, what is wrong, what is allowed."""
    path = [str(part) for part in problem["loc"]]
    where = ".".join(part for part in path if part not in METHODS) or "config"
    if problem["type"] == "extra_forbidden":
        section: Any = RunConfig
        for part in path[:-1]:
            if part in METHODS:
                section = METHODS[part]
            elif not part.isdecimal() and part != "stages":
                section = section.model_fields[part].annotation
        return f"  {where}: unknown key; expected one of {', '.join(section.model_fields)}"
    if problem["type"] in ("union_tag_not_found", "union_tag_invalid"):
        return f"  {where}.method: expected {' or '.join(METHODS)}"
    message = problem["msg"].removeprefix("Value error, ")
    if not path:
        return f"  {message}"
    found = "" if isinstance(problem["input"], dict) else f", not {problem['input']!r}"  # a whole section says nothing
    return f"  {where}: {message[0].lower()}{message[1:]}{found}"


def dump_config(config: RunConfig) -> str:
    """The whole config, defaults included, as YAML."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False)
