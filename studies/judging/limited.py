"""Replays under limits and hours that logs show: `python -m studies limited`.

Three logs of schedulers that held jobs back. HPC2N: one user did half of the waiting, beside idle processors. KTH-SP2: long jobs did not
start by day. IU Mason: the peak of running jobs of each user settles at ten. Every replay is FCFS with EASY from an empty cluster and
requested times. The later half of the jobs is compared with the log.
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tracehouse
from assets.common.trace import Trace
from assets.replay.limits.way import replayer_under
from assets.replay.settings import LIMIT_LABELS
from papers.archive import SHARED
from papers.markdown import markdown
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from studies.slurm.micro_cluster import rank_correlation, share_alike
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Node
from traces.cluster.reservations import Gate

HOUR_S = 3600
OUTSTANDING_H = 1250
"""Outstanding processor-hours of a user of HPC2N."""
RUNNING_JOBS = 10
"""Running jobs of a user of IU Mason."""
LONG_H, FROM_H, TO_H = 4, 7, 18
"""A job of KTH-SP2 that asks for more does not start in these hours of Monday to Friday."""
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


def main() -> None:
    """Prints the table."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for log in RULED_LOGS:
            lines += rows_of(log, trace_of(log, Path(folder)))
    print(markdown(HEADING, lines))


if __name__ == "__main__":
    main()
