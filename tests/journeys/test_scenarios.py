"""What a scenario says means the same on every site: each of five questions has an answer on every source, and the base is its replay."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.journeys.sources import BUNDLED, REAL, JourneySource
from tests.pipelines.command_line import succeed, use_home

QUESTIONS = """
source = "{name}"
[scenarios]
more = {{ procs = "+10%" }}
fewer = {{ nodes = -2 }}
order = {{ policy = "SAF" }}
live = {{ estimates = "live" }}
busier = {{ load = "+20%" }}
"""
REFUSED = {"kth": {"busier": "between two that moved as well what fits today would not fit"}, "hpc2n": {}}
"""By log of which rules are adopted, the questions that have no answer then, and what is said. No job of KTH runs past some hours."""
NOTHING: Mapping[str, str] = MappingProxyType({})
ASKED = ("base", "more", "fewer", "order", "live", "busier")


def load(source: JourneySource, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Loads the source into a home of its own, which is the working folder afterwards, with the file q.toml."""
    home = folder / "home"
    use_home(patch, home).write_text(source.catalogue)
    patch.chdir(home)
    (home / "q.toml").write_text(QUESTIONS.format(name=source.name))
    if not source.log:
        succeed("run", source.name, "--job", "ingest")
        return
    described = []
    if source.configuration:
        succeed("cluster", "import", str(source.configuration_path()), "--name", source.name)
        described = ["--cluster", source.name]
    log = str(source.log_path(folder))
    succeed("ingest", log, "--format", source.format, "--name", source.name, *described)


def answers(name: str, refused: Mapping[str, str] = NOTHING) -> dict[str, Any]:
    """The rows of the answer by scenario, after a check that every question has one and that the base is the replay. refused: what is said
    of those that have none."""
    rows = {row["scenario"]: row for row in json.loads(succeed("what-if", "q.toml", "--json"))["scenarios"]}
    for scenario in ASKED:
        if scenario in refused:
            assert refused[scenario] in rows[scenario]["failed_because"]
            continue
        assert rows[scenario]["failed_because"] is None, scenario
        assert math.isfinite(rows[scenario]["average_wait_h"]), scenario
    replayed = json.loads(succeed("replay", name, "--json"))
    assert rows["base"]["average_wait_h"] * 3600 == pytest.approx(replayed["average_wait_s"])
    assert rows["base"]["procs"] == replayed["procs"]
    assert rows["fewer"]["procs"] < rows["base"]["procs"] < rows["more"]["procs"]
    assert rows["live"]["estimates"] == "live:mean" and ("busier" in refused or rows["busier"]["load"] == 1.2)
    return rows


@pytest.mark.parametrize("source", [*BUNDLED, *REAL], ids=lambda source: source.name)
def test_every_scenario_has_an_answer(source: JourneySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(source, tmp_path, monkeypatch)
    answers(source.name)


@pytest.mark.parametrize("source", [each for each in REAL if each.name in REFUSED], ids=lambda source: source.name)
def test_every_scenario_has_an_answer_under_what_was_found(
    source: JourneySource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order that fits the log, on a machine whose size may change over time, and then the rules that the log shows."""
    load(source, tmp_path, monkeypatch)
    succeed("run", source.name, "--select", "replay/fidelity")
    fitted = answers(source.name)
    succeed("cluster", "identify", source.name, "--budget", "100")
    succeed("cluster", "adopt", source.name)
    succeed("run", source.name, "--select", "replay/fidelity")
    assert answers(source.name, REFUSED[source.name])["base"] != fitted["base"]
