"""Orders in the place of Slurm's priority whose scores look at submissions, in replays in which jobs follow others.

A job gets its score when it is submitted. Rules: docs/reference/slurm.md, "Jobs that follow others".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compilation.references import refer as typed_refer
from simulator.cluster.requests import NOT_GIVEN, Requests
from simulator.compiled import lean
from simulator.jobs.cluster import Cluster
from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy
from simulator.slurm.clockwork import CAME, PENDING, STOPS, STOPS_TO_SCORE, UNSCORED, WANT_ORDER, Replay
from simulator.slurm.loop import run_replay
from simulator.slurm.queue import sort_queue

refer: Any = typed_refer  # numba gives it its context
IntArray = NDArray[np.int64]


def by_value(requests: Requests, score: NDArray[np.int64] | NDArray[np.float64]) -> Requests:
    """The requests with the priorities that these scores have among any others. score: (jobs,)."""
    return requests._replace(priority=priorities(score))


def priorities(score: NDArray[np.int64] | NDArray[np.float64]) -> IntArray:
    """Priorities that Slurm would take as given by hand, the highest for the lowest score, int64 (jobs,). Two neighbouring floats may have
    the same one."""
    bits = (score.astype(np.float64) + 0.0).view(np.int64)  # of two zeros one has a sign
    # the bits of floats are in the order of the floats, and those below zero in the opposite one
    ascending = np.where(bits >= 0, bits, bits ^ np.int64(0x7FFFFFFFFFFFFFFF))
    descending: IntArray = (1 << 62) - 1 - (ascending >> 1)
    return descending


def run_as_submitted(replay: Replay, policy: Policy, jobs: Jobs, cluster: Cluster) -> None:
    """Runs a replay from its beginning to its end. Jobs that come at their own times have their priorities already, and others get them
    when they have come. jobs, cluster: those of the replay, the running ones in the cluster.

    Raises ValueError where a formula fails, and for a policy that scores all jobs at once."""
    assert policy.fixed is not None
    if policy.scores_whole_replay:
        raise ValueError(
            f"policy {policy.name} scores all jobs at once by when they are submitted, which is not known before where users keep their "
            "pace: write it as formula:TEXT, or keep the log's times"
        )
    running, open_jobs = len(cluster.running), replace(jobs.without_followers(), is_replayed=True)
    given, submit, clock = replay.engine.jobs.priority, replay.engine.jobs.submit, replay.clock
    given[running:][jobs.after != NO_JOB] = NOT_GIVEN
    clock[STOPS] = STOPS_TO_SCORE
    seen = int(clock[CAME])
    while _go_on(replay) == WANT_ORDER:
        new = replay.came[seen : clock[CAME]]
        new, seen = new[given[new] == NOT_GIVEN], int(clock[CAME])
        part = replace(open_jobs.only(new - running), submit=submit[new], cancel=np.zeros(0, dtype=np.int64))
        given[new] = priorities(policy.fixed(part, cluster.procs))


@lean
def _go_on(replay):
    """Until jobs have come that have no priority, or to the end. Those that were given one since take their places in the queue."""
    state = refer(replay)
    clock, pending = replay.clock, replay.pending
    if clock[UNSCORED] > 0:
        for k in range(clock[PENDING]):
            pending[k, 2] = replay.engine.jobs.priority[pending[k, 0]]
        sort_queue(state.engine, pending, clock[PENDING], state.room)
        clock[UNSCORED] = 0
    return run_replay(state)
