"""What is recorded of played episodes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from papers.deep_back_filling.episodes import PlacingBatch, PlacingRules
from papers.deep_back_filling.networks import DecisionRecorder, play_episodes
from papers.deep_back_filling.trials import agent_of, new_network, with_longest
from simulator.jobs.cluster import Cluster
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.simulator.busy import PROCS

OPTIONS = small_options()
INPUTS, ACTIONS = PROCS + 3 * 6, 7


@pytest.mark.parametrize("first", [[30], [30, 7, 200]])
def test_decisions_are_recorded_episode_by_episode(first: list[int]) -> None:
    torch.manual_seed(1)
    actor = new_network(PROCS, OPTIONS).actor
    batch = PlacingBatch(JOBS, PROCS, len(first), OPTIONS.placing_rules(100))
    recorder = DecisionRecorder(INPUTS, ACTIONS, capacity=8)  # so that it has to grow
    for _ in range(2):  # what was recorded before is forgotten
        recorder.clear()
        rewards = play_episodes(actor, batch, np.array(first), np.random.default_rng(1), recorder)
    recorded = recorder.recorded(len(first))
    start = batch.start.copy()
    assert recorded.first_decision[-1] == len(recorded.action) == len(recorded.logits)
    for e, position in enumerate(first):  # played again by itself, it is the same
        part = slice(*recorded.first_decision[e : e + 2])
        alone = PlacingBatch(JOBS, PROCS, 1, OPTIONS.placing_rules(100))
        sight = alone.reset(np.array([position]))
        total = 0.0
        for features, action, reward in zip(
            recorded.features[part], recorded.action[part], recorded.reward[part], strict=True
        ):
            assert np.array_equal(sight.features[0], features)
            sight = alone.step(np.array([action]))
            assert sight.reward[0] == reward
            total += float(reward)
        assert not sight.asking[0] and rewards[e] == pytest.approx(total)
        assert np.array_equal(alone.start[0], start[e])


def test_the_likeliest_action_is_taken_without_draws() -> None:
    torch.manual_seed(1)
    actor = new_network(PROCS, OPTIONS).actor
    batch = PlacingBatch(JOBS, PROCS, 2, OPTIONS.placing_rules(100))
    recorder = DecisionRecorder(INPUTS, ACTIONS)
    play_episodes(actor, batch, np.array([3, 4]), None, recorder)
    recorded = recorder.recorded(2)
    assert np.array_equal(recorded.action, recorded.logits.argmax(axis=1))
    with torch.no_grad():
        assert np.allclose(actor(torch.from_numpy(recorded.features)).numpy(), recorded.logits, atol=1e-6)


def test_all_jobs_are_placed_as_in_an_episode() -> None:
    """From the first job of the window on, where nothing else comes."""
    torch.manual_seed(3)
    network, options = new_network(PROCS, OPTIONS), with_longest(JOBS, OPTIONS)
    agent = agent_of(network, PROCS, options, {})
    window = JOBS.window(70, 90)
    found = agent.replay(window, Cluster(PROCS)).schedule
    rules = PlacingRules(OPTIONS.front, OPTIONS.back, 90, 90, longest_s=options.longest_s)
    batch = PlacingBatch(JOBS, PROCS, 2, rules)
    play_episodes(network.actor, batch, np.array([70, 11]), None)
    assert np.array_equal(found.start, batch.start[0])
    assert (found.start >= window.submit).all() and found.backfilled.any() and not found.backfilled.all()
