"""The registry of run-time models: what drift of the champion is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sql
from assets.predictions import model_registry
from assets.predictions.features import runtime_rows
from assets.predictions.model_registry import load_champion, roll_back
from tests.assets.predictions.registry import drift_of, night, stored
from warehouse import Warehouse


def shift(drift: pl.DataFrame) -> dict[str, float]:
    return dict(drift.filter(pl.col("measure") == "psi").select("input", "value").iter_rows())


def error(drift: pl.DataFrame) -> float:
    return drift.filter(pl.col("measure") == "error")["value"].item()


def broken(warehouse: Warehouse, check: str) -> int:
    with warehouse.read() as connection:
        return connection.sql(sql.load(f"checks.{check}"), params={"source": "mine"}).pl().height


def test_no_drift_where_users_stay_the_same(warehouse: Warehouse) -> None:
    night(warehouse, "user_mean")
    drift = drift_of(warehouse)
    (card,) = stored(warehouse, "model_versions")
    assert shift(drift).keys() == {"requested_walltime_s"}  # all that this champion reads, and that tells of users
    assert shift(drift)["requested_walltime_s"] < 0.25
    assert error(drift) == pytest.approx(1)
    assert set(drift["version"]) == {1} and set(drift["jobs"]) == {card["jobs_tested"]}
    assert drift["data_until"][0] == card["tested_until"]
    assert broken(warehouse, "error_is_stable") == 0
    assert stored(warehouse, "model_drift") == drift.with_columns(source=pl.lit("mine")).sort("input").select(
        stored(warehouse, "model_drift")[0].keys()
    ).to_dicts()  # fmt: skip


def test_inputs_that_tell_the_age_of_the_log_are_left_out(warehouse: Warehouse) -> None:
    night(warehouse, "xgboost_asymmetric")
    inputs = shift(drift_of(warehouse))
    assert {"requested_walltime_s", "last_runtime_s", "similar_mean_s", "hour_of_day"} <= inputs.keys()
    assert not {
        "user_jobs_ended", "group_jobs_ended", "group_mean_runtime_s", "user_median_runtime_s", "alike_log_spread",
        "user_failed_share", "similar_jobs", "day_of_week", "jobs_running", "procs_waiting", "user_jobs_waiting", "queue",
    } & inputs.keys()  # fmt: skip


def test_drift_of_changed_requests_and_errors(warehouse: Warehouse) -> None:
    night(warehouse, "user_mean")
    rows = runtime_rows(warehouse, "mine")
    late = pl.col("submit_time") >= stored(warehouse, "model_versions")[0]["trained_until"]
    changed = rows.with_columns(
        requested_walltime_s=pl.when(late).then(7 * pl.col("requested_walltime_s")).otherwise("requested_walltime_s"),
        runtime_s=pl.when(late).then(7 * pl.col("runtime_s")).otherwise("runtime_s"),
    )
    before, drift = drift_of(warehouse), drift_of(warehouse, rows=changed)
    assert shift(drift)["requested_walltime_s"] > 0.25 and error(drift) > 2
    same = {name: value for name, value in shift(drift).items() if name != "requested_walltime_s"}
    assert same == {name: value for name, value in shift(before).items() if name in same}
    assert broken(warehouse, "inputs_are_stable") == sum(value > 0.25 for value in shift(drift).values()) >= 1
    assert broken(warehouse, "error_is_stable") == 1
    assert len(stored(warehouse, "model_drift")) == drift.height  # rows of the time before are gone


def test_drift_looks_at_as_many_newest_jobs_as_were_tested(warehouse: Warehouse) -> None:
    rows = runtime_rows(warehouse, "mine")
    night(warehouse, "user_mean", rows=rows[:400])
    (card,) = stored(warehouse, "model_versions")
    drift = drift_of(warehouse)
    assert set(drift["jobs"]) == {card["jobs_tested"]}
    newest = rows[-card["jobs_tested"] :]
    champion = load_champion(warehouse, "mine")[1]
    errors = np.abs(champion.predict(newest).point - newest["runtime_s"].to_numpy())
    assert error(drift) == pytest.approx(errors.mean() / card["mean_absolute_error_s"])


def test_drift_without_newer_jobs(warehouse: Warehouse) -> None:
    night(warehouse, "user_mean")
    rows = runtime_rows(warehouse, "mine")[:200]
    drift = drift_of(warehouse, rows=rows)
    assert set(drift["jobs"]) == {0} and set(shift(drift).values()) == {0.0} and error(drift) == 0


def test_drift_is_about_the_champion(warehouse: Warehouse) -> None:
    night(warehouse, "requested")
    night(warehouse, "user_mean")
    assert set(drift_of(warehouse)["version"]) == {2}
    roll_back(warehouse, "mine")
    assert set(drift_of(warehouse)["version"]) == {1}


def test_drift_is_of_the_champion_that_was_loaded(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollback in the middle must not compare one model's errors with the card of another."""
    night(warehouse, "requested")
    night(warehouse, "user_mean")
    load = model_registry.load_champion

    def load_after_a_rollback(*arguments: Any) -> Any:
        roll_back(warehouse, "mine")
        return load(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(model_registry, "load_champion", load_after_a_rollback)
        during = drift_of(warehouse)
    assert during.equals(drift_of(warehouse)) and set(during["version"]) == {1}
