"""Tests of papers/deep_back_filling: networks_playing, placing_file, protocol, protocol_rivals, training, trials."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch

from models.scheduling.policy_file import is_placing_file, load_policy
from papers.deep_back_filling.episodes import PlacingBatch, PlacingRules
from papers.deep_back_filling.networks import ActorCritic, DecisionRecorder, play_episodes
from papers.deep_back_filling.placing_file import PlacingAgent, load_placing, placing_to_bytes
from papers.deep_back_filling.protocol import (
    RIVALS,
    WINDOW_SIZES,
    ProtocolMetrics,
    protocol_metrics,
    protocol_starts,
    try_rival,
    window_rival,
    window_splits,
)
from papers.deep_back_filling.training import PlacingLearner, TrainedPlacing, UpdateReport, train_deep_back_filling
from papers.deep_back_filling.trials import (
    CheckpointTest,
    agent_of,
    metrics_from_tensors,
    metrics_to_tensors,
    new_network,
    training_jobs,
    trial_starts,
    try_checkpoint,
    try_placing,
    with_longest,
)
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.schedule import CANCELLED
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.shared import shared_file
from tests.simulator.busy import PROCS
from traces.swf.reader import read_swf

# networks_playing: What is recorded of played episodes.

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


# placing_file: Files of agents in the mode of the paper: what is written is read again, and what is damaged is
# refused.


def small_agent(seed: int = 1) -> PlacingAgent:
    torch.manual_seed(seed)
    options = with_longest(JOBS, small_options())
    return agent_of(new_network(PROCS, options), PROCS, options, {"trace": "busy"})


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    agent, path = small_agent(), tmp_path / "agent.json"
    path.write_bytes(placing_to_bytes(agent))
    read = load_placing(path)
    assert is_placing_file(path) and placing_to_bytes(read) == path.read_bytes()
    assert (read.cluster_procs, read.front, read.back, read.longest_s) == (PROCS, 4, 2, JOBS.estimate.max())
    assert read.card == {"trace": "busy"} and "the first 4 and the last 2 waiting jobs" in read.made_for
    seen = torch.from_numpy(np.random.default_rng(1).random((5, PROCS + 18), dtype=np.float32))
    with torch.no_grad():
        torch.manual_seed(1)
        expected = new_network(PROCS, small_options()).actor(seen)
        assert torch.equal(read.actor()(seen), expected)


def test_other_files_are_none(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    assert not is_placing_file(other)
    other.write_text('{"format": "tracehouse kernel network 2"}')
    assert not is_placing_file(other)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path, content = tmp_path / "agent.json", placing_to_bytes(small_agent())
    document = json.loads(content)
    for changed, said in (
        (content[:400], "cut short"),
        (json.dumps(document | {"format": "tracehouse placing network 9"}), "of another tracehouse"),
        (json.dumps(document | {"front": 5}), "their hash differs"),
        (json.dumps({"format": document["format"]}), "train it again"),
        (placing_to_bytes(replace(small_agent(), front=5)), "needs 53 inputs and 8 outputs"),
    ):
        path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
        with pytest.raises(ValueError, match=f"agent.json: .*{said}"):
            load_placing(path)
    path.unlink()
    with pytest.raises(ValueError, match=r"agent.json: cannot be read"):
        load_placing(path)


def test_it_is_no_policy(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    path.write_bytes(placing_to_bytes(small_agent()))
    with pytest.raises(ValueError, match="decides all starts: give it to --backfill"):
        load_policy(path)


# protocol: Metrics of Deep Back-Filling's protocol, by hand.

SHOWN_METRICS = ([0, 0, 10, 20, 90], [9, 100, 50, 10, 1], [1, 3, 4, 1, 4], [200] * 5, [200] * 5)
HAND = Jobs(*(np.array(column) for column in SHOWN_METRICS))
"""On four processors. The first job is not of the episode."""


def by_hand(start: list[int]) -> ProtocolMetrics:
    return protocol_metrics(HAND, 4, np.array([1]), np.array([start]), placed=3, window=1)


def test_metrics_by_hand() -> None:
    """The job of 3 starts at 0, that of 1 at 20, the first of 4 at 100 when the episode ends; the last one waits since 90."""
    for last in (CANCELLED, 100, 5000):  # whenever it starts later: a tie is placed in the order of the log
        metrics = by_hand([0, 100, 20, last])
        assert [float(column[0]) for column in metrics] == pytest.approx(
            [
                90 / 3,
                (90 + 10) / 4,
                (90 + 10) / 100,
                (3 * 100 + 10) / 400,
                (90 * 4 * 50 + 10 * 4 * 1) / 100,
                2 / 3,  # those of 3, 4 and 4
                np.percentile([0, 90, 0, 10], 99),
                90,
                10 / 100,  # one job is visible: the second waits from 90 to 100
                10 / 100,
                4,
            ]
        )


def test_an_episode_needs_its_placed_jobs() -> None:
    with pytest.raises(ValueError, match=r"from job 1 has 2 started jobs, and is over with 3"):
        by_hand([0, 100, CANCELLED, CANCELLED])


def test_means_leave_out_episodes_without_wide_jobs() -> None:
    columns = [np.array([1.0, 3.0])] * len(ProtocolMetrics._fields)
    metrics = ProtocolMetrics(*columns)._replace(wide_placed=np.array([np.nan, 0.5]))
    assert float(metrics.means().wide_placed) == 0.5 and float(metrics.means().queue) == 2.0


def test_starts_are_those_of_the_comparison() -> None:
    assert np.array_equal(protocol_starts(10_000), np.random.default_rng(1).integers(0, 6000, 100))
    later = protocol_starts(10_000, first=5000)
    assert later.min() >= 5000 and later.max() < 6000 and len(later) == 100
    with pytest.raises(ValueError, match="take fewer later jobs"):
        protocol_starts(10_000, first=6000)


# protocol_rivals: The rules' figures under Deep Back-Filling's protocol, on Lublin-1.

PUBLISHED = {
    "FCFS+EASY": (21_940, 23_569, 32.1, 0.863, 0.78),
    "EASY-SJBF": (15_536, 17_640, 23.9, 0.838, 0.75),
    "conservative": (24_359, 26_188, 35.5, 0.868, 0.79),
    "LCFS+EASY": (4_822, 10_507, 14.3, 0.772, 0.50),
    "fewest cores": (5_161, 10_138, 13.6, 0.748, 0.39),
    "SJF+EASY": (6_653, 10_606, 14.4, 0.743, 0.73),
    "SAF+EASY": (4_490, 8_369, 11.3, 0.733, 0.56),
    "SJF first fit": (4_591, 8_039, 10.9, 0.774, 0.57),
    "SAF, none": (4_048, 10_305, 13.8, 0.640, 0.44),
}
"""Wait of placed and arrived jobs, queue, use, share of wide jobs placed: computed by another simulator."""
PLACED_WAIT_20 = {"head only": 7_092, "one tail slot": 4_849, "half": 4_594, "all tail": 4_592}
"""Of the shortest job that fits, from a window of 20."""


@lru_cache
def lublin() -> Jobs:
    log = read_swf(shared_file("traces", "swf", "lublin_256.swf.gz")).records
    columns = ("submit_s", "runtime_s", "allocated_procs", "requested_walltime_s")
    return jobs_from_log(*(log[column].fill_null(-1).to_numpy() for column in columns))


@pytest.mark.parametrize("name", RIVALS)
def test_rules_have_their_figures(name: str) -> None:
    means = try_rival(RIVALS[name], lublin(), 256, protocol_starts(len(lublin()))).means()
    columns = (means.wait_placed, means.wait_arrived, means.queue, means.use, means.wide_placed)
    for value, expected, digits in zip(columns, PUBLISHED[name], (0, 0, 1, 3, 2), strict=True):
        assert float(value) == pytest.approx(expected, rel=0.01, abs=0.51 * 10**-digits)
    assert float(means.wait_p99) < float(means.wait_longest)


def test_the_window_of_20_has_its_figures() -> None:
    first = protocol_starts(len(lublin()))
    queue = {}
    for name, (front, back) in window_splits(20).items():
        means = try_rival(window_rival("shortest", front, back), lublin(), 256, first).means()
        assert float(means.wait_placed) == pytest.approx(PLACED_WAIT_20[name], rel=0.01)
        queue[name] = float(means.queue)
    assert queue["head only"] == pytest.approx(15.1, rel=0.01) and queue["half"] == pytest.approx(11.0, rel=0.01)


def test_splits_have_all_their_slots() -> None:
    for slots in WINDOW_SIZES:
        assert all(front + back == slots for front, back in window_splits(slots).values())
    assert window_splits(20)["half"] == (10, 10)


def test_a_rule_sees_its_window_only() -> None:
    """Four processors: behind two wide jobs that wait, a job that fits is seen only with a slot at the end."""
    submit, procs = np.array([0, 1, 2, 3, 4]), np.array([3, 4, 4, 1, 1])
    jobs = Jobs(submit, *[np.full(5, 100)] * 1, procs, *[np.full(5, 100)] * 2)
    blind, split = (
        try_rival(window_rival("shortest", *window), jobs, 4, np.array([0]), placed=3, later=5, window=2)
        for window in ((2, 0), (1, 1))
    )
    assert float(split.wait_placed[0]) < float(blind.wait_placed[0])
    assert float(split.invisible[0]) < float(blind.invisible[0])


# training: Training of Deep Back-Filling: seeds, interruptions, and that it learns.


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


# trials: Tests of checkpoints: where they begin, and that they are what the batch gives.


def test_tests_begin_behind_what_is_trained_on() -> None:
    options = small_options(cut=0.5)
    assert training_jobs(1200, options) == 600
    first = trial_starts(1200, options)
    assert len(first) == 5 and first.min() >= 600 and first.max() < 1200 - 150
    whole = small_options(cut=1.0, test_episodes=200)
    assert training_jobs(1200, whole) == 1200 and trial_starts(1200, whole).min() < 600
    with pytest.raises(ValueError, match="cut leaves 60 jobs"):
        training_jobs(1200, small_options(cut=0.05))


def test_a_checkpoint_is_tried_twice() -> None:
    torch.manual_seed(2)
    options = with_longest(JOBS, small_options())
    assert options.longest_s == JOBS.estimate.max()
    network = new_network(PROCS, options)
    test, again = (try_checkpoint(network, JOBS, PROCS, options, 7) for _ in range(2))
    assert test.episodes == 7
    for name in ("likeliest", "drawn"):
        one, two = getattr(test, name), getattr(again, name)
        assert one.wait_placed.shape == (5,)
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(test.likeliest.wait_arrived, test.drawn.wait_arrived)
    kept = metrics_from_tensors(metrics_to_tensors(test.drawn))
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(kept, test.drawn, strict=True))
