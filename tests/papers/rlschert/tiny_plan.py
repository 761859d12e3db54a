"""A plan of RLSchert's experiment that is trained in seconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from papers.rlschert.options import RLSchertOptions
from papers.rlschert.plan import RLSchertPlan
from papers.rlschert.workload import Workload

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
