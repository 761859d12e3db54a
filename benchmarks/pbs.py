"""How long replays under PBS take: `python -m benchmarks.pbs [--jobs N,N] [--vnodes N]`.

Three queues with priorities and limits, as in run P5 of the recorded ones, on 500 vnodes, and one with fair share beside it. CPU time of
the replay alone, without compiling, and the most resident memory of the process.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence

import click
import numpy as np
from numpy.typing import NDArray

from papers.markdown import markdown
from simulator.jobs.schedule import CANCELLED
from simulator.pbs.loop import run_pbs
from simulator.pbs.replaying import new_pbs_replay
from simulator.pbs.requests import PbsJob, Piece
from simulator.pbs.settings import PbsPhases
from traces.cluster.accounts import Account, AccountUser, Limit
from traces.cluster.description import ClusterDescription, Node, Partition, SchedulerSettings, Setting

VNODES, CORES, USERS, LOAD = 500, 16, 60, 0.85
PRIORITIES = {"high": 100, "normal": 50, "low": 10}
SHARES = {"high": 0.25, "normal": 0.55, "low": 0.20}
CHUNKS = {1: 0.30, 2: 0.26, 4: 0.12, 8: 0.24, 16: 0.08}
WALLTIMES_MIN = {10: 0.08, 15: 0.13, 20: 0.17, 30: 0.19, 45: 0.20, 60: 0.09, 90: 0.07, 120: 0.03, 240: 0.03, 300: 0.01}
"""Queues, sizes and walltimes of P5, where a second stands for a minute. Fewer jobs of the low queue, or they would never end."""
FAIR_SHARE: dict[str, Setting] = {
    "by_queue": False,
    "fair_share": True,
    "fairshare_usage_res": "ncpus*walltime",
    "fairshare_decay_time": "24:00:00",
}
KINDS: dict[str, dict[str, Setting]] = {"queues and limits": {}, "and fair share": FAIR_SHARE}
TITLES = ["rules", "vnodes", "jobs", "CPU-s", "jobs a CPU-second", "mean wait, min", "longest wait, h", "peak MiB"]


def described_pbs(vnodes: int, values: dict[str, Setting]) -> ClusterDescription:
    """P5's rules on so many vnodes: the bounds grow with them, and those of a user with a quarter of them, as there are more users."""
    times = vnodes / 32
    limits = (
        Limit("partition", "normal", "running", "user", "jobs", int(4 * times / 4)),
        Limit("partition", "low", "running", "all", "cpu", int(128 * times)),
        Limit("cluster", "", "running", "user", "cpu", int(256 * times / 4)),
    )
    return ClusterDescription(
        name="generated",
        nodes=tuple(Node(f"n{k:04}", CORES) for k in range(vnodes)),
        partitions=tuple(
            Partition(name, tier=priority, is_default=name == "normal") for name, priority in PRIORITIES.items()
        ),
        accounts=tuple(Account(f"a{k}", shares=1 + k % 7) for k in range(6)),
        members=tuple(AccountUser(f"u{k}", f"a{k % 6}") for k in range(USERS)),
        limits=limits,
        scheduler=SchedulerSettings("pbs", "23.06", {"strict_ordering": True, "backfill_depth": 1, **values}),
    )


def generated_jobs(count: int, vnodes: int, seed: int = 1) -> tuple[list[PbsJob], NDArray[np.int64]]:
    """Jobs of P5's kind under the load, and their run times in seconds."""
    random = np.random.default_rng(seed)
    queue = random.choice(list(SHARES), count, p=list(SHARES.values()))
    chunks = random.choice(list(CHUNKS), count, p=list(CHUNKS.values()))
    walltime = 60 * random.choice(list(WALLTIMES_MIN), count, p=list(WALLTIMES_MIN.values()))
    user = (USERS * random.random(count) ** 2).astype(np.int64)
    runtime = np.maximum(walltime * random.beta(1.2, 1.2, count), 5).astype(np.int64)
    span_s = float((runtime * chunks).sum()) / (LOAD * vnodes)
    hours = np.arange(int(span_s // 3600) + 2)
    rate = 1 + 0.5 * np.sin((hours % 24 - 8) / 24 * 2 * np.pi)
    submit = np.interp(np.sort(random.random(count)), np.cumsum(rate) / rate.sum(), hours * 3600.0).astype(np.int64)
    asked = [
        PbsJob(
            int(submit[k]),
            (Piece(int(chunks[k]), {"ncpus": CORES}),),
            int(walltime[k]),
            queue=str(queue[k]),
            user=f"u{user[k]}",
        )
        for k in range(count)
    ]
    return asked, runtime


def replayed_row(kind: str, count: int, vnodes: int) -> list[str]:
    """One row of the table."""
    asked, runtime = generated_jobs(count, vnodes)
    submit = np.array([job.submit_s for job in asked], dtype=np.int64)
    replay = new_pbs_replay(described_pbs(vnodes, KINDS[kind]), asked, (submit, runtime), PbsPhases())
    begin = time.process_time()
    run_pbs(replay)
    seconds = time.process_time() - begin
    started = replay.first_start > CANCELLED
    waits = replay.first_start[started] - submit[started]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        kind,
        f"{vnodes:,}",
        f"{count:,}",
        f"{seconds:.2f}",
        f"{count / seconds:,.0f}",
        f"{waits.mean() / 60:.1f}",
        f"{waits.max() / 3600:.1f}",
        f"{peak:.0f}",
    ]


def benchmark_rows(counts: Sequence[int], vnodes: int) -> list[list[str]]:
    """Rows for each kind and number of jobs."""
    return [replayed_row(kind, count, vnodes) for kind in KINDS for count in counts]


@click.command()
@click.option("--jobs", default="20000,100000", show_default=True, help="Jobs of each replay, with commas.")
@click.option("--vnodes", default=VNODES, show_default=True, help="Vnodes of the cluster.")
def main(jobs: str, vnodes: int) -> None:
    """Prints a row for each number of jobs."""
    benchmark_rows([100], vnodes)  # compiles
    print(markdown(TITLES, benchmark_rows([int(number) for number in jobs.split(",")], vnodes)))


if __name__ == "__main__":
    main()
