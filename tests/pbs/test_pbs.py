"""Tests of pbs: cycle, cycle_engine."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.pbs.cycle import cycle_starts
from tests.pbs.cycle_engine import engine_starts
from tests.pbs.cycle_types import CycleAmounts, CycleJob, CycleNode, CycleQueue, CycleSettings, CycleSite
from tests.pbs.cycle_workloads import cycle_workload

# cycle: The oracle of PBS's cycle: on random sites nothing is given twice. Recorded runs are in tests/studies/pbs.

NODES = tuple(CycleNode(f"n{k}", CycleAmounts(4)) for k in range(4))
STRICT = CycleSettings(strict_ordering=True)


def waits(site: CycleSite, *jobs: CycleJob) -> dict[str, int]:
    submitted = {job.name: job.submit_s for job in jobs}
    return {start.name: start.start_s - submitted[start.name] for start in cycle_starts(jobs, site)}


def wide(name: str, submit_s: int, runtime_s: int, nodes: int, walltime_s: int | None, **more: object) -> CycleJob:
    return CycleJob(name, submit_s, runtime_s, (CycleAmounts(4),) * nodes, walltime_s, **more)  # type: ignore[arg-type]


def test_one_job_is_planned_and_others_pass_it_only_in_time() -> None:
    jobs = [wide("a", 0, 30, 2, 40), wide("b", 1, 5, 4, 10), wide("c", 2, 1, 1, 38), wide("d", 3, 1, 1, 38)]
    assert waits(CycleSite(NODES, settings=STRICT), *jobs) == {"a": 0, "b": 29, "c": 0, "d": 32}
    assert waits(CycleSite(NODES), *jobs) == {"a": 0, "b": 29, "c": 0, "d": 0}


def test_a_job_without_a_walltime_passes_nobody() -> None:
    jobs = [wide("a", 0, 30, 2, 40), wide("b", 1, 5, 4, 10), wide("c", 2, 1, 1, None)]
    assert waits(CycleSite(NODES, settings=STRICT), *jobs)["c"] == 33


def test_an_express_job_suspends_the_youngest() -> None:
    queues = (CycleQueue("workq"), CycleQueue("fast", 150))
    site = CycleSite(NODES, queues, settings=CycleSettings(preempts=True))
    jobs = [wide("a", 0, 30, 2, 40), wide("b", 1, 20, 2, 40), wide("x", 5, 10, 2, 20, queue="fast")]
    starts = {start.name: start for start in cycle_starts(jobs, site)}
    assert [starts[name].start_s for name in "abx"] == [0, 1, 5]
    assert (starts["b"].end_s, starts["b"].suspended_s, starts["a"].suspended_s) == (31, 10, 0)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_given_twice(seed: int) -> None:
    jobs, site = cycle_workload(seed)
    starts = cycle_starts(jobs, site)
    by_name = {job.name: job for job in jobs}
    assert len({start.name for start in starts}) == len(starts)
    if site.settings.preempts:
        return  # of a job that was suspended, the start does not say when
    has = {node.name: node.has for node in site.nodes}
    for moment in {start.start_s for start in starts}:
        used: Counter[tuple[str, int]] = Counter()
        for start in starts:
            if start.start_s <= moment < start.end_s:
                assert start.start_s >= by_name[start.name].submit_s
                for name, amounts in start.nodes.items():
                    used.update({(name, k): amount for k, amount in enumerate(amounts)})
        assert all(amount <= has[name][k] for (name, k), amount in used.items())


# cycle_engine: The engine of PBS's cycle starts every job in the second and on the nodes that the oracle of the cycle
# gives it.

SITES = 100
"""Of each part."""


def assert_same_starts(seed: int) -> None:
    jobs, site = cycle_workload(seed)
    starts = {start.name: (start.start_s, tuple(sorted(start.nodes))) for start in cycle_starts(jobs, site)}
    assert engine_starts(jobs, site) == starts, (seed, site)


def test_a_hundred_random_sites_come_out_as_in_the_oracle() -> None:
    for seed in range(SITES):
        assert_same_starts(seed)


@pytest.mark.parametrize("part", range(1, 20))
def test_two_thousand_random_sites_come_out_as_in_the_oracle(part: int) -> None:
    for seed in range(part * SITES, (part + 1) * SITES):
        assert_same_starts(seed)
