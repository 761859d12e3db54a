"""The state of a replay under Slurm beside the engine: its clock, the queue, and who ends when."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.coming import GivingUp
from simulator.jobs.followers import Chain
from simulator.slurm.backfill import Decisions
from simulator.slurm.priority import FairShares, PriorityRules, StaticFactors
from simulator.slurm.rows import WaitingRows
from simulator.slurm.state import Engine

IntArray = NDArray[np.int64]
MILLION = 1_000_000
(
    FULL_DUE,
    CYCLE_DUE,
    BATCH_DUE,
    LAST_BATCH,
    PERIOD_DUE,
    LAST_PERIOD,
    NEXT_SUBMIT,
    PENDING,
    ENDING,
    EPILOGS,
    LAST_EVENT,
    ASLEEP,
    CYCLE_US,
    NEXT_ABSENCE,
    BEGIN,
    NOW,
    NODES_FREED,
    STOPS,
    LAST_CHANGE,
    ENDED,
    PURGED,
    NEXT_EDGE,
    CAME,
    UNSCORED,
    KEPT,
) = range(25)
"""Places in `Replay.clock`: when each scheduler runs next, and how long the lists are. ASLEEP: 1 where backfill waits for something to
change. CYCLE_US: what is left of the time that cycles took, below a second. BEGIN: the first second; jobs that were submitted before wait
already. NOW: the second of the last events. NODES_FREED: 1 where an epilog has ended then. STOPS: of the next five.
LAST_CHANGE, ENDED, PURGED, NEXT_EDGE: see simulator/slurm/changes.py. CAME: how many jobs have been submitted. UNSCORED: those of them
whose priority nobody has given, where the loop STOPS_TO_SCORE. KEPT: how many jobs of the queue something keeps that may pass."""
NEVER_STOPS, STOPS_TO_ORDER, STOPS_TO_LEARN, STOPS_TO_SCORE, HAS_STOPPED = range(5)
"""Whether the loop stops before schedulers run, so that somebody else orders the queue, learns from the jobs that have ended, or gives
priorities to jobs that have come. HAS_STOPPED is added to why."""
ALL_DONE, WANT_ORDER = range(2)
"""Why the loop stops."""


class Replay(NamedTuple):
    """What a replay needs beside the engine."""

    engine: Engine
    waiting: WaitingRows
    decisions: Decisions
    rules: PriorityRules
    statics: StaticFactors
    fair: FairShares
    chain: Chain  # who follows whom, empty in an open replay
    giving: GivingUp  # who leaves without a start
    order: IntArray  # (jobs,), by submission, from NEXT_SUBMIT on those that are to come
    came: IntArray  # (jobs,), those that have come, by submission
    runtime: IntArray  # (jobs,)
    epilog: IntArray  # (jobs,), seconds until its nodes can be used again
    test_us: int  # microseconds that a cycle takes for each job
    clock: IntArray  # (25,)
    pending: IntArray  # (rows, 3), jobs that wait, their partitions and their priorities there, in order
    queued: IntArray  # (partitions + reservations,), rows of each; those of a reservation are not among those of a partition
    kept: IntArray  # (jobs,), jobs of the queue that a time or a dependency keeps
    room: IntArray  # (rows, 3), to sort the queue in
    eligible: IntArray  # (jobs,), second from which the job may start, NOT_GIVEN as long as something keeps it
    finished: IntArray  # (jobs,), when it ended, NOT_GIVEN before
    ending: IntArray  # (jobs,), running jobs by their true ends
    epilog_end: IntArray  # (jobs,), ends of epilogs, ascending
    backfilled: NDArray[np.bool_]  # (jobs,)
    refused: NDArray[np.bool_]  # (jobs,), by a limit on submitted jobs
    preempted: IntArray  # (jobs,), how often
    ended: IntArray  # (jobs,), when jobs have ended, ascending
    edges: IntArray  # (edges, 2), seconds at which reservations or nodes change, ascending
