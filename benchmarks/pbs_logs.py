"""Large PBS accounting logs, as a server writes them: one file a day, records in the order of their times.

Run lengths, waits and widths are drawn at random; the text of the records is that of a PBS Pro server of 2025, about 790 bytes
for an end record. Synthetic: for speed and memory only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

JOB = (
    'user=user{user:04d} group=group{group:02d} account="PROJ{account:04d}" project=_pbs_project_default jobname=run_{name:05d} '
    "queue={queue} ctime={submit} qtime={submit} etime={submit} "
)
ASKED = (
    "Resource_List.mem={mem}gb Resource_List.mps=0 Resource_List.ncpus={procs} Resource_List.ngpus={gpus} "
    "Resource_List.nodect={nodes} Resource_List.place=scatter "
    "Resource_List.select={nodes}:ncpus={per_node}:mpiprocs={per_node}:mem={per_node}GB:ompthreads=1 "
    "Resource_List.walltime={walltime} "
)
HOSTS = "start={start} exec_host={hosts} exec_vnode={vnodes} "
USED = (
    "session={session} end={end} Exit_status={status} resources_used.cpupercent={percent} resources_used.cput={cput} "
    "resources_used.mem={used_mem}kb resources_used.ncpus={procs} resources_used.vmem={vmem}kb "
    "resources_used.walltime={ran} eligible_time={eligible} run_count=1"
)
QUEUES = ("main", "short", "long", "gpu", "develop")


def write_days(
    folder: Path, jobs: int, jobs_a_day: int = 5000, kinds: str = "E", seed: int = 1, first_day: int = 0
) -> None:
    """Writes `jobs` jobs into daily files of `folder` (made, if need be); kinds: which records, of "QSE".

    Each day's jobs start and end on it: a file can be made without the others. first_day: days from 2019-01-01.
    """
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for day in range(first_day, first_day + -(-jobs // jobs_a_day)):
        count = min(jobs_a_day, jobs - number)
        midnight = 1_546_300_800 + day * 86_400
        lines = sorted(_records(np.random.default_rng((seed, day)), midnight, count, day * jobs_a_day, kinds))
        name = time.strftime("%Y%m%d", time.gmtime(midnight))
        (folder / name).write_text("".join(line for _, line in lines))
        number += count


def _records(
    rng: np.random.Generator, midnight: int, count: int, first_id: int, kinds: str
) -> Iterator[tuple[int, str]]:
    start = midnight + rng.integers(0, 80_000, count)
    end = np.minimum(start + rng.exponential(4000, count).astype(np.int64) + 1, midnight + 86_399)
    submit = start - rng.exponential(9000, count).astype(np.int64)
    nodes = 1 + np.minimum(rng.geometric(0.6, count), 8)
    per_node = rng.choice([1, 4, 16, 36], count)
    user = rng.zipf(1.5, count) % 900
    columns = zip(
        *(column.tolist() for column in (start, end, submit, nodes, per_node, user, rng.integers(0, 10**6, count))),
        strict=True,
    )
    for k, (start_s, end_s, submit_s, n, p, u, r) in enumerate(columns):
        hosts = [f"r{(r + i) % 40}i{(r + i) % 9}n{(r + i) % 36}" for i in range(n)]
        values = {
            "user": u, "group": u % 40, "account": u % 300, "name": (u * 7 + r % 20) % 99_999, "queue": QUEUES[u % len(QUEUES)],
            "submit": submit_s, "start": start_s, "end": end_s, "procs": n * p, "nodes": n, "per_node": p, "gpus": 0,
            "mem": n * p, "hosts": "+".join(f"{host}/0*{p}" for host in hosts),
            "vnodes": "+".join(f"({host}:ncpus={p}:mem={p * 1_048_576}kb)" for host in hosts),
            "walltime": _clock((r % 24 + 1) * 3600),
            "session": 1000 + r, "status": 0 if r % 9 else 271, "percent": 97 * p, "cput": _clock((end_s - start_s) * n * p),
            "used_mem": r * 7, "vmem": r * 40, "ran": _clock(end_s - start_s), "eligible": _clock(start_s - submit_s),
        }  # fmt: skip
        job_id = f"{first_id + k}.sched1"
        for kind, moment, text in (
            ("Q", submit_s, JOB + ASKED),
            ("S", start_s, JOB + HOSTS + ASKED),
            ("E", end_s, JOB + HOSTS + ASKED + USED),
        ):
            if kind in kinds:
                stamp = time.strftime("%m/%d/%Y %H:%M:%S", time.gmtime(moment))
                yield moment, f"{stamp};{kind};{job_id};{text.format(**values).rstrip()}\n"


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
