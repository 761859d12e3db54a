"""Events of UB's centre."""

from __future__ import annotations

import gzip
from pathlib import Path

from simulator.cluster.requests import Request
from studies.slurm.events import read_events

FIRST = "-sim-walltime 84805.00 --uid=user001 -J jobid_1 -N 2 -n 18 -t 3-00:00:00 -q q -p p --mem=2G --exclusive"
SECOND = "-J jobid_2 --uid=user1 -t 00:30:00 -n 12 --ntasks-per-node=6 -A a -p p -q q --constraint=CPU-N --gres=gpu:2"


def test_events_are_requests(tmp_path: Path) -> None:
    file = tmp_path / "jobs.events.gz"
    lines = [f"-dt 10.50 -e submit_batch_job | {FIRST} job", f"-dt 49 -e submit_batch_job | {SECOND} job"]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    first, second = read_events(file, 2800)
    common = {"submit_s": 0, "partitions": ("p",), "qos": "q"}
    assert (first.name, first.after_s, first.ran_s) == ("jobid_1", 10.5, 84805.0)
    assert first.request == Request(
        **common, limit_s=259_200, min_nodes=2, max_nodes=2, tasks=18, memory_mib=2048, exclusive=True, user="user001"
    )
    assert (second.name, second.ran_s) == ("jobid_2", None)
    assert second.request == Request(
        **common,
        limit_s=1800,
        tasks=12,
        tasks_per_node=6,
        memory_mib=2800,
        memory_per="cpu",
        gpus={"": 2},
        features="CPU-N",
        account="a",
        user="user1",
    )
