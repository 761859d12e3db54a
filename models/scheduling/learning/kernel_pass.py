"""A gradient step's derivatives for the kernel network, compiled. Torch takes more than twice as long for networks this small.

Decisions go through forward pass, loss and backward pass in blocks that fit the cache. All jobs of a block go through one unit
together, as in simulator.policies.network. Arrays are float32. Weights are torch's parameters in their order: (outputs, inputs)
and (outputs,) for each layer, then (1, 8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.compiled import compiled, reordering
from models.scheduling.learning.choices import imitation_gradient, ppo_gradient
from simulator.agents.trajectories import Trajectories
from simulator.policies.network import HIDDEN, VISIBLE_JOBS

if TYPE_CHECKING:
    import torch

BLOCK = 512
"""Rows after which a block is full. The last decision may add VISIBLE_JOBS."""


class RecordedChoices(NamedTuple):
    """What compiled passes read of Trajectories. Decision d chose among num_rows[d] rows, from first_row[d] on."""

    features: NDArray[np.float32]  # (rows, inputs)
    first_row: NDArray[np.int64]  # (decisions,)
    num_rows: NDArray[np.int64]  # (decisions,)
    choice: NDArray[np.int64]  # index within the decision's rows, (decisions,)
    log_prob: NDArray[np.float32]  # of the choice when it was made, (decisions,)


class ClippedLoss(NamedTuple):
    """Settings of the clipped surrogate loss: the clip range of the probability ratio, and the weight of the entropy."""

    clip: float
    entropy_bonus: float


def recorded_choices(trajectories: Trajectories) -> RecordedChoices:
    """The arrays of the trajectories, not copied."""
    return RecordedChoices(*(getattr(trajectories, name) for name in RecordedChoices._fields))


class Gradients:
    """A network's parameters and the derivatives by them as arrays that torch's optimisers share.

    flat: all derivatives one after another, float32 (parameters,), of which `gradients` are the parts.
    """

    def __init__(self, network: torch.nn.Module) -> None:
        import torch

        parameters = list(network.parameters())
        flat, first = torch.zeros(sum(p.numel() for p in parameters)), 0
        for p in parameters:
            p.grad = flat[first : first + p.numel()].view_as(p)
            first += p.numel()
        self.flat: NDArray[np.float32] = flat.numpy()
        self.weights = tuple(p.detach().numpy() for p in parameters)
        self.gradients = tuple(p.grad.numpy() for p in parameters if p.grad is not None)


@compiled
def ppo_pass(recorded, advantage, decisions, loss, weights, gradients):
    """Clipped loss of some decisions (Schulman et al. 2017, equation 7; see choices.ppo_gradient).

    recorded: RecordedChoices. advantage: float32, of all its decisions. decisions: indices of those that count. loss:
    ClippedLoss. Adds the derivatives of the sum over decisions to `gradients`, which have the shapes of the weights. Returns the sums
    of approximate KL and entropy.
    """
    num_rows, choice, log_prob = recorded.num_rows, recorded.choice, recorded.log_prob
    units, slopes, scores, slope = _room(recorded.features.shape[1])
    divergence = entropy = 0.0
    begin = 0
    while begin < len(decisions):
        end, rows = _take(recorded, decisions, begin, units[0])
        part = decisions[begin:end]
        _forward(weights, units, rows, scores)
        moved, spread, _ = ppo_gradient(
            scores,
            num_rows[part],
            choice[part],
            log_prob[part],
            advantage[part],
            loss.clip,
            loss.entropy_bonus,
            slope,
        )
        divergence, entropy = divergence + moved, entropy + spread
        _backward(weights, units, slopes, rows, slope, gradients)
        begin = end
    return divergence, entropy


@compiled
def imitation_pass(recorded, decisions, weights, gradients):
    """Minus the log-probability of some choices (see choices.imitation_gradient). Arguments are those of `ppo_pass`.

    Returns its sum, and how many of the choices the network would make.
    """
    num_rows, choice = recorded.num_rows, recorded.choice
    units, slopes, scores, slope = _room(recorded.features.shape[1])
    loss, hits = 0.0, 0
    begin = 0
    while begin < len(decisions):
        end, rows = _take(recorded, decisions, begin, units[0])
        part = decisions[begin:end]
        _forward(weights, units, rows, scores)
        lost, hit = imitation_gradient(scores, num_rows[part], choice[part], np.ones(len(part)), slope)
        loss, hits = loss + lost, hits + hit
        _backward(weights, units, slopes, rows, slope, gradients)
        begin = end
    return loss, hits


@compiled
def _room(inputs):
    """Outputs of all units, the inputs first, and derivatives by them, (units, rows). Scores and derivatives by them, (rows,)."""
    most = BLOCK + VISIBLE_JOBS
    h1, h2, h3 = HIDDEN
    units = (
        np.empty((inputs, most), dtype=np.float32),
        np.empty((h1, most), dtype=np.float32),
        np.empty((h2, most), dtype=np.float32),
        np.empty((h3, most), dtype=np.float32),
    )
    slopes = (
        np.empty((h1, most), dtype=np.float32),
        np.empty((h2, most), dtype=np.float32),
        np.empty((h3, most), dtype=np.float32),
    )
    return units, slopes, np.empty(most, dtype=np.float32), np.empty(most, dtype=np.float32)


@compiled
def _take(recorded, decisions, begin, columns):
    """Copies decisions from `begin` on, until the block is full, into columns (inputs, rows).

    Returns the next decision and the rows taken.
    """
    features, first_row, num_rows = recorded.features, recorded.first_row, recorded.num_rows
    rows = 0
    d = begin
    while d < len(decisions) and rows < BLOCK:
        first, n = first_row[decisions[d]], num_rows[decisions[d]]
        for i in range(features.shape[1]):
            column = columns[i]
            for k in range(n):
                column[rows + k] = features[first + k, i]
        rows += n
        d += 1
    return d, rows


@compiled
def _forward(weights, units, rows, scores):
    w1, b1, w2, b2, w3, b3, w4 = weights
    columns, hidden1, hidden2, hidden3 = units
    _layer(columns, w1, b1, hidden1, rows)
    _layer(hidden1, w2, b2, hidden2, rows)
    _layer(hidden2, w3, b3, hidden3, rows)
    for k in range(rows):
        scores[k] = 0.0
    _add(hidden3, w4[0], scores, rows)


@compiled
def _backward(weights, units, slopes, rows, slope, gradients):
    """Adds to the gradients. slope: derivative by each score."""
    w2, w3, w4 = weights[2], weights[4], weights[6]
    g1, gb1, g2, gb2, g3, gb3, g4 = gradients
    columns, hidden1, hidden2, hidden3 = units
    d1, d2, d3 = slopes
    zero = np.float32(0.0)
    for i in range(len(hidden3)):
        weight, x, d = w4[0, i], hidden3[i], d3[i]
        for k in range(rows):
            d[k] = slope[k] * weight if x[k] > zero else zero
        g4[0, i] += _dot(x, slope, rows)
    _by_weights(hidden2, d3, g3, gb3, rows)
    _through(w3, d3, hidden2, d2, rows)
    _by_weights(hidden1, d2, g2, gb2, rows)
    _through(w2, d2, hidden1, d1, rows)
    _by_weights(columns, d1, g1, gb1, rows)


@compiled
def _layer(columns, weight, bias, outputs, rows):
    """ReLU(weight @ columns + bias)."""
    half = np.float32(0.5)
    for o in range(len(weight)):
        y = outputs[o]
        for k in range(rows):
            y[k] = bias[o]
        _add(columns, weight[o], y, rows)
        for k in range(rows):
            y[k] = (y[k] + abs(y[k])) * half  # exact, and many at a time, unlike max


@compiled
def _through(weight, d, reached, by_input, rows):
    """weight.T @ d, where the units were reached."""
    outputs, inputs = weight.shape
    column = np.empty(outputs, dtype=np.float32)
    zero = np.float32(0.0)
    for i in range(inputs):
        y, x = by_input[i], reached[i]
        for o in range(outputs):
            column[o] = weight[o, i]
        for k in range(rows):
            y[k] = zero
        _add(d, column, y, rows)
        for k in range(rows):
            y[k] = y[k] if x[k] > zero else zero


@compiled
def _add(columns, weight, y, rows):
    """y += weight @ columns. It takes four inputs at a time: one load and one store for four products."""
    i = 0
    while i + 4 <= len(weight):
        w0, w1, w2, w3 = weight[i], weight[i + 1], weight[i + 2], weight[i + 3]
        x0, x1, x2, x3 = columns[i], columns[i + 1], columns[i + 2], columns[i + 3]
        for k in range(rows):
            y[k] = y[k] + x0[k] * w0 + x1[k] * w1 + x2[k] * w2 + x3[k] * w3
        i += 4
    while i < len(weight):
        w0, x0 = weight[i], columns[i]
        for k in range(rows):
            y[k] = y[k] + x0[k] * w0
        i += 1


@reordering
def _by_weights(columns, d, by_weight, by_bias, rows):
    """Adds d @ columns.T, and the sums of d."""
    inputs = len(columns)
    zero = np.float32(0.0)
    for o in range(len(d)):
        slope = d[o]
        total = zero
        for k in range(rows):
            total += slope[k]
        by_bias[o] += total
        i = 0
        while i + 4 <= inputs:
            x0, x1, x2, x3 = columns[i], columns[i + 1], columns[i + 2], columns[i + 3]
            s0, s1, s2, s3 = zero, zero, zero, zero
            for k in range(rows):
                s0 += x0[k] * slope[k]
                s1 += x1[k] * slope[k]
                s2 += x2[k] * slope[k]
                s3 += x3[k] * slope[k]
            by_weight[o, i] += s0
            by_weight[o, i + 1] += s1
            by_weight[o, i + 2] += s2
            by_weight[o, i + 3] += s3
            i += 4
        while i < inputs:
            by_weight[o, i] += _dot(columns[i], slope, rows)
            i += 1


@reordering
def _dot(x, y, rows):
    total = np.float32(0.0)
    for k in range(rows):
        total += x[k] * y[k]
    return total
