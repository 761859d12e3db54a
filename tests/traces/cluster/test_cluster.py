"""Tests of traces/cluster: accounts, description, differing, editing, notes, peaks."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.traces.pbs.configuration.configurations import said
from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate, Node, Partition, SchedulerSettings
from traces.cluster.differing import ChangedValue, changed_values
from traces.cluster.notes import (
    MODELLED,
    NOT_MODELLED,
    UNKNOWN_KEY,
    ConfigurationError,
    Entry,
    KnownKey,
    Notes,
    Remark,
    boolean_of,
    integer_of,
    read_text_file,
    remarks_of,
    sources_by_place,
)
from traces.cluster.peaks import SUSPENSIONS_TYPE, held_spans, outstanding_over, peaks_over

# accounts: Limits and accounts are in tests/traces/cluster/test_cluster.py; here is what a limit refuses by
# itself.


def test_a_bound_is_not_negative() -> None:
    with pytest.raises(ValueError, match="is negative: -1"):
        Limit("qos", "normal", "running", "user", "cpu", -1)


@pytest.mark.parametrize(
    ("owner_name", "association"),
    [("ada", ("", "ada", "")), ("lab/ada", ("lab", "ada", "")), ("lab/ada/gpu", ("lab", "ada", "gpu"))],
)
def test_the_association_of_a_limit(owner_name: str, association: tuple[str, str, str]) -> None:
    assert Limit("user", owner_name, "running", "all", "cpu", 4).association == association


# description: A description names nothing that it does not have, and says what it misses.

NODES = (Node("n1", 16), Node("n2", 16))


def test_a_number_of_nodes_is_a_cluster() -> None:
    cluster = ClusterDescription("small", NODES)
    assert cluster.num_cpus == 32
    assert cluster.node_index == {"n1": 0, "n2": 1}


def test_partitions_take_the_clusters_order_and_all_nodes_where_they_name_none() -> None:
    short = Partition("short", ("n2", "n1"))
    cluster = ClusterDescription("small", NODES, (short, Partition("all", is_default=True)))
    assert cluster.nodes_of(short) == ("n1", "n2")
    assert cluster.partition_named("").name == "all"
    with pytest.raises(ValueError, match=r"has no partition gpu; it has short, all"):
        cluster.partition_named("gpu")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"nodes": ()}, "has no nodes"),
        ({"nodes": (*NODES, Node("n1", 1))}, "has node n1 twice"),
        ({"partitions": (Partition("p", ("n9",)),)}, "partition p names node n9, which is not defined"),
        ({"reservations": (AdvanceReservation("r", 0, 1, nodes=("n9",)),)}, "reservation r names node n9"),
        ({"accounts": (Account("a", "b"),)}, "account a has parent b, which is not defined"),
        ({"accounts": (Account("a", "b"), Account("b", "a"))}, "account a is its own ancestor"),
        ({"members": (AccountUser("u", "a"),)}, "user u is in account a, which is not defined"),
    ],
)
def test_names_must_be_defined_once(parts: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClusterDescription(**({"name": "small", "nodes": NODES} | parts))


def test_the_scheduler_is_one_we_know() -> None:
    with pytest.raises(ValueError, match="expected a scheduler of slurm, pbs"):
        SchedulerSettings("lsf")


def test_limits_and_gates_are_checked() -> None:
    with pytest.raises(ValueError, match="expected one of all, user"):
        Limit("qos", "normal", "running", "team", "cpu", 3)
    with pytest.raises(ValueError, match="days from 0"):
        Gate((7,), 0, 10)


# differing: What changed is listed value by value.

CLUSTER = ClusterDescription(
    "one",
    tuple(Node(f"n{k}", 16, 64000) for k in range(1, 9)),
    (Partition("batch", is_default=True, max_time_s=3600), Partition("gpu", ("n1",))),
    (Account("physics"),),
    (AccountUser("fred", "physics"),),
    (ServiceQuality("normal"),),
    (Limit("cluster", "", "running", "user", "cpu", 256, source="qmgr.txt:1"),),
    licences={"matlab": 4},
    scheduler=SchedulerSettings("pbs", "23.06.06", {"backfill_depth": 1}),
)


def test_a_description_is_itself() -> None:
    moved = replace(CLUSTER, name="two", limits=(replace(CLUSTER.limits[0], source="other:7"),))
    assert changed_values(CLUSTER, moved) == ()


def test_every_change_is_one_line() -> None:
    after = replace(
        CLUSTER,
        nodes=(*(replace(node, memory_mib=128000) for node in CLUSTER.nodes[:7]), Node("new", 8, gpus={"a100": 2})),
        partitions=(
            replace(CLUSTER.partitions[0], max_time_s=None, nodes=("n1", "n2", "n3", "n4", "n5")),
            CLUSTER.partitions[1],
        ),
        members=(AccountUser("fred", "physics", shares=7), AccountUser("ada", "physics")),
        qualities=(),
        limits=(replace(CLUSTER.limits[0], bound=128), Limit("partition", "gpu", "job", "job", "gpu", 2)),
        licences={},
        scheduler=SchedulerSettings("pbs", "23.06.06", {"backfill_depth": 3, "by_queue": True}),
    )
    assert [str(row) for row in changed_values(CLUSTER, after)] == [
        "~ node n[1-7]: memory_mib: 64000 -> 128000",
        "- node n8: cores 16, memory_mib 64000, cpus 16",
        "+ node new: cores 8, gpus a100 2, cpus 8",
        "~ partition batch: nodes: none -> n[1-5]",
        "- partition batch: max_time_s: 3600",
        "- QOS normal: as usual",
        "~ user fred in physics: shares: 1 -> 7",
        "+ user ada in physics: account physics",
        "~ limit cluster running cpu of each user: 256 -> 128",
        "+ limit partition gpu job gpu of each job: 2",
        "- licence matlab: 4",
        "~ scheduler backfill_depth: 1 -> 3",
        "+ scheduler by_queue: True",
    ]


def test_names_that_no_hostlist_has_stay_as_they_are() -> None:
    parts = replace(CLUSTER, nodes=(Node("n1[0]", 8), Node("n1[1]", 8)), partitions=())
    more = replace(parts, nodes=tuple(replace(node, memory_mib=64) for node in parts.nodes))
    assert [str(row) for row in changed_values(parts, more)] == ["~ node n1[0], n1[1]: memory_mib: 0 -> 64"]


def test_the_order_of_nodes_counts() -> None:
    turned = replace(CLUSTER, nodes=CLUSTER.nodes[::-1])
    assert changed_values(CLUSTER, turned) == (ChangedValue("order of nodes", "as before", "another one"),)


# files: Files are read plain or packed, and broken ones are named.


def test_packed_files_are_read_and_broken_ones_named(tmp_path: Path) -> None:
    packed = tmp_path / "qmgr.txt.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbfset server x = 1\n\n# note\n"))
    file = read_text_file(packed)
    assert (file.name, list(file.lines())) == ("qmgr.txt", [(1, "set server x = 1")])
    packed.write_bytes(packed.read_bytes()[:20])
    with pytest.raises(
        ConfigurationError, match=r"qmgr.txt.gz: expected a file that can be read, but: .*Copy it again"
    ):
        read_text_file(packed)


# nodes: What a node must have.


def test_threads_count_as_cpus_unless_the_scheduler_says_otherwise() -> None:
    assert Node("n1", 8, threads_per_core=2).cpus == 16
    assert Node("n1", 8, threads_per_core=2, cpus=8).cpus == 8
    assert Node("n1", 8, gpus={"a100": 2, "v100": 1}).num_gpus == 3


@pytest.mark.parametrize("bad", [{"cores": 0}, {"cores": 4, "memory_mib": -1}, {"cores": 4, "gpus": {"a100": -2}}])
def test_counts_must_be_possible(bad: dict) -> None:
    with pytest.raises(ValueError, match="node n1"):
        Node("n1", **bad)


# notes: The table decides what is said of a key, and a remark names its place.


def test_words_and_numbers() -> None:
    entry = Entry("f", 3, "k", " Yes ")
    assert boolean_of(entry) and entry.source == "f:3 k"
    assert integer_of(Entry("f", 3, "k", "-7"), least=None) == -7
    with pytest.raises(ConfigurationError, match=r"f:3: expected a whole number from 0 as k, found ' Yes '"):
        integer_of(entry)


def test_a_key_that_is_off_changes_nothing() -> None:
    table = {"round_robin": KnownKey(NOT_MODELLED, "jobs would come in turn", ("false",)), "log": KnownKey("no effect")}
    notes = Notes()
    for key, value in (("round_robin", "False"), ("log", "3"), ("colour", "red")):
        notes.by_table(table, Entry("f", 1, key, value))
    assert set(said(notes.remarks, "no effect")) == {"round_robin", "log"}
    assert set(said(notes.remarks, "unknown")) == {"colour"}
    notes.by_table(table, Entry("f", 2, "round_robin", "True"))
    assert said(notes.remarks, NOT_MODELLED) == {"round_robin": "jobs would come in turn"}


# peaks: Peaks of what jobs had at a time.

JOBS = pl.DataFrame(
    {
        "job_id": ["a", "b", "c", "d"],
        "user": ["u", "u", "v", "u"],
        "begin_s": [0, 5, 0, 10],
        "end_s": [10, 20, 50, 20],
        "promised_s": [10, 25, 60, 30],
        "amount": [4, 4, 16, 4],
    }
)


def test_peaks_by_user() -> None:
    assert peaks_over(JOBS, "user", 8).rows() == [("v", 16, "c", 1)]
    assert sorted(peaks_over(JOBS, "user", 7).rows()) == [("u", 8, "b", 2), ("v", 16, "c", 1)]
    assert peaks_over(JOBS, None, 20).select("peak", "starts").rows() == [(24, 2)]
    assert peaks_over(JOBS, None, 24).height == 0


def test_what_running_jobs_may_still_use() -> None:
    assert outstanding_over(JOBS, "user", 99).sort("user").rows() == [("u", 140, "b", 2), ("v", 960, "c", 1)]
    assert outstanding_over(JOBS, "user", 960).height == 0


def test_a_suspended_job_holds_nothing_and_may_run_for_longer() -> None:
    suspensions = pl.Series(
        "suspensions", [[{"from_s": 2, "to_s": 5}, {"from_s": 6, "to_s": 10}], None, [], None], SUSPENSIONS_TYPE
    )
    spans = held_spans(JOBS.with_columns(suspensions))
    columns = ("job_id", "begin_s", "end_s", "promised_s")
    assert spans.filter(pl.col("job_id") == "a").select(columns).rows() == [("a", 0, 2, 10), ("a", 5, 6, 13)]
    assert spans.filter(pl.col("job_id") != "a").select(columns).equals(JOBS[1:].select(columns))
    assert held_spans(JOBS.with_columns(pl.lit(None, SUSPENSIONS_TYPE).alias("suspensions"))).height == JOBS.height


# remarks: Remarks name file, line and effect.

REMARKS = (
    Remark("qmgr.txt", 3, "backfill_depth", "1", MODELLED, place="scheduler.backfill_depth"),
    Remark("qmgr.txt", 9, "backfill_depth", "2", MODELLED, place="scheduler.backfill_depth"),
    Remark("sched_config", 7, "load_balancing", "true", NOT_MODELLED, "loaded nodes would get no job"),
    Remark("pbsnodes.json", 0, "colour", "", UNKNOWN_KEY),
)


def test_a_remark_is_one_line_with_its_place() -> None:
    assert str(REMARKS[2]) == "sched_config:7: load_balancing=true: loaded nodes would get no job"
    assert str(REMARKS[3]) == "pbsnodes.json: colour"
    assert remarks_of(REMARKS, NOT_MODELLED, UNKNOWN_KEY) == REMARKS[2:]


def test_the_last_line_is_the_source_of_a_value() -> None:
    assert sources_by_place(REMARKS) == {"scheduler.backfill_depth": "qmgr.txt:9"}


def test_a_kind_is_one_of_the_list() -> None:
    with pytest.raises(ValueError, match="expected a kind of modelled, not modelled, unknown"):
        Remark("f", 1, "k", "v", "odd")


def test_an_error_says_where_what_and_how() -> None:
    error = ConfigurationError("maui.cfg", 4, "a number as MAXPROC, found 'many'", "Write MAXPROC=64 or MAXPROC=64,128")
    assert str(error) == "maui.cfg:4: expected a number as MAXPROC, found 'many'. Write MAXPROC=64 or MAXPROC=64,128"


# reservations: Reservations and gates are checked where they are made.


def test_a_reservation_ends_after_it_begins() -> None:
    with pytest.raises(ValueError, match="ends before it begins"):
        AdvanceReservation("maint", 100, 100)


def test_a_gate_has_minutes_of_a_day() -> None:
    with pytest.raises(ValueError, match="minutes are from 0 to 1440"):
        Gate((0,), 1440, 0)


def test_a_cluster_without_partitions_holds_any_queue() -> None:
    limit = Limit("partition", "long", "running", "user", "jobs", 2)
    gate = Gate((0,), 0, 60, partition="night")
    cluster = ClusterDescription("c", (Node("n1", 4), Node("n2", 4)), limits=(limit,), gates=(gate,))
    assert [each.name for each in cluster.queues] == ["", "long", "night"] and cluster.has_queue("batch")
    assert cluster.partition_named("long").name == "long"
    assert cluster.partition_named("batch") == cluster.partition_named("") == Partition("", is_default=True)
    assert cluster.nodes_of(cluster.partition_named("batch")) == ("n1", "n2")
    described = replace(cluster, partitions=(Partition("main"),))
    assert described.queues == described.partitions and not described.has_queue("batch")
    with pytest.raises(ValueError, match="has no partition batch; it has main"):
        described.partition_named("batch")
