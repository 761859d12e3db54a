"""Runs that are killed: the warehouse ends up as if nothing had happened."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
import yaml

from tests.pipelines.command_line import call, use_home
from tests.tiny import CONFIG, SOURCE, Home, assert_same_tables


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
    searched = call("run", SOURCE, "--job", "prediction_search", "--config", home.folder / "search.yaml")
    assert searched.exit_code == 0, searched.stderr
    assert_same_tables(finished.tables(), home.tables())
