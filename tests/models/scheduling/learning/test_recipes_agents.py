"""Tests of models/scheduling/learning: dense, recipes_agents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.choices import ppo_gradient
from models.scheduling.learning.dense import DenseLearner, rows_of
from models.scheduling.learning.networks import load_weights, new_policy_network
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.recipes import learn
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.options import AGENT_PPO, PAPER_INSPECTOR, EvolutionOptions, PPOOptions, Recipe
from simulator.policies.agents import parse_agent
from simulator.policies.network import KernelWeights
from tests.simulator.busy import PROCS, busy_jobs, random_weights

# dense: Networks over the whole queue, trained by the same loop.


@pytest.mark.parametrize("network", ["mlp_v2", "lenet"])
def test_rivals_of_the_kernel_network_learn_by_the_same_loop(network: str, arena: Arena, lessons: Lessons) -> None:
    options = PPOOptions(epochs=2, trajectories=8)
    once, again = (
        train_by_ppo(arena, lessons, options, 1, learner=DenseLearner(arena, options, 1, network)) for _ in range(2)
    )
    assert once.curve == again.curve and all(report.decisions > 50 and report.updates for report in once.curve)


def test_recorded_probabilities_are_those_torch_computes(arena: Arena) -> None:
    """Otherwise the very first ratio of an update would not be one."""
    weights = random_weights(3)
    net = new_policy_network("kernel", 8)
    load_weights(net, weights)
    found = arena.sample(weights, Windows(np.array([0, 300]), 200), seed=5)
    every = np.arange(found.decisions)
    assert found.decisions > 50 and found.num_rows.min() >= 2
    scores = net(*rows_of(found, every)).detach().numpy()
    gradient = np.empty(len(scores), dtype=np.float32)
    kl, _, clipped = ppo_gradient(
        scores, found.num_rows, found.choice, found.log_prob, np.ones(len(every)), 0.2, 0.0, gradient
    )
    assert abs(kl) < 1e-5 and clipped == 0


# recipes_agents: Agents learn by the recipes of all policies: from their rule, the same again with the same seed,
# also after an interruption.

PICKING = ("pick:by=shortest,window=9-8", "picking")
INSPECTING = ("inspect:accept", "inspecting")
QUICK_EVOLUTION = EvolutionOptions(generations=3, pairs=2, windows=2, validate_every=1)


class Interrupted(Exception):
    """Somebody stops the training."""


def arena_of(text: str, **changes: object) -> Arena:
    place = Arena(busy_jobs(700), PROCS, parse_goal("bsld"), threads=1, agent=parse_agent(text))
    return replace(place, **changes)


def lessons() -> Lessons:
    windows = Windows(np.arange(0, 300, 20), 60)
    return Lessons(windows, windows.taken(np.arange(0)), Windows.blocks(400, 500), Windows.blocks(500, 700), after=60)


def recipe_of(method: str, layout: str, **ppo: object) -> Recipe:
    options = AGENT_PPO.model_copy(update={"layout": layout, "epochs": 3, "trajectories": 4, **ppo})
    return Recipe(
        method=method, start="rule", cautious=False, ppo=PPOOptions(**options.model_dump()), evolution=QUICK_EVOLUTION
    )


def same(one: KernelWeights, other: KernelWeights) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("method", ["ppo", "evolution"])
@pytest.mark.parametrize(("text", "layout"), [PICKING, INSPECTING])
def test_an_interruption_changes_nothing(text: str, layout: str, method: str, tmp_path: Path) -> None:
    arena, recipe = arena_of(text), recipe_of(method, layout)
    whole = learn(arena, lessons(), recipe, 3)
    file = tmp_path / "checkpoint"

    def stop(report: EpochReport) -> None:
        if report.epoch == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        learn(arena, lessons(), recipe, 3, stop, file)
    continued = learn(arena, lessons(), recipe, 3, checkpoint=file)
    assert same(continued.weights, whole.weights) and continued.curve == whole.curve
    assert same(learn(arena, lessons(), recipe, 3).weights, whole.weights)
    assert learn(arena, lessons(), recipe, 4).curve != whole.curve


def test_another_agent_does_not_go_on_from_the_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint"
    learn(arena_of("pick:by=shortest,window=9-8"), lessons(), recipe_of("ppo", "picking"), 1, checkpoint=file)
    others = (
        arena_of("pick:by=narrowest,window=9-8"),
        arena_of("pick:by=shortest,window=9-7"),
        arena_of("pick:by=shortest,window=9-8", base="SJF"),
    )
    for arena in others:
        epochs: list[int] = []
        copy = tmp_path / "copy"
        copy.write_bytes(file.read_bytes())
        learn(
            arena,
            lessons(),
            recipe_of("ppo", "picking"),
            1,
            lambda report, epochs=epochs: epochs.append(report.epoch),
            copy,
        )
        fresh = learn(arena, lessons(), recipe_of("ppo", "picking"), 1)
        continued = learn(arena, lessons(), recipe_of("ppo", "picking"), 1, checkpoint=copy)
        assert epochs == [1, 2, 3] and same(fresh.weights, continued.weights)


def test_an_inspector_learns_by_the_rules_of_its_paper() -> None:
    jobs = busy_jobs(700)
    shares = {"request_share": (jobs.estimate / jobs.estimate.max()).astype(np.float32)}
    arena = arena_of("inspect:accept", jobs=replace(jobs, facts=shares), rules="rlscheduler", base="SJF")
    windows = Windows(np.arange(0, 300, 20), 60)
    taught = Lessons(windows, windows.taken(np.arange(0)), Windows(np.arange(400, 600, 50), 100))
    recipe = Recipe(
        start="nothing", cautious=False, ppo=PAPER_INSPECTOR.model_copy(update={"epochs": 4, "trajectories": 20})
    )
    trained = learn(arena, taught, recipe, 1)
    assert [report.epoch for report in trained.curve] == [1, 2, 3, 4]
    assert all(report.decisions > 0 and report.entropy > 0 for report in trained.curve)
    assert same(trained.weights, learn(arena, taught, recipe, 1).weights)


@pytest.mark.parametrize(
    ("text", "changes", "said"),
    [
        ("pick:by=shortest,window=9-8", {"start": "saf"}, "this agent starts from its rule, or from nothing"),
        ("pick:by=shortest,window=9-8", {"method": "imitation"}, "agents learn by ppo or evolution"),
        ("pick:by=shortest", {}, "a network picks from at most 127 jobs"),
    ],
)
def test_what_agents_cannot_learn_from(text: str, changes: dict[str, object], said: str) -> None:
    recipe = recipe_of("ppo", "picking").model_copy(update=changes)
    with pytest.raises(ValueError, match=said):
        learn(arena_of(text), lessons(), recipe, 1)


def test_layouts_of_agents_order_no_queue() -> None:
    arena = replace(arena_of("inspect:accept"), agent=None)
    with pytest.raises(ValueError, match="are for agents"):
        learn(arena, lessons(), recipe_of("ppo", "picking"), 1)
