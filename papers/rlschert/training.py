"""RLSchert's training: parallel PPO with an early stop by KL divergence, and imitation of two teachers (Guo et al. 2021,
algorithm 1 and equation 11)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from models.scheduling.learning.adam import Adam
from models.scheduling.learning.checkpoint import Checkpoint, train_epochs
from models.scheduling.learning.choices import clipped_choices
from papers.rlschert.cluster import Setting, SlotCluster, SlotOutcome, cost_of, take_sequences
from papers.rlschert.networks import Facts, Image, new_rlschert_network, without_kills
from papers.rlschert.plan import RLSchertOptions
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
    teacher: RLSchertPolicy | None = None,
    on_iteration: Callable[[IterationReport], None] = lambda report: None,
    checkpoint: Path | None = None,
) -> tuple[RLSchertPolicy, list[IterationReport]]:
    """Trains one policy on sequences drawn from `pool`, and keeps the one with the best validation.

    teacher: the policy whose selections are imitated first, together with the rule that kills. Without one there is no imitation, and the
    policy only selects. What is tried on `validation`, and kept, is an average of the network's weights over the last
    iterations. The same arguments and seed give the same policy. checkpoint: a file that an interrupted training goes on from.
    """
    return _Learner(pool, validation, setting, options, seed, teacher).trained(checkpoint, on_iteration)


class _Learner:
    """What changes from iteration to iteration. best, kept: the least validated cost, and the policy that has it."""

    def __init__(
        self,
        pool: Sequences,
        validation: Sequences,
        setting: Setting,
        options: RLSchertOptions,
        seed: int,
        teacher: RLSchertPolicy | None,
    ) -> None:
        kills = teacher is not None
        torch.set_num_threads(1)
        self._pool, self._validation, self._setting = pool, validation, setting
        self._options, self._teacher, self._seed = options, teacher, seed
        self._rng = np.random.default_rng(seed)
        torch.manual_seed(int(self._rng.integers(2**31)))
        self._policy = RLSchertPolicy(
            new_rlschert_network(options.network, setting.procs, kills), options.network, kills
        )
        self._averaged = AveragedModel(self._policy.network, multi_avg_fn=get_ema_multi_avg_fn(options.averaging))
        self._tried = replace(self._policy, network=cast("Facts | Image", self._averaged.module))
        self._steps = Adam(self._policy.network.parameters(), lr=options.rate, fused=False)
        self.best, self.kept = np.inf, deepcopy(self._tried)
        self.curve: list[IterationReport] = []

    def trained(
        self, checkpoint: Path | None, on_iteration: Callable[[IterationReport], None]
    ) -> tuple[RLSchertPolicy, list[IterationReport]]:
        """The policy that is kept, and the curve, after all iterations. Raises ValueError where no sequence came to its end."""
        options = self._options
        file = Checkpoint(checkpoint, self._training())
        train_epochs(self, options.iterations, file, on_iteration)
        if not np.isfinite(self.best):
            raise ValueError(
                f"no validation sequence reached its end within max_actions ({options.max_actions}): raise it, or take fewer "
                "jobs or a higher job_rate"
            )
        return self.kept, self.curve

    def _training(self) -> str:
        """Which training this is: a hash of all that it depends on."""
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(column).tobytes() for column in self._pool))
        for weights in self._teacher.network.state_dict().values() if self._teacher else ():
            digest.update(weights.numpy().tobytes())
        settings = [asdict(self._setting), self._options.model_dump(), self._seed]
        digest.update(json.dumps(settings, sort_keys=True).encode())
        return digest.hexdigest()

    def begin(self) -> None:
        """Nothing comes before the first iteration."""

    def run_epoch(self, epoch: int) -> IterationReport:
        """Samples sequences, passes over their decisions, and validates where it is time to."""
        options, pool, rng = self._options, self._pool, self._rng
        falling = 1 - 0.9 * (epoch - 1) / options.iterations if options.falling else 1.0
        for group in self._steps.param_groups:
            group["lr"] = options.rate * falling
        few = len(pool.arrive) < options.sequences
        drawn = take_sequences(pool, rng.choice(len(pool.arrive), size=options.sequences, replace=few))
        sampled = _sample(self._policy, drawn, self._setting, options, self._teacher, rng)
        weight = 0.0
        if self._teacher is not None and epoch <= options.teacher_iterations:
            weight = options.teacher_weight * (1 - (epoch - 1) / options.teacher_iterations)
        network = self._policy.network
        kl, entropy = _update(network, self._steps, sampled, options, weight, options.entropy_weight * falling, rng)
        self._averaged.update_parameters(network)
        cost = None
        if epoch % options.validate_every == 0 or epoch == options.iterations:
            outcome = self._tried.run(self._validation, self._setting, options.max_actions)
            cost = float(cost_of(outcome, options.goal).mean())
            if cost < self.best:
                self.best, self.kept = cost, deepcopy(self._tried)
        self.curve.append(IterationReport(epoch, sampled.cost, cost, len(sampled.action), kl, entropy, weight))
        return self.curve[-1]

    def to_state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        networks = {"now": self._policy.network, "averaged": self._averaged, "kept": self.kept.network}
        return {
            "networks": {name: network.state_dict() for name, network in networks.items()},
            "steps": self._steps.state_dict(),
            "draws": json.dumps(self._rng.bit_generator.state),
            "best": self.best,
            "curve": [asdict(report) for report in self.curve],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        networks = {"now": self._policy.network, "averaged": self._averaged, "kept": self.kept.network}
        for name, network in networks.items():
            network.load_state_dict(state["networks"][name])
        self._steps.load_state_dict(state["steps"])
        self._rng.bit_generator.state = json.loads(state["draws"])
        self.best = state["best"]
        self.curve = [IterationReport(**report) for report in state["curve"]]


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
        if not options.critic_sees_future:
            future[:] = 0.0
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
    """Passes over the decisions. Returns the KL divergence and the entropy of the last pass, or of what there was of it."""
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
            if options.largest_gradient:
                torch.nn.utils.clip_grad_norm_(network.parameters(), options.largest_gradient)
            steps.step()
            moved.append(divergence.item())
            entropies.append(entropy.item())
            if options.stop_each == "minibatch" and divergence.item() > 1.5 * options.kl_target:
                return float(np.mean(moved)), float(np.mean(entropies))
        kl, entropy_now = float(np.mean(moved)), float(np.mean(entropies))
        if options.stop_each == "pass" and kl > 1.5 * options.kl_target and weight == 0:  # imitation should move it far
            break
    return kl, entropy_now
