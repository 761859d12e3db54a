"""The study of the bounded key with requested times, on logs small enough for a test."""

from __future__ import annotations

import numpy as np

from models.scheduling.arena import Arena
from models.scheduling.goals import parse_goal
from simulator.engine.replay import replay
from simulator.jobs.jobs import jobs_from_log
from studies.judging.requested_keys import (
    FACTORS,
    capped_share,
    earlier_jobs,
    factor_of_others,
    heading,
    judged,
    later_jobs,
    line,
    values_of_factors,
)
from tests.simulator.busy import PROCS, busy_jobs


def test_a_log_does_not_choose_its_own_factor() -> None:
    values = {"a": {10.0: -9.0, 5.0: 0.0, 2.0: 0.0, 1.0: 0.0}}
    values["b"] = {10.0: 0.0, 5.0: -1.0, 2.0: -2.0, 1.0: 0.0}
    values["c"] = {10.0: 0.0, 5.0: -4.0, 2.0: -1.0, 1.0: 0.0}
    assert factor_of_others("a", values) == 5.0
    assert factor_of_others("b", values) == 10.0
    assert factor_of_others("none of them", values) == 10.0


def test_earlier_jobs_choose_and_later_jobs_judge() -> None:
    arena = Arena(busy_jobs(1000, 1.0, 3), PROCS, parse_goal("bsld"), threads=1)
    assert (earlier_jobs(arena), later_jobs(arena)) == (range(100, 500), range(500, 1000))
    values = values_of_factors(arena)
    assert tuple(values) == FACTORS
    judgement = judged(arena, 1.0, later_jobs(arena))
    assert judgement.panels != judgement.incumbents
    text = line("log", 1.0, judgement)
    assert text.startswith("| log | 1 |") and text.count("|") == heading().splitlines()[1].count("|")


def test_the_form_for_pbs_is_the_same_order() -> None:
    jobs = busy_jobs(600, 1.1, 4)
    for pbs in (
        "eligible_time - min(walltime*sqrt(ncpus), 43200)",
        "eligible_time - (walltime*sqrt(ncpus) if walltime*sqrt(ncpus) < 43200 else 43200)",
    ):
        ours, theirs = (replay(jobs, PROCS, policy) for policy in ("bounded-key:factor=1", f"formula:{pbs}"))
        assert (ours.start == theirs.start).all()
    assert len({replay(jobs, PROCS, policy).start.sum() for policy in ("FCFS", "bounded-key:factor=1")}) == 2


def test_a_job_is_at_the_cap_by_what_it_asks_for() -> None:
    submit, runtime, procs, asked = np.array([[0, 0, 0, 0], [9, 9, 9, 9], [1, 4, 1, 4], [4319, 2160, 4320, 100]])
    jobs = jobs_from_log(submit, runtime, procs, asked)
    assert capped_share(jobs, 10.0) == 0.5
    assert capped_share(jobs, 1.0) == 0.0
