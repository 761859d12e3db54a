"""One way to replay: a `Replayer` takes jobs and a cluster and returns an `Outcome`.

Orders with backfilling (simulator/engine/replay.py), partitions, live estimates, waits for switches, choosing jobs and nodes together, the
rules of a published code, and an agent that decides all starts are replayers. What belongs to one replay, such as the policy or the
nodes, is given to the replayer when it is made. `honours` says which settings it has a rule for, as options without their dashes
(`RunSettings.parts` lists them): what it does not name is refused before anything is replayed.

A further scheduler takes one file with its replayer, and one entry in `WAYS` of assets/replaying/running/replayers.py, which says when the
settings ask for it, how it is made, and the words by which it refuses. A setting that is new is refused by all that do not name it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Placement, Schedule

BY_ORDER = frozenset({"policy", "backfill", "estimates", "reserve-by", "admit-by", "correction"})
"""What every replayer honours that follows an order and a backfilling rule."""


IntArray = NDArray[np.int64]


class JobNodes(NamedTuple):
    """Those of job j are the rows first[j] to first[j + 1] of node, places in the description of the cluster. A job that never started
    has none."""

    first: IntArray  # (jobs + 1,)
    node: IntArray  # (rows,)


def nodes_of_jobs(first: IntArray, count: IntArray, node: NDArray[np.integer]) -> JobNodes:
    """The nodes of jobs whose rows of `node` begin at `first` and are `count`, 0 for a job without nodes."""
    begin = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    rows = np.arange(begin[-1]) + np.repeat(first - begin[:-1], count)
    return JobNodes(begin, node[rows].astype(np.int64))


@dataclass(frozen=True)
class Outcome:
    """schedule: of all jobs. placement: their nodes below a tree, where the replayer gives them any. counts: what else happened, by name,
    such as the fate of underestimated jobs. others: further runs of a scheduler that is not deterministic. held: the nodes of a described
    cluster, None without one. submit: when each job was submitted, where some follow others; NEVER_SUBMITTED for one that follows a job
    which never left. None where all came at their own times. gave_up: whether each left the queue since its patience was over or the log
    has it as cancelled, bool (jobs,). None where all did that have a cancellation, were submitted and did not start."""

    schedule: Schedule
    placement: Placement | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    others: tuple[Schedule, ...] = ()
    held: JobNodes | None = None
    submit: IntArray | None = None
    gave_up: NDArray[np.bool_] | None = None


class Replayer(Protocol):
    """What decides all starts of a replay. honours: the settings that it has a rule for."""

    honours: ClassVar[frozenset[str]]

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Replays all jobs. Raises ValueError for what cannot be replayed, with the remedy."""


# --- how far a replay is

Watch = Callable[[str, Callable[[], int], int], AbstractContextManager[None]]
"""(what runs, what counts the jobs that have started, how many there are) -> what is open while the replay runs."""
WATCHED_JOBS = 2000
"""Fewer are replayed within seconds."""
_watches: list[Watch] = []


def watch_replays_by(watch: Watch) -> None:
    """From now on, `watch` is open around every replay of this process."""
    _watches[:] = [watch]


def watched(label: str, start: NDArray[np.int64]) -> AbstractContextManager[None]:
    """To be open around a call of compiled code, which holds no lock of Python's and so can be looked at. start: (jobs,), in which it
    writes when jobs start, below 0 until then."""
    if not _watches or len(start) < WATCHED_JOBS:
        return nullcontext()
    return _watches[0](label, lambda: int(np.count_nonzero(start >= 0)), len(start))
