"""What a schedule does to the scored jobs of a replay: a panel of measures, since no single number is safe.

A replay begins with the first job of the log, and the jobs after a cut are scored. Jobs near the end of the log see no later
arrivals; that is the same for every policy, and nothing is cut off there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
    free while jobs waited that ask for as much, between the first and the last submission of a scored job.
    """

    bounded_slowdown: float
    wait_s: float
    p95_wait_s: float
    p99_wait_s: float
    max_wait_s: float
    area_wait_s: float
    wide_wait_s: float | None
    lost_capacity: float


def panel_of_metrics(measured: Mapping[str, float], wide_wait_s: float | None) -> Panel:
    """The panel of metrics by name (simulator.metrics.metrics.METRICS), and the mean wait of wide jobs, which is none of them."""
    return Panel(
        bounded_slowdown=measured["average_bounded_slowdown"],
        wait_s=measured["average_wait_s"],
        p95_wait_s=measured["p95_wait_s"],
        p99_wait_s=measured["p99_wait_s"],
        max_wait_s=measured["max_wait_s"],
        area_wait_s=measured["area_weighted_wait_s"],
        wide_wait_s=wide_wait_s,
        lost_capacity=measured["loss_of_capacity"],
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
        measured = self.metrics
        wide = self.scored & self.schedule.started & wide_jobs(self.jobs, wide_of or Cluster.of(self.cluster).procs)
        wide_wait_s = float((self.schedule.start - self.jobs.submit)[wide].mean()) if wide.any() else None
        return panel_of_metrics(measured, wide_wait_s)
