"""Goals by hand and against the simulator's own metrics."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import WindowColumns, parse_goal
from papers.rlscheduler.rules import replay_rlscheduler, rlscheduler_metrics
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.metrics.metrics import metrics
from tests.models.scheduling.conftest import PROCS

SAME = {
    "bsld": "average_bounded_slowdown",
    "slowdown": "average_slowdown",
    "wait": "average_wait_s",
    "turnaround": "average_turnaround_s",
    "bsld:mean_user": "average_user_bounded_slowdown",
    "bsld:max_user": "max_user_bounded_slowdown",
    "wait:max_user": "max_user_wait_s",
}


@pytest.mark.parametrize("goal", SAME)
def test_goals_are_the_metrics(goal: str, jobs: Jobs) -> None:
    windows = Windows(np.array([0, 100, 430]), 150)
    found = Arena(jobs, PROCS, parse_goal(goal)).costs("SJF", windows)
    for k, first in enumerate(windows.first):
        window = jobs.window(int(first), 150)
        assert found[k] == pytest.approx(metrics(window, replay(window, PROCS, "SJF"), PROCS)[SAME[goal]])


def test_utilisation_is_to_be_large(jobs: Jobs) -> None:
    windows = Windows(np.array([100]), 150)
    window = jobs.window(100, 150)
    cost = Arena(jobs, PROCS, parse_goal("utilisation")).costs("SAF", windows)[0]
    assert cost == pytest.approx(-metrics(window, replay(window, PROCS, "SAF"), PROCS)["utilisation"])
    as_coded = Arena(jobs, PROCS, parse_goal("utilisation_as_coded"), "easy", "rlscheduler").costs("SAF", windows)[0]
    schedule = replay_rlscheduler(window, PROCS, "SAF", True)
    assert as_coded == pytest.approx(-rlscheduler_metrics(window, schedule, PROCS)["utilisation_as_coded"])


def test_a_mix_by_hand() -> None:
    """Two users; waits 0, 10 and 40 s of jobs of 20 s each."""
    column = np.array([[0, 0, 0]])
    goal = parse_goal("0.5*wait + 2*bsld:max_user")
    jobs = WindowColumns(column, column + 20, column + 1, np.array([[0, 3, 3]]))
    cost = goal.costs(jobs, np.array([[0, 10, 40]]), cluster_procs=4)
    assert cost[0] == pytest.approx(0.5 * 50 / 3 + 2 * (1.5 + 3) / 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bsl", "expected terms such as"),
        ("bsld:groups", "max_user"),
        ("0*bsld", "above 0"),
        ("1e*bsld", "expected a number before"),
        ("utilisation:max_user", "belongs to the machine"),
        ("", "expected terms"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_goal(text)
