"""Tests of traces/slurm/configuration: nodes, keys, lines, settings, parts, folder, slurm_conf, units."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.traces.slurm.configuration.slurm_configurations import (
    DUMP,
    FILES,
    QOS,
    SLURM_CONF,
    kinds_of,
    text_file,
)
from traces.cluster.description import Node
from traces.cluster.notes import MODELLED, NOT_MODELLED, ConfigurationError, Entry, Notes
from traces.slurm.configuration import folder, keys, settings, units
from traces.slurm.configuration.keys import GENERAL_KEYS, SLURM_NODE_KEYS
from traces.slurm.configuration.lines import conf_lines
from traces.slurm.configuration.nodes import NODE_FIELDS, GresLines, read_gres_conf
from traces.slurm.configuration.partitions import PARTITION_FIELDS
from traces.slurm.configuration.parts import (
    NodeGroup,
    SlurmParts,
    hosts_place,
    named_hosts,
    note_line,
    note_unused,
    slurm_key,
)
from traces.slurm.configuration.slurm_conf import read_slurm_conf

# gres: gres.conf gives GPUs their types; the line of nodes says how many there are.


def read(text: str, notes: Notes | None = None) -> GresLines:
    return read_gres_conf(text_file("gres.conf", text), lambda path: None, notes or Notes())


def test_types_of_gpus() -> None:
    notes = Notes()
    gres = read(
        "AutoDetect=nvml\nNodeName=g[1-2] Name=gpu Type=a File=/dev/nvidia[0-1] Cores=0-3\n"
        "NodeName=g1 Name=gpu Type=b Count=1\nNodeName=g1 Name=mps Count=200\n",
        notes,
    )
    assert gres.refine(Node("g1", 1, gpus={"": 3}), notes).gpus == {"a": 2, "b": 1}
    assert gres.refine(Node("g2", 1, gpus={"": 4}), notes).gpus == {"": 4}
    assert gres.refine(Node("n1", 1), notes).gpus == {}
    assert kinds_of(notes.remarks, "assumed")["Name"] == "g2 has 4 GPUs, as its line of nodes says, and not 2"
    assert "AutoDetect" in kinds_of(notes.remarks, "assumed") and "Cores" in kinds_of(notes.remarks, "not modelled")


def test_lines_without_nodes_hold_for_all() -> None:
    assert read("Name=gpu Type=a Count=2\n").refine(Node("g1", 1, gpus={"": 2}), Notes()).gpus == {"a": 2}


def test_bad_lines() -> None:
    for text, expected in (("Name=gpu Count=x", "a number such as 4"), ("Name=gpu File=/dev/n[2-1]", "files such as")):
        with pytest.raises(ConfigurationError, match=f"gres.conf:1: expected {expected}"):
            read(text)


# keys: Every row of the tables says what it must, and no key is in two spellings.


def test_rows_of_keys() -> None:
    for table in (keys.GENERAL_KEYS, keys.SLURM_NODE_KEYS, keys.PARTITION_KEYS):
        assert all(name == name.lower() for name in table)
        assert all(row.effect for row in table.values() if row.kind == NOT_MODELLED)
        assert not table.keys() & keys.OLD_SPELLINGS.keys()


def test_modelled_keys_have_a_place() -> None:
    assert {name for name, row in keys.SLURM_NODE_KEYS.items() if row.kind == MODELLED} <= NODE_FIELDS.keys()
    assert {name for name, row in keys.PARTITION_KEYS.items() if row.kind == MODELLED} <= PARTITION_FIELDS.keys()


# lines: Lines of slurm.conf: comments, continued lines, quotes, included files, and what is none.

TEXT = 'A=1 # one\n\nNodeName=n1 \\\n  # not a line of its own\n  Feature=x \\\n  Reason="two words"\r\ninclude more.conf\nB = 2\n'


def test_each_key_has_its_own_line() -> None:
    more = text_file("more.conf", "C=3\\#4\n")
    lines = list(conf_lines(text_file("slurm.conf", TEXT), {"more.conf": more}.get))
    said = [(entry.file, entry.line, entry.key, entry.value) for line in lines for entry in line.entries]
    assert said[0] == ("slurm.conf", 1, "A", "1")
    assert ("slurm.conf", 3, "NodeName", "n1") in said
    assert said[-2:] == [("more.conf", 1, "C", "3\\#4"), ("slurm.conf", 8, "B", "2")]


def test_a_continued_line_is_one_line() -> None:
    text = 'NodeName=n1 \\\n  Feature=x \\\n  Reason="two words"\n'
    (line,) = conf_lines(text_file("slurm.conf", text))
    assert [(entry.line, entry.key, entry.value) for entry in line.entries] == [
        (1, "NodeName", "n1"),
        (2, "Feature", "x"),
        (3, "Reason", "two words"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "A=1\nSlurmctldHost={{ host }}\n",
            r"f:2: expected a configuration, but this is a template: .*Render it first",
        ),
        ("{% if x %}\n", r"f:1: expected a configuration, but this is a template"),
        ("A=1\nA=1 what is this\n", r"f:2: expected pairs such as CPUs=4 with blanks between, found 'what is this'"),
        (
            "A=1\nInclude /etc/slurm/no.conf\n",
            r"f:2: expected the file /etc/slurm/no.conf, .*Copy it next to slurm.conf",
        ),
        ("Include f\n", r"f:1: expected a file that does not include itself"),
    ],
)
def test_faults_have_file_and_line(text: str, message: str) -> None:
    file = text_file("f", text)
    with pytest.raises(ConfigurationError, match=message):
        list(conf_lines(file, {"f": file}.get))


# parameter_keys: Every word of the lists in slurm.conf has its row, and those that are left out say what they would
# have changed.


def test_rows_of_words() -> None:
    tables = [settings.SCHEDULER_PARAMETERS, settings.QOS_FLAGS, *settings.WORD_LISTS.values()]
    for table in tables:
        assert all(name == name.lower() and (row.effect or row.kind != NOT_MODELLED) for name, row in table.items())
    assert settings.WORD_LISTS.keys() <= GENERAL_KEYS.keys()
    assert set(settings.OLD_PARAMETERS.values()) <= settings.SCHEDULER_PARAMETERS.keys()
    assert "bf_interval" in settings.SCHEDULER_PARAMETERS


# parts: What scontrol shows of a node counts more than its line, and splits the group of the line.


def entry(key: str, value: str) -> Entry:
    return Entry("f", 1, key, value)


def test_shown_nodes_are_merged() -> None:
    parts = SlurmParts([NodeGroup(("n1", "n2"), {"cpus": entry("CPUs", "4")})], listed_nodes={"n1", "n2"})
    parts.merge_nodes([NodeGroup(("n2", "n3"), {"state": entry("State", "DOWN")})])
    assert [(group.names, sorted(group.attributes)) for group in parts.groups] == [
        (("n1",), ["cpus"]),
        (("n2",), ["cpus", "state"]),
        (("n3",), ["state"]),
    ]


def test_names_and_remarks() -> None:
    assert slurm_key(entry("Procs", "")) == "cpus" and hosts_place(("n2", "n1")) == "nodes.n[1-2]"
    assert named_hosts(entry("NodeName", "n[1,2]")) == ("n1", "n2")
    with pytest.raises(ConfigurationError, match="f:1: expected a list of names such as"):
        named_hosts(entry("NodeName", "n[2-1]"))
    notes = Notes()
    note_line(
        SLURM_NODE_KEYS, {"cpus": entry("CPUs", "4"), "blue": entry("Blue", "1")}, {"cpus": "cpus"}, "nodes.n1", notes
    )
    note_unused({1: entry("Weight", "4")}, set(), notes)
    assert [(remark.kind, remark.place) for remark in notes.remarks] == [
        ("modelled", "nodes.n1.cpus"),
        ("unknown", ""),
        ("no effect", ""),
    ]


# roles: Files are known by their name or by what is in them.


@pytest.mark.parametrize(
    ("name", "text", "role"),
    [
        ("config.txt", "", folder.SHOWN_CONFIG),
        ("scontrol_show_nodes.txt", "", folder.SHOWN_NODES),
        ("my-cluster.conf", SLURM_CONF, folder.SLURM_CONF),
        ("accounts", DUMP, folder.ACCOUNTS_DUMP),
        ("limits", QOS, folder.QOS_TABLE),
        ("g", FILES["gres.conf"], folder.GRES_CONF),
        ("t", FILES["topology.conf"], folder.TOPOLOGY_CONF),
        ("r", FILES["reservations.txt"], folder.SHOWN_RESERVATIONS),
        ("users", "add account a\n", folder.SACCTMGR_COMMANDS),
        ("p", "PartitionName=a\n   AllowGroups=ALL\n", folder.SHOWN_PARTITIONS),
        ("ctld.log", "NodeName=n1", None),
        ("README", "hello", None),
    ],
)
def test_slurm_roles(name: str, text: str, role: str | None) -> None:
    assert folder.slurm_role_of(text_file(name, text)) == role


def test_one_file_of_a_kind_is_taken() -> None:
    notes = Notes()
    files = [
        text_file("old.conf", SLURM_CONF),
        text_file("slurm.conf", SLURM_CONF),
        text_file("nodes.conf", FILES["nodes.conf"]),
    ]
    by_role = folder.slurm_files_by_role([*files, text_file("README", "hello")], notes)
    assert by_role == {folder.SLURM_CONF: files[1]}
    assert "of the same kind" in kinds_of(notes.remarks, "assumed")["file"]
    assert [remark.file for remark in notes.remarks] == ["README", "old.conf"]
    with pytest.raises(ConfigurationError, match=r"b.conf: expected one file of slurm.conf, found a.conf and b.conf"):
        folder.slurm_files_by_role([text_file("a.conf", SLURM_CONF), text_file("b.conf", SLURM_CONF)], Notes())


# slurm_conf: slurm.conf with DEFAULT lines, sets of nodes and included files.


def test_defaults_hold_for_later_lines() -> None:
    notes = Notes()
    nodes = text_file("nodes.conf", FILES["nodes.conf"])
    parts = read_slurm_conf(text_file("slurm.conf", SLURM_CONF), {"nodes.conf": nodes}.get, notes)
    cpus = {group.names[0]: (group.attributes["cpus"].value, group.attributes["cpus"].line) for group in parts.groups}
    assert cpus == {"n01": ("16", 1), "g1": ("32", 3), "f1": ("64", 4)}
    assert parts.partitions["gpu"]["maxtime"].value == "04:00:00" and parts.partitions["all"]["maxtime"].value == "1-0"
    assert parts.settings["clustername"].value == "small" and list(parts.nodesets) == ["thin"] and len(parts.downs) == 1
    assert kinds_of(notes.remarks, "unknown").keys() == {"Colour"}
    assert kinds_of(notes.remarks, "not modelled") == {
        "AllowQos": "jobs that it keeps out are refused when they are submitted; a log has only those that were taken",
        "OverSubscribe": "jobs that ask for it would share CPUs with others",
        "LLN": "jobs would be put on the node that is least loaded",
    }


def test_a_default_that_nothing_takes_is_named() -> None:
    notes = Notes()
    text = "CPUs=2 NodeName=n1\nNodeName=DEFAULT Weight=4\nKillWait=30\nKillWait=60\nFrontendName=head\n"
    parts = read_slurm_conf(text_file("slurm.conf", text), lambda path: None, notes)
    assert parts.settings["killwait"].value == "60"
    assert kinds_of(notes.remarks, "no effect").keys() == {"NodeName", "Weight", "KillWait", "FrontendName"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "NodeName=n1\nNodeName=n[1-2]\n",
            r"slurm.conf:2: expected each node once, but n1 is in an earlier line too as NodeName",
        ),
        (
            "PartitionName=a\nPartitionName=a\n",
            r"slurm.conf:2: expected each partition once, but a is in an earlier line too",
        ),
        ("NodeName=n[1-\n", r"slurm.conf:1: expected a list of names such as n\[01-16\]"),
    ],
)
def test_bad_lines_of_slurm_conf(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_slurm_conf(text_file("slurm.conf", text), lambda path: None, Notes())


# units: Values of Slurm's configuration have units, and others are refused with file, line and what was expected.


def entry_of_units(text: str) -> Entry:
    return Entry("slurm.conf", 7, "Key", text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 5400), ("10:30", 630), ("01:30:00", 5400), ("7-0", 604800), ("1-02:03", 93780), ("2-00:00:05", 172805)],
)
def test_times(text: str, seconds: int) -> None:
    assert units.span_s(entry_of_units(text)) == seconds
    assert units.span_s(entry_of_units("UNLIMITED")) is None and units.plain_seconds(entry_of_units("30")) == 30


def test_sizes_and_amounts() -> None:
    assert [units.mib_of(entry_of_units(text)) for text in ("64000", "64G", "1T", "2048K", "1.5G")] == [
        64000,
        65536,
        1048576,
        2,
        1536,
    ]
    text = "cpu=384,mem=800000M,node=4,gres/gpu=8,gres/gpu:a100=2,license/matlab=3,bb/datawarp=-1"
    assert units.tres_amounts(entry_of_units(text)) == {
        "cpu": 384, "mem": 800000, "nodes": 4, "gpu": 8, "gpu:a100": 2, "licence:matlab": 3, "bb/datawarp": -1,
    }  # fmt: skip
    assert units.tres_weights(entry_of_units("CPU=1.5,Mem=0.5G,GRES/gpu=-2")) == {
        "cpu": 1.5,
        "mem": 0.5 / 1024,
        "gpu": -2.0,
    }
    text = "gpu:a100:4(S:0-1),gpu:v100:no_consume:2,mps:200,tape"
    assert units.gres_amounts(entry_of_units(text)) == ({"a100": 4, "v100": 2}, {"mps": 200, "tape": 1})
    assert units.gres_amounts(entry_of_units("gpu:2")) == ({"": 2}, {}) and units.words_of(" a, b,") == ("a", "b")


@pytest.mark.parametrize(
    ("reader", "text", "expected"),
    [
        (units.span_s, "soon", "a time such as 90"),
        (units.yes_or_no, "maybe", "YES or NO"),
        (units.mib_of, "much", "a size such as 64000"),
        (units.tres_amounts, "cpu", "resources such as cpu=384"),
        (units.tres_amounts, "cpu=x", "a number such as 4 or 2K"),
        (units.tres_weights, "CPU=a", "weights such as"),
        (units.gres_amounts, "gpu:a:b:2", "resources such as gpu:4"),
        (lambda e: units.slurm_setting(e, "weights"), "CPU=1,Mem=lots", "weights such as CPU=1.0"),
        (lambda e: units.slurm_setting(e, "number"), "x", "a number such as 0.5"),
    ],
)
def test_faults(reader: Callable[[Entry], object], text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^slurm.conf:7: expected {expected}.* as Key, found '{text}'"):
        reader(entry_of_units(text))


def test_settings_have_forms() -> None:
    values = {"text": ("CR_Core, X", "cr_core,x"), "bool": ("YES", True), "span": ("1-0", 86400), "seconds": ("30", 30)}
    values |= {
        "mib": ("2G", 2048),
        "weights": ("CPU=1,Mem=0.25G", "cpu=1,mem=0.25g"),
        "number": (".5", 0.5),
        "int": ("-3", -3),
    }
    assert {form: units.slurm_setting(entry_of_units(text), form) for form, (text, _) in values.items()} == {
        form: value for form, (_, value) in values.items()
    }
    assert units.slurm_setting(entry_of_units("INFINITE"), "span") == -1
