"""Tests of tracehouse/cli/commands: compare.

How far compared runs can be trusted. What `tracehouse compare` says of the runs themselves is in test_replay.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from models.judging.configurations import SchedulerConfiguration
from models.judging.machine import Machine
from tests.assets.pages.conftest import grade_source
from tests.pipelines.command_line import call, succeed, use_home
from tests.tiny import busy_log

NO_GRADE = "no grade: that of the source, B, is of its own Slurm, and an order in its place has none"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home with the source `mine` and its runs first, second and own. The last one is written down as one under Slurm."""
    folder: Path = tmp_path_factory.mktemp("saved")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, folder / "home")
        (folder / "mine.swf").write_text(busy_log(60))
        succeed("ingest", folder / "mine.swf")
        succeed("run", "mine", "--job", "replay_runs")
        for run, policy in (("first", "FCFS"), ("second", "SAF"), ("own", "SJF")):
            succeed("replay", "mine", "--policy", policy, "--save", run)
        with open_warehouse().write() as connection:
            connection.execute("UPDATE replay.runs SET policy = 'slurm' WHERE run = 'own'")
        yield


def grades_of(run_a: str, run_b: str) -> list[str]:
    """What is said below the comparison, a line for each sentence."""
    result = call("compare", "mine", run_a, run_b)
    assert result.exit_code == 0
    return [" ".join(part.split()) for part in result.stderr.split("\n\n") if "can be trusted" in part]


def test_a_grade_of_the_own_scheduler_is_said_of_its_runs_alone(saved: None) -> None:
    grade_source(open_warehouse(), "B", fitted=SchedulerConfiguration(0.0, "slurm", "easy", Machine(16), 60))
    assert grades_of("first", "second") == [f"How far replays of mine can be trusted: {NO_GRADE}"]
    own, order = grades_of("own", "second")
    assert own.startswith("How far the run own of mine can be trusted: grade B: ")
    assert order == f"How far the run second of mine can be trusted: {NO_GRADE}"
    (both,) = grades_of("own", "own")
    assert both.startswith("How far replays of mine can be trusted: grade B: ")


def test_a_grade_of_an_order_is_that_of_all_orders(saved: None) -> None:
    grade_source(open_warehouse(), "B", fitted=SchedulerConfiguration(0.0, "SAF", "easy", Machine(16), 60))
    (both,) = grades_of("first", "second")
    assert both.startswith("How far replays of mine can be trusted: grade B: ")
