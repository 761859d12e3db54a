"""What a replay under Slurm leaves out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from assets.replaying.own.slurm.unmodelled import unmodelled_by_slurm
from tests.simulator.busy import SITE
from traces.cluster.accounts import Limit, ServiceQuality
from traces.cluster.description import AdvanceReservation, ClusterDescription, Partition
from traces.cluster.notes import NOT_MODELLED, DescribedCluster, KnownKey
from traces.cluster.toml_reading import parse_cluster_toml
from traces.cluster.toml_writing import cluster_toml
from traces.slurm.configuration.accounts.options import LIMIT_KEYS, QOS_KEYS
from traces.slurm.configuration.folder import read_slurm_cluster
from traces.slurm.configuration.keys import GENERAL_KEYS, PARTITION_KEYS, SLURM_NODE_KEYS
from traces.slurm.configuration.settings import QOS_FLAGS, SCHEDULER_PARAMETERS, WORD_LISTS


def with_values(**values: str | int) -> ClusterDescription:
    return replace(SITE, scheduler=replace(SITE.scheduler, values={**SITE.scheduler.values, **values}))


def test_a_plain_cluster_leaves_nothing_out() -> None:
    assert unmodelled_by_slurm(SITE) == []


@pytest.mark.parametrize(
    ("cluster", "rule"),
    [
        (with_values(preempttype="preempt/qos", preemptmode="suspend,gang"), "suspended"),
        (with_values(jobsubmitplugins="lua"), "changed or refused when they are submitted"),
        (with_values(topologyplugin="topology/block"), "topology/block"),
        (with_values(selecttypeparameters="cr_socket"), "whole sockets"),
        (
            replace(SITE, nodes=(replace(SITE.nodes[0], cores=2, threads_per_core=2), *SITE.nodes[1:])),
            "several threads a core",
        ),
        (replace(SITE, partitions=(*SITE.partitions, Partition("off", state="down"))), "off is down"),
        (replace(SITE, reservations=(AdvanceReservation("r", 0, 60, flags=("flex", "maint")),)), "flags flex"),
        (replace(SITE, reservations=(AdvanceReservation("r", 0, 60, repeats="daily", flags=("daily",)),)), "come back"),
        (replace(SITE, left_out=("prolog=/x: a job would start later",)), "prolog"),
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


# Each key that the readers call not modelled is named where the cluster is replayed, also once its description was stored.

CONF = """ClusterName=c
NodeName=n1 CPUs=4 RealMemory=100 Gres=gpu:a:1{node}
NodeName=n2 CPUs=4 RealMemory=100
PartitionName=p Nodes=n1{partition}
PartitionName=q Nodes=ALL Default=YES
{line}
"""
DUMP = """Cluster - 'c':Fairshare=1
Parent - 'root'
Account - 'a':Fairshare=1
User - 'u':Fairshare=1:Priority=5{user}
"""
TIMES = {
    "grpwall": "7",
    "maxtresmins": "cpu=7",
    "maxtrespernode": "cpu=7",
    "mintres": "cpu=7",
    "preemptexempttime": "00:00:07",
}
"""Values of options that are no whole number."""


def read(tmp_path: Path, **where: str) -> DescribedCluster:
    """The cluster with one more line, or more behind a line of nodes, partitions or users, or an option of a QOS."""
    texts = dict.fromkeys(("line", "node", "partition", "user"), "") | where
    option, _, value = where.get("qos", "Flags=").partition("=")
    (tmp_path / "slurm.conf").write_text(CONF.format(**texts))
    (tmp_path / "sacctmgr.dump").write_text(DUMP.format(**texts))
    (tmp_path / "qos.txt").write_text(f"Name|Priority|{option}\nnormal|0|{value}\n")
    return read_slurm_cluster(sorted(tmp_path.iterdir()), "c")


def is_named(tmp_path: Path, key: str, **where: str) -> bool:
    """Whether a replay names the key, also where the description was written and read again."""
    described = read(tmp_path, **where)
    stored = parse_cluster_toml(cluster_toml(described), "c.toml").description
    return all(any(key in rule for rule in unmodelled_by_slurm(each)) for each in (described.description, stored))


def left_out(table: Mapping[str, KnownKey]) -> list[str]:
    return sorted(key for key, row in table.items() if row.kind == NOT_MODELLED)


@pytest.mark.parametrize("key", left_out(GENERAL_KEYS))
def test_each_setting_that_is_left_out_is_named(tmp_path: Path, key: str) -> None:
    value = "cpu:7" if key == "licenses" else "0" if key == "fastschedule" else "7"
    assert is_named(tmp_path, key, line=f"{key}={value}")


@pytest.mark.parametrize("key", left_out(SCHEDULER_PARAMETERS))
def test_each_scheduler_parameter_that_is_left_out_is_named(tmp_path: Path, key: str) -> None:
    assert is_named(tmp_path, key, line=f"SchedulerParameters={key}=7")


@pytest.mark.parametrize(
    ("key", "word"), [(key, word) for key, table in WORD_LISTS.items() for word in left_out(table)]
)
def test_each_word_that_is_left_out_is_named(tmp_path: Path, key: str, word: str) -> None:
    assert is_named(tmp_path, word, line=f"{key}={word}")


@pytest.mark.parametrize("flag", left_out(QOS_FLAGS))
def test_each_flag_of_a_qos_is_named(tmp_path: Path, flag: str) -> None:
    assert is_named(tmp_path, flag, qos=f"Flags={flag}")


@pytest.mark.parametrize("key", left_out(PARTITION_KEYS))
def test_each_key_of_a_partition_that_is_left_out_is_named(tmp_path: Path, key: str) -> None:
    assert is_named(tmp_path, key, partition=f" {key}={'DOWN' if key == 'state' else '7'}")


@pytest.mark.parametrize("key", left_out(SLURM_NODE_KEYS))
def test_each_key_of_a_node_that_is_left_out_is_named(tmp_path: Path, key: str) -> None:
    assert is_named(tmp_path, key, node=f" {key}=7")


@pytest.mark.parametrize("key", left_out({**LIMIT_KEYS, **QOS_KEYS}))
def test_each_option_of_a_qos_that_is_left_out_is_named_once(tmp_path: Path, key: str) -> None:
    text = f"{key}={TIMES.get(key, '7')}"
    assert is_named(tmp_path, key, qos=text)
    assert len(unmodelled_by_slurm(read(tmp_path, qos=text, line="AccountingStorageEnforce=limits").description)) == 1


def test_limits_of_one_partition_and_on_other_resources_are_named(tmp_path: Path) -> None:
    assert is_named(tmp_path, "partition=p: ", user=":Partition='p'")
    assert is_named(tmp_path, "grptres=license/matlab=5: ", qos="GrpTRES=license/matlab=5,cpu=4")
    assert is_named(tmp_path, "priorityweighttres=Energy=2: ", line="PriorityWeightTRES=CPU=1,Energy=2")
    assert is_named(tmp_path, "tresbillingweights=license/x=2: ", partition=" TRESBillingWeights=CPU=1,license/x=2")


def test_a_key_that_nobody_knows_is_named(tmp_path: Path) -> None:
    assert is_named(tmp_path, "newkey", line="NewKey=1")
