"""What a replay under Slurm leaves out."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from assets.replay.own.slurm.unmodelled import unmodelled_by_slurm
from tests.simulator.slurm_site import SITE
from traces.cluster.accounts import Limit, ServiceQuality
from traces.cluster.description import ClusterDescription


def with_values(**values: str | int) -> ClusterDescription:
    return replace(SITE, scheduler=replace(SITE.scheduler, values={**SITE.scheduler.values, **values}))


def test_a_plain_cluster_leaves_nothing_out() -> None:
    assert unmodelled_by_slurm(SITE) == []


@pytest.mark.parametrize(
    ("cluster", "rule"),
    [
        (with_values(preempttype="preempt/qos", preemptmode="suspend,gang"), "suspended"),
        (with_values(jobsubmitplugins="lua"), "changed on submission"),
        (with_values(prioritytype="priority/multifactor", priorityflags="DEPTH_OBLIVIOUS"), "depth of accounts"),
        (replace(SITE, licences={"matlab": 1}), "licences matlab"),
        (
            replace(SITE, qualities=(*SITE.qualities, ServiceQuality("idle", usage_threshold=0.5))),
            "QOS idle holds jobs",
        ),
        (replace(SITE, limits=(Limit("cluster", "", "submitted", "user", "cpu", 5),)), r"1 limit \(cpu, submitted\)"),
    ],
)
def test_each_rule_is_named(cluster: ClusterDescription, rule: str) -> None:
    rules = unmodelled_by_slurm(cluster)
    assert len(rules) == 1 and re.search(rule, rules[0])
