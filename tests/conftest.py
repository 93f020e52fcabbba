"""What all tests share."""

from __future__ import annotations

import pytest
from pettingzoo.utils.env_logger import EnvLogger


@pytest.fixture(autouse=True)
def _quiet():
    """PettingZoo prints its warnings."""
    EnvLogger.suppress_output()
    yield
    EnvLogger.unsuppress_output()
    EnvLogger.flush()
