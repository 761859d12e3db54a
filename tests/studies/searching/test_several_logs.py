"""Tests of studies/searching: several_logs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.scheduling.learning.evolution import evolve_by, flatten, unflatten
from models.scheduling.learning.recipes import program_network
from models.scheduling.learning.training import EpochReport, TrainedPolicy
from models.scheduling.options import EvolutionOptions
from simulator.jobs.jobs import Jobs
from simulator.policies.network import CAP_S, KernelWeights
from simulator.policies.observation import LAYOUTS
from simulator.policies.registry import SEARCHED
from studies.searching import several_logs
from studies.searching.evolution import LIMIT_MARGIN, LIMIT_PENALTY, value_of_logs
from studies.searching.learning_logs import LearningLog, ProgramOutcome, perturbed_copies
from studies.searching.several_logs import GuardedLogs
from tests.models.scheduling.conftest import PROCS
from tests.simulator.busy import PROCS as BUSY_PROCS
from tests.simulator.busy import busy_jobs

OPTIONS = EvolutionOptions(generations=4, pairs=2, spread=0.1, rate=0.1, validate_every=2)
LIMIT = 1.10
START = program_network(LAYOUTS["program"], 1.0, 1)


def fitness_on(jobs: Jobs) -> GuardedLogs:
    """Two logs, one with its copies."""
    first, other = LearningLog("first", jobs.window(0, 400), PROCS), LearningLog("other", spread_jobs(), BUSY_PROCS)
    choosing = [LearningLog("first", jobs.window(0, 600), PROCS, 400), replace(other, first_scored=200)]
    return GuardedLogs([[first, *perturbed_copies(first, 1)], [other]], choosing, LIMIT)


def spread_jobs() -> Jobs:
    """Jobs of so long a time that not all have the same setback, and that the cap matters."""
    jobs = busy_jobs(300, load=2.0)
    stretch = 4 * CAP_S / float(jobs.submit[-1] - jobs.submit[0])
    longer = {
        name: np.rint(getattr(jobs, name) * stretch).astype(np.int64)
        for name in ("submit", "runtime", "estimate", "limit")
    }
    return replace(jobs, **longer)


def same(a: KernelWeights, b: KernelWeights) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_the_network_begins_as_the_program(jobs: Jobs) -> None:
    fitness = fitness_on(jobs)
    cost_of = fitness.cost_in_generation(np.random.default_rng(1), START)
    drawn = drawn_by(1, fitness)
    assert cost_of(START) == value_of_logs([[log.outcome("searched:balanced")] for log in drawn], LIMIT)
    outcomes = [log.outcome(SEARCHED["searched:balanced"]) for log in fitness.choosing]
    assert fitness.validated(START) == value_of_logs([[each] for each in outcomes], LIMIT)
    assert outcomes[1] != fitness.choosing[1].outcome("FCFS")


def drawn_by(seed: int, fitness: GuardedLogs) -> list[LearningLog]:
    rng = np.random.default_rng(seed)
    return [copies[int(rng.integers(len(copies)))] for copies in fitness.learned]


def test_generations_draw_copies(jobs: Jobs) -> None:
    fitness = fitness_on(jobs)
    costs = {fitness.cost_in_generation(np.random.default_rng(seed), START)(START) for seed in range(8)}
    assert len(costs) > 2


def test_a_guard_that_is_broken_costs(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same gain, and wide jobs of one of two logs that wait half as long again: half of it is in the mean, and half in the worst."""
    fair = ProgramOutcome(0.8, 0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    outcomes = {"first": fair, "other": fair}
    monkeypatch.setattr(several_logs.LearningLog, "outcome", lambda log, policy: outcomes[log.name])
    fitness = fitness_on(jobs)
    assert fitness.validated(START) == pytest.approx(math.log(0.8))
    outcomes["other"] = fair._replace(wide=1.5)
    paid = LIMIT_PENALTY * (math.log(1.5) - LIMIT_MARGIN * math.log(LIMIT))
    assert fitness.validated(START) == pytest.approx(math.log(0.8) + 0.75 * paid)
    outcomes["other"] = fair._replace(wide=1.05)
    assert fitness.validated(START) == pytest.approx(math.log(0.8))


def test_the_seed_decides_and_what_it_starts_from_counts(jobs: Jobs) -> None:
    fitness = fitness_on(jobs)
    once, again, other = (evolve_by(fitness, START, OPTIONS, seed) for seed in (3, 3, 4))
    assert same(once.weights, again.weights) and once.curve == again.curve != other.curve
    assert once.validation_cost <= fitness.validated(START)
    assert once.validation_cost == fitness.validated(once.weights)
    assert (once.best_epoch > 0) != same(once.weights, START)
    assert [report.epoch for report in once.curve if report.validation_cost is not None] == [2, 4]


def test_an_interrupted_training_on_logs_goes_on(jobs: Jobs, tmp_path: Path) -> None:
    fitness, path = fitness_on(jobs), tmp_path / "kept.checkpoint"

    def stop(report: EpochReport) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt

    def run(fitness: GuardedLogs, kept: Path | None) -> TrainedPolicy:
        return evolve_by(fitness, START, OPTIONS, 5, checkpoint=kept)

    with pytest.raises(KeyboardInterrupt):
        evolve_by(fitness, START, OPTIONS, 5, stop, path)
    undisturbed, resumed = run(fitness, None), run(fitness, path)
    assert same(undisturbed.weights, resumed.weights) and undisturbed.curve == resumed.curve


def test_another_limit_or_log_is_another_training(jobs: Jobs) -> None:
    fitness = fitness_on(jobs)
    fewer = replace(fitness, learned=[copies[:1] for copies in fitness.learned])
    other = unflatten(flatten(START) + 1.0, START)
    trainings = [
        fitness.training([], START),
        fitness.training([1], START),
        fitness.training([], other),
        replace(fitness, limit=1.25).training([], START),
        fewer.training([], START),
        replace(fitness, choosing=fitness.choosing[::-1]).training([], START),
    ]
    assert len(set(trainings)) == len(trainings) and trainings[0] == fitness_on(jobs).training([], START)
