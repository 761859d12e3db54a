"""Small scenarios of real Slurm, one for each rule that the recorded runs did not cover.

`python -m tests.slurm.recording feature:weight FOLDER` records one. Nodes are few and jobs many, so that the queue is never empty.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.slurm.scenario import SETTINGS, Scenario

_NODES = [
    {"prefix": "a", "count": 4, "cores": 16, "mem": 64000},
    {"prefix": "b", "count": 4, "cores": 16, "mem": 64000},
]
_ALL = "PartitionName=all Nodes=ALL Default=YES MaxTime=02:00:00 State=UP"
_ACCOUNTS = [
    "add account chem fairshare=60",
    "add account phys fairshare=40",
    "add user slu1 account=chem fairshare=1",
    "add user slu2 account=phys fairshare=1",
]
_BASIC = [line for line in SETTINGS if not line.startswith("Priority")] + ["PriorityType=priority/basic"]


def _jobs(seed: int, count: int, change: Callable[[random.Random, dict[str, Any]], None]) -> list[dict[str, Any]]:
    """Jobs of two users that come faster than they end. change: what the rule adds to each."""
    draw = random.Random(seed)
    jobs, time_s = [], 0
    for _ in range(count):
        time_s += draw.choice((1, 5, 15, 40))
        minutes = draw.choice((2, 4, 8, 15))
        user = draw.randint(1, 2)
        nodes = draw.choice((1, 1, 1, 2, 3, 4))
        job: dict[str, Any] = {"t": time_s, "user": user, "account": ("chem", "phys")[user - 1], "limit": minutes}
        job["dur"] = max(15, round(minutes * 60 * draw.choice((0.2, 0.4, 0.6, 0.9))))
        job |= {
            "nodes": nodes,
            "ntasks": nodes * draw.choice((4, 8, 12, 16)),
            "mem_per_cpu": draw.choice((500, 1000, 4000)),
        }
        change(draw, job)
        jobs.append(job)
    return jobs


def _nothing(draw: random.Random, job: dict[str, Any]) -> None:
    """The jobs stay as they are."""


def _weight() -> Scenario:
    nodes = [{**_NODES[0], "weight": 10}, {**_NODES[1], "weight": 2}]
    return Scenario(nodes, [_ALL], _BASIC, _jobs(1, 60, _nothing), _ACCOUNTS)


def _partitions() -> Scenario:
    """Jobs in two partitions that share nodes, and one that has a higher tier."""
    lines = [
        _ALL,
        "PartitionName=left Nodes=a[01-04],b01 MaxTime=02:00:00 State=UP",
        "PartitionName=right Nodes=b[01-04] MaxTime=02:00:00 PriorityTier=2 State=UP",
    ]

    def change(draw: random.Random, job: dict[str, Any]) -> None:
        job["partition"] = draw.choice(("all", "left,right", "left,right", "left", "right,all"))

    return Scenario(_NODES, lines, _BASIC, _jobs(2, 60, change), _ACCOUNTS)


def _limit_stop() -> Scenario:
    conf = [line + (",assoc_limit_stop" if line.startswith("SchedulerParameters") else "") for line in _BASIC]
    accounts = [*_ACCOUNTS, "modify account phys set GrpTRES=cpu=64"]
    return Scenario(_NODES, [_ALL], conf, _jobs(3, 60, _nothing), accounts)


def _billing() -> Scenario:
    lines = [
        "PartitionName=all Nodes=a[01-04] Default=YES MaxTime=02:00:00 State=UP TRESBillingWeights=CPU=1.0,Mem=0.5G",
        "PartitionName=dear Nodes=b[01-04] MaxTime=02:00:00 State=UP TRESBillingWeights=CPU=3.0",
    ]

    def change(draw: random.Random, job: dict[str, Any]) -> None:
        job["partition"] = draw.choice(("all", "dear"))

    return Scenario(_NODES, lines, SETTINGS, _jobs(4, 60, change), _ACCOUNTS)


def _licences() -> Scenario:
    def change(draw: random.Random, job: dict[str, Any]) -> None:
        job["licenses"] = draw.choice((None, "fluent:1", "fluent:2", "fluent:3"))

    return Scenario(_NODES, [_ALL], [*_BASIC, "Licenses=fluent:4"], _jobs(5, 60, change), _ACCOUNTS)


def _preempt(mode: str, grace: str = "") -> Scenario:
    """Jobs of a QOS that preempt those of another one."""
    accounts = [
        *_ACCOUNTS,
        "add qos high priority=100",
        "add qos low priority=1",
        *([f"modify qos low set {grace}"] if grace else []),
        "modify qos high set preempt=low",
        "modify user slu1 set qos=normal,high,low",
        "modify user slu2 set qos=normal,high,low",
    ]

    def change(draw: random.Random, job: dict[str, Any]) -> None:
        job["qos"] = draw.choice(("low", "low", "low", "normal", "high"))

    conf = [
        *_BASIC[:-1],
        *SETTINGS[2:3],
        *SETTINGS[-4:],
        "PreemptType=preempt/qos",
        f"PreemptMode={mode}",
        "JobRequeue=1",
    ]
    return Scenario(_NODES, [_ALL], conf, _jobs(6, 60, change), accounts)


def _preempt_partition(mode: str) -> Scenario:
    """Jobs of a partition of a higher tier that preempt those of a lower one."""
    force = " OverSubscribe=FORCE:1" if mode.startswith("SUSPEND") else ""
    lines = [
        f"PartitionName=low Nodes=ALL Default=YES MaxTime=02:00:00 PriorityTier=1{force} State=UP",
        f"PartitionName=high Nodes=ALL MaxTime=02:00:00 PriorityTier=5{force} PreemptMode=OFF State=UP",
    ]

    def change(draw: random.Random, job: dict[str, Any]) -> None:
        job["partition"] = draw.choice(("low", "low", "low", "high"))
        job["mem_per_cpu"] = 500

    conf = [*_BASIC, "PreemptType=preempt/partition_prio", f"PreemptMode={mode}"]
    return Scenario(_NODES, lines, conf, _jobs(7, 50, change), _ACCOUNTS)


def _topology() -> Scenario:
    conf = [*_BASIC, "TopologyPlugin=topology/tree"]
    switches = [
        "SwitchName=s1 Nodes=a[01-03]",
        "SwitchName=s2 Nodes=a04,b01",
        "SwitchName=s3 Nodes=b[02-04]",
        "SwitchName=top Switches=s[1-3]",
    ]
    return Scenario(_NODES, [_ALL], conf, _jobs(8, 60, _nothing), _ACCOUNTS, topology=switches)


def _node_failure() -> Scenario:
    jobs = _jobs(9, 50, _nothing)
    jobs += [
        {"t": 300, "scontrol": "update nodename=a02 state=down reason=test"},
        {"t": 700, "scontrol": "update nodename=a02 state=resume"},
        {"t": 420, "scontrol": "update nodename=b03 state=drain reason=test"},
        {"t": 900, "scontrol": "update nodename=b03 state=resume"},
    ]
    return Scenario(_NODES, [_ALL], [*_BASIC, "JobRequeue=1"], jobs, _ACCOUNTS)


def _used() -> Scenario:
    """A limit on used CPU-minutes that a user reaches, and one on submitted jobs."""
    accounts = [*_ACCOUNTS, "modify account phys set GrpTRESMins=cpu=500", "modify account chem set GrpSubmitJobs=12"]
    conf = [*SETTINGS, "PriorityUsageResetPeriod=NONE"]
    conf = [line.replace("01:00:00", "0") if "HalfLife" in line else line for line in conf]
    return Scenario(_NODES, [_ALL], conf, _jobs(10, 50, _nothing), accounts)


def _outstanding() -> Scenario:
    """A limit on the CPU-minutes that running jobs may still use."""
    accounts = [*_ACCOUNTS, "modify account phys set GrpTRESRunMins=cpu=400"]
    return Scenario(_NODES, [_ALL], SETTINGS, _jobs(13, 60, _nothing), accounts)


def _classic() -> Scenario:
    return Scenario(_NODES, [_ALL], [*SETTINGS, "PriorityFlags=NO_FAIR_TREE"], _jobs(11, 60, _nothing), _ACCOUNTS)


def _priorities() -> Scenario:
    """Priority by resources, by association, and less by nice."""
    weights = ["PriorityWeightTRES=CPU=3000,Mem=2000", "PriorityWeightAssoc=4000"]
    accounts = [*_ACCOUNTS, "modify user slu1 set priority=10", "modify user slu2 set priority=40"]

    def change(draw: random.Random, job: dict[str, Any]) -> None:
        job["nice"] = draw.choice((None, None, 50, 300))

    return Scenario(_NODES, [_ALL], [*SETTINGS, *weights], _jobs(14, 60, change), accounts)


def _tasks() -> Scenario:
    """Jobs that say how many tasks go on a node, and not how many nodes."""

    def change(draw: random.Random, job: dict[str, Any]) -> None:
        job["ntasks_per_node"] = draw.choice((4, 8))
        job["ntasks"] = job.pop("nodes") * job["ntasks_per_node"]

    return Scenario(_NODES, [_ALL], SETTINGS, _jobs(12, 60, change), _ACCOUNTS)


FEATURES: dict[str, Callable[[], Scenario]] = {
    "weight": _weight,
    "partitions": _partitions,
    "assoc_limit_stop": _limit_stop,
    "billing": _billing,
    "licences": _licences,
    "preempt_requeue": lambda: _preempt("REQUEUE"),
    "preempt_cancel": lambda: _preempt("CANCEL", "GraceTime=60"),
    "preempt_partition": lambda: _preempt_partition("REQUEUE"),
    "preempt_suspend": lambda: _preempt_partition("SUSPEND,GANG"),
    "topology": _topology,
    "node_failure": _node_failure,
    "used": _used,
    "outstanding": _outstanding,
    "classic": _classic,
    "tasks": _tasks,
    "priorities": _priorities,
}
"""Scenarios by the rule that they are about."""
