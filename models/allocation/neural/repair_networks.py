"""The six networks of Neural Simulated Annealing (Table II), in torch, and their weights as arrays for compiled code."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

RepairNetworkName = Literal["FCN-1", "FCN-2", "FCN-3", "CNN-1", "CNN-2", "CNN-3"]
REPAIR_NETWORKS: tuple[RepairNetworkName, ...] = get_args(RepairNetworkName)

SEEN_NODES = 100
"""Idle nodes that a network sees, and of which it chooses one: q of the paper."""

PRINTED_WEIGHTS: dict[RepairNetworkName, int] = {
    "FCN-1": 42_724,
    "FCN-2": 46_884,
    "FCN-3": 60_804,
    "CNN-1": 37_248,
    "CNN-2": 42_097,
    "CNN-3": 54_641,
}
"""Weights of the actor as Table II prints them. Those of the dense networks belong to five features a node, though the printed
layers have four. Those of the convolutional ones fit neither."""

_HIDDEN: dict[RepairNetworkName, tuple[int, ...]] = {"FCN-1": (64, 64), "FCN-2": (64, 64, 64), "FCN-3": (96, 64)}
_CHANNELS: dict[RepairNetworkName, tuple[int, int]] = {"CNN-1": (4, 4), "CNN-2": (8, 4), "CNN-3": (16, 8)}
_KERNELS, _STRIDES = (10, 5), (1, 2)
_DENSE_UNITS = 256


class RepairActorCritic(nn.Module):
    """Two networks of the same layers that share nothing. The actor has a logit for each seen node, the critic one value."""

    def __init__(self, name: RepairNetworkName, features: int, seen_nodes: int = SEEN_NODES) -> None:
        """features: of a node, 4 in the paper and 5 in its public code."""
        super().__init__()
        self.actor = repair_layers(name, features, seen_nodes, seen_nodes)
        self.critic = repair_layers(name, features, seen_nodes, 1)

    def forward(self, seen: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
        """Log-probabilities, (decisions, seen_nodes).

        seen: (decisions, features, seen_nodes). legal: bool (decisions, seen_nodes); the others get the smallest logit.
        """
        logits = self.actor(seen).masked_fill(~legal, torch.finfo(torch.float32).min)
        return torch.log_softmax(logits, dim=1)

    def values(self, seen: torch.Tensor) -> torch.Tensor:
        """The critic's, (decisions,)."""
        return self.critic(seen).squeeze(-1)


def repair_layers(name: RepairNetworkName, features: int, seen_nodes: int, outputs: int) -> nn.Sequential:
    """One network of Table II: (decisions, features, seen_nodes) -> (decisions, outputs).

    As printed, the convolutional networks have tanh after their first layer only. Raises ValueError for too few nodes.
    """
    layers: list[nn.Module] = []
    if name in _HIDDEN:
        width = features * seen_nodes
        layers.append(nn.Flatten())
        for units in _HIDDEN[name]:
            layers += [nn.Linear(width, units), nn.Tanh()]
            width = units
        return nn.Sequential(*layers, nn.Linear(width, outputs))
    channels, length = features, seen_nodes
    for filters, kernel, stride in zip(_CHANNELS[name], _KERNELS, _STRIDES, strict=True):
        layers += [nn.Conv1d(channels, filters, kernel, stride), nn.Tanh()]
        channels, length = filters, (length - kernel) // stride + 1
        if length < 1:
            raise ValueError(f"{name} needs at least 14 seen nodes for its two convolutions, got {seen_nodes}")
    layers[-1] = nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(channels * length, _DENSE_UNITS), nn.Linear(_DENSE_UNITS, outputs))


def counted_weights(name: RepairNetworkName, features: int, seen_nodes: int = SEEN_NODES) -> int:
    """Weights and biases of the actor. Beside them: PRINTED_WEIGHTS."""
    return sum(weights.numel() for weights in repair_layers(name, features, seen_nodes, seen_nodes).parameters())


class LayerArrays(NamedTuple):
    """Layers of an actor for compiled code.

    shape: int64 (layers, 8): input channels, input length, outputs (channels), output length, kernel, stride, first weight, and
    whether tanh follows. A dense layer has one output of length 1, and a kernel as long as its input. weights: float32, of each
    layer its matrix (outputs, inputs) and its biases.
    """

    shape: NDArray[np.int64]
    weights: NDArray[np.float32]


def layer_arrays(actor: nn.Sequential, features: int, seen_nodes: int = SEEN_NODES) -> LayerArrays:
    """The actor's layers. A dense layer without tanh and the dense one after it become one: their product is the same function."""
    shapes: list[list[int]] = []
    matrices: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    channels, length = features, seen_nodes
    for layer in actor:
        if isinstance(layer, nn.Tanh):
            shapes[-1][6] = 1
        if not isinstance(layer, nn.Linear | nn.Conv1d):
            continue
        matrix = layer.weight.detach().numpy().astype(np.float64).reshape(len(layer.weight), -1)
        assert layer.bias is not None
        bias = layer.bias.detach().numpy().astype(np.float64)
        if isinstance(layer, nn.Linear):
            if shapes and shapes[-1][3] == 1 and not shapes[-1][6]:  # dense, and linear up to here
                below, below_bias = matrices[-1]
                matrices[-1] = matrix @ below, matrix @ below_bias + bias
                shapes[-1][2] = channels = len(matrix)
                continue
            shapes.append([channels, length, len(matrix), 1, length, 1, 0])
        else:
            kernel, stride = layer.kernel_size[0], layer.stride[0]
            shapes.append([channels, length, len(matrix), (length - kernel) // stride + 1, kernel, stride, 0])
        channels, length = shapes[-1][2:4]
        matrices.append((matrix, bias))
    parts = [np.concatenate([matrix.ravel(), bias]).astype(np.float32) for matrix, bias in matrices]
    first = np.concatenate([[0], np.cumsum([len(part) for part in parts])[:-1]])
    columns = [[*shape[:6], int(offset), shape[6]] for shape, offset in zip(shapes, first, strict=True)]
    return LayerArrays(np.array(columns, dtype=np.int64), np.concatenate(parts))
