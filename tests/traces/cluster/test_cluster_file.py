"""Tests of traces/cluster: checking, gpu_types, toml_reading, toml_writing."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.traces.cluster.clusters import CLUSTER as TOML_READING_CLUSTER
from tests.traces.cluster.clusters import DESCRIBED, REMARKS
from tests.traces.pbs.pbs_lines import golden_folder
from traces.cluster import toml_writing
from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.checking import contradictions_with_log
from traces.cluster.description import Absence, ClusterDescription, Gate, Node, Partition, SchedulerSettings
from traces.cluster.notes import ConfigurationError, DescribedCluster
from traces.cluster.toml_reading import parse_cluster_toml, read_cluster_file
from traces.cluster.toml_writing import LEFT_OUT_KINDS, cluster_toml, rules_toml
from traces.pbs.configuration.folder import read_pbs_cluster
from traces.pbs.reader import read_pbs

# checking: Contradictions between a description and a log are found where they were planted, and nowhere else.

CLUSTER = ClusterDescription(
    "mine",
    tuple(Node(f"n{k}", 16, 64000, {"a100": 2} if k == 1 else {}) for k in range(1, 5)),
    (Partition("batch", is_default=True, max_time_s=86400), Partition("gpu", ("n1",), max_nodes=1)),
    (Account("physics"), Account("optics", "physics"), Account("biology")),
    (AccountUser("fred", "optics"), AccountUser("ada", "biology")),
    (ServiceQuality("normal"), ServiceQuality("high")),
)
MONDAY_S = 1_772_409_600
"""2026-03-02, 0 o'clock UTC."""
HOUR = 3600


def job(number: int, **changes: Any) -> dict[str, Any]:
    """A job of 16 processors and two hours, one each three hours."""
    begin_s = MONDAY_S + number * 3 * HOUR
    usual = {
        "job_id": str(number), "submit_s": begin_s - 60, "start_s": begin_s, "end_s": begin_s + 2 * HOUR, "procs": 16, "nodes": 1,
        "gpus": 0,        "memory_mib": 1000, "requested_walltime_s": 4 * HOUR,
        "user_name": "fred", "group_name": "g", "account": "optics", "queue": "batch",
        "qos": "normal", "node_names": [f"n{number % 4 + 1}"],
    }  # fmt: skip
    return usual | changes


JOBS = [job(k) for k in range(8)]


def texts(cluster: ClusterDescription, *planted: dict[str, Any]) -> list[str]:
    return [str(each) for each in contradictions_with_log(cluster, pl.DataFrame([*JOBS, *planted]))]


def test_a_log_may_name_hosts_of_several_nodes() -> None:
    parts = tuple(Node(f"n1[{k}]", 8, 64000, {"a100": 2}, host="n1") for k in range(2))
    assert texts(replace(CLUSTER, nodes=(*parts, *CLUSTER.nodes[1:]), partitions=CLUSTER.partitions[:1])) == []


def test_a_gpu_of_a_type_counts_once_in_all() -> None:
    """Two jobs at a time have a GPU each, and one of them names its type."""
    together = {"start_s": MONDAY_S, "end_s": MONDAY_S + HOUR, "procs": 8, "node_names": ["n1"], "gpus": 1}
    planted = (job(8, **together, gpu_types="a100=1"), job(9, **together))
    bounds = {"gpu": 2, "gpu:a100": 1}
    for resource, bound in bounds.items():
        limits = [Limit("cluster", "", "running", "all", resource, most) for most in (bound, bound - 1)]
        assert texts(replace(CLUSTER, limits=limits[:1]), *planted) == []
        (broken,) = texts(replace(CLUSTER, limits=limits[1:]), *planted)
        assert f"{bound:,} of {resource} running" in broken or f"asks for {bound:,} of {resource}" in broken


def test_a_log_of_this_cluster_has_none() -> None:
    limits = (Limit("cluster", "", "running", "user", "cpu", 16), Limit("qos", "normal", "job", "job", "cpu", 16))
    assert texts(replace(CLUSTER, limits=limits, valid_from_s=MONDAY_S - 60)) == []
    assert contradictions_with_log(CLUSTER, pl.DataFrame({"job_id": ["1"], "procs": [4]})) == ()


LIMITS = {
    "user": (Limit("cluster", "", "running", "user", "cpu", 24, source="qmgr.txt:61 max_run_res.ncpus"),),
    "account": (Limit("account", "physics", "running", "all", "jobs", 1),),
    "qos": (Limit("qos", "high", "job", "job", "cpu", 8),),
    "typed": (Limit("qos", "normal", "job", "job", "gpu:a100", 1), Limit("qos", "normal", "job", "job", "gpu", 2)),
    "least": (Limit("partition", "batch", "job", "job", "nodes", 1, is_least=True),),
    "submitted": (Limit("user", "optics/fred", "submitted", "all", "jobs", 1),),
    "maxps": (Limit("cluster", "", "outstanding", "user", "cpu", 16 * 4 * HOUR, who="fred"),),
    "own": (
        Limit("cluster", "", "running", "user", "cpu", 16),
        Limit("cluster", "", "running", "user", "cpu", 32, who="fred"),
    ),
}


@pytest.mark.parametrize(
    ("changes", "planted", "expected"),
    [
        ({}, {"queue": "old"}, "unknown partition: the log has partition old, the description does not (job 9)"),
        ({}, {"account": "maths"}, "unknown account: the log has account maths, the description does not"),
        ({}, {"qos": "urgent"}, "unknown QOS: the log has QOS urgent"),
        ({}, {"user_name": "eve"}, "unknown user: the log has user eve"),
        ({}, {"user_name": "ada"}, "no member: user ada has jobs in account optics"),
        ({}, {"node_names": ["n4", "n5"]}, "unknown node: jobs ran on n5, which the description lacks"),
        ({}, {"node_names": ["box[0]", "n1"]}, "unknown node: jobs ran on box[0], which the description lacks"),
        ({"nodes": (*CLUSTER.nodes, Node("n5", 16))}, {}, "unused nodes: no job ran on 1 of 5 nodes: n5"),
        ({}, {"features": "fast&ib*2"}, "unknown feature: jobs require fast, ib, which no node of the description has"),
        ({"limits": LIMITS["user"]}, {"procs": 32, "start_s": None},
         "could never run: one job asks for 32 of cpu, over 24 for all that are running (qmgr.txt:61 max_run_res.ncpus)"),
        ({}, {"procs": 80, "start_s": None}, "too many processors: jobs of batch ask for up to 80 processors, and it gives at most 64"),
        ({}, {"nodes": 2, "queue": "gpu"}, "too many nodes: jobs of gpu ask for up to 2 nodes, and it gives at most 1"),
        ({}, {"gpus": 3}, "too many GPUs: jobs of batch ask for up to 3 GPUs, and it gives at most 2"),
        ({}, {"gpus": 1, "requested_gpu_types": "k80=1"},
         "too many GPUs: jobs of batch ask for up to 1 GPUs of type k80, and it gives at most 0"),
        ({"limits": LIMITS["typed"]}, {"gpus": 2, "gpu_types": "a100=2"},
         "limit of a job: one job may have at most 1 of gpu:a100 (qos normal), and has 2"),
        ({}, {"memory_mib": 130000, "nodes": 2}, "too much memory: jobs of batch ask for up to 65,000 MiB on a node"),
        ({}, {"requested_walltime_s": 86401}, "too long: jobs of batch ask for up to 86,401 seconds, and it gives at most 86,400"),
        ({"partitions": (Partition("batch", state="down"),)}, {}, "closed partition: jobs started in batch, whose state is down"),
        ({"partitions": (Partition("batch", allow_qos=("high",)),)}, {}, "not allowed: qos normal has jobs in batch"),
        ({"partitions": (Partition("batch", deny_accounts=("optics",)),)}, {}, "not allowed: account optics has jobs in batch"),
        ({"valid_from_s": MONDAY_S + HOUR}, {}, "earlier log: the description holds from 2026-03-02 01:00, and the log begins at"),
        ({"nodes": (replace(CLUSTER.nodes[0], absences=(Absence(MONDAY_S, None, "drain"),)), *CLUSTER.nodes[1:])}, {},
         "node away: jobs started on n1, which was in state drain from 2026-03-02 00:00"),
        ({"gates": (Gate((0,), 8 * 60, 16 * 60, over_time_s=3 * HOUR),)}, {}, "closed gate: jobs started from minute 480 to 960"),
        ({"gates": (Gate((0,), 20 * 60, 3 * 60, timezone="Europe/Berlin"),)}, {}, "closed gate: jobs started from minute 1200 to 180"),
        ({"limits": LIMITS["user"]}, {"start_s": MONDAY_S + 60},
         "limit broken: user fred had up to 32 of cpu running, over 24 (qmgr.txt:61 max_run_res.ncpus)"),
        ({"limits": LIMITS["account"]}, {"start_s": MONDAY_S + 60},
         "limit broken: all jobs of account physics had up to 2 of jobs running, over 1"),
        ({"limits": LIMITS["qos"]}, {"qos": "high"}, "limit of a job: one job may have at most 8 of cpu (qos high), and has 16"),
        ({"limits": LIMITS["least"]}, {"nodes": 0}, "limit of a job: one job may have at least 1 of nodes (partition batch), and has 0"),
        ({"limits": LIMITS["submitted"]}, {"submit_s": MONDAY_S - 40, "start_s": None, "end_s": MONDAY_S},
         "limit broken: all jobs of user optics/fred had up to 2 of jobs submitted"),
        ({"limits": LIMITS["maxps"]}, {"start_s": MONDAY_S + 60}, "limit broken: user fred had up to 459,840 of cpu outstanding"),
        ({"limits": LIMITS["own"]}, {"start_s": MONDAY_S + 60, "procs": 17},
         "limit broken: user fred had up to 33 of cpu running, over 32"),
        ({}, {"start_s": MONDAY_S + 60, "procs": 64}, "too small: jobs had up to 80 processors at a time, and the cluster has 64"),
    ],
)  # fmt: skip
def test_planted_contradictions_are_found(changes: dict[str, Any], planted: dict[str, Any], expected: str) -> None:
    cluster = replace(CLUSTER, **changes)
    planted = {"end_s": MONDAY_S + HOUR} | planted if "start_s" in planted else planted
    said = texts(cluster, *([job(9, **planted)] if planted else []))
    assert any(text.startswith(expected) for text in said), said
    assert len(said) == 1 or "partition" in expected or planted.get("procs"), said


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ([(2, None), (0, None)], []),
        ([(2, None), (1, None)], ["jobs had up to 3 GPUs at a time, and the cluster has 2"]),
        ([(None, None), (2, None)], []),  # nobody knows
        ([(1, "A100=1"), (1, "a100=1"), (1, "v100=1")], ["jobs had up to 3 GPUs at a time, and the cluster has 2"]),
    ],
)
def test_gpus_in_use_at_a_time(held: list[tuple[int | None, str | None]], expected: list[str]) -> None:
    together: dict[str, Any] = {"start_s": MONDAY_S, "end_s": MONDAY_S + HOUR, "procs": 2}
    jobs = [job(20 + k, **together, gpus=gpus, gpu_types=types) for k, (gpus, types) in enumerate(held)]
    assert [text.removeprefix("too small: ").partition(" (")[0] for text in texts(CLUSTER, *jobs)] == expected


@pytest.mark.parametrize("any_type", [0, 1])
def test_gpus_of_a_type_in_use_at_a_time(any_type: int) -> None:
    """Nodes have two of a type and four of another. GPUs without a type there may be of any."""
    nodes = (*CLUSTER.nodes[:2], Node("n3", 16, 64000, {"v100": 4}), Node("n4", 16, 64000, {"": any_type}))
    together: dict[str, Any] = {"start_s": MONDAY_S, "end_s": MONDAY_S + HOUR, "procs": 2, "gpus": 1}
    jobs = [job(20 + k, **together, gpu_types="A100=1") for k in range(3)]
    said = texts(replace(CLUSTER, nodes=nodes), *jobs)
    words = "too small: jobs had up to 3 GPUs of type a100 at a time, and the cluster has 2 (job 22)"
    assert said == ([] if any_type else [words])


def test_types_are_the_same_in_any_case() -> None:
    assert texts(CLUSTER, job(9, gpus=2, requested_gpu_types="A100=2")) == []
    (said,) = texts(CLUSTER, job(9, gpus=2, requested_gpu_types="A100=3"))
    assert said.startswith("too many GPUs: jobs of batch ask for up to 3 GPUs of type A100, and it gives at most 2")


@pytest.mark.parametrize(
    ("suspension", "expected"), [((60, HOUR + 60), []), ((60, HOUR), ["limit broken", "too small"]), (None, ["limit broken", "too small"])]
)  # fmt: skip
def test_a_suspended_job_holds_nothing(suspension: tuple[int, int] | None, expected: list[str]) -> None:
    limits = (Limit("cluster", "", "running", "user", "cpu", 64), Limit("cluster", "", "submitted", "user", "jobs", 2))
    suspended = [{"from_s": MONDAY_S + suspension[0], "to_s": MONDAY_S + suspension[1]}] if suspension else None
    first = job(0, procs=40, suspensions=suspended)
    second = job(9, procs=40, submit_s=MONDAY_S, start_s=MONDAY_S + 60, end_s=MONDAY_S + HOUR + 60)
    said = contradictions_with_log(replace(CLUSTER, limits=limits), pl.DataFrame([first, second, *JOBS[3:]]))
    assert [each.kind for each in said if each.kind != "unused nodes"] == expected


def test_reservations_have_queues_of_their_own() -> None:
    assert texts(CLUSTER, job(9, queue="reservation"), job(10, queue="R12"), job(11, queue="S3.head")) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("scenario", "kinds"),
    [
        ("P1", []), ("P2", []), ("P3", []), ("P6", []), ("P7", []),
        ("P4", ["unknown user"]),  # u6 is in no group of resource_group
        ("P5", ["could never run"]),  # 256 processors in a queue of 128
    ],
)  # fmt: skip
def test_recorded_runs_agree_with_their_configuration(scenario: str, kinds: list[str]) -> None:
    folder = golden_folder(scenario)
    log = read_pbs(folder / "accounting.gz")
    queued = log.events.filter(pl.col("record_type") == "Q").join(log.records, on="job_id", how="anti")
    jobs = pl.concat([log.records, queued.with_columns(procs="requested_procs")]).rename({"ctime_s": "submit_s"})
    jobs = jobs.with_columns(memory_mib=pl.col("requested_memory_kb") // 1024)
    cluster = read_pbs_cluster(folder.iterdir(), scenario).description
    assert [each.kind for each in contradictions_with_log(cluster, jobs)] == kinds


# toml_reading: The file of a cluster reads back to the same cluster, and faults name file, line and what was
# expected.

SMALL = """\
name = "mine"

[scheduler]
name = "slurm"

[[nodes]]
names = "n[1-2]"
cores = 4

[[nodes]]
names = "m1"
cores = 8

[[partitions]]
name = "batch"
"""


def test_it_reads_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(cluster_toml(DESCRIBED))
    described = read_cluster_file(path)
    assert described.description == TOML_READING_CLUSTER
    assert described.remarks == tuple(remark for remark in REMARKS if remark.kind in LEFT_OUT_KINDS)
    assert [node.name for node in parse_cluster_toml(SMALL, "mine.toml").description.nodes] == ["n1", "n2", "m1"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cores = 8", "colour = 8", r"mine.toml:12: expected one of .*cores.* in \[nodes\], found the key 'colour'"),
        ("cores = 8", "cores = 2.5", r"mine.toml:12: expected a whole number as cores, found 2.5"),
        (
            "cores = 8",
            "cores = 0",
            r"mine.toml:10: expected values that fit together, but node m1 needs at least 1 core",
        ),
        ("cores = 8", "weight = 2", r"mine.toml:10: expected the key cores in this table of \[\[nodes\]\]"),
        ("cores = 8", "cores = 8\nfeatures = 1", r"mine.toml:13: expected an array in brackets as features, found 1"),
        ("cores = 8", "cores = 8\nresources = 1", r"mine.toml:13: expected a table in braces as resources, found 1"),
        (
            "cores = 8",
            "cores = 8\nabsences = [{ state = 1 }]",
            r"mine.toml:13: expected a table with begin_s, end_s and state",
        ),
        ('names = "m1"', 'names = "m[2-1]"', r"mine.toml:11: expected names such as n\[01-16\] as names"),
        ('names = "m1"', "names = 3", r"mine.toml:11: expected names such as n\[01-16\] as names, found 3"),
        ('names = "m1"\n', "", r"mine.toml:10: expected names of this table of \[\[nodes\]\]"),
        (
            'names = "m1"',
            'names = "n1"',
            r"mine.toml: expected parts that fit together, but cluster mine has node n1 twice",
        ),
        (
            'name = "slurm"',
            'name = "lsf"',
            r"mine.toml:3: expected values that fit together, but expected a scheduler of",
        ),
        ('name = "slurm"', "name = ?", r"mine.toml:4: expected valid TOML, but"),
        (
            'name = "mine"\n',
            'name = "mine"\nvalid_from = 2026-03-01\n',
            r"mine.toml:2: expected a time such as 2026-03-01T00:00:00Z",
        ),
        ('name = "mine"\n', 'name = "mine"\ncolour = 1\n', r"mine.toml:2: expected one of .*, found the key 'colour'"),
        ('name = "mine"\n', "", r"mine.toml: expected a text in quotes as name, found None"),
        (
            'name = "batch"',
            'name = "batch"\nmax_time_s = "1h"',
            r"mine.toml:16: expected a whole number as max_time_s, found '1h'",
        ),
        ("[[partitions]]", "[partitions]", r"mine.toml:14: expected tables \[\[partitions\]\]"),
        ("[scheduler]\n", "scheduler = 3\n[other]\n", r"mine.toml:4: expected one of .* found the key 'other'"),
    ],
)
def test_faults_name_the_line(old: str, new: str, message: str) -> None:
    assert SMALL.count(old)
    with pytest.raises(ConfigurationError, match=message):
        parse_cluster_toml(SMALL.replace(old, new, 1), "mine.toml")


# toml_writing: The file of a cluster: alike nodes are one table, and comments name file and line.


def test_the_file_reads_well() -> None:
    text = toml_writing.cluster_toml(DESCRIBED)
    document = tomllib.loads(text)
    assert [table["names"] for table in document["nodes"]] == ["n02,n01", "g1", "g2", ["box[0]", "box[1]"]]
    assert [table["users"] for table in document["members"]] == [["ada", "bob"], ["eve"]]
    for line in (
        "# Of 6 keys that were read, there are: 4 in this file, 1 not modelled, 1 without effect on schedules.",
        "valid_from = 2026-03-01T00:00:00Z",
        "bf_window = 2880  # slurm.conf:2",
        'names = "n02,n01"  # slurm.conf:4',
        "memory_mib = 64000  # slurm.conf:3",
        "gpus = 4",
        "max_time_s = 90000  # slurm.conf:9 (1-01:00)",
        "over_time_s = 14400  # 4:00 h",
        'effect = "a job would start later"',
    ):
        assert line in text.splitlines(), line


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n1", "n2", "m1", "n3"], "n[1-2],m1,n3"),
        (["n2", "n1"], "n2,n1"),
        (["a1b1", "a1b2", "a2b1", "a2b2"], "a[1-2]b[1-2]"),
        (["box[0]"], ("box[0]",)),
        ([], ""),
    ],
)
def test_hosts_keep_their_order(names: list[str], text: object) -> None:
    assert toml_writing.hosts_value(names) == text


def test_values_and_keys() -> None:
    values = {"t": 'a "b"\x7f', "n": (1, 2.5, True), "m": {"odd key": 1, "": 2}}
    text = "\n".join(
        f"{toml_writing.toml_key(key)} = {toml_writing.toml_value(value)}" for key, value in values.items()
    )
    assert tomllib.loads(text) == {"t": 'a "b"\x7f', "n": [1, 2.5, True], "m": {"odd key": 1, "": 2}}


def test_an_order_that_was_found_is_read_back_and_checked() -> None:
    order = {"policy": "SJF", "backfill": "any", "cycle_s": 121}
    cluster = ClusterDescription("c", (Node("n1", 4),), scheduler=SchedulerSettings(order=order))
    assert parse_cluster_toml(cluster_toml(DescribedCluster(cluster, ())), "c.toml").description == cluster
    head = cluster_toml(DescribedCluster(replace(cluster, scheduler=SchedulerSettings()), ()))
    assert parse_cluster_toml(f"{head}\n{rules_toml(cluster)}", "c.toml").description == cluster
    with pytest.raises(ConfigurationError, match="whole seconds, got cycle_s = 0"):
        parse_cluster_toml(f"{head}\n[scheduler.order]\ncycle_s = 0\n", "c.toml")
