"""Tests of traces/pbs/configuration: files, folder, keys, qmgr, queues, scheduler_files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared import shared_file
from tests.traces.pbs.configuration.configurations import (
    MAUI,
    PBSNODES,
    QMGR,
    SCHED_CONFIG,
    file_of,
    said,
    state_of,
    write_configuration,
)
from tests.traces.pbs.pbs_lines import each_golden, golden_folder
from traces.cluster.description import Node, Partition
from traces.cluster.notes import NOT_MODELLED, ConfigurationError, Entry, KnownKey, Notes
from traces.pbs.configuration import keys
from traces.pbs.configuration.files import entry_amount, files_by_role, role_of, setting_of
from traces.pbs.configuration.folder import is_pbs_configuration, read_pbs_cluster
from traces.pbs.configuration.nodes import ListedNode
from traces.pbs.configuration.qmgr import ServerState, read_qmgr
from traces.pbs.configuration.queues import partitions_of_queues
from traces.pbs.configuration.scheduler_files import read_sched_config

# files: Files are known by their name or by what is in them.


@pytest.mark.parametrize(
    ("name", "text", "role"),
    [
        ("qmgr.txt", "", "print server"),
        ("qmgr_sched.txt", "", "print sched"),
        ("sched_config", "", "sched_config"),
        ("pbsnodes.json", "", "pbsnodes"),
        ("my-server", QMGR, "print server"),
        ("mine", "Sched default\n    state = idle\n", "print sched"),
        ("limits", MAUI, "maui.cfg"),
        ("a", SCHED_CONFIG, "sched_config"),
        ("b", PBSNODES, "pbsnodes"),
        ("README", "hello", None),
    ],
)
def test_roles(name: str, text: str, role: str | None) -> None:
    assert role_of(file_of(name, text)) == role


def test_two_files_of_a_kind_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"b: expected one file of pbsnodes, found a and b"):
        files_by_role([file_of("a", PBSNODES), file_of("b", PBSNODES)])


# folder: A whole configuration as one cluster.


def test_a_folder_is_a_cluster_with_remarks(tmp_path: Path) -> None:
    paths = write_configuration(
        tmp_path, qmgr__txt=QMGR, pbsnodes__txt=PBSNODES, sched_config=SCHED_CONFIG, README="hello"
    )
    assert is_pbs_configuration(paths) and not is_pbs_configuration(paths[3:])
    described = read_pbs_cluster(paths, "mine", "Europe/Berlin")
    cluster = described.description
    assert [(node.name, node.cpus, node.weight) for node in cluster.nodes] == [("n1", 16, 1), ("n2", 32, 2)]
    assert [partition.name for partition in cluster.partitions] == ["short", "big"]
    assert (cluster.scheduler.name, cluster.scheduler.version) == ("pbs", "23.06.06")
    assert cluster.scheduler.values["job_sort_formula"] == "eligible_time - ncpus"
    assert cluster.licences == {"matlab": 12}
    assert len(cluster.limits) == 6
    remarks = described.remarks
    assert said(remarks, "unknown").keys() == {"colour_of_jobs"}
    assert {"load_balancing", "node_fail_requeue", "route_destinations", "resources"} <= said(
        remarks, "not modelled"
    ).keys()
    assert {"print sched", "resource_group"} <= said(remarks, "assumed").keys()
    lines = QMGR.count("\nset ") + SCHED_CONFIG.count("\n")
    named = [
        remark
        for remark in remarks
        if remark.file in ("qmgr.txt", "sched_config") and remark.line and remark.kind != "assumed"
    ]
    assert len({(remark.file, remark.line) for remark in named}) >= lines - 4  # += and the types of resources


def test_torque_with_maui(tmp_path: Path) -> None:
    queues = "create queue short\nset queue short enabled = True\nset queue short started = True\nset server keep_completed = 300\n"
    paths = write_configuration(tmp_path, qmgr__txt=queues, nodes="n1 np=8\nn2 np=8\n", maui__cfg=MAUI)
    cluster = read_pbs_cluster(paths, "mine").description
    assert (cluster.scheduler.name, cluster.num_cpus) == ("maui", 16)
    assert (cluster.partitions[0].factor, cluster.reservations[0].nodes) == (100, ("n1",))
    assert {limit.counts for limit in cluster.limits} == {"outstanding", "waiting_eligible", "running"}


def test_nodes_are_in_the_order_of_node_sort_key(tmp_path: Path) -> None:
    for words, weights, kind in (
        ("ncpus HIGH", [2, 1], "modelled"), ("ncpus HIGH unused", [1, 1], "not modelled"), ("sort_priority LOW", [2, 1], "modelled"),
    ):  # fmt: skip
        config = f'node_sort_key: "{words}" ALL\n'
        paths = write_configuration(tmp_path, pbsnodes__txt=PBSNODES, sched_config=config)
        described = read_pbs_cluster(paths, "mine")
        assert [node.weight for node in described.description.nodes] == weights
        assert "node_sort_key" in said(described.remarks, kind)


def test_hours(tmp_path: Path) -> None:
    paths = write_configuration(
        tmp_path,
        qmgr__txt=QMGR.replace("short", "np_short"),
        pbsnodes__txt=PBSNODES,
        holidays="YEAR 2026\nweekday 0600 1730\n1 Jan 1 none all New Year\n",
        dedicated_time="12/24/2026 08:00 12/24/2026 20:00\n",
    )
    described = read_pbs_cluster(paths, "mine")
    assert [gate.partition for gate in described.description.gates] == ["np_short"]
    assert described.description.reservations[0].flags == ("dedicated",)
    values = described.description.scheduler.values
    assert (values["prime_time"], values["holidays"]) == ("MO,TU,WE,TH,FR 0600-1730", "2026-01-01")


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"pbsnodes.txt: expected a file with the nodes, found none. Run `pbsnodes -av"
    ):
        read_pbs_cluster(write_configuration(tmp_path, qmgr__txt=QMGR), "mine")
    with pytest.raises(
        ConfigurationError, match=r"mine: expected files that fit together, but cluster mine has node n1 twice"
    ):
        read_pbs_cluster(write_configuration(tmp_path, pbsnodes__txt=PBSNODES + PBSNODES), "mine")


@each_golden
def test_recorded_configurations_are_read_without_a_guess(scenario: str) -> None:
    described = read_pbs_cluster(golden_folder(scenario).iterdir(), scenario)
    cluster, remarks = described.description, described.remarks
    assert (len(cluster.nodes), cluster.num_cpus, {node.memory_mib for node in cluster.nodes}) == (32, 512, {65536})
    assert [node.name for node in cluster.nodes if node.num_gpus == 2] == [f"n{k:02}" for k in range(8)]
    assert {part.name: part.tier for part in cluster.partitions} == {
        "workq": 0,
        "high": 100,
        "normal": 50,
        "low": 10,
        "express": 200,
    }
    assert said(remarks, "unknown") == {}
    assert list(said(remarks, "not modelled")) == ["node_fail_requeue"]
    assert set(said(remarks, "assumed").values()) == {"the node has no processors and is left out"}
    values = cluster.scheduler.values
    assert values["strict_ordering"] is (scenario != "P2")
    assert values.get("job_sort_formula") == (
        "eligible_time - min(walltime*sqrt(ncpus), 720)" if scenario == "P3" else None
    )
    limits = {(limit.owner_name, limit.each, limit.resource, limit.bound) for limit in cluster.limits}
    assert limits == (
        {("normal", "user", "jobs", 4), ("low", "all", "cpu", 128), ("", "user", "cpu", 256)}
        if scenario == "P5"
        else set()
    )
    assert [(member.user, member.account, member.shares) for member in cluster.members] == (
        [("u1", "grpA", 50), ("u2", "grpA", 50), ("u3", "grpB", 50), ("u4", "grpB", 25), ("u5", "grpB", 25)]
        if scenario == "P4"
        else []
    )


# keys: Tables of PBS's keys.


@pytest.mark.parametrize(
    "table", [keys.SERVER_KEYS, keys.QUEUE_KEYS, keys.SCHED_KEYS, keys.SCHED_CONFIG_KEYS, keys.VNODE_KEYS]
)
def test_a_key_that_is_left_out_says_what_it_would_have_changed(table: dict[str, KnownKey]) -> None:
    assert all(row.effect for row in table.values() if row.kind == NOT_MODELLED)
    assert all(word == word.lower() for row in table.values() for word in row.harmless)


# notes: Values are checked with file and line, and the table decides what is said of a key.


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        ("bool", "True", True),
        ("bool", "off", False),
        ("count", "3", 3),
        ("int", "-5", -5),
        ("number", "0.5", 0.5),
        ("text", "a b", "a b"),
    ],
)
def test_settings(form: str, text: str, value: object) -> None:
    assert setting_of(Entry("f", 1, "k", text), form) == value


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("bool", "maybe", "True or False"),
        ("count", "-1", "a whole number from 0"),
        ("number", "x", "a number"),
        ("duration", "x", "a duration"),
    ],
)
def test_faults_have_file_line_and_expectation(form: str, text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"f:7: expected {expected}.* as k, found '{text}'"):
        setting_of(Entry("f", 7, "k", text), form)


def test_amounts() -> None:
    amounts = {"walltime": "01:00:00", "mem": "64gb", "scratch": "1mb", "ncpus": "4", "tokens": "2.7"}
    assert [entry_amount(Entry("f", 1, "k", text), name) for name, text in amounts.items()] == [3600, 65536, 1024, 4, 2]
    with pytest.raises(ConfigurationError, match="a number or a size"):
        entry_amount(Entry("f", 1, "k", "much"), "ncpus")


# qmgr: What qmgr prints, in both of its forms.


def test_statements_and_lists() -> None:
    state, _ = state_of(QMGR)
    assert list(state.objects["queue"]) == ["short", "big", "first"]
    assert state.of("queue", "short")["max_run"].value == '[u:PBS_GENERIC=4],[u:"fred"=8]'
    assert state.of("server")["job_sort_formula"].value == "eligible_time - ncpus"
    assert state.resource_type("nodetype") == "string_array" and state.resource_type("ncpus") == ""
    listed, _ = state_of(
        "Sched default\n    sched_host = head\n    preempt_order = SCR\nSched second\n    partition = p\n"
    )
    assert listed.of("sched")["preempt_order"].line == 3
    assert listed.of("sched", "second")["partition"].value == "p"
    shown, _ = state_of(
        "Server: head\n    server_state = Active\n\nQueue: gpu\n    queue_type = Execution\n    Priority = 75\n"
    )
    assert shown.of("queue", "gpu")["Priority"].value == "75" and shown.of("server")["server_state"].line == 2
    printed, _ = state_of(
        "create resource big type=boolean,flag=h\nset sched default log_events = 7\nset sched log_events = 8\n"
    )
    assert printed.resource_type("big") == "boolean" and printed.of("sched")["log_events"].value == "8"


def test_each_hook_is_named_once() -> None:
    _, notes = state_of(
        "create hook check\nimport hook check application/x-python default -\nset hook check enabled = True\nset hook b x = 1"
    )
    assert list(said(notes.remarks, "not modelled")) == ["hook check", "hook b"]


@pytest.mark.parametrize("line", ["what is this", "set colour red = 1", "set queue = 4", "    stray = 1"])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"qmgr.txt:2: expected a statement such as .*, found .*\. Write the output of `qmgr"
    ):
        state_of(f"set server scheduling = True\n{line}\n")


# queues: Queues as partitions, with their nodes.

NODES = (ListedNode(Node("n1", 4)), ListedNode(Node("n2", 4, features=("nodetype=fat",))))


def test_queues() -> None:
    state, notes = state_of(QMGR)
    assert partitions_of_queues(state, NODES, notes) == (
        Partition("short", (), True, "up", 7200, 86400, 80),
        Partition(
            "big", ("n2",), False, "down", None, 86400, 0, allow_groups=("physics",), extra={"default_chunk.nodetype": "fat"}
        ),
    )  # fmt: skip
    left_out = said(notes.remarks, "not modelled")
    assert {"acl_groups": "guests could not use the queue"}.items() <= left_out.items()
    assert {"queue first", "route_destinations"} <= set(left_out)
    assert "default_chunk.nodetype" in said(notes.remarks, "assumed")


def test_nodes_of_a_queue_serve_only_it() -> None:
    state, notes = state_of(QMGR)
    short, big = partitions_of_queues(state, (NODES[0], ListedNode(NODES[1].node, "short")), notes)
    assert (short.nodes, big.nodes) == (("n2",), ("n1",))
    short, big = partitions_of_queues(state, tuple(ListedNode(listed.node, "short") for listed in NODES), notes)
    assert (short.nodes, big.nodes) == ((), ())
    assert "queue big" in said(notes.remarks, "assumed")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Priority = 80", "Priority = high", r"qmgr.txt:5: expected a whole number as Priority, found 'high'"),
        (
            "walltime = 02:00:00",
            "walltime = long",
            r"qmgr.txt:6: expected a duration such as .* as resources_max.walltime",
        ),
        ("short enabled = True", "short enabled = perhaps", r"qmgr.txt:10: expected True or False as enabled"),
    ],
)
def test_faults_of_queues(old: str, new: str, message: str) -> None:
    state, notes = state_of(QMGR.replace(old, new))
    with pytest.raises(ConfigurationError, match=message):
        partitions_of_queues(state, NODES, notes)


# sched_config: The scheduler's own settings, with a remark on every key.


def test_settings_and_remarks() -> None:
    notes = Notes()
    assert read_sched_config(file_of("sched_config", SCHED_CONFIG), notes) == {
        "strict_ordering": True,
        "strict_ordering.non_prime": False,
        "by_queue": True,
        "job_sort_key": "cput LOW, ncpus HIGH",
        "node_sort_key": "sort_priority HIGH",
        "fairshare_decay_factor": 0.5,
        "resources": "ncpus, mem, scratch",
    }
    assert said(notes.remarks, "not modelled") == {
        "load_balancing": "nodes under load would get no job",
        "job_sort_key": "jobs would come by it, and a log does not have it",
    }
    assert [(r.line, r.key, r.value) for r in notes.remarks if r.kind == "unknown"] == [(11, "colour_of_jobs", "red")]
    assert len(notes.remarks) == 11


def test_torque_divides_a_line_by_blanks_too() -> None:
    notes = Notes()
    text = "strict_fifo\ttrue\tALL\nby_queue True prime\nhelp_starving_jobs \t true\t\tALL\nsort_queues: true\tall\n"
    assert read_sched_config(file_of("sched_config", text), notes) == {"by_queue": True}
    assert said(notes.remarks, "not modelled").keys() == {"strict_fifo", "help_starving_jobs", "sort_queues"}
    assert role_of(file_of("a", "by_queue\tTrue\tprime\n")) == "sched_config"
    notes, path = Notes(), shared_file("cases", "logs-and-configurations", "torque-sched_config", "sched_config")
    values = read_sched_config(file_of("sched_config", path.read_text()), notes)
    assert values["by_queue"] is True
    assert said(notes.remarks, "not modelled").keys() >= {"help_starving_jobs", "sort_queues"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("by_queue", r"f:1: expected `name: value` and one of prime, non_prime, all, none, found 'by_queue'"),
        ("by_queue True always", r"f:1: expected `name: value`"),
        ("by_queue: True always", r"f:1: expected `name: value`"),
        ("by_queue: perhaps ALL", r"f:1: expected True or False as by_queue, found 'perhaps'"),
        ("fairshare_decay_time: soon", r"f:1: expected a duration .* as fairshare_decay_time"),
    ],
)
def test_faults_of_sched_config(line: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_sched_config(file_of("f", line), Notes())


# qmgr: Long values that qmgr and qstat wrap.

OPENPBS = """\
Server pbs
    max_run_res.ncpus = [u:PBS_GENERIC=256], [u:anna=512],
\t[o:PBS_ALL=4096]
    job_sort_formula = eligible_time * (queue_priority + pow(ncpus,2)) + fairsh
\tare_perc
    comment = closed on Monday,
    default_queue = workq

Queue: workq
    queue_type = Execution
    acl_users = anna,
\tbert@a = b,carl
    enabled = True
"""
TORQUE = """\
Queue batch
\tqueue_type = Execution
\tacl_users = anna,bert,
                 carl
\tenabled = True
"""


def test_lines_that_qmgr_and_qstat_wrap() -> None:
    state = ServerState()
    read_qmgr(file_of("qmgr.txt", OPENPBS), state, Notes())
    server, queue = state.of("server"), state.of("queue", "workq")
    assert server["max_run_res.ncpus"].value == "[u:PBS_GENERIC=256], [u:anna=512],[o:PBS_ALL=4096]"
    assert server["job_sort_formula"].value.endswith("+ fairshare_perc")
    assert (server["comment"].value, server["default_queue"].value) == ("closed on Monday,", "workq")
    assert (queue["acl_users"].value, queue["acl_users"].line) == ("anna,bert@a = b,carl", 11)
    assert queue["enabled"].line == 13
    state = ServerState()
    read_qmgr(file_of("qmgr.txt", TORQUE), state, Notes())
    assert {key: entry.value for key, entry in state.of("queue", "batch").items()} == {
        "queue_type": "Execution", "acl_users": "anna,bert,carl", "enabled": "True",
    }  # fmt: skip


def test_limits_of_the_wrapped_case() -> None:
    folder = shared_file("cases", "logs-and-configurations", "qmgr-list-wrapped")
    described = read_pbs_cluster([folder / "qmgr.txt", folder / "pbsnodes.txt"], "p")
    cpus = {(x.each, x.who): x.bound for x in described.description.limits if x.resource == "cpu"}
    assert cpus == {("user", ""): 256, ("user", "anna"): 512, ("group", "physics"): 1024, ("all", ""): 4096}
    assert len(described.description.partitions[0].allow_users) == 12
