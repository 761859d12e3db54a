"""How long replays under Slurm take: `python -m benchmarks.slurm [--jobs N,N]`.

A generated cluster of 1,000 nodes under load 0.9: the first jobs of a year of 500,000, and all. CPU time of the replay alone, without
compiling, and the most resident memory of the process. A week of UB-HPC is a study: `python -m studies slurm_hpc_week`.
"""

from __future__ import annotations

import resource
import time

import click
import numpy as np
from numpy.typing import NDArray

from papers.markdown import markdown
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request, Requests, request_arrays
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.slurm.replaying import SlurmReplayer
from traces.cluster.accounts import Account, AccountUser
from traces.cluster.description import ClusterDescription, Node, Partition, SchedulerSettings

NODES, CORES, MEMORY_MIB = 1_000, 32, 128_000
ACCOUNTS, USERS = 40, 400
YEAR_S, YEAR_JOBS, LOAD = 365 * 86_400, 500_000, 0.9
KINDS = 2_000
"""Different requests: users ask for the same again and again."""
LIMITS_S = np.array([1, 2, 4, 8, 24, 48]) * 3600
TITLES = ["jobs", "CPU-s", "us a job", "mean wait, h", "longest wait, h", "peak MiB"]


def generated_cluster() -> ClusterDescription:
    """1,000 alike nodes, one partition, fair share between accounts."""
    values = {
        "selecttype": "select/cons_tres",
        "prioritytype": "priority/multifactor",
        "priorityweightage": 1000,
        "priorityweightfairshare": 10_000,
        "priorityweightjobsize": 1000,
        "bf_max_job_user": 20,
        "bf_continue": True,
        "bf_window": 2880,
    }
    return ClusterDescription(
        name="generated",
        scheduler=SchedulerSettings("slurm", "22.05", values),
        nodes=tuple(Node(f"n{k:04}", CORES, MEMORY_MIB) for k in range(NODES)),
        partitions=(Partition("all", tuple(f"n{k:04}" for k in range(NODES)), is_default=True),),
        accounts=tuple(Account(f"a{k}", shares=1 + k % 7) for k in range(ACCOUNTS)),
        members=tuple(AccountUser(f"u{k}", f"a{k % ACCOUNTS}") for k in range(USERS)),
    )


def generated_year(num_jobs: int, cluster: ClusterDescription, seed: int = 1) -> tuple[Requests, NDArray[np.int64]]:
    """Requests of the first jobs of a year, and run times in seconds. A third are on several whole nodes; work sums up to the load."""
    random = np.random.default_rng(seed)
    kinds = [_kind(random) for _ in range(KINDS)]
    columns = request_arrays(kinds, cluster, cluster_arrays(cluster))
    kind = (KINDS * random.random(YEAR_JOBS) ** 2).astype(np.int64)  # some are asked for often
    runtime = np.maximum(columns.limit[kind] * random.beta(0.8, 1.6, YEAR_JOBS), 10)
    cores = np.where(columns.exclusive[kind] > 0, columns.min_nodes[kind] * CORES, columns.tasks[kind])
    runtime *= LOAD * NODES * CORES * YEAR_S / float((runtime * cores).sum())
    hours = np.arange(365 * 24)
    rate = 1 + 0.6 * np.sin((hours % 24 - 8) / 24 * 2 * np.pi) * (hours // 24 % 7 < 5)
    submit = np.interp(np.sort(random.random(YEAR_JOBS)), np.cumsum(rate) / rate.sum(), hours * 3600.0)
    chosen = Requests(
        *(
            column if name.endswith("dependency") else column[kind[:num_jobs]]
            for name, column in columns._asdict().items()
        )
    )
    chosen = chosen._replace(
        submit=submit[:num_jobs].astype(np.int64),
        limit=np.maximum(chosen.limit, runtime[:num_jobs].astype(np.int64)),
        first_dependency=np.zeros(num_jobs + 1, dtype=np.int64),
    )
    return chosen, runtime[:num_jobs].astype(np.int64)


def _kind(random: np.random.Generator) -> Request:
    several = random.random() < 1 / 3
    nodes = int(2 ** random.integers(1, 6)) if several else 1
    tasks = nodes * CORES if several else int(random.choice([1, 1, 2, 4, 8, 16, 32]))
    return Request(
        submit_s=0,
        limit_s=int(random.choice(LIMITS_S)),
        min_nodes=nodes,
        max_nodes=nodes,
        tasks=tasks,
        memory_mib=int(random.choice([1000, 2000, 4000])),
        memory_per="cpu",
        exclusive=several,
        user=f"u{random.integers(USERS)}",
    )


def replay_year(num_jobs: int) -> list[str]:
    """One row of the table."""
    cluster = generated_cluster()
    requests, runtime = generated_year(num_jobs, cluster)
    jobs = Jobs(requests.submit, runtime, np.ones_like(runtime), requests.limit, requests.limit)
    replayer = SlurmReplayer(cluster, cluster_arrays(cluster), requests)
    begin = time.process_time()
    waits = replayer.replay(jobs, Cluster(cluster.num_cpus)).schedule.start - requests.submit
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = seconds / num_jobs * 1e6
    return [
        f"{num_jobs:,}",
        f"{seconds:.1f}",
        f"{each:.0f}",
        f"{waits.mean() / 3600:.2f}",
        f"{waits.max() / 3600:.0f}",
        f"{peak:.0f}",
    ]


@click.command()
@click.option("--jobs", default="50000,500000", show_default=True, help="Jobs of each replay, with commas.")
def main(jobs: str) -> None:
    """Prints a row for each number of jobs."""
    replay_year(500)  # compiles
    print(markdown(TITLES, [replay_year(int(number)) for number in jobs.split(",")]))


if __name__ == "__main__":
    main()
