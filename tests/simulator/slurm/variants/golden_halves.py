"""The second half of a recorded run, which begins on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request, request_arrays, some_requests
from simulator.jobs.cluster import Cluster, HeldNodes, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.slurm.replaying import SlurmReplayer
from simulator.slurm.variants.warm import RanBefore, WarmStart
from studies.slurm.free_runs import phases_of
from studies.slurm.golden_runs import GoldenJob, GoldenRun

IntArray = NDArray[np.int64]
NEVER = 1 << 60


@dataclass(frozen=True)
class SecondHalf:
    """Replays of the jobs that were submitted in the second half of a recorded run."""

    run: GoldenRun

    def __post_init__(self) -> None:
        jobs = sorted(self.run.jobs, key=lambda job: job.request.submit_s)
        begin = jobs[len(jobs) // 2].request.submit_s
        ran = [job for job in jobs if job.start_s is not None and job.start_s < begin]
        asked = [job for job in jobs if job.request.submit_s >= begin]
        waiting = [job for job in jobs if job.request.submit_s < begin and job not in ran and job.start_s is not None]
        self.__dict__.update(begin=begin, ran=ran, waiting=waiting, asked=asked)

    @property
    def real_start(self) -> IntArray:
        """Starts of the asked jobs in the recorded run, -1 for none."""
        return np.array([-1 if job.start_s is None else job.start_s for job in self.asked])

    def start(self, seed: int, warm: bool) -> IntArray:
        """Their starts in a replay."""
        replayed = [*self.waiting, *self.asked] if warm else self.asked
        running = [job for job in self.ran if ends(job) > self.begin] if warm else []
        arrays = cluster_arrays(self.run.cluster)
        requests = request_arrays(
            [without_dependencies(job) for job in [*self.ran, *replayed]], self.run.cluster, arrays
        )
        place = {id(job): k for k, job in enumerate(self.ran)}
        of_running = np.array([place[id(job)] for job in running], dtype=np.int64)
        own = some_requests(requests, np.arange(len(self.ran), len(requests.submit)))
        limit = np.maximum(own.limit, 1)
        runtime = np.array([runtime_of(job) for job in replayed])
        jobs = Jobs(own.submit, runtime, np.ones_like(runtime), limit, np.maximum(limit, runtime))
        warm_start = WarmStart(
            some_requests(requests, of_running),
            held(running, [node.name for node in self.run.cluster.nodes]),
            RanBefore(some_requests(requests, np.arange(len(self.ran))), *columns(self.ran)),
        )
        start, end, _ = columns(running)
        limit = np.maximum(requests.limit[of_running], end - start)
        ones = np.ones(len(running), dtype=np.int64)
        cluster = Cluster(
            self.run.cluster.num_cpus,
            RunningJobs(start, end - start, ones, limit, limit, 0 * ones),
            waiting=len(self.waiting) if warm else 0,
        )
        replayer = SlurmReplayer(
            self.run.cluster, arrays, own, phases_of(self.run, seed), warm=warm_start if warm else None
        )
        return replayer.replay(jobs, cluster).schedule.start[cluster.waiting :]


def ends(job: GoldenJob) -> int:
    """When a job ended in the recorded run."""
    assert job.start_s is not None
    return job.end_s if job.end_s is not None else job.start_s + (job.request.limit_s or 60)


def runtime_of(job: GoldenJob) -> int:
    """For how long it runs: for its limit where it never ended."""
    if job.start_s is None or job.end_s is None:
        return job.request.limit_s or 60
    return max(job.end_s - job.start_s, 0)


def columns(jobs: list[GoldenJob]) -> tuple[IntArray, IntArray, IntArray]:
    """Starts, ends and CPUs."""
    rows = [(job.start_s or 0, ends(job), job.cpus) for job in jobs]
    start, end, cpus = np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()
    return start, end, cpus


def without_dependencies(job: GoldenJob) -> Request:
    """What a job asked for. It may start from when it could in the recorded run."""
    return replace(job.request, dependencies=(), begin_s=job.eligible_s)


def held(running: list[GoldenJob], names: list[str]) -> HeldNodes:
    """The nodes of running jobs, with their CPUs evenly."""
    first, node, cpus = [0], [], []
    for job in running:
        places = sorted(names.index(name) for name in job.nodes)
        node += places
        cpus += [job.cpus // len(places) + (k < job.cpus % len(places)) for k in range(len(places))]
        first.append(len(node))
    return HeldNodes(*(np.array(column, dtype=np.int64) for column in (first, node, cpus)))
