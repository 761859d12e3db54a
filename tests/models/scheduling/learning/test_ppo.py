"""Proximal policy optimisation: reproducible, and the best epoch is kept."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena
from models.scheduling.goals import parse_goal
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.options import (
    PAPER_PPO,
    PPOOptions,
)
from simulator.jobs.jobs import Jobs
from simulator.policies.network import KernelWeights
from tests.models.scheduling.conftest import PROCS

QUICK = PPOOptions(epochs=4, filtered_epochs=2, trajectories=16)


CRITIC = PAPER_PPO.model_copy(update={"epochs": 3, "trajectories": 8, "passes": 3, "layout": "plain"})


def same(a: KernelWeights, b: KernelWeights) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_training_reports_every_epoch_and_keeps_the_best(arena: Arena, lessons: Lessons) -> None:
    reports: list[EpochReport] = []
    found = train_by_ppo(arena, lessons, QUICK, 11, reports.append)
    assert [report.epoch for report in reports] == [1, 2, 3, 4] and reports == found.curve
    assert [report.phase for report in reports] == ["filtered", "filtered", "all", "all"]
    assert all(report.decisions > 50 and report.updates > 0 for report in reports)
    costs = [report.validation_cost for report in reports]
    assert found.validation_cost == min(costs) and found.best_epoch == 1 + int(np.argmin(costs))  # type: ignore[type-var]
    assert arena.costs(found.weights, lessons.validation).mean() == found.validation_cost


@pytest.mark.parametrize("options", [QUICK, CRITIC], ids=["siblings", "critic"])
def test_the_seed_decides(options: PPOOptions, arena: Arena, lessons: Lessons) -> None:
    once, again, other = (train_by_ppo(arena, lessons, options, seed) for seed in (3, 3, 4))
    assert once.curve == again.curve and same(once.weights, again.weights)
    assert once.curve != other.curve


def test_rlscheduler_rules_can_be_learned_in(jobs: Jobs, lessons: Lessons) -> None:
    for backfill in ("none", "easy"):
        place = Arena(jobs, PROCS, parse_goal("bsld"), backfill, "rlscheduler")
        found = train_by_ppo(place, lessons, PPOOptions(epochs=2, trajectories=8), 1)
        window = jobs.window(450, 64)
        from papers.rlscheduler.rules import replay_rlscheduler
        from simulator.policies.registry import network_policy

        alone = replay_rlscheduler(window, PROCS, network_policy(found.weights), backfill == "easy")
        assert np.array_equal(place.starts(found.weights, lessons.validation)[0], alone.start)
