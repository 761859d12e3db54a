"""What a run of real Slurm is made of: nodes, partitions, settings, accounts, and jobs with the times at which they are submitted.

A scenario is a JSON object with the keys of `Scenario`, such as scenario.json of a recorded run.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OPTIONS = {
    "account": "--account",
    "partition": "--partition",
    "qos": "--qos",
    "nodes": "--nodes",
    "ntasks": "--ntasks",
    "cpt": "--cpus-per-task",
    "ntasks_per_node": "--ntasks-per-node",
    "mem": "--mem",
    "mem_per_cpu": "--mem-per-cpu",
    "gres": "--gres",
    "gpus": "--gpus",
    "array": "--array",
    "reservation": "--reservation",
    "nice": "--nice",
    "constraint": "--constraint",
    "begin": "--begin",
    "licenses": "--licenses",
}
"""Key of a job, and the option of sbatch that takes its value."""
USERS = 8
FIRST_UID = 5001
"""Users 1 to USERS of a scenario are slu1 with this number, slu2 with the next one, ..."""


@dataclass(frozen=True)
class Scenario:
    """nodes: objects with prefix, count, cores, mem (MiB), and gpus and weight where they have some. partitions, conf: lines of
    slurm.conf. topology: lines of topology.conf.

    sacctmgr: commands, after the cluster is there. jobs: objects with t (seconds after the first submission may come), user (a number),
    limit (minutes), dur (seconds, or a list of them by array task), keys of OPTIONS, exclusive, and dep: a pair of the kind and the
    places of other jobs; or with t and scontrol, a command at that time. scontrol: commands before the first job, in which {t:SECONDS} is
    a time.
    """

    nodes: list[dict[str, Any]]
    partitions: list[str]
    conf: list[str]
    jobs: list[dict[str, Any]]
    sacctmgr: list[str] = field(default_factory=list)
    scontrol: list[str] = field(default_factory=list)
    topology: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Scenario:
        """Of a file of JSON. Keys that a scenario does not have are left out."""
        document = json.loads(path.read_text())
        return cls(**{name: document[name] for name in cls.__dataclass_fields__ if name in document})


def sbatch_words(job: dict[str, Any], name: str, ids: dict[int, str]) -> list[str]:
    """The command that submits a job. ids: Slurm's numbers of the jobs so far, by their place."""
    words = [
        "sbatch",
        "--parsable",
        f"--uid={FIRST_UID - 1 + int(job.get('user', 1))}",
        "--output=/dev/null",
        "--export=NONE",
    ]
    words += [f"--job-name={name}", f"--time={job['limit']}"]
    words += [f"{option}={job[key]}" for key, option in OPTIONS.items() if job.get(key) is not None]
    if job.get("exclusive"):
        words.append("--exclusive")
    if job.get("dep"):
        kind, others = job["dep"]
        words.append(f"--dependency={kind}:" + ":".join(ids[other] for other in others))
    return words


def job_script(durations: float | list[float], factor: float) -> str:
    """A script that sleeps for the duration of the job, or of the task of its array, in real time."""
    if not isinstance(durations, list):
        return f"#!/bin/sh\nexec sleep {durations / factor:.3f}\n"
    listed = " ".join(f"{seconds / factor:.3f}" for seconds in durations)
    return f"#!/bin/sh\nset -- {listed}\nshift $SLURM_ARRAY_TASK_ID\nexec sleep $1\n"


SETTINGS = [
    "SchedulerType=sched/backfill",
    "SchedulerParameters=max_sched_time=150,bf_yield_interval=10000000,bf_yield_sleep=100000,bf_continue",
    "PriorityType=priority/multifactor",
    "SelectTypeParameters=CR_Core_Memory",
    "DebugFlags=Backfill",
    "PriorityCalcPeriod=00:01:00",
    "PriorityMaxAge=02:00:00",
    "PriorityDecayHalfLife=01:00:00",
    "PriorityWeightAge=1000",
    "PriorityWeightFairshare=5000",
    "PriorityWeightJobSize=200",
    "PriorityWeightPartition=1000",
    "PriorityWeightQOS=2000",
]
ACCOUNTS = [
    "add qos high priority=100 MaxTRESPU=cpu=64",
    "add qos small MaxJobsPU=2 priority=20",
    "modify qos normal set priority=50",
    "add account chem fairshare=60",
    "add account phys fairshare=40",
    "add account theory parent=phys fairshare=2",
    "add user slu1 account=chem fairshare=1",
    "add user slu2 account=chem fairshare=3",
    "add user slu3 account=theory fairshare=1",
    "modify account theory set GrpTRES=cpu=96",
    "modify user slu1 set qos=normal,high,small",
    "modify user slu2 set qos=normal,high,small",
    "modify user slu3 set qos=normal,high,small",
]


def drawn_scenario(seed: int, jobs: int = 60) -> Scenario:
    """Jobs of three users on eight nodes, two of them with GPUs, in two partitions that share nodes. Same seed, same scenario."""
    draw = random.Random(seed)
    partitions = [
        "PartitionName=all Nodes=ALL Default=YES MaxTime=02:00:00 PriorityJobFactor=1 State=UP",
        "PartitionName=short Nodes=c[01-06] MaxTime=00:15:00 PriorityJobFactor=10 State=UP",
    ]
    nodes = [
        {"prefix": "c", "count": 6, "cores": 32, "mem": 128000},
        {"prefix": "g", "count": 2, "cores": 32, "mem": 128000, "gpus": 4},
    ]
    made, time_s = [], 0
    for _ in range(jobs):
        time_s += draw.choice((1, 5, 20, 60))
        minutes = draw.choice((2, 5, 10, 30, 60))
        user = draw.randint(1, 3)
        job: dict[str, Any] = {
            "t": time_s,
            "user": user,
            "account": ("chem", "chem", "theory")[user - 1],
            "limit": minutes,
        }
        job["dur"] = max(10, round(minutes * 60 * draw.choice((0.1, 0.3, 0.5, 0.9))))
        job |= {"nodes": draw.choice((1, 1, 1, 2, 3)), "qos": draw.choice(("normal", "normal", "high", "small"))}
        job["ntasks"] = job["nodes"] * draw.choice((1, 4, 8, 16))
        job["partition"] = "short" if minutes <= 10 and draw.random() < 0.5 else "all"
        if draw.random() < 0.5:
            job["mem_per_cpu"] = draw.choice((1000, 2000, 4000))
        else:
            job["mem"] = draw.choice((4000, 16000, 64000))
        if job["partition"] == "all" and job["nodes"] == 1 and draw.random() < 0.2:
            job["gres"] = f"gpu:{draw.choice((1, 2, 4))}"
        made.append(job)
    return Scenario(nodes, partitions, SETTINGS, made, ACCOUNTS)
