"""Tests of benchmarks: gpu_training, growth, large_log, night, workers."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import gpu_training, growth, night
from benchmarks.gpu_training import RecordedTensors, TorchLearner, epoch_costs
from benchmarks.large_log import STEPS, TITLES, disk_bytes, measure, row_of, run_steps
from benchmarks.workers import Costs, sum_s
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.kernel_pass import ClippedLoss, recorded_choices
from models.scheduling.learning.training import Lessons
from models.scheduling.workers.decentralised_ppo import WorkerTask
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.task_folder import write_task
from models.scheduling.workers.worker_learner import WorkerLearner, add_window_gradients
from simulator.jobs.jobs import jobs_from_log
from tests.models.scheduling.workers.processes import QUICK
from traces.synthetic.centre import CENTRES
from traces.synthetic.workload import WorkloadOptions, generate_workload

# gpu_training: What is timed on a GPU is the same training: torch's derivatives are those of compiled code.


@pytest.fixture(scope="module")
def task() -> WorkerTask:
    first = np.arange(0, 400, 7)
    lessons = Lessons(Windows(first, 48), Windows(first[:0], 48), Windows(np.array([450, 500]), 48))
    rows = generate_workload(WorkloadOptions(jobs=600, procs=32, seed=3, offered_load=1.0))
    names = ("submit_s", "runtime_s", "procs", "requested_walltime_s")
    jobs = jobs_from_log(*(rows[name].to_numpy() for name in names))
    return WorkerTask(Arena(jobs, 32, parse_goal("bsld"), threads=1), lessons, QUICK, 5)


def test_derivatives_are_those_of_compiled_code(task: WorkerTask, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, windows = ClippedLoss(0.2, 0.01), np.arange(9)
    learner = WorkerLearner(LoneWorker(), task.arena, task.options, 3, None)
    trajectories = task.arena.sample(learner.weights(), task.lessons.windows.taken(windows), 4)
    for parameter in learner.network.parameters():  # so that some ratios are clipped
        parameter.data *= 1.3
    advantage = np.random.default_rng(2).normal(size=trajectories.decisions).astype(np.float32)
    shared = learner._gradients
    total = np.zeros(len(shared.flat))
    divergence, spread, _ = add_window_gradients(
        recorded_choices(trajectories), trajectories.first_decision, windows, advantage, loss, shared.weights,
        (shared.gradients, shared.flat), total,
    )  # fmt: skip
    monkeypatch.setattr(gpu_training, "MOST_DECISIONS", 50)  # several passes
    twin = type(learner.network)(len(learner.layout.inputs))
    twin.load_state_dict(learner.network.state_dict())
    everyone = np.arange(trajectories.decisions)
    flat, moved, entropy = RecordedTensors(trajectories, "cpu").derivatives(twin, everyone, advantage, loss)
    assert divergence > 0 and np.abs(flat - total).max() < 1e-5 * np.abs(total).max()
    assert (moved, entropy) == pytest.approx((divergence, spread), rel=1e-4)


def test_epochs_by_torch_are_those_of_the_training(task: WorkerTask) -> None:
    ours, theirs = (epoch_costs(task, learner) for learner in (WorkerLearner, TorchLearner))
    assert ours.decisions == pytest.approx(theirs.decisions, rel=0.2)
    assert all(0 < costs.steps_s < costs.epoch_s and costs.steps >= 1 for costs in (ours, theirs))


def test_a_folder_of_workers_is_enough(
    task: WorkerTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(tmp_path, task)
    monkeypatch.setattr(sys, "argv", ["gpu_training", str(tmp_path), "--epochs", "2"])
    gpu_training.main()
    said = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in said if line.startswith(("compiled", "torch"))][:2] == ["compiled", "torch"]


@pytest.mark.parametrize("asked", [("--epochs", "1"), ("--trajectories", "10")])
def test_epochs_that_cannot_be_timed_are_refused(
    asked: tuple[str, ...],
    task: WorkerTask,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_task(tmp_path, task)
    monkeypatch.setattr(sys, "argv", ["gpu_training", str(tmp_path), *asked])
    with pytest.raises(SystemExit):
        gpu_training.main()
    assert "expected at least 2 epochs, and windows in multiples of 4" in capsys.readouterr().err


# growth: Growth of cost with a log, at tiny sizes.


def test_sizes_side_by_side_and_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_again(*_: object) -> None:
        raise AssertionError("it was measured")

    arguments = ["--jobs", "300,900", "--folder", str(tmp_path), "--stage", "ingest", "--stage", "operations"]
    done = CliRunner().invoke(growth.main, arguments, catch_exceptions=False)
    table = [line.split(" | ") for line in done.stdout.strip().splitlines()]
    assert len(table) == 4 and table[2][0] == "| read into the raw tables" and {len(row) for row in table} >= {6}
    assert float(table[2][3]) == pytest.approx(float(table[2][2]) / float(table[2][1]), rel=0.1, abs=0.02)
    assert all(float(row[k].replace(",", "").rstrip(" |")) > 50 for row in table[2:] for k in (4, 5))
    monkeypatch.setattr(growth, "measure_apart", not_again)
    assert CliRunner().invoke(growth.main, arguments, catch_exceptions=False).stdout == done.stdout


def test_what_a_month_more_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    years = replace(CENTRES["lemhi"], jobs=1200)  # a log of a year whose months have 100 jobs
    monkeypatch.setitem(CENTRES, growth.MODEL, years)
    done = CliRunner().invoke(growth.main, ["--month", "--jobs", "1200"], catch_exceptions=False)
    table = [line.split(" | ") for line in done.stdout.strip().splitlines()]
    assert [row[0] for row in table[2:]][:2] == ["| read into the raw tables", "| canonical jobs"] and len(table) == 6
    assert all(float(cell.rstrip(" |")) >= 0 for row in table[2:] for cell in row[1:])


# night: A night at the size of a real centre, at a tiny size.


@pytest.mark.thorough
def test_a_night_of_a_made_centre(tmp_path: Path) -> None:
    arguments = ["--jobs", "1500", "--folder", str(tmp_path), "--step", "marts/trace_health"]
    done = CliRunner().invoke(night.main, arguments, catch_exceptions=False)
    first, *table = [line for line in done.stdout.strip().splitlines() if line]
    assert first.startswith("1,500 jobs on 1,000 nodes in 1 days, load 0.9: started by our Slurm")
    rows = [line.strip("| ").split(" | ") for line in table]
    assert [row[0] for row in rows[2:]] == ["cluster import", "ingest", "marts/trace_health"]
    assert all(float(row[1].replace(",", "")) > 0 and float(row[3].replace(",", "")) > 50 for row in rows[2:])
    with pytest.raises(RuntimeError, match="no such"):
        night.measured(["ingest", str(tmp_path / "none")], tmp_path / "home")


# large_log: The way of a large log, at a tiny size.


def test_each_step_takes_the_jobs_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setattr("benchmarks.large_log.WARM_JOBS", 200)
    for name in ("warm", "log"):
        (tmp_path / name).mkdir()
    for step in STEPS:
        taken = measure(step, "lemhi", 600, tmp_path)
        assert taken["rows"] == 600 or step == "health" or "rows:" in STEPS[step][0]
        assert taken["cpu_s"] > 0 and taken["wall_s"] > 0 and taken["peak_mib"] > 50
        assert len(row_of(step, taken)) == len(TITLES)
    log, database = disk_bytes(tmp_path)
    assert 600 * 30 < log < 600 * 200 and database > 100_000


def test_the_table_is_printed_as_it_grows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_steps("lemhi", 300, tmp_path, ["generate", "ingest"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| step | rows | CPU-s | wall s | peak MiB |"
    assert [line.split(" | ")[1] for line in lines[2:4]] == ["300", "300"] and "warehouse" in lines[-1]


# workers: What follows for many workers from times of a few.

MEASURED = Costs(rollout_s=0.64e-3, decisions=28_145 / 128, update_s=6.9e-6, hop_s=25e-6, passes=4, steps=28)
"""Times of one worker with a critic on Lublin-1."""


@pytest.mark.parametrize(
    ("windows", "workers", "tree", "share"),
    [
        (128, 1, False, 1.0),
        (128, 128, False, 0.83),
        (1024, 128, False, 0.97),
        (128, 1024, False, 0.37),
        (1024, 1024, False, 0.83),
        (128, 1024, True, 0.98),
    ],
)
def test_messages_cost_more_than_they_bring_where_workers_have_few_windows(
    windows: int, workers: int, tree: bool, share: float
) -> None:
    assert MEASURED.efficiency(windows, workers, tree) == pytest.approx(share, abs=0.01)


def test_a_sum_goes_once_around_for_each_half() -> None:
    assert [MEASURED.message_s(workers) for workers in (1, 2, 4)] == pytest.approx([0, 50e-6, 150e-6])
    assert MEASURED.message_s(1024, tree=True) == pytest.approx(500e-6)


def test_sums_are_timed_in_processes() -> None:
    best, median = sum_s(2, 960)
    assert 1e-6 < best <= median < 1.0
