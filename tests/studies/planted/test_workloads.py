"""Workloads of made-up centres."""

import numpy as np

from studies.planted.workloads import CORES, planted_workload


def test_a_workload_is_that_of_its_seed_and_fits_its_cluster() -> None:
    workload, again = planted_workload(5), planted_workload(5)
    assert workload.rows.equals(again.rows) and not workload.rows.equals(planted_workload(6).rows)
    rows, jobs = workload.rows, workload.jobs
    assert 2500 <= len(jobs) <= 5000 and workload.procs % CORES == 0 and rows["procs"].max() <= workload.procs / 2
    assert (np.diff(jobs.submit) >= 0).all() and jobs.runtime.min() > 0
    load = float((jobs.runtime * jobs.procs).sum()) / workload.procs / (workload.span[1] - workload.span[0])
    assert 0.4 < load < 1 and set(rows["queue"]) == {"short", "normal", "long"}


def test_jobs_that_wait_for_something_else_may_start_later() -> None:
    held = [planted_workload(seed) for seed in range(6)]
    later = [float((each.rows["eligible_s"] > each.rows["submit_s"]).mean()) for each in held]
    assert min(later) == 0.0 and 0.01 < max(later) < 0.08
    for workload in held:
        order, jobs = workload.eligible
        assert (workload.rows["eligible_s"].to_numpy()[order] == jobs.submit).all()
