"""Keys and values of configs that have new names: the old ones are still accepted for one version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trick_envs.deprecation import warn_renamed
from trick_envs.errors import InputError

KEYS = {  # by path, with * for the number of a stage: the new last part
    "against": "opponent",
    "start": "init_from",
    "stages.*.leash": "kl_coef",
    "stages.*.window": "replay_capacity",
    "stages.*.label_share": "label_fraction",
    "stages.*.guests": "opponent_pool",
    "stages.*.guest_share": "opponent_fraction",
    "stages.*.sharpness": "inverse_temperature",
}
VALUES = {  # by path with new names: old and new
    "stages.*.target": {"pick": "argmax", "leash": "kl_prior"},
    "network.kind": {"suits": "suit_equivariant", "perceptron": "mlp"},
}


def with_new_names(values: Any, path: Sequence[str] = (), warn: bool = True) -> Any:
    """A config, or a part of one, with new names for old ones.

    Args:
        values: as in a YAML file.
        path: of this part.
        warn: whether an old name is a ``DeprecationWarning``; not where the user has not written it.

    Raises:
        ValueError: if a key is there under both names.
    """
    if isinstance(values, list):
        return [with_new_names(item, (*path, str(i)), warn) for i, item in enumerate(values)]
    if not isinstance(values, dict):
        return _new_value(values, path, warn)
    renamed: dict[Any, Any] = {}
    for key, item in values.items():
        new = KEYS.get(_pattern((*path, str(key))), str(key))
        if new != str(key) and new in values:
            raise InputError(f"{'.'.join((*path, key))}: the old name of {new}, which is there, too")
        if new != str(key) and warn:
            warn_renamed(".".join((*path, key)), new)
        renamed[new] = with_new_names(item, (*path, str(new)), warn)
    return renamed if path else _with_one_reward_scale(renamed, warn)


def _with_one_reward_scale(values: dict[Any, Any], warn: bool) -> dict[Any, Any]:
    """``reward_scale`` was a key of every stage; now it is one of the run."""
    stages = values.get("stages")
    stages = stages if isinstance(stages, list) else []
    holders = [stage for stage in stages if isinstance(stage, dict) and "reward_scale" in stage]
    if not holders:
        return values
    scales = [stage["reward_scale"] for stage in holders]
    scales += [values["reward_scale"]] if "reward_scale" in values else []
    if any(scale != scales[0] for scale in scales):
        raise InputError(f"reward_scale: expected one for all stages, not {' and '.join(map(str, scales))}")
    if warn:
        warn_renamed("stages.*.reward_scale", "reward_scale (one for the run)")
    kept = [{key: item for key, item in stage.items() if key != "reward_scale"} if stage in holders else stage
            for stage in stages]  # fmt: skip
    return {**values, "stages": kept, "reward_scale": scales[0]}


def new_key(path: Sequence[str]) -> str:
    """The last part of a path, or its new name, with a ``DeprecationWarning``."""
    return str(*with_new_names({path[-1]: None}, path[:-1]))


def _new_value(value: Any, path: Sequence[str], warn: bool) -> Any:
    new = VALUES.get(_pattern(path), {}).get(value) if isinstance(value, str) else None
    if new is not None and warn:
        warn_renamed(f"{'.'.join(path)}: {value}", new)
    return value if new is None else new


def _pattern(path: Sequence[str]) -> str:
    return ".".join("*" if part.isdecimal() else part for part in path)
