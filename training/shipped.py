"""The configs that come with the package, by name: ``quickstart`` is ``configs/quickstart.yaml``."""

from __future__ import annotations

from pathlib import Path

from trick_envs.errors import InputError

_HERE = Path(__file__).parent


def configs_folder() -> Path:
    """Their folder: part of the installed package, and next to it in a clone of the repository."""
    installed = _HERE / "configs"
    return installed if installed.is_dir() else _HERE.parent / "configs"


def config_names() -> list[str]:
    """Their names."""
    return sorted(path.stem for path in configs_folder().glob("*.yaml"))


def find_config(named: str) -> Path:
    """The file of a config.

    Args:
        named: the path of a YAML file, or the name of a config that comes with the package.

    Raises:
        ValueError: if there is neither; lists the names.
    """
    path = Path(named)
    if path.exists() and not path.is_dir():
        return path
    if named in config_names():
        return configs_folder() / f"{named}.yaml"
    raise InputError(
        f"{named!r}: there is no such file, and no such config in {configs_folder()}: expected the path of a YAML "
        f"file, or one of {', '.join(config_names())}"
    )
