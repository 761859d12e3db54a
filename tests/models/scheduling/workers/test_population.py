"""Population-based training: seeded, resumable, and each member's weights are where its lineage says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.scheduling.arena import Arena
from models.scheduling.learning.evolution import flatten
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.options import PopulationOptions, PPOOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.population import RANGES, Member, next_generation, train_population
from tests.models.scheduling.workers.threads import on_threads

OPTIONS = PopulationOptions(members=4, interval=2, replaced=1)


@pytest.fixture(scope="session")
def task(arena: Arena, lessons: Lessons) -> WorkerTask:
    options = PPOOptions(epochs=5, trajectories=24)
    return WorkerTask(arena, replace(lessons, after=20), options, 5, population=OPTIONS)


def test_a_population_and_its_lineage(task: WorkerTask) -> None:
    reports: list[EpochReport] = []
    policy = train_population(LoneWorker(), task, reports.append)
    rows = policy.parameters["lineage"]
    assert [(row["generation"], row["member"]) for row in rows] == [(g, m) for g in (1, 2, 3) for m in range(4)]
    assert [report.epoch for report in reports] == [1, 2, 3] and reports == policy.curve
    assert all(row["parent"] is None for row in rows[:4])
    assert all(low <= row[name] <= high for row in rows for name, (low, high) in RANGES.items())
    best = min(rows, key=lambda row: row["cost"])
    assert (policy.validation_cost, policy.best_epoch) == (best["cost"], best["generation"])
    assert task.arena.costs(policy.weights, task.lessons.validation).mean() == pytest.approx(best["cost"], rel=1e-6)
    for generation in (2, 3):
        before = [row["cost"] for row in rows if row["generation"] == generation - 1]
        parents = [row["parent"] for row in rows if row["generation"] == generation]
        worst, first = int(np.argmax(before)), int(np.argmin(before))
        assert parents == [first if member == worst else member for member in range(4)]


def test_the_workers_and_an_interruption_change_nothing(task: WorkerTask, tmp_path: Path) -> None:
    whole = train_population(LoneWorker(), task)
    together = on_threads(2, lambda workers: train_population(workers, task))
    assert all(policy.parameters == whole.parameters for policy in together)
    checkpoint = tmp_path / "checkpoint"

    def interrupted(report: EpochReport) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_population(LoneWorker(), task, interrupted, checkpoint)
    resumed = train_population(LoneWorker(), task, checkpoint=checkpoint)
    assert resumed.parameters == whole.parameters and resumed.curve == whole.curve
    assert np.array_equal(flatten(resumed.weights), flatten(whole.weights))


def test_a_random_search_copies_nobody(task: WorkerTask) -> None:
    search = replace(task, population=OPTIONS.model_copy(update={"exploit": False}))
    rows = train_population(LoneWorker(), search).parameters["lineage"]
    assert all(row["parent"] == (None if row["generation"] == 1 else row["member"]) for row in rows)
    for member in range(4):
        assert len({row["policy_rate"] for row in rows if row["member"] == member}) == 1


def test_a_member_that_is_left_alone_learns_what_it_would_alone(task: WorkerTask) -> None:
    """Without drawn hyper-parameters a member is a training by itself."""
    single = PopulationOptions(members=2, interval=2, replaced=1, drawn=False, exploit=False)
    policy = train_population(LoneWorker(), replace(task, population=single))
    alone = train_by_ddppo(LoneWorker(), replace(task, population=None))
    costs = [row["cost"] for row in policy.parameters["lineage"] if row["member"] == 1]
    assert costs == [alone.curve[epoch - 1].validation_cost for epoch in (2, 4, 5)]


def test_the_worst_copy_one_of_the_best() -> None:
    hyper = {name: high / 2 for name, (_, high) in RANGES.items()}
    members = [Member(hyper, None, {"of": k}, cost) for k, cost in enumerate([3.0, 1.0, 9.0, 2.0, 7.0, 4.0])]
    options = PopulationOptions(members=6, replaced=2)
    sources, changed = set(), set()
    for generation in range(2, 40):
        following = next_generation(members, options, 1, generation)
        assert [member.parent for k, member in enumerate(following) if k not in (2, 4)] == [0, 1, 3, 5]
        assert all(following[k].hyper == hyper for k in (0, 1, 3, 5))
        for k in (2, 4):
            assert following[k].learner == {"of": following[k].parent}
            sources.add(following[k].parent)
            changed.add(round(following[k].hyper["policy_rate"] / hyper["policy_rate"], 6))
        assert following == next_generation(members, options, 1, generation)
    assert sources == {1, 3} and {0.8, 1.2} < changed


def test_what_cannot_be_a_population(task: WorkerTask) -> None:
    with pytest.raises(ValueError, match="at most half"):
        PopulationOptions(members=2, replaced=2)
    whole = replace(
        task,
        options=task.options.model_copy(update={"minibatch": 0}),
        population=OPTIONS.model_copy(update={"drawn": False}),
    )
    with pytest.raises(ValueError, match="give it a size"):
        train_population(LoneWorker(), whole)
