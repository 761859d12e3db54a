"""Times learning on many workers: decisions a second, one slow worker, recovery from a lost one, messages, and what follows for more.

`python -m benchmarks.workers [speed|straggler|recovery|model ...] [EPOCHS]`. Wall time: the machine should have nothing else to do.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.options import PPOOptions, WorkerOptions
from models.scheduling.workers import launching
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker, connected_workers
from models.scheduling.workers.launching import train_on_workers
from models.scheduling.workers.rollouts import share_of
from models.scheduling.workers.worker_learner import Lesson, WorkerLearner
from tests.models.scheduling.workers.processes import on_threads, send

TRAJECTORIES = 2048
MINIBATCHES = (4096, 32_768)
"""Decisions in a gradient step. A window has about 220, and a family four windows, so the first, the default, has work for few workers."""
WORKERS = tuple(2**k for k in range(max((os.cpu_count() or 1).bit_length(), 3)))
"""Powers of two up to the number of cores, at least up to 4."""
SLOWED = 4
"""How many times as long a window takes at the slow worker."""
MODELLED = (2, 128, 1024)
WINDOWS_EACH = (128, 1024)
CHECKED_WINDOWS = (128, 512)
MESSAGES = 200
"""Sums that are timed."""


@dataclass(frozen=True)
class Costs:
    """What an epoch is made of. update_s: of one decision in one pass. hop_s: of one message between two workers in a ring."""

    rollout_s: float
    decisions: float  # of a window
    update_s: float
    hop_s: float
    passes: int
    steps: int  # of an epoch

    def message_s(self, workers: int, tree: bool = False) -> float:
        """Wall seconds of a sum over so many workers."""
        return self.hop_s * (2 * int(np.ceil(np.log2(workers))) if tree else 2 * (workers - 1))

    def epoch_s(self, windows: int, workers: int, tree: bool = False) -> float:
        """Wall seconds of an epoch of so many windows for each worker."""
        alone = windows * (self.rollout_s + self.decisions * self.update_s * self.passes)
        return alone + self.steps * self.message_s(workers, tree)

    def efficiency(self, windows: int, workers: int, tree: bool = False) -> float:
        """Decisions a second of each worker, as a share of what one alone has."""
        return self.epoch_s(windows, 1) / self.epoch_s(windows, workers, tree)


def task_of(options: PPOOptions, workers: WorkerOptions | None = None) -> WorkerTask:
    """256-job windows of Lublin-1, EASY, bounded slowdown."""
    from benchmarks.policies import lublin  # it reads logs: what else is here needs no package for that

    jobs = lublin()
    windows = Windows.spread(0, len(jobs) // 2, 256, 2000)
    lessons = Lessons(windows, windows.taken(np.arange(0)), Windows.spread(len(jobs) // 2, len(jobs), 256, 2))
    return WorkerTask(
        Arena(jobs, 256, parse_goal("bsld"), threads=1), lessons, options, 1, workers=workers or WorkerOptions()
    )


class Clock:
    """Reads the time at each epoch's report. The first epoch compiles and is not counted."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.reports: list[EpochReport] = []

    def __call__(self, report: EpochReport) -> None:
        self.times.append(time.perf_counter())
        self.reports.append(report)

    @property
    def epoch_s(self) -> float:
        return (self.times[-1] - self.times[0]) / (len(self.times) - 1)

    @property
    def decisions_per_s(self) -> float:
        return sum(r.decisions for r in self.reports[1:]) / (self.times[-1] - self.times[0])


def trained(task: WorkerTask) -> Clock:
    """The clock of a training by torchrun."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        train_on_workers(Path(folder), task, clock)
    return clock


def speed(epochs: int) -> None:
    print(
        f"\n{'decisions a second':<20}{'windows':>9}{'minibatch':>11}{'decisions/s':>13}{'to ppo, 1':>11}{'to ppo, 2':>11}"
    )
    for minibatch in MINIBATCHES:
        task = task_of(PPOOptions(epochs=epochs, trajectories=TRAJECTORIES, minibatch=minibatch))
        rows = {}
        for threads in (1, 2):
            clock = Clock()
            train_by_ppo(replace(task.arena, threads=threads), task.lessons, task.options, 1, clock)
            rows[f"ppo, {threads} threads"] = clock.decisions_per_s
        one, two = rows.values()
        for workers in WORKERS:
            rows[f"workers {workers}"] = trained(replace(task, workers=WorkerOptions(workers=workers))).decisions_per_s
        for name, value in rows.items():
            ratios = f"{value / one:>11.2f}{value / two:>11.2f}"
            print(f"{name:<20}{TRAJECTORIES:>9,}{minibatch:>11,}{value:>13,.0f}{ratios}", flush=True)


def straggler(epochs: int) -> None:
    """Workers are threads whose replays sleep, so that each has a machine of its own, however many cores there are here."""
    options = PPOOptions(epochs=epochs + 1, trajectories=512)
    task = task_of(options)
    own, sample = threading.local(), Arena.sample

    def slow_sample(self: Arena, weights: Any, windows: Windows, *rest: Any) -> Any:
        time.sleep(len(windows) * own.window_s)
        return sample(self, weights, windows, *rest)

    def epoch_s(slowed: int, fraction: float) -> tuple[float, float]:
        clock = Clock()

        def work(workers: Any) -> Any:
            own.window_s = 0.02 * (slowed if workers.rank == 2 else 1)
            given = replace(task, workers=WorkerOptions(workers=4, sync_fraction=fraction))
            return train_by_ddppo(workers, given, clock if workers.rank == 0 else lambda report: None)

        stops = on_threads(4, work)[0].parameters["families_done"]
        done = [of_workers[2] / max(of_workers) for of_workers in stops.values()]
        return clock.epoch_s, float(np.mean(done)) if done else 1.0

    Arena.sample = slow_sample  # type: ignore[method-assign]
    try:
        undisturbed, _ = epoch_s(1, 1.0)
        print(f"\n{'one of 4 workers slowed ' + str(SLOWED) + ' times':<32}{'epoch':>9}{'ratio':>8}{'it has done':>13}")
        print(f"{'undisturbed':<32}{undisturbed:>7.2f} s{1:>8.2f}{1:>13.0%}")
        for fraction in (1.0, 0.6):
            seconds, done = epoch_s(SLOWED, fraction)
            print(f"{f'sync_fraction {fraction:g}':<32}{seconds:>7.2f} s{seconds / undisturbed:>8.2f}{done:>13.0%}")
    finally:
        Arena.sample = sample  # type: ignore[method-assign]


def recovery(epochs: int) -> None:
    print(f"\n{'SIGKILL of':<12}{'next epoch after':>18}")
    task = task_of(PPOOptions(epochs=epochs + 6), WorkerOptions(workers=2))
    for rank in (1, 0):
        killed: list[float] = []
        after: list[float] = []
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)

            def disturb(
                report: EpochReport, rank: int = rank, folder: Path = folder, killed: Any = killed, after: Any = after
            ) -> None:
                if killed and not after:
                    after.append(time.perf_counter())
                if report.epoch == 2:
                    send(folder, rank, signal.SIGKILL)
                    killed.append(time.perf_counter())

            train_on_workers(folder, task, disturb)
        print(f"worker {rank:<5}{after[0] - killed[0]:>16.1f} s")


def _time_sums(rank: int, size: int, port: int, numbers: int, answers: Any) -> None:
    os.environ.update(
        RANK=str(rank), WORLD_SIZE=str(size), LOCAL_WORLD_SIZE=str(size), MASTER_ADDR="localhost", MASTER_PORT=str(port)
    )
    with connected_workers(60.0) as workers:
        values, seconds = np.zeros(numbers), []
        for _ in range(MESSAGES):
            began = time.perf_counter()
            workers.add(values)
            seconds.append(time.perf_counter() - began)
        if rank == 0:
            answers.put((min(seconds), float(np.median(seconds))))
        workers.add(values)


def sum_s(size: int, numbers: int) -> tuple[float, float]:
    """Seconds of a sum over so many processes of this machine: the best, and the median."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    processes = [context.Process(target=_time_sums, args=(k, size, port, numbers, answers)) for k in range(size)]
    for process in processes:
        process.start()
    best, median = answers.get()
    for process in processes:
        process.join()
    return best, median


def options_of(baseline: str) -> PPOOptions:
    """128 windows, all of whose steps are taken."""
    options = PPOOptions(trajectories=128, kl_limit=1e9)
    return options.model_copy(update={"baseline": "critic", "siblings": 1}) if baseline == "critic" else options


def measured_costs(baseline: str, hop_s: float) -> tuple[Costs, int]:
    """Of one worker with 128 windows of one thread. hop_s: see Costs. Returns also how many numbers a message has."""
    options = options_of(baseline)
    task = task_of(options)
    learner = WorkerLearner(LoneWorker(), task.arena, options, 1, None)
    families = options.trajectories // options.siblings
    share = share_of(0, 1, task.lessons.windows.taken(np.arange(families)), options.siblings, 1)
    windows, seeds = share.drawn.taken(np.repeat(np.arange(families), options.siblings)), share.seeds.ravel()
    weights = learner.weights()
    rollout_s, trajectories = _best(lambda: task.arena.sample(weights, windows, seeds))
    rewards = np.random.default_rng(0).normal(size=len(windows))
    lesson = Lesson(share.family, families, trajectories, rewards)
    update_s, (_, _, steps) = _best(lambda: learner.update_together(lesson, np.random.default_rng(0)))
    numbers = sum(len(g.flat) for g in (learner._gradients, learner._value_gradients) if g is not None) + 4
    decisions = trajectories.decisions
    return (
        Costs(
            rollout_s / len(windows),
            decisions / len(windows),
            update_s / decisions / options.passes,
            hop_s,
            options.passes,
            steps,
        ),
        numbers,
    )


def _best(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the fastest of three calls behind the first, and what it returns."""
    result, best = work(), float("inf")
    for _ in range(3):
        began = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - began)
    return best, result


def model(epochs: int) -> None:
    for baseline in ("siblings", "critic"):
        costs, numbers = measured_costs(baseline, 0.0)
        print(f"\nbaseline {baseline}: {numbers:,} numbers in a message, {costs.steps} steps of {costs.passes} passes")
        sums = {size: sum_s(size, numbers) for size in WORKERS if size > 1}
        for size, (best, median) in sums.items():
            print(f"  sum over {size} workers: best {best * 1e3:.2f} ms, median {median * 1e3:.2f} ms")
        costs = replace(costs, hop_s=sums[2][0] / 2)
        print(
            f"  a window {costs.rollout_s * 1e3:.2f} ms, {costs.decisions:.0f} decisions; a decision and pass "
            f"{costs.update_s * 1e6:.2f} us; a hop {costs.hop_s * 1e6:.0f} us"
        )
        print(f"  {'workers':>9}" + "".join(f"{f'{w} windows each':>20}{'tree':>8}" for w in WINDOWS_EACH))
        for workers in MODELLED:
            shares = "".join(
                f"{costs.efficiency(w, workers):>20.2f}{costs.efficiency(w, workers, tree=True):>8.2f}"
                for w in WINDOWS_EACH
            )
            print(f"  {workers:>9,}{shares}")
        check(costs, sums[4], options_of(baseline), epochs)


def check(costs: Costs, sum_of_four: tuple[float, float], options: PPOOptions, epochs: int) -> None:
    """Prints the model beside what is measured. The hop is that of two workers, so their sums agree anyway, and their epochs may not.

    The model gives each worker a core of its own. What two cores lack of that is seen in two trainings of one worker beside each other,
    which send nothing. Four workers on two cores wait for each other, so that their sums say no more than a bound.
    """
    best, median = sum_of_four
    print(
        f"  sum over 4 workers: model {costs.message_s(4) * 1e3:.2f} ms, measured {best * 1e3:.2f} to {median * 1e3:.2f} ms"
    )
    print(f"  {'an epoch':<20}{'model':>9}{'alone':>9}{'beside':>9}{'of two':>9}{'efficiency':>12}{'model':>8}")
    for windows in CHECKED_WINDOWS:
        one, two = (_task_with_steps(options, windows, workers, epochs) for workers in (1, 2))
        alone = trained(one).epoch_s
        with ThreadPoolExecutor(2) as pool:
            beside = float(np.mean([clock.epoch_s for clock in pool.map(trained, (one, one))]))
        together = trained(two).epoch_s
        seconds = "".join(f"{each:>7.2f} s" for each in (costs.epoch_s(windows, 1), alone, beside, together))
        print(
            f"  {f'{windows} windows each':<20}{seconds}{beside / together:>12.2f}{costs.efficiency(windows, 2):>8.2f}"
        )


def _task_with_steps(options: PPOOptions, windows: int, workers: int, epochs: int) -> WorkerTask:
    """So many windows for each worker, and as many steps as the options have for theirs."""
    trajectories = windows * workers
    minibatch = options.minibatch * trajectories // options.trajectories
    asked = {"epochs": epochs, "trajectories": trajectories, "minibatch": minibatch}
    return task_of(options.model_copy(update=asked), WorkerOptions(workers=workers))


PARTS: dict[str, Callable[[int], None]] = {
    "speed": speed,
    "straggler": straggler,
    "recovery": recovery,
    "model": model,
}


def main() -> None:
    launching.EPOCH_POLL_S = 0.005
    names = [name for name in sys.argv[1:] if not name.isdigit()] or list(PARTS)
    epochs = next((int(name) for name in sys.argv[1:] if name.isdigit()), 8)
    for name in names:
        PARTS[name](epochs)


if __name__ == "__main__":
    main()
