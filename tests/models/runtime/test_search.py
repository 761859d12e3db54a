"""The search over uses of predictions: replays as they should be, choices that never look at what they are judged on."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from models.runtime import search
from simulator.engine.replay import replay
from simulator.jobs.jobs import jobs_from_log
from simulator.metrics.metrics import bounded_slowdown


@pytest.fixture(scope="module")
def log() -> search.SearchLog:
    """400 jobs of ten users whose jobs last about as long as their last ones, on 16 processors, with bad requests."""
    rng = np.random.default_rng(3)
    jobs = 400
    user = rng.integers(0, 10, jobs)
    runtime = np.maximum(1, (np.exp(rng.normal(5, 2, 10))[user] * np.exp(rng.normal(0, 0.3, jobs))).astype(np.int64))
    submit = np.sort(rng.integers(0, 30 * 86_400, jobs))
    procs = rng.choice([1, 2, 4, 8], jobs)
    submit = submit * int((runtime * procs).sum()) // (16 * 30 * 86_400)  # as much work as there is time
    requested = runtime * rng.integers(1, 20, jobs)
    rows = pl.DataFrame(
        {"user_name": user.astype(str), "requested_walltime_s": requested, "requested_procs": procs}
    ).with_columns(executable=pl.lit(None, dtype=pl.Utf8))
    return search.SearchLog(submit, runtime, procs, requested, rows, 16)


def test_rivals_are_what_their_names_say(log: search.SearchLog) -> None:
    for name, order, backfill, estimates in (
        ("EASY", "FCFS", "easy", "requested"),
        ("EASY-SJBF", "FCFS", "easy-sjbf", "requested"),
        ("SJF, clairvoyant", "SJF", "easy", "actual"),
        ("SAF, requested", "SAF", "easy", "requested"),
    ):
        jobs = jobs_from_log(log.submit, log.runtime, log.procs, log.requested, estimates)
        wait = replay(jobs, 16, order, backfill).start - log.submit
        found = search.try_configuration(log, search.PREDICTION_RIVALS[name])
        assert found.bounded_slowdown == pytest.approx(bounded_slowdown(wait, log.runtime).mean())
        assert found.wait_s == pytest.approx(wait.mean())
        assert found.p99_wait_s == pytest.approx(np.percentile(wait, 99))
        assert found.underestimated_share == 0.0
        if order == "FCFS":
            assert found.delayed_share == 0.0  # requests are never too short here


def test_predictions_help_where_users_repeat_themselves(log: search.SearchLog) -> None:
    easy = search.try_configuration(log, search.EASY)
    ordered = search.try_configuration(log, search.Configuration("formula:-(submit + 10*estimate)", "easy"))
    assert ordered.bounded_slowdown < easy.bounded_slowdown
    assert ordered.underestimated_share > 0.0


def test_every_configuration_differs_and_replays(log: search.SearchLog) -> None:
    configurations = [
        *search.backfilling_configurations(),
        *search.ordering_configurations(),
        *search.PREDICTION_RIVALS.values(),
    ]
    assert len({str(c) for c in configurations}) == len(configurations) - 1  # EASY++ is tried, too
    assert all(c.order == "FCFS" for c in search.backfilling_configurations())
    few = log._replace(
        **{name: getattr(log, name)[:80] for name in ("submit", "runtime", "procs", "requested", "rows")}
    )
    for configuration in configurations:
        assert search.try_configuration(few, configuration).bounded_slowdown >= 1.0


def test_predictions_made_at_submission(log: search.SearchLog) -> None:
    """Exact predictions are clairvoyance; conservative backfilling takes them, too."""
    exact = log.rows.with_columns(
        pl.Series(log.runtime).cast(pl.Float64).alias(name)
        for name in ("predicted_runtime_s", "runtime_p75_s", "runtime_p90_s")
    )
    known = log._replace(rows=exact)
    found = search.try_configuration(
        known, search.Configuration("FCFS", "easy-sjbf", "predicted", reserve_by="estimate")
    )
    assert found == search.try_configuration(log, search.PREDICTION_RIVALS["EASY-SJBF, clairvoyant"])
    planned = search.Configuration(
        "FCFS", "conservative", "predicted:p90", reserve_by="estimate", correction="doubling"
    )
    jobs = jobs_from_log(log.submit, log.runtime, log.procs, log.requested, "actual")
    wait = replay(jobs, 16, "FCFS", "conservative").start - log.submit
    assert search.try_configuration(known, planned).wait_s == pytest.approx(wait.mean())
    families = search.predicted_configurations()
    every = families["backfilling"] + families["ordering"]
    assert len({str(c) for c in every}) == len(every)
    for configuration in every:
        assert search.try_configuration(known, configuration).underestimated_share == 0.0


def test_merit_is_the_slowdown_unless_waits_grow() -> None:
    easy = search.ReplayOutcome(100.0, 1000.0, 10_000.0, 0.0, 0.0, 0.0)
    assert search.merit(easy, easy) == 0.0
    assert search.merit(easy._replace(bounded_slowdown=50.0, wait_s=900.0), easy) == pytest.approx(np.log(0.5))
    assert search.merit(easy._replace(wait_s=2000.0), easy) == pytest.approx(5 * np.log(2))
    assert search.merit(easy._replace(p99_wait_s=15_000.0), easy) == pytest.approx(0.0)
    assert search.merit(easy._replace(p99_wait_s=30_000.0), easy) == pytest.approx(2 * np.log(2))


def test_a_choice_does_not_see_the_trace_it_is_for() -> None:
    merits = {"a": [0.0, -9.0, -1.0], "b": [-1.0, 0.0, -2.0], "c": [-1.0, 0.0, -2.0]}
    assert search.choose(merits, leave_out="a") == 2
    assert search.choose(merits) == 1


def test_shaking_moves_a_users_day_together_and_a_little(log: search.SearchLog) -> None:
    moved = search.shaken(log, 5)
    assert (np.diff(moved.submit) >= 0).all()
    assert sorted(moved.runtime) == sorted(log.runtime) and moved.rows.height == log.rows.height
    key = ["user_name", "requested_walltime_s", "requested_procs"]
    before = log.rows.with_columns(submit=pl.Series(log.submit), runtime=pl.Series(log.runtime)).sort(
        *key, "runtime", "submit"
    )
    after = moved.rows.with_columns(submit=pl.Series(moved.submit), runtime=pl.Series(moved.runtime)).sort(
        *key, "runtime", "submit"
    )
    shift = (after["submit"] - before["submit"]).to_numpy()
    assert 0 < np.abs(shift).max() <= 1800
    days = before.with_columns(day=pl.col("submit") // 86_400, shift=pl.Series(shift)).filter(pl.col("submit") > 1800)
    assert (days.group_by("user_name", "day").agg(pl.col("shift").n_unique())["shift"] == 1).all()
    assert search.shaken(log, 5).submit.tolist() == moved.submit.tolist()
    assert search.shaken(log, 6).submit.tolist() != moved.submit.tolist()


def test_resampling_moves_users_by_whole_weeks(log: search.SearchLog) -> None:
    week = 7 * 86_400
    longer = log._replace(submit=log.submit * 40)
    moved = search.resampled(longer, 1)
    assert (np.diff(moved.submit) >= 0).all()
    key = ["user_name", "requested_walltime_s", "requested_procs", "runtime"]
    begin = int(longer.submit[0])
    parts = [
        part.rows.with_columns(
            runtime=pl.Series(part.runtime),
            in_week=pl.Series((part.submit - begin) % week),
            submit=pl.Series(part.submit),
        ).sort(*key, "in_week")
        for part in (longer, moved)
    ]
    assert parts[0]["in_week"].equals(parts[1]["in_week"])
    assert not parts[0]["submit"].equals(parts[1]["submit"])
