"""Runs under the PBS of a described cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.replaying.own.ahead import Ahead
from assets.replaying.own.dependencies import behind, with_dependencies
from assets.replaying.own.pbs.ahead import pbs_warm_start_of
from assets.replaying.own.pbs.requests import pbs_jobs_of_rows
from assets.replaying.own.way import OwnRuns, number_of_own_runs
from models.runtime.estimates import REQUESTED, Estimates
from models.runtime.live_on_cluster import LiveOnCluster
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.requests import PbsJob
from simulator.pbs.settings import PbsPhases, cycle_settings, unmodelled_formula
from simulator.policies.closed import looks_at_submissions
from simulator.policies.registry import Policy
from simulator.replayer import Outcome
from traces.cluster.description import ClusterDescription, Setting

NODE_POLL_S = 10


@dataclass(frozen=True)
class PbsRuns(OwnRuns):
    """Runs that differ in what no log tells: when PBS polls nodes and lets usage decay, which of the events of one second comes first, and
    run times by a second. policy: in place of PBS's order, None for that. plans_by_estimate: whether estimates are the jobs' soft
    walltimes, by which PBS plans and which end none."""

    replayer: PbsReplayer
    policy: Policy | None
    plans_by_estimate: bool = False
    honours: ClassVar[frozenset[str]] = OwnRuns.honours | {"warm-start", "estimates live"}

    def run(self, jobs: Jobs, cluster: Cluster, number: int) -> Outcome:
        """One of the runs. Raises as PbsReplayer.replay."""
        replayer = self.replayer
        if self.plans_by_estimate:
            replayer = replace(replayer, asked=_planned_by(replayer.asked, jobs.estimate))
            if replayer.warm is not None:
                of_running = _planned_by(replayer.warm.asked, cluster.running.estimate)
                replayer = replace(replayer, warm=replace(replayer.warm, asked=of_running))
        if self.policy is not None:
            assert self.policy.fixed is not None
            score = self.policy.fixed(jobs, cluster.procs)
            if jobs.is_closed and looks_at_submissions(self.policy, jobs, cluster.procs):
                score = _of_submissions(self.policy, score, jobs)
            replayer = _by_order(replayer, score)
        if number == 0:
            return replayer.replay(jobs, cluster)
        drawn = np.random.default_rng(number)
        count, every, settings = (
            len(jobs.submit),
            len(jobs.submit) + len(cluster.running),
            cycle_settings(replayer.description.scheduler),
        )
        phases = replace(
            replayer.phases,
            poll_s=int(drawn.integers(NODE_POLL_S)),
            decay_s=int(drawn.integers(settings.decay_time)) + 1,
        )
        turns = drawn.permutation(2 * every)
        runtime = np.maximum(jobs.runtime + drawn.integers(-1, 2, count), np.minimum(jobs.runtime, 1))
        jobs = replace(jobs, runtime=runtime, limit=np.maximum(jobs.limit, runtime))
        return replace(replayer, phases=phases, turns=(turns[:every], turns[every:])).replay(jobs, cluster)


def _planned_by(asked: Sequence[PbsJob], seconds: NDArray[np.int64]) -> list[PbsJob]:
    """The jobs with other soft walltimes."""
    return [replace(one, soft_walltime_s=soft) for one, soft in zip(asked, seconds.tolist(), strict=True)]


def _of_submissions(policy: Policy, score: NDArray[Any], jobs: Jobs) -> NDArray[np.float64]:
    """Scores of jobs that follow others: equal ones for the order of submission, in which PBS takes equal jobs. Raises ValueError for
    another order that looks at submissions, which are not known yet."""
    if not (np.ptp(score - jobs.submit) == 0):
        raise ValueError(
            f"pbs:{policy.name}: this order looks at submissions, which the schedule decides where users keep their pace: leave users = "
            "'keep pace' out, or choose another order"
        )
    return np.zeros(len(jobs))


def _by_order(replayer: PbsReplayer, score: NDArray[np.int64] | NDArray[np.float64]) -> PbsReplayer:
    """The replayer with jobs whose own priorities put the lowest score first, in place of formula, fair share and sort keys. score:
    (jobs,)."""
    priority = -np.unique(score, return_inverse=True)[1]  # of equal jobs the one that was submitted first goes first
    asked = [replace(one, priority=rank) for one, rank in zip(replayer.asked, priority.tolist(), strict=True)]
    changes: dict[str, Setting] = {"job_sort_formula": "", "fair_share": False, "job_sort_key": "job_priority HIGH"}
    return replace(replayer, asked=asked, description=with_settings(replayer.description, changes))


def with_settings(cluster: ClusterDescription, changes: Mapping[str, Setting]) -> ClusterDescription:
    """The cluster with other values of its scheduler's settings."""
    scheduler = cluster.scheduler
    return replace(cluster, scheduler=replace(scheduler, values=dict(scheduler.values) | dict(changes)))


def pbs_runs(
    cluster: ClusterDescription,
    rows: pl.DataFrame,
    zero_s: int,
    policy: Policy | None,
    estimates: Estimates = REQUESTED,
    ahead: Ahead | None = None,
) -> PbsRuns:
    """The runs of some rows of a trace. zero_s: UTC second of the log's second 0. policy: as PbsRuns has it. estimates:
    what PBS plans by. Live ones go with its own order and an idle cluster. A formula that a replay cannot follow is left out. ahead: for
    a warm start the jobs before the rows.

    Raises ValueError for jobs that the cluster cannot have had."""
    asked, left_out = pbs_jobs_of_rows(rows, cluster)
    if unmodelled_formula(cluster.scheduler):
        cluster = with_settings(cluster, {"job_sort_formula": ""})
    warm = None
    if ahead is not None:
        earlier = ahead.started.height
        every = pl.concat([ahead.started, rows]).with_columns(dependency=None)
        together, _ = pbs_jobs_of_rows(every, cluster)  # tasks of an array may wait and run
        warm = pbs_warm_start_of(ahead, together[:earlier], cluster)
        asked = behind(with_dependencies(together[earlier:], rows), len(warm.asked))
    replayer = PbsReplayer(cluster, asked, PbsPhases(minute_s=zero_s), warm=warm)
    if estimates.is_live:
        replayer = replace(replayer, drive=LiveOnCluster(rows, estimates.detail))
    plans_by_estimate = estimates != REQUESTED and not estimates.is_live
    return PbsRuns(number_of_own_runs(rows.height), left_out, replayer, policy, plans_by_estimate)
