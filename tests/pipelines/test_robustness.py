"""Two runs at once, and a source that fails beside one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipelines.command_line import call, use_home
from tests.tiny import SOURCE, Home, assert_same_tables


def test_two_runs_at_once_both_complete(finished: Home, tmp_path: Path) -> None:
    home = Home(tmp_path)
    arguments = ["run", "-s", SOURCE, "--config", str(home.folder / "config.yaml")]
    runs = [home.start(*arguments), home.start(*arguments)]
    for run in runs:
        _, errors = run.communicate(timeout=300)
        assert run.returncode == 0, errors
    assert_same_tables(finished.tables(), home.tables())


def test_a_source_that_fails_does_not_keep_the_others_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    with (home.folder / "sources.toml").open("a") as catalogue:
        catalogue.write('\n[sources.aaa-broken]\nformat = "swf"\npath = "missing.swf"\n')
    use_home(monkeypatch, home.folder)
    done = call("run", "-s", "aaa-broken", "-s", SOURCE, "--job", "ingest")
    assert done.exit_code != 0
    assert "missing.swf: no such log file" in done.stderr
    assert home.tables()["core.jobs"]["source"].unique().to_list() == [SOURCE]
