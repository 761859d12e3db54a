"""What jobs asked for, as a real Slurm logged it, is what they were submitted with."""

from __future__ import annotations

import csv

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
