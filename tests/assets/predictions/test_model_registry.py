"""The registry of run-time models on small warehouses: who becomes champion and why."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from assets.common.storage import data_folder
from assets.predictions.features import runtime_rows, write_job_features, write_similar_jobs
from assets.predictions.model_registry import load_champion, roll_back
from models.runtime import challenge as contest
from models.runtime.challenge import rows_sha256
from models.runtime.prequential import ended_by
from tests.assets.predictions.registry import JOBS, ODD, drift_of, kinds, night, registry, stored
from tests.tiny import assert_same_tables, swf_line, warehouse_of
from warehouse import Warehouse


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
