"""Warehouses of small logs, in which schedulers were compared and replays graded, but nothing was trained."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from assets.common.trace import load_trace
from assets.policies.verdicts import MAYBE_NULL, JudgedRule, judged_replays, scores_of
from assets.replay.fidelity import configuration_rows, no_grade
from models.judging.configurations import SchedulerConfiguration
from models.judging.machine import Machine
from tests.tiny import busy_log, swf_line, warehouse_of
from warehouse import Warehouse, replace_partition

SOURCE = "mine"
CREATED = datetime(2026, 11, 24, 4, 5, tzinfo=UTC)
RULES = (
    JudgedRule("FCFS"),
    JudgedRule("SJF", "SJF"),
    JudgedRule("SAF", "SAF"),
    JudgedRule("learned", "SAF"),  # as SAF, job by job
    JudgedRule("EASY-SJBF", backfill="easy-sjbf"),
)


def judge_source(warehouse: Warehouse, share: float = 0.4, rules: tuple[JudgedRule, ...] = RULES) -> None:
    """Fills replay.period_scores and replay.schedules: the last jobs are scored, as in a run of the pipeline."""
    trace = load_trace(warehouse, SOURCE)
    first = round(trace.rows.height * (1 - share))
    scores, schedules = [], []
    for rule, (replayed, judgement) in zip(rules, judged_replays(trace, rules, first), strict=True):
        facts = {"policy": rule.name, "backfill": rule.backfill, "estimates": rule.estimates}
        scores.append(facts | {"seed": None} | scores_of(replayed, judgement))
        start = pl.lit(trace.clock_zero) + pl.duration(seconds=pl.lit(pl.Series(replayed.schedule.start[first:])))
        schedules.append(
            trace.rows[first:].select(
                **{name: pl.lit(text) for name, text in facts.items()},
                job_index="job_index",
                start_time=start,
                end_time=start + pl.duration(seconds=pl.col("runtime_s")),
                wait_s=pl.Series(replayed.schedule.start[first:]) - pl.col("submit_s"),
                procs="procs",
                backfilled=pl.lit(False),
            )
        )
    rows = pl.DataFrame(scores, infer_schema_length=None).with_columns(
        pl.col("seed").cast(pl.Int64), pl.col(*MAYBE_NULL).cast(pl.Float64)
    )
    split = pl.DataFrame({"test_job_index": [trace.rows["job_index"][first]], "train_share": [1 - share]})
    with warehouse.write() as connection:
        replace_partition(connection, "replay.period_scores", SOURCE, rows)
        replace_partition(connection, "replay.schedules", SOURCE, pl.concat(schedules))
        replace_partition(connection, "predictions.training_splits", SOURCE, split)


def grade_source(
    warehouse: Warehouse, letter: str | None, why: str | None = None, fitted: SchedulerConfiguration | None = None
) -> None:
    """Fills replay.fidelity and replay.configurations with a grade that a test needs."""
    row = no_grade(why or "") | {"grade": letter}
    if letter:
        row |= {"no_grade_because": None, "jobs": 200, "logged_wait_s": 7200.0, "replayed_wait_s": 6000.0}
    with warehouse.write() as connection:
        replace_partition(connection, "replay.fidelity", SOURCE, pl.DataFrame([row]))
        replace_partition(connection, "replay.configurations", SOURCE, configuration_rows([fitted] if fitted else []))


def fcfs_without_backfilling(procs: int = 16) -> SchedulerConfiguration:
    """What has written `busy_log`."""
    return SchedulerConfiguration(0.0, "FCFS", "none", Machine(procs), 200)


def idle_log(jobs: int) -> str:
    """A log of jobs that never wait, with requested times."""
    return "; MaxProcs: 4\n" + "".join(swf_line(k, 1000 * k, 0, 500, 1, 1000) for k in range(1, jobs + 1))


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """600 jobs that queued, replays with grade B, and a scheduler that fits. Tests only read it."""
    warehouse = warehouse_of(tmp_path_factory.mktemp("graded"), busy_log(600, seed=3, days=100))
    judge_source(warehouse)
    grade_source(warehouse, "B", fitted=fcfs_without_backfilling())
    return warehouse
