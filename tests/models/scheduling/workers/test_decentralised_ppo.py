"""Tests of models/scheduling/workers: decentralised_ppo, population, task_folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from models.scheduling.arena import Arena
from models.scheduling.learning.evolution import flatten
from models.scheduling.learning.ppo import Learner, train_by_ppo
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.options import PAPER_PPO, PopulationOptions, PPOOptions, WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.population import RANGES, Member, next_generation, train_population
from models.scheduling.workers.rollouts import share_of
from models.scheduling.workers.task_folder import TASK_FILE, map_jobs, read_task, write_task
from models.scheduling.workers.worker_learner import Lesson, WorkerLearner
from simulator.agents.trajectories import join_trajectories
from simulator.policies.registry import parse_policy
from tests.models.scheduling.workers.processes import QUICK, on_threads, same

# decentralised_ppo: Decentralised PPO: however many workers there are, they learn what one would.

CRITIC = QUICK.model_copy(update={"baseline": "critic", "siblings": 1, "reward": "waiting", "horizon_s": 20_000.0})
CRITIC = CRITIC.model_copy(update={"critic_layers": [64, 32, 8]})
"""Sgambati et al. 2025, Table 1."""
PARTS = QUICK.model_copy(update={"minibatch": 400})


@pytest.mark.parametrize("options", [QUICK, CRITIC], ids=["siblings", "critic"])
def test_one_worker_learns_what_ppo_learns(options: PPOOptions, task: WorkerTask) -> None:
    """At the paper's rate. Where a derivative is next to nothing Adam makes a step of rounding errors, and theirs differ."""
    options = options.model_copy(update={"epochs": 1, "passes": 2, "policy_rate": PAPER_PPO.policy_rate})
    alone = train_by_ppo(task.arena, task.lessons, options, task.seed)
    ours = train_by_ddppo(LoneWorker(), replace(task, options=options))
    change, size = flatten(ours.weights) - flatten(alone.weights), flatten(alone.weights)
    assert np.linalg.norm(change) <= 1e-5 * np.linalg.norm(size)
    (report,), (expected,) = ours.curve, alone.curve
    assert (report.phase, report.decisions, report.updates) == (expected.phase, expected.decisions, expected.updates)
    assert report.sampled_cost == pytest.approx(expected.sampled_cost, rel=1e-9)
    assert report.entropy == pytest.approx(expected.entropy, rel=1e-6)
    assert report.validation_cost == pytest.approx(expected.validation_cost, rel=1e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("done", [None, (5, 1, 0, 2)], ids=["all families", "unequal and empty shares"])
def test_the_gradient_of_many_workers_is_that_of_one_pass(
    size: int, done: tuple[int, ...] | None, task: WorkerTask
) -> None:
    """Against kernel_pass.ppo_pass over all decisions at once, as PPO takes it."""
    families = task.lessons.windows.taken(np.arange(0, 40, 5))
    rewards_of_all = np.random.default_rng(1).normal(size=(len(families), 3))
    options = QUICK.model_copy(update={"siblings": 3, "passes": 1, "policy_rate": 1e-9})

    def gradient(workers: Any) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        learner = WorkerLearner(workers, task.arena, options, 3, None)
        learner.load_state(workers.share(learner.to_state()))
        share = share_of(workers.rank, workers.size, families, 3, 9)
        if done is not None:
            share = share.first(done[workers.rank])
        windows = share.drawn.taken(np.repeat(np.arange(len(share.family)), 3))
        parts = [task.arena.sample(learner.weights(), windows, share.seeds.ravel())] if len(windows) else []
        trajectories = join_trajectories(parts, len(learner.layout.inputs), windows.jobs)
        lesson = Lesson(share.family, len(families), trajectories, rewards_of_all[share.family].ravel())
        learner.update_together(lesson, np.random.default_rng(0))
        return share.family, learner._gradients.flat

    of_workers = on_threads(size, gradient)
    family = np.sort(np.concatenate([families_done for families_done, _ in of_workers]))
    learner = Learner(task.arena, options, 3, None)
    learner.load_state(WorkerLearner(LoneWorker(), task.arena, options, 3, None).to_state())
    whole = share_of(0, 1, families, 3, 9)
    windows, seeds = families.taken(np.repeat(family, 3)), whole.seeds[family].ravel()
    learner.update(
        task.arena.sample(learner.weights(), windows, seeds), rewards_of_all[family].ravel(), np.random.default_rng(0)
    )
    expected = learner._gradients.flat
    for _, ours in of_workers:
        assert np.linalg.norm(ours - expected) <= 1e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize("options", [QUICK, CRITIC, PARTS], ids=["siblings", "critic", "minibatches"])
def test_many_workers_learn_what_one_learns(size: int, options: PPOOptions, task: WorkerTask) -> None:
    """Seven workers share six families: one of them has nothing to replay."""
    task = replace(task, options=options)
    alone = train_by_ddppo(LoneWorker(), task)
    together = on_threads(size, lambda workers: train_by_ddppo(workers, task))
    assert all(same(policy, alone) for policy in together)


def test_training_goes_on_from_its_checkpoint_on_other_workers(task: WorkerTask, tmp_path: Path) -> None:
    whole = train_by_ddppo(LoneWorker(), task)
    checkpoint = tmp_path / "checkpoint"

    def interrupted(report: EpochReport) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_by_ddppo(LoneWorker(), task, interrupted, checkpoint)
    reports: list[EpochReport] = []
    resumed = on_threads(2, lambda workers: train_by_ddppo(workers, task, reports.append, checkpoint))
    assert same(resumed[0], whole)
    assert [report.epoch for report in reports] == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"half a checkpo", "not a checkpoint that training can continue from"), (None, "other jobs, options or seed")],
    ids=["half written", "of other options"],
)
def test_another_checkpoint_is_refused(content: bytes | None, said: str, task: WorkerTask, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    if content is None:
        train_by_ddppo(LoneWorker(), replace(task, seed=6), checkpoint=checkpoint)
    else:
        checkpoint.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        train_by_ddppo(LoneWorker(), task, checkpoint=checkpoint)


def test_a_preempted_training_is_repeated_exactly(task: WorkerTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that finish in an order that hangs on the machine leave windows out; their log says which."""
    options = QUICK.model_copy(update={"trajectories": 128, "epochs": 2})
    task = replace(task, options=options, workers=WorkerOptions(workers=4, sync_fraction=0.6))
    late = {"rank": 3, "asked": 0}

    def work(workers: Any) -> Any:
        if workers.rank == late["rank"]:  # it begins when all others have finished
            finished = workers.finished

            def slow(iteration: str) -> int:
                while finished(iteration) < 3:
                    pass
                return finished(iteration)

            workers.finished = slow
        else:
            workers.finished = lambda iteration: 0
        return train_by_ddppo(workers, task)

    preempted = on_threads(4, work)[0]
    done = preempted.parameters["families_done"]
    assert {epoch: of_workers[:3] for epoch, of_workers in done.items()} == {"1": [8, 8, 8], "2": [8, 8, 8]}
    assert all(of_workers[3] == 2 for of_workers in done.values())  # a quarter of its eight families
    repeated = replace(
        task,
        workers=WorkerOptions(workers=4),
        repeated=done,
    )
    again = on_threads(4, lambda workers: train_by_ddppo(workers, repeated))[0]
    assert same(again, preempted)
    assert again.parameters["families_done"] == done


def test_training_that_diverges_says_so_at_all_workers(task: WorkerTask) -> None:
    wild = replace(task, options=QUICK.model_copy(update={"policy_rate": 1e38, "kl_limit": 1e300}))
    with pytest.raises(ValueError, match="lower policy_rate"):
        on_threads(2, lambda workers: train_by_ddppo(workers, wild))


def test_backlogs_of_another_policy_do_not_hang_on_the_workers(task: WorkerTask) -> None:
    """Those of windows that choose, too: on an empty cluster the same start costs something else."""
    task = replace(task, workers=WorkerOptions(backlog_policy="SAF"), options=QUICK.model_copy(update={"epochs": 18}))
    alone = train_by_ddppo(LoneWorker(), task)
    together = on_threads(3, lambda workers: train_by_ddppo(workers, task))[0]
    assert same(together, alone)
    empty = train_by_ddppo(LoneWorker(), replace(task, workers=WorkerOptions()))
    assert not same(alone, empty) and alone.curve[0].validation_cost != empty.curve[0].validation_cost


# population: Population-based training: seeded, resumable, and each member's weights are where its lineage says.

OPTIONS = PopulationOptions(members=4, interval=2, replaced=1)


@pytest.fixture(scope="session")
def task_of_population(arena: Arena, lessons: Lessons) -> WorkerTask:
    options = PPOOptions(epochs=5, trajectories=24)
    return WorkerTask(arena, replace(lessons, after=20), options, 5, population=OPTIONS)


def test_a_population_and_its_lineage(task_of_population: WorkerTask) -> None:
    reports: list[EpochReport] = []
    policy = train_population(LoneWorker(), task_of_population, reports.append)
    rows = policy.parameters["lineage"]
    assert [(row["generation"], row["member"]) for row in rows] == [(g, m) for g in (1, 2, 3) for m in range(4)]
    assert [report.epoch for report in reports] == [1, 2, 3] and reports == policy.curve
    assert all(row["parent"] is None for row in rows[:4])
    assert all(low <= row[name] <= high for row in rows for name, (low, high) in RANGES.items())
    best = min(rows, key=lambda row: row["cost"])
    assert (policy.validation_cost, policy.best_epoch) == (best["cost"], best["generation"])
    assert task_of_population.arena.costs(
        policy.weights, task_of_population.lessons.validation
    ).mean() == pytest.approx(best["cost"], rel=1e-6)
    for generation in (2, 3):
        before = [row["cost"] for row in rows if row["generation"] == generation - 1]
        parents = [row["parent"] for row in rows if row["generation"] == generation]
        worst, first = int(np.argmax(before)), int(np.argmin(before))
        assert parents == [first if member == worst else member for member in range(4)]


def test_the_workers_and_an_interruption_change_nothing(task_of_population: WorkerTask, tmp_path: Path) -> None:
    whole = train_population(LoneWorker(), task_of_population)
    together = on_threads(2, lambda workers: train_population(workers, task_of_population))
    assert all(policy.parameters == whole.parameters for policy in together)
    checkpoint = tmp_path / "checkpoint"

    def interrupted(report: EpochReport) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_population(LoneWorker(), task_of_population, interrupted, checkpoint)
    resumed = train_population(LoneWorker(), task_of_population, checkpoint=checkpoint)
    assert resumed.parameters == whole.parameters and resumed.curve == whole.curve
    assert np.array_equal(flatten(resumed.weights), flatten(whole.weights))


def test_a_random_search_copies_nobody(task_of_population: WorkerTask) -> None:
    search = replace(task_of_population, population=OPTIONS.model_copy(update={"exploit": False}))
    rows = train_population(LoneWorker(), search).parameters["lineage"]
    assert all(row["parent"] == (None if row["generation"] == 1 else row["member"]) for row in rows)
    for member in range(4):
        assert len({row["policy_rate"] for row in rows if row["member"] == member}) == 1


def test_a_member_that_is_left_alone_learns_what_it_would_alone(task_of_population: WorkerTask) -> None:
    """Without drawn hyper-parameters a member is a training by itself."""
    single = PopulationOptions(members=2, interval=2, replaced=1, drawn=False, exploit=False)
    policy = train_population(LoneWorker(), replace(task_of_population, population=single))
    alone = train_by_ddppo(LoneWorker(), replace(task_of_population, population=None))
    costs = [row["cost"] for row in policy.parameters["lineage"] if row["member"] == 1]
    assert costs == [alone.curve[epoch - 1].validation_cost for epoch in (2, 4, 5)]


def test_the_worst_copy_one_of_the_best() -> None:
    hyper = {name: high / 2 for name, (_, high) in RANGES.items()}
    members = [Member(hyper, None, {"of": k}, cost) for k, cost in enumerate([3.0, 1.0, 9.0, 2.0, 7.0, 4.0])]
    options = PopulationOptions(members=6, replaced=2)
    sources, changed = set(), set()
    for generation in range(2, 40):
        following = next_generation(members, options, 1, generation)
        assert [member.parent for k, member in enumerate(following) if k not in (2, 4)] == [0, 1, 3, 5]
        assert all(following[k].hyper == hyper for k in (0, 1, 3, 5))
        for k in (2, 4):
            assert following[k].learner == {"of": following[k].parent}
            sources.add(following[k].parent)
            changed.add(round(following[k].hyper["policy_rate"] / hyper["policy_rate"], 6))
        assert following == next_generation(members, options, 1, generation)
    assert sources == {1, 3} and {0.8, 1.2} < changed


def test_what_cannot_be_a_population(task_of_population: WorkerTask) -> None:
    with pytest.raises(ValueError, match="at most half"):
        PopulationOptions(members=2, replaced=2)
    whole = replace(
        task_of_population,
        options=task_of_population.options.model_copy(update={"minibatch": 0}),
        population=OPTIONS.model_copy(update={"drawn": False}),
    )
    with pytest.raises(ValueError, match="give it a size"):
        train_population(LoneWorker(), whole)


# task_folder: A task in a folder is the task.


def is_mapped(array: Any) -> bool:
    """Whether an array is a view of a mapped file."""
    return isinstance(array, np.memmap) or (array is not None and is_mapped(array.base))


def test_a_task_is_read_as_it_was_written(task: WorkerTask, tmp_path: Path) -> None:
    learned = train_by_ddppo(LoneWorker(), replace(task, options=QUICK.model_copy(update={"epochs": 1})))
    jobs = replace(task.arena.jobs, facts={"size": np.arange(len(task.arena.jobs.submit), dtype=np.float64)})
    rich = replace(
        task,
        arena=replace(task.arena, jobs=jobs),
        start=learned.weights,
        workers=WorkerOptions(workers=3, sync_fraction=0.6, backlog_policy="SAF"),
        repeated={"1": [3, 2, 3]},
        population=PopulationOptions(members=4, replaced=1),
        seed=11,
    )
    write_task(tmp_path, rich)
    again = read_task(tmp_path)
    assert again.fingerprint() == rich.fingerprint() != task.fingerprint()
    assert (again.workers, again.repeated, again.population) == (rich.workers, rich.repeated, rich.population)
    assert is_mapped(again.arena.jobs.submit)  # one copy for all workers of a machine
    assert again.start is not None
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(again.start, learned.weights, strict=True))


def test_it_is_learned_from_as_the_original(task: WorkerTask, tmp_path: Path) -> None:
    write_task(tmp_path, task)
    assert same(train_by_ddppo(LoneWorker(), read_task(tmp_path)), train_by_ddppo(LoneWorker(), task))


def test_mapped_jobs_are_shared_by_tasks_and_not_written_again(
    task: WorkerTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"size": np.arange(len(task.arena.jobs), dtype=np.float32)}
    mapped = map_jobs(tmp_path / "jobs", replace(task.arena.jobs, facts=facts))
    assert is_mapped(mapped.submit) and is_mapped(mapped.facts["size"])
    ours = replace(task, arena=replace(task.arena, jobs=mapped))
    for _ in range(2):
        write_task(tmp_path / "first", ours)
    for name in ("submit", "fact-size"):
        assert (tmp_path / "first" / f"{name}.npy").samefile(tmp_path / "jobs" / f"{name}.npy")
    assert read_task(tmp_path / "first").fingerprint() == ours.fingerprint()

    part = replace(ours, arena=replace(ours.arena, jobs=mapped.window(0, len(mapped) - 1)))  # a part is no whole file
    write_task(tmp_path / "first", part)
    assert (
        len(read_task(tmp_path / "first").arena.jobs)
        == len(mapped) - 1
        == len(np.load(tmp_path / "jobs" / "submit.npy")) - 1
    )

    def refuse(*_: object) -> None:
        raise OSError("another file system")

    monkeypatch.setattr("models.scheduling.workers.task_folder.os.link", refuse)
    write_task(tmp_path / "second", ours)
    assert not (tmp_path / "second" / "submit.npy").samefile(tmp_path / "jobs" / "submit.npy")
    assert read_task(tmp_path / "second").fingerprint() == ours.fingerprint()


def test_what_cannot_be_written_is_refused(task: WorkerTask, tmp_path: Path) -> None:
    unnamed = replace(task, arena=replace(task.arena, base=parse_policy("SAF")))
    with pytest.raises(ValueError, match="workers know policies by name alone, and 'SAF' is not one of these"):
        write_task(tmp_path, unnamed)
    lessons = replace(task.lessons, windows=task.arena.with_backlogs("FCFS", task.lessons.windows, 20))
    with pytest.raises(ValueError, match="windows of a task have no backlogs"):
        write_task(tmp_path, replace(task, lessons=lessons))
    assert not (tmp_path / TASK_FILE).exists()
