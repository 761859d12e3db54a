"""Whole replays against recorded runs."""

from __future__ import annotations

import numpy as np
import pytest

from studies.slurm.free_runs import SEEDS, distance, phases_of, replay_golden
from studies.slurm.golden_runs import read_golden_run
from tests.shared import shared_file


@pytest.mark.parametrize(
    ("scenario", "tau"), [("S1-builtin", 1.0), ("S2", 0.88), ("S7", 0.96), ("S8", 0.95), ("S9-jobtest", 0.999)]
)
def test_a_replay_is_as_near_as_another_real_run(scenario: str, tau: float) -> None:
    run = read_golden_run(shared_file("golden", "slurm", scenario, "run1"))
    far = [distance(run, replay_golden(run, phases_of(run, seed))) for seed in range(SEEDS)]
    assert np.mean([one.tau for one in far]) >= tau
    assert abs(np.mean([one.wait_s for one in far]) / far[0].real_wait_s - 1) < 0.1
