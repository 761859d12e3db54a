"""Tests of simulator/slurm/queue: schedulers that take the queue in parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.requests import Request
from simulator.slurm.limits import is_over_anywhere, over_limit
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.rows import FIRST_PART
from tests.simulator.busy import SITE, engine_of
from tests.simulator.slurm.closed_cases import drawn_case, run_open
from traces.cluster.accounts import Limit


def check_parts(seed: int, most_jobs: int) -> None:
    """Starts and plans are the same, whether a scheduler takes the whole queue at once or two rows at first."""
    case = drawn_case(seed, most_jobs)
    jobs = case.jobs.without_followers()
    values = case.site.scheduler.values | {"bf_min_age_reserve": 60 * (seed % 3)}
    site = replace(case.site, scheduler=replace(case.site.scheduler, values=values))
    case = replace(case, replayer=replace(case.replayer, description=site))
    starts = []
    for part in (1, 2, 5, 1_000_000):
        replay, _ = case.replayer.begun(jobs, case.cluster)
        if replay.waiting.part[0] == FIRST_PART:  # not with tasks in several partitions
            replay.waiting.part[0] = part
        run_open(case.replayer, replay, jobs, case.cluster)
        starts.append((replay.engine.running.start.copy(), replay.backfilled.copy()))
    for start, backfilled in starts[:-1]:
        assert (start == starts[-1][0]).all() and (backfilled == starts[-1][1]).all()


@pytest.mark.parametrize("seed", range(60))
def test_a_queue_in_parts(seed: int) -> None:
    check_parts(seed, 60)


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_many_queues_in_parts(part: int) -> None:
    for seed in range(1000 + part * 250, 1250 + part * 250):
        check_parts(seed, 150)


def test_a_job_that_is_over_a_limit_by_what_it_asks_for_is_over_it_on_any_nodes() -> None:
    bounds = [Limit("cluster", "", "running", "all", resource, bound) for resource, bound in (("cpu", 5), ("nodes", 2))]
    rng, found = np.random.default_rng(3), 0
    for bound in bounds:
        site = replace(SITE, limits=(bound,))
        asked = [
            Request(
                0, limit_s=60, tasks=int(rng.integers(1, 9)), cpus_per_task=int(rng.integers(1, 3)),
                min_nodes=int(nodes), max_nodes=int(nodes), tasks_per_node=int(rng.integers(0, 4)),
                exclusive=bool(rng.random() < 0.3),
            )
            for nodes in rng.integers(1, 4, 60)
        ]  # fmt: skip
        engine = engine_of(asked, site)
        engine.scratch.allowed[:] = True
        for job in range(len(asked)):
            chosen = choose_nodes(engine, engine.free, job, 0)
            if is_over_anywhere(engine, job):
                found += 1
                assert over_limit(engine, job, chosen)
    assert found > 20
