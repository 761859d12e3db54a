"""What `tracehouse tune` finds: `python -m studies tuned [PART]`.

mason: IU Mason with a limit of ten running jobs a user. ub_hpc: a week of UB-HPC under its own Slurm. planted: made-up clusters with one
bad setting each, of which the better one is known. Every replay is stored, so that a killed study goes on where it was.
"""

from __future__ import annotations

import hashlib
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from assets.common.progress import progress
from assets.common.storage import tuning_folder
from assets.replaying.configuring.configuration import NothingChanges, edited_cluster
from assets.replaying.limits.way import replayer_under
from assets.replaying.own.slurm.way import phases_of_run
from assets.replaying.running.run import engine_version
from assets.replaying.tuning.guards import AgainstBase, Guards, ScoredRuns, against_base
from assets.replaying.tuning.knobs import Knob
from assets.replaying.tuning.tunable import Edits, StoredReplays, Tunable, classes_of
from assets.replaying.tuning.tuned import TunedSettings, tuned_settings
from assets.replaying.tuning.usual_knobs import usual_knobs
from papers.markdown import markdown
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request, request_arrays
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.slurm.replaying import SlurmReplayer
from studies.judging.limited import RULED_LOGS, trace_of
from studies.planted.clusters import CORES, QOS, planted_workload
from studies.slurm.decisions import SHARED
from studies.slurm.hpc_week import hpc_week
from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import ClusterDescription, Node, Partition, SchedulerSettings
from traces.cluster.differing import changed_values

SEEDS = range(20, 30)
SEARCHED = 40
"""Candidates of each search."""
ENOUGH = 0.9
"""Of the gain of the better setting that is known, so much has to be reached, both as logarithms."""
PLANTED_JOBS, PLANTED_LIMIT, PLANTED_SPREAD = 2400, 2, 8
"""Jobs of a made-up cluster, how many of them a user may run at a time, and how many times as far apart they are submitted."""
BETTER = (f"qos.{QOS}.maxjobspu=8",)
"""The better setting that is known."""
RUNS_HERE = 3
COST = "cost"
"""The title of the table of what a replay takes."""
UB_SETTINGS = {
    "no QOS has a priority": tuple(
        f"qos.{name}.Priority=0" for name in ("supporters", "priority", "priority-supporters")
    )
}
"""What its makers have tried, too. Slurm divides by the largest priority, so that their 100 and 200 are the same."""
REAL_HEADING = ("log", "settings", "bounded slowdown", "mean wait", "broken guards", "verdict")
PLANTED_HEADING = ("seed", "better setting", "limit that was found", "lines", "gain", "verdict")


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
        hashlib.sha256(
            repr((name, cluster, engine_version())).encode()
            + jobs.submit.tobytes()
            + jobs.limit.tobytes()
            + jobs.runtime.tobytes()
        ).hexdigest(),
    )


def under_slurm(
    name: str, cluster: ClusterDescription, asked: Sequence[Request], runtime: np.ndarray, runs: int
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


def ub_hpc_week() -> tuple[Tunable, tuple[Knob, ...]]:
    """The week of UB-HPC as its centre had configured it, and what is searched."""
    cluster, asked, runtime = hpc_week(SHARED / "traces" / "clusters" / "ub-hpc-week", "")
    return under_slurm("UB-HPC", cluster, asked, runtime, RUNS_HERE), usual_knobs(cluster)


def iu_mason() -> tuple[Tunable, tuple[Knob, ...]]:
    """IU Mason with its limit of ten running jobs a user, and what is searched."""
    log = next(each for each in RULED_LOGS if each.name == "IU Mason")
    with tempfile.TemporaryDirectory() as folder:
        trace = trace_of(log, Path(folder))
    jobs, cluster = trace.jobs(), log.cluster(True)

    def starts(edited: ClusterDescription, run: int, count: int) -> Schedule:
        replayer = replayer_under(edited, trace, trace.rows[:count], OrderReplayer())
        return replayer.replay(jobs.window(0, count), Cluster(edited.num_cpus)).schedule

    return tunable_cluster(log.name, cluster, jobs, trace.rows, starts, 1), usual_knobs(cluster)


def planted_tunable(seed: int) -> tuple[Tunable, tuple[Knob, ...]]:
    """A made-up cluster of Slurm whose users may run too few jobs at a time, and what is searched."""
    workload = planted_workload(seed)
    rows, jobs = workload.rows[:PLANTED_JOBS], workload.jobs.window(0, PLANTED_JOBS)
    jobs = replace(jobs, submit=jobs.submit * PLANTED_SPREAD)  # there is room, so that the limit alone makes them wait
    members = rows.select("user_name", "account").unique(maintain_order=True)
    values = {"selecttype": "select/cons_tres", "prioritytype": "priority/multifactor", "priorityweightage": 1000}
    values |= {"priorityweightfairshare": 10_000, "bf_continue": True, "bf_window": 4320, "bf_interval": 60}
    cluster = ClusterDescription(
        "planted",
        tuple(Node(f"n{number:03}", CORES) for number in range(workload.procs // CORES)),
        partitions=(Partition("all", is_default=True),),
        accounts=tuple(Account(name) for name in rows["account"].unique().sort()),
        members=tuple(AccountUser(user, of, qos=(QOS,), default_qos=QOS) for user, of in members.iter_rows()),
        qualities=(ServiceQuality(QOS),),
        limits=(Limit("qos", QOS, "running", "user", "jobs", PLANTED_LIMIT),),
        scheduler=SchedulerSettings("slurm", "22.05", values),
    )
    asked = [
        Request(int(submit), limit_s=int(limit), tasks=int(procs), qos=QOS, account=account, user=user)
        for (user, account), submit, limit, procs in zip(
            rows.select("user_name", "account").iter_rows(), jobs.submit, jobs.limit, jobs.procs, strict=True
        )
    ]
    return under_slurm(f"planted-{seed}", cluster, asked, jobs.runtime, 2), usual_knobs(cluster)


def searched(tunable: Tunable, knobs: tuple[Knob, ...], seed: int = 1) -> tuple[StoredReplays, TunedSettings]:
    """The search, with its stored replays."""
    replays = StoredReplays(tunable, tuning_folder(f"study-{tunable.name}"))
    return replays, tuned_settings(replays, knobs, Guards(), SEARCHED, seed)


def on_later_half(replays: StoredReplays, edits: Edits, runs: int) -> AgainstBase:
    """Edits over the present settings on the later half of the jobs."""
    tunable, count = replays.tunable, len(replays.tunable.jobs)
    scored = np.arange(count) >= count // 2
    ours, base = (
        ScoredRuns(tunable, tuple(replays.schedule(each, run, count) for run in range(runs)), scored)
        for each in (edits, ())
    )
    return against_base(ours, base, Guards())


def planted_rows() -> Iterator[list[str]]:
    """A row for each seed, then how many reach the better setting that is known."""
    reached = 0
    for seed in progress(SEEDS, "planted clusters"):
        tunable, knobs = planted_tunable(seed)
        replays, tuned = searched(tunable, knobs, seed)
        better = on_later_half(replays, BETTER, tunable.runs)
        gain = 0.0 if tuned.later is None or tuned.later.jobs_lost else tuned.later.gain
        reached += gain <= ENOUGH * better.gain
        limit = next((each.rpartition("=")[2] for each in tuned.edits if "maxjobspu" in each), "")
        yield [str(seed), _percent(better.gain), limit, str(len(tuned.edits)), _percent(gain), tuned.verdict]
    yield ["all", "", "", "", f"{reached} of {len(SEEDS)} reach it", ""]


def real_rows(tunable: Tunable, knobs: tuple[Knob, ...], settings: Mapping[str, Edits]) -> Iterator[list[str]]:
    """What was searched on a log, random settings, and settings that are known."""
    replays, tuned = searched(tunable, knobs)
    for part, compared in (("first half", tuned.first), ("later half", tuned.later)):
        name = f"best on the first half, {part}"
        if compared is None:
            yield [tunable.name, name, "", "", "", tuned.verdict]
            break
        yield [tunable.name, name, *_figures(compared), tuned.verdict if part == "later half" else ""]
    if tuned.random is not None:
        spreads = [tuned.random.spread(each) for each in ("bounded_slowdown", "wait")]
        kept = f"{tuned.random.keep_guards:.0%} keep all"
        words = [" ".join((f"{middle:.2f}", f"({low:.2f} to {high:.2f})")) for low, middle, high in spreads]
        yield [tunable.name, "random settings, later half", *words, kept, f"{tuned.share_as_good:.0%} as good"]
    for name, edits in settings.items():
        yield [tunable.name, f"{name}, later half", *_figures(on_later_half(replays, edits, 1)), ""]
    for edit in tuned.edits:
        yield [tunable.name, f"`{edit}`", "", "", "", ""]


def _figures(compared: AgainstBase) -> list[str]:
    if compared.jobs_lost:
        return ["", "", f"{compared.jobs_lost} jobs never start"]
    ratios = [f"{compared.mean_of(name):.2f}" for name in ("bounded_slowdown", "wait")]
    return [*ratios, ", ".join(compared.broken[:2]) or "none"]


def _percent(gain: float) -> str:
    return f"{100 * math.expm1(gain):+.0f} %"


def cost_row(tunable: Tunable) -> list[str]:
    """CPU time of a replay of the first half and of the whole log."""
    seconds = []
    for count in (len(tunable.jobs) // 2, len(tunable.jobs)):
        began = time.process_time()
        tunable.replay((), 0, count)
        seconds.append(time.process_time() - began)
    return [tunable.name, f"{len(tunable.jobs):,}", *(f"{each:.2f}" for each in seconds)]


def main() -> None:
    """Prints the tables of all parts, or of those that are named."""
    parts = sys.argv[1:] or ["mason", "ub_hpc", "planted"]
    logs = {"mason": (iu_mason, {}), "ub_hpc": (ub_hpc_week, UB_SETTINGS)}
    if not (SHARED / "traces" / "clusters").exists() and set(parts) & set(logs):
        sys.exit(f"{SHARED / 'traces' / 'clusters'}: the logs are not there; name the folder with TRACEHOUSE_SHARED")
    for part in parts:
        if len(parts) > 1:
            print(f"\n{part}\n")
        if part == "planted":
            print(markdown(list(PLANTED_HEADING), list(planted_rows())))
            continue
        make, settings = logs[part]
        tunable, knobs = make()
        print(markdown(list(REAL_HEADING), list(real_rows(tunable, knobs, settings))))
        print(f"\n{COST}\n")
        print(
            markdown(["log", "jobs", "CPU-seconds of the first half", "of the whole log"], [cost_row(tunable)]),
            flush=True,
        )


if __name__ == "__main__":
    main()
