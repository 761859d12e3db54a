"""Priorities of waiting jobs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.priority import (
    billed,
    count_usage,
    fair_shares,
    has_classic_shares,
    job_priority,
    priority_rules,
    static_factors,
)
from simulator.slurm.starting import begin_job
from tests.simulator.slurm_site import SITE, engine_of
from traces.cluster.description import SchedulerSettings

VALUES = {
    "priorityweightage": 1000,
    "priorityweightfairshare": 100,
    "priorityweightjobsize": 80,
    "priorityweightqos": 7,
    "prioritymaxage": 3600,
    "prioritydecayhalflife": 0,
}


def test_the_sum_of_factors() -> None:
    engine = engine_of([Request(0, limit_s=60, tasks=4), Request(0, limit_s=60, tasks=4, qos="few", nice=3)])
    settings = SchedulerSettings("slurm", "", VALUES)
    rules = priority_rules(settings)
    fair = fair_shares(cluster_arrays(SITE), engine.jobs)
    statics = static_factors(cluster_arrays(SITE), settings)
    # age 0.5, no usage, (1/4 + 4/16) / 2 of the size
    assert job_priority(engine, rules, statics, fair, (0, 0), 1800) == 500 + 100 + 20
    assert job_priority(engine, rules, statics, fair, (1, 0), 7200) == 1000 + 100 + 20 + 7 - 3
    engine.scratch.allowed[:] = True
    begin_job(engine, 0, 0, choose_nodes(engine, engine.free, 0, 0), 0)
    count_usage(engine, rules, fair, 0, 100)
    assert fair.usage.tolist() == [400.0, 0.0, 400.0, 0.0] and fair.factor.tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        # of 16 CPUs, 4,000 MiB, 4 nodes and 4 GPUs of the partition
        ("", 1600 * 4 / 16 + 40 * 600 / 4000 + 8 * 1 / 4 + 100 * 2 / 4 + 30 * 5 / 5),
        ("no_normal_tres", 1600 * 4 + 40 * 600 + 8 + 100 * 2 + 30 * 5 / 5),
        ("no_normal_all", 1600 * 4 + 40 * 600 + 8 + 100 * 2 + 30 * 5),
    ],
)
def test_resources_and_associations_have_weights(flags: str, expected: float) -> None:
    site = replace(SITE, members=tuple(replace(member, priority=5) for member in SITE.members))
    engine = engine_of([Request(0, limit_s=60, min_nodes=1, tasks=4, memory_mib=600, gpus={"": 2})], site)
    values = {"priorityweighttres": "cpu=1600,Mem=40,node=8,GRES/gpu=100", "priorityflags": flags}
    settings = SchedulerSettings("slurm", "", {**values, "priorityweightassoc": 30})
    arrays = cluster_arrays(site)
    statics, fair = static_factors(arrays, settings), fair_shares(arrays, engine.jobs)
    assert job_priority(engine, priority_rules(settings), statics, fair, (0, 0), 0) == int(expected)


def test_usage_is_billed_by_the_weights_of_the_partition() -> None:
    billing = {"cpu": 1.0, "mem": 0.01, "gpu": 5.0}
    site = replace(SITE, partitions=(replace(SITE.partitions[0], billing=billing), *SITE.partitions[1:]))
    engine = engine_of([Request(0, limit_s=60, min_nodes=1, max_nodes=1, tasks=2, memory_mib=300, gpus={"": 2})], site)
    engine.scratch.allowed[:] = True
    begin_job(engine, 0, 0, choose_nodes(engine, engine.free, 0, 0), 0)
    fair = fair_shares(cluster_arrays(site), engine.jobs)
    sums = {"": 2 + 3 + 10, "max_tres": 10}
    for flags, billed_a_second in sums.items():
        rules = priority_rules(SchedulerSettings("slurm", "", {"priorityflags": flags}))
        assert billed(engine, rules, fair, 0) == billed_a_second


@pytest.mark.parametrize(
    ("version", "flags", "classic"),
    [
        ("17.11.5", "", True),
        ("17.11", "fair_tree", False),
        ("19.05.0", "", False),
        ("22.05", "no_fair_tree", True),
        ("", "", False),
    ],
)
def test_which_fair_share_a_version_has(version: str, flags: str, classic: bool) -> None:
    assert has_classic_shares(SchedulerSettings("slurm", version, {"priorityflags": flags})) is classic
