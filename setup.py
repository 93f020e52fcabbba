"""What pyproject.toml cannot say: ``configs/`` is installed as a part of ``training``."""

from setuptools import find_namespace_packages, setup

setup(
    packages=[*find_namespace_packages(include=["trick_envs*", "training*"]), "training.configs"],
    package_dir={"training.configs": "configs"},
)
