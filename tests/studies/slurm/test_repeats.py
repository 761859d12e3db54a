"""Real runs of one scenario against each other."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.cluster.requests import NOT_GIVEN
from studies.slurm.golden_runs import read_golden_run
from studies.slurm.repeats import groups_of, runs_of_scenarios, starts_in, worst_ratio
from tests.shared import shared_file


def test_a_run_is_no_way_from_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    run = read_golden_run(shared_file("golden", "slurm", "S7", "run1"))
    start = starts_in(run, run)
    assert [int(second) for second in start] == [NOT_GIVEN if job.start_s is None else job.start_s for job in run.jobs]
    assert worst_ratio(run, start) == 1.0
    assert worst_ratio(run, np.where(start >= 0, start + 100, start)) > 1.2
    assert {kind for kind, _ in groups_of(run)} == {"partition", "QOS", "account"}
    monkeypatch.delenv("TRACEHOUSE_RECORDED", raising=False)
    assert runs_of_scenarios() == {}
