"""RLSchert's training: parallel PPO with an early stop by KL divergence, and imitation of two teachers (Guo et al. 2021,
algorithm 1 and equation 11)."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from models.scheduling.learning.adam import Adam
from models.scheduling.learning.choices import clipped_choices
from papers.rlschert.cluster import Setting, SlotCluster, SlotOutcome, cost_of, take_sequences
from papers.rlschert.networks import Facts, Image, new_rlschert_network, without_kills
from papers.rlschert.options import RLSchertOptions
from papers.rlschert.rules import KILLABLE, SLOTS, Sequences
from papers.rlschert.view import teacher_kills

REWARD_SCALE = 0.02
"""Rewards are sums over tens of jobs. With this scale, values have a size that networks learn well."""


@dataclass(frozen=True)
class RLSchertPolicy:
    """A trained scheduler. kind: which of options.RLSCHERT_NETWORKS the network is. kills: whether it may kill. If not, these
    actions are masked."""

    network: Facts | Image
    kind: str
    kills: bool

    @property
    def images(self) -> bool:
        """Whether its network reads state images. Otherwise it reads facts."""
        return self.kind.startswith("image")

    def logits(self, seen: NDArray[np.float32], mask: NDArray[np.bool_]) -> torch.Tensor:
        """(sequences, actions), -inf where masked."""
        allowed = torch.from_numpy(mask)
        allowed = allowed if self.kills else without_kills(allowed)
        with torch.no_grad():
            return self.network.act(torch.from_numpy(seen)).masked_fill(~allowed, -torch.inf)

    def run(self, sequences: Sequences, setting: Setting, max_actions: int = 3000) -> SlotOutcome:
        """Its best action every time."""
        cluster = SlotCluster(sequences, setting, self.images)
        cluster.begin()
        for _ in range(max_actions):
            if cluster.over.all():
                break
            cluster.step(self.logits(cluster.seen, cluster.mask).argmax(dim=1).numpy())
        return cluster.outcome()


@dataclass(frozen=True)
class IterationReport:
    """One row of the training curve. sampled, validation: mean cost (slowdown or completion time) of these sequences. validation
    is None where it was not measured. kl: approximate divergence. entropy: nats. teacher_weight: of the imitation loss."""

    iteration: int
    sampled: float
    validation: float | None
    decisions: int
    kl: float
    entropy: float
    teacher_weight: float


def train_rlschert(
    pool: Sequences,
    validation: Sequences,
    setting: Setting,
    options: RLSchertOptions,
    seed: int,
    kills: bool = False,
    teacher: RLSchertPolicy | None = None,
    on_iteration: Callable[[IterationReport], None] = lambda report: None,
) -> tuple[RLSchertPolicy, list[IterationReport]]:
    """Trains one policy on sequences drawn from `pool`, and keeps the one with the best validation.

    kills: whether it may kill. teacher: the policy whose selections are imitated first, together with the rule that kills. Without
    one there is no imitation. What is tried on `validation`, and kept, is an average of the network's weights over the last
    iterations. The same arguments and seed give the same policy.
    """
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    torch.manual_seed(int(rng.integers(2**31)))
    policy = RLSchertPolicy(new_rlschert_network(options.network, setting.procs, kills), options.network, kills)
    averaged = AveragedModel(policy.network, multi_avg_fn=get_ema_multi_avg_fn(options.averaging))
    tried = replace(policy, network=cast("Facts | Image", averaged.module))
    steps = Adam(policy.network.parameters(), lr=options.rate, fused=False)
    best, kept, curve = np.inf, deepcopy(tried), []
    for iteration in range(1, options.iterations + 1):
        falling = 1 - 0.9 * (iteration - 1) / options.iterations
        for group in steps.param_groups:
            group["lr"] = options.rate * falling
        few = len(pool.arrive) < options.sequences
        drawn = take_sequences(pool, rng.choice(len(pool.arrive), size=options.sequences, replace=few))
        sampled = _sample(policy, drawn, setting, options, teacher, rng)
        weight = 0.0
        if teacher is not None and iteration <= options.teacher_iterations:
            weight = options.teacher_weight * (1 - (iteration - 1) / options.teacher_iterations)
        kl, entropy = _update(policy.network, steps, sampled, options, weight, options.entropy_weight * falling, rng)
        averaged.update_parameters(policy.network)
        cost = None
        if iteration % options.validate_every == 0 or iteration == options.iterations:
            cost = float(cost_of(tried.run(validation, setting, options.max_actions), options.goal).mean())
            if cost < best:
                best, kept = cost, deepcopy(tried)
        report = IterationReport(iteration, sampled.cost, cost, len(sampled.action), kl, entropy, weight)
        curve.append(report)
        on_iteration(report)
    if not np.isfinite(best):
        raise ValueError(
            f"no validation sequence reached its end within max_actions ({options.max_actions}): raise it, or take fewer jobs or "
            "a higher job_rate"
        )
    return kept, curve


@dataclass(frozen=True)
class _Sampled:
    """Decisions of one iteration, sequence by sequence. cost: mean of the sequences."""

    seen: torch.Tensor  # (decisions, ...) facts or state images
    future: torch.Tensor  # (decisions, FUTURE)
    mask: torch.Tensor  # (decisions, ACTIONS)
    action: torch.Tensor  # (decisions,)
    log_prob: torch.Tensor  # (decisions,)
    advantage: torch.Tensor  # (decisions,)
    target: torch.Tensor  # (decisions,) of the value
    teacher: torch.Tensor  # (decisions,) the teacher's action
    cost: float


def _sample(
    policy: RLSchertPolicy,
    sequences: Sequences,
    setting: Setting,
    options: RLSchertOptions,
    teacher: RLSchertPolicy | None,
    rng: np.random.Generator,
) -> _Sampled:
    cluster = SlotCluster(sequences, setting, policy.images)
    cluster.begin()
    columns: dict[str, list[Any]] = {
        k: [] for k in ("seen", "future", "mask", "action", "log_prob", "value", "reward", "time", "live", "teacher")
    }
    for _ in range(options.max_actions):
        live = ~cluster.over
        if not live.any():
            break
        seen, mask, future = cluster.seen.copy(), cluster.mask.copy(), cluster.future()
        if not policy.kills:
            mask[:, SLOTS : SLOTS + KILLABLE] = False
        with torch.no_grad():
            logits, value = policy.network(torch.from_numpy(seen), torch.from_numpy(future))
        log_probs = torch.log_softmax(logits.masked_fill(~torch.from_numpy(mask), -torch.inf), dim=1).numpy()
        noise = rng.gumbel(size=log_probs.shape)
        action = np.where(mask, log_probs + noise, -np.inf).argmax(axis=1)
        columns["seen"].append(seen)
        columns["future"].append(future)
        columns["mask"].append(mask)
        columns["live"].append(live)
        columns["action"].append(action)
        columns["log_prob"].append(np.take_along_axis(log_probs, action[:, None], axis=1)[:, 0])
        columns["value"].append(value.numpy())
        if teacher is not None:
            columns["teacher"].append(_shown_actions(teacher, cluster, policy.kills))
        before = cluster.state.now.copy()
        columns["reward"].append(cluster.step(action) * REWARD_SCALE)
        columns["time"].append(cluster.state.now - before)
    cost = float(np.mean(cost_of_unfinished(cluster, options.goal)))
    stacked = {name: np.stack(values) for name, values in columns.items() if values}  # (steps, sequences, ...)
    advantage, target = _advantages(stacked, ~cluster.over, options)
    live = stacked["live"].T
    flat = {name: torch.from_numpy(np.ascontiguousarray(np.swapaxes(v, 0, 1)[live])) for name, v in stacked.items()}
    shown_actions = flat.get("teacher", flat["action"])
    return _Sampled(
        flat["seen"],
        flat["future"],
        flat["mask"],
        flat["action"],
        flat["log_prob"].float(),
        torch.from_numpy(advantage.T[live]).float(),
        torch.from_numpy(target.T[live]).float(),
        shown_actions,
        cost,
    )


def _shown_actions(teacher: RLSchertPolicy, cluster: SlotCluster, kills: bool) -> NDArray[np.int64]:
    """What the teachers would do in each sequence, (sequences,): the rule kills, the policy selects."""
    shown = teacher.logits(cluster.seen, cluster.mask).argmax(dim=1).numpy()
    if not kills:
        return shown
    killing = np.zeros((len(cluster.over), KILLABLE), dtype=np.bool_)
    teacher_kills(cluster.sequences, cluster.setting.rules(), cluster.state, cluster.over, killing)
    return np.where(killing.any(axis=1), SLOTS + killing.argmax(axis=1), shown)


def cost_of_unfinished(cluster: SlotCluster, goal: str) -> NDArray[np.float64]:
    """As `cost_of`, but in a sequence that was cut off, jobs count as if they ended now."""
    outcome, now = cluster.outcome(), cluster.state.now[:, None]
    finish = np.where(outcome.finish >= 0, outcome.finish, np.maximum(now, outcome.sequences.arrive + 1))
    taken = finish - outcome.sequences.arrive
    return (taken / outcome.sequences.length if goal == "slowdown" else taken).mean(axis=1)


def _advantages(
    columns: dict[str, NDArray[Any]], cut: NDArray[np.bool_], options: RLSchertOptions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """GAE over actions of which only some take time, (steps, sequences). A cut-off sequence continues with its last value."""
    reward, value, live = columns["reward"], columns["value"].astype(np.float64), columns["live"]
    gamma = options.gamma ** columns["time"]
    advantage = np.zeros_like(reward)
    running, following = np.zeros(reward.shape[1]), np.where(cut, value[-1], 0.0)
    for t in range(len(reward) - 1, -1, -1):
        delta = reward[t] + gamma[t] * following - value[t]
        running = np.where(live[t], delta + gamma[t] * options.gae_lambda * running, 0.0)
        advantage[t] = running
        following = np.where(live[t], value[t], 0.0)
    return advantage, advantage + value


def _update(
    network: torch.nn.Module,
    steps: Adam,
    sampled: _Sampled,
    options: RLSchertOptions,
    weight: float,
    entropy_weight: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Passes over the decisions. Returns the KL divergence and the entropy of the last pass."""
    advantage = (sampled.advantage - sampled.advantage.mean()) / (sampled.advantage.std() + 1e-8)
    kl = entropy_now = 0.0
    clip = options.clip if options.algorithm == "ppo" else None
    for _ in range(1 if clip is None else options.passes):
        moved, entropies = [], []
        order = torch.from_numpy(rng.permutation(len(sampled.action)))
        for part in order.split(options.minibatch):
            logits, value = network(sampled.seen[part], sampled.future[part])
            log_probs = torch.log_softmax(logits.masked_fill(~sampled.mask[part], -1e9), dim=1)
            gain, entropy, divergence = clipped_choices(
                log_probs, sampled.action[part], sampled.log_prob[part], advantage[part], clip
            )
            loss = options.value_weight * ((value - sampled.target[part]) ** 2).mean() - gain
            loss = loss - entropy_weight * entropy
            if weight > 0:
                loss = loss - weight * log_probs.gather(1, sampled.teacher[part, None]).clamp(min=-20).mean()
            steps.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            steps.step()
            moved.append(divergence.item())
            entropies.append(entropy.item())
        kl, entropy_now = float(np.mean(moved)), float(np.mean(entropies))
        if kl > 1.5 * options.kl_target and weight == 0:  # imitation should move it far
            break
    return kl, entropy_now
