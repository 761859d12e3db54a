"""Tests of assets/predictions: model_registry, model_registry_drift."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sql
from assets.common.storage import data_folder
from assets.features.tables import runtime_rows, write_job_features, write_similar_jobs
from assets.predictions import model_registry
from assets.predictions.model_registry import load_champion, roll_back
from models.runtime import challenge as contest
from models.runtime.challenge import rows_sha256
from models.runtime.prequential import ended_by
from tests.assets.predictions.registry import JOBS, ODD, drift_of, kinds, night, registry, stored
from tests.tiny import assert_same_tables, swf_line, warehouse_of
from warehouse import Warehouse

# model_registry: The registry of run-time models on small warehouses: who becomes champion and why.


def test_first_model_and_its_card(warehouse: Warehouse) -> None:
    assert night(warehouse, "user_mean") == "version 1 (user_mean): first, the first model of this source"
    rows = runtime_rows(warehouse, "mine")
    (card,) = stored(warehouse, "model_versions")
    newest = rows["submit_time"][-1]
    fitted = ended_by(rows, newest - timedelta(days=10))
    assert (card["trained_from"], card["trained_until"]) == (rows["submit_time"][0], newest - timedelta(days=10))
    assert (card["jobs_trained"], card["data_sha256"]) == (fitted.height, rows_sha256(fitted))
    assert (card["tested_until"], card["jobs_tested"]) == (
        newest,
        rows.filter(pl.col("submit_time") >= card["trained_until"]).height,
    )
    assert json.loads(card["feature_names"]) == ["user_mean_runtime_s", "requested_walltime_s"]
    (event,) = stored(warehouse, "model_events")
    assert (event["event"], event["kind"], event["champion"], event["data_until"]) == (1, "first", 1, newest)
    version, champion = load_champion(warehouse, "mine")
    assert (version, champion.name) == (1, "user_mean")


def test_the_same_again_changes_nothing(warehouse: Warehouse) -> None:
    night(warehouse, "user_mean")
    before = registry(warehouse)
    assert night(warehouse, "user_mean") == "nothing new: version 1 was trained and judged on the same jobs"
    assert_same_tables(before, registry(warehouse))
    assert len(list((data_folder() / "models" / "mine").iterdir())) == 1


def test_same_bytes_on_other_jobs_are_not_the_same(warehouse: Warehouse) -> None:
    night(warehouse, "similar_jobs", days=10)
    assert "not significantly better" in night(warehouse, "similar_jobs", days=20)
    rows = runtime_rows(warehouse, "mine")
    assert "version 3" in night(warehouse, "similar_jobs", rows=rows.filter(pl.col("job_index") != JOBS - 20))
    assert len({card["sha256"] for card in stored(warehouse, "model_versions")}) == 1
    assert "nothing new: version 1" in night(warehouse, "similar_jobs", days=10)


def test_only_who_is_better_is_promoted(warehouse: Warehouse) -> None:
    night(warehouse, "requested")
    assert "promoted, significantly better" in night(warehouse, "user_mean")
    assert "refused, worse: mean error" in night(warehouse, "last_two")
    assert "refused, not significantly better" in night(warehouse, "user_mean", days=9)
    assert kinds(warehouse) == [("first", 1, 1), ("promoted", 2, 2), ("refused", 3, 2), ("refused", 4, 2)]
    _, promoted, refused, same = stored(warehouse, "model_events")
    assert 0 < promoted["mae_gain_low_s"] <= promoted["mae_gain_s"] <= promoted["mae_gain_high_s"]
    assert refused["mae_gain_low_s"] <= refused["mae_gain_s"] <= refused["mae_gain_high_s"] < 0
    assert same["mae_gain_s"] == 0
    assert stored(warehouse, "champions")[0]["version"] == 2


def test_judged_on_what_neither_has_seen(warehouse: Warehouse) -> None:
    night(warehouse, "requested", days=1)  # the test is extended to 100 jobs
    (first,) = stored(warehouse, "model_versions")
    assert first["jobs_tested"] == contest.LEAST_TESTED
    assert "on 100 newest jobs" in night(warehouse, "user_mean", days=20)
    assert stored(warehouse, "model_versions")[1]["jobs_tested"] == 300  # never beyond half of the jobs
    rows = runtime_rows(warehouse, "mine").filter(pl.col("submit_time") < first["trained_until"])
    roll_back(warehouse, "mine", 1)
    assert "no job is left that neither has seen" in night(warehouse, "user_mean", rows=rows)
    assert kinds(warehouse)[-1] == ("refused", 3, 1)
    assert stored(warehouse, "model_events")[-1]["mae_gain_s"] is None


def test_few_users_are_compared_over_days(warehouse: Warehouse) -> None:
    night(warehouse, "requested", "mine.2")
    assert "s over days" in night(warehouse, "user_mean", "mine.2")
    assert kinds(warehouse, "mine.2") == [("first", 1, 1), ("promoted", 2, 2)]


def test_few_users_and_few_days_tell_nothing(warehouse: Warehouse) -> None:
    night(warehouse, "requested", "short")
    assert "refused, too few users and days to tell a difference from noise" in night(warehouse, "user_mean", "short")
    event = stored(warehouse, "model_events", "short")[-1]
    assert event["champion"] == 1 and event["mae_gain_s"] > 0 and event["mae_gain_low_s"] is None


@pytest.mark.parametrize("predictor", ["user_mean", "similar_jobs"])
def test_nothing_has_ended_yet(warehouse: Warehouse, predictor: str) -> None:
    with pytest.raises(ValueError, match=r"no job had ended by .* nothing to learn from"):
        night(warehouse, predictor, "long")
    assert kinds(warehouse, "long") == []


def test_unknown_predictor(warehouse: Warehouse) -> None:
    with pytest.raises(ValueError, match="unknown predictor 'oracle'"):
        night(warehouse, "oracle")
    assert kinds(warehouse) == []


def test_sources_do_not_disturb_each_other(warehouse: Warehouse) -> None:
    def of(source: str) -> tuple:
        return tuple(stored(warehouse, name, source) for name in ("model_events", "model_versions", "model_drift"))

    for source in ("mine", "mine.2", ODD):
        night(warehouse, "requested", source)
        assert "version 2 (user_mean): promoted" in night(warehouse, "user_mean", source)
        drift_of(warehouse, source)
    before = {source: of(source) for source in ("mine", "mine.2", ODD)}
    for source in before:
        assert [event["event"] for event in before[source][0]] == [1, 2]
        assert {row["source"] for rows in before[source] for row in rows} == {source}
        assert all(
            (data_folder() / "models" / source) in (data_folder() / card["file"]).parents for card in of(source)[1]
        )
    assert len({card["data_sha256"] for rows in before.values() for card in rows[1]}) == 3
    roll_back(warehouse, ODD)
    night(warehouse, "last_two", ODD)
    drift_of(warehouse, ODD)
    assert kinds(warehouse, ODD)[2:] == [("rolled back", 1, 1), ("promoted", 3, 3)]
    assert load_champion(warehouse, ODD)[0] == 3
    assert {source: of(source) for source in ("mine", "mine.2")} == {s: before[s] for s in ("mine", "mine.2")}


def test_a_log_that_knows_no_starts_has_a_champion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are taken to have ended as soon as they could have; else such logs would have nothing to learn from."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    text = "; MaxProcs: 16\n; UnixStartTime: 1767225600\n" + "".join(
        swf_line(k + 1, 3600 * k, -1, 100 * (1 + k % 7), 2, 1000, user=k % 7) for k in range(400)
    )
    warehouse = warehouse_of(tmp_path, text)
    write_job_features(warehouse, "mine")
    write_similar_jobs(warehouse, "mine")
    assert "first" in night(warehouse, "similar_jobs", days=3)
    rows = runtime_rows(warehouse, "mine")[100:]
    found = load_champion(warehouse, "mine")[1].predict(rows)
    assert found.point.tolist() == rows["runtime_s"].to_list()  # every user has one kind of job


# model_registry_drift: The registry of run-time models: what is reported of the drift of the champion.


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
