"""Tests of models/scheduling: arena, comparison, distil, goals, hindsight, options."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from pydantic import ValidationError

from models.scheduling.arena import Arena, Windows, relative
from models.scheduling.comparison import block_length, disjoint, paired_difference
from models.scheduling.distil import fit_formula
from models.scheduling.goals import WindowColumns, parse_goal
from models.scheduling.hindsight import search_orders
from models.scheduling.learning.imitation import imitate
from models.scheduling.options import (
    PAPER_PPO,
    HindsightOptions,
    ImitationOptions,
    InputLayout,
    LearningMethod,
    PolicyRules,
    PPOOptions,
    Recipe,
)
from papers.rlscheduler.rules import replay_rlscheduler, rlscheduler_metrics
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.jobs.words import RULE_SETS
from simulator.metrics.metrics import metrics
from simulator.policies.observation import AGENT_LAYOUTS, LAYOUTS, Layout, blank_network
from simulator.policies.registry import FIXED_SCORES
from tests.models.scheduling.conftest import PROCS
from tests.simulator.busy import random_weights

# arena: Windows, and what policies cost on them: against single replays.


def test_windows_spread_inside_their_jobs() -> None:
    windows = Windows.spread(100, 500, 50, 9)
    assert windows.first.tolist() == [100, 143, 187, 231, 275, 318, 362, 406, 450]
    assert len(Windows.spread(100, 152, 50, 9)) == 3, "no window twice"
    assert windows.thinned(3).first.tolist() == [100, 231, 362]
    drawn = windows.some(np.random.default_rng(0), 40)
    assert len(drawn) == 40 and set(drawn.first) <= set(windows.first) and drawn.jobs == 50


@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_starts_are_those_of_single_replays(backfill: str, arena: Arena, jobs: Jobs) -> None:
    place = Arena(jobs, PROCS, arena.goal, backfill, threads=2)
    windows = Windows(np.array([0, 200, 410]), 90)
    for policy in ("SJF", random_weights(2)):
        starts = place.starts(policy, windows)
        for k, first in enumerate(windows.first):
            window = jobs.window(int(first), 90)
            name, weights = (policy, None) if isinstance(policy, str) else ("learned", policy)
            assert np.array_equal(starts[k], replay(window, PROCS, name, backfill, weights).start)
        assert np.array_equal(place.costs(policy, windows), place.costs_of(windows, starts))


def test_relative_costs_weigh_windows_alike() -> None:
    costs, reference = np.array([2.0, 200.0, -0.4]), np.array([1.0, 100.0, -0.8])
    assert relative(costs, reference) == pytest.approx([1.0, 1.0, 0.5])


def test_continuous_windows_are_parts_of_one_replay(arena: Arena, jobs: Jobs) -> None:
    blocks = Windows.blocks(301, 700, 16)
    assert blocks.continuous and len(blocks) == 16 and blocks.jobs == 24
    assert (blocks.scored.start, blocks.scored.stop) == (316, 700), "what is left over is in front"
    assert np.array_equal(np.diff(blocks.first), np.full(15, 24))
    assert len(Windows.blocks(0, 5, 16)) == 5
    for policy in ("SJF", random_weights(2)):
        name, weights = (policy, None) if isinstance(policy, str) else ("learned", policy)
        whole = replay(jobs.window(0, 700), PROCS, name, "easy", weights)
        assert np.array_equal(arena.starts(policy, blocks).ravel(), whole.start[316:700])
        replayed = arena.replayed(policy, blocks.scored)
        assert np.array_equal(replayed.schedule.start, whole.start) and replayed.scored.sum() == 700 - 316
        assert np.array_equal(replayed.schedule.backfilled, whole.backfilled)


def test_windows_keep_their_backlogs(arena: Arena) -> None:
    windows = arena.with_backlogs("SAF", Windows(np.array([100, 300, 500]), 80), after=700)
    whole = arena.replayed("SAF", range(0, 800)).schedule.start
    for taken in (
        windows,
        windows.thinned(2),
        windows.some(np.random.default_rng(1), 5),
        windows.taken(np.array([2, 0])),
    ):
        starts = arena.starts("SAF", taken)
        assert all(np.array_equal(starts[k], whole[first : first + 80]) for k, first in enumerate(taken.first))


# comparison: Intervals of paired differences: by simulation, since that is what an interval promises.


def windows(spacing: int, count: int = 40, jobs: int = 100) -> Windows:
    return Windows(np.arange(count) * spacing, jobs)


def test_blocks_hold_the_windows_that_share_jobs() -> None:
    assert block_length(windows(100)) == block_length(windows(250)) == 1
    assert block_length(windows(50)) == 2 and block_length(windows(30)) == 4
    uneven = Windows(np.array([0, 10, 20, 300, 390, 500]), 100)
    assert block_length(uneven) == 3 and disjoint(uneven) == 3


@pytest.mark.parametrize("spacing", [100, 25])
def test_intervals_hold_the_truth_as_often_as_they_say(spacing: int) -> None:
    """Costs of windows that share jobs are alike: without blocks the narrow interval would miss far more often."""
    rng = np.random.default_rng(0)
    taken = windows(spacing, 60)
    held = 0
    for _ in range(120):
        per_job = rng.normal(0.0, 1.0, 60 * spacing + 100)
        difference = np.array([per_job[first : first + 100].mean() for first in taken.first])
        base = rng.normal(5.0, 3.0, 60)  # of the windows themselves: pairing takes it away
        found = paired_difference(base + difference, base, taken, 1)
        assert found.low is not None and found.high is not None and found.low <= found.mean <= found.high
        held += found.low <= 0.0 <= found.high
    assert held >= 0.84 * 120


def test_who_is_better_is_told() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(20.0, 5.0, 40)
    better = paired_difference(base - 1.0 + rng.normal(0, 0.5, (3, 40)), base, windows(100), 1)
    assert better.high is not None and better.high < 0 and better.mean == pytest.approx(-1.0, abs=0.3)
    worse = paired_difference(base, base - 1.0, windows(100), 1)
    assert worse.low is not None and worse.low > 0
    assert paired_difference(base, base - 1.0, windows(100), 1) == worse
    few = paired_difference(base[:13], base[:13] - 1, windows(30, 13), 1)  # 460 jobs: four windows that share none
    assert few.low is not None
    none = paired_difference(base[:3], base[:3] - 1, windows(100, 3), 1)
    assert none.low is None and none.high is None


# distil: A formula out of a network: it makes most of the choices of one that is such a formula.


def test_a_copied_heuristic_comes_back_as_a_formula(arena: Arena, jobs: Jobs) -> None:
    shown = Windows(np.arange(0, 400, 20), 100)
    sjf = np.asarray(FIXED_SCORES["SJF"](jobs), dtype=np.float64)
    weights = imitate(arena, [shown], [sjf], LAYOUTS["plain"], ImitationOptions(), 1)
    found, again = (fit_formula(arena, weights, shown, 1) for _ in range(2))
    assert found == again and found.agreement > 0.75 and found.decisions > 300
    later = Windows(np.array([450, 600]), 150)
    costs = arena.costs(found.formula, later).mean()
    assert costs == pytest.approx(arena.costs(weights, later).mean(), rel=0.5)
    assert costs < 0.6 * arena.costs("LJF", later).mean()


def test_what_cannot_be_a_formula(arena: Arena) -> None:
    with pytest.raises(ValueError, match="does not read procs"):
        fit_formula(arena, blank_network(Layout(("estimate",), ("wait",))), Windows(np.array([0]), 40), 1)
    with pytest.raises(ValueError, match="met no choice"):
        fit_formula(arena, random_weights(), Windows(np.array([0]), 1), 1)


# goals: Goals by hand and against the simulator's own metrics.

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


# hindsight: The search that sees the future: better orders, which cost what it says.


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


def test_orders_of_windows_with_a_backlog_replay_as_the_search_says(arena: Arena, jobs: Jobs) -> None:
    from simulator.policies.registry import Policy
    from simulator.policies.scoring import FIXED

    windows = arena.with_backlogs("SAF", Windows(np.array([60, 200, 420]), 80), after=60)
    assert windows.backlogs is not None and sum(len(state.queue) for state in windows.backlogs.states) > 0
    saf = np.asarray(FIXED_SCORES["SAF"](jobs), dtype=np.float64)
    found, again = (search_orders(arena, windows, saf, HindsightOptions(orders=300), 3) for _ in range(2))
    assert np.array_equal(found.score, again.score)
    np.testing.assert_allclose(found.first_cost, arena.costs("SAF", windows))
    assert (found.cost <= found.first_cost).all() and (found.cost < found.first_cost).any()
    for k, first in enumerate(windows.first.tolist()):
        besides, scores = found.others[k]
        waiting = windows.backlogs.states[k].queue
        assert set(waiting) <= set(besides) and set(range(first + 80, first + 140)) <= set(besides)
        order = np.zeros(len(jobs))
        order[besides], order[first : first + 80] = scores, found.score[k]
        one = windows.taken(np.array([k]))
        assert arena.costs(Policy("order", FIXED, lambda *_, order=order: order), one)[0] == pytest.approx(
            found.cost[k]
        )


# options: Options: what is not one of the words is refused where it comes in.


def test_the_words_are_those_of_the_simulator() -> None:
    assert set(get_args(InputLayout)) == set(LAYOUTS) | set(AGENT_LAYOUTS)
    assert set(get_args(PolicyRules)) < set(RULE_SETS)


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        (Recipe, {"method": "sgd"}),
        (Recipe, {"start": "fcfs"}),
        (PPOOptions, {"layout": "wide"}),
        (PPOOptions, {"reward": "absolute"}),
        (PPOOptions, {"baseline": "mean"}),
        (PPOOptions, {"epochs": 0}),
        (PPOOptions, {"critic_layers": []}),
        (PPOOptions, {"critic_layers": [64, 0]}),
        (PPOOptions, {"critic_layers": [6.5]}),
    ],
)
def test_other_words_are_refused(model: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        model(**wrong)


def test_siblings_must_fit() -> None:
    with pytest.raises(ValidationError, match="at least 2 siblings"):
        PPOOptions(siblings=1)
    with pytest.raises(ValidationError, match=r"trajectories \(10\) must be a multiple of siblings \(4\)"):
        PPOOptions(trajectories=10)
    assert PAPER_PPO.siblings == 1 and PAPER_PPO.baseline == "critic"


def test_another_critic_is_another_training_and_the_usual_one_is_as_before() -> None:
    assert "critic_layers" not in PPOOptions(critic_layers=[32, 16, 8]).model_dump()
    wide = PPOOptions(critic_layers=[64, 32, 8])
    assert wide.model_dump()["critic_layers"] == [64, 32, 8] and PPOOptions(**wide.model_dump()) == wide


@pytest.mark.parametrize("method", get_args(LearningMethod))
def test_epochs_are_those_of_the_method(method: LearningMethod) -> None:
    recipe = Recipe(method=method)
    longer = recipe.with_epochs(7)
    assert longer.epochs == 7 and recipe.epochs == Recipe(method=method).epochs != 7
    others = [name for name in get_args(LearningMethod) if name != method]
    assert all(getattr(longer, name) == getattr(recipe, name) for name in others)
