"""Tests of models/scheduling/learning: checkpoint, ppo, training, training_run."""

from __future__ import annotations

import errno
import fcntl
import os
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.checkpoint import load_checkpoint, save_checkpoint
from models.scheduling.learning.evolution import evolve
from models.scheduling.learning.ppo import VALUE_DECISIONS, Learner, train_by_ppo
from models.scheduling.learning.recipes import learn, rule_network, smallest_area_first
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.learning.training_run import JudgedPolicy, Split, TrainingRun, best_by_validation
from models.scheduling.options import PAPER_PPO, EvolutionOptions, PPOOptions, Recipe
from models.scheduling.trajectory_filter import filter_trajectories
from models.side_by_side import work_side_by_side
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.policies.agents import parse_agent
from simulator.policies.network import KernelWeights
from simulator.policies.observation import Layout, layout_named
from simulator.policies.registry import assisted
from tests.kills import killed_at
from tests.models.scheduling.conftest import PROCS
from tests.simulator.busy import PROCS as BUSY_PROCS
from tests.simulator.busy import busy_jobs

# checkpoint: A training that is interrupted ends as one that is not.

QUICK = PPOOptions(epochs=4, filtered_epochs=2, trajectories=16)


CRITIC = PAPER_PPO.model_copy(update={"epochs": 3, "trajectories": 8, "passes": 3, "layout": "plain"})


def same(a: KernelWeights, b: KernelWeights) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def stop_after(epochs: int):
    """Whoever hears of an epoch after that many dies, as a killed process would."""

    def tell(report: EpochReport) -> None:
        if report.epoch == epochs:
            raise KeyboardInterrupt

    return tell


def test_held_out_windows_show_what_would_be_kept_and_choose_nothing(
    arena: Arena, lessons: Lessons, tmp_path: Path
) -> None:
    windows, file = Windows(lessons.windows.first[-6:], lessons.windows.jobs), tmp_path / "checkpoint"
    watched = replace(lessons, held_out=windows)
    trained = train_by_ppo(arena, watched, QUICK, 3)
    plain = train_by_ppo(arena, lessons, QUICK, 3)
    assert same(trained.weights, plain.weights) and plain.held_out == []
    means = trained.held_out
    assert len(means) == 1 + QUICK.epochs
    assert means[-1] == means[trained.best_epoch] == arena.costs(trained.weights, windows).mean()
    for report, (before, after) in zip(trained.curve, pairwise(means), strict=True):
        earlier = [each.validation_cost for each in trained.curve[: report.epoch - 1]]
        assert report.validation_cost is not None
        assert before == after or report.validation_cost < min(filter(None, earlier), default=np.inf)
    with pytest.raises(KeyboardInterrupt):
        train_by_ppo(arena, watched, QUICK, 3, stop_after(2), file)
    assert train_by_ppo(arena, watched, QUICK, 3, checkpoint=file).held_out == means
    start = smallest_area_first(layout_named("plain"), 40.0, 1)
    assert train_by_ppo(arena, watched, QUICK, 3, start=start).held_out[0] == arena.costs(start, windows).mean()


@pytest.mark.parametrize("method", ["siblings", "critic", "evolution"])
def test_an_interrupted_training_goes_on_as_if_nothing_had_been(
    method: str, arena: Arena, lessons: Lessons, tmp_path: Path
) -> None:
    def run(tell=lambda report: None, path: Path | None = None, seed: int = 5) -> TrainedPolicy:
        if method == "evolution":
            start = train_by_ppo(arena, lessons, PPOOptions(epochs=1, trajectories=4), 1).weights
            options = EvolutionOptions(generations=5, pairs=3, windows=4, validate_every=2)
            return evolve(arena, lessons, start, options, seed, tell, path)
        return train_by_ppo(arena, lessons, CRITIC if method == "critic" else QUICK, seed, tell, path)

    undisturbed = run()
    path = tmp_path / "policy.checkpoint"
    for epochs in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            run(stop_after(epochs), path)
    told: list[int] = []
    resumed = run(lambda report: told.append(report.epoch), path)
    assert same(undisturbed.weights, resumed.weights)
    assert [r.epoch for r in resumed.curve] == told == [r.epoch for r in undisturbed.curve]
    assert [r.validation_cost for r in resumed.curve] == [r.validation_cost for r in undisturbed.curve]
    # a checkpoint of another training is not gone on from
    assert run(path=path, seed=6).curve == run(seed=6).curve
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"policy\.checkpoint: not a checkpoint"):
        run(path=path)


def test_a_critic_learns_from_all_decisions_at_once(arena: Arena, lessons: Lessons) -> None:
    """Its step leaves out what is empty in every queue of a part, and adds the parts up."""
    learner = Learner(arena, CRITIC, 2, None)
    trajectories = learner.collect(lessons.windows.some(np.random.default_rng(1), 40), 3)
    queues, rng = learner.queues_of(trajectories), np.random.default_rng(4)
    some = rng.permutation(trajectories.decisions)[: 2 * VALUE_DECISIONS + 5]
    assert len(some) > VALUE_DECISIONS and len(np.unique(trajectories.num_rows[some])) > 3
    target = rng.random(trajectories.decisions, dtype=np.float32)
    assert learner.critic is not None
    whole = deepcopy(learner.critic)
    wrong = whole(torch.from_numpy(queues[some])) - torch.from_numpy(target[some])
    (wrong**2).mean().backward()
    learner._value_step(queues, trajectories.num_rows, some, target)
    for one, other in zip(learner.critic.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-6)


class Harmful:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder),)


def test_a_checkpoint_runs_no_code(tmp_path: Path) -> None:
    import torch

    torch.save({"training": "t", "state": Harmful(tmp_path / "made")}, tmp_path / "checkpoint")
    with pytest.raises(ValueError, match="not a checkpoint that training can continue from"):
        load_checkpoint(tmp_path / "checkpoint", "t")
    assert not (tmp_path / "made").exists()


def test_a_file_is_unfinished_by_its_name_and_nobody_removes_it_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, names = tmp_path / "policy.checkpoint", []
    replace = Path.replace

    def replace_while_another_run_reads(unfinished: Path, target: Path) -> Path:
        names.append(unfinished.name)
        assert load_checkpoint(path, "t") is None
        return replace(unfinished, target)

    monkeypatch.setattr(Path, "replace", replace_while_another_run_reads)
    save_checkpoint(path, "t", {"epoch": 1})
    (name,) = names
    assert name.startswith(f"policy.checkpoint.{os.getpid()}-") and name.endswith(".part")
    assert load_checkpoint(path, "t") == {"epoch": 1} and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("reads", [True, False])
def test_what_killed_processes_left_is_removed(reads: bool, tmp_path: Path) -> None:
    path = tmp_path / "policy[1].checkpoint"
    save_checkpoint(path, "t", {"epoch": 1})
    left, being_written, of_another = (
        path.with_name(f"{name}.part") for name in (f"{path.name}.1-a", f"{path.name}.2-b", "policy1.checkpoint.3-c")
    )
    for part in (left, being_written, of_another):
        part.write_bytes(b"half of one")
    with being_written.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as its process does
        if reads:
            assert load_checkpoint(path, "t") == {"epoch": 1}
        else:
            save_checkpoint(path, "t", {"epoch": 2})
        assert set(tmp_path.iterdir()) == {path, being_written, of_another}


def test_a_process_that_is_killed_at_any_moment_leaves_the_old_checkpoint_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "policy.checkpoint"
    seen, left = [], 0
    save_checkpoint(path, "t", {"epoch": 1})
    while killed_at(lambda: save_checkpoint(path, "t", {"epoch": 2}), len(seen)):
        left += len(list(tmp_path.iterdir())) - 1
        state = load_checkpoint(path, "t")
        assert state is not None and list(tmp_path.iterdir()) == [path]
        seen.append(state["epoch"])
        save_checkpoint(path, "t", {"epoch": 1})
    assert seen == sorted(seen) and seen[0] == 1 and left > 0


def test_a_disk_that_is_full_leaves_no_unfinished_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*policy\.checkpoint'$"):
        save_checkpoint(tmp_path / "policy.checkpoint", "t", {"epoch": 1})
    assert list(tmp_path.iterdir()) == []


# ppo: Proximal policy optimisation: reproducible, and the best epoch is kept.


def test_training_reports_every_epoch_and_keeps_the_best(arena: Arena, lessons: Lessons) -> None:
    reports: list[EpochReport] = []
    found = train_by_ppo(arena, lessons, QUICK, 11, reports.append)
    assert [report.epoch for report in reports] == [1, 2, 3, 4] and reports == found.curve
    assert [report.phase for report in reports] == ["filtered", "filtered", "all", "all"]
    assert all(report.decisions > 50 and report.updates > 0 for report in reports)
    costs = [report.validation_cost for report in reports]
    assert found.validation_cost == min(costs) and found.best_epoch == 1 + int(np.argmin(costs))  # type: ignore[type-var]
    assert arena.costs(found.weights, lessons.validation).mean() == found.validation_cost


@pytest.mark.parametrize("options", [QUICK, CRITIC], ids=["siblings", "critic"])
def test_the_seed_decides(options: PPOOptions, arena: Arena, lessons: Lessons) -> None:
    once, again, other = (train_by_ppo(arena, lessons, options, seed) for seed in (3, 3, 4))
    assert once.curve == again.curve and same(once.weights, again.weights)
    assert once.curve != other.curve


def test_rlscheduler_rules_can_be_learned_in(jobs: Jobs, lessons: Lessons) -> None:
    for backfill in ("none", "easy"):
        place = Arena(jobs, PROCS, parse_goal("bsld"), backfill, "rlscheduler")
        found = train_by_ppo(place, lessons, PPOOptions(epochs=2, trajectories=8), 1)
        window = jobs.window(450, 64)
        from papers.rlscheduler.rules import replay_rlscheduler
        from simulator.policies.registry import network_policy

        alone = replay_rlscheduler(window, PROCS, network_policy(found.weights), backfill == "easy")
        assert np.array_equal(place.starts(found.weights, lessons.validation)[0], alone.start)


# starts: Networks that have learned nothing decide as their rule does.


def alike_jobs(count: int) -> Jobs:
    """Busy jobs of which half ask for half an hour and half for ten, on 1, 4 or 16 processors."""
    busy = busy_jobs(count, load=1.4)
    estimate = np.where(busy.estimate < 1500, 1800, 36_000)
    procs = np.select([busy.procs < 4, busy.procs < 16], [1, 4], 16)
    return Jobs(busy.submit, busy.runtime, procs, estimate, np.maximum(busy.runtime, estimate), origin=busy.origin)


@pytest.mark.parametrize("sharpness", [1.0, 40.0])
@pytest.mark.parametrize("base", ["FCFS", "SAF", "WFP3"])
@pytest.mark.parametrize("options", ["", ",guard=none,must=1", ",slack_s=600", ",from=all"])
@pytest.mark.parametrize("window", ["120-0", "6-6", "0-9"])
@pytest.mark.parametrize("by", ["shortest", "narrowest", "smallest"])
def test_a_network_picks_as_the_rule(by: str, window: str, options: str, base: str, sharpness: float) -> None:
    """Also where many jobs are alike, and in whichever slots they are."""
    agent = parse_agent(f"pick:by={by},window={window}{options}")
    network = agent.learned(rule_network(agent, layout_named("picking"), sharpness, 1))
    ruled, learned = (replay(ALIKE, BUSY_PROCS, assisted(base, each)) for each in (agent, network))
    assert learned.start.tolist() == ruled.start.tolist()


ALIKE = alike_jobs(600)


@pytest.mark.parametrize("by", ["shortest", "narrowest", "smallest"])
def test_a_network_tells_jobs_apart_that_differ_little(by: str) -> None:
    jobs, agent = busy_jobs(600), parse_agent(f"pick:by={by},window=60-60")
    network = agent.learned(rule_network(agent, layout_named("picking"), 40.0, 1))
    ruled, learned = (replay(jobs, BUSY_PROCS, assisted("FCFS", each)) for each in (agent, network))
    assert learned.start.tolist() == ruled.start.tolist()


@pytest.mark.parametrize("by", ["first", "oldest"])
def test_the_first_is_the_oldest(by: str) -> None:
    """Of those that have waited alike the first row is taken, which is the first in the log."""
    jobs, agent = busy_jobs(600), parse_agent(f"pick:by={by},from=all,window=20-0")
    network = agent.learned(rule_network(agent, layout_named("picking"), 40.0, 1))
    ruled, learned = (replay(jobs, BUSY_PROCS, assisted("FCFS", each)) for each in (agent, network))
    assert (learned.start == ruled.start).mean() > 0.99


@pytest.mark.parametrize("rule", ["accept", "unfit", "reject"])
def test_a_network_inspects_as_the_rule(rule: str) -> None:
    jobs, agent = busy_jobs(400), parse_agent(f"inspect:{rule}")
    network = agent.learned(rule_network(agent, layout_named("inspecting"), 40.0, 1))
    for policy in ("FCFS", "SAF"):
        ruled, learned = (replay(jobs, BUSY_PROCS, assisted(policy, each)) for each in (agent, network))
        assert learned.start.tolist() == ruled.start.tolist()


def test_what_the_rule_reads_must_be_there() -> None:
    with pytest.raises(ValueError, match="only where it reads estimate"):
        rule_network(parse_agent("pick:by=shortest"), Layout(("procs",), ("answers_no",)), 40.0, 1)
    with pytest.raises(ValueError, match="only where it reads the area"):
        smallest_area_first(Layout(("procs",), ("wait",)), 40.0, 1)


# training: What training takes: lessons without windows are refused.

SOME, NONE = Windows(np.array([0, 50]), 40), Windows(np.zeros(0, dtype=np.int64), 40)


def test_lessons_need_windows_to_learn_from_and_to_choose_by() -> None:
    assert len(Lessons(SOME, NONE, SOME).filtered) == 0
    for windows, validation in ((NONE, SOME), (SOME, NONE)):
        with pytest.raises(ValueError, match="one window to learn from and one to choose by"):
            Lessons(windows, SOME, validation)


# training_run: One training run: what every seed gives is what it gives alone, and what it costs is what it is
# judged by.

RECIPE = Recipe(
    method="evolution",
    cautious=False,
    evolution=EvolutionOptions(generations=2, pairs=1, windows=4, spread=0.2, rate=0.3, validate_every=1),
)
SPLIT = Split(
    Windows(np.arange(0, 400, 20), 48), Windows(np.array([450, 500]), 64), None, Windows(np.array([560, 640]), 80), 550
)


@pytest.fixture(scope="module")
def run(arena: Arena) -> tuple[list[JudgedPolicy], list[tuple[int, int]]]:
    """The policies of two seeds, and seed and epoch of every report."""
    reports: list[tuple[int, int]] = []
    training = TrainingRun(arena, SPLIT.lessons(arena), SPLIT.judge, RECIPE)
    policies = training.train_seeds([4, 9], lambda seed, report: reports.append((seed, report.epoch)))
    return list(policies), reports


def test_each_seed_gives_what_it_gives_alone(
    arena: Arena, run: tuple[list[JudgedPolicy], list[tuple[int, int]]]
) -> None:
    policies, reports = run
    assert [policy.seed for policy in policies] == [4, 9]
    assert reports == [(4, 1), (4, 2), (9, 1), (9, 2)]
    alone = learn(arena, SPLIT.lessons(arena), RECIPE, 9)
    assert all(np.array_equal(a, b) for a, b in zip(policies[1].trained.weights, alone.weights, strict=True))
    assert policies[1].trained.curve == alone.curve != policies[0].trained.curve


def test_policies_are_judged_on_windows_of_their_own(
    arena: Arena, run: tuple[list[JudgedPolicy], list[tuple[int, int]]]
) -> None:
    for policy in run[0]:
        assert np.array_equal(policy.costs, arena.costs(policy.trained.weights, SPLIT.judge))
    best = best_by_validation(run[0])
    assert best.trained.validation_cost == min(policy.trained.validation_cost for policy in run[0])


def test_lessons_begin_with_what_the_filter_keeps(arena: Arena) -> None:
    lessons = SPLIT.lessons(arena)
    assert np.array_equal(lessons.filtered.first, filter_trajectories(arena, SPLIT.learn).kept_windows.first)
    assert lessons.windows is SPLIT.learn and lessons.validation is SPLIT.choose


def test_side_by_side_is_one_after_the_other(
    arena: Arena, run: tuple[list[JudgedPolicy], list[tuple[int, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, with every epoch reported here. The first seed says whether the others are worth processes."""
    started: list[list[int]] = []

    def spied(work: Any, seeds: Any, *others: Any) -> Any:
        started.append(list(seeds))
        return work_side_by_side(work, seeds, *others)

    monkeypatch.setattr("models.scheduling.learning.training_run.work_side_by_side", spied)
    monkeypatch.setattr("models.side_by_side.cores", lambda: 2)
    monkeypatch.setattr("models.scheduling.learning.training_run.cores", lambda: 2)
    monkeypatch.setattr("models.scheduling.learning.training_run.WORTH_PROCESSES_S", 0.0)
    reports: list[tuple[int, int]] = []
    training = TrainingRun(arena, SPLIT.lessons(arena), SPLIT.judge, RECIPE)
    policies = list(training.train_seeds([2, 4, 9], lambda seed, report: reports.append((seed, report.epoch)), True))
    assert started == [[4, 9]]
    for ours, theirs in zip(policies[1:], run[0], strict=True):
        assert (ours.seed, ours.trained.curve, ours.costs.tolist()) == (
            theirs.seed,
            theirs.trained.curve,
            theirs.costs.tolist(),
        )
        assert all(np.array_equal(a, b) for a, b in zip(ours.trained.weights, theirs.trained.weights, strict=True))
    assert sorted(reports) == [(2, 1), (2, 2), *run[1]]


def test_a_short_training_starts_no_processes(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.scheduling.learning.training_run.cores", lambda: 2)
    monkeypatch.setattr("models.scheduling.learning.training_run.WORTH_PROCESSES_S", 1e9)
    monkeypatch.setattr("models.scheduling.learning.training_run.work_side_by_side", None)
    training = TrainingRun(arena, SPLIT.lessons(arena), SPLIT.judge, RECIPE.shortest())
    assert len(list(training.train_seeds([2, 4, 9], side_by_side=True))) == 3
