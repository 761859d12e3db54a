"""Starts the workers of a training and waits for what they have learned."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from models.scheduling.arena import Arena
from models.scheduling.learning.checkpoint import TrainingProgress, read_checkpoint
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import PopulationOptions, PPOOptions, WorkerOptions
from models.scheduling.workers.decentralised_ppo import Stops, WorkerTask, parameters_of, state_at_first
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.population import Population, trained_population
from models.scheduling.workers.ray_launcher import check_ray
from models.scheduling.workers.task_folder import CHECKPOINT, FAILURE, PROGRESS, write_task
from models.scheduling.workers.worker import die_with_parent, raise_failure
from simulator.policies.network import KernelWeights
from simulator.policies.registry import parse_policy

ENTRY = "pipelines.worker"
"""The module that torchrun starts in each worker process, and that has Ray start them."""
EPOCH_POLL_S = 0.2
"""How often the launching process looks for finished epochs."""
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    "PYTHONSAFEPATH": "1",
}
"""Of torchrun. The third makes it forget the addresses of lost workers (github.com/pytorch/pytorch/issues/135712). With the last, a
folder of the home, such as its warehouse/, is not taken for a package of that name."""
STOP_S = 10
"""How long torchrun, or Ray, may take to end with its workers before it is killed."""
SHUTDOWN_S = 2
"""Seconds that torchrun waits for its workers when it has to end itself. Workers have nothing to save. Where one worker is lost torchrun
waits 30 s for the others, whatever this says, and a suspended worker uses up all of them."""

LOG = "workers.log"
"""The file of the folder with all that workers write."""


class TrainingStopped(RuntimeError):
    """Workers have ended before the training has. The message says what is kept and what to do."""


ReportNew = Callable[[], None]
RunCommand = Callable[[Sequence[str], Path, ReportNew], None]
"""Runs a command that works on a folder, and calls a function from time to time. Raises RuntimeError where it fails."""


def train_on_workers(
    folder: Path,
    task: WorkerTask,
    on_epoch: Callable[[EpochReport], None] = lambda report: None,
    torchrun: str | None = None,
    run_command: RunCommand | None = None,
) -> TrainedPolicy:
    """Trains a policy on the task's workers.

    folder: where the task and its checkpoint are; on many machines, on a file system that all of them have. An interrupted training goes
    on from it. torchrun: the command that starts workers, with its options, for many machines; default, torchrun on this one. Same
    task, same policy, if no worker stops early. Raises ValueError as the training does and for a checkpoint of another one, OSError
    where workers cannot write, and RuntimeError where they are lost more often than they may start again.
    """
    if task.workers.launcher == "ray":
        check_ray()
    if task.workers.backlog_policy is not None:
        parse_policy(task.workers.backlog_policy)  # one that is none, or may not be used here, reaches no other machine
    state_at_first(LoneWorker(), folder / CHECKPOINT, task.fingerprint())  # workers would only find out seconds later
    write_task(folder, task)
    (folder / FAILURE).unlink(missing_ok=True)
    reported = 0

    def report_new() -> None:
        nonlocal reported
        for report in read_progress(folder)[reported:]:
            reported += 1
            on_epoch(report)

    try:
        (run_command or run_here)(command_of(folder, task.workers, torchrun), folder, report_new)
    except RuntimeError:
        raise_failure(folder)
        raise
    report_new()
    raise_failure(folder)
    return result_of(folder, task)


@dataclass(frozen=True)
class OnWorkers:
    """PPO on many workers, as models.scheduling.learning.recipes.learn takes it.

    population: how hyper-parameters are tuned, None for the options as they are. torchrun, run_command: as in `train_on_workers`.
    repeated: `families_done` of an earlier policy's parameters, whose stops are repeated.
    """

    workers: WorkerOptions
    population: PopulationOptions | None = None
    torchrun: str | None = None
    run_command: RunCommand | None = None
    repeated: Stops = field(default_factory=dict)

    def __call__(
        self,
        arena: Arena,
        lessons: Lessons,
        options: PPOOptions,
        seed: int,
        on_epoch: Callable[[EpochReport], None] = lambda report: None,
        checkpoint: Path | None = None,
        start: KernelWeights | None = None,
    ) -> TrainedPolicy:
        """Trains a policy. Raises ValueError, with the remedy, for workers that would have nothing to do, and as `train_on_workers`."""
        families = options.trajectories // options.siblings
        if self.workers.workers > families:
            raise ValueError(
                f"{self.workers.workers} workers share {families} families of windows ({options.trajectories} trajectories of "
                f"{options.siblings} siblings), and some would have nothing to do: replay at least "
                f"{self.workers.workers * options.siblings} trajectories, better {512 * self.workers.workers}"
            )
        task = WorkerTask(arena, lessons, options, seed, start, self.workers, self.repeated, self.population)
        if checkpoint is not None:
            return train_on_workers(task_folder_of(checkpoint), task, on_epoch, self.torchrun, self.run_command)
        folder = Path(tempfile.mkdtemp(prefix="workers-"))  # stays where training stops, so that its log can be read
        policy = train_on_workers(folder, task, on_epoch, self.torchrun, self.run_command)
        shutil.rmtree(folder)
        return policy


def task_folder_of(checkpoint: Path) -> Path:
    """The folder of workers in place of a checkpoint file."""
    return checkpoint.with_name(f"{checkpoint.name}.workers")


def forget(checkpoint: Path) -> None:
    """Removes what a finished training was continued from, whoever trained."""
    checkpoint.unlink(missing_ok=True)
    shutil.rmtree(task_folder_of(checkpoint), ignore_errors=True)


def command_of(folder: Path, options: WorkerOptions, torchrun: str | None = None) -> list[str]:
    """What starts the workers: torchrun, on this machine or as given, or Ray."""
    if options.launcher == "ray":
        launcher = [sys.executable]
    elif torchrun is not None:
        launcher = shlex.split(torchrun)
    else:
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--shutdown-timeout={SHUTDOWN_S}"]
        launcher += [f"--nproc-per-node={options.workers}", f"--max-restarts={options.restarts}"]
    return [*launcher, "-m", ENTRY, str(folder)]


def run_here(
    command: Sequence[str], folder: Path, each_time: ReportNew, environment: Mapping[str, str] | None = None
) -> None:
    """Runs the command as a child that ends with this process. environment: variables besides those of this process. Raises
    RuntimeError, with what a worker said last, where it fails."""
    variables = {**ENVIRONMENT, **os.environ, **(environment or {})}
    with (folder / LOG).open("wb") as output:
        child = subprocess.Popen(
            command,
            env=variables,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        try:
            while child.poll() is None:
                each_time()
                time.sleep(EPOCH_POLL_S)
        except BaseException:
            stop(child)
            raise
    if child.returncode:
        raise lost_workers(folder, f"{command[0]} ended with {child.returncode}")


def lost_workers(folder: Path, ended: str) -> TrainingStopped:
    """The error of a command that has failed: what a worker said last, or how it ended."""
    said = re.findall(r"worker \d+: [^;\n]*", (folder / LOG).read_text(errors="replace"))
    return TrainingStopped(
        f"training has stopped, since workers were lost ({said[-1] if said else ended}). Its epochs are kept: the same command goes on "
        f"behind the last one. All that workers wrote is in {folder / LOG}"
    )


def stop(child: subprocess.Popen[bytes]) -> None:
    """Ends torchrun, which ends its workers. The ends of both are waited for."""
    child.terminate()
    try:
        child.wait(timeout=STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def read_progress(folder: Path) -> list[EpochReport]:
    """The reports of all epochs so far, of which the last may still be written."""
    try:
        lines = (folder / PROGRESS).read_text().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return [EpochReport(**json.loads(line)) for line in lines if line.endswith("\n")]


def result_of(folder: Path, task: WorkerTask) -> TrainedPolicy:
    """What the workers have learned. Raises RuntimeError where they have not finished."""
    content = read_checkpoint(folder / CHECKPOINT)
    if content is None or content["training"] != task.fingerprint():
        raise TrainingStopped(f"{folder}: the workers have ended without a policy; see {LOG} there")
    state = content["state"]
    if task.population is not None:
        return trained_population(task, Population.from_state(state))
    return TrainingProgress.from_state(state["progress"]).trained(parameters_of(task, state["stops"]))
