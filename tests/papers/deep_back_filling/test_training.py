"""Training of Deep Back-Filling: seeds, interruptions, and that it learns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from papers.deep_back_filling.networks import ActorCritic
from papers.deep_back_filling.training import PlacingLearner, TrainedPlacing, UpdateReport, train_deep_back_filling
from papers.deep_back_filling.trials import CheckpointTest, new_network, trial_starts, try_placing, with_longest
from simulator.jobs.jobs import Jobs
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.simulator.busy import PROCS


def assert_same(one: TrainedPlacing, other: TrainedPlacing) -> None:
    assert one.curve == other.curve
    states = one.network.state_dict(), other.network.state_dict()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    for test, same in zip(one.tests, other.tests, strict=True):
        assert test.episodes == same.episodes
        for name in ("likeliest", "drawn"):
            columns = zip(getattr(test, name), getattr(same, name), strict=True)
            assert all(np.array_equal(a, b, equal_nan=True) for a, b in columns)


@pytest.mark.parametrize(("update_episodes", "half"), [(1, False), (2, False), (2, True)])
def test_training_is_a_function_of_its_seed(update_episodes: int, half: bool) -> None:
    options = small_options(update_episodes=update_episodes, half_precision=half)
    one, same, other = (train_deep_back_filling(JOBS, PROCS, options, seed) for seed in (1, 1, 2))
    assert_same(one, same)
    assert one.curve != other.curve
    assert [row.episodes for row in one.curve] == list(range(update_episodes, 5, update_episodes))
    assert [test.episodes for test in one.tests] == [2, 4]
    assert all(row.decisions >= 40 * update_episodes for row in one.curve)


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupted_training_goes_on_with_the_same_bytes(tmp_path: Path, after: int) -> None:
    options = small_options(save_every=2)
    whole = train_deep_back_filling(JOBS, PROCS, options, 3)

    def interrupt(report: UpdateReport) -> None:
        if report.episodes == after + 1:
            raise Interrupted

    path = tmp_path / "training.pt"
    with pytest.raises(Interrupted):
        train_deep_back_filling(JOBS, PROCS, options, 3, path, interrupt)
    assert path.exists() == (after >= 1)
    rows: list[UpdateReport] = []
    networks: list[tuple[int, bool]] = []

    def keep(test: CheckpointTest, network: ActorCritic | None) -> None:
        networks.append((test.episodes, network is not None))

    assert_same(train_deep_back_filling(JOBS, PROCS, options, 3, path, rows.append, keep), whole)
    assert rows == whole.curve
    assert networks == [(2, after < 1), (4, after < 3)]
    other = train_deep_back_filling(JOBS, PROCS, small_options(save_every=2, rate=1e-3), 3, path)
    assert other.curve[-1] != whole.curve[-1]  # the file is of another training


def test_more_episodes_go_on_where_fewer_ended(tmp_path: Path) -> None:
    path = tmp_path / "training.pt"
    two = small_options(episodes=2, save_every=100)  # the end is kept whatever save_every is
    train_deep_back_filling(JOBS, PROCS, two, 1, path)
    networks: list[ActorCritic | None] = []
    train_deep_back_filling(JOBS, PROCS, two, 1, path, on_test=lambda test, network: networks.append(network))
    assert networks == [None]
    shorter = train_deep_back_filling(JOBS, PROCS, small_options(episodes=3), 1, path)
    assert [test.episodes for test in shorter.tests] == [2, 3]
    assert_same(train_deep_back_filling(JOBS, PROCS, small_options(episodes=3), 1, path), shorter)
    longer = train_deep_back_filling(JOBS, PROCS, small_options(episodes=4), 1, path)
    assert_same(longer, train_deep_back_filling(JOBS, PROCS, small_options(episodes=4), 1))
    with pytest.raises(ValueError, match="has 4 episodes of this training"):
        train_deep_back_filling(JOBS, PROCS, small_options(episodes=3), 1, path)


def test_training_sees_no_job_of_the_tests() -> None:
    """Jobs behind the cut change tests, and nothing that is learned."""
    cut = 600
    runtime = np.concatenate([JOBS.runtime[:cut], np.minimum(JOBS.runtime[cut:], 60)])
    changed = Jobs(JOBS.submit, runtime, JOBS.procs, JOBS.estimate, JOBS.limit)
    options = small_options(episodes=2)
    one, other = (train_deep_back_filling(jobs, PROCS, options, 1) for jobs in (JOBS, changed))
    assert one.curve == other.curve
    assert not np.array_equal(one.tests[0].likeliest.wait_placed, other.tests[0].likeliest.wait_placed)


def test_training_beats_random_choices() -> None:
    options = with_longest(
        JOBS,
        small_options(
            hidden=(64, 64), update_episodes=8, episodes=400, checkpoint_every=400, test_episodes=50, rate=1e-3, cut=0.8
        ),
    )
    first = trial_starts(len(JOBS), options)
    torch.manual_seed(1)
    random = try_placing(new_network(PROCS, options), JOBS, PROCS, first, options, draws=True).means()
    trained = train_deep_back_filling(JOBS, PROCS, options, 1)
    after = trained.tests[-1].drawn.means()
    assert float(after.wait_arrived) < 0.9 * float(random.wait_arrived)
    assert float(after.use) > float(random.use)
    rewards = [row.reward for row in trained.curve]
    assert np.mean(rewards[-5:]) > np.mean(rewards[:5])
    assert trained.curve[-1].entropy < trained.curve[0].entropy


def test_divergence_is_said() -> None:
    options = with_longest(JOBS, small_options(rate=1e30))
    learner = PlacingLearner(JOBS, PROCS, options, 1)
    with pytest.raises(ValueError, match="lower rate"):
        learner.learn()
