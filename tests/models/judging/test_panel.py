"""The panel of a replay is what the definitions say, job by job."""

from __future__ import annotations

import numpy as np
import pytest

from models.judging.panel import panel_of, scored_after, wide_jobs
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from tests.simulator.busy import busy_jobs

PROCS = 32


def test_measures_are_those_of_the_scored_jobs_alone() -> None:
    jobs = busy_jobs(400, load=1.2, seed=3)
    schedule = replay(jobs, PROCS, "SAF")
    scored = scored_after(400, 150)
    panel = panel_of(jobs, schedule, PROCS, scored)
    wait = (schedule.start - jobs.submit)[150:]
    run, procs = jobs.runtime[150:], jobs.procs[150:]
    slowdown = np.maximum(1, (wait + run) / np.maximum(run, 10))
    area = (run * procs).astype(float)
    assert panel.bounded_slowdown == pytest.approx(slowdown.mean())
    assert panel.wait_s == pytest.approx(wait.mean())
    assert panel.p99_wait_s == pytest.approx(np.percentile(wait, 99))
    assert panel.max_wait_s == wait.max()
    assert panel.area_wait_s == pytest.approx((wait * area).sum() / area.sum())
    assert panel.wide_wait_s == pytest.approx(wait[procs > PROCS / 4].mean())
    assert 0 < panel.lost_capacity < 1


def test_a_quarter_of_the_cluster_is_not_wide_yet() -> None:
    times = np.array([0, 0, 0])
    jobs = Jobs(times, times + 5, np.array([1, 8, 9]), times + 5, times + 5)
    assert wide_jobs(jobs, PROCS).tolist() == [False, False, True]
    narrow = panel_of(jobs, Schedule(times, times > 0), PROCS, np.array([True, True, False]))
    assert narrow.wide_wait_s is None


def test_jobs_that_were_cancelled_do_not_count() -> None:
    jobs = busy_jobs(200, load=3.0, seed=5, cancelled_share=0.3)
    schedule = replay(jobs, PROCS, "SJF")
    assert not schedule.started.all()
    panel = panel_of(jobs, schedule, PROCS, scored_after(200, 0))
    assert panel.wait_s == pytest.approx((schedule.start - jobs.submit)[schedule.started].mean())


def test_nobody_to_score_is_an_error() -> None:
    jobs = busy_jobs(20, load=1.0, seed=1)
    with pytest.raises(ValueError, match="no job to measure"):
        panel_of(jobs, replay(jobs, PROCS), PROCS, scored_after(20, 20))
