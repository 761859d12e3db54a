"""What a replay under Slurm leaves out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from assets.replaying.own.slurm.unmodelled import unmodelled_by_slurm
from simulator.cluster.arrays import cluster_arrays
from simulator.slurm.preemption import preemption_of
from simulator.slurm.priority import priority_rules, static_factors
from simulator.slurm.settings import enforces_limits, slurm_settings
from simulator.slurm.state import site_of
from tests.simulator.busy import SITE
from traces.cluster.accounts import Limit, ServiceQuality
from traces.cluster.description import AdvanceReservation, ClusterDescription, Partition
from traces.cluster.notes import NO_EFFECT, NOT_MODELLED, DescribedCluster
from traces.cluster.toml_reading import parse_cluster_toml
from traces.cluster.toml_writing import cluster_toml
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


# Each key of slurm.conf that the reader has in a table is read by the engine, or named, or does not change a schedule.

CONF = """ClusterName=c
SelectType=select/cons_tres
PriorityType=priority/multifactor
PriorityWeightAge=10
PriorityWeightFairshare=10
PriorityWeightJobSize=10
PreemptType=preempt/partition_prio
NodeName=n1 CPUs=4 RealMemory=100 Gres=gpu:a:1{node}
NodeName=n2 CPUs=4 RealMemory=100
PartitionName=p Nodes=n1{partition}
PartitionName=q Nodes=ALL Default=YES
{line}
"""
DUMP = """Cluster - 'c':Fairshare=1
Parent - 'root'
Account - 'a':Fairshare=1
User - 'u':Fairshare=1:Priority=5
"""
OTHER_VALUES = {
    "schedulertype": "sched/builtin",
    "selecttype": "select/linear",
    "prioritytype": "priority/basic",
    "preempttype": "preempt/qos",
    "preemptmode": "cancel",
    "topologyplugin": "topology/block",
    "accountingstorageenforce": "safe",
    "selecttypeparameters": "CR_CPU",
    "priorityflags": "INCR_ONLY",
    "priorityweighttres": "cpu=5",
    "preemptparameters": "youngest_first",
    "schedulerparameters": "bf_continue",
    "licenses": "matlab:2",
    "jobrequeue": "0",
    "priorityfavorsmall": "yes",
    "fairsharedampeningfactor": "5",
    "jobdefaults": "DefCpuPerGPU=2",
    "prioritymaxage": "3-0",
    "prioritydecayhalflife": "3-0",
    "prioritycalcperiod": "7",
}
WITH = {
    "fairsharedampeningfactor": "PriorityFlags=NO_FAIR_TREE",
    "accountingstorageenforce": "",
    "bf_yield_sleep": "",
}
"""What else must be set so that a key matters."""
IN_THE_LOG = {
    "defmempercpu", "defmempernode", "defmempergpu", "defcpupergpu", "maxmempercpu", "maxmempernode", "jobdefaults",
}  # fmt: skip
"""What a job gets where it does not say: the log has what it got."""


def read(tmp_path: Path, line: str = "", node: str = "", partition: str = "", qos: str = "") -> DescribedCluster:
    """The cluster with one more line, or more behind a line of nodes or partitions."""
    (tmp_path / "slurm.conf").write_text(CONF.format(line=line, node=node, partition=partition))
    (tmp_path / "sacctmgr.dump").write_text(DUMP)
    (tmp_path / "qos.txt").write_text(f"Name|Priority|Flags\nnormal|0|{qos}\n")
    return read_slurm_cluster(sorted(tmp_path.iterdir()), "c")


def engine_reads(cluster: ClusterDescription) -> str:
    """All that a replay takes of a cluster, as a text to compare."""
    arrays = cluster_arrays(cluster)
    settings = slurm_settings(cluster.scheduler)
    rules = settings, priority_rules(cluster.scheduler), preemption_of(cluster, 0), enforces_limits(cluster.scheduler)
    return repr((rules, static_factors(arrays, cluster.scheduler), site_of(arrays, settings), arrays))


def is_covered(tmp_path: Path, key: str, **where: str) -> bool:
    """Whether a replay takes the key, or names it. It is named, too, where the description was written and read again."""
    usual, described = read(tmp_path, where.pop("usual", "")), read(tmp_path, **where)
    stored = parse_cluster_toml(cluster_toml(described), "c.toml").description
    named = [any(key in rule for rule in unmodelled_by_slurm(each)) for each in (described.description, stored)]
    is_read = engine_reads(described.description) != engine_reads(usual.description)
    return is_read or all(named)


@pytest.mark.parametrize("key", sorted(GENERAL_KEYS))
def test_each_setting_is_read_or_named_or_has_no_effect(tmp_path: Path, key: str) -> None:
    usual = WITH.get(key, "")
    line = f"{usual}\n{key}={OTHER_VALUES.get(key, '7')}"
    if GENERAL_KEYS[key].kind != NO_EFFECT and key not in IN_THE_LOG:
        assert is_covered(tmp_path, key, line=line, usual=usual)


@pytest.mark.parametrize("key", sorted(SCHEDULER_PARAMETERS))
def test_each_scheduler_parameter_is_read_or_named_or_has_no_effect(tmp_path: Path, key: str) -> None:
    row = SCHEDULER_PARAMETERS[key]
    word = key if row.form == "bool" else f"{key}=7"
    if row.kind != NO_EFFECT:
        assert is_covered(tmp_path, key, line=f"SchedulerParameters={word}")


@pytest.mark.parametrize(
    ("key", "word"),
    [(key, word) for key, table in WORD_LISTS.items() for word, row in table.items() if row.kind == NOT_MODELLED],
)
def test_each_word_that_is_left_out_is_named(tmp_path: Path, key: str, word: str) -> None:
    assert is_covered(tmp_path, word, line=f"{key}={word}")


@pytest.mark.parametrize("flag", sorted(flag for flag, row in QOS_FLAGS.items() if row.kind == NOT_MODELLED))
def test_each_flag_of_a_qos_is_named(tmp_path: Path, flag: str) -> None:
    assert is_covered(tmp_path, flag, qos=flag)


@pytest.mark.parametrize("key", sorted(key for key, row in PARTITION_KEYS.items() if row.kind == NOT_MODELLED))
def test_each_key_of_a_partition_that_is_left_out_is_named(tmp_path: Path, key: str) -> None:
    assert is_covered(tmp_path, key, partition=f" {key}=7")


@pytest.mark.parametrize("key", sorted(key for key, row in SLURM_NODE_KEYS.items() if row.kind == NOT_MODELLED))
def test_each_key_of_a_node_that_is_left_out_is_named(tmp_path: Path, key: str) -> None:
    assert is_covered(tmp_path, key, node=f" {key}=7")


def test_a_key_that_nobody_knows_is_named(tmp_path: Path) -> None:
    assert is_covered(tmp_path, "newkey", line="NewKey=1")
