"""Tests of assets/replay: paced_orders.

Orders that may be advised once more, with users who keep their pace, from the replays to the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.marts.leaderboard import board_of
from assets.pages.changes import changes_section, scheduler_table
from assets.pages.comparison import Comparison, Grade, read_comparison, word_of
from assets.pages.details import steady_sentences
from assets.pages.logged import read_logged
from assets.pages.page import Table
from assets.pages.render import schedulers_data
from assets.pages.summary import as_data, summarise
from assets.policies.verdicts import JudgedRule
from assets.replay import evaluation, paced_orders
from assets.replay.evaluation import Contestant, period_replays
from assets.replay.paced_orders import MOST_PACED, PACE_COLUMNS
from assets.replaying.scenarios import paced
from assets.replaying.starts import on_site
from models.judging.configurations import SchedulerConfiguration
from models.judging.machine import Machine
from models.judging.verdict import DEPENDS, DOMINATES, HARMS, TRADES, plain_word
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import Jobs
from tests.assets.pages.conftest import fcfs_without_backfilling, grade_source
from tests.pipelines.command_line import use_home
from tests.tiny import load_once, swf_line
from traces.catalogue.catalogue import load_catalogue
from warehouse import replace_partitions

JOBS, PROCS, DAYS = 600, 16, 10


def followed_log(follows: float = 0.45, seed: int = 1) -> str:
    """An SWF log of a queue under FCFS with EASY, in which over a third of the jobs come 20 to 120 s after an end of one of the same user.
    With seed 1 WFP3 dominates where all submit at its times, and trades where these jobs follow. follows: share that would follow."""
    rng = np.random.default_rng(seed)
    is_follower = rng.random(JOBS) < follows
    is_follower[:20] = False
    submit = np.sort(rng.integers(0, DAYS * 86_400, JOBS))
    procs = rng.choice([1, 2, 4, 8, 16], JOBS, p=[0.4, 0.2, 0.2, 0.15, 0.05])
    runtime = np.ceil(rng.lognormal(9.3, 1.0, JOBS)).astype(np.int64)
    runtime = np.maximum((runtime * 0.9 * DAYS * 86_400 * PROCS / (runtime * procs).sum()).astype(np.int64), 30)
    requested = np.ceil(runtime * rng.uniform(1, 3, JOBS)).astype(np.int64)
    user, after, think = rng.integers(1, 41, JOBS), np.full(JOBS, NO_JOB), np.zeros(JOBS, np.int64)
    for k in np.flatnonzero(is_follower).tolist():
        after[k] = rng.choice(np.setdiff1d(np.arange(max(0, k - 12), k), after))
        user[k], think[k] = user[after[k]], rng.integers(20, 120)
    jobs = replace(Jobs(submit, runtime, procs, requested, requested), after=after, think=think)
    outcome = OrderReplayer().replay(jobs, Cluster(PROCS))
    assert outcome.submit is not None
    columns = (outcome.submit, outcome.schedule.start - outcome.submit, runtime, procs, requested, user)
    rows = np.stack(columns)[:, np.argsort(outcome.submit, kind="stable")].T.tolist()
    lines = [swf_line(number, *row[:5], user=row[5]) for number, row in enumerate(rows, 1)]
    return f"; UnixStartTime: 1767225600\n; MaxProcs: {PROCS}\n" + "".join(lines)


def evaluated() -> pl.DataFrame:
    """Rows of replay.period_scores of the source `mine`, which are stored."""
    trace = load_trace(open_warehouse(), "mine")
    first, contestants = trace.rows.height // 2, [Contestant(name, name) for name in ("FCFS", "SJF", "SAF", "WFP3")]
    scores, schedules, _ = period_replays(trace, contestants, first, None, on_site(open_warehouse(), "mine"))
    split = pl.DataFrame({"test_job_index": [trace.rows["job_index"][first]], "train_share": [0.5]})
    tables = {"replay.period_scores": scores, "replay.schedules": schedules, "predictions.training_splits": split}
    replace_partitions(open_warehouse(), "mine", tables)
    return scores


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("followed")
        catalogue, log = use_home(patch, folder / "home"), folder / "mine.swf"
        log.write_text(followed_log())
        catalogue.write_text(f'[sources.mine]\nformat = "swf"\npath = "{log}"\n')
        load_once(open_warehouse(), load_catalogue().source("mine"))
        patch.setattr(evaluation, "EVALUATED_ESTIMATES", ("requested",))
        patch.setattr(evaluation, "EXPERT_RIVALS", ())
        yield patch


@pytest.fixture(scope="module")
def scores(home: pytest.MonkeyPatch) -> pl.DataFrame:
    return evaluated()


@pytest.fixture
def compared(scores: pl.DataFrame) -> Comparison:
    """As the report has it, with a grade by which it may advise."""
    return replace(read_comparison(open_warehouse(), "mine"), grade=Grade("B", None, 7200.0, 7000.0))


def row_of(scores: pl.DataFrame, policy: str) -> dict[str, object]:
    return scores.filter(policy=policy).row(0, named=True)


def test_what_dominates_at_the_logs_times_alone_depends_on_users(scores: pl.DataFrame) -> None:
    advised = row_of(scores, "WFP3")
    words = [plain_word(str(advised[name])) for name in ("verdict", "times_verdict", "pace_verdict")]
    assert words == [DEPENDS, DOMINATES, TRADES] and advised["not_paced_because"] is None
    assert advised["pace_change_share"] != pytest.approx(advised["wait_ratio"] - 1)  # type: ignore[operator]
    replayed = scores.filter(pl.col("pace_verdict").is_not_null() | pl.col("not_paced_because").is_not_null())
    assert 1 < replayed.height <= MOST_PACED, "the few best alone"
    others = scores.filter(pl.col("pace_verdict").is_null())
    assert others.select("pace_change_share", "times_verdict").null_count().row(0) == (others.height,) * 2
    assert evaluated().equals(scores), "the same each time"


def test_closed_replays_are_those_of_what_if(scores: pl.DataFrame) -> None:
    """And the base where users keep their pace, which is not replayed once more, is the open one."""
    trace, site = load_trace(open_warehouse(), "mine"), on_site(open_warehouse(), "mine")
    orders = paced_orders.PacedOrders(site, trace, trace.rows.height // 2, None)
    base = orders._base()
    pace = paced_orders.pace_of(base)
    assert pace.share > 1 / 3
    closed = paced.replay_at_pace(trace, site.settings, site.policy, pace)
    assert np.array_equal(closed.schedule.start, base.schedule.start)
    assert np.array_equal(closed.jobs.submit, base.jobs.submit)
    run = paced.replay_at_pace(trace, *orders._order(JudgedRule("WFP3", "WFP3")), pace)
    waits = [(each.schedule.start - each.jobs.submit)[trace.rows.height // 2 :].mean() for each in (run, closed)]
    assert row_of(scores, "WFP3")["pace_change_share"] == pytest.approx(waits[0] / waits[1] - 1)


def test_one_word_everywhere(scores: pl.DataFrame, compared: Comparison) -> None:
    best = compared.best
    assert best is not None and best.name.startswith("WFP3") and (best.verdict, word_of(best)) == (DEPENDS, DOMINATES)
    assert row_of(board_of(scores), "WFP3")["verdict"] == DEPENDS
    logged = read_logged(open_warehouse(), "mine")
    summary = summarise(logged, compared)
    assert summary.headline == f"Keep what runs: what {best.name} gains depends on users."
    assert f"{DOMINATES} where all submit at the times of the log, and {TRADES} where who follows" in summary.advice
    assert "Those who know the users say which holds" in summary.advice and "Try" not in summary.advice
    data = as_data(logged, compared, summary, datetime(2026, 1, 1, tzinfo=UTC))["schedulers"]
    cells = {row[0]: dict(zip(data["columns"], row, strict=True)) for row in data["rows"]}
    share = row_of(scores, "WFP3")["pace_change_share"]
    assert (cells[best.name]["keep pace"], cells[best.name]["verdict"]) == (f"{100 * share:+.0f} %", DEPENDS)  # type: ignore[operator]
    assert data["columns"][:4] == ["scheduler", "mean wait", "change", "keep pace"]
    assert [cells[name]["keep pace"] for name in list(cells)[:1]] == [""]
    printed = schedulers_data(compared)
    assert printed is not None and [row[2] for row in printed["rows"] if row[3] == best.name] == [DEPENDS]


def test_the_champions_verdict_is_the_same_word(scores: pl.DataFrame) -> None:
    learned = scores.with_columns(policy=pl.col("policy").replace("WFP3", "learned"))
    replace_partitions(open_warehouse(), "mine", {"replay.period_scores": learned})
    text = steady_sentences(open_warehouse(), "mine")
    assert f"which decides: {DEPENDS} over FCFS" in text and text.endswith(
        "where who follows an end of an own job still does."
    )
    replace_partitions(open_warehouse(), "mine", {"replay.period_scores": scores})


def test_the_report_says_what_the_column_is_and_both_verdicts(compared: Comparison) -> None:
    blocks = list(changes_section(compared, PROCS).blocks)
    table = next(block for block in blocks if isinstance(block, Table))
    assert table.columns[3] == "keep pace" and table.text_columns == [len(table.columns) - 1]
    said = [block for block in blocks if isinstance(block, str)]
    assert any(
        text.startswith("Keep pace: the change where who submitted soon after an end of an own job") for text in said
    )
    assert any(text.startswith(f"{compared.best.name}: it depends on users: {DOMINATES} where") for text in said)  # type: ignore[union-attr]
    without = [replace(row, pace_change=None) for row in compared.tried]
    assert "keep pace" not in scheduler_table("", compared, without).columns


def test_beside_the_scheduler_that_fits_the_log(home: pytest.MonkeyPatch, scores: pl.DataFrame) -> None:
    """The report compares with it, and so do the columns. The verdict of the row stays beside the incumbent, as its ratios are."""
    fitted = SchedulerConfiguration(0.0, "FCFS", "conservative", Machine(PROCS), 200)
    grade_source(open_warehouse(), "B", fitted=fitted)
    again = evaluated()
    named = {row.name.split(" with ")[0]: row for row in read_comparison(open_warehouse(), "mine").tried}
    assert {word_of(named[name]) for name in ("Shortest job first", "Smallest area first")} == {HARMS}
    (ours, theirs), shown = (row_of(rows, "WFP3") for rows in (again, scores)), named["WFP3"]
    assert plain_word(str(ours["verdict"])) == DOMINATES and shown.verdict == DEPENDS
    assert ours["bounded_slowdown_ratio"] == theirs["bounded_slowdown_ratio"]
    assert (shown.times_verdict, shown.pace_verdict) == (ours["times_verdict"], ours["pace_verdict"])
    assert ours["pace_change_share"] > 0 > theirs["pace_change_share"], "beside the incumbent waits fall"  # type: ignore[operator]
    assert again.filter(pl.col("pace_verdict").is_not_null()).height == 1, "nothing else is advised beside it"
    grade_source(open_warehouse(), None)
    assert evaluated().equals(scores)


def test_where_nobody_follows_nothing_is_replayed(home: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with home.context() as patch:
        patch.setattr(paced, "LEAST_REACTING", 1.0)
        patch.setattr(paced_orders, "replay_at_pace", lambda *_, **__: pytest.fail("it replays"))
        assert set(evaluated().select(*PACE_COLUMNS).null_count().row(0)) == {evaluated().height}


def test_a_machine_that_is_too_small_today_is_no_base(home: pytest.MonkeyPatch, scores: pl.DataFrame) -> None:
    grade_source(open_warehouse(), "B", fitted=fcfs_without_backfilling(PROCS // 2))
    advised = row_of(evaluated(), "WFP3")
    assert plain_word(str(advised["verdict"])) == DOMINATES and "the cluster has 8" in str(advised["not_paced_because"])
    shown = {row.name.split(" with ")[0]: row for row in read_comparison(open_warehouse(), "mine").tried}["WFP3"]
    assert shown.not_paced_because == advised["not_paced_because"] and shown.pace_change is None
    said = list(changes_section(read_comparison(open_warehouse(), "mine"), PROCS).blocks)
    assert any("WFP3 with requested times: not with users who keep their pace: mine: job" in str(each) for each in said)
    grade_source(open_warehouse(), None)
    assert evaluated().equals(scores)
