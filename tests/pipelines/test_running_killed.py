"""Runs that are killed: the warehouse ends up as if nothing had happened."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.pipelines.command_line import call, use_home
from tests.tiny import SOURCE, Home, assert_same_tables


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


def test_killed_again_and_again_then_rerun_equals_an_undisturbed_run(
    finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kill meets what the one before has left: half an ingest, a model without predictions, a policy without scores."""
    home = Home(tmp_path)
    kill_after(home, f"{SOURCE}: everything", 0.15)  # during ingest
    kill_after(home, "raw/log", 0.15)  # during the canonical jobs
    kill_after(home, "policies/trajectory_filter", 0.8)  # during training
    kill_after(home, "policies/scheduling_policy", 0.2)  # during replay
    use_home(monkeypatch, home.folder)
    rerun = call("run", "-s", SOURCE, "--config", home.folder / "config.yaml")
    assert rerun.exit_code == 0, rerun.stderr
    assert "closed as failed" in rerun.stderr  # the dead run's record, and its place in the pool, were given back
    assert_same_tables(finished.tables(), home.tables())
