"""What all tests share."""

from __future__ import annotations

import os

os.environ.setdefault("TRICK_ENVS_COMPILE", "first")  # test_start.py tries the other way

import pytest
from helpers import write_policy
from pettingzoo.utils.env_logger import EnvLogger

import trick_envs


@pytest.fixture(autouse=True)
def _quiet():
    """PettingZoo prints its warnings."""
    EnvLogger.suppress_output()
    yield
    EnvLogger.unsuppress_output()
    EnvLogger.flush()


@pytest.fixture
def policy_file(tmp_path):
    """A policy of Pepper that likes high numbers, as an ONNX file."""
    return write_policy(tmp_path / "policy.onnx", trick_envs.load_game("pepper"))
