"""Times the same training with gradients by compiled code, by torch on the processor, and by torch on a GPU where there is one.

`python -m benchmarks.gpu_training [FOLDER] [--epochs N] [--trajectories N]`. FOLDER is that of a training's workers, so that a machine
needs no warehouse for it. Default: windows of Lublin-1. Replays are the processor's in any case. Wall time: the machine should have
nothing else to do.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from models.scheduling.learning.kernel_pass import ClippedLoss
from models.scheduling.learning.training import EpochReport
from models.scheduling.options import PPOOptions
from models.scheduling.workers import decentralised_ppo
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.task_folder import read_task
from models.scheduling.workers.worker_learner import Lesson, WorkerLearner
from simulator.agents.trajectories import Trajectories
from simulator.policies.network import VISIBLE_JOBS

MOST_DECISIONS = 65_536
"""Decisions in one pass of torch, so that a pass of the widest queues takes some 5 GB."""


class RecordedTensors:
    """Trajectories in the memory of a device, and derivatives of the clipped loss there."""

    def __init__(self, trajectories: Trajectories, device: str) -> None:
        def tensor(values: NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(values)).to(device)

        self._features, self._first_row = tensor(trajectories.features), tensor(trajectories.first_row)
        self._num_rows, self._choice = tensor(trajectories.num_rows), tensor(trajectories.choice)
        self._log_prob, self._device = tensor(trajectories.log_prob), device

    def derivatives(
        self, network: torch.nn.Module, decisions: NDArray[np.int64], advantage: NDArray[np.float32], loss: ClippedLoss
    ) -> tuple[NDArray[np.float64], float, float]:
        """The derivatives of the sum over some decisions, float64 (parameters,), and the sums of approximate KL and entropy. network: on
        the device. advantage: of these decisions."""
        network.zero_grad()
        divergence = spread = torch.zeros((), device=self._device)
        for begin in range(0, len(decisions), MOST_DECISIONS):
            part = torch.from_numpy(decisions[begin : begin + MOST_DECISIONS]).to(self._device)
            gain = torch.from_numpy(advantage[begin : begin + MOST_DECISIONS]).to(self._device)
            log_prob = self._log_probs(network, part)
            chosen = log_prob.gather(1, self._choice[part, None]).squeeze(1) - self._log_prob[part]
            ratio = chosen.exp()
            surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - loss.clip, 1 + loss.clip) * gain)
            entropy = -(log_prob.exp() * log_prob.clamp(min=-1e30)).sum()
            (-surrogate.sum() - loss.entropy_bonus * entropy).backward()
            divergence = divergence + (ratio - 1.0 - chosen).detach().sum()
            spread = spread + entropy.detach()
        flat = torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
        return flat.double().cpu().numpy(), float(divergence), float(spread)

    def _log_probs(self, network: torch.nn.Module, decisions: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of the waiting jobs, (decisions, VISIBLE_JOBS), minus infinity where none waits."""
        slot = torch.arange(VISIBLE_JOBS, device=self._device)
        waits = slot < self._num_rows[decisions, None]
        rows = self._features[(self._first_row[decisions, None] + slot)[waits]]
        scores = torch.full(waits.shape, -torch.inf, device=self._device)
        scores[waits] = network(rows, self._num_rows[decisions])
        return scores.log_softmax(dim=1)


class TorchLearner(WorkerLearner):
    """A worker whose policy gradients torch computes on a device. Sums are not exact, so its policies are others."""

    device = "cpu"

    def update_together(self, lesson: Lesson, rng: np.random.Generator) -> tuple[float, float, int]:
        """As in WorkerLearner: the trajectories go to the device once."""
        self._recorded = RecordedTensors(lesson.trajectories, self.device)
        self._twin: Any = type(self.network)(len(self.layout.inputs)).to(self.device)
        return super().update_together(lesson, rng)

    def _derivatives(
        self,
        trajectories: Trajectories,
        windows: NDArray[np.int64],
        advantage: NDArray[np.float32],
        queues: NDArray[np.float32],
        target: NDArray[np.float32],
        stopped: bool,
    ) -> NDArray[np.float64]:
        first = trajectories.first_decision
        decisions = np.concatenate([first[:0], *(np.arange(first[w], first[w + 1]) for w in windows)])
        policy, divergence, spread = np.zeros(self._policy_size), 0.0, 0.0
        if not stopped and len(decisions):
            self._twin.load_state_dict(self.network.state_dict())
            loss = ClippedLoss(self.options.clip, self.options.entropy_bonus)
            policy, divergence, spread = self._recorded.derivatives(self._twin, decisions, advantage[decisions], loss)
        value = self._value_derivatives(first, windows, queues, target)
        vector = np.concatenate([policy, value, [divergence, spread, len(decisions), 0.0]])
        if not np.isfinite(vector).all():
            raise ValueError("training diverged, so that its times say nothing")
        return vector


class EpochCosts(NamedTuple):
    """Means over the epochs of a training without the first, which compiles."""

    epoch_s: float  # wall seconds
    steps_s: float  # of the gradient steps
    decisions: float
    steps: float  # that were taken until the KL limit


def epoch_costs(task: WorkerTask, learner: type[WorkerLearner]) -> EpochCosts:
    """Trains, and says what an epoch costs."""
    reports: list[EpochReport] = []
    ended: list[float] = []
    steps: list[float] = []

    def on_epoch(report: EpochReport) -> None:
        reports.append(report)
        ended.append(time.perf_counter())

    class Timed(learner):  # type: ignore[misc, valid-type]
        def update_together(self, lesson: Lesson, rng: np.random.Generator) -> tuple[float, float, int]:
            began = time.perf_counter()
            answer = super().update_together(lesson, rng)
            steps.append(time.perf_counter() - began)
            return answer  # type: ignore[no-any-return]

    decentralised_ppo.WorkerLearner = Timed  # type: ignore[misc]
    try:
        train_by_ddppo(LoneWorker(), task, on_epoch)
    finally:
        decentralised_ppo.WorkerLearner = WorkerLearner  # type: ignore[misc]
    epoch_s = (ended[-1] - ended[0]) / (len(ended) - 1)
    decisions, taken = (float(np.mean([getattr(r, name) for r in reports[1:]])) for name in ("decisions", "updates"))
    return EpochCosts(epoch_s, float(np.mean(steps[1:])), decisions, taken)


def learners() -> dict[str, type[WorkerLearner]]:
    """By what computes the gradients."""
    rows: dict[str, type[WorkerLearner]] = {"compiled, one thread": WorkerLearner, "torch, one thread": TorchLearner}
    if torch.cuda.is_available():
        rows[f"torch, {torch.cuda.get_device_name()}"] = type("OnGPU", (TorchLearner,), {"device": "cuda"})
    return rows


def task_of_lublin() -> WorkerTask:
    """The training that `python -m benchmarks.workers speed` times."""
    from benchmarks.workers import TRAJECTORIES, task_of

    return task_of(PPOOptions(trajectories=TRAJECTORIES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="of a training's workers; default: windows of Lublin-1")
    parser.add_argument("--epochs", type=int, default=3, help="of each training, at least 2: the first is not counted")
    parser.add_argument("--trajectories", type=int, default=0, help="windows of an epoch; default: the training's")
    given = parser.parse_args()
    task = read_task(given.folder) if given.folder else task_of_lublin()
    trajectories = given.trajectories or task.options.trajectories
    if given.epochs < 2 or trajectories < 1 or trajectories % task.options.siblings:
        parser.error(f"expected at least 2 epochs, and windows in multiples of {task.options.siblings}")
    options = task.options.model_copy(update={"epochs": given.epochs, "trajectories": trajectories})
    task = replace(task, options=options, population=None)
    if not torch.cuda.is_available():
        print("No GPU is here, so its row is missing.")
    print(
        f"{'gradients by':<40}{'windows':>9}{'decisions':>11}{'steps':>7}{'an epoch':>11}{'its steps':>11}{'rest':>11}"
    )
    for name, learner in learners().items():
        costs = epoch_costs(task, learner)
        seconds = "".join(f"{s:>9.2f} s" for s in (costs.epoch_s, costs.steps_s, costs.epoch_s - costs.steps_s))
        print(f"{name:<40}{trajectories:>9,}{costs.decisions:>11,.0f}{costs.steps:>7.1f}{seconds}", flush=True)


if __name__ == "__main__":
    main()
