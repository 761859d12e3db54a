"""Networks that learn to order the queue, in torch: RLScheduler's kernel network, its value network, and its rivals.

Zhang et al. 2020, figures 5 and 6 and Table IV. The engine runs the weights of a kernel network itself
(simulator/policies/network.py). Everything here takes ragged decisions, the waiting jobs of one after those of another, and
returns one number per waiting job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from simulator.policies.network import HIDDEN, VISIBLE_JOBS, KernelWeights
from simulator.policies.observation import Layout, blank_network

POLICY_NETWORKS = ("kernel", "mlp_v1", "mlp_v2", "mlp_v3", "lenet")
_PERCEPTRONS = {"mlp_v1": (128, 128, 128), "mlp_v2": (32, 16, 8), "mlp_v3": (32, 32, 32, 32, 32)}


class Kernel(nn.Module):
    """The same perceptron for every job: (rows, inputs) -> (rows,). The output has no bias, because a softmax ignores it."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.layers = perceptron(inputs, HIDDEN)
        self.layers.append(nn.Linear(HIDDEN[-1], 1, bias=False))
        for layer in self.layers:
            if isinstance(layer, nn.Linear) and layer.bias is not None:
                # with torch's own biases the eight last units of one of the first five networks were zero for every job
                nn.init.constant_(layer.bias, 0.1)

    def forward(self, rows: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        """Scores of ragged decisions, (rows,). rows: (rows, inputs). sizes: rows of each decision, (decisions,)."""
        return self.layers(rows).squeeze(1)


class Padded(nn.Module):
    """A network over all visible jobs at once, zeros where none waits: (rows, inputs) -> (rows,)."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, rows: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        """Scores of ragged decisions, (rows,). rows: (rows, inputs). sizes: rows of each decision, (decisions,)."""
        return self.body(padded(rows, sizes))[valid(sizes)]


class Critic(nn.Module):
    """The value network: hidden layers of these sizes over all visible jobs, or over an inspector's two rows:
    (decisions, slots * inputs) -> (decisions,). Columns at the end that are zero for all decisions may be left out."""

    def __init__(self, inputs: int, slots: int = VISIBLE_JOBS, hidden: Sequence[int] = HIDDEN) -> None:
        super().__init__()
        self.body = perceptron(slots * inputs, hidden)
        self.body.append(nn.Linear(hidden[-1], 1))

    def forward(self, queues: torch.Tensor) -> torch.Tensor:
        """What each decision is worth, (decisions,)."""
        first: Any = self.body[0]
        hidden = nn.functional.linear(queues, first.weight[:, : queues.shape[1]], first.bias)
        return self.body[1:](hidden).squeeze(1)


def perceptron(inputs: int, hidden: Sequence[int]) -> nn.Sequential:
    """Linear layers with ReLU after each."""
    layers: list[nn.Module] = []
    for outputs in hidden:
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        inputs = outputs
    return nn.Sequential(*layers)


def valid(sizes: torch.Tensor) -> torch.Tensor:
    """Where jobs wait: bool (decisions, VISIBLE_JOBS)."""
    return torch.arange(VISIBLE_JOBS) < sizes.unsqueeze(1)


def padded(rows: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """(rows, inputs) -> (decisions, VISIBLE_JOBS, inputs)."""
    whole = torch.zeros(len(sizes), VISIBLE_JOBS, rows.shape[1])
    whole[valid(sizes)] = rows
    return whole


def new_policy_network(name: str, inputs: int) -> nn.Module:
    """One of POLICY_NETWORKS, with torch's usual initial weights. Raises ValueError for another name."""
    if name == "kernel":
        return Kernel(inputs)
    if name in _PERCEPTRONS:
        hidden = _PERCEPTRONS[name]
        layers = perceptron(VISIBLE_JOBS * inputs, hidden)
        return Padded(nn.Sequential(nn.Flatten(1), layers, nn.Linear(hidden[-1], VISIBLE_JOBS)))
    if name == "lenet":  # two convolutions with pooling and three dense layers, over the jobs as an image
        pooled = 16 * (VISIBLE_JOBS // 4) * max(inputs // 4, 1)
        first = (nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2))
        second = (nn.Conv2d(6, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2))
        dense = (nn.Flatten(1), perceptron(pooled, (120, 84)), nn.Linear(84, VISIBLE_JOBS))
        return Padded(nn.Sequential(nn.Unflatten(1, (1, VISIBLE_JOBS)), *first, *second, *dense))
    raise ValueError(f"unknown network {name!r}: expected one of {', '.join(POLICY_NETWORKS)}")


def to_weights(network: nn.Module, layout: Layout) -> KernelWeights:
    """A kernel network's parameters as the engine reads them."""
    parameters = [p.detach().numpy().astype(np.float32) for p in network.parameters()]
    matrices = [np.ascontiguousarray(a.T) if a.ndim == 2 else a.copy() for a in parameters]
    arrays: list[Any] = [*blank_network(layout)[:2], *matrices[:-1], matrices[-1].reshape(-1)]
    return KernelWeights(*arrays)


def load_weights(network: nn.Module, weights: KernelWeights) -> None:
    """The inverse of `to_weights`."""
    arrays: list[Any] = [*weights[2:-1], weights.w4[:, None]]
    with torch.no_grad():
        for parameter, values in zip(network.parameters(), arrays, strict=True):
            parameter.copy_(torch.from_numpy(values.T.copy()))
