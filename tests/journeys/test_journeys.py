"""Every command on one source after the other: each ends well or with its own clear error, and their answers agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.agreement import disagreements
from tests.journeys.commands import SCENARIOS, refuses_rightly, steps_of
from tests.journeys.sources import BUNDLED, REAL, JourneySource
from tests.pipelines.command_line import call, use_home
from tests.tiny import CONFIG


def walk(
    source: JourneySource, folder: Path, patch: pytest.MonkeyPatch, is_short: bool
) -> tuple[dict[str, Any], list[str]]:
    """Runs the commands in a home of their own. Returns the answers by their keys, and what went wrong."""
    home = folder / "home"
    use_home(patch, home).write_text(source.catalogue)
    patch.chdir(home)
    (home / "q.toml").write_text(SCENARIOS.format(name=source.name))
    (home / "config.yaml").write_text(CONFIG)
    words = {"name": source.name, "format": source.format, "budget": "40" if is_short else "400"}
    if source.log:
        words |= {"log": str(source.log_path(folder)), "configuration": str(source.configuration_path())}
    answers: dict[str, Any] = {}
    faults = []
    for step in steps_of(source, is_short):
        line = step.line.format(**words)
        try:
            result = call(*line.split())
        except pytest.fail.Exception as error:
            faults.append(f"{line}: {error}")
            continue
        if result.exit_code == 0:
            if step.key:
                answers[step.key] = json.loads(result.stdout)
        elif not refuses_rightly(step, result.stderr):
            faults.append(f"{line}: {result.stderr.strip().splitlines()[-1]}")
    return answers, faults


def check(source: JourneySource, folder: Path, patch: pytest.MonkeyPatch, is_short: bool) -> None:
    answers, faults = walk(source, folder, patch, is_short)
    faults += disagreements(source.name, answers)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("source", BUNDLED, ids=lambda source: source.name)
def test_the_short_journey(source: JourneySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(source, tmp_path, monkeypatch, is_short=True)


@pytest.mark.parametrize("source", [*BUNDLED, *REAL], ids=lambda source: source.name)
def test_the_whole_journey(source: JourneySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(source, tmp_path, monkeypatch, is_short=False)
