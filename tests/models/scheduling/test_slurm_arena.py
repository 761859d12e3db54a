"""Policies on the nodes of a Slurm."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.recipes import smallest_area_first
from models.scheduling.slurm_arena import OWN, SlurmArena, few_random_orders
from simulator.policies.observation import LAYOUTS
from tests.simulator.slurm.variants.test_variants import JOBS, crowded_jobs

WINDOWS = Windows(np.array([20, 50]), 40)


@pytest.fixture(scope="module")
def arena() -> SlurmArena:
    replayer, jobs = crowded_jobs()
    return SlurmArena(jobs, 16, parse_goal("wait"), threads=1, replayer=replayer)


def test_orders_and_networks_cost_what_their_replays_do(arena: SlurmArena) -> None:
    network = smallest_area_first(LAYOUTS["plain"], 40.0, 1)
    blocks = Windows.blocks(60, JOBS, 3)
    costs = {
        name: arena.costs(policy, blocks).mean() for name, policy in {OWN: OWN, "SAF": "SAF", "us": network}.items()
    }
    assert costs["SAF"] < costs[OWN] and costs["us"] < costs[OWN]
    replayed = arena.replayed("SAF", blocks.scored)
    assert arena.cost_of(replayed) == pytest.approx(costs["SAF"])
    with_backlog = arena.with_backlogs("SAF", WINDOWS, 20)
    assert arena.costs("SAF", with_backlog).mean() > arena.costs("SAF", WINDOWS).mean()
    drawn = arena.sample(network, with_backlog.taken(np.array([1, 1])), 1)
    assert drawn.start.shape == (2, 40) and drawn.decisions > 0


def test_what_is_tried_often_is_tried_on_processors(arena: SlurmArena) -> None:
    assert type(arena.on_processors).__name__ == "Arena" and arena.on_processors.cluster_procs == 16
    assert len(few_random_orders()) == 21 and arena.ground.startswith("small ")


def test_a_job_that_never_starts_costs_nothing(arena: SlurmArena) -> None:
    start = np.array([[-1] + [10**6] * 39, [10**6] * 40])
    counted = arena._counted(start, WINDOWS)
    assert counted[0, 0] == arena.jobs.submit[20] and (counted[1] == 10**6).all()
