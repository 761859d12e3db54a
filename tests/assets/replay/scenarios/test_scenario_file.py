"""Files of scenarios: what is read, and what every fault says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assets.replay.scenarios.scenario_file import PART_KEYS, SCENARIO_KEYS, read_scenarios, scenarios_of
from tests.pipelines.command_line import succeed
from tests.rules import PROJECT

GOOD = """
source = "kth-sp2"
period = "last-month"
from = 2026-03-01
to = 3600
queue = "long"
user = "u1"
account = "a1"

[base]
policy = "SAF"
outages = "outages.csv"

[scenarios."10 % more processors"]
procs = "+10%"
[scenarios."4 nodes off"]
nodes = -4
procs_per_node = 32
[scenarios.more]
procs = 512
load = 1.2
cluster = "campus"
round-walltimes = "4h"
without_queue = "long"
inspector = "unfit"
reserve_by = "requested"
admit_by = "requested"
correction = "doubling"
backfill = "easy"
estimates = "predicted"
[scenarios.queues]
without_queue = ["long", "debug"]
partitions = { gpu = 64, "2" = 8 }
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "s.toml"
    path.write_text(text)
    return path


def test_a_file_is_read_with_amounts_as_texts(tmp_path: Path) -> None:
    file = read_scenarios(written(tmp_path, GOOD))
    assert file.source == "kth-sp2"
    assert file.part.model_dump() == {
        "period": "last-month", "begin": "2026-03-01", "end": "3600", "queue": "long", "user": "u1", "account": "a1"
    }  # fmt: skip
    assert file.base == {"policy": "SAF", "outages": "outages.csv"}
    assert list(file.scenarios) == ["10 % more processors", "4 nodes off", "more", "queues"]
    assert file.scenarios["4 nodes off"] == {"nodes": "-4", "procs_per_node": 32}
    more = file.scenarios["more"]
    assert (more["procs"], more["load"], more["round_walltimes"], more["without_queue"]) == (
        "512",
        "1.2",
        "4h",
        ["long"],
    )
    assert file.scenarios["queues"] == {"without_queue": ["long", "debug"], "partitions": {"gpu": 64, "2": 8}}
    assert more["cluster"] == "campus"
    assert set(SCENARIO_KEYS) == {key for table in (file.base, *file.scenarios.values()) for key in table}


def test_a_place_is_a_file_a_line_and_a_scenario(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    file = read_scenarios(path)
    assert file.at("scenarios", "more") == f"{path}:19: scenario 'more'"
    assert file.at("scenarios", "more", "load") == f"{path}:21: scenario 'more'"
    assert file.at("base", "policy") == f"{path}:11: [base]"
    assert file.at("nowhere") == str(path)
    with pytest.raises(ValueError, match=r"^.*s.toml:19: scenario 'more': too many"), file.naming("scenarios", "more"):
        raise ValueError("too many")


ONE = "[scenarios.x]\n"
FAULTS = {
    "": "{path}: no scenario; write one such as [scenarios.\"10 % more processors\"] and below it procs = \"+10%\"",
    "[scenarios]\n": "{path}: no scenario",
    "scenarios = 3\n": "{path}: no scenario",
    f"x = {'[' * 100_000}": "{path}: no file of scenarios: brackets are nested too deep",
    'a = = 3\n': "{path}:1: not valid TOML: ",
    f"{ONE}procs = \n": "{path}:2: not valid TOML: ",
    f"{ONE}": "{path}:1: scenario 'x': changes nothing: give it a key such as procs = \"+10%\", or leave it out",
    f"{ONE}proc = 3\n": "{path}:2: scenario 'x': unknown key 'proc'; did you mean 'procs'? keys are policy, backfill, ",
    f"{ONE}zzz = 3\n": "{path}:2: scenario 'x': unknown key 'zzz'; keys are policy",
    f"scenario = 1\n{ONE}procs = 3\n": "{path}:1: unknown key 'scenario'; did you mean 'scenarios'? keys are source, period, ",
    f"{ONE}procs = true\n": "{path}:2: scenario 'x': procs must be a number, or a text such as \"+10%\" or \"-64\", found True",
    f"{ONE}nodes = [1]\n": "scenario 'x': nodes must be a number, or a text such as",
    f"{ONE}load = []\n": "scenario 'x': load must be a number, or a text such as \"+20%\", found []",
    f"{ONE}policy = 3\n": "{path}:2: scenario 'x': policy must be a text in quotes, found 3",
    f"{ONE}round_walltimes = {{}}\n": "round_walltimes must be a length of time in quotes, such as \"4h\"",
    f"{ONE}procs_per_node = 0\n": "procs_per_node must be a whole number from 1 on, found 0",
    f"{ONE}without_queue = [3]\n": "without_queue must be the name of a queue in quotes, or a list of names, found [3]",
    f"{ONE}partitions = 3\n": "partitions must be a table of queues and the processors that each owns, such as { gpu = 64 }, found 3",
    f"{ONE}partitions = {{ gpu = 1.5 }}\n": "partitions must be a table of queues",
    f"{ONE}procs = 3\nnodes = 4\n": "{path}:3: scenario 'x': procs and nodes both say how large the cluster is: leave one out",
    "[scenarios]\nx = 3\n": "{path}:2: scenario 'x': expected a table of keys such as procs = \"+10%\", found 3",
    "[scenarios.base]\nprocs = 3\n": "scenario 'base': 'base' is a row of the results already: give the scenario another name",
    "[scenarios.log]\nprocs = 3\n": "'log' is a row of the results already",
    '[scenarios." "]\nprocs = 3\n': "a name has 1 to 60 letters, all of them printable: give it another one",
    f"source = 3\n{ONE}procs = 3\n": "{path}:1: source must be the name of a source, found 3",
    f"queue = true\n{ONE}procs = 3\n": "{path}:1: queue must be a text in quotes, found True",
    f"{ONE}procs = 3\n[base]\npolicie = 3\n": "{path}:4: [base]: unknown key 'policie'; did you mean 'policy'?",
}  # fmt: skip


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_names_file_scenario_and_way_out(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ValueError) as caught:
        read_scenarios(path)
    said = str(caught.value)
    assert FAULTS[text].replace("{path}", str(path)) in said and "\n" not in said


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"gone.toml: no such file of scenarios; write one that has \[scenarios"):
        read_scenarios(tmp_path / "gone.toml")
    with pytest.raises(ValueError, match="cannot be read as a UTF-8 text file"):
        read_scenarios(tmp_path)
    (tmp_path / "odd.toml").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="cannot be read as a UTF-8 text file"):
        read_scenarios(tmp_path / "odd.toml")


def test_a_document_has_no_lines() -> None:
    with pytest.raises(ValueError, match=r"^scenarios: scenario 'x': unknown key 'proc'"):
        scenarios_of({"scenarios": {"x": {"proc": 3}}})


def test_every_key_is_in_the_table_and_an_option_of_replay() -> None:
    page = (PROJECT / "docs" / "guides" / "what-if.md").read_text()
    table = {
        key
        for line in page.splitlines()
        if line.startswith("| `")
        for key in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert {*SCENARIO_KEYS, "source", *PART_KEYS} <= table
    options = succeed("replay", "--help")
    names = {"partitions": "partition"}  # an option that is given several times
    assert all(f"--{names.get(key, key).replace('_', '-')} " in options for key in SCENARIO_KEYS)
