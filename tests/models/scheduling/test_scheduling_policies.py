"""Tests of models/scheduling: policy_file, rewards, slurm_arena, trajectory_filter.

Policies on the nodes of a Slurm.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.recipes import rule_network, smallest_area_first
from models.scheduling.policy_file import load_policy, policy_from_bytes, policy_to_bytes
from models.scheduling.rewards import discounts, rewards_on_the_way, waited_so_far, waited_until, waiting_weights
from models.scheduling.slurm_arena import OWN, SlurmArena, few_random_orders
from models.scheduling.trajectory_filter import filter_trajectories, sample_positions
from simulator.jobs.schedule import CANCELLED
from simulator.policies.agents import parse_agent
from simulator.policies.observation import FACTS, LAYOUTS, layout_named
from tests.models.scheduling.conftest import PROCS as ARENA_PROCS
from tests.simulator.busy import PROCS, busy_jobs, random_weights
from tests.simulator.slurm.variants.test_variants import JOBS, crowded_jobs

WINDOWS = Windows(np.array([20, 50]), 40)


@pytest.fixture(scope="module")
def slurm_arena() -> SlurmArena:
    replayer, jobs = crowded_jobs()
    return SlurmArena(jobs, 16, parse_goal("wait"), threads=1, replayer=replayer)


def test_orders_and_networks_cost_what_their_replays_do(slurm_arena: SlurmArena) -> None:
    network = smallest_area_first(LAYOUTS["plain"], 40.0, 1)
    blocks = Windows.blocks(60, JOBS, 3)
    costs = {
        name: slurm_arena.costs(policy, blocks).mean()
        for name, policy in {OWN: OWN, "SAF": "SAF", "us": network}.items()
    }
    assert costs["SAF"] < costs[OWN] and costs["us"] < costs[OWN]
    replayed = slurm_arena.replayed("SAF", blocks.scored)
    assert slurm_arena.cost_of(replayed) == pytest.approx(costs["SAF"])
    with_backlog = slurm_arena.with_backlogs("SAF", WINDOWS, 20)
    assert slurm_arena.costs("SAF", with_backlog).mean() > slurm_arena.costs("SAF", WINDOWS).mean()
    drawn = slurm_arena.sample(network, with_backlog.taken(np.array([1, 1])), 1)
    assert drawn.start.shape == (2, 40) and drawn.decisions > 0


def test_what_is_tried_often_is_tried_on_processors(slurm_arena: SlurmArena) -> None:
    assert type(slurm_arena.on_processors).__name__ == "Arena" and slurm_arena.on_processors.cluster_procs == 16
    assert len(few_random_orders()) == 21 and slurm_arena.ground.startswith("small ")


def test_a_job_that_never_starts_costs_nothing(slurm_arena: SlurmArena) -> None:
    start = np.array([[-1] + [10**6] * 39, [10**6] * 40])
    counted = slurm_arena._counted(start, WINDOWS)
    assert counted[0, 0] == slurm_arena.jobs.submit[20] and (counted[1] == 10**6).all()


# --- scheduling policies


# policy_file: Policy files: what is written comes back, and whatever else is refused with a reason.

CARD = {"source": "mine", "goal": "bsld", "seed": 3}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_written_comes_back(layout: str, tmp_path: Path) -> None:
    weights = random_weights(1, layout)
    content = policy_to_bytes(weights, CARD)
    assert content == policy_to_bytes(weights, CARD)
    path = tmp_path / "policy.json"
    path.write_bytes(content)
    found, card = load_policy(path)
    assert card == CARD and all(np.array_equal(a, b) for a, b in zip(found, weights, strict=True))


def damaged(**changes: object) -> bytes:
    return json.dumps(json.loads(policy_to_bytes(random_weights(), CARD)) | changes).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cut short"),
        (policy_to_bytes(random_weights(), CARD)[:500], "cut short"),
        (b"[1, 2]", "not a policy file"),
        (b"[" * 100_000, "not a policy file"),
        (damaged(card=[]), "damaged"),
        (damaged(card={"trained_jobs": "all"}), "damaged"),
        (b'{"format": "other"}', "not a policy file"),
        (damaged(format="tracehouse kernel network 1"), "another tracehouse .*train it again"),
        (damaged(facts=["estimate", "procs", "hair"]), "another observation layout.*hair"),
        (damaged(facts=["estimate", "procs"]), r"another observation layout.*w1 has the shape \(8, 32\)"),
        (damaged(signals=[]), "another observation layout"),
        (damaged(weights={}), "another observation layout, or damaged"),
        (damaged(facts=["estimate", "area", "procs"]), "damaged: the weights are not those that were written"),
    ],
)
def test_anything_else_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"policy.json: .*{said}"):
        load_policy(path)


def test_one_changed_weight_is_noticed() -> None:
    document = json.loads(policy_to_bytes(random_weights(), CARD))
    document["weights"]["w4"][2] += 1e-6
    with pytest.raises(ValueError, match="hash differs"):
        policy_from_bytes(json.dumps(document).encode())


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="tracehouse train"):
        load_policy(tmp_path / "none.json")


def test_what_the_jobs_do_not_have_is_named() -> None:
    from simulator.engine.replay import replay

    with pytest.raises(ValueError, match=r"the policy reads request, predicted_p10.*--layout plain"):
        replay(busy_jobs(50), PROCS, "learned", weights=random_weights(1, "informed"))
    assert set(LAYOUTS["informed"].facts) <= set(FACTS)


# rewards: Rewards on the way: they add up to what the window costs, and what waiting adds is by hand.


def arena_of(goal: str) -> Arena:
    agent = parse_agent("pick:by=shortest,window=64-63")
    return Arena(busy_jobs(400), PROCS, parse_goal(goal), agent=agent, threads=1)


def test_waiting_by_hand() -> None:
    # one job waits from 10 to 30 and counts once, another from 20 to 50 and counts twice
    grown = waited_until(
        np.array([10, 20]), np.array([30, 50]), np.array([1.0, 2.0]), np.array([0, 10, 25, 30, 40, 50, 99])
    )
    assert grown.tolist() == [0, 0, 15 + 2 * 5, 20 + 2 * 10, 20 + 2 * 20, 20 + 60, 80]


def test_a_job_that_waits_for_no_time_adds_nothing() -> None:
    assert waited_until(np.array([7]), np.array([7]), np.array([3.0]), np.array([6, 7, 8])).tolist() == [0, 0, 0]


def test_what_has_been_waited_so_far_needs_no_future() -> None:
    arena = arena_of("wait")
    jobs, start, weight = arena.jobs, arena.starts("SAF", Windows(np.array([0]), 400))[0], np.linspace(1, 2, 400)
    times = np.linspace(jobs.submit[0], start.max() + 9, 50).astype(np.int64)
    so_far = np.where(start <= times[:, None], start, CANCELLED)
    ours = waited_so_far(np.tile(jobs.submit, (50, 1)), so_far, np.tile(weight, (50, 1)), times)
    assert ours.tolist() == pytest.approx(waited_until(jobs.submit, start, weight, times).tolist())


@pytest.mark.parametrize("goal", ["wait", "0.5*wait + 2*turnaround"])
def test_rewards_of_a_window_add_up_to_its_waits(goal: str) -> None:
    """But for what has waited before the first choice, which is nobody's."""
    arena = arena_of(goal)
    assert arena.agent is not None
    weights = rule_network(arena.agent, layout_named("picking"), 10.0, 1)
    windows = Windows(np.array([0, 150]), 150)
    trajectories = arena.sample(weights, windows, 3)
    rewards = rewards_on_the_way(arena, windows, trajectories, np.array([1.0, 4.0]))
    factor = 1.0 if goal == "wait" else 2.5
    for k, (first, reference) in enumerate(((0, 1.0), (150, 4.0))):
        own = slice(*trajectories.first_decision[k : k + 2])
        jobs = slice(first, first + 150)
        submit, start = arena.jobs.submit[jobs], trajectories.start[k]
        begin = trajectories.time[own][0]
        after = np.maximum(start - np.maximum(submit, begin), 0).mean()
        assert rewards[own].sum() == pytest.approx(-factor * after / reference)
        assert (np.diff(trajectories.time[own]) >= 0).all() and (rewards[own] <= 0).all()


def test_what_a_second_adds() -> None:
    jobs = busy_jobs(50)
    assert waiting_weights(parse_goal("bsld"), jobs).tolist() == (1 / np.maximum(jobs.runtime, 10)).tolist()
    for goal in ("utilisation", "wait:max_user"):
        with pytest.raises(ValueError, match="choose the reward relative"):
            waiting_weights(parse_goal(goal), jobs)


def test_discounts_count_the_seconds_between_choices() -> None:
    arena = arena_of("wait")
    assert arena.agent is not None
    weights = rule_network(arena.agent, layout_named("picking"), 10.0, 1)
    trajectories = arena.sample(weights, Windows(np.array([0]), 200), 1)
    gaps = np.diff(trajectories.time)
    assert discounts(trajectories, 0.0).tolist() == [1.0] * trajectories.decisions
    assert discounts(trajectories, 500.0)[:-1].tolist() == pytest.approx(np.exp(-gaps / 500.0).tolist())


# trajectory_filter: The trajectory filter keeps what the paper keeps.


def test_the_filter_keeps_what_the_paper_keeps(arena: Arena) -> None:
    windows = sample_positions(0, 700, 100, 150, np.random.default_rng(1))
    assert len(windows) == len(np.unique(windows.first)) == 150 and windows.first.max() <= 600
    found = filter_trajectories(arena, windows)
    np.testing.assert_allclose(found.score, arena.costs("SJF", windows))
    assert np.array_equal(found.kept, (found.score > np.median(found.score)) & (found.score < 2 * found.score.mean()))
    assert 0 < found.kept.sum() < 76 and len(found.kept_windows) == found.kept.sum()
    centred = found.score - found.score.mean()
    assert found.skewness == pytest.approx((centred**3).mean() / (centred**2).mean() ** 1.5)
    use = Arena(arena.jobs, ARENA_PROCS, parse_goal("utilisation"))
    assert filter_trajectories(use, windows).kept.all()
