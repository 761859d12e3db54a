"""Proximal policy optimisation of the kernel network (Schulman et al. 2017; RLScheduler, Zhang et al. 2020).

One epoch samples trajectories in the compiled engine, then takes clipped-ratio steps on the recorded decisions until
the KL limit. Storage is ragged: only jobs that were really waiting take part, no padding. A trajectory is one window
of consecutive jobs replayed from an empty cluster; its reward, at the end, is minus its average bounded slowdown
relative to SJF's on the same window, which makes easy and hard windows weigh alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from models.scheduling_policy import kernel_network, to_weights
from simulator.jobs import Jobs
from simulator.metrics import bounded_slowdown
from simulator.network import NUM_FEATURES, KernelWeights
from simulator.replay import Trajectories, replay, sample_trajectories
from simulator.schedule import Schedule

if TYPE_CHECKING:
    import torch


class PPOOptions(BaseModel):
    """Hyper-parameters; every field says what it is."""

    epochs: int = Field(default=25, ge=1, description="Epochs of sampling and updating")
    filtered_epochs: int = Field(
        default=10, ge=0, description="First epochs, on windows inside the filter's range only"
    )
    trajectories: int = Field(default=120, ge=1, description="Windows sampled an epoch")
    passes: int = Field(default=3, ge=1, description="Passes over an epoch's decisions")
    minibatch: int = Field(default=2048, ge=1, description="Decisions in a gradient step")
    clip: float = Field(default=0.2, gt=0, description="Clip range of the probability ratio")
    kl_limit: float = Field(default=0.02, gt=0, description="Approximate KL at which an epoch's policy steps stop")
    gae_lambda: float = Field(default=1.0, ge=0, le=1, description="Lambda of the advantage estimate; gamma is 1")
    policy_rate: float = Field(default=1e-2, gt=0, description="Adam learning rate of the policy")
    value_rate: float = Field(default=1e-3, gt=0, description="Adam learning rate of the critic")


@dataclass(frozen=True)
class EpochReport:
    """One row of the training curve; see sql/policies/training_curve.sql for units."""

    epoch: int
    phase: str
    decisions: int
    sampled_bounded_slowdown: float
    validation_bounded_slowdown: float
    approx_kl: float
    entropy: float
    updates: int


@dataclass(frozen=True)
class TrainedPolicy:
    """weights: of the best epoch by the validation windows; curve: one report per epoch."""

    weights: KernelWeights
    best_epoch: int
    validation_bounded_slowdown: float
    curve: list[EpochReport]
    parameters: dict[str, Any]


def train(
    jobs: Jobs,
    cluster_procs: int,
    all_windows: NDArray[np.int64],
    filtered_windows: NDArray[np.int64],
    validation: list[Jobs],
    window_jobs: int,
    options: PPOOptions,
    seed: int,
    on_epoch: Callable[[EpochReport], None] = lambda report: None,
) -> TrainedPolicy:
    """Trains one policy with EASY backfilling and the jobs' estimates.

    all_windows, filtered_windows: first positions of the windows to sample from, int64; an empty filter falls back
    to all windows. window_jobs: consecutive jobs in each. validation: windows to choose the epoch by.
    Same arguments and seed, same weights (one thread).
    Raises ValueError when training diverges.
    """
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    network = kernel_network()
    critic = _Critic()
    policy_steps = torch.optim.Adam(network.parameters(), lr=options.policy_rate)
    value_steps = torch.optim.Adam(critic.parameters(), lr=options.value_rate)
    sjf: dict[int, float] = {}  # SJF's score by window, replayed once
    curve: list[EpochReport] = []
    best = (np.inf, 0, to_weights(network))

    for epoch in range(1, options.epochs + 1):
        filtered = epoch <= options.filtered_epochs and len(filtered_windows) > 0
        first = rng.choice(filtered_windows if filtered else all_windows, size=options.trajectories)
        windows = [jobs.window(int(position), window_jobs) for position in first]
        found = sample_trajectories(windows, cluster_procs, to_weights(network), seed=int(rng.integers(2**31)))
        slowdowns = np.array([_average(w, s) for w, s in zip(windows, found.schedules, strict=True)])
        for position, window in zip(first, windows, strict=True):
            if int(position) not in sjf:
                sjf[int(position)] = _average(window, replay(window, cluster_procs, "SJF"))
        rewards = -slowdowns / np.array([sjf[int(position)] for position in first])
        kl, entropy, updates = _update(network, critic, policy_steps, value_steps, found, rewards, options, rng)
        weights = to_weights(network)
        score = evaluate(weights, validation, cluster_procs)
        if not np.isfinite(score):
            raise ValueError(f"training with seed {seed} diverged in epoch {epoch}: lower policy_rate or kl_limit")
        if score < best[0]:
            best = (score, epoch, weights)
        curve.append(
            EpochReport(
                epoch, "filtered" if filtered else "all", len(found.choice), float(slowdowns.mean()), score,
                kl, entropy, updates,
            )
        )  # fmt: skip
        on_epoch(curve[-1])
    return TrainedPolicy(best[2], best[1], best[0], curve, options.model_dump() | {"seed": seed})


def evaluate(weights: KernelWeights, windows: list[Jobs], cluster_procs: int) -> float:
    """Mean over windows of the average bounded slowdown, taking the best choice every time."""
    return float(np.mean([_average(w, replay(w, cluster_procs, "learned", weights=weights)) for w in windows]))


def _average(jobs: Jobs, schedule: Schedule) -> float:
    return float(bounded_slowdown(schedule.start - jobs.submit, jobs.runtime).mean())


def _Critic() -> torch.nn.Module:
    """(rows, features), segment of each row -> value per decision: a network per job, averaged over the queue."""
    import torch
    from torch import nn

    class Critic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.per_job = nn.Sequential(nn.Linear(NUM_FEATURES, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
            self.per_queue = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

        def forward(self, rows: torch.Tensor, segment: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
            pooled = torch.zeros(len(sizes), 16).index_add(0, segment, self.per_job(rows)) / sizes.unsqueeze(1)
            return self.per_queue(pooled).squeeze(1)

    return Critic()


def _update(
    network: torch.nn.Sequential,
    critic: torch.nn.Module,
    policy_steps: torch.optim.Optimizer,
    value_steps: torch.optim.Optimizer,
    found: Trajectories,
    rewards: NDArray[np.float64],
    options: PPOOptions,
    rng: np.random.Generator,
) -> tuple[float, float, int]:
    """Clipped policy steps until the KL limit, and as many critic steps. Returns (KL, entropy, policy steps)."""
    import torch

    decisions = len(found.choice)
    if decisions == 0:  # the windows left no choice at all
        return 0.0, 0.0, 0
    old_log_prob = torch.from_numpy(found.log_prob)
    with torch.no_grad():
        parts = np.split(np.arange(decisions), range(options.minibatch, decisions, options.minibatch))
        values = torch.cat([critic(*_rows(found, part)[:3]) for part in parts]).numpy()
    advantage, target = _advantages(values, rewards, found.first_decision, options.gae_lambda)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    advantages, targets = torch.from_numpy(advantage), torch.from_numpy(target)
    kl = entropy = 0.0
    updates = 0
    stopped = False
    for _ in range(options.passes):
        order = rng.permutation(decisions)
        for first in range(0, decisions, options.minibatch):
            part = order[first : first + options.minibatch]
            rows, segment, sizes, chosen = _rows(found, part)
            index = torch.from_numpy(part)
            value_loss = ((critic(rows, segment, sizes) - targets[index]) ** 2).mean()
            value_steps.zero_grad()
            value_loss.backward()
            value_steps.step()
            if stopped:
                continue
            log_prob = _log_softmax(network(rows).squeeze(1), segment, len(part))
            log_ratio = log_prob[chosen] - old_log_prob[index]
            ratio = torch.exp(log_ratio)
            kl = float((ratio - 1 - log_ratio).detach().mean())
            entropy = float(-(torch.exp(log_prob) * log_prob).detach().sum() / len(part))
            stopped = kl > options.kl_limit  # the steps so far have gone far enough: take no further one
            if stopped:
                continue
            gain = torch.minimum(
                ratio * advantages[index], torch.clamp(ratio, 1 - options.clip, 1 + options.clip) * advantages[index]
            )
            policy_steps.zero_grad()
            (-gain.mean()).backward()
            policy_steps.step()
            updates += 1
    return kl, entropy, updates


def _rows(
    found: Trajectories, decisions: NDArray[np.int64]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(features (rows, NUM_FEATURES), decision of each row (rows,), rows of each decision, row chosen in each)."""
    import torch

    sizes = found.num_rows[decisions]
    ends = np.cumsum(sizes)
    segment = np.repeat(np.arange(len(decisions)), sizes)
    index = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes) + np.repeat(found.first_row[decisions], sizes)
    return (
        torch.from_numpy(found.features[index]),
        torch.from_numpy(segment),
        torch.from_numpy(sizes.astype(np.float32)),
        torch.from_numpy(ends - sizes + found.choice[decisions]),
    )


def _log_softmax(scores: torch.Tensor, segment: torch.Tensor, decisions: int) -> torch.Tensor:
    """Log-softmax of (rows,) scores within each decision's rows."""
    import torch

    top = torch.full((decisions,), -torch.inf).scatter_reduce(0, segment, scores.detach(), "amax")
    shifted = scores - top[segment]
    total = torch.zeros(decisions).index_add(0, segment, torch.exp(shifted))
    return shifted - torch.log(total)[segment]


def _advantages(
    values: NDArray[np.float32], rewards: NDArray[np.float64], first_decision: NDArray[np.int64], gae_lambda: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """GAE with gamma 1 and the reward at the end of each trajectory: (advantages, value targets), (decisions,)."""
    advantage = np.empty(len(values), dtype=np.float32)
    target = np.empty(len(values), dtype=np.float32)
    for k, reward in enumerate(rewards):
        begin, end = first_decision[k], first_decision[k + 1]
        target[begin:end] = reward
        running, following = 0.0, float(reward)
        for d in range(end - 1, begin - 1, -1):
            running = following - float(values[d]) + gae_lambda * running
            following = float(values[d])
            advantage[d] = running
    return advantage, target
