"""What `tracehouse tune` finds: `python -m studies tuned [PART]`.

real: a week of UB-HPC under its own Slurm, and IU Mason with a limit of ten running jobs a user. planted: made-up clusters with one bad
setting each, of which the better one is known. Without PART all. Every replay is stored, so that a killed study goes on where it was.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from assets.common.progress import warn
from assets.replay.changes.configuration import NothingChanges, edited_cluster
from assets.replay.limits.way import replayer_under
from assets.replay.own.slurm.way import phases_of_run
from assets.replay.own.way import RUNS
from assets.replay.run import engine_version
from assets.replay.tuning.guards import AgainstBase, Guards, ScoredRuns, against_base
from assets.replay.tuning.knobs import Knob
from assets.replay.tuning.tunable import Edits, StoredReplays, Tunable, classes_of, tuning_folder
from assets.replay.tuning.tuned import TunedSettings, tuned_settings
from assets.replay.tuning.usual_knobs import usual_knobs
from studies.slurm.decisions import SHARED
from papers.markdown import markdown
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request, request_arrays
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.slurm.replaying import SlurmReplayer
from studies.judging.limited import RULED_LOGS, trace_of
from studies.planted.clusters import QOS
from studies.planted.workloads import CORES, Workload, planted_workload
from studies.slurm.hpc_week import hpc_week
from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.differing import changed_values
from traces.cluster.nodes import Node, Partition

SEEDS = range(10)
SEARCHED = 60
"""Candidates of each search."""
ENOUGH = 0.9
"""Of the gain of the better setting that is known, so much has to be reached."""


def tunable_cluster(
    name: str,
    cluster: ClusterDescription,
    jobs: Jobs,
    rows: pl.DataFrame,
    starts: Callable[[ClusterDescription, int, int], Schedule],
    runs: int,
) -> Tunable:
    """A described cluster as a search replays it. rows: with queue and qos. starts: of a cluster, a run's number and so many first jobs."""

    def edited(edits: Edits) -> ClusterDescription:
        try:
            return edited_cluster(cluster, edits)
        except NothingChanges:
            return cluster

    return Tunable(
        name,
        jobs,
        cluster.num_cpus,
        classes_of(rows, jobs.user, jobs.procs, cluster.num_cpus),
        lambda edits, run, count: starts(edited(edits), run, count),
        lambda edits: tuple(map(str, changed_values(cluster, edited(edits)))),
        runs,
        repr((name, cluster, engine_version())),
    )


def under_slurm(
    name: str, cluster: ClusterDescription, asked: Sequence[Request], runtime: np.ndarray, runs: int = RUNS
) -> Tunable:
    """Requests and run times under the Slurm of a cluster."""
    procs = np.array([max(one.cpus, one.tasks * one.cpus_per_task, one.min_nodes, 1) for one in asked])
    users = {user: number for number, user in enumerate(sorted({one.user for one in asked}))}
    user = np.array([users[one.user] for one in asked])
    arrays = cluster_arrays(cluster, {one.features for one in asked})
    columns = request_arrays(asked, cluster, arrays)
    jobs = Jobs(
        columns.submit, runtime, procs, np.maximum(columns.limit, 1), np.maximum(columns.limit, runtime), user=user
    )

    def starts(edited: ClusterDescription, run: int, count: int) -> Schedule:
        first = asked[:count]
        machine = cluster_arrays(edited, {one.features for one in asked})
        replayer = SlurmReplayer(edited, machine, request_arrays(first, edited, machine), phases_of_run(edited, run))
        return replayer.replay(jobs.window(0, count), Cluster(edited.num_cpus)).schedule

    rows = pl.DataFrame(
        {"queue": [",".join(one.partitions) or None for one in asked], "qos": [one.qos or None for one in asked]},
        schema={"queue": pl.Utf8, "qos": pl.Utf8},
    )
    return tunable_cluster(name, cluster, jobs, rows, starts, runs)


def ub_hpc_week() -> Tunable:
    """The week of UB-HPC as its centre had configured it."""
    cluster, asked, runtime = hpc_week(SHARED / "traces" / "clusters" / "ub-hpc-week", "")
    return under_slurm("UB-HPC", cluster, asked, runtime, 3)
