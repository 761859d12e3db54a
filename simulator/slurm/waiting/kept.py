"""What keeps waiting jobs, and what is counted of it along a log."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.requests import NOT_GIVEN, Requests
from simulator.jobs.waits import KeptCodes, kept_columns
from simulator.slurm.state import Limits
from simulator.slurm.waiting.ahead import EARLIER, FirstJobs, nobody_ahead
from simulator.slurm.waiting.missing import CORES

IntArray = NDArray[np.int64]
(
    DEPENDENCY,
    BEGIN_TIME,
    HELD,
    ARRAY_LIMIT,
    LIMIT,
    LICENCES,
    RESERVATION,
    NODES_AWAY,
    SHARED_NODES,
    CLOSED_HOURS,
    PACE,
    UNKNOWN,
) = range(12)
"""What keeps a job. Behind them are the resources of missing.py, and behind these the factors of ahead.py, by which jobs of higher priority
are ahead. PACE and UNKNOWN: nothing keeps the job, for a while, and longer than any scheduler takes."""
SLURM_CODES = KeptCodes(LIMIT, PACE, UNKNOWN)
FIRST_RESOURCE = UNKNOWN + 1
FIRST_FACTOR = FIRST_RESOURCE + CORES + 1
NUM_KEPT = FIRST_FACTOR + EARLIER + 1
BEHIND = -2
"""As what keeps a job: whoever has closed its partition is ahead, by a factor that is counted later (ahead.py)."""


class Chains(NamedTuple):
    """Jobs with the same slots of limits are one chain: what keeps them changes only when one of these does. The chains of slot s are the
    entries first[s] to first[s + 1] of `chain`.

    of_job: (jobs,), the chain. newest, older: the waiting jobs of a chain as a list, NOT_GIVEN at its end. number: of the look that has
    judged the chain's jobs. used, past, elapsed, bound: of the slots, when they were looked at last."""

    of_job: IntArray
    first: IntArray  # (slots + 1,)
    chain: IntArray
    newest: IntArray  # (chains,)
    older: IntArray  # (jobs,)
    number: IntArray  # (chains,)
    used: IntArray  # (slots,)
    past: NDArray[np.float64]  # (slots,)
    elapsed: IntArray  # (slots,)
    bound: IntArray  # (slots,)


class Waits(NamedTuple):
    """What kept each job, with the columns of simulator.jobs.waits. `other` may also be the job that has closed its nodes. `kept` is
    BEHIND of jobs that are behind whoever has closed their partition.

    before: what keeps a job before anybody looks for nodes, NOT_GIVEN for nothing. unheld: waiting rows of each partition, and behind them
    of each reservation, that nothing keeps so. left: room to count them down. looked: the number of the look that has seen the job among
    those that nodes were looked for. seen: how many these were, and which, at the last look and at this one. often: how many the next look
    judges whatever has changed, and which. room: CPUs and GPUs that are free in each partition and that nobody takes who fits and is ahead,
    -1 where nobody has asked. request: the same number for jobs that ask for the same. fits_on: of each, a node that was chosen last.
    blocker: of each partition, the job that has closed it. closer: of each node. gate_stops, gate_partition (NOT_GIVEN for all): which jobs
    each gate holds. gate_shut: above 0 in its hours."""

    seconds: IntArray  # (jobs, NUM_KEPT)
    kept: IntArray  # (jobs,)
    since: IntArray  # (jobs,)
    fits_since: IntArray  # (jobs,)
    other: IntArray  # (jobs, 2)
    longest: IntArray  # (jobs, 2)
    slot: IntArray  # (jobs,)
    before: IntArray  # (jobs,)
    unheld: IntArray  # (partitions + reservations,)
    left: IntArray  # (partitions + reservations,)
    looked: IntArray  # (jobs,)
    seen: IntArray  # (2, jobs + 1)
    often: IntArray  # (jobs + 1,)
    ahead: FirstJobs
    chains: Chains
    room: IntArray  # (partitions, 2)
    request: IntArray  # (jobs,)
    fits_on: IntArray  # (requests,)
    blocker: IntArray  # (partitions + reservations,)
    closer: IntArray  # (nodes,)
    gate_stops: NDArray[np.bool_]  # (gates, jobs)
    gate_partition: IntArray  # (gates,)
    gate_shut: IntArray  # (gates,)


def no_waits(jobs: Requests, limits: Limits, num_partitions: int, num_reservations: int, num_nodes: int) -> Waits:
    """Nobody waits, nothing is counted, and there are no gates."""
    num_jobs, places = len(jobs.submit), num_partitions + num_reservations
    request = _same_requests(jobs)
    return Waits(
        *kept_columns(num_jobs, NUM_KEPT),
        before=np.full(num_jobs, HELD, dtype=np.int64),
        unheld=np.zeros(places, dtype=np.int64),
        left=np.zeros(places, dtype=np.int64),
        looked=np.zeros(num_jobs, dtype=np.int64),
        seen=np.zeros((2, num_jobs + 1), dtype=np.int64),
        often=np.zeros(num_jobs + 1, dtype=np.int64),
        ahead=nobody_ahead(num_jobs, places),
        chains=chains_of(limits, num_jobs),
        room=np.zeros((num_partitions, 2), dtype=np.int64),
        request=request,
        fits_on=np.full(int(request.max(initial=-1)) + 1, NOT_GIVEN, dtype=np.int64),
        blocker=np.full(places, NOT_GIVEN, dtype=np.int64),
        closer=np.full(num_nodes, NOT_GIVEN, dtype=np.int64),
        gate_stops=np.zeros((0, num_jobs), dtype=np.bool_),
        gate_partition=np.zeros(0, dtype=np.int64),
        gate_shut=np.zeros(0, dtype=np.int64),
    )


def _same_requests(jobs: Requests) -> IntArray:
    """A number of each job, the same for those that ask for the same on the same nodes."""
    names = ("tasks", "cpus_per_task", "min_nodes", "max_nodes", "tasks_per_node", "memory", "memory_per", "gpus_per")
    columns = [getattr(jobs, name) for name in (*names, "exclusive", "features")]
    _, number = np.unique(np.stack([*columns, *jobs.gpus.T], axis=1), axis=0, return_inverse=True)
    return number.reshape(-1).astype(np.int64)


def chains_of(limits: Limits, num_jobs: int) -> Chains:
    """The jobs by their slots. Nobody waits."""
    slots = len(limits.bound)
    first, entries = limits.first.tolist(), np.stack([limits.slot, limits.checked], axis=1)
    number: dict[bytes, int] = {}
    of_job = [number.setdefault(entries[first[k] : first[k + 1]].tobytes(), len(number)) for k in range(num_jobs)]
    pairs = {(int(slot), chain) for text, chain in number.items() for slot in np.frombuffer(text, np.int64)[::2]}
    by_slot = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return Chains(
        of_job=np.array(of_job, dtype=np.int64),
        first=np.searchsorted(by_slot[:, 0], np.arange(slots + 1)).astype(np.int64),
        chain=by_slot[:, 1].copy(),
        newest=np.full(len(number), NOT_GIVEN, dtype=np.int64),
        older=np.full(num_jobs, NOT_GIVEN, dtype=np.int64),
        number=np.zeros(len(number), dtype=np.int64),
        used=np.zeros(slots, dtype=np.int64),
        past=np.zeros(slots),
        elapsed=np.zeros(slots, dtype=np.int64),
        bound=np.zeros(slots, dtype=np.int64),
    )
