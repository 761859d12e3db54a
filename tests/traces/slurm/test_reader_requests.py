"""What jobs asked for, as a real Slurm logged it, is what they were submitted with."""

from __future__ import annotations

import csv
import gzip
import json
from typing import Any

from tests.shared import shared_file
from traces.slurm.reader import read_slurm


def test_all_jobs_of_the_micro_cluster_ask_for_what_their_request_file_says() -> None:
    """500 jobs on ten nodes with memory and GPUs. sacct of that version has no column of features."""
    log = read_slurm(shared_file("traces", "clusters", "ub-micro", "real_slurm_run", "slurm_acct.out"))
    with shared_file("traces", "clusters", "ub-micro", "v3", "workload", "jobs500.csv").open() as file:
        requests = {f"jobid_{row['job_id']}": row for row in csv.DictReader(file, delimiter=";")}
    jobs = {row["job_name"]: row for row in log.records.to_dicts()}
    assert log.rejects.rows() == [] and jobs.keys() == requests.keys() and len(jobs) == 500
    for name, asked in requests.items():
        job, procs = jobs[name], int(asked["n_tasks"])
        memory_mb = int(asked["mem"]) if asked["mem"] else 2800 * procs  # the partition's DefMemPerCPU
        assert (
            job["time_limit_s"], job["requested_procs"], job["user_name"], job["account"], job["requested_memory_kb"], job["memory_per"],
            job["gpus"] or 0,
        ) == (
            int(asked["wall_limit"]) * 60, procs, asked["user"], asked["account"], memory_mb * 1024, "node" if asked["mem"] else "cpu",
            int(asked["gres"].partition(":")[2] or 0),
        ), name  # fmt: skip


def test_all_jobs_of_the_recorded_runs_ask_for_what_their_scenarios_say() -> None:
    """Each row of accounting, with all tasks of arrays, by the keys that its job has."""
    compared = 0
    for run in sorted(shared_file("golden", "slurm").glob("*/run1")):
        jobs = json.loads(gzip.decompress((run / "scenario.json.gz").read_bytes()))["jobs"]
        log = read_slurm(run / "sacct.txt.gz")
        assert log.rejects.rows() == []
        for row in log.records.to_dicts():
            logged, asked = pairs_of(row, jobs[int(row["job_name"][1:])])
            assert logged == asked, (run.parent.name, row["job_id"])
        compared += log.accepted
    assert compared == 2621


def pairs_of(row: dict[str, Any], job: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a row says, and what the job of a scenario says, by the same keys."""
    resources = dict(pair.split("=") for pair in row["requested_tres"].split(","))
    nodes = str(job.get("nodes", ""))
    pairs = {
        "user": (row["user_name"], f"slu{job.get('user', 1)}"),
        "limit_s": (row["time_limit_s"], job["limit"] * 60),
        "account": (row["account"], (job.get("account") or row["account"]).lower()),
        "partition": (row["partition"], job.get("partition") or row["partition"]),
        "qos": (row["qos"], job.get("qos") or row["qos"]),
        "reservation": (row["reservation"], job.get("reservation")),
        "nodes": (int(resources["node"]), int(nodes) if nodes.isdigit() else int(resources["node"])),
    }
    if job.get("ntasks"):
        pairs["procs"] = (row["requested_procs"], job["ntasks"] * job.get("cpt", 1))
    if job.get("mem") or job.get("mem_per_cpu"):
        pairs["memory_per"] = (row["memory_per"], "node" if job.get("mem") else "cpu")
    if job.get("gres"):
        pairs["gpus"] = (int(resources["gres/gpu"]), int(job["gres"].split(":")[-1]) * int(nodes or 1))
    return {name: pair[0] for name, pair in pairs.items()}, {name: pair[1] for name, pair in pairs.items()}
