"""Tests of papers/rlschert: networks, rules_oracle_kills, training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from papers.rlschert.cluster import Setting, SlotCluster, run_heuristic_on
from papers.rlschert.networks import new_rlschert_network
from papers.rlschert.plan import PAPER_OPTIONS, RLSCHERT_NETWORKS, RLSchertOptions
from papers.rlschert.rules import ACTIONS, HORIZON, KILLABLE, SLOTS, Sequences
from papers.rlschert.training import IterationReport, RLSchertPolicy, train_rlschert
from papers.rlschert.view import FUTURE, IMAGE_COLUMNS_BESIDE, KILL_FACTS, SIGHT_FACTS, SLOT_FACTS, teacher_kills
from papers.rlschert.workload import Workload, draw_sequences
from tests.papers.rlschert.examples import A, B, C, D, E, after, cluster
from tests.simulator.oracle_rlschert import LONGEST

# networks: RLSchert's networks: shapes, weights, and who may see the future.


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


def test_the_papers_network_has_as_many_weights_as_the_paper_says() -> None:
    """557,952: 8,640 x 64 + 64 x 64 + 64 x 14, of a state of 120 x 72."""
    network = new_rlschert_network("image_mlp", 16, kills=True)
    policy = sum(p.numel() for p in network.policy.parameters()) + sum(p.numel() for p in network.head.parameters())
    assert policy == 120 * (16 + IMAGE_COLUMNS_BESIDE) * 64 + 64 * 64 + 64 * ACTIONS == 557_952


def test_an_unknown_network() -> None:
    with pytest.raises(ValueError, match="unknown network 'gpt'"):
        new_rlschert_network("gpt", 16, kills=True)


# rules_oracle_kills: The oracle of docs/reference/rlschert.md where jobs are killed: by a learner, by the paper's
# rule, by the stopping rule, and at what cost. Examples are written as tests/papers/rlschert/examples.py says.

# Kills


@pytest.mark.parametrize(("with_remaining", "again"), [(True, 8), (False, 9)])
def test_a_killed_job_keeps_what_was_seen_of_it_and_runs_anew(with_remaining, again):
    c = cluster((0, 8, 4, 3, {0: 5, 2: 7}), with_remaining=with_remaining)
    c.select(0)
    after(c, 2).kill(0)
    assert (c.now, c.estimate, c.visible[0], c.running, c.start, c.free) == (2, [9], A, [], {}, [4] * 12)
    assert (after(c, 1).estimate, c.rewards[-1]) == ([9], -1 / 9)
    c.select(0)
    assert (c.estimate, c.start, c.free) == ([9], {A: 3}, [0] * 9 + [4] * 3)
    assert after(c, 1).estimate == [again]
    assert after(c, 7).finish == {A: 11}
    c = cluster((0, 8, 4, 3, {0: 5}), with_remaining=with_remaining)
    c.select(0)
    c.kill(0)  # before it has run for a unit
    assert (c.now, c.estimate, c.visible[0], c.rewards) == (0, [5], A, [])


def test_a_kill_plans_anew():
    c = after(cluster((0, 6, 3, 6), (1, 3, 2, 3)), 1)
    c.select(0)
    c.select(1)
    assert c.planned_start == {B: 6}
    c.kill(0)
    assert (c.now, c.running, c.ready, c.start, c.planned_start) == (1, [B], [], {B: 1}, {})


def test_a_killed_job_goes_to_the_lowest_empty_slot_else_behind_the_backlog():
    for slots, units, visible, backlog in ((3, 1, [B, A, None], []), (1, 2, [B], [C, A])):
        c = cluster((0, 9, 1, 9), (1, 9, 1, 9), (2, 9, 1, 9), slots=slots)
        c.select(0)
        after(c, units).kill(0)
        assert (c.visible, c.backlog) == (visible, backlog)


def test_killable_are_the_jobs_that_started_last():
    c = cluster((0, 9, 1, 9), (1, 9, 1, 9), (2, 9, 1, 9), killable=2)
    c.select(0)
    after(c, 2)
    c.select(1)
    c.select(0)
    assert (c.running, c.killable_jobs) == ([A, C, B], [B, C])
    c.kill(1)
    assert (c.running, c.killable_jobs, c.visible[0], c.now) == ([A, B], [B, A], C, 2)
    c.select(0)
    assert c.killable_jobs == [C, B]
    c.kill(2)  # A runs, but is not among the two
    assert (c.running, c.now) == ([A, B, C], 3)


@pytest.mark.parametrize("with_remaining", [True, False])
@pytest.mark.parametrize(
    ("first", "t", "left", "killed"),
    [
        (5, 1, 11, True),
        (4, 1, 10, False),  # left > 10
        (5, 4, 11, True),
        (5, 5, 11, False),  # t < first
        (9, 1, 19, True),
        (9, 1, 18, False),  # (left - first) / first > 1
        (6, 1, 13, True),
        (6, 1, 12, False),
        (10, 1, 30, False),  # first < 10
    ],
)
def test_kill_by_rule(first, t, left, killed, with_remaining):
    job = (0, 50, 1, first, {**dict.fromkeys(range(LONGEST), 1), t: left})
    c = cluster(job, kill_by_rule=True, with_remaining=with_remaining)
    c.select(0)
    assert after(c, t - 1).running == [A]
    assert after(c, 1).running == ([] if killed else [A])
    assert not killed or (c.estimate, c.visible[0]) == ([t + left], A)
    c = cluster(job, with_remaining=with_remaining)
    c.select(0)
    assert after(c, t).running == [A]


def test_the_rule_kills_a_job_once_whoever_else_has_killed_it():
    c = cluster((0, 40, 1, 5, dict.fromkeys(range(LONGEST), 30)), kill_by_rule=True)
    c.select(0)
    c.kill(0)
    c.select(0)
    assert after(c, 1).running == []
    c.select(0)
    assert after(c, 5).running == [A]
    c.kill(0)
    c.select(0)
    assert after(c, 40).finish == {A: 46}


def test_the_rule_kills_before_the_arrival_and_plans_once():
    shorts = [(j, 50, 2, 5, {1: 4, 2: 3, 3: 30}) for j in (0, 1)]
    rest = [(2, 6, 4, 6, {1: 1}), (3, 2, 1, 2, {1: 1}), (4, 9, 1, 9)]
    c = after(cluster(*shorts, *rest, kill_by_rule=True, with_remaining=False), 1)
    c.select(0)
    c.select(1)
    after(c, 2)
    c.select(0)
    c.select(1)
    assert (c.running, c.planned_start) == ([A, B], {C: 3, D: 9})
    after(c, 1)  # had the plan been made between the two kills, D would have started and C not
    assert (c.running, c.ready, c.planned_start) == ([C], [D], {D: 6})
    assert (c.visible, c.estimate[:2]) == ([A, B, E, None, None], [33, 33])


# The stopping rule, and what a kill costs


@pytest.mark.parametrize(
    ("ran", "waiting", "stopped"),
    [
        (5, (3, 2), True),
        (6, (3, 2), False),  # ran for more than 5 units
        (5, (4, 2), False),  # 3 x 4 > 9 + 2
        (5, (3, 1), False),  # fits beside it
    ],
)
def test_a_job_makes_way_for_a_much_shorter_one(ran, waiting, stopped):
    length, procs = waiting
    c = cluster((0, 9, 3, 9), (ran, length, procs, length), stop_within=5, with_remaining=False)
    c.select(0)
    after(c, ran)
    assert (c.running, c.visible[:2]) == (([], [B, A]) if stopped else ([A], [B, None]))
    assert c.estimate[A] == 9


def test_stopping_comes_after_the_arrival_in_the_order_of_starts_and_only_as_needed():
    c = cluster((0, 30, 2, 30), (1, 30, 2, 30), (2, 5, 2, 5), (3, 5, 2, 5), stop_within=5)
    c.select(0)
    after(c, 1).select(0)
    assert after(c, 1).running == [B]  # A makes way, and two processors are enough for C
    c.select(1 if c.visible[1] == C else 0)
    assert after(c, 1).running == [C]  # B makes way for D: C is too short to
    assert c.jobs[A].kills == c.jobs[B].kills == 1
    c = cluster((0, 30, 2, 30), (1, 30, 2, 30), (2, 5, 4, 5), stop_within=5)
    c.select(0)
    after(c, 1).select(0)
    assert after(c, 1).running == [A, B]  # neither is enough for C


def test_a_job_is_stopped_for_one_in_backlog_or_ready_and_at_most_three_times():
    c = cluster((0, 60, 3, 60), (1, 60, 1, 60), (2, 60, 1, 60), (3, 5, 4, 5), slots=2, stop_within=5)
    c.select(0)
    assert after(c, 2).running == [A] and c.backlog == []
    assert after(c, 1).running == [] and c.backlog == [D, A]  # D wants all four
    c = cluster((0, 60, 3, 60), (1, 5, 4, 5), stop_within=5)
    for kills in range(1, 4):
        c.select(c.visible.index(A))
        assert after(c, 1).jobs[A].kills == kills
    c.select(c.visible.index(A))
    assert after(c, 6).running == [A]
    c = cluster((0, 60, 3, 60), (1, 5, 4, 5), stop_within=5)
    c.select(0)
    c.jobs[A].kills = 3
    after(c, 1).select(0)
    assert c.ready == [B]
    c.jobs[A].kills = 0
    assert after(c, 1).running == [B]


@pytest.mark.parametrize("with_remaining", [True, False])
def test_a_run_after_a_kill_is_longer_by_what_preemption_costs(with_remaining):
    c = cluster((0, 4, 4, 4), preemption_cost=3, with_remaining=with_remaining)
    c.select(0)
    after(c, 2).kill(0)
    assert c.estimate == [3 + 4]
    c.select(0)
    assert c.free == [0] * 7 + [4] * 5
    after(c, 3)  # it has only started again
    assert (c.estimate, c.jobs[A].worked, c.running) == ([7], 0, [A])
    assert after(c, 4).finish == {A: 9} and c.slowdown() == 9 / 4
    c = cluster((0, 4, 4, 4), preemption_cost=3, with_remaining=with_remaining)
    c.select(0)
    for _ in range(2):  # a second kill costs no more than the first
        after(c, 2).kill(0)
        c.select(0)
    assert after(c, 7).finish == {A: 11}


def test_estimates_and_the_rule_of_a_job_that_starts_again_count_its_work():
    job = (0, 40, 1, 5, {0: 6, 1: 30, 2: 3, 3: 31})
    c = cluster(job, preemption_cost=2, kill_by_rule=True)
    c.select(0)
    c.kill(0)
    assert c.estimate == [2 + 6]
    c.select(0)
    assert (after(c, 2).estimate, c.running) == ([8], [A])
    assert (after(c, 1).estimate, c.running) == ([2 + 1 + 30], [])  # after one unit of work


# training: RLSchert's training: seeds, learning, averaged weights, teachers.

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
    whole, curve = train_rlschert(pool, validation, setting, options, 1)

    def stop(report: IterationReport) -> None:
        if report.iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_rlschert(pool, validation, setting, options, 1, on_iteration=stop, checkpoint=file)
    same, again = train_rlschert(pool, validation, setting, options, 1, checkpoint=file)
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
    policy, curve = train_rlschert(pool, validation, Setting(), options, 1, teacher)
    assert [report.teacher_weight for report in curve] == pytest.approx([5.0, 3.75, 2.5, 1.25, 0, 0])
    assert policy.kills
    assert policy.run(validation, Setting()).over.all()


def test_imitation_brings_a_policy_to_its_teachers(taught: Taught) -> None:
    """On what it sees itself; random choices agree in less than half of the decisions."""
    pool, validation, teacher = taught
    told = {"iterations": 15, "teacher_iterations": 1000, "rate": 1e-2, "teacher_weight": 50.0, "validate_every": 15}
    policy, _ = train_rlschert(pool, validation, Setting(), SMALL.model_copy(update=told), 1, teacher)
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
