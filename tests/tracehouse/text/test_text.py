"""Tests of tracehouse/text: answers, cluster_text, replay_text, rules_text, tables, training_text, tuning_text,
what_if_text.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from assets.policies.training import PolicyTask
from assets.policies.verdicts import JudgedRules
from assets.replaying.scenarios.results import ScenarioResults
from models.identification.identify import Identification
from models.identification.rules import (
    HOURS,
    ORDER,
    RUNNING_JOBS,
    Bound,
    Evidence,
    IdentifiedRule,
    RejectedRule,
    sentence_of,
)
from models.judging.chance import cloud_around, random_orders
from models.judging.fidelity import agreement_of
from models.judging.judge import judge
from models.judging.panel import Replayed
from simulator.engine.replay import replay
from tests.assets.replaying.own.homes import BEHIND, own_home
from tests.assets.replaying.scenarios.examples import SIX, busy_home, results_of, write_grade
from tests.assets.replaying.tuning.test_tuning import a_tunable, distance, searched
from tests.pipelines.command_line import on_terminal, succeed
from tests.simulator.busy import PROCS, busy_jobs
from tests.traces.cluster.clusters import CLUSTER, DESCRIBED, REMARKS
from tracehouse.text.answers import grouped, in_seconds
from tracehouse.text.cluster_text import cluster_summary, cluster_text, keys_left_out_text, keys_text
from tracehouse.text.replay_text import compare_text
from tracehouse.text.rules_text import identification_text, identification_values, is_worse
from tracehouse.text.tables import TableColumn, cut, fitted_table, folded, terminal_width
from tracehouse.text.training_text import SLURMS_PRIORITY, print_costs, print_ratios
from tracehouse.text.tuning_text import headline, tuned_text
from tracehouse.text.what_if_text import what_if_text

# rules_text: What `tracehouse cluster identify` prints.

RULE = IdentifiedRule(RUNNING_JOBS, "user", 10, evidence=Evidence(34, 31))
WAITS = np.arange(200) * 100
SAME = agreement_of(WAITS, WAITS, WAITS)
RESULT = Identification(
    64,
    (replace(RULE, sentence=sentence_of(RULE)),),
    (IdentifiedRule(HOURS, "all", origin="declared"),),
    (RejectedRule(IdentifiedRule(ORDER, "all", word="SJF"), "the waits fit no better"),),
    7,
    400,
    agreement_of(WAITS, WAITS * 0, WAITS),
    SAME,
    SAME,
)


def test_declared_found_and_unknown_are_told_apart() -> None:
    lines = identification_text("mine", RESULT, False, None).splitlines()
    assert lines[0] == "mine: 1 rule found in the first half of the log"
    assert lines[1] == "  1. Each user has at most 10 running jobs: seen for 31 of 34 that could have had more."
    text = "\n".join(lines)
    assert "declared  hours" in text and "found     1 above" in text
    assert "unknown   size, order, backfilling, cycle (nothing better than what replays assume); memory" in text
    assert "search    7 of at most 400 replays, 1 candidates rejected" in text and "neighbouring months" in text
    assert "Jobs start in the order of SJF. Rejected: the waits fit no better." in identification_text(
        "mine", RESULT, True, None
    )


def test_made_up_waits_have_no_grade_here_either() -> None:
    """It printed a B where `run` says that the header says that no cluster has seen these waits."""
    because = "the log's header says under 'Source' that its waits are not those of a real cluster"
    text = identification_text("mine", RESULT, False, None, no_grade_because=because)
    assert f"No grade: {because}." in text and "grade" in identification_text("mine", RESULT, False, None)
    assert "95th percentile, h  grade" not in text


def test_beside_an_own_scheduler_no_order_is_advised() -> None:
    """It said "declared nothing", and "Next: adopt", which was refused."""
    order = IdentifiedRule(ORDER, "all", word="LCFS", sentence="Jobs start in the order of LCFS.")
    worse = replace(RESULT, rules=(order,), declared=(), before=SAME, after=agreement_of(WAITS, WAITS // 4, WAITS))
    text = " ".join(identification_text("mine", worse, False, None, CLUSTER).split())
    assert f"declared cluster {CLUSTER.name}: 6 nodes with 88 CPUs" in text
    assert "replays are under its own Slurm: no other order is needed" in text
    assert "further from the log's than without them: do not adopt them" in text
    assert is_worse(worse) and not is_worse(RESULT)


def test_values_are_json() -> None:
    rule = replace(RULE, bounds=(Bound("ann", 0, 5),))
    values = json.loads(json.dumps(identification_values(replace(RESULT, rules=(rule,)))))
    assert values["rules"][0]["bounds"] == [{"holder": "ann", "since_s": 0, "value": 5}]
    assert values["rejected"][0]["because"] == "the waits fit no better"


# cluster_text: What people read of a cluster, and of each key of its configuration.


def test_a_cluster_in_words() -> None:
    assert cluster_summary(CLUSTER) == (
        "6 nodes with 88 CPUs and 7 GPUs, 2 partitions, 1 account, 3 users, 1 QOS, 1 limit, 1 reservation, 2 switches; "
        "scheduler: slurm 22.05.8"
    )
    text = cluster_text(DESCRIBED, None)
    for part in ("n02,n01", "2 a100, 1", "batch (default)", "1-01:00", "gpu:a100 running by user", "bf_window = 2880"):
        assert part in text, part
    assert max(map(len, cluster_text(DESCRIBED, 60).splitlines())) <= 60


def test_keys_by_what_became_of_them() -> None:
    rows = [line.split() for line in keys_text(REMARKS, None).splitlines()]
    assert rows[1] == ["slurm.conf", "4", "1"] and rows[-1] == ["all", "files", "4", "1", "1", "0", "1"]
    text = keys_left_out_text(REMARKS, None)
    assert "Not modelled: these keys change schedules, and a replay leaves them out (1):" in text
    assert "  slurm.conf:1: Prolog=/bin/true: a job would start later" in text
    assert keys_left_out_text((), None) == "" and "and 5 more" in keys_left_out_text(REMARKS[4:5] * 45, None)


# replay_text: What `tracehouse replay` and `compare` print of numbers, whatever they are.

METRIC = {"a": 100_000.4, "b": 12.345, "difference": -99_988.055}
INTERVAL = {"ratio": 0.8, "low": 0.7, "high": 0.9, "blocks": 16, "why_none": None}


@pytest.fixture
def comparison() -> dict:
    group = {"jobs_of": "all", "jobs": 1000, "better_share": 0.5, "equal_share": 0.25, "worse_share": 0.25}
    return {
        "source": "mine",
        "run_a": "first",
        "run_b": "second",
        "jobs": 1000,
        "paired_jobs": 999,
        "settings": {"outages": [None, "[]"], "cancelled": [False, True]},
        "metrics": {"average_wait_s": METRIC, "makespan_s": {"a": 1, "b": 2_000, "difference": 1_999}},
        "paired": [group | {"average_wait_s": METRIC, "average_bounded_slowdown": METRIC}],
        "verdict": {
            "word": "trades",
            "is_certain": False,
            "scored_jobs": 500,
            "panel": {
                "bounded_slowdown": {"a": 10.0, "b": 8.0, "ratio": 0.8},
                "wait_s": {"a": 3600.0, "b": 1800.0, "ratio": 0.5},
                "wide_wait_s": {"a": None, "b": None, "ratio": None},
                "lost_capacity": {"a": 0.05, "b": 0.07, "difference": 0.02},
            },
            "payers": ["2.0% more of the capacity lost"],
            "typical_block": {"bounded_slowdown": INTERVAL, "wait_s": INTERVAL | {"why_none": "6 blocks", "low": None}},
        },
    }


def test_numbers_and_differences(comparison: dict) -> None:
    lines = compare_text(comparison).splitlines()
    assert lines[:2] == ["mine: second (B) against first (A), 1,000 jobs", "999 of them started in both"]
    words = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ")}
    assert words["average_wait_s"][:2] == ["100,000", "12.3"]
    assert words["average_wait_s"][2] == "-99,988"
    assert words["makespan_s"] == ["1", "2,000", "+1,999"]
    assert any(line.split() == ["outages,", "A", "none"] for line in lines)
    assert any("50.0 % wait less, 25.0 % as long, 25.0 % longer" in line for line in lines)


def test_the_verdict_says_who_pays_and_how_sure_it_is(comparison: dict) -> None:
    lines = compare_text(comparison).splitlines()
    assert "verdict on B over the later 500 jobs: trades" in lines
    assert "  who pays: 2.0% more of the capacity lost" in lines
    words = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ")}
    assert words["bounded_slowdown"] == [
        "10.0",
        "8.000",
        "0.800",
        *["0.80,", "0.70", "to", "0.90", "(16", "blocks)"],
    ]
    assert words["wait_s"] == ["3,600", "1,800", "0.500", *["0.80,", "none:", "6", "blocks"]]
    assert words["lost_capacity"] == ["0.050", "0.070", "0.020", "(B", "-", "A)"]
    assert "wide_wait_s" not in words
    comparison["verdict"] = {"why_none": "there are outages"}
    assert "no verdict: there are outages" in compare_text(comparison).splitlines()


def test_ratios_of_trained_policies(capsys: pytest.CaptureFixture[str]) -> None:
    jobs, scored = busy_jobs(300), np.arange(300) >= 150
    easy = Replayed(jobs, PROCS, replay(jobs, PROCS, "FCFS", "easy"), scored)
    cloud = cloud_around(easy, lambda order: replay(jobs, PROCS, order, "easy"), random_orders(300)[:4])
    judged = JudgedRules({"key": judge([easy], [easy])}, cloud)
    print_ratios(judged, 150, SLURMS_PRIORITY)
    assert "each over that of Slurm's own priority" in capsys.readouterr().out
    print_ratios(judged, 150)
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert "over its later 150 jobs" in lines[0]
    assert lines[2].split()[:3] == ["key", "1.00", "1.00"] and lines[2].endswith("no difference")
    slowdown, wait = (cloud.spread(name)[0] for name in ("bounded_slowdown", "wait"))
    assert lines[3].split()[:4] == ["random", "order", f"{slowdown:.2f}", f"{wait:.2f}"] and " 5 to 95 %: " in lines[3]
    assert lines[4].startswith("4 random orders: bounded slowdown ")


# tables: What fits the terminal, what is left out of it, and that nothing is left out elsewhere.

COLUMNS = (
    TableColumn("name", 12, right=False),
    TableColumn("mean", 10),
    TableColumn("median", 10, last=1),
    TableColumn("p99", 10, last=2),
)
ROWS = [["first come first served", "1.0", "2.0", "3.0"], ["SJF", "10.5", "20.5", "30.5"]]


def test_usual_widths_where_there_is_room() -> None:
    lines = fitted_table(COLUMNS, ROWS[1:], None)
    assert lines == [
        "name                mean      median         p99",
        "SJF                 10.5        20.5        30.5",
    ]
    assert fitted_table(COLUMNS, ROWS[1:], 48) == lines


def test_narrow_columns_come_first() -> None:
    assert fitted_table(COLUMNS, ROWS[1:], 30) == ["name  mean  median   p99", "SJF   10.5    20.5  30.5"]


def test_what_is_left_out_is_said() -> None:
    lines = fitted_table(COLUMNS, ROWS, 32)
    assert lines[:3] == [
        "name                     mean",
        "first come first served   1.0",
        "SJF                      10.5",
    ]
    assert " ".join(lines[3:]).replace("   ", " ") == (
        "left out for the width of the terminal: median, p99 (a file or a pipe gets all)"
    )
    assert max(map(len, lines)) <= 32


def test_texts_are_cut_at_the_end() -> None:
    assert fitted_table(COLUMNS, ROWS, 20)[1] == "first come fi…   1.0"
    assert cut("abcdef", 4) == "abc…" and cut("abcd", 4) == "abcd"


def test_lines_are_folded() -> None:
    assert folded("  one two three\nfour", 10) == "  one two\n    three\nfour"
    assert folded("  one two three", None) == "  one two three"


def test_the_width_is_of_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert terminal_width() is None
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "77")
    assert terminal_width() == 77


@pytest.mark.parametrize("command", ["sources", "vasp sources", "health mine", "replay mine --cancelled"])
def test_no_line_wraps_at_80_columns(loaded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    whole = succeed(*command.split())
    on_terminal(monkeypatch, 80)
    text = succeed(*command.split())
    assert max(map(len, text.splitlines())) <= 80 < max(map(len, whole.splitlines()))


# what_if_text: What `tracehouse what-if` prints: tables that fit the terminal.

LONG = "a scenario whose name is much longer than any terminal likes"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ScenarioResults:
    with pytest.MonkeyPatch.context() as patch:
        busy_home(patch, tmp_path_factory.mktemp("results"))
        return results_of(SIX | {LONG: {"procs": 20}})


@pytest.mark.parametrize("width", [80, 100, 132, 200])
def test_every_line_fits_the_terminal(results: ScenarioResults, width: int) -> None:
    lines = what_if_text(results, width, 2).splitlines()
    assert max(len(line) for line in lines) <= width
    tables = [line for line in lines if line.startswith(("waits ", "against the base"))]
    assert len(tables) == (1 if width >= 170 else 2)
    for name in SIX:
        assert any(line.startswith(name) for line in lines)
    assert any(line.startswith(LONG[:20]) for line in lines)


def test_nothing_is_cut_for_a_file_or_a_pipe(results: ScenarioResults) -> None:
    lines = what_if_text(results, None, 1).splitlines()
    assert any(line.startswith(f"{LONG} ") for line in lines)
    assert "verdict" in next(line for line in lines if line.startswith("waits "))
    assert not any("…" in line for line in lines)


def test_the_answer_begins_with_base_and_trust(results: ScenarioResults) -> None:
    lines = what_if_text(results, 200, 1).splitlines()
    assert lines[0] == (
        "base: FCFS, backfilling easy, requested times, 16 processors: what most centres run, since neither catalogue nor header name a "
        "scheduler, and no order was fitted to the log yet"
    )
    assert lines[1] == "mine: all 400 jobs, where `tracehouse run` and `compare` judge the later half"
    assert lines[2] == "trust: no grade: `tracehouse run mine` gives it one"
    assert lines[3].startswith("trust: A log does not tell everything: partitions, reservations")


def test_a_good_grade_needs_no_warning(busy: Path) -> None:
    write_grade("A", "FCFS")
    lines = what_if_text(results_of({"x": {"procs": 20}}), 300, 1).splitlines()
    assert lines[2].startswith(
        "trust: grade A: if users submit at the log's times, predicted changes of the mean wait are within 10 % of"
    )
    assert lines[3] == "x: FCFS, backfilling none, requested times, 20 processors" and lines[4].startswith(
        "used: share"
    )


def test_figures_are_those_of_the_rows(results: ScenarioResults) -> None:
    cells = {line[:16].strip(): line.split() for line in what_if_text(results, 200, 1).splitlines()}
    row = results.rows.filter(scenario="base").to_dicts()[0]
    assert f"{row['average_wait_h']:.1f}" in cells["base"] or f"{row['average_wait_h']:.2f}" in cells["base"]
    assert f"{100 * row['utilisation']:.0f}" in cells["base"]


def test_so_many_groups_as_are_asked_for(results: ScenarioResults) -> None:
    def groups(top: int) -> int:
        return sum(line.startswith(("  longer", "  shorter")) for line in what_if_text(results, 120, top).splitlines())

    assert groups(0) == 0 < groups(1) < groups(3)
    text = what_if_text(results, 120, 1)
    assert " over 1 h" in text and "  longer  user " in text
    assert what_if_text(results, 120, 0).count("nobody's") == len(SIX) + 1


# tuning_text: What `tracehouse tune` prints.


def test_the_first_line_of_a_search_is_its_verdict() -> None:
    better = searched(a_tunable(distance))
    lines = tuned_text(better, ["no grade"], None).splitlines()
    assert lines[0].startswith("made-up: change 1 line: dominates") and "on the later 200 jobs" in lines[0]
    assert any(line.startswith("random settings, 5 to 95 %") for line in lines) and lines[-1] == "trust: no grade"
    worse = searched(a_tunable(lambda value, run: np.array(600 + abs(value - 500))))
    assert (
        headline(worse) == "keep the settings: no candidate is better and keeps every guard (of 60 within the bounds)"
    )
    noisy = searched(a_tunable(lambda value, run: np.array(6000 + 900 * min(run, 1) - (value > 500) * 300), runs=3))
    assert "not confirmed (no difference)" in headline(noisy)
    assert "mean waits of the runs: 1.58 to 1.83 h, with the present settings 1.67 to 1.92 h" in tuned_text(
        noisy, [], 120
    )


# answers: What --json prints; tests/tracehouse/cli/test_json_output.py asks all commands.


def test_waits_in_hours_become_seconds() -> None:
    row = {"mean_wait_h": 2.0, "mean_wait_h_before": None, "waited_h": 3.0, "core_hours": 5, "share_h": 1}
    assert in_seconds(row) == {
        "mean_wait_s": 7200.0,
        "mean_wait_before_s": None,
        "hours": 3.0,
        "core_hours": 5,
        "share_h": 1,
    }


def test_groups_have_their_kind_as_a_key() -> None:
    rows = {"user": [{"kind": "user", "value": "anna", "jobs": 2}], "queue": []}
    assert grouped(rows) == {"user": [{"user": "anna", "jobs": 2}], "queue": []}


def test_training_on_a_row_of_processors_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch)
    setup = SimpleNamespace(
        task=PolicyTask(), judging=SimpleNamespace(scored=range(9)), trace=SimpleNamespace(source="mine")
    )
    print_costs(setup, {"FCFS": 2.0})  # type: ignore[arg-type]
    said = " ".join(capsys.readouterr().out.split())
    assert "These replays have a row of processors, without the nodes, limits and order of the cluster two." in said
