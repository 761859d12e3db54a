"""Replays under limits and hours that logs show: `python -m studies limited`.

Three logs of schedulers that held jobs back. HPC2N: one user did half of the waiting, beside idle processors. KTH-SP2: long jobs did not
start by day. IU Mason: the peak of running jobs of each user settles at ten. Every replay is FCFS with EASY from an empty cluster and
requested times. The later half of the jobs is compared with the log.
"""

from __future__ import annotations

import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tracehouse
from assets.common.trace import Trace
from assets.replaying.limits.way import replayer_under
from assets.replaying.running.settings import LIMIT_LABELS
from papers.archive import SHARED
from papers.markdown import markdown
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.replayer import Replayer
from studies.slurm.micro_cluster import rank_correlation, share_alike
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription, Gate, Node

HOUR_S = 3600
OUTSTANDING_H = 1250
"""Outstanding processor-hours of a user of HPC2N."""
RUNNING_JOBS = 10
"""Running jobs of a user of IU Mason."""
LONG_H, FROM_H, TO_H = 4, 7, 18
"""A job of KTH-SP2 that asks for more does not start in these hours of Monday to Friday."""
REPEATED = 7
"""Replays that are timed."""
MASON = "clusters/iu-mason/mason-2017-10-11.tar.gz"
HEADING = ("log", "rule", "mean wait, h", "p95, h", "rank", "alike", "mean absolute error, h")


@dataclass(frozen=True)
class RuledLog:
    """file: below the folder of logs. procs: of the cluster. rule: in words. limits, gates: what holds its jobs back."""

    name: str
    file: str
    procs: int
    rule: str
    limits: tuple[Limit, ...] = ()
    gates: tuple[Gate, ...] = ()

    def cluster(self, is_ruled: bool) -> ClusterDescription:
        """The cluster, with or without its rule."""
        limits, gates = (self.limits, self.gates) if is_ruled else ((), ())
        return ClusterDescription(self.name, (Node("all", self.procs),), limits=limits, gates=gates)


def limit_of_user(counts: str, resource: str, bound: int) -> tuple[Limit, ...]:
    """One limit for each user."""
    return (Limit("cluster", "", counts, "user", resource, bound),)


RULED_LOGS = (
    RuledLog(
        "HPC2N",
        "swf/HPC2N-2002-2.2-cln.swf.gz",
        240,
        f"{OUTSTANDING_H:,} outstanding processor-hours a user",
        limit_of_user("outstanding", "cpu", OUTSTANDING_H * HOUR_S),
    ),
    RuledLog(
        "KTH-SP2",
        "swf/KTH-SP2-1996-2.1-cln.swf.gz",
        100,
        f"no job over {LONG_H} h starts from {FROM_H} to {TO_H} h on working days",
        gates=(Gate((0, 1, 2, 3, 4), FROM_H * 60, TO_H * 60, LONG_H * HOUR_S, timezone="Europe/Stockholm"),),
    ),
    RuledLog(
        "IU Mason", MASON, 576, f"{RUNNING_JOBS} running jobs a user", limit_of_user("running", "jobs", RUNNING_JOBS)
    ),
)


def trace_of(log: RuledLog, folder: Path) -> Trace:
    """The trace of a log. folder: for one that has to be unpacked."""
    path = SHARED.parent / log.file
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
        path = next(each for each in folder.iterdir() if each.is_dir())
    return tracehouse.load_log(path, procs=log.procs, drop_wider=True).trace(labels=LIMIT_LABELS)


def waits_under(trace: Trace, cluster: ClusterDescription, wakes: bool = True) -> NDArray[np.int64]:
    """Wait of each job under FCFS with EASY, seconds. wakes: as simulator.limits.replaying.LimitedReplayer."""
    replayer = replayer_under(cluster, trace, trace.rows, OrderReplayer(), wakes)
    jobs = trace.jobs()
    return replayer.replay(jobs, Cluster(cluster.num_cpus)).schedule.start - jobs.submit


def rows_of(log: RuledLog, trace: Trace) -> Iterator[list[str]]:
    """The rows of a log: what users waited, and the replays."""
    logged = (trace.rows["start_s"] - trace.rows["submit_s"]).to_numpy()
    half = slice(len(logged) // 2, None)
    real = logged[half]
    yield [log.name, "*the log*", *_figures(real), "", "", ""]
    replays = [("none", waits_under(trace, log.cluster(False))), (log.rule, waits_under(trace, log.cluster(True)))]
    if any(limit.counts == "outstanding" for limit in log.limits):
        late = waits_under(trace, log.cluster(True), wakes=False)
        replays.append(("the same, looked at only when a job comes or goes", late))
    for rule, waits in replays:
        ours = waits[half]
        error_h = np.abs(ours - real).mean() / HOUR_S
        compared = [f"{rank_correlation(ours, real):.2f}", f"{share_alike(ours, real):.2f}", f"{error_h:.1f}"]
        yield [log.name, rule, *_figures(ours), *compared]


def _figures(waits: NDArray[np.int64]) -> list[str]:
    return [f"{waits.mean() / HOUR_S:.1f}", f"{np.percentile(waits, 95) / HOUR_S:.1f}"]


def speed_row(log: RuledLog, trace: Trace) -> list[str]:
    """Jobs that a CPU-second replays, in thousands: without the limits' loop, in it without a rule, and with the rule."""
    jobs, cluster = trace.jobs(), Cluster(log.procs)
    replayers: list[Replayer] = [OrderReplayer()]
    replayers += [replayer_under(log.cluster(ruled), trace, trace.rows, OrderReplayer()) for ruled in (False, True)]
    speeds = [len(jobs) / _least_s(each, jobs, cluster) / 1000 for each in replayers]
    return [log.name, f"{len(jobs):,}", *(f"{speed:,.0f}" for speed in speeds)]


def _least_s(replayer: Replayer, jobs: Jobs, cluster: Cluster) -> float:
    """CPU time of the fastest of some replays. The first one compiles."""
    times = []
    for _ in range(REPEATED):
        begin = time.process_time()
        replayer.replay(jobs, cluster)
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    """Prints the tables."""
    lines, speeds = [], []
    with tempfile.TemporaryDirectory() as folder:
        for log in RULED_LOGS:
            trace = trace_of(log, Path(folder))
            lines += rows_of(log, trace)
            speeds.append(speed_row(log, trace))
    print(markdown(list(HEADING), lines))
    print("\nspeed\n")
    print(markdown(["log", "jobs", "thousand jobs a CPU-second", "in the loop of limits", "with the rule"], speeds))


if __name__ == "__main__":
    main()
