"""What PBS's scheduler knows, as tuples of arrays: the site, what jobs ask for, what is free, what runs, and its plans. And what a replay
needs beside it.

All arrays are int64 where nothing else is said. Compiled functions take these tuples and change the arrays in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.coming import GivingUp
from simulator.jobs.followers import Chain
from simulator.pbs.settings import CycleSettings

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]

FREE, PACK, SCATTER, VSCATTER = range(4)
UNDECIDED, SHARED, EXCLUSIVE = range(3)
WHOLE_VNODE = np.int64(1 << 20)
"""What a job that has its nodes for itself adds to the count of jobs on each."""
BEGINS, OVER, CONFIRMED, KEPT, ENDS = range(5)
"""Of a reservation: its begin and end, when it was confirmed, until when its nodes stay with it, and when PBS expects them back."""
UNSET = np.int64(-1)
"""No job, or a time that has not come."""


class PbsSite(NamedTuple):
    """Nodes, in the order in which PBS looks at them. What does not change."""

    amounts: IntArray  # (nodes, resources)
    host: IntArray  # (nodes,), the machine that each is part of
    host_first: IntArray  # (hosts + 1,), where the nodes of each host begin in host_nodes
    host_nodes: IntArray  # (nodes,)
    all_nodes: IntArray  # (nodes,), their numbers
    sharing: IntArray  # (nodes,), UNDECIDED, SHARED or EXCLUSIVE
    forced: BoolArray  # (nodes,), whether that goes before what a job says
    usable: BoolArray  # (masks, nodes), whether a chunk may be there
    reservation_nodes: BoolArray  # (entries, nodes)
    reservation_times: IntArray  # (occurrences, 5), in the order of their begins, see BEGINS
    reservation_entry: IntArray  # (occurrences,), place in reservation_nodes
    reservation_group: IntArray  # (occurrences,), the same for all occurrences of a standing reservation
    reservation_first: IntArray  # (1,), the first occurrence that is not over for good
    windows: IntArray  # (rows, 3), begin and end of hours in which jobs of a queue start, and when they have to be over
    window_first: IntArray  # (queues + 1,), the rows of each queue, in order; a queue without any is always open
    window_next: IntArray  # (queues,), the first row of each queue that is not over


class Asks(NamedTuple):
    """Different requests. Those of ask a are the rows first[a] to first[a + 1] of count, mask and amounts."""

    first: IntArray  # (asks + 1,)
    count: IntArray  # type: ignore[assignment]  # (rows,), equal chunks
    mask: IntArray  # (rows,), place in PbsSite.usable
    amounts: IntArray  # (rows, resources), of one chunk
    total: IntArray  # (asks, resources)
    chunks: IntArray  # (asks,)
    arrangement: IntArray  # (asks,), FREE, PACK, SCATTER or VSCATTER
    exclusive: IntArray  # (asks,), UNDECIDED, SHARED or EXCLUSIVE
    reservation: IntArray  # (asks,), a group of occurrences, UNSET for none


class QueuedJobs(NamedTuple):
    """One value a job, (jobs,) where nothing else is said."""

    submit: IntArray  # NEVER_SUBMITTED for a job that follows another, until that one has left
    wall: IntArray  # what PBS plans by, s
    limit: IntArray  # what it plans a job by that has outlived this, s
    walltime: IntArray  # what the job asked for, s, 0 for nothing
    ask: IntArray
    queue: IntArray
    level: IntArray  # lower ones come first. 0 for jobs of reservations, then those of preempt_prio and soft limits
    turn: IntArray  # place of its queue, 0 where all are one
    static: IntArray  # place in the order of sort keys, 0 first, the same for jobs of the same keys
    number: IntArray  # grows in the order of submissions
    express: BoolArray  # jobs of express queues
    procs: IntArray
    entity: IntArray  # place among the entities of fair share
    rate: FloatArray  # what it adds to usage in a second
    priorities: IntArray  # (jobs, 2), of its queue and its own
    array: IntArray  # UNSET for none
    array_limit: IntArray  # 0 for none
    held: BoolArray
    first_dependency: IntArray  # (jobs + 1,)
    dependency: IntArray  # (rows, 2)


class NodeLoad(NamedTuple):
    """What is left at a moment. jobs: on each node, with WHOLE_VNODE for one that has it for itself."""

    free: IntArray  # (nodes, resources)
    jobs: IntArray  # (nodes,)
    total: IntArray  # (resources,)


class PbsRunning(NamedTuple):
    """Those of job j are the rows first[j] to first[j] + count[j] of node and chunk."""

    length: IntArray  # (1,), how many run
    job: IntArray  # (jobs,), the first `length` run, in the order of their ends by walltime
    start: IntArray  # (jobs,), UNSET until it starts
    end: IntArray  # (jobs,), by walltime
    first: IntArray  # (jobs + 1,)
    count: IntArray  # type: ignore[assignment]  # (jobs,)
    node: NDArray[np.int32]  # (rows,)
    chunk: NDArray[np.int32]  # (rows,), row of Asks
    of_array: IntArray  # (arrays,), tasks that run


class TopJobs(NamedTuple):
    """Plans of a pass. free, jobs: what is left when the plan begins, itself counted in, as in NodeLoad."""

    length: IntArray  # (1,)
    job: IntArray  # (most,)
    start: IntArray  # (most,)
    end: IntArray  # (most,)
    count: IntArray  # type: ignore[assignment]  # (most,), rows of node and chunk
    node: NDArray[np.int32]  # (most, rows)
    chunk: NDArray[np.int32]  # (most, rows)
    free: IntArray  # (most, nodes, resources)
    jobs: IntArray  # (most, nodes)
    used: IntArray  # (most, slots), of RunLimits
    left: IntArray  # (queues + 1,), further plans, of queues with a depth of their own and, last, of all others
    depth: IntArray  # (queues + 1,), -1 for a queue without


class RunLimits(NamedTuple):
    """Limits as slots: a bound for one owner, such as jobs of one user in one queue. Those of job j are the entries first[j] to
    first[j + 1] of slot and amount."""

    first: IntArray  # (jobs + 1,)
    slot: IntArray  # (entries,)
    amount: IntArray  # (entries,), what the job adds
    bound: IntArray  # (slots,)
    used: IntArray  # (slots,)
    trial: IntArray  # (slots,), to compute in
    kind: IntArray  # (slots,), OVER_SERVER or OVER_QUEUE, by whose limit it is


class Victims(NamedTuple):
    """Jobs that were preempted in a pass. They wait again."""

    length: IntArray  # (1,)
    job: IntArray  # (jobs,), the first `length`
    queued: IntArray  # (1,), how many of them have joined the queue
    ran: IntArray  # (jobs,), seconds of its run time that each victim has behind it


class PbsShareTree(NamedTuple):
    """The tree of fair share. path: of each entity from the top, UNSET below its own place."""

    path: IntArray  # (entities, floors)
    share: FloatArray  # (places,)
    usage: FloatArray  # (places,)
    counted: IntArray  # (jobs,), second up to which a running job's usage is counted
    added: IntArray  # (jobs,), jobs that count as a whole in this pass
    clock: IntArray  # (2,), the next decay, and how many of `added` there are


class PbsScratch(NamedTuple):
    """Room to compute in."""

    trial: NodeLoad
    node: NDArray[np.int32]  # (chunks,), nodes that were chosen
    chunk: NDArray[np.int32]  # (chunks,)
    taken: IntArray  # (nodes, resources), what the job itself has taken
    taken_for: IntArray  # (nodes,), the search in which it did
    host_taken: IntArray  # (hosts,), the search in which a chunk went to the host
    search: IntArray  # (3,), number of the search, number of the pass, and its second
    failed_in: IntArray  # (asks,), the pass in which a job of the ask did not fit
    failed_wall: IntArray  # (asks,), the shortest such job
    array_failed: IntArray  # (arrays,), the pass in which a task did not start
    slots: FloatArray  # (formula's slots,)
    stack: FloatArray  # (formula's stack,)


class PbsQueue(NamedTuple):
    """The queue. pending: (jobs,), the first `length` wait, in order."""

    length: IntArray  # (1,)
    pending: IntArray  # (jobs,)
    score: FloatArray  # (jobs,), of the formula, 0 where there is none
    since: IntArray  # (jobs,), from when eligible time counts, UNSET while it does not
    eligible: IntArray  # (jobs,), eligible time until then
    preempted: IntArray  # (jobs,), when others took its nodes, UNSET for one that does not wait for this
    suspended: BoolArray  # (jobs,), waits on its nodes
    hopeless: BoolArray  # (jobs,), does not fit on an idle site


class Formulas(NamedTuple):
    """The program of job_sort_formula. ops: (0, 2) for none."""

    ops: IntArray
    constants: FloatArray
    uses_usage: IntArray  # (1,), 1 where the formula has usage in it


class PbsEngine(NamedTuple):
    """All of it."""

    site: PbsSite
    asks: Asks
    jobs: QueuedJobs
    settings: CycleSettings
    load: NodeLoad
    running: PbsRunning
    tops: TopJobs
    limits: RunLimits
    shares: PbsShareTree
    soft: RunLimits  # soft limits, empty where preempt_prio has none
    masks: IntArray  # (levels,), of preemption_levels
    scratch: PbsScratch
    victims: Victims
    waiting: PbsQueue
    formula: Formulas


# --- replay


KEPT_S = 30
"""Seconds for which nodes stay with a reservation that ended with a job in it."""
AFTER_ENDS = 1 << 61
"""More than any number of a job: added to it, it is the turn of its submission."""
NEXT_SUBMIT, ENDING, LAST_PASS, HELD, NOW, STAGE, IS_QUIET, STOPS, CAME = range(9)
"""Places in `PbsReplay.clock`: the next job to come, how many run, when the last pass was, and how many jobs are not eligible yet. NOW is
the second of the last events, STAGE what comes next in it, IS_QUIET whether it has had no pass. CAME: how many jobs have come.
STOPS: whether the loop stops before one."""
SECOND_OVER, EVENTS, RELEASES, IDLE = range(4)
"""Stages of a second: what comes next in it. SECOND_OVER is none."""
ALL_DONE, WANT_PLANNED = range(2)
"""Why the loop stops."""
STILL_RUNS = UNSET - 1
"""In `PbsReplay.finished`."""


class PbsReplay(NamedTuple):
    """What a replay needs beside the engine."""

    engine: PbsEngine
    begin: IntArray  # (jobs,), the earliest start that the job asks for, UNSET for none later than its submission in the log
    arrival: IntArray  # (jobs,), when the job could start as far as it is for the job to say
    order: IntArray  # (jobs,), those that have come, and from NEXT_SUBMIT on those that are known to come, by arrival
    chain: Chain  # the jobs that follow others
    giving: GivingUp  # who leaves without a start
    runtime: IntArray  # (jobs,)
    submit_turn: (
        IntArray  # (jobs,), which of the submissions and ends of one second come first, and which have one pass
    )
    end_turn: IntArray  # (jobs,), UNSET as submit_turn where it is by the number of a job that has not been submitted
    late: IntArray  # (jobs,), seconds between the pass that starts a job and the stamp of its start
    ending: IntArray  # (jobs,), running jobs by their true ends, the next one last
    finished: IntArray  # (jobs,), when it ended, UNSET before
    first_start: IntArray  # (jobs,), of a job that was preempted its first one
    preempted: IntArray  # (jobs,), how often
    ran_before: IntArray  # (jobs,), seconds that a job which was preempted had run by then
    held: IntArray  # (jobs,), jobs that are not eligible yet
    reservation_state: (
        IntArray  # (reservations,), how often it has changed: it is announced, begins, ends, and frees its nodes
    )
    reservation_due: IntArray  # (reservations,), when this changes
    clock: IntArray  # (9,)
