"""Tests of pipelines: automation_nightly, forgetting."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import numpy as np
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.features.tables import runtime_rows
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.predictions.model_registry import load_champion, roll_back
from assets.predictions.runtime_predictions import write_predictions
from models.runtime.challenge import rows_sha256
from models.runtime.prequential import ended_by
from pipelines.nights import nightly_schedule
from pipelines.running import dagster_instance
from tests.pipelines.command_line import fail, in_brief, succeed, use_home
from tests.tiny import assert_same_tables, busy_log, swf_line
from traces.catalogue.catalogue import load_catalogue

# automation_nightly: Nights of a cluster whose users change their habits, by the nightly schedule with a real Dagster
# instance: who becomes champion, who is refused, what the drift checks say, and what a rollback brings back.

DAY_S = 86_400
USERS = 20
JOBS_A_DAY = 120
CHANGE = 22
"""The day from which on users do other work."""

MODEL = dg.AssetKey(["predictions", "runtime_model"])
OF_THE_MODEL = [
    dg.AssetKey(key)
    for key in (
        ["features", "job_features"], ["features", "similar_jobs"], ["predictions", "runtime_evaluation"],
        ["predictions", "runtime_model"], ["predictions", "runtime_predictions"],
    )
]  # fmt: skip
NIGHTS = (
    ("first", 21, "stack"),
    ("again", 21, "stack"),
    ("worse", 22, "user_mean"),
    ("changed", 24, "stack"),
    ("learned", 26, "stack"),
)
"""Name of a night, days of the log that are there, what the challenger is."""


def jobs_of_day(day: int) -> str:
    """SWF lines. Every user has three kinds of work, known by their requests; what is submitted after noon takes four times as
    long, which a model can learn. From CHANGE on all takes five times as long, asks for more, and mornings are long."""
    usually = np.random.default_rng(5)
    usual = np.exp(usually.uniform(np.log(300), np.log(8000), (USERS, 3)))
    procs = usually.choice([1, 2, 4, 8], (USERS, 3))
    share = usually.choice([3, 4, 6, 8], (USERS, 3))
    today = np.random.default_rng(1000 + day)
    lines = []
    for number, second in enumerate(np.sort(today.integers(0, DAY_S, JOBS_A_DAY)), start=1):
        of = (today.integers(USERS), today.integers(3))
        seconds, asked = usual[of], np.ceil(usual[of] * share[of] / 600) * 600
        long = second > DAY_S // 2
        if day >= CHANGE:
            seconds, asked, long = 5 * seconds, 7.5 * asked, not long
        took = min(seconds * (2 if long else 0.5) * today.lognormal(0, 0.15), asked)
        submit, wait = day * DAY_S + int(second), int(today.integers(60))
        job = (day * JOBS_A_DAY + number, submit, wait, int(took), int(procs[of]), int(asked))
        lines.append(swf_line(*job, user=int(of[0]) + 1))
    return "".join(lines)


@dataclass(frozen=True)
class Night:
    """What a night left behind. tables: of features and predictions; history: the registry's, oldest first; checks: of the model
    in this run, by name; told: metadata of the model; early: predictions by a model that knew the future."""

    tables: dict[str, pl.DataFrame]
    history: list[dict[str, Any]]
    checks: dict[str, dg.AssetCheckEvaluation]
    told: dict[str, Any]
    early: int

    @property
    def predictions(self) -> pl.DataFrame:
        return self.tables["predictions.runtime_predictions"].sort("job_index")

    @property
    def champion(self) -> dict[str, Any]:
        versions = self.tables["predictions.model_versions"]
        return versions.row(by_predicate=pl.col("version") == self.history[-1]["champion"], named=True)


@dataclass(frozen=True)
class Story:
    """home: as it is after the last night; after_worse: as it was after that night; nights by name."""

    home: Path
    after_worse: Path
    nights: dict[str, Night]


def run_night(number: int, predictor: str) -> Night:
    """A night of the schedule on what lies in the home's log now; what it does with a log that grows stands in
    test_automation_incremental.py and is done by hand here."""
    from pipelines.definitions import defs

    update_raw_log(open_warehouse(), load_catalogue().source("site"))
    write_jobs(open_warehouse(), "site")
    night = dt.datetime(2026, 11, 1, 3, 0, tzinfo=dt.UTC) + dt.timedelta(days=number)
    with dagster_instance() as instance:
        requests = nightly_schedule()(dg.build_schedule_context(instance=instance, scheduled_execution_time=night))
        (request,) = [request for request in requests if request.partition_key == "site"]
        config = {
            "predictions__runtime_evaluation": {"config": {"predictors": [], "predictor": "user_mean", "days": 15}},
            "predictions__runtime_model": {"config": {"predictor": predictor, "test_days": 2}},
        }
        result = defs.resolve_job_def("everything").execute_in_process(
            instance=instance, partition_key=request.partition_key, tags=request.tags,
            asset_selection=OF_THE_MODEL, run_config={"ops": config},
        )  # fmt: skip
        assert result.success
        instance_says = {name: latest_check(instance, name) for name in ("inputs_are_stable", "error_is_stable")}
        assert {run for run, _ in instance_says.values()} == {result.run_id}
        (made,) = [event for event in result.get_asset_materialization_events() if event.asset_key == MODEL]
    told = {key: value.value for key, value in made.materialization.metadata.items()}
    checks = {name: evaluation for name, (_, evaluation) in instance_says.items()}
    with open_warehouse().read() as connection:
        history = connection.sql("FROM predictions.model_history WHERE source = 'site' ORDER BY event").pl().to_dicts()
        early = connection.sql(
            "SELECT * FROM predictions.runtime_predictions JOIN core.jobs USING (source, job_index) "
            "JOIN predictions.model_versions USING (source, version) WHERE submit_time < trained_until"
        ).pl()
    return Night(tables(), history, checks, told, early.height)


def latest_check(instance: dg.DagsterInstance, name: str) -> tuple[str, dg.AssetCheckEvaluation]:
    """(run, result) of the newest record of a check of the model."""
    (record,) = instance.event_log_storage.get_asset_check_execution_history(dg.AssetCheckKey(MODEL, name), limit=1)
    assert record.event is not None and record.event.dagster_event is not None
    return record.run_id, record.event.dagster_event.asset_check_evaluation_data


def tables() -> dict[str, pl.DataFrame]:
    with duckdb.connect(str(open_warehouse().path), read_only=True) as connection:
        names = connection.execute(
            "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE schema_name IN ('features', 'predictions')"
        ).fetchall()
        return {name: connection.sql(f"FROM {name} ORDER BY ALL").pl() for (name,) in names}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("nights")
    log, known, nights = folder / "site.swf", 0, {}
    log.write_text("; UnixStartTime: 1767225600\n; TimeZoneString: Europe/Berlin\n; MaxProcs: 512\n")
    with pytest.MonkeyPatch.context() as patch:
        catalogue = use_home(patch, folder / "home")
        declared = [f'[sources.{name}]\nformat = "swf"\npath = "{log}"\n' for name in ("site", "silent")]
        catalogue.write_text("\n".join(declared))
        for number, (name, days, predictor) in enumerate(NIGHTS):
            with log.open("a") as file:
                file.writelines(jobs_of_day(day) for day in range(known, days))
            known = days
            with in_brief():
                nights[name] = run_night(number, predictor)
            if name == "worse":
                shutil.copytree(folder / "home", folder / "after-worse")
        yield Story(folder / "home", folder / "after-worse", nights)


@pytest.fixture
def home(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the home after the last night, in use."""
    return use_copy(story.home, tmp_path, monkeypatch)


def use_copy(home: Path, tmp_path: Path, patch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(home, tmp_path / "home")
    use_home(patch, tmp_path / "home")
    return tmp_path / "home"


def in_use() -> pl.DataFrame:
    return tables()["predictions.runtime_predictions"].sort("job_index")


def test_first_night_has_a_champion(story: Story) -> None:
    night = story.nights["first"]
    (event,) = night.history
    assert (event["kind"], event["version"], event["champion"], event["event"]) == ("first", 1, 1, 1)
    assert event["mae_gain_s"] is event["mae_gain_low_s"] is event["mae_gain_high_s"] is None
    assert night.predictions.height == 21 * JOBS_A_DAY
    served = night.predictions.filter(pl.col("version") == 1)
    assert served.height == night.champion["jobs_tested"] == pytest.approx(2 * JOBS_A_DAY, abs=20)
    assert served["job_index"].min() == 21 * JOBS_A_DAY - served.height
    assert night.told["champion"] == 1 and "the first model" in night.told["happened"]


def test_same_data_change_nothing(story: Story) -> None:
    first, again = story.nights["first"], story.nights["again"]
    assert again.told["happened"] == "nothing new: version 1 was trained and judged on the same jobs"
    assert again.history == first.history
    assert_same_tables(first.tables, again.tables)


def test_worse_challenger_is_refused(story: Story) -> None:
    first, night = story.nights["first"], story.nights["worse"]
    event = night.history[-1]
    assert (event["kind"], event["version"], event["champion"]) == ("refused", 2, 1)
    assert event["predictor"] == "user_mean" and event["mae_gain_s"] < 0 and event["mae_gain_high_s"] < 0
    assert event["reason"].startswith("worse: mean error ")
    assert night.champion == first.champion
    assert night.predictions.height == 22 * JOBS_A_DAY
    assert night.predictions[: 21 * JOBS_A_DAY].equals(first.predictions)
    assert set(night.predictions["version"][21 * JOBS_A_DAY :]) == {1}


def test_change_of_habits_is_told_and_stops_nothing(story: Story) -> None:
    for name in ("first", "again", "worse"):
        assert all(check.passed for check in story.nights[name].checks.values()), story.nights[name].checks
    night = story.nights["changed"]
    for check in night.checks.values():
        assert not check.passed and check.severity == dg.AssetCheckSeverity.WARN
        assert check.metadata["broken_rows"].value >= 1
    assert "requested_walltime_s" in night.checks["inputs_are_stable"].metadata["first"].value
    assert night.predictions.height == 24 * JOBS_A_DAY  # what follows the checks has run
    drift = night.tables["predictions.model_drift"]
    assert drift.filter(pl.col("measure") == "error")["value"].item() > 2
    assert set(drift["version"]) == {1}


def test_who_learned_from_the_change_is_promoted(story: Story) -> None:
    before, night = story.nights["changed"], story.nights["learned"]
    event = night.history[-1]
    assert (event["kind"], event["version"]) == ("promoted", event["champion"])
    assert before.history[-1]["champion"] == 1 and before.history == night.history[:-1]
    assert 0 < event["mae_gain_low_s"] <= event["mae_gain_s"] <= event["mae_gain_high_s"]
    assert event["reason"].startswith("significantly better: mean error ")
    assert f"version {event['version']} (stack): promoted" in night.told["happened"]
    assert set(night.predictions["version"]) == {None, event["version"]}
    assert night.checks["error_is_stable"].passed  # the champion is new, and so is what it is measured by


def test_card_of_the_champion(story: Story, home: Path) -> None:
    card = story.nights["learned"].champion
    rows = runtime_rows(open_warehouse(), "site")
    newest = rows["submit_time"][-1]
    assert card["trained_until"] == newest - dt.timedelta(days=2)
    fitted = ended_by(rows.filter(pl.col("submit_time") < card["trained_until"]), card["trained_until"])
    test = rows.filter(pl.col("submit_time") >= card["trained_until"])
    assert (card["trained_from"], card["tested_until"]) == (rows["submit_time"][0], newest)
    assert (card["jobs_trained"], card["jobs_tested"]) == (fitted.height, test.height)
    assert card["data_sha256"] == rows_sha256(fitted)
    assert card["predictor"] == "stack" and set(json.loads(card["options"])["shares"]) >= {"similar_jobs", "last_two"}
    assert {"requested_walltime_s", "hour_of_day", "similar_p50_s"} <= set(json.loads(card["feature_names"]))
    content = (home / "warehouse" / "data" / card["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == card["sha256"]
    version, champion = load_champion(open_warehouse(), "site")
    error = np.abs(champion.predict(test).point - test["runtime_s"].to_numpy())
    assert version == card["version"]
    assert card["mean_absolute_error_s"] == pytest.approx(error.mean())
    assert card["median_absolute_error_s"] == pytest.approx(np.median(error))
    assert 0 < card["pinball_loss_s"] < card["mean_absolute_error_s"] and 0 < card["underestimated_share"] < 1


def test_no_prediction_knows_the_future(story: Story) -> None:
    assert [night.early for night in story.nights.values()] == [0] * len(NIGHTS)


def test_models_lists_the_history(story: Story, home: Path) -> None:
    history = story.nights["learned"].history
    champion = history[-1]["champion"]
    lines = succeed("models", "site").splitlines()
    assert lines[0].startswith(
        f"site: version {champion} is champion. Times are of Europe/Berlin. Errors are of the newest"
    )
    assert lines[1] == ""
    assert len(lines) == 3 + len(history)
    assert lines[3].split()[:1] == [str(len(history))] and f"promoted: {history[-1]['reason']}" in lines[3]
    assert lines[-2].split()[4:6] == ["2", "user_mean"] and "refused: worse" in lines[-2]
    assert "first: the first model of this source" in lines[-1]
    found = json.loads(succeed("models", "site", "--json"))
    asked = ("event", "kind", "version", "champion", "mae_gain_s", "mae_gain_low_s", "reason")
    assert [[row[key] for key in asked] for row in found] == [[row[key] for key in asked] for row in history[::-1]]
    assert found[-1]["data_until"] == str(history[0]["data_until"])


def test_rollback_brings_the_earlier_predictions_back(story: Story, home: Path) -> None:
    changed, learned = story.nights["changed"], story.nights["learned"]
    version = learned.champion["version"]
    said = succeed("rollback", "site")
    assert f"version 1 is champion again, instead of version {version}" in said
    after = in_use()
    known = changed.predictions.height
    assert after.height == learned.predictions.height
    assert after[:known].equals(changed.predictions)
    assert set(after["version"][known:]) == {1}
    assert not after[:known].equals(learned.predictions[:known])
    event = json.loads(succeed("models", "site", "--json"))[0]
    assert (event["kind"], event["version"], event["champion"]) == ("rolled back", 1, 1)
    assert event["reason"] == f"by hand, instead of version {version}"
    assert "has had no champion before version 1" in fail("rollback", "site")

    succeed("rollback", "site", "--to", str(version))
    assert in_use().equals(learned.predictions)


def test_rollback_as_a_function(story: Story, home: Path) -> None:
    warehouse = open_warehouse()
    version = story.nights["learned"].champion["version"]
    rows = runtime_rows(warehouse, "site")
    for target, night in ((1, "changed"), (version, "learned")):
        assert roll_back(warehouse, "site", target) == (version + 1 - target, target)
        write_predictions(warehouse, "site", rows)
        assert in_use()[: story.nights[night].predictions.height].equals(story.nights[night].predictions)


def test_what_cannot_be_rolled_back(story: Story, home: Path) -> None:
    before = tables()
    version = story.nights["learned"].champion["version"]
    listed = ", ".join(str(number) for number in range(1, len(before["predictions.model_versions"]) + 1))
    assert "source 'silent' has no run-time model: `tracehouse run silent` trains one" in fail("rollback", "silent")
    assert "source 'silent' has no run-time model" in fail("models", "silent")
    assert "unknown source 'nowhere'" in fail("rollback", "nowhere")
    assert f"has no version 99. It has {listed}" in fail("rollback", "site", "--to", "99")
    assert f"version {version} is the champion of source 'site' already" in fail(
        "rollback", "site", "--to", str(version)
    )
    (home / "warehouse" / "data" / before["predictions.model_versions"]["file"][0]).unlink()
    assert "the model file is gone" in fail("rollback", "site")
    assert_same_tables(before, tables())


def test_one_champion_cannot_be_rolled_back(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_copy(story.after_worse, tmp_path, monkeypatch)
    before = tables()
    assert "has had no champion before version 1: there is nothing to go back to" in fail("rollback", "site")
    assert_same_tables(before, tables())


def test_rollback_says_when_predicting_failed(home: Path) -> None:
    with open_warehouse().write() as connection:
        connection.execute("DELETE FROM predictions.prequential_predictions WHERE source = 'site' AND job_index = 0")
    said = fail("rollback", "site")
    assert "version 1 is champion again" in said and "has not predicted yet" in said
    assert "materialize predictions/runtime_evaluation again" in said


# forgetting: A source that is removed leaves neither its runs nor their failures in Dagster's records.

RAW, JOBS = dg.AssetKey(["raw", "log"]), dg.AssetKey(["core", "jobs"])


def last_runs(*keys: dg.AssetKey) -> dict[dg.AssetKey, tuple[str | None, str | None]]:
    """By asset that was ever made: the status of the run that last wanted it, and the partition that was last made."""
    seen: dict[dg.AssetKey, tuple[str | None, str | None]] = {}
    with dagster_instance() as instance:
        for record in instance.get_asset_records(keys):
            last = record.asset_entry.last_materialization
            planned = instance.event_log_storage.get_latest_planned_materialization_info(record.asset_entry.asset_key)
            run = instance.get_run_by_id(planned.run_id) if planned else None
            made = last.dagster_event.partition if last and last.dagster_event else None
            seen[record.asset_entry.asset_key] = (run.status.value if run else None, made)
    return seen


def checks_of_failed_runs() -> int:
    """Checks of the raw log that were last to run in a run that failed, or is gone."""
    with dagster_instance() as instance:
        checks = [dg.AssetCheckKey(RAW, name) for name in ("counts_add_up", "not_empty")]
        latest = instance.event_log_storage.get_latest_asset_check_execution_by_key(checks)
        runs = [instance.get_run_by_id(each.run_id) for each in latest.values()]
        return sum(run is None or run.status.value == "FAILURE" for run in runs)


def test_failures_of_a_removed_source_are_not_those_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_home(monkeypatch, tmp_path / "home")
    for name in ("stays", "goes"):
        (tmp_path / f"{name}.swf").write_text(busy_log(50))
        succeed("ingest", tmp_path / f"{name}.swf")
    (tmp_path / "goes.swf").write_text("")
    fail("run", "goes", "--job", "ingest")
    assert last_runs(RAW)[RAW] == ("FAILURE", "goes") and checks_of_failed_runs()
    succeed("remove", "goes", "--yes")
    assert (
        last_runs(RAW, JOBS) == {RAW: ("SUCCESS", "stays"), JOBS: ("SUCCESS", "stays")} and not checks_of_failed_runs()
    )
    succeed("remove", "stays", "--yes")
    assert last_runs(RAW, JOBS) == {}
    with dagster_instance() as instance:
        assert instance.get_runs_count() == 0
