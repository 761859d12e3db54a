"""Small clusters for examples of docs/reference/rlschert.md that were worked by hand.

Jobs are written (arrive, length, procs, first) or (..., {t: remaining[t]}); the remaining times that are not given are true.
Letters stand for the jobs' numbers.

A plan of RLSchert's experiment that is trained in seconds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from papers.rlschert.plan import RLSchertOptions, RLSchertPlan
from papers.rlschert.workload import Workload
from tests.simulator.oracle_rlschert import LONGEST, OracleCluster

A, B, C, D, E = range(5)


def cluster(*jobs, **options):
    """A small cluster: 4 processors and 12 units of plan, where the options do not say otherwise."""
    remaining = []
    for job in jobs:
        given = job[4] if len(job) > 4 else {}
        remaining.append([given.get(t, max(job[1] - t, 1)) for t in range(LONGEST)])
    columns = [list(column) for column in zip(*(job[:4] for job in jobs), strict=True)]
    return OracleCluster(*columns, remaining, **{"cluster_procs": 4, "horizon": 12, **options})


def after(c, units):
    for _ in range(units):
        c.wait()
    return c


# --- tiny plan


PLAN = RLSchertPlan(
    workload=Workload(jobs=10),
    options=RLSchertOptions(iterations=1, sequences=2, pool=3, validate_every=1, teacher_iterations=1),
    seeds=(7, 8),
    procs=16,
    test_sequences=4,
    completion_seeds=1,
    network_iterations=0,
    job_rates=(0.3,),
    cluster_sizes=(12,),
    predictable_shares=(0.5,),
    other_error=1.212,
    preemption_costs=(2,),
)


def tiny_plan(**changes: Any) -> RLSchertPlan:
    return replace(PLAN, **changes)
