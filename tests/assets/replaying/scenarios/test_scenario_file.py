"""Tests of assets/replaying/scenarios: planning, scenario_file."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from assets.replaying.running.run import replay_run
from assets.replaying.running.scored_part import PartOptions
from assets.replaying.scenarios.planning import ScenarioPlan, plan_scenarios
from assets.replaying.scenarios.scenario_file import (
    PART_KEYS,
    SCENARIO_KEYS,
    changes_of_lines,
    read_scenarios,
    scenarios_of,
)
from tests.assets.replaying.scenarios.examples import results_of, write_grade
from tests.pipelines.command_line import succeed
from tests.rules import PROJECT
from tests.tiny import busy_log

# planning: Plans: what each scenario becomes, and what is refused before anything is replayed.


def plan_of(scenarios: dict[str, dict[str, object]], **document: object) -> ScenarioPlan:
    return plan_scenarios(scenarios_of({"source": "mine", "scenarios": scenarios, **document}))


def test_what_is_not_given_comes_from_the_base(busy: Path) -> None:
    write_grade("B", "SAF", 12)
    plan = plan_of({"more": {"procs": "+25%"}, "easy": {"backfill": "easy"}}, base={"estimates": "actual", "load": 2})
    assert (plan.base.policy.text, plan.base.settings.backfill, plan.base.settings.estimates) == (
        "SAF",
        "none",
        "actual",
    )
    assert (plan.base.procs, plan.base.settings.load, plan.overridden) == (12, 2.0, ("estimates", "load"))
    more, easy = plan.scenarios
    assert (more.name, more.procs, more.settings.backfill, more.policy.text) == ("more", 15, "none", "SAF")
    assert (easy.procs, easy.settings.backfill, easy.settings.estimates, easy.settings.load) == (
        12,
        "easy",
        "actual",
        2.0,
    )


def test_changes_are_those_of_the_base(busy: Path) -> None:
    scenarios: dict[str, dict[str, object]] = {
        "nodes": {"nodes": -1},
        "own nodes": {"nodes": "+1", "procs_per_node": 5},
        "number": {"procs": 40},
        "load": {"load": "+50%"},
        "factor": {"load": 3},
    }
    plan = plan_of(scenarios, base={"procs": 20, "load": 2})
    assert [each.procs for each in plan.scenarios] == [16, 25, 40, 20, 20]
    assert [each.settings.load for each in plan.scenarios] == [2, 2, 2, 3, 3]


def test_scenarios_of_a_cluster_that_grew(busy: Path) -> None:
    write_grade("B", size_over_time="12 until 86400, then 16")
    outages = busy / "lost.csv"
    outages.write_text("start,end,procs\n90000,95000,2\n")
    asked = {"more": {"procs": "+4"}, "one size": {"procs": 16}, "lost": {"outages": str(outages)}}
    plan = plan_scenarios(scenarios_of({"scenarios": asked}), "mine")
    lacks = {each.name: [(one.start, one.procs) for one in each.settings.outages] for each in plan.scenarios}
    assert lacks == {"more": [(0, 5)], "one size": [], "lost": [(0, 4), (90_000, 2)]}
    wrong = {"estimates": "live:mean", "partitions": {"1": 4}}
    with pytest.raises(ValueError, match="cannot be combined with partitions"):
        plan_scenarios(scenarios_of({"scenarios": {"x": wrong}}), "mine")
    given = {"load": "+10%", "outages": str(outages)}
    with pytest.raises(ValueError, match="which outages needs: leave one of them out"):
        plan_scenarios(scenarios_of({"scenarios": {"x": given}}), "mine")
    with pytest.raises(ValueError, match="estimates") as fault:
        plan_scenarios(scenarios_of({"scenarios": {"x": {"estimates": "none"}}}), "mine")
    assert "fitted" not in str(fault.value), "it has nothing to do with it"
    (both,) = plan_scenarios(scenarios_of({"scenarios": {"x": {"load": 1.1, "procs": 16}}}), "mine").scenarios
    assert (both.settings.load, both.settings.outages) == (1.1, [])
    (half,) = plan_scenarios(scenarios_of({"scenarios": {"x": {"procs": "-50%"}}}), "mine").scenarios
    assert [each.procs for each in half.settings.outages] == [2]
    of_one_size = scenarios_of({"base": {"procs": 16}, "scenarios": {"busier": {"load": "+10%"}}})
    assert plan_scenarios(of_one_size, "mine").base.settings.outages == []


def test_what_a_cluster_lacked_is_squeezed_like_the_submissions(busy: Path) -> None:
    write_grade("B", size_over_time="12 until 86400, then 16")
    answer = results_of({"busier": {"load": "+20%"}, "live": {"estimates": "live"}, "same": {"load": 1.2}})
    rows = {row["scenario"]: row for row in answer.rows.to_dicts()}
    assert all(rows[name]["average_wait_h"] > 0 for name in ("base", "busier", "live", "same"))
    assert rows["live"]["average_wait_h"] != rows["base"]["average_wait_h"]
    said = "found in the log and squeezed like the submissions: the cluster's size over time"
    assert f"busier: {said}" in answer.remarks and not any(text.startswith("live: found") for text in answer.remarks)
    plan = plan_of({"busier": {"load": "+20%"}})
    first, usual = int(plan.trace.rows["submit_s"][0]), plan.scenarios[0]
    run = replay_run(plan.trace, usual.settings, usual.policy)
    assert [(one.start, one.end) for one in run.settings.outages] == [(0, first + round((86_400 - first) / 1.2))]
    again = replay_run(plan.trace, run.settings, usual.policy)
    assert again.settings.outages == run.settings.outages, "they are squeezed once"
    assert again.schedule.start.tolist() == run.schedule.start.tolist()


def test_queues_that_own_processors(busy: Path) -> None:
    write_grade("B", procs=20, partitions='{"7": 16}')
    plan = plan_of({"more": {"procs": "+4"}, "shared": {"partitions": {}}, "other": {"partitions": {"1": 16}}})
    assert plan.base.settings.partitions == {"7": 16}
    assert [(each.procs, each.settings.partitions) for each in plan.scenarios] == [
        (24, {"7": 19}),
        (20, {}),
        (20, {"1": 16}),
    ]
    rows = results_of({"shared": {"partitions": {}}, "split": {"partitions": {"7": 10}}}).rows
    shared, split = rows.filter(pl.col("scenario").is_in(["shared", "split"])).sort("scenario").to_dicts()
    assert (shared["partitions"], split["partitions"]) == (None, "7=10")
    assert split["jobs_wider_than_cluster"] > 0 == shared["jobs_wider_than_cluster"]
    unused = plan_of({"less": {"procs": "-10%"}, "without": {"without_queue": "7"}})
    assert [each.settings.partitions for each in unused.scenarios] == [{"7": 14}, {"7": 16}]
    for wrong, why in {
        "no job is of queue 'gpu': the queues are 2, 1, 7": {"partitions": {"gpu": 4}},
        "own 21 processors, the cluster has 20": {"partitions": {"7": 21}},
        "must own at least 1 processor": {"partitions": {"7": 0}},
        "estimates live cannot be combined with partitions.* The fitted cluster has them: .* partitions = {}": {
            "estimates": "live"
        },
    }.items():
        with pytest.raises(ValueError, match=wrong):
            plan_of({"wrong": why})


def test_a_queue_that_is_gone_still_owns_its_processors(busy: Path) -> None:
    write_grade("B", procs=20, partitions='{"gone": 4}')
    plan = plan_of({"easy": {"backfill": "easy"}})
    assert plan.base.settings.partitions == plan.scenarios[0].settings.partitions == {"gone": 4}


def test_what_is_scored(busy: Path) -> None:
    everything = plan_of({"x": {"policy": "SJF"}})
    assert len(everything.scored) == 400 and everything.scored_words == ""
    part = plan_of({"x": {"policy": "SJF"}}, queue="7")
    assert len(part.scored) == 40 and part.scored_words == "queue 7"
    file = scenarios_of({"source": "mine", "queue": "7", "scenarios": {"x": {"policy": "SJF"}}})
    assert len(plan_scenarios(file, part=PartOptions(queue="1")).scored) == 160
    assert "account" in everything.trace.rows.columns


def test_a_log_by_its_path(busy: Path) -> None:
    plan = plan_scenarios(scenarios_of({"scenarios": {"x": {"policy": "SJF"}}}), str(busy / "mine.swf"))
    assert plan.trace.rows.height == 400 and plan.base.procs == 16


Scenario = dict[str, object]
FAULTS: list[tuple[Scenario, str]] = [
    ({"policy": "SAFF"}, "scenarios: scenario 'x': unknown policy 'SAFF'"),
    ({"backfill": "fast"}, "scenario 'x': unknown backfilling 'fast'; expected one of none, any, easy"),
    ({"estimates": "guessed"}, "scenario 'x': unknown estimates 'guessed'"),
    ({"correction": "never"}, "scenario 'x': unknown correction 'never'"),
    ({"procs": "ten"}, "scenario 'x': procs 'ten': expected a number such as 300, or a change such as +10% or -4"),
    ({"procs": "-16"}, "scenario 'x': procs '-16': nothing is left of the 16 processors of the cluster"),
    ({"nodes": "-4"}, "scenario 'x': nodes '-4': nothing is left"),
    ({"load": "+10"}, "scenario 'x': load '+10': expected a factor such as 1.1"),
    ({"load": 1000}, "scenario 'x': load must be between 0.01 and 100"),
    ({"round_walltimes": "long"}, "scenario 'x': round_walltimes 'long': expected a length of time such as 4h"),
    (
        {"without_queue": "long"},
        "scenario 'x': without_queue 'long': mine has no job of this queue: the queues are 2, 1, 7",
    ),
    ({"without_queue": ["1", "2", "7"]}, "scenario 'x': without_queue: no job of mine is left"),
    ({"estimates": "predicted"}, "scenario 'x': source 'mine' has no predicted run times yet"),
    ({"policy": "learned"}, "scenario 'x': "),
    ({"outages": "gone.csv"}, "scenario 'x': gone.csv: no such file of outages"),
    (
        {"procs_per_node": 4},
        "scenario 'x': procs_per_node says how large the nodes of nodes = ... are: give nodes, too",
    ),
    (
        {"backfill": "conservative", "estimates": "live"},
        "scenario 'x': live estimates cannot be combined with conservative",
    ),
]


@pytest.mark.parametrize(("scenario", "said"), FAULTS, ids=str)
def test_a_wrong_scenario_is_known_before_anything_is_replayed(busy: Path, scenario: Scenario, said: str) -> None:
    plan = plan_of({"good": {"policy": "SJF"}, "x": scenario})
    assert [each.name for each in plan.scenarios] == ["good"] and said in plan.failures["x"]
    with pytest.raises(ValueError) as caught:
        plan_of({"x": scenario})
    assert str(caught.value) == plan.failures["x"]


def test_no_scored_job_is_left(busy: Path) -> None:
    with pytest.raises(ValueError, match="scenario 'x': no scored job is left: take fewer processors away"):
        plan_of({"x": {"without_queue": "7"}}, queue="7")


def test_nodes_of_an_unknown_size(busy: Path) -> None:
    (busy / "plain.swf").write_text(busy_log())
    with pytest.raises(
        ValueError,
        match=r"scenario 'x': nodes '-1': it is not known how many processors a node has: give procs_per_node",
    ):
        plan_scenarios(scenarios_of({"scenarios": {"x": {"nodes": -1}}}), str(busy / "plain.swf"))


def test_a_wrong_base_and_no_source(busy: Path) -> None:
    with pytest.raises(ValueError, match=r"scenarios: \[base\]: unknown policy 'SAFF'"):
        plan_of({"x": {"procs": 4}}, base={"policy": "SAFF"})
    with pytest.raises(ValueError, match="no source: give --source NAME, or write source = "):
        plan_scenarios(scenarios_of({"scenarios": {"x": {"procs": 4}}}))
    with pytest.raises(Exception, match="unknown source 'mime'; did you mean 'mine'"):
        plan_scenarios(scenarios_of({"source": "mime", "scenarios": {"x": {"procs": 4}}}))


# scenario_file: Files of scenarios: what is read, and what every fault says.

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
users = "keep pace"
correction = "doubling"
backfill = "easy"
estimates = "predicted"
[scenarios.queues]
without_queue = ["long", "debug"]
partitions = { gpu = 64, "2" = 8 }
edits = "bf_max_job_test=1000"
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
    assert file.scenarios["queues"] == {
        "without_queue": ["long", "debug"],
        "partitions": {"gpu": 64, "2": 8},
        "edits": ["bf_max_job_test=1000"],
    }
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
SCENARIO_FILE_FAULTS = {
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


@pytest.mark.parametrize("text", SCENARIO_FILE_FAULTS)
def test_a_fault_names_file_scenario_and_way_out(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ValueError) as caught:
        read_scenarios(path)
    said = str(caught.value)
    assert SCENARIO_FILE_FAULTS[text].replace("{path}", str(path)) in said and "\n" not in said


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"gone.toml: no such file of scenarios; write one that has \[scenarios"):
        read_scenarios(tmp_path / "gone.toml")
    with pytest.raises(ValueError, match="is a folder; give the TOML file"):
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
    names = {"partitions": "partition", "edits": "set"}  # an option that is given several times
    assert all(f"--{names.get(key, key).replace('_', '-')} " in options for key in SCENARIO_KEYS)


# lines: What --set takes: keys of the file, and lines of a configuration.


def test_every_key_of_the_file_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        "procs=+10%",
        "without-queue=a",
        "without_queue=b",
        "partitions=gpu=64,cpu=8",
        "procs_per_node=4",
        "cluster=",
    ]
    assert changes_of_lines([*lines, "edits=bf_interval=60", "qos.normal.MaxJobs=3"], ["new.conf"]) == {
        "procs": "+10%",
        "without_queue": ["a", "b"],
        "partitions": {"gpu": 64, "cpu": 8},
        "procs_per_node": 4,
        "cluster": "",
        "edits": ["new.conf", "bf_interval=60", "qos.normal.MaxJobs=3"],
    }
    assert not capsys.readouterr().err
    assert {*changes_of_lines(f"{key}=1" for key in SCENARIO_KEYS if key != "partitions")} == {*SCENARIO_KEYS} - {
        "partitions"
    }


def test_a_key_of_both_is_said_and_one_of_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert changes_of_lines(["backfill=none"]) == {"backfill": "none"}
    assert "the line of the configuration is edits=backfill=none" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"unknown key 'prosc'; did you mean 'procs'\?"):
        changes_of_lines(["prosc=+10%"])
    with pytest.raises(ValueError, match="load is '2' already: give it once"):
        changes_of_lines(["load=2", "load=3"])


def test_set_takes_a_key_of_the_file(busy: Path) -> None:
    said = succeed("what-if", "mine", "--set", "nodes=1", "--set", "policy=SJF")
    assert "changed: SJF" in said and "changed: 1 node in all, today 4; +1 adds 1" in said
