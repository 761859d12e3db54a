"""Tests of pipelines: running_again, running_killed."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import duckdb
import polars as pl
import pytest
import yaml

from assets.replay.random_orders import is_random_order
from tests.assets.pages.test_page import undated
from tests.pipelines.command_line import call, fail, succeed, use_home
from tests.tiny import CONFIG, SOURCE, Home, assert_same_tables

# running_again: A run that has finished: what it leaves, what another run changes, and who is kept out meanwhile.

OF_OTHER_LOGS = (
    "core.suspensions",
    "core.job_nodes", "core.nodes", "core.partitions", "core.limits", "core.reservations",
    "raw.rejects", "raw.pbs_records", "raw.slurm_jobs", "core.requeues", "core.repeats", "core.changed_files",
    "raw.vasp_runs", "raw.vasp_electronic_steps", "raw.vasp_ionic_steps", "raw.vasp_rejects", "raw.vasp_folders",
    "core.vasp_jobs", "predictions.remaining_time_trials", "predictions.remaining_time_scores",
    "predictions.remaining_time_models", "predictions.remaining_times",
    "experiments.rlschert", "experiments.rlschert_comparisons", "experiments.rlschert_curves", "experiments.rlschert_jobs",
    "experiments.rlschert_holes", "replay.placements", "replay.placed_jobs",
    "experiments.topology", "policies.population", "policies.worker_iterations", "replay.configurations",
    "experiments.comparisons", "experiments.policies", "experiments.verdicts",
)  # fmt: skip
"""Tables that stay empty: the tiny source is a sound SWF log, and experiments run when somebody asks."""


def test_the_run_prints_what_happened_what_would_change_and_what_to_do_next(run_once: Home) -> None:
    assert "No recommendation: there is no grade." in run_once.printed
    assert re.search(r"^  Log +1,500 jobs, .*^  Waits +A job waited", run_once.printed, re.DOTALL | re.MULTILINE)
    assert re.search(r"^ *mean wait +change +verdict +scheduler$", run_once.printed, re.MULTILINE)
    assert re.search(r"baseline +EASY with requested times$", run_once.printed, re.MULTILINE)
    assert "windows of later jobs" in run_once.printed
    assert str(run_once.database) in run_once.printed
    assert "Next:" in run_once.printed


def test_running_again_twice_at_once_changes_no_row(run_once: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in a process of its own, and once in this one, which has imported everything and so costs half as much."""
    before = run_once.tables()
    report = run_once.folder / "warehouse" / "data" / "reports" / f"{SOURCE}.html"
    page = undated(report.read_text())
    arguments = ("run", SOURCE, "--config", str(run_once.folder / "config.yaml"))
    with run_once.start(*arguments) as other:
        use_home(monkeypatch, run_once.folder)
        here = call(*arguments, arrange_pictures=True)
        _, errors = other.communicate(timeout=300)
    assert (other.returncode, here.exit_code) == (0, 0), f"{errors}\n{here.stderr}"
    assert all(rows.height > 0 for name, rows in before.items() if name not in OF_OTHER_LOGS)
    assert_same_tables(before, run_once.tables())
    assert undated(report.read_text()) == page


def test_training_can_be_watched(run_once: Home) -> None:
    """Every epoch was observed while it was trained: the UI plots these."""
    curve = run_once.tables()["policies.training_curve"]
    asked = dg.AssetKey(["policies", "scheduling_policy"])
    with dg.DagsterInstance.from_config(str(run_once.folder)) as instance:
        seen = instance.fetch_observations(asked, limit=curve.height, ascending=True).records  # of the first run
    told = [o.asset_observation.metadata for o in seen if o.asset_observation]
    for seed in curve["seed"].unique():
        values = [m[f"validation cost, seed {seed}"].value for m in told if f"validation cost, seed {seed}" in m]
        measured = curve.filter(seed=seed)["validation_cost"].drop_nulls()
        assert sorted(values) == sorted(measured.to_list()) and len(values) > 1


HOLD = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1], read_only=True)
print("held", flush=True)
sys.stdin.read()
"""


def test_an_outside_reader_makes_a_writer_wait_then_fail_clearly(
    run_once: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run_once.tables()
    reader = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run_once.database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout is not None
    assert reader.stdin is not None
    assert reader.stdout.readline() == "held\n"
    use_home(monkeypatch, run_once.folder)
    monkeypatch.setenv("TRACEHOUSE_TIMEOUT_S", "1")
    refused = call("run", SOURCE, "--job", "ingest")
    assert refused.exit_code != 0
    assert "still busy after" in refused.stderr
    assert f"PID {reader.pid}" in refused.stderr
    assert succeed("sql", "SELECT count(*) AS jobs FROM core.jobs", "--format", "json"), (
        "other readers are not kept out"
    )

    waiting = run_once.start("run", SOURCE, "--job", "ingest", TRACEHOUSE_TIMEOUT_S="60")
    assert waiting.stderr is not None
    assert any("waiting for the warehouse" in line for line in waiting.stderr)
    assert waiting.poll() is None, "the writer waits while the reader holds the database"
    reader.stdin.close()
    reader.wait()
    _, errors = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, errors
    assert_same_tables(before, run_once.tables())


def test_learned_policy_and_predictions_replay_from_the_command_line(
    finished: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_home(monkeypatch, finished.folder)
    found = json.loads(succeed("replay", SOURCE, "--policy", "learned", "--estimates", "predicted", "--json"))
    assert found["jobs"] == 1500
    assert found["jobs_seen_in_training"] == 750
    policy = next((finished.folder / "warehouse" / "data" / "models" / SOURCE).glob("policy-1-*.json"))
    by_file = succeed("replay", SOURCE, "--policy", policy, "--backfill", "none", "--json")
    assert json.loads(by_file)["average_wait_s"] > 0


def test_period_scores_follow_from_the_stored_schedules(finished: Home) -> None:
    """The schedules kept per job and the averages kept per policy are the same replays."""
    tables = finished.tables()
    from_schedules = tables["replay.schedules"].group_by("policy", "estimates").agg(mean=pl.col("wait_s").mean())
    scores = tables["replay.period_scores"].filter(~is_random_order())
    joined = scores.join(from_schedules, on=["policy", "estimates"])
    # nine policies with two kinds of run times, two keys, LEXP, multifactor, and three orders with two thresholds
    assert joined.height == scores.height == 28
    assert (joined["average_wait_s"] - joined["mean"]).abs().max() < 1e-6  # type: ignore[operator]


def test_evaluation_refuses_policies_trained_on_what_is_now_the_test_part(
    finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A smaller training share moves the split; the policies of the old one have seen jobs behind it."""
    home = Home(tmp_path / "home")
    shutil.copytree(finished.folder / "warehouse", home.folder / "warehouse")
    with duckdb.connect(str(home.database)) as connection:
        connection.execute("UPDATE predictions.training_splits SET test_job_index = 300")
    use_home(monkeypatch, home.folder)
    refused = call("run", SOURCE, "--job", "evaluate")
    assert refused.exit_code != 0
    assert "policies were trained on jobs that are now in the test part" in refused.stderr


def test_a_changed_model_file_is_noticed(finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path / "home")
    shutil.copytree(finished.folder / "warehouse", home.folder / "warehouse")
    for policy in (home.folder / "warehouse" / "data" / "models" / SOURCE).glob("policy-*.json"):
        policy.write_text(policy.read_text().replace("0.", "1.", 1))
    use_home(monkeypatch, home.folder)
    assert "not the one that was trained" in fail("replay", SOURCE, "--policy", "learned")


# running_killed: Runs that are killed: the warehouse ends up as if nothing had happened.


def kill_after(home: Home, step: str, delay_s: float, job: str = "everything") -> None:
    """Starts a job and kills it (SIGKILL) `delay_s` after a line with `step` has appeared."""
    run = home.start("run", SOURCE, "--job", job, "--config", str(settings_of(home, job)))
    assert run.stderr is not None
    for line in run.stderr:
        if step in line:
            break
    time.sleep(delay_s)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL, f"the run was over before it could be killed after {step!r}"
    run.communicate()


def settings_of(home: Home, job: str) -> Path:
    """The quick settings of what this job runs."""
    if job == "everything":
        return home.folder / "config.yaml"
    ops = yaml.safe_load(CONFIG)["ops"]
    mine = {name: settings for name, settings in ops.items() if name.startswith("replay") == (job == "evaluate")}
    file = home.folder / f"{job}.yaml"
    file.write_text(yaml.safe_dump({"ops": mine}))
    return file


def complete(home: Home, job: str) -> None:
    """Runs a job in this process, undisturbed."""
    rerun = call("run", SOURCE, "--job", job, "--config", settings_of(home, job))
    assert rerun.exit_code == 0, rerun.stderr
    assert "closed as failed" in rerun.stderr  # the dead run's record, and its place in the pool, were given back


def test_killed_again_and_again_then_rerun_equals_an_undisturbed_run(
    finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kill meets what the one before has left: half an ingest, a model without predictions, a policy without scores. The
    training is completed before the last kill, which would repeat it otherwise."""
    home = Home(tmp_path)
    kill_after(home, f"{SOURCE}: everything", 0.15)  # during ingest
    kill_after(home, "raw/log", 0.15)  # during the canonical jobs
    kill_after(home, "policies/trajectory_filter", 0.8)  # during training
    use_home(monkeypatch, home.folder)
    complete(home, "train")
    kill_after(home, "marts/prediction_error", 0.2, "evaluate")  # during replay
    complete(home, "evaluate")
    assert_same_tables(finished.tables(), home.tables())
