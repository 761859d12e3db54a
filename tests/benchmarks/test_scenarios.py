"""The scenarios that are timed are six, and what is timed is a process of its own."""

from __future__ import annotations

import subprocess
import tomllib

import pytest

from assets.replay.scenarios.scenario_file import scenarios_of
from benchmarks.scenarios import SCENARIOS, command


def test_there_are_six() -> None:
    assert len(scenarios_of(tomllib.loads(SCENARIOS)).scenarios) == 6


def test_cpu_time_is_that_of_the_command() -> None:
    assert 0 < command("what-if", "--help") < 30
    with pytest.raises(subprocess.CalledProcessError):
        command("what-if", "gone.toml")
