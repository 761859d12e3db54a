"""Random orders as rivals of the scenarios that are other orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assets.common.progress import progress
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.scenarios.planning import PlannedReplay, ScenarioPlan
from models.judging.chance import ChanceCloud, RandomOrder, cloud_around, orders_on_cluster, random_orders
from models.judging.panel import Replayed
from models.runtime.estimates import Estimates
from simulator.jobs.schedule import Schedule
from simulator.policies.registry import Policy

DECIDING = ("policy", "backfill", "inspector", "estimates", "reserve_by", "admit_by", "correction")
"""Settings that say who starts, and nothing of jobs or processors."""


def is_an_order(base: PlannedReplay, scenario: PlannedReplay) -> bool:
    """Whether a scenario differs from the base in how it decides alone, so that a lottery is a rival. More processors are none."""
    same = {name: getattr(base.settings, name) for name in DECIDING}
    return scenario.settings.model_copy(update=same) == base.settings


def random_orders_beside(plan: ScenarioPlan, base: ReplayRun) -> ChanceCloud | None:
    """What random orders reach beside the base, under its settings: on a cluster with its own scheduler in the place of its priority, one
    run each. None where the base learns from its own replay, or its policy is no order. None where users keep their pace, since a random
    order looks at submissions, and for a log too long for its own scheduler: such a replay takes too long for many of them."""
    settings, jobs = plan.base.settings, len(base.jobs)
    if settings.is_closed:
        return None
    orders: Sequence[RandomOrder] = random_orders(jobs)
    if settings.is_on_cluster:
        orders = orders_on_cluster(jobs)
    elif plan.base.policy.policy is None or Estimates.parse(settings.estimates).is_live:
        return None
    if not orders:
        return None
    counted = np.zeros(len(base.jobs), dtype=np.bool_)
    counted[np.isin(base.rows["job_index"].to_numpy(), plan.scored)] = True
    incumbent = Replayed(base.jobs, base.cluster, base.schedule, counted & base.schedule.started)

    def replay_order(policy: Policy) -> Schedule:
        chosen = replace(plan.base.policy, text=policy.name, policy=policy)
        return replay_run(plan.trace, settings, chosen, own_runs=1).schedule

    return cloud_around(incumbent, replay_order, progress(list(orders), "random orders"))
