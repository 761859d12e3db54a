"""RLSchert's synthetic jobs, networks and training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.rlschert.cluster import Setting, SlotCluster, run_heuristic_on, take_sequences
from models.rlschert.networks import new_rlschert_network
from models.rlschert.options import PAPER_OPTIONS, RLSCHERT_NETWORKS, RLSchertOptions
from models.rlschert.training import RLSchertPolicy, train_rlschert
from models.rlschert.workload import PAPER_ERRORS, Errors, Workload, draw_sequences, measured_errors
from simulator.published.rlschert import ACTIONS, HORIZON, KILLABLE, LONGEST, SLOTS, WAIT, WIDEST, Sequences
from simulator.published.rlschert_view import (
    FUTURE,
    IMAGE_COLUMNS_BESIDE,
    KILL_FACTS,
    SIGHT_FACTS,
    SLOT_FACTS,
    teacher_kills,
)

SMALL = RLSchertOptions(iterations=4, sequences=4, pool=8, validate_every=2, teacher_iterations=2)


# Jobs.


def test_jobs_are_as_the_paper_tells() -> None:
    drawn = draw_sequences(Workload(), 100, seed=1)
    assert drawn.length.mean() == pytest.approx(10, rel=0.06)
    assert drawn.procs.mean() == pytest.approx(3, rel=0.03)
    assert drawn.length.min() >= 1 and drawn.length.max() <= LONGEST
    assert drawn.procs.min() >= 1 and drawn.procs.max() <= WIDEST
    assert (np.diff(drawn.arrive, axis=1) >= 1).all()
    assert np.diff(drawn.arrive, axis=1).mean() == pytest.approx(1 / 0.7, rel=0.03)
    assert drawn.remaining.shape == (100, 200, LONGEST) and drawn.remaining.min() >= 1


@pytest.mark.parametrize(("share", "kind"), [(1.0, 0), (0.0, 1)])
def test_predictions_err_as_asked(share: float, kind: int) -> None:
    """Jobs of one kind; short ones lose errors of less than half a unit, so that the others have a little more."""
    drawn = draw_sequences(Workload(single_share=share), 100, seed=1)
    before, running = measured_errors(drawn)
    assert before == pytest.approx(PAPER_ERRORS.before[kind], rel=0.06)
    assert running == pytest.approx(PAPER_ERRORS.running[kind], rel=0.2)


def test_predictions_get_better_while_a_job_runs() -> None:
    drawn = draw_sequences(Workload(single_share=0.0, mean_length=40), 60, seed=1)
    error = []
    for share in (0.1, 0.5, 0.9):
        t = np.floor(share * drawn.length).astype(np.int64)
        total = t + np.take_along_axis(drawn.remaining, t[:, :, None], axis=2)[:, :, 0]
        error.append((np.abs(total - drawn.length) / drawn.length).mean())
    assert error[0] > error[1] > error[2]


def test_perfect_predictions() -> None:
    exact = Workload(errors=Errors((0, 0), (0, 0), (0, 0)))
    drawn = draw_sequences(exact, 3, seed=1)
    assert (drawn.first == drawn.length).all()
    left = drawn.length[:, :, None] - np.arange(LONGEST)
    assert (drawn.remaining == np.maximum(left, 1)).all()


def test_jobs_whose_steps_cannot_be_read_keep_their_first_prediction() -> None:
    drawn = draw_sequences(Workload(predictable_share=0.0), 3, seed=1)
    assert (drawn.remaining == np.maximum(drawn.first[:, :, None] - np.arange(LONGEST), 1)).all()
    half = draw_sequences(Workload(predictable_share=0.5, other_error=1.212), 40, seed=1)
    kept = (half.remaining == np.maximum(half.first[:, :, None] - np.arange(LONGEST), 1)).all(axis=2)
    assert 0.45 < kept.mean() < 0.75
    assert measured_errors(half)[0] > 1.3 * measured_errors(draw_sequences(Workload(), 40, seed=1))[0]


def test_jobs_of_real_runs() -> None:
    drawn = draw_sequences(Workload(observed=((5, 2, True), (50, 9, False))), 5, seed=1)
    assert set(zip(drawn.length.ravel().tolist(), drawn.procs.ravel().tolist(), strict=True)) == {(5, 2), (50, 9)}


def test_the_same_seed_gives_the_same_jobs() -> None:
    one, same, other = (draw_sequences(Workload(jobs=20), 2, seed=seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert (one.length != other.length).any()


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"job_rate": 0.0}, "job_rate is a share from 0 to 1, got 0.0"),
        ({"single_share": 1.5}, "single_share is a share"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"mean_procs": 11.0}, "mean_procs 1 to 10"),
    ],
)
def test_workloads_that_make_no_sense(told: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Workload(**told)  # type: ignore[arg-type]


def test_errors_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="before: errors are shares from 0 to 3"):
        Errors((-0.1, 0.2), (0.1, 0.1), (0.1, 0.1))
    with pytest.raises(ValueError, match="at_end must not be larger"):
        Errors((0.1, 0.2), (0.1, 0.1), (0.2, 0.1))


# Networks.


@pytest.mark.parametrize("name", RLSCHERT_NETWORKS)
def test_networks_give_logits_and_values(name: str) -> None:
    torch.manual_seed(1)
    seen = torch.rand(3, HORIZON, 16 + IMAGE_COLUMNS_BESIDE) if name.startswith("image") else torch.rand(3, SIGHT_FACTS)
    logits, value = new_rlschert_network(name, 16, kills=True)(seen, torch.rand(3, FUTURE))
    assert logits.shape == (3, ACTIONS) and value.shape == (3,)
    assert logits.std() < 0.2  # nearly equal chances at first


def test_what_is_learned_of_one_slot_holds_for_the_others() -> None:
    torch.manual_seed(1)
    network, seen = new_rlschert_network("facts", 16, kills=True), torch.rand(4, SIGHT_FACTS)
    of_slots, of_places, rest = seen.split(
        [SLOTS * SLOT_FACTS, KILLABLE * KILL_FACTS, SIGHT_FACTS - SLOTS * SLOT_FACTS - KILLABLE * KILL_FACTS], 1
    )
    turned_slots = of_slots.unflatten(1, (SLOTS, SLOT_FACTS)).roll(2, 1).flatten(1)
    turned_places = of_places.unflatten(1, (KILLABLE, KILL_FACTS)).flip(1).flatten(1)
    logits, turned = network.act(seen), network.act(torch.cat([turned_slots, turned_places, rest], 1))
    assert torch.allclose(turned[:, :SLOTS], logits[:, :SLOTS].roll(2, 1), atol=1e-6)
    assert torch.allclose(turned[:, SLOTS:-1], logits[:, SLOTS:-1].flip(1), atol=1e-6)
    assert torch.allclose(turned[:, -1], logits[:, -1], atol=1e-6)
    assert (logits[:, :SLOTS].std(1) > 0).all()


@pytest.mark.parametrize("name", RLSCHERT_NETWORKS)
def test_only_the_value_is_told_of_the_future(name: str) -> None:
    torch.manual_seed(1)
    network = new_rlschert_network(name, 16, kills=True)
    seen = torch.rand(3, HORIZON, 16 + IMAGE_COLUMNS_BESIDE) if name.startswith("image") else torch.rand(3, SIGHT_FACTS)
    logits, value = network(seen, torch.zeros(3, FUTURE))
    same, other = network(seen, torch.ones(3, FUTURE))
    assert torch.equal(logits, same) and torch.equal(logits, network.act(seen))
    assert (value != other).all()


def test_the_future_of_a_sequence() -> None:
    """Three jobs of 4, 2 and 8 units on 1, 2 and 10 processors, at 0, 1 and 5; the first runs, the second waits."""
    length, procs = np.array([[4, 2, 8]]), np.array([[1, 2, 10]])
    remaining = np.maximum(length[:, :, None] - np.arange(LONGEST), 1).astype(np.int16)
    cluster = SlotCluster(Sequences(np.array([[0, 1, 5]]), length, procs, length.copy(), remaining), Setting(procs=16))
    cluster.begin()
    for action in (0, WAIT):
        cluster.step(np.array([action]))
    (told,) = cluster.future()
    assert told == pytest.approx([1 / 3, 0, (1 / 4 + 1 / 2) / 10, (1 * 3 + 2 * 2) / 16 / LONGEST])


def test_the_papers_network_has_as_many_weights_as_the_paper_says() -> None:
    """557,952: 8,640 x 64 + 64 x 64 + 64 x 14, of a state of 120 x 72; ours is 120 x 68."""
    network = new_rlschert_network("image_mlp", 20, kills=True)
    policy = sum(p.numel() for p in network.policy.parameters()) + sum(p.numel() for p in network.head.parameters())
    assert policy == 120 * (20 + IMAGE_COLUMNS_BESIDE) * 64 + 64 * 64 + 64 * ACTIONS == 557_952


def test_an_unknown_network() -> None:
    with pytest.raises(ValueError, match="unknown network 'gpt'"):
        new_rlschert_network("gpt", 16, kills=True)


# Training.


@pytest.mark.parametrize(
    ("network", "algorithm"), [("facts", "ppo"), ("facts", "pg"), ("image_mlp", "ppo"), ("image_cnn", "pg")]
)
def test_training_is_a_function_of_its_seed(network: str, algorithm: str) -> None:
    pool, validation = (draw_sequences(Workload(jobs=8), 4, seed=seed) for seed in (1, 2))
    options = SMALL.model_copy(update={"network": network, "algorithm": algorithm, "iterations": 2})
    (one, curve), (same, again), (other, _) = (
        train_rlschert(pool, validation, Setting(), options, seed) for seed in (1, 1, 2)
    )
    assert curve == again
    states = [policy.network.state_dict() for policy in (one, same, other)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert any(not torch.equal(states[0][name], states[2][name]) for name in states[0])


def test_training_makes_waits_shorter() -> None:
    """Twelve iterations, from nearly random choices, on a busy cluster."""
    pool, validation, test = (draw_sequences(Workload(jobs=60, job_rate=0.9), n, seed=n) for n in (48, 8, 12))
    options = RLSchertOptions(iterations=12, sequences=16, validate_every=3, rate=3e-3)
    policy, curve = train_rlschert(pool, validation, Setting(), options, 1)
    random = run_heuristic_on(test, Setting(), "Random").slowdowns().mean()
    assert policy.run(test, Setting()).slowdowns().mean() < 0.9 * random
    assert curve[-1].entropy < curve[0].entropy
    assert all(report.teacher_weight == 0 for report in curve)


def test_weights_are_averaged() -> None:
    """What is kept lies between the first iteration's weights and the last's."""
    pool, validation = (draw_sequences(Workload(jobs=8), 4, seed=seed) for seed in (1, 2))
    told = {"iterations": 2, "validate_every": 2, "rate": 1e-2}
    kept = {}
    for averaging in (0.0, 0.5, 0.9999):
        options = SMALL.model_copy(update=told | {"averaging": averaging})
        policy, _ = train_rlschert(pool, validation, Setting(), options, 1)
        kept[averaging] = torch.nn.utils.parameters_to_vector(policy.network.parameters())
    assert torch.allclose(kept[0.5], (kept[0.0] + kept[0.9999]) / 2, atol=1e-4)
    assert not torch.allclose(kept[0.0], kept[0.9999], atol=1e-3)


def test_only_a_policy_that_may_kill_kills_and_teachers_are_followed() -> None:
    pool, validation = (draw_sequences(Workload(jobs=60, job_rate=0.95), 8, seed=seed) for seed in (1, 2))
    teacher, _ = train_rlschert(pool, validation, Setting(), SMALL, 1)
    assert teacher.run(validation, Setting()).kills.sum() == 0
    options = SMALL.model_copy(update={"iterations": 6, "teacher_iterations": 4, "rate": 1e-2, "teacher_weight": 5.0})
    policy, curve = train_rlschert(pool, validation, Setting(), options, 1, kills=True, teacher=teacher)
    assert [report.teacher_weight for report in curve] == pytest.approx([5.0, 3.75, 2.5, 1.25, 0, 0])
    assert policy.kills
    assert policy.run(validation, Setting()).over.all()


def test_imitation_brings_a_policy_to_its_teachers() -> None:
    """On what it sees itself; random choices agree in less than half of the decisions."""
    pool, validation = (draw_sequences(Workload(jobs=60, job_rate=0.95), 8, seed=seed) for seed in (1, 2))
    teacher, _ = train_rlschert(pool, validation, Setting(), SMALL, 1)
    told = {"iterations": 15, "teacher_iterations": 1000, "rate": 1e-2, "teacher_weight": 50.0, "validate_every": 15}
    policy, _ = train_rlschert(
        pool, validation, Setting(), SMALL.model_copy(update=told), 1, kills=True, teacher=teacher
    )
    cluster = SlotCluster(validation, Setting())
    cluster.begin()
    agreed, shown = [], np.zeros((8, KILLABLE), dtype=np.bool_)
    while not cluster.over.all():
        live = ~cluster.over
        teacher_kills(validation, cluster.state, cluster.over, shown)
        assert not (shown & ~cluster.mask[:, SLOTS : SLOTS + KILLABLE]).any()  # nothing that is not offered
        wanted = teacher.logits(cluster.seen, cluster.mask).argmax(dim=1).numpy()
        wanted = np.where(shown.any(axis=1), SLOTS + shown.argmax(axis=1), wanted)
        action = policy.logits(cluster.seen, cluster.mask).argmax(dim=1).numpy()
        agreed += (action == wanted)[live].tolist()
        cluster.step(action)
    assert np.mean(agreed) > 0.7


def test_a_run_that_is_cut_off_has_no_slowdown() -> None:
    sequences = draw_sequences(Workload(jobs=30), 2, seed=1)
    network = new_rlschert_network("facts", 16, kills=False)
    cut = RLSchertPolicy(network, "facts", False).run(sequences, Setting(), max_actions=5)
    assert not cut.over.any() and np.isnan(cut.slowdowns()).all()


def test_a_learned_policy_of_another_cluster_size_runs() -> None:
    sequences = draw_sequences(Workload(jobs=20), 2, seed=1)
    policy = RLSchertPolicy(new_rlschert_network("facts", 16, kills=True), "facts", True)
    for procs in (12, 24):
        assert policy.run(sequences, Setting(procs=procs)).over.all()


def test_some_of_the_sequences() -> None:
    sequences = draw_sequences(Workload(jobs=10), 5, seed=1)
    taken = take_sequences(sequences, np.array([3, 0]))
    assert (taken.length == sequences.length[[3, 0]]).all()


def test_the_papers_settings() -> None:
    """Table 4."""
    paper = PAPER_OPTIONS
    assert (paper.minibatch, paper.passes, paper.gae_lambda, paper.kl_target) == (128, 5, 0.95, 0.01)
    assert (paper.gamma, paper.rate, paper.clip) == (0.99, 1e-4, 0.2)
    assert (paper.value_weight, paper.teacher_weight, paper.entropy_weight) == (0.25, 0.5, 0.02)
    assert (SLOTS, KILLABLE, ACTIONS) == (5, 8, 14)
    assert Workload().jobs == 200
