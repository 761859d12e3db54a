"""RLSchert's training: seeds, learning, averaged weights, teachers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from papers.rlschert.cluster import Setting, SlotCluster, run_heuristic_on
from papers.rlschert.networks import new_rlschert_network
from papers.rlschert.options import PAPER_OPTIONS, RLSchertOptions
from papers.rlschert.rules import KILLABLE, SLOTS, Sequences
from papers.rlschert.training import IterationReport, RLSchertPolicy, train_rlschert, train_selecting
from papers.rlschert.view import (
    teacher_kills,
)
from papers.rlschert.workload import Workload, draw_sequences

SMALL = RLSchertOptions(iterations=4, sequences=4, pool=8, validate_every=2, teacher_iterations=2)


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


def test_a_training_as_published_goes_on_from_its_file(tmp_path: Path) -> None:
    pool, validation = (draw_sequences(Workload(jobs=8), 4, seed=seed) for seed in (1, 2))
    changed = {"iterations": 4, "sequences": 4, "pool": 4, "validate_every": 2}
    options, setting = PAPER_OPTIONS.model_copy(update=changed), Setting(printed_reward=True)
    file = tmp_path / "network.pt"
    whole, curve = train_selecting(pool, validation, setting, options, 1, None)

    def stop(report: IterationReport) -> None:
        if report.iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_selecting(pool, validation, setting, options, 1, file, stop)
    same, again = train_selecting(pool, validation, setting, options, 1, file)
    assert again == curve and len(curve) == 4
    states = [policy.network.state_dict() for policy in (whole, same)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_a_pass_ends_with_the_minibatch_that_moves_too_far() -> None:
    """After each minibatch, also while a teacher is imitated. A rate that is far too large shows it."""
    pool, validation = (draw_sequences(Workload(jobs=20), 4, seed=seed) for seed in (1, 2))
    changed = {"iterations": 1, "validate_every": 1, "minibatch": 16, "passes": 3, "rate": 0.3, "network": "facts"}
    moved = {}
    for each in ("minibatch", "pass"):
        options = SMALL.model_copy(update=changed | {"stop_each": each, "kl_target": 1e-9})
        _, (report,) = train_rlschert(pool, validation, Setting(), options, 1)
        moved[each] = report.kl
    assert 0 < moved["minibatch"] < moved["pass"]


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


Taught = tuple[Sequences, Sequences, RLSchertPolicy]


@pytest.fixture(scope="module")
def taught() -> Taught:
    """Training and validation sequences of a busy cluster, and a policy that only selects, for a teacher."""
    pool, validation = (draw_sequences(Workload(jobs=40, job_rate=0.95), 8, seed=seed) for seed in (1, 2))
    teacher, _ = train_rlschert(pool, validation, Setting(), SMALL, 1)
    return pool, validation, teacher


def test_only_a_policy_that_may_kill_kills_and_teachers_are_followed(taught: Taught) -> None:
    pool, validation, teacher = taught
    assert teacher.run(validation, Setting()).kills.sum() == 0
    options = SMALL.model_copy(update={"iterations": 6, "teacher_iterations": 4, "rate": 1e-2, "teacher_weight": 5.0})
    policy, curve = train_rlschert(pool, validation, Setting(), options, 1, kills=True, teacher=teacher)
    assert [report.teacher_weight for report in curve] == pytest.approx([5.0, 3.75, 2.5, 1.25, 0, 0])
    assert policy.kills
    assert policy.run(validation, Setting()).over.all()


def test_imitation_brings_a_policy_to_its_teachers(taught: Taught) -> None:
    """On what it sees itself; random choices agree in less than half of the decisions."""
    pool, validation, teacher = taught
    told = {"iterations": 15, "teacher_iterations": 1000, "rate": 1e-2, "teacher_weight": 50.0, "validate_every": 15}
    policy, _ = train_rlschert(
        pool, validation, Setting(), SMALL.model_copy(update=told), 1, kills=True, teacher=teacher
    )
    cluster = SlotCluster(validation, Setting())
    cluster.begin()
    agreed, shown = [], np.zeros((8, KILLABLE), dtype=np.bool_)
    while not cluster.over.all():
        live = ~cluster.over
        teacher_kills(validation, cluster.setting.rules(), cluster.state, cluster.over, shown)
        assert not (shown & ~cluster.mask[:, SLOTS : SLOTS + KILLABLE]).any()  # nothing that is not offered
        wanted = teacher.logits(cluster.seen, cluster.mask).argmax(dim=1).numpy()
        wanted = np.where(shown.any(axis=1), SLOTS + shown.argmax(axis=1), wanted)
        action = policy.logits(cluster.seen, cluster.mask).argmax(dim=1).numpy()
        agreed += (action == wanted)[live].tolist()
        cluster.step(action)
    assert np.mean(agreed) > 0.7


def test_a_learned_policy_of_another_cluster_size_runs() -> None:
    sequences = draw_sequences(Workload(jobs=20), 2, seed=1)
    policy = RLSchertPolicy(new_rlschert_network("facts", 16, kills=True), "facts", True)
    for procs in (12, 24):
        assert policy.run(sequences, Setting(procs=procs)).over.all()
