"""Every way of training: reproducible, better than where it began, and the same when it is interrupted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.hindsight import search_orders
from models.scheduling.learning.dense import DenseLearner
from models.scheduling.learning.evolution import evolve
from models.scheduling.learning.imitation import imitate
from models.scheduling.learning.ppo import train
from models.scheduling.learning.recipes import learn
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import (
    PAPER,
    EvolutionOptions,
    HindsightOptions,
    ImitationOptions,
    KeySearchOptions,
    PPOOptions,
    Recipe,
)
from models.scheduling.priority_key import PriorityKey, search_key
from models.scheduling.trajectory_filter import filter_trajectories, sample_positions
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.policies.network import KernelWeights
from simulator.policies.observation import LAYOUTS
from simulator.policies.registry import FIXED_SCORES
from tests.models.scheduling.conftest import PROCS

QUICK = PPOOptions(epochs=4, filtered_epochs=2, trajectories=16)
CRITIC = PAPER.model_copy(update={"epochs": 3, "trajectories": 8, "passes": 3, "layout": "plain"})


def same(a: KernelWeights, b: KernelWeights) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_training_reports_every_epoch_and_keeps_the_best(arena: Arena, lessons: Lessons) -> None:
    told: list[EpochReport] = []
    found = train(arena, lessons, QUICK, 11, told.append)
    assert [report.epoch for report in told] == [1, 2, 3, 4] and told == found.curve
    assert [report.phase for report in told] == ["filtered", "filtered", "all", "all"]
    assert all(report.decisions > 50 and report.updates > 0 for report in told)
    costs = [report.validation_cost for report in told]
    assert found.validation_cost == min(costs) and found.best_epoch == 1 + int(np.argmin(costs))  # type: ignore[type-var]
    assert arena.costs(found.weights, lessons.validation).mean() == found.validation_cost


@pytest.mark.parametrize("options", [QUICK, CRITIC], ids=["siblings", "critic"])
def test_the_seed_decides(options: PPOOptions, arena: Arena, lessons: Lessons) -> None:
    once, again, other = (train(arena, lessons, options, seed) for seed in (3, 3, 4))
    assert once.curve == again.curve and same(once.weights, again.weights)
    assert once.curve != other.curve


def stop_after(epochs: int):
    """Whoever is told of an epoch after that many dies, as a killed process would."""

    def tell(report: EpochReport) -> None:
        if report.epoch == epochs:
            raise KeyboardInterrupt

    return tell


@pytest.mark.parametrize("method", ["siblings", "critic", "evolution"])
def test_an_interrupted_training_goes_on_as_if_nothing_had_been(
    method: str, arena: Arena, lessons: Lessons, tmp_path: Path
) -> None:
    def run(tell=lambda report: None, path: Path | None = None, seed: int = 5) -> TrainedPolicy:
        if method == "evolution":
            start = train(arena, lessons, PPOOptions(epochs=1, trajectories=4), 1).weights
            options = EvolutionOptions(generations=5, pairs=3, windows=4, validate_every=2)
            return evolve(arena, lessons, start, options, seed, tell, path)
        return train(arena, lessons, CRITIC if method == "critic" else QUICK, seed, tell, path)

    undisturbed = run()
    path = tmp_path / "policy.checkpoint"
    for epochs in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            run(stop_after(epochs), path)
    told: list[int] = []
    resumed = run(lambda report: told.append(report.epoch), path)
    assert same(undisturbed.weights, resumed.weights)
    assert [r.epoch for r in resumed.curve] == told == [r.epoch for r in undisturbed.curve]
    assert [r.validation_cost for r in resumed.curve] == [r.validation_cost for r in undisturbed.curve]
    # a checkpoint of another training is not gone on from
    assert run(path=path, seed=6).curve == run(seed=6).curve
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"policy\.checkpoint: not a checkpoint"):
        run(path=path)


def test_imitation_copies_a_heuristic(arena: Arena, jobs: Jobs) -> None:
    saf = np.asarray(FIXED_SCORES["SAF"](jobs), dtype=np.float64)
    shares: list[float] = []
    shown = Windows(np.arange(0, 400, 20), 100)
    weights = imitate(
        arena, [shown], [saf], LAYOUTS["plain"], ImitationOptions(), 1, lambda loss, share: shares.append(share)
    )
    # many jobs have the same area, and of those either is as good
    assert shares[-1] > 0.7 and shares[-1] > shares[0] + 0.1
    later = Windows(np.array([500, 600]), 150)
    assert arena.costs(weights, later).mean() == pytest.approx(arena.costs("SAF", later).mean(), rel=0.3)


def test_learning_helps(arena: Arena, lessons: Lessons) -> None:
    """On the windows it learns from, evolution must improve a network that knows nothing, and much."""
    start = train(arena, lessons, PPOOptions(epochs=1, trajectories=4), 1).weights
    options = EvolutionOptions(generations=20, pairs=8, windows=12, spread=0.2, rate=0.2)
    on_lessons = Lessons(lessons.windows, lessons.filtered, lessons.windows)
    found = evolve(arena, on_lessons, start, options, 1)
    before = arena.costs(start, lessons.windows).mean()
    assert found.validation_cost < 0.95 * before and found.best_epoch > 0


def test_hindsight_finds_better_orders_that_replay_as_told(arena: Arena, jobs: Jobs) -> None:
    windows = Windows(np.array([60, 200, 420]), 80)
    saf = np.asarray(FIXED_SCORES["SAF"](jobs), dtype=np.float64)
    found, again = (search_orders(arena, windows, saf, HindsightOptions(orders=400), 3) for _ in range(2))
    assert np.array_equal(found.score, again.score)
    np.testing.assert_allclose(found.first_cost, arena.costs("SAF", windows))
    assert (found.cost <= found.first_cost).all() and (found.cost < 0.97 * found.first_cost).any()
    # the order itself, replayed by the fast engine, costs what the search says
    from simulator.policies.registry import Policy
    from simulator.policies.scoring import FIXED

    for k, first in enumerate(windows.first):
        window = jobs.window(int(first), 80)
        order = Policy("order", FIXED, lambda _jobs, _procs, k=k: found.score[k])
        start = replay(window, PROCS, order).start[None]
        assert arena.costs_of(Windows(windows.first[k : k + 1], 80), start)[0] == pytest.approx(found.cost[k])


def test_a_key_and_its_formula_order_alike(arena: Arena, jobs: Jobs) -> None:
    windows = Windows(np.array([100, 300]), 150)
    for key in (PriorityKey(1.0, 1.0, 0.5), PriorityKey(-2.0, 1.5, 2.0), PriorityKey(6.0, 0.0, 1.0)):
        assert np.array_equal(arena.starts(key.policy, windows), arena.starts(key.formula, windows)), key


def test_the_search_finds_a_good_key(arena: Arena) -> None:
    windows = Windows(np.arange(0, 600, 30), 100)
    asked = KeySearchOptions(random_keys=40, steps=40)
    found, again = (search_key(arena, windows, asked, 2) for _ in range(2))
    assert found.best == again.best and np.array_equal(found.tried, again.tried)
    assert len(found.tried) >= 80
    rivals = [arena.costs(name, windows).mean() for name in ("FCFS", "SJF", "SAF")]
    assert found.cost == found.tried[:, 3].min() <= 1.02 * min(rivals)
    assert found.tried[40:, 3].min() <= found.tried[:40, 3].min()


@pytest.mark.parametrize("method", ["ppo", "evolution", "imitation"])
def test_recipes_begin_with_the_key(method: str, arena: Arena, lessons: Lessons) -> None:
    recipe = Recipe(
        method=method,
        ppo=PPOOptions(epochs=2, trajectories=8),
        evolution=EvolutionOptions(generations=2, pairs=2, windows=3),
        hindsight=HindsightOptions(orders=50),
        imitation=ImitationOptions(passes=4),
        key=KeySearchOptions(random_keys=10, steps=0, windows=6),
        shown_windows=10,
        hindsight_windows=10,
    )
    told: list[EpochReport] = []
    found = learn(arena, lessons, recipe, 1, told.append)
    assert len(told) == recipe.epochs and found.parameters["method"] == method and found.parameters["seed"] == 1
    # what it starts from counts, so that it never ends worse on the windows that choose
    assert found.validation_cost <= arena.costs("FCFS", lessons.validation).mean()
    assert same(found.weights, learn(arena, lessons, recipe, 1).weights)


def test_the_filter_keeps_what_the_paper_keeps(arena: Arena) -> None:
    windows = sample_positions(0, 700, 100, 150, np.random.default_rng(1))
    assert len(windows) == len(np.unique(windows.first)) == 150 and windows.first.max() <= 600
    found = filter_trajectories(arena, windows)
    np.testing.assert_allclose(found.score, arena.costs("SJF", windows))
    assert np.array_equal(found.kept, (found.score > np.median(found.score)) & (found.score < 2 * found.score.mean()))
    assert 0 < found.kept.sum() < 76 and len(found.kept_windows) == found.kept.sum()
    centred = found.score - found.score.mean()
    assert found.skewness == pytest.approx((centred**3).mean() / (centred**2).mean() ** 1.5)
    use = Arena(arena.jobs, PROCS, parse_goal("utilisation"))
    assert filter_trajectories(use, windows).kept.all()


@pytest.mark.parametrize("network", ["mlp_v2", "lenet"])
def test_rivals_of_the_kernel_network_learn_by_the_same_loop(network: str, arena: Arena, lessons: Lessons) -> None:
    options = PPOOptions(epochs=2, trajectories=8)
    once, again = (
        train(arena, lessons, options, 1, learner=DenseLearner(arena, options, 1, network)) for _ in range(2)
    )
    assert once.curve == again.curve and all(report.decisions > 50 and report.updates for report in once.curve)


def test_rlscheduler_rules_can_be_learned_in(jobs: Jobs, lessons: Lessons) -> None:
    for backfill in ("none", "easy"):
        place = Arena(jobs, PROCS, parse_goal("bsld"), backfill, "rlscheduler")
        found = train(place, lessons, PPOOptions(epochs=2, trajectories=8), 1)
        window = jobs.window(450, 64)
        from simulator.policies.registry import network_policy
        from simulator.published.rlscheduler import replay_rlscheduler

        alone = replay_rlscheduler(window, PROCS, network_policy(found.weights), backfill == "easy")
        assert np.array_equal(place.starts(found.weights, lessons.validation)[0], alone.start)
