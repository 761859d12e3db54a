"""What a schedule does to the scored jobs of a replay: a panel of measures, since no single number is safe.

A replay begins with the first job of the log, and the jobs after a cut are scored. Jobs near the end of the log see no later
arrivals; that is the same for every policy, and nothing is cut off there.

Who pays for a policy: how many jobs start much later, which users wait longer, and which class of jobs does worst.

A mean that falls hides those for whom it rises. Counts are of jobs that started in both replays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from models.judging.intervals import WAIT_OFFSET_S
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import metrics

WIDE_SHARE = 0.25
"""A job is wide if it needs more than this share of the cluster."""
SHIFTS = (0, 97, 211, 503, 1009, 2003, 4001, 8009)
"""A policy that learns from its own replay never comes back to the same schedule. It is judged by replays that leave out so many
of the first jobs."""


@dataclass(frozen=True)
class Panel:
    """Measures of the scored jobs that started; waits in seconds.

    bounded_slowdown, wait_s: means. p95_wait_s, p99_wait_s, max_wait_s: of single jobs. area_wait_s: mean wait weighted by run time times
    processors. wide_wait_s: mean wait of wide jobs, None where there is none. lost_capacity: share of the processor time that was
    free while jobs waited that ask for as much, between the first and the last submission of a scored job. procs: of the cluster, None
    where it is not known. Shares of clusters of different sizes are not compared: more nodes leave more of each free.
    """

    bounded_slowdown: float
    wait_s: float
    p95_wait_s: float
    p99_wait_s: float
    max_wait_s: float
    area_wait_s: float
    wide_wait_s: float | None
    lost_capacity: float
    procs: int | None = None


def panel_of_metrics(measured: Mapping[str, float], wide_wait_s: float | None, procs: int | None = None) -> Panel:
    """The panel of metrics by name (simulator.metrics.metrics.METRICS), and the mean wait of wide jobs, which is none of them. procs: as
    in Panel."""
    return Panel(
        bounded_slowdown=measured["average_bounded_slowdown"],
        wait_s=measured["average_wait_s"],
        p95_wait_s=measured["p95_wait_s"],
        p99_wait_s=measured["p99_wait_s"],
        max_wait_s=measured["max_wait_s"],
        area_wait_s=measured["area_weighted_wait_s"],
        wide_wait_s=wide_wait_s,
        lost_capacity=measured["loss_of_capacity"],
        procs=procs,
    )


def scored_after(jobs: int, cut: int) -> NDArray[np.bool_]:
    """The jobs from position `cut` on, bool (jobs,)."""
    return np.arange(jobs) >= cut


def wide_jobs(jobs: Jobs, cluster_procs: int) -> NDArray[np.bool_]:
    """Which jobs are wide, bool (jobs,)."""
    return jobs.procs > WIDE_SHARE * cluster_procs


def panel_of(
    jobs: Jobs, schedule: Schedule, cluster: int | Cluster, scored: NDArray[np.bool_], wide_of: int | None = None
) -> Panel:
    """The panel of a replay. scored: bool (jobs,). wide_of: processors of the cluster on which wide jobs are wide, where it is
    another one. Raises ValueError where no scored job started."""
    return Replayed(jobs, cluster, schedule, scored).panel(wide_of)


@dataclass(frozen=True)
class Replayed:
    """One whole replay and which of its jobs are scored. scored: bool (jobs,)."""

    jobs: Jobs
    cluster: int | Cluster
    schedule: Schedule
    scored: NDArray[np.bool_]

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Of the scored jobs, as simulator.metrics.metrics.metrics. Raises ValueError where none started."""
        return metrics(self.jobs, self.schedule, Cluster.of(self.cluster), measured=self.scored)

    def panel(self, wide_of: int | None = None) -> Panel:
        """As `panel_of`."""
        measured, procs = self.metrics, Cluster.of(self.cluster).procs
        wide = self.scored & self.schedule.started & wide_jobs(self.jobs, wide_of or procs)
        wide_wait_s = float((self.schedule.start - self.jobs.submit)[wide].mean()) if wide.any() else None
        return panel_of_metrics(measured, wide_wait_s, procs)


# --- payers


MUCH_LATER_S = 3600
"""A job pays, or gains, from here on."""
FEWEST_JOBS_OF_A_USER = 20
USERS_SHARE, USERS_LEAST_S = 0.10, 60.0
"""A user pays whose mean wait grows by more than both of these."""
FEWEST_JOBS_OF_A_CLASS = 50
SMALL_SHARE = 0.02
TIME_EDGES_S = (3600, 8 * 3600)
_SIZES = ("serial", "up to 2 % of the cluster", "2 to 25 % of the cluster", "over 25 % of the cluster")
_TIMES = ("under 1 h", "1 to 8 h", "over 8 h")


@dataclass(frozen=True)
class WhoPays:
    """later, earlier: shares of the jobs that start over MUCH_LATER_S later or earlier. users: those with enough jobs, of whom users_worse
    and users_better wait longer and less. worst_class: the jobs whose mean wait grows most, "" where no class has enough. worst_ratio: of
    their mean waits. worst_jobs: how many."""

    later: float
    earlier: float
    users: int
    users_worse: int
    users_better: int
    worst_class: str
    worst_ratio: float
    worst_jobs: int

    def __str__(self) -> str:
        parts = [f"{self.later:.1%} of the jobs start over an hour later, {self.earlier:.1%} earlier"]
        if self.users:
            parts.append(f"of {self.users} users {self.users_worse} wait longer, {self.users_better} less")
        if self.worst_class:
            parts.append(
                f"worst: {self.worst_class}, mean wait {self.worst_ratio:.2f} times ({self.worst_jobs:,} jobs)"
            )
        return "; ".join(parts)


def payers_between(ours: Replayed, incumbent: Replayed) -> WhoPays:
    """Who waits longer under ours than under the incumbent, of the scored jobs. Sizes are shares of the incumbent's cluster."""
    counted = ours.scored & ours.schedule.started & incumbent.schedule.started
    jobs = incumbent.jobs
    waits = np.stack([replayed.schedule.start - replayed.jobs.submit for replayed in (ours, incumbent)])[:, counted]
    return paid_by(
        waits, jobs.user[counted], jobs.procs[counted], jobs.runtime[counted], Cluster.of(incumbent.cluster).procs
    )


def paid_by(
    waits: NDArray[np.int64],
    users: NDArray[np.int64],
    procs: NDArray[np.int64],
    runtime: NDArray[np.int64],
    cluster_procs: int,
) -> WhoPays:
    """As `payers_between`. waits: of ours and of the incumbent, seconds, (2, jobs). users, procs, runtime: (jobs,)."""
    change = waits[0] - waits[1]
    worse, better, known_users = _users(waits, users)
    worst_class, worst_ratio, worst_jobs = _worst(waits, procs, runtime, cluster_procs)
    return WhoPays(
        later=float((change > MUCH_LATER_S).mean()),
        earlier=float((change < -MUCH_LATER_S).mean()),
        users=known_users,
        users_worse=worse,
        users_better=better,
        worst_class=worst_class,
        worst_ratio=worst_ratio,
        worst_jobs=worst_jobs,
    )


def _users(waits: NDArray[np.int64], users: NDArray[np.int64]) -> tuple[int, int, int]:
    _, who, counts = np.unique(users, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(who, wait) / counts for wait in waits])[:, counts >= FEWEST_JOBS_OF_A_USER]
    change = means[0] - means[1]
    matters = (np.abs(change) > USERS_LEAST_S) & (np.abs(change) > USERS_SHARE * means[1])
    return int((matters & (change > 0)).sum()), int((matters & (change < 0)).sum()), means.shape[1]


def _worst(
    waits: NDArray[np.int64], procs: NDArray[np.int64], runtime: NDArray[np.int64], cluster_procs: int
) -> tuple[str, float, int]:
    size = np.searchsorted((SMALL_SHARE * cluster_procs, WIDE_SHARE * cluster_procs), procs, side="left") + 1
    size[procs <= 1] = 0
    length = np.searchsorted(TIME_EDGES_S, runtime, side="right")
    worst = ("", 1.0, 0)
    for s, t in product(range(len(_SIZES)), range(len(_TIMES))):
        members = (size == s) & (length == t)
        count = int(members.sum())
        if count < FEWEST_JOBS_OF_A_CLASS:
            continue
        means = waits[:, members].mean(axis=1) + WAIT_OFFSET_S
        ratio = float(means[0] / means[1])
        if not worst[0] or ratio > worst[1]:
            worst = (f"{_SIZES[s]}, {_TIMES[t]}", ratio, count)
    return worst
