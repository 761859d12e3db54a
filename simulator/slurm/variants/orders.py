"""Any order of ours in the place of Slurm's priority: those that are known at submission, and those that change while jobs wait."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.requests import NOT_GIVEN, Requests
from simulator.engine.queue_tree import order_of
from simulator.engine.replay import inputs_of, scoring_of
from simulator.formula import machine as formula_machine
from simulator.formula.parsing import explain_failure
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs, column_of
from simulator.jobs.tasks import tasks_of
from simulator.policies.network import VISIBLE_JOBS
from simulator.policies.plugins import PlugIn
from simulator.policies.registry import Policy
from simulator.policies.sampling import TAKE_BEST, no_recorder
from simulator.policies.scoring import FIXED, Scratch
from simulator.slurm.clockwork import NOW, STOPS, STOPS_TO_ORDER, Replay
from simulator.slurm.variants.ordering import (
    COUNTED,
    FAILED,
    FAILED_OPERATION,
    ORDER_ASKED,
    ORDER_FAILED,
    QUEUED,
    OrderedQueue,
    run_ordered,
    take_scores,
)

LATEST = 4_294_967_294
"""The highest priority that Slurm gives, by hand, too."""


def is_fixed_order(policy: Policy) -> bool:
    """Whether all scores are known at submission."""
    return policy.kind == FIXED and policy.fixed is not None


def by_order(requests: Requests, score: NDArray[np.int64] | NDArray[np.float64]) -> Requests:
    """The requests with priorities given by hand, so that the lowest score comes first. score: (jobs,)."""
    priority = np.empty(len(score), dtype=np.int64)
    priority[order_of(score)] = LATEST - np.arange(len(score))
    return requests._replace(priority=priority)


def run_in_order(replay: Replay, policy: Policy, jobs: Jobs, cluster: Cluster) -> None:
    """Runs a replay whose queue the policy orders whenever a scheduler runs. jobs, cluster: those of the replay, the running ones in the
    cluster.

    Raises ValueError where a formula or a plug-in fails, and for a policy with an agent, which no scheduler of a cluster has.
    """
    orders = ordered_queue(replay, policy, jobs, cluster)
    why = run_ordered(replay, orders, no_recorder())
    while why == ORDER_ASKED:
        assert policy.plug_in is not None
        orders.score[: orders.counts[QUEUED]] = _asked_scores(replay, orders, policy.plug_in, cluster.procs)
        take_scores(replay, orders)
        why = run_ordered(replay, orders, no_recorder())
    if why == ORDER_FAILED:
        assert policy.formula is not None
        raise explain_failure(policy.formula, int(orders.counts[FAILED_OPERATION]), orders.scratch.slots)


def ordered_queue(
    replay: Replay, policy: Policy, jobs: Jobs, cluster: Cluster, sample: int = TAKE_BEST
) -> OrderedQueue:
    """The queue of a replay that has not begun, in the order of a policy; the replay then stops for it. Arguments and errors as those of
    `run_in_order`."""
    if policy.agent is not None:
        raise ValueError("agents decide beside an order with backfilling, and Slurm has its own: leave the agent out")
    tasks = tasks_of(jobs, cluster, lets_come=True)
    num_jobs, running = len(tasks.submit), len(cluster.running)
    users = int(tasks.user.max(initial=0)) + 1 if policy.half_life_s > 0 else 0
    replay.clock[STOPS] = STOPS_TO_ORDER

    def whole(size: int, value: int = 0) -> NDArray[np.int64]:
        return np.full(size, value, dtype=np.int64)

    value = np.zeros(num_jobs)
    # where jobs follow others, those of the replay as it goes on
    submit = column_of(replay.engine.jobs.submit) if jobs.is_closed else tasks.submit
    orders = OrderedQueue(
        scoring_of(policy, jobs, tasks, cluster.procs),
        *(submit, tasks.procs, tasks.estimate, tasks.user),
        counts=whole(6),
        queue=whole(num_jobs),
        listed=np.zeros(num_jobs, dtype=np.bool_),
        left=whole(num_jobs),
        score=np.zeros(num_jobs),
        value=value,
        bits=value.view(np.int64),
        est_end=whole(num_jobs),
        counted=whole(num_jobs),
        began=whole(num_jobs, NOT_GIVEN),
        seen=whole(4, NOT_GIVEN),
        usage=np.zeros(users + 1),
        rate=np.zeros(users + 1),
        since=whole(users + 1),
        scratch=Scratch(
            np.zeros(formula_machine.NUM_SLOTS),
            np.zeros(formula_machine.STACK_SIZE),
            np.empty((VISIBLE_JOBS, inputs_of(policy)), dtype=np.float32),
            np.empty(VISIBLE_JOBS, dtype=np.float32),
            np.zeros(num_jobs),
        ),
        sample=sample,
    )
    orders.counts[FAILED] = NOT_GIVEN
    if users and running:
        orders.counts[COUNTED] = running
        orders.counted[:running] = np.arange(running)
        orders.began[:running] = replay.engine.running.start[:running]
        np.add.at(orders.rate, tasks.user[:running], tasks.procs[:running])
        orders.rate[-1] = tasks.procs[:running].sum()
        orders.since[:] = cluster.begins(jobs.submit)
    return orders


def _asked_scores(replay: Replay, orders: OrderedQueue, plug_in: PlugIn, procs: int) -> NDArray[np.float64]:
    """What a plug-in says of the jobs that wait, by place."""
    free, now = replay.engine.free, int(replay.clock[NOW])
    there = (replay.engine.scratch.away <= now) & (free.whole == 0)
    columns = {"submit": orders.submit, "estimate": orders.estimate, "procs": orders.procs, "user": orders.user}
    return plug_in.scores(orders.queue[: orders.counts[QUEUED]], now, int(free.cpus[there].sum()), procs, columns)
