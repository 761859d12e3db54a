"""Kills, races and outside readers: the warehouse ends up as if nothing had happened, or the user is told what to do."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import polars as pl

from tests.tiny import SOURCE, Home, assert_same_tables

OF_OTHER_LOGS = (
    "raw.rejects", "raw.pbs_records", "raw.slurm_jobs", "core.requeues", "core.repeats", "core.changed_files",
)  # fmt: skip
"""Tables that stay empty: the tiny source is a sound SWF log."""


def test_the_run_prints_the_leaderboard_and_what_to_do_next(finished: Home) -> None:
    assert "learned" in finished.printed
    assert str(finished.database) in finished.printed
    assert "Next:" in finished.printed


def test_running_again_changes_no_row(finished: Home) -> None:
    before = finished.tables()
    report = finished.folder / "warehouse" / "data" / "reports" / f"{SOURCE}.html"
    page = report.read_bytes()
    assert finished.run_tiny().returncode == 0
    assert all(rows.height > 0 for name, rows in before.items() if name not in OF_OTHER_LOGS)
    assert_same_tables(before, finished.tables())
    assert report.read_bytes() == page


def kill_after(home: Home, step: str, delay_s: float) -> None:
    """Starts a run and kills it (SIGKILL) `delay_s` after a line with `step` has appeared."""
    run = home.start("run", "-s", SOURCE, "--config", str(home.folder / "config.yaml"))
    assert run.stderr is not None
    for line in run.stderr:
        if step in line:
            break
    time.sleep(delay_s)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL, f"the run was over before it could be killed after {step!r}"
    run.communicate()


def test_killed_again_and_again_then_rerun_equals_an_undisturbed_run(finished: Home, tmp_path: Path) -> None:
    """Each kill meets what the one before has left: half an ingest, a model without predictions, a policy without scores."""
    home = Home(tmp_path)
    kill_after(home, f"{SOURCE}: everything", 0.15)  # during ingest
    kill_after(home, "raw/log", 0.15)  # during the canonical jobs
    kill_after(home, "policies/trajectory_filter", 0.8)  # during training
    kill_after(home, "policies/scheduling_policy", 0.2)  # during replay
    rerun = home.run_tiny()
    assert rerun.returncode == 0, rerun.stderr
    assert "closed as failed" in rerun.stderr  # the dead run's record, and its place in the pool, were given back
    assert_same_tables(finished.tables(), home.tables())


def test_two_runs_at_once_both_complete(finished: Home, tmp_path: Path) -> None:
    home = Home(tmp_path)
    arguments = ["run", "-s", SOURCE, "--config", str(home.folder / "config.yaml")]
    runs = [home.start(*arguments), home.start(*arguments)]
    for run in runs:
        _, errors = run.communicate(timeout=300)
        assert run.returncode == 0, errors
    assert_same_tables(finished.tables(), home.tables())


HOLD = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1], read_only=True)
print("held", flush=True)
sys.stdin.read()
"""


def test_an_outside_reader_makes_a_writer_wait_then_fail_clearly(finished: Home) -> None:
    before = finished.tables()
    reader = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(finished.database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout is not None
    assert reader.stdin is not None
    assert reader.stdout.readline() == "held\n"
    refused = finished.call("run", "-s", SOURCE, "--job", "ingest", TRACEHOUSE_TIMEOUT_S="4")
    assert refused.returncode != 0
    assert "waiting for the warehouse" in refused.stderr
    assert f"PID {reader.pid}" in refused.stderr
    assert "Traceback" not in refused.stderr
    looked = finished.call("sql", "SELECT count(*) AS jobs FROM core.jobs", "--format", "json")
    assert looked.returncode == 0, "other readers are not kept out"

    waiting = finished.start("run", "-s", SOURCE, "--job", "ingest", TRACEHOUSE_TIMEOUT_S="60")
    time.sleep(5)
    assert waiting.poll() is None, "the writer waits while the reader holds the database"
    reader.stdin.close()
    reader.wait()
    _, errors = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, errors
    assert_same_tables(before, finished.tables())


def test_learned_policy_and_predictions_replay_from_the_command_line(finished: Home) -> None:
    import json

    learned = finished.call("replay", SOURCE, "--policy", "learned", "--estimates", "predicted", "--json")
    assert learned.returncode == 0, learned.stderr
    found = json.loads(learned.stdout)
    assert found["jobs"] == 1500
    assert found["jobs_seen_in_training"] == 900
    policy = next((finished.folder / "warehouse" / "data" / "models" / SOURCE).glob("policy-1-*.json"))
    by_file = finished.call("replay", SOURCE, "--policy", str(policy), "--backfill", "none", "--json")
    assert json.loads(by_file.stdout)["average_wait_s"] > 0


def test_period_scores_follow_from_the_stored_schedules(finished: Home) -> None:
    """The schedules kept per job and the averages kept per policy are the same replays."""
    tables = finished.tables()
    from_schedules = tables["replay.schedules"].group_by("policy", "estimates").agg(mean=pl.col("wait_s").mean())
    joined = tables["replay.period_scores"].join(from_schedules, on=["policy", "estimates"])
    assert joined.height == 14
    assert (joined["average_wait_s"] - joined["mean"]).abs().max() < 1e-6  # type: ignore[operator]


def test_evaluation_refuses_policies_trained_on_what_is_now_the_test_part(finished: Home, tmp_path: Path) -> None:
    """A smaller training share moves the split; the policies of the old one have seen jobs behind it."""
    home = Home(tmp_path / "home")
    shutil.copytree(finished.folder / "warehouse", home.folder / "warehouse")
    with duckdb.connect(str(home.database)) as connection:
        connection.execute("UPDATE predictions.training_splits SET test_job_index = 300")
    refused = home.call("run", "-s", SOURCE, "--job", "evaluate")
    assert refused.returncode != 0
    assert "policies were trained on jobs that are now in the test part" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_changed_model_file_is_noticed(finished: Home, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    shutil.copytree(finished.folder / "warehouse", home.folder / "warehouse")
    for policy in (home.folder / "warehouse" / "data" / "models" / SOURCE).glob("policy-*.json"):
        policy.write_text(policy.read_text().replace("0.", "1.", 1))
    refused = home.call("replay", SOURCE, "--policy", "learned")
    assert refused.returncode != 0
    assert "not the one that was trained" in refused.stderr


def test_a_source_that_fails_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with (home.folder / "sources.toml").open("a") as catalogue:
        catalogue.write('\n[sources.aaa-broken]\nformat = "swf"\npath = "missing.swf"\n')
    done = home.call("run", "-s", "aaa-broken", "-s", SOURCE, "--job", "ingest")
    assert done.returncode != 0
    assert "missing.swf: no such log file" in done.stderr
    assert home.tables()["core.jobs"]["source"].unique().to_list() == [SOURCE]
