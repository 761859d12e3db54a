"""Tests of tracehouse/cli/commands: replay, compare.

`tracehouse replay` and `tracehouse compare`, as their users meet them.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from papers.deep_back_filling.episodes import PlacingBatch, PlacingRules
from papers.deep_back_filling.networks import play_episodes
from papers.deep_back_filling.placing_file import placing_to_bytes
from papers.deep_back_filling.trials import agent_of, new_network
from papers.rlscheduler.inspecting import INSPECTOR_BASES, inspector_base, policy_of_base
from papers.rlscheduler.rules import POLICIES, replay_rlscheduler
from simulator.metrics.metrics import METRICS, SEMANTICS
from simulator.policies.registry import POLICY_NAMES
from tests.papers.deep_back_filling.small import small_options
from tests.papers.rlscheduler.test_rules import LUBLIN_PROCS, lublin
from tests.pipelines.command_line import GOOD, call, fail, succeed, told_of, use_home
from tests.shared import shared_file
from tests.tiny import busy_log, swf_line
from tracehouse import load_log

LUBLIN_AVERAGES = {"average_wait_s": 97_155.9945, "average_bounded_slowdown": 590.0538}  # of two other simulators

PLUG_INS = """
import numba


def narrow(procs, wait):
    return procs - wait / 3600


@numba.njit
def compiled(procs, wait):
    return procs - wait / 3600


def broken(procs):
    return procs / undefined
"""


# What is printed.


def test_replay_of_lublin_equals_two_other_simulators(catalogue: Path, tmp_path: Path) -> None:
    log, out = shared_file("traces", "swf", "lublin_256.swf.gz"), tmp_path / "schedule.csv"
    golden = shared_file("golden", "replay", "lublin-1-easy.starts").read_text().split()
    told = json.loads(succeed("replay", log, "--json", "--schedule", out))
    assert {name: round(told[name], 4) for name in LUBLIN_AVERAGES} == LUBLIN_AVERAGES
    assert (told["policy"], told["backfill"], told["estimates"], told["procs"]) == ("FCFS", "easy", "requested", 256)
    assert (told["trace"], told["jobs"], told["jobs_left_out"], told["semantics"]) == (str(log), 10_000, 0, SEMANTICS)
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["job_id", "submit_time", "start_time", "runtime_s", "procs"]
    starts = {row["job_id"]: row["start_time"] for row in rows}
    assert len(rows) == len(starts) == 10_000
    assert starts == dict(zip(golden[::2], golden[1::2], strict=True))
    assert not (Path(os.environ["TRACEHOUSE_HOME"]) / "warehouse").exists()  # a replay of a path leaves nothing


def test_json_is_one_object_with_every_setting_count_and_metric(log: Path) -> None:
    told = told_of(log, "-p", "wfp3", "--trim", "0.1")
    assert set(METRICS) | {f"trimmed_{name}" for name in METRICS} <= set(told)
    assert all(isinstance(told[name], float) for name in METRICS)
    assert (told["policy"], told["backfill"], told["estimates"], told["correction"], told["rules"]) == (
        "WFP3", "easy", "requested", "requested", "standard"
    )  # fmt: skip
    assert (told["procs"], told["procs_from"], told["jobs"], told["semantics"]) == (16, "header", 400, SEMANTICS)
    assert 0 < told["hindsight_least_average_wait_s"] < told["average_wait_s"]
    assert told["hindsight_least_average_turnaround_s"] < told["average_turnaround_s"]
    assert sum(row["jobs"] for row in told["by_class"]) == 400
    assert re.fullmatch(r"[0-9a-f]{64}", told["trace_sha256"])
    assert re.fullmatch(r"\d+\.\d+\.\d+\+[0-9a-f]+", told["engine"])


def test_text_tells_the_same_as_json(mine: str) -> None:
    text, told = succeed("replay", mine, "-p", "sjf", "--backfill", "none"), told_of(mine, "-p", "sjf", "-b", "none")
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith("  ")}
    assert (lines["policy"], lines["backfill"], lines["jobs"]) == (["SJF"], ["none"], ["400"])
    assert [float(cell.replace(",", "")) for cell in lines["wait_s"]] == pytest.approx(
        [told[f"{statistic}_wait_s"] for statistic in ("average", "median", "p90", "p95", "p99", "max")], abs=0.6
    )
    for name in ("utilisation", "loss_of_capacity", "max_user_wait_s", "hindsight_least_average_wait_s"):
        assert float(lines[name][0].replace(",", "")) == pytest.approx(told[name], abs=0.6, rel=1e-3), name


def test_a_malformed_log_is_counted(catalogue: Path, tmp_path: Path) -> None:
    log = tmp_path / "faulty.swf"
    log.write_text("; MaxProcs: 4\n" + "".join([
        swf_line(1, 100, 5, 50, 4, 80),
        swf_line(2, 100, 0, 60, 2, 40),  # same second, ran past its request
        swf_line(3, 90, 0, 10, 1, 20),  # out of order
        swf_line(3, 120, 0, 10, 1, 20),  # id seen before
        swf_line(4, 130, 0, 10, 5, 20),  # wider than the cluster
        swf_line(5, 130, 30, 0, 2, 600, status=5),  # cancelled before it started
    ]))  # fmt: skip
    assert "job of 5 processors on a cluster of 4" in fail("replay", log, "--procs", "4")
    told = told_of(log, "--drop-wider", "--procs", "4")
    counts = ("jobs", "jobs_left_out", "requests_below_runtime", "jobs_out_of_order", "equal_submit_times",
              "repeated_job_ids", "jobs_wider_than_cluster", "cancelled_jobs")  # fmt: skip
    assert {name: told[name] for name in counts} == dict(zip(counts, (4, 1, 1, 1, 1, 1, 1, 0), strict=True))
    told = told_of(log, "--drop-wider", "--procs", "4", "--cancelled")
    assert {name: told[name] for name in counts} == dict(zip(counts, (5, 0, 1, 1, 1, 1, 1, 1), strict=True))
    assert told["jobs_cancelled"] == 1  # at 160, the second in which there would have been room for it


# Settings.


@pytest.fixture(scope="module")
def first_jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The header and the first 2,500 jobs of a log, which are read in a tenth of the time."""
    path = tmp_path_factory.mktemp("first") / "lublin_256.swf"
    with gzip.open(shared_file("traces", "swf", "lublin_256.swf.gz"), "rt") as lines:
        path.write_text("".join(itertools.islice(lines, 2600)))
    return path


@pytest.fixture
def head(first_jobs: Path, catalogue: Path) -> Path:
    """That log, and a home in which nothing has happened yet."""
    return first_jobs


@pytest.mark.parametrize("policy", [name for name in POLICY_NAMES if name != "learned"])
def test_every_policy_by_name(mine: str, policy: str) -> None:
    assert told_of(mine, "--policy", policy.upper())["policy"].lower() == policy.lower()


def test_backfilling_estimates_and_corrections_change_the_schedule(mine: str) -> None:
    rules = ("none", "easy", "easy-sjbf", "conservative", "selective:threshold=4")
    told = [told_of(mine, "--backfill", rule) for rule in rules]
    assert [each["backfill"] for each in told] == list(rules)
    assert len({each["average_wait_s"] for each in told}) == len(rules)
    assert told[0]["backfilled_share"] == 0 < told[1]["backfilled_share"]
    assert told_of(mine, "--estimates", "actual")["average_wait_s"] != told[1]["average_wait_s"]
    for correction in ("increments", "doubling"):
        assert told_of(mine, "--correction", correction)["correction"] == correction


def test_a_window_is_its_jobs_alone(mine: str) -> None:
    told = told_of(mine, "--window", "100:64")
    assert (told["jobs"], told["window"]) == (64, "100:64")
    warm = told_of(mine, "--window", "100:64", "--warm-start")
    assert warm["running_jobs"] > 0 and warm["utilisation"] != told["utilisation"]
    assert (warm["jobs"], told["running_jobs"], told["waiting_jobs"]) == (64, 0, 0)
    for options in ((), ("--warm-start",)):
        lines = [line.split() for line in succeed("replay", mine, "--window", "100:64", *options).splitlines()]
        for name in ("running_jobs", "waiting_jobs"):
            assert ([name, str(warm[name])] in lines) == bool(options)
    assert "the trace has 400 jobs to replay" in fail("replay", mine, "--window", "390:64")
    assert "expected START:LENGTH" in fail("replay", mine, "--window", "390-400")


def test_outages_take_processors(mine: str, tmp_path: Path) -> None:
    table = tmp_path / "outages.csv"
    table.write_text("start,end,procs\n0,2000000,8\n")
    told, whole = told_of(mine, "--outages", table, "--drop-wider"), told_of(mine)
    assert (told["outages"], told["outage_list"][0]["procs"]) == (1, 8)
    table.write_text("start,end,procs\n0,,15\n")
    assert "can never start: the outages never leave it enough" in fail("replay", mine, "--outages", table)
    assert told["average_wait_s"] > whole["average_wait_s"]
    table.write_text("start,end,procs\n0,100,8\n5,3,1\n")
    assert fail("replay", mine, "--outages", table).startswith(f"{table}:3: expected an end after the start 5")
    assert "no such file of outages" in fail("replay", mine, "--outages", tmp_path / "none.csv")


def test_the_rlscheduler_rules_are_those_of_that_code(head: Path) -> None:
    told = told_of(head, "--rules", "rlscheduler", "--policy", "wfp3", "--window", "0:512", "--backfill", "none")
    right = told_of(head, "--rules", "rlscheduler-corrected", "-p", "wfp3", "--window", "0:512", "--backfill", "none")
    assert (told["rules"], told["estimates"], told["correction"]) == ("rlscheduler", "as logged", None)
    assert "utilisation_as_coded" in told
    assert told["average_wait_s"] != right["average_wait_s"]  # the wait-time bug
    assert "the RLScheduler rules have no --warm-start" in fail(
        "replay", head, "--rules", "rlscheduler", "--warm-start"
    )
    assert "unknown policy of the RLScheduler rules" in fail(
        "replay", head, "--rules", "rlscheduler", "--policy", "tetris"
    )


@pytest.mark.parametrize("base", [base for base in INSPECTOR_BASES if policy_of_base(base) not in POLICIES])
def test_bases_that_only_inspectors_have_are_policies_of_those_rules(head: Path, base: str) -> None:
    name = policy_of_base(base)
    told = told_of(head, "--rules", "rlscheduler-corrected", "-p", name.lower(), "--window", "1981:512", "-b", "none")
    jobs = lublin("lublin_256.swf.gz").window(1981, 512)
    expected = replay_rlscheduler(jobs, LUBLIN_PROCS, inspector_base(base), False, wait_bug=False)
    assert told["policy"] == name
    assert told["average_wait_s"] == pytest.approx(float((expected.start - jobs.submit).mean()))


def test_an_agent_that_decides_all_starts(tmp_path: Path, catalogue: Path) -> None:
    """The starts of a window are those of its episode, and the command says who decides."""
    log, file = tmp_path / "jobs.swf", tmp_path / "agent.json"
    log.write_text(busy_log(120))
    options = small_options(longest_s=90_000)
    network = new_network(16, options)
    file.write_bytes(placing_to_bytes(agent_of(network, 16, options, {})))
    result = call("replay", log, "-b", file, "--window", "20:80", "--schedule", tmp_path / "starts.csv")
    assert result.exit_code == 0 and f"{file} decides all starts" in result.stderr
    jobs = load_log(log).trace().jobs()
    batch = PlacingBatch(jobs, 16, 1, PlacingRules(4, 2, 80, 80, longest_s=90_000))
    play_episodes(network.actor, batch, np.array([20]), None)
    with (tmp_path / "starts.csv").open(newline="") as rows:
        assert [int(row["start_time"]) for row in csv.DictReader(rows)] == batch.start[0].tolist()
    assert "leave --policy out" in fail("replay", log, "-b", file, "-p", "SAF")
    assert "give --procs 16, or train" in fail("replay", log, "-b", file, "--procs", "20")
    assert "this is an agent of Deep Back-Filling" in fail("replay", log, "-p", file)


# Policies of the user's own.


def test_plug_ins_of_a_file_compiled_or_not_give_the_same(mine: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUG_INS)
    for backfill in ("easy", "selective"):  # each compiles for seconds; every rule: tests/simulator
        plain = told_of(mine, "--policy", f"{file}:narrow", "--backfill", backfill)
        compiled = told_of(mine, "--policy", f"{file}:compiled", "--backfill", backfill)
        assert plain["policy"] == f"{file}:narrow"
        assert {name: plain[name] for name in METRICS} == {name: compiled[name] for name in METRICS}
    assert plain["average_wait_s"] != told_of(mine, "--backfill", "selective")["average_wait_s"]
    message = fail("replay", mine, "--policy", f"{file}:broken")
    assert f"policy {file}:broken failed in line 15: NameError: name 'undefined' is not defined" in message
    assert "which function? It has narrow, compiled, broken" in fail("replay", mine, "--policy", file)
    assert "nosuch" in fail("replay", mine, "--policy", f"{file}:nosuch")
    assert "none.py" in fail("replay", mine, "--policy", f"{tmp_path / 'none.py'}:narrow")


def test_formulas_order_the_queue(mine: str) -> None:
    first, last = told_of(mine, "-p", "formula:-walltime"), told_of(mine, "-p", "SJF")
    assert first["policy"] == "formula:-walltime"
    assert {name: first[name] for name in METRICS} == {name: last[name] for name in METRICS}


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("wait / (", "this parenthesis is never closed (column 8)"),
        ("wait + nosuch", "nosuch"),
        ("wait / (ncpus - ncpus)", "division by zero"),
        ("__import__('os')", "__import__"),
        ("", "empty"),
    ],
)
def test_formula_faults_are_pointed_at(mine: str, formula: str, says: str) -> None:
    message = fail("replay", mine, "--policy", f"formula:{formula}")
    assert says in message
    assert "^" in message or not formula


# Files and saved runs.


def test_plots_and_schedule_are_written(log: Path, tmp_path: Path) -> None:
    schedule, folder = tmp_path / "starts.csv", tmp_path / "new" / "plots"
    text = succeed("replay", log, "--schedule", schedule, "--plots", folder)
    assert "average" in text
    assert sorted(path.name for path in folder.iterdir()) == ["gantt.png", "usage.png", "waits.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.iterdir())
    assert len(schedule.read_text().splitlines()) == 401


@pytest.mark.parametrize(("asked", "procs"), [("30", 30), ("+25%", 20), ("-6", 10), ("+16", 32)])
def test_a_cluster_may_be_changed(mine: str, asked: str, procs: int) -> None:
    told = told_of(mine, "--procs", asked, "--drop-wider")
    assert (told["procs"], told["procs_from"]) == (procs, "command line")
    assert (told["jobs_wider_than_cluster"] > 0) == (procs < 16)


def test_a_change_that_is_rounded_says_its_share(mine: str) -> None:
    """Before, 2 of 16 processors more were said to be 10 %."""
    assert "+10% is +12.5 % here: 18 processors instead of 16" in call("replay", mine, "--procs", "+10%").stderr


def test_a_change_of_the_cluster_that_is_none(mine: str) -> None:
    assert "procs '10%': expected a number such as 300" in fail("replay", mine, "--procs", "10%")
    assert "nothing is left of the 16 processors" in fail("replay", mine, "--procs", "-16")
    assert "procs must be at least 1" in fail("replay", mine, "--procs", "0")


def test_plots_of_a_small_cluster(catalogue: Path, tmp_path: Path) -> None:
    log = tmp_path / "small.swf"
    log.write_text("; MaxProcs: 4\n" + "".join(swf_line(k, 10 * k, 0, 100, 1 + k % 4) for k in range(1, 30)))
    succeed("replay", log, "--plots", tmp_path)
    assert (tmp_path / "gantt.png").exists()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home with the source `mine`, its runs fcfs, fcfs-easy, fcfs-conservative and saf-easy, and one called wfp3."""
    folder = tmp_path_factory.mktemp("saved")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, folder / "home")
        (folder / "mine.swf").write_text(busy_log())
        succeed("ingest", folder / "mine.swf")
        succeed("run", "mine", "--job", "replay_runs")
        succeed("replay", "mine", "--policy", "WFP3", "--save", "wfp3")
        yield


@pytest.fixture
def mine(saved: None) -> str:
    """The source with the same log as `log`: a replay of what is loaded already takes a fifth of the time."""
    return "mine"


def rows_of(query: str) -> list[dict]:
    return json.loads(succeed("sql", query, "--format", "json"))


def test_a_saved_run_is_what_was_told(saved: None) -> None:
    runs = {row["run"]: row for row in rows_of("FROM replay.runs")}
    assert {"fcfs", "fcfs-conservative", "fcfs-easy", "saf-easy", "wfp3"} <= set(runs)
    told = told_of("mine", "--policy", "WFP3")
    kept = ("policy", "backfill", "procs", "jobs", "trace_sha256", "engine", "semantics", *METRICS)
    assert {name: runs["wfp3"][name] for name in kept} == {name: told[name] for name in kept}
    (counted,) = rows_of("SELECT count(*) AS jobs, avg(wait_s) AS wait FROM replay.run_jobs WHERE run = 'wfp3'")
    assert (counted["jobs"], counted["wait"]) == (400, pytest.approx(told["average_wait_s"]))


def test_two_runs_compared(saved: None) -> None:
    found = json.loads(succeed("compare", "mine", "fcfs-easy", "wfp3", "--json"))
    assert found["settings"] == {"policy": ["FCFS", "WFP3"]}
    wait = found["metrics"]["average_wait_s"]
    assert wait["difference"] == pytest.approx(wait["b"] - wait["a"])
    text = succeed("compare", "mine", "fcfs-easy", "wfp3")
    assert "wfp3 (B) against fcfs-easy (A), 400 jobs" in text
    assert f"verdict on B over the later 200 jobs: {found['verdict']['word']}" in text


def test_a_part_is_scored_and_not_cut_out(mine: str, tmp_path: Path) -> None:
    """The jobs of a month, or of a user, in a replay of all of them, by hand from its schedule."""
    schedule = tmp_path / "starts.csv"
    told = told_of(mine, "--policy", "SAF", "--period", "2026-01", "--user", "3", "--schedule", schedule)
    assert told["scored"].startswith("the month 2026-01, Thu 2026-01-01 00:00") and told["scored"].endswith(", user 3")
    users = {row["job_id"]: row["user_name"] for row in rows_of("SELECT job_id, user_name FROM core.jobs")}
    with schedule.open() as file:
        waits = [
            int(row["start_time"]) - int(row["submit_time"])
            for row in csv.DictReader(file)
            if users[row["job_id"]] == "3" and int(row["submit_time"]) < 31 * 86_400 - 3600
        ]
    assert told["scored_jobs"] == len(waits) < told["jobs"] == 400
    assert told["average_wait_s"] == pytest.approx(np.mean(waits)) and told["max_wait_s"] == max(waits)
    assert sum(row["jobs"] for row in told["by_class"]) == len(waits) and "hindsight_least_average_wait_s" not in told
    text = succeed("replay", mine, "--period", "last-10-days")
    assert "scored: the last 10 days of the log" in text and "in hindsight" not in text
    assert "unknown period 'may'" in fail("replay", mine, "--period", "may")


def test_runs_are_compared_over_a_part(saved: None) -> None:
    found = json.loads(succeed("compare", "mine", "fcfs-easy", "wfp3", "--period", "last-10-days", "--json"))
    waits = rows_of(
        "SELECT run, avg(run_jobs.wait_s) AS wait, count(*) AS jobs FROM replay.run_jobs JOIN core.jobs USING (source, job_index) "
        "WHERE run IN ('fcfs-easy', 'wfp3') AND submit_time > (SELECT max(submit_time) - INTERVAL 10 DAY FROM core.jobs) GROUP BY run"
    )
    (total, *_), of = found["paired"], {row["run"]: row for row in waits}
    assert total["jobs"] == found["paired_jobs"] == of["wfp3"]["jobs"] < 400
    assert total["average_wait_s"]["b"] == pytest.approx(of["wfp3"]["wait"])
    assert "metrics" not in found and found["verdict"]["scored_jobs"] == total["jobs"]
    text = succeed("compare", "mine", "fcfs-easy", "wfp3", "--from", "2026-01-20", "--to", "2026-01-25")
    assert "compared: submitted Tue 2026-01-20 00:00 to Sun 2026-01-25 00:00 (Europe/Berlin)" in text
    assert "no job user nobody: the commonest are" in fail("compare", "mine", "fcfs-easy", "wfp3", "--user", "nobody")


def test_comparisons_that_cannot_be_made(saved: None) -> None:
    assert "has no saved run 'nosuch'. It has " in fail("compare", "mine", "fcfs", "nosuch")
    assert "unknown source 'nosuch'" in fail("compare", "nosuch", "fcfs", "wfp3")
    assert "has no saved runs yet" in fail("compare", "larch", "fcfs", "wfp3")


def test_settings_that_are_absent_are_told_as_none(saved: None, tmp_path: Path) -> None:
    (tmp_path / "outages.csv").write_text("start,end,procs\n0,100000,4\n")
    result = call("replay", "mine", "--outages", tmp_path / "outages.csv", "--drop-wider", "--save", "fewer")
    assert "Next: tracehouse compare mine fcfs-easy fewer" in result.stderr
    text = succeed("compare", "mine", "fcfs-easy", "fewer")
    assert re.search(r"outages, A +none\n", text) and '"procs": 4' in text
    result = call("replay", "mine", "--window", "0:50", "--save", "early")
    assert result.exit_code == 0 and "tracehouse compare" not in result.stderr  # there is nothing over the same jobs


def test_what_cannot_be_saved(saved: None, tmp_path: Path) -> None:
    assert "not in the warehouse yet" in fail("replay", "larch", "--save", "x")
    (tmp_path / "a.swf").write_text(GOOD.format(n=1))
    assert "runs of a log are not saved" in fail("replay", tmp_path / "a.swf", "--save", "x")
    assert "bad name of a run" in fail("replay", "mine", "--save", "a b")


# Faults.


def test_replay_with_faults(catalogue: Path, tmp_path: Path) -> None:
    log = shared_file("traces", "swf", "lublin_256.swf.gz")
    message = fail("replay", log, "--policy", "LIFO")
    assert "unknown policy 'LIFO'; expected one of FCFS, LCFS, SJF" in message and "policy file (.json)" in message
    message = fail("replay", log, "--procs", "4")
    assert message.startswith(f"{log}:8: a job of 16 processors on a cluster of 4")
    assert "tracehouse run" in fail("replay", log, "--policy", "learned")
    assert "no such policy file" in fail("replay", log, "--policy", tmp_path / "none.json")
    assert "greedy" in fail("replay", log, "--backfill", "greedy")
    (tmp_path / "no.json").write_text("{}")
    assert f"{tmp_path / 'no.json'}: not a policy" in fail("replay", log, "--policy", tmp_path / "no.json")


def test_too_few_processors_of_the_command_line_are_not_told_as_the_catalogues(catalogue: Path) -> None:
    message = fail("replay", shared_file("traces", "swf", "lublin_256.swf.gz"), "--procs", "4")
    assert "--procs" in message and "from the catalogue" not in message


def test_replay_of_a_path_with_predictions_tells_how_to_get_them(catalogue: Path) -> None:
    log = shared_file("traces", "swf", "lublin_256.swf.gz")
    message = fail("replay", log, "--estimates", "predicted")
    assert "no predicted run times" in message
    assert "tracehouse ingest" in message  # a path is no source: `tracehouse run` alone cannot help


def test_replay_of_what_is_not_there(catalogue: Path) -> None:
    assert "no such log file" in fail("replay", "no/such.swf")
    assert "unknown source 'nosuch'; known sources: birch, larch." in fail("replay", "nosuch")
    assert "`tracehouse run birch`" in fail("replay", "birch", "--estimates", "predicted")


def test_a_schedule_that_cannot_be_written_ends_in_a_message(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "a.swf").write_text(GOOD.format(n=1))
    out = tmp_path / "none" / "schedule.csv"
    assert str(out.parent) in fail("replay", tmp_path / "a.swf", "--schedule", out)
