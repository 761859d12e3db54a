"""The loop that stops for an order."""

from __future__ import annotations

import numpy as np

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import parse_policy
from simulator.policies.sampling import no_recorder
from simulator.slurm.clockwork import PENDING
from simulator.slurm.replaying import Phases, SlurmReplayer
from simulator.slurm.variants.ordering import (
    AWAITED_FROM,
    AWAITED_TO,
    ORDER_ASKED,
    ORDERED,
    QUEUED,
    put_in_order,
    run_ordered,
    take_scores,
)
from simulator.slurm.variants.orders import ordered_queue
from tests.simulator.slurm_site import SITE, columns_of


def begun(policy: str, jobs: int = 6):
    """A replay of jobs that take all nodes, one submitted a second, and its queue."""
    asked = [Request(k, limit_s=600, min_nodes=4, max_nodes=4, exclusive=True) for k in range(jobs)]
    submit, hundred = np.arange(jobs), np.full(jobs, 100)
    columns = Jobs(submit, hundred, np.full(jobs, 16), 6 * hundred, 6 * hundred)
    replayer = SlurmReplayer(SITE, cluster_arrays(SITE), columns_of(asked), Phases(0, 1))
    replay, _ = replayer.begun(columns, Cluster(16))
    return replay, ordered_queue(replay, parse_policy(policy), columns, Cluster(16))


def test_scores_of_any_sign_and_size_order_the_queue() -> None:
    replay, orders = begun("WFP3")
    replay.clock[PENDING] = 6
    replay.pending[:6, 0] = np.arange(6)
    orders.listed[:] = [True, True, True, True, True, False]
    orders.value[:] = [1e300, -0.0, -1e300, 0.0, 3.5, 1.0]
    put_in_order(replay, orders)
    assert replay.pending[:6, 0].tolist() == [2, 1, 3, 4, 0, 5]  # what something keeps comes last


def test_it_may_end_when_some_jobs_have_started() -> None:
    replay, orders = begun("formula:wait")
    orders.counts[AWAITED_FROM], orders.counts[AWAITED_TO] = 0, 2
    assert run_ordered(replay, orders, no_recorder()) == ORDERED
    assert (replay.engine.running.start[:2] >= 0).all() and (replay.engine.running.start[3:] < 0).all()


def test_scores_are_asked_for_of_the_jobs_that_wait() -> None:
    replay, orders = begun("WFP3")
    orders = orders._replace(scoring=orders.scoring._replace(kind=11))
    stops = 0
    while run_ordered(replay, orders, no_recorder()) == ORDER_ASKED:
        waiting = orders.queue[: orders.counts[QUEUED]]
        assert (np.diff(waiting) > 0).all()
        orders.score[: len(waiting)] = -waiting  # the last first
        take_scores(replay, orders)
        stops += 1
    assert stops > 6 and np.argsort(replay.engine.running.start).tolist()[1:] == [5, 4, 3, 2, 1]
