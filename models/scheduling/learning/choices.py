"""Losses over recorded choices: with gradients by hand, since torch takes many times longer over ragged segments, and in torch for the
networks of papers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.compiled import compiled

if TYPE_CHECKING:
    import torch


@compiled
def ppo_gradient(scores, num_rows, choice, old_log_prob, advantage, clip, entropy_bonus, gradient):
    """Clipped surrogate loss of some decisions (Schulman et al. 2017, equation 7), to be made small.

    scores: of the decisions' rows, float32 (rows,). num_rows, choice, old_log_prob, advantage: (decisions,). Fills `gradient`,
    float32 (rows,), with the derivative of the *sum* over decisions by each score. Returns the sum of the approximate KL
    divergence r - 1 - log r, the sum of the entropy in nats, and how many decisions were clipped.
    """
    divergence = entropy = 0.0
    clipped = 0
    row = 0
    for d in range(len(num_rows)):
        n = num_rows[d]
        top = scores[row]
        for k in range(row, row + n):
            top = max(top, scores[k])
        total = 0.0
        for k in range(row, row + n):
            gradient[k] = math.exp(scores[k] - top)
            total += gradient[k]
        inner = 0.0  # of p log p
        for k in range(row, row + n):
            gradient[k] /= total
            if gradient[k] > 0.0:
                inner += gradient[k] * math.log(gradient[k])
        chosen = row + choice[d]
        log_ratio = scores[chosen] - top - math.log(total) - old_log_prob[d]
        ratio = math.exp(log_ratio)
        divergence += ratio - 1.0 - log_ratio
        entropy -= inner
        held = (advantage[d] > 0 and ratio > 1 + clip) or (advantage[d] < 0 and ratio < 1 - clip)
        if held:
            clipped += 1
        force = 0.0 if held else advantage[d] * ratio
        for k in range(row, row + n):
            p = gradient[k]
            slope = force * p
            if entropy_bonus > 0.0 and p > 0.0:
                slope += entropy_bonus * p * (math.log(p) - inner)
            gradient[k] = slope
        gradient[chosen] -= force
        row += n
    return divergence, entropy, clipped


class ClippedChoices(NamedTuple):
    """Means over some decisions, to differentiate: what the policy gains, its entropy in nats, and the approximate KL divergence."""

    gain: torch.Tensor
    entropy: torch.Tensor
    kl: torch.Tensor


def clipped_choices(
    log_probs: torch.Tensor, action: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor, clip: float | None
) -> ClippedChoices:
    """The clipped surrogate of recorded decisions, or, where `clip` is None, the plain policy gradient.

    log_probs: of all actions now, (decisions, actions). action: what was chosen. old: its log-probability then. advantage: how much
    better than expected it turned out. All (decisions,).
    """
    import torch

    chosen = log_probs.gather(1, action[:, None]).squeeze(1)
    log_ratio = chosen - old
    ratio = log_ratio.exp()
    gained = chosen * advantage if clip is None else ratio * advantage
    if clip is not None:
        gained = torch.minimum(gained, ratio.clamp(1 - clip, 1 + clip) * advantage)
    entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
    return ClippedChoices(gained.mean(), entropy, (ratio - 1 - log_ratio).mean())


@compiled
def imitation_gradient(scores, num_rows, choice, weight, gradient):
    """Minus the weighted log-probability of the choices. Arguments and `gradient` are those of `ppo_gradient`.

    Returns its sum, and how many of the choices have the largest score.
    """
    loss = 0.0
    hits = 0
    row = 0
    for d in range(len(num_rows)):
        n = num_rows[d]
        best = row
        for k in range(row, row + n):
            if scores[k] > scores[best]:
                best = k
        total = 0.0
        for k in range(row, row + n):
            gradient[k] = math.exp(scores[k] - scores[best])
            total += gradient[k]
        for k in range(row, row + n):
            gradient[k] *= weight[d] / total
        chosen = row + choice[d]
        gradient[chosen] -= weight[d]
        loss += weight[d] * (math.log(total) + scores[best] - scores[chosen])
        hits += best == chosen
        row += n
    return loss, hits


@compiled
def advantages(values, rewards, discount, first_decision, gae_lambda, advantage, target):
    """Generalised advantage estimation (Schulman et al. 2016, equation 16).

    values: float32 (decisions,). rewards: of each decision until the next one, float64 (decisions,). discount: what a reward of the
    next decision counts at this one, float64 (decisions,). first_decision: (trajectories + 1,). Nothing follows the last decision
    of a trajectory. Fills `advantage` and `target`, the discounted rewards from the decision on, float32 (decisions,).
    """
    for k in range(len(first_decision) - 1):
        running = 0.0
        following = 0.0
        to_come = 0.0
        for d in range(first_decision[k + 1] - 1, first_decision[k] - 1, -1):
            running = rewards[d] + discount[d] * following - values[d] + gae_lambda * discount[d] * running
            following = values[d]
            to_come = rewards[d] + discount[d] * to_come
            advantage[d] = running
            target[d] = to_come


def at_the_end(rewards: NDArray[np.float64], first_decision: NDArray[np.int64]) -> NDArray[np.float64]:
    """One reward for each trajectory as rewards of decisions: all of it at the last one. float64 (decisions,)."""
    of_decisions = np.zeros(first_decision[-1])
    ends = first_decision[1:] > first_decision[:-1]
    of_decisions[first_decision[1:][ends] - 1] = np.asarray(rewards)[ends]
    return of_decisions


@compiled
def gather(features, first_row, num_rows, part, rows):
    """Copies the rows of the decisions `part` one after another into `rows`. Returns how many there are."""
    used = 0
    for d in part:
        for k in range(first_row[d], first_row[d] + num_rows[d]):
            for i in range(features.shape[1]):
                rows[used, i] = features[k, i]
            used += 1
    return used


@compiled
def pad(features, first_row, num_rows, queues):
    """Lays each decision's rows side by side into `queues` (decisions, visible jobs * inputs), zero where none waits."""
    inputs = features.shape[1]
    for d in range(len(num_rows)):
        for k in range(num_rows[d]):
            for i in range(inputs):
                queues[d, k * inputs + i] = features[first_row[d] + k, i]


def chunks_of(num_rows: np.ndarray, order: np.ndarray, most_rows: int) -> list[np.ndarray]:
    """`order` (decisions) cut into parts of about `most_rows` rows: what stays in the processor's cache is many times faster."""
    ends = np.cumsum(num_rows[order])
    cuts = np.searchsorted(ends, np.arange(most_rows, int(ends[-1]) if len(ends) else 0, most_rows))
    return [part for part in np.split(order, np.unique(cuts)) if len(part)]
