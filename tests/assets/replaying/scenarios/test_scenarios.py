"""Tests of assets/replaying/scenarios: columns, pairing, left_out, unchanged."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.common.trace import Trace, load_trace
from assets.replaying.running.replayers import check_settings, choose_policy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.settings import RunSettings
from assets.replaying.scenarios.columns import CHANGE_COLUMNS, hours, percent, typical_change, verdict_cell
from assets.replaying.scenarios.left_out import left_out_text
from assets.replaying.scenarios.pairing import (
    GROUP_SCHEMA,
    NONE,
    fate_of_groups,
    judge_pair,
    labelled_jobs,
    most_changed,
    pair_jobs,
    paired_waits,
    ranked_rows,
)
from assets.replaying.scenarios.planning import ScenarioPlan
from models.judging.judge import judge
from models.judging.panel import Replayed
from models.judging.verdict import LIKE_CHANCE
from tests.assets.replaying.scenarios.examples import results_of
from tests.assets.replaying.scenarios.test_results import row_of

# columns: What people read: hours, percentages, intervals.


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00"), (1.234, "1.23"), (12.34, "12.3"), (9.996, "10.0"), (1234.5, "1,234"), (-0.5, "-0.50"), (None, "")],
)
def test_hours(value: float | None, text: str) -> None:
    assert hours(value) == text


@pytest.mark.parametrize(
    ("value", "sign", "text"),
    [
        (0.7049, "", "70 %"),
        (0.05, "", "5 %"),
        (-0.43, "+", "-43 %"),
        (0.073, "+", "+7.3 %"),
        (1.3, "+", "+130 %"),
        (None, "+", ""),
    ],
)
def test_percentages(value: float | None, sign: str, text: str) -> None:
    assert percent(value, sign) == text


def test_a_typical_change_has_its_interval_or_none() -> None:
    row = {"typical_ratio": 0.8, "typical_ratio_low": 0.6, "typical_ratio_high": 1.063}
    assert typical_change(row) == "-20 % (-40 to +6.3)"
    assert typical_change(row | {"typical_ratio_low": None, "typical_ratio_high": None}) == "-20 % (none)"
    assert typical_change(dict.fromkeys(row)) == ""


def test_runs_behind_figures_are_said() -> None:
    """A plan of a source under its own scheduler, and of one under an order."""

    def words(own: str | None) -> str:
        settings, rows = SimpleNamespace(own_scheduler=own), pl.DataFrame({"job_index": range(10)})
        plan = SimpleNamespace(base=SimpleNamespace(settings=settings), trace=SimpleNamespace(rows=rows))
        return ScenarioPlan.runs_words.fget(plan)  # type: ignore[attr-defined]

    assert words("slurm") == (
        "Slurm is not deterministic: waits are of the first of 5 runs, as in `replay` and the grade, changes are means of all"
    )
    assert words(None) == ""


def test_a_star_says_that_jobs_are_missing() -> None:
    row = {"scenario": "x", "verdict": "trades", "base_only_jobs": 0, "scenario_only_jobs": 0, "failed_because": None}
    longest = verdict_cell(row | {"verdict": LIKE_CHANCE, "base_only_jobs": 3})
    assert longest == "no better than random *" and len(longest) < next(
        c.width for c in CHANGE_COLUMNS if c.title == "verdict"
    )
    assert verdict_cell(row) == "trades" and verdict_cell(row | {"base_only_jobs": 3}) == "trades *"
    assert (
        verdict_cell(dict.fromkeys(row)) == "" and verdict_cell(dict.fromkeys(row) | {"scenario": "base"}) == "baseline"
    )
    assert verdict_cell(dict.fromkeys(row) | {"failed_because": "no such file"}) == "failed"


# fate: Whose waits grow and shrink.

ROWS = pl.DataFrame(
    {
        "job_index": [0, 1, 2, 3],
        "procs": [1, 4, 16, 64],
        "user_name": ["ann", "ann", "bob", None],
        "account": ["x", "x", None, "y"],
        "queue": ["a", "b", "b", None],
        "qos": ["normal", "normal", "normal", "normal"],
    }
)
WAITS = pl.DataFrame({"job_index": [0, 1, 3], "base_wait_s": [0, 7200, 3600], "wait_s": [3600, 14_400, 0]})


def test_groups_are_accounts_sizes_and_queues() -> None:
    labels = labelled_jobs(ROWS, 64)
    assert labels.columns == ["job_index", "account", "user", "size", "queue"]
    assert labels["account"].to_list() == ["x", "x", NONE, "y"]
    assert labels["size"].to_list() == ["serial", "small", "medium", "large"]
    assert labels["queue"].to_list() == ["a", "b", "b", NONE]
    several = labelled_jobs(ROWS.with_columns(qos=pl.Series(["high", None, "high", None])), 64)
    assert several["qos"].to_list() == ["high", NONE, "high", NONE]


def test_users_where_there_is_no_account_and_no_queue_where_all_are_of_one() -> None:
    labels = labelled_jobs(ROWS.with_columns(account=pl.lit(None, pl.Utf8), queue=pl.lit("a")), 64)
    assert labels.columns == ["job_index", "user", "size"]
    assert labels["user"].to_list() == ["ann", "ann", "bob", NONE]


def test_the_fate_of_a_group_is_that_of_its_jobs() -> None:
    groups = fate_of_groups("more", WAITS, labelled_jobs(ROWS, 64))
    assert dict(groups.schema) == GROUP_SCHEMA
    x, y = groups.filter(grouped_by="account").to_dicts()
    assert (x["scenario"], x["group"], x["jobs"]) == ("more", "x", 2)
    assert (x["base_wait_h"], x["wait_h"], x["change_h"], x["total_change_h"]) == pytest.approx((1.0, 2.5, 1.5, 3.0))
    assert (x["jobs_longer_by_1h"], x["jobs_shorter_by_1h"]) == (1, 0)  # an hour exactly is not over an hour
    assert (y["group"], y["change_h"], y["jobs_shorter_by_1h"]) == ("y", -1.0, 0)
    assert groups.filter(grouped_by="size")["jobs"].sum() == 3


def test_those_that_change_most_come_first() -> None:
    groups = fate_of_groups("more", WAITS, labelled_jobs(ROWS, 64))
    parts = {(kind, word): part["group"].to_list() for kind, word, part in most_changed(groups, 1)}
    assert parts[("account", "longer")] == ["x"] and parts[("account", "shorter")] == ["y"]
    assert parts[("size", "longer")] == ["small"] and parts[("queue", "shorter")] == [NONE]
    same = fate_of_groups("same", WAITS.with_columns(wait_s="base_wait_s"), labelled_jobs(ROWS, 64))
    assert most_changed(same, 3) == [] and most_changed(groups, 0) == []


# left_out: Jobs that no replay has, in words.


def test_jobs_that_are_left_out_are_counted_by_reason() -> None:
    assert left_out_text({"jobs": 5, "jobs_left_out": 0}) == ""
    assert left_out_text({"jobs_left_out": 1_031, "jobs_wider_than_cluster": 1}) == (
        "left out: 1,031 jobs without a run time or processors in the log, 1 job wider than the cluster"
    )
    never = {"jobs_left_out": 12, "jobs_left_before_start": 11, "jobs_still_waiting": 16}
    assert left_out_text(never) == (
        "left out: 11 jobs that left the queue without a start, 16 jobs that had not started when the log ended, "
        "1 job without a run time or processors in the log"
    )
    assert left_out_text(never | {"jobs_left_out": 11, "jobs_still_waiting": 0}).count("job") == 1


# pairing: Pairs of jobs: who is in both replays, intervals and verdicts.


@pytest.fixture
def trace(busy: Path) -> Trace:
    return load_trace(open_warehouse(), "mine", labels=["queue"])


def run_of(trace: Trace, **values: object) -> ReplayRun:
    settings = check_settings(RunSettings(drop_wider=True, **values))  # type: ignore[arg-type]
    return replay_run(trace, settings, choose_policy(settings, None, "mine"))


def everyone(trace: Trace) -> np.ndarray:
    return trace.rows["job_index"].to_numpy()


def test_all_jobs_are_paired_where_nothing_is_left_out(trace: Trace) -> None:
    base, other = run_of(trace), run_of(trace, policy="SJF")
    pairs = pair_jobs(base, other, everyone(trace))
    assert pairs.base.tolist() == pairs.other.tolist() == list(range(400))
    assert (pairs.base_only, pairs.other_only) == (0, 0)
    waits = paired_waits(base, other, pairs)
    assert waits["base_wait_s"].to_list() == (base.schedule.start - base.jobs.submit).tolist()
    assert waits["wait_s"].to_list() == (other.schedule.start - other.jobs.submit).tolist()


def test_jobs_that_are_in_one_replay_only_are_counted(trace: Trace) -> None:
    whole, without, small = run_of(trace), run_of(trace, without_queue=["7"]), run_of(trace, procs=12)
    wide = int((trace.rows["procs"] > 12).sum())
    pairs = pair_jobs(whole, without, everyone(trace))
    assert (len(pairs.base), pairs.base_only, pairs.other_only) == (360, 40, 0)
    waits = paired_waits(whole, without, pairs)
    assert waits["job_index"].to_list() == without.rows["job_index"].to_list()
    assert waits["wait_s"].to_list() == (without.schedule.start - without.jobs.submit).tolist()
    pairs = pair_jobs(small, whole, everyone(trace))
    assert (len(pairs.base), pairs.base_only, pairs.other_only) == (400 - wide, 0, wide) and wide > 0
    pairs = pair_jobs(whole, without, everyone(trace)[:100])
    assert (len(pairs.base), pairs.base_only) == (90, 10)
    with pytest.raises(ValueError, match="no scored job is in both this scenario and the base"):
        pair_jobs(without, run_of(trace, without_queue=["1", "2"]), everyone(trace))


def test_a_verdict_is_that_of_whole_replays_where_nothing_is_left_out(trace: Trace) -> None:
    base, other = run_of(trace), run_of(trace, policy="SAF")
    ours = judge_pair(base, other, pair_jobs(base, other, everyone(trace)))
    whole = [Replayed(run.jobs, run.cluster, run.schedule, np.ones(400, dtype=bool)) for run in (other, base)]
    assert ours == judge([whole[0]], [whole[1]], wide_of=16)


def test_another_load_keeps_jobs_side_by_side(trace: Trace) -> None:
    base, dense = run_of(trace), run_of(trace, load=2.0)
    judgement = judge_pair(base, dense, pair_jobs(base, dense, everyone(trace)))
    assert judgement.verdict.word == "worse"
    assert judgement.wait.ratio > 1 and judgement.wait.blocks in (8, 16)


def test_scenarios_are_ranked_by_their_waits_and_have_a_direction() -> None:
    rows = [{"change_h": change, "paired_base_wait_h": 10.0} for change in (2.0, -1.0, 0.05, -1.0)]
    assert [(row["rank"], row["direction"]) for row in ranked_rows(rows)] == [
        (4, "longer waits"),
        (1, "shorter waits"),
        (3, "about the same waits"),
        (1, "shorter waits"),
    ]


# unchanged: Why scenarios change nothing.


def test_a_scenario_that_changes_nothing_says_why(busy: Path) -> None:
    same: dict[str, tuple[dict[str, object], str]] = {
        "as the base": ({"backfill": "easy"}, "its settings are those of the base"),
        "rounded": ({"round_walltimes": "1s"}, "all requested times are multiples of 1s already"),
        "capped": ({"policy": "bounded-key:cap_hours=0.01"}, "meet its cap of 36 s"),
        "formula": ({"policy": "formula:-submit"}, "orders the jobs as they were submitted"),
    }
    answer = results_of({name: changes for name, (changes, _) in same.items()} | {"more": {"procs": 20}})
    assert row_of(answer, "more")["unchanged_because"] is None
    for name, (_, why) in same.items():
        assert why in row_of(answer, name)["unchanged_because"]
        assert any(text.startswith(f"{name}: changes nothing: ") for text in answer.remarks)
    idle = results_of({"x": {"procs": 2000}}, base={"procs": 1000})
    assert row_of(idle, "x")["unchanged_because"] == "no job waits in the base, so nothing can be gained"
