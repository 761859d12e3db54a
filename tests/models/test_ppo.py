"""The learning loop agrees with itself: engine and torch compute the same policy, and the pieces follow their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.ppo import PPOOptions, _advantages, _log_softmax, _rows, evaluate, train
from models.scheduling_policy import kernel_network, load_policy, policy_to_bytes, to_weights
from models.trajectory_filter import filter_trajectories
from simulator.jobs import Jobs, jobs_from_log
from simulator.metrics import bounded_slowdown
from simulator.network import NUM_FEATURES, VISIBLE_JOBS, score_rows
from simulator.replay import replay, sample_trajectories
from traces.workload import WorkloadOptions, generate_workload

PROCS = 32
QUICK = PPOOptions(epochs=4, filtered_epochs=2, trajectories=10)
WINDOW_JOBS = 48


@pytest.fixture(scope="module")
def jobs() -> Jobs:
    rows = generate_workload(WorkloadOptions(jobs=800, procs=PROCS, seed=3, offered_load=1.0))
    submit, runtime, procs, requested = (
        rows[name].to_numpy() for name in ("submit_s", "runtime_s", "procs", "requested_walltime_s")
    )
    return jobs_from_log(submit, runtime, procs, requested)


def network(seed: int) -> torch.nn.Sequential:
    torch.manual_seed(seed)
    return kernel_network()


def test_kernel_network_has_the_papers_size() -> None:
    """RLScheduler, section IV-B: fewer than 1,000 parameters."""
    assert sum(p.numel() for p in network(0).parameters()) == 960


def test_compiled_and_torch_networks_give_the_same_scores() -> None:
    net = network(1)
    rows = np.random.default_rng(0).random((VISIBLE_JOBS, NUM_FEATURES)).astype(np.float32)
    scores = np.empty(VISIBLE_JOBS, dtype=np.float32)
    score_rows(rows, VISIBLE_JOBS, to_weights(net), scores)
    np.testing.assert_allclose(scores, net(torch.from_numpy(rows)).detach().numpy()[:, 0], rtol=1e-4, atol=1e-5)


def test_recorded_probabilities_are_those_torch_computes(jobs: Jobs) -> None:
    """Otherwise the very first ratio of an update would not be one."""
    net = network(2)
    found = sample_trajectories([jobs.window(0, 200), jobs.window(300, 200)], PROCS, to_weights(net), seed=5)
    every = np.arange(len(found.choice))
    rows, segment, sizes, chosen = _rows(found, every)
    assert len(every) > 50
    assert (sizes >= 2).all()
    log_prob = _log_softmax(net(rows).squeeze(1), segment, len(every))
    np.testing.assert_allclose(log_prob[chosen].detach().numpy(), found.log_prob, atol=2e-4)
    total = torch.zeros(len(every)).index_add(0, segment, torch.exp(log_prob))
    np.testing.assert_allclose(total.detach().numpy(), 1.0, atol=1e-5)


def test_choices_are_drawn_with_the_recorded_probabilities(jobs: Jobs) -> None:
    """Over many draws the mean of 1 - p(choice) over sum(p (1 - p)) is one: a wrong sampler would miss it."""
    net = network(3)
    windows = [jobs.window(int(k), 60) for k in np.linspace(0, 700, 60)]
    found = sample_trajectories(windows, PROCS, to_weights(net), seed=1)
    rows, segment, _, chosen = _rows(found, np.arange(len(found.choice)))
    probability = torch.exp(_log_softmax(net(rows).squeeze(1), segment, len(found.choice))).detach()
    expected = torch.zeros(len(found.choice)).index_add(0, segment, probability**2).numpy()
    observed = probability[chosen].numpy()
    error = (observed - expected).std() / np.sqrt(len(observed))
    assert abs(observed.mean() - expected.mean()) < 5 * error


def test_draws_depend_on_the_seed_alone(jobs: Jobs) -> None:
    windows, weights = [jobs.window(0, 100), jobs.window(200, 100)], to_weights(network(4))
    first, again = (sample_trajectories(windows, PROCS, weights, seed=7) for _ in range(2))
    other = sample_trajectories(windows, PROCS, weights, seed=8)
    np.testing.assert_array_equal(first.choice, again.choice)
    assert not np.array_equal(first.choice, other.choice)


def test_advantages_follow_generalised_advantage_estimation() -> None:
    values = np.array([1.0, 2.0, 4.0, 0.5], dtype=np.float32)
    advantage, target = _advantages(values, np.array([5.0, -1.0]), np.array([0, 3, 4]), gae_lambda=0.5)
    # deltas of the first trajectory: 2-1, 4-2, 5-4; of the second: -1-0.5
    np.testing.assert_allclose(advantage, [1 + 0.5 * (2 + 0.5 * 1), 2 + 0.5 * 1, 1.0, -1.5])
    np.testing.assert_allclose(target, [5, 5, 5, -1])
    unbiased, _ = _advantages(values, np.array([5.0, -1.0]), np.array([0, 3, 4]), gae_lambda=1.0)
    np.testing.assert_allclose(unbiased, np.array([5, 5, 5, -1]) - values)


def test_training_is_reproducible_and_reports_every_epoch(jobs: Jobs) -> None:
    first = np.arange(0, 700, 7)
    told: list[int] = []
    runs = [
        train(
            jobs,
            PROCS,
            first,
            first[::2],
            [jobs.window(500, 48)],
            WINDOW_JOBS,
            QUICK,
            11,
            lambda report: told.append(report.epoch),
        )
        for _ in range(2)
    ]
    assert told == [1, 2, 3, 4] * 2
    assert runs[0].curve == runs[1].curve
    assert [report.phase for report in runs[0].curve] == ["filtered", "filtered", "all", "all"]
    np.testing.assert_array_equal(runs[0].weights.w1, runs[1].weights.w1)
    best = min(report.validation_bounded_slowdown for report in runs[0].curve)
    assert runs[0].validation_bounded_slowdown == best
    assert evaluate(runs[0].weights, [jobs.window(500, 48)], PROCS) == best


def test_an_epoch_with_hardly_a_choice_is_no_trouble() -> None:
    """A trace in which jobs hardly ever queue gives an epoch of a few decisions, or none."""
    submit = np.arange(40) * 1000
    submit[20] = submit[19]  # one moment with two jobs waiting
    jobs = jobs_from_log(submit, np.full(40, 10), np.full(40, 1), np.full(40, 10))
    trained = train(jobs, 4, np.array([0]), np.array([], dtype=np.int64), [jobs], 40, QUICK, seed=1)
    assert trained.validation_bounded_slowdown == 1.0


def test_training_learns_to_beat_an_untrained_network() -> None:
    """Many short jobs behind few long ones: whoever learns anything learns to let the short ones pass."""
    rng = np.random.default_rng(0)
    runtime = np.where(rng.random(2000) < 0.2, 5000, 50)
    jobs = jobs_from_log(np.sort(rng.integers(0, 2000 * 300, 2000)), runtime, rng.integers(1, 5, 2000), runtime)
    windows = np.arange(0, 1500, 5)
    test = [jobs.window(int(k), 128) for k in range(1550, 1870, 64)]
    options = PPOOptions(epochs=12, filtered_epochs=0, trajectories=30)
    trained = train(jobs, 4, windows, windows[:0], [jobs.window(1400, 128)], 128, options, seed=1)
    untrained = np.mean([evaluate(to_weights(network(seed)), test, 4) for seed in range(5)])
    fcfs = np.mean([bounded_slowdown(replay(w, 4).start - w.submit, w.runtime).mean() for w in test])
    score = evaluate(trained.weights, test, 4)
    assert score < 0.8 * untrained
    assert score < fcfs


def test_policy_files_round_trip_and_refuse_others(jobs: Jobs, tmp_path) -> None:
    weights = to_weights(network(6))
    (tmp_path / "p.json").write_bytes(policy_to_bytes(weights, {"seed": 6}))
    loaded, card = load_policy(tmp_path / "p.json")
    assert card == {"seed": 6}
    for name in weights._fields:
        np.testing.assert_array_equal(getattr(weights, name), getattr(loaded, name))
    assert policy_to_bytes(loaded, card) == (tmp_path / "p.json").read_bytes()
    (tmp_path / "bad.json").write_text('{"format": "something else"}')
    with pytest.raises(ValueError, match=r"bad\.json"):
        load_policy(tmp_path / "bad.json")
    with pytest.raises(ValueError, match="no such policy file"):
        load_policy(tmp_path / "missing.json")


def test_trajectory_filter_keeps_what_the_paper_keeps(jobs: Jobs) -> None:
    found = filter_trajectories(jobs, PROCS, 48, 200, seed=1)
    assert len(found.first_position) == 200
    assert (np.diff(found.first_position) > 0).all()
    position = int(found.first_position[17])
    window = jobs.window(position, 48)
    alone = bounded_slowdown(replay(window, PROCS, "SJF").start - window.submit, window.runtime).mean()
    assert found.score[17] == alone
    low, high = np.median(found.score), 2 * found.score.mean()
    assert (found.low, found.high) == (low, pytest.approx(high))
    np.testing.assert_array_equal(found.kept, (found.score > low) & (found.score < high))
    with pytest.raises(ValueError, match="window needs 900 jobs"):
        filter_trajectories(jobs, PROCS, 900, 10, seed=1)
