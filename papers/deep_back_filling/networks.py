"""Actor and critic of Deep Back-Filling, in torch: two dense networks over the same flat observation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn


class ActorCritic(nn.Module):
    """Two networks that share nothing. (decisions, inputs) -> logits (decisions, actions) and values (decisions,)."""

    def __init__(self, inputs: int, actions: int, hidden: tuple[int, ...]) -> None:
        """hidden: units of each hidden layer; between layers is tanh."""
        super().__init__()
        self.actor = _dense(inputs, hidden, actions)
        self.critic = _dense(inputs, hidden, 1)
        last = self.actor[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():  # nearly equal chances at first
            last.weight *= 0.01
            last.bias.zero_()

    def forward(self, seen: torch.Tensor, half: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values, float32. half: the hidden layers are multiplied in bfloat16, the last ones always in float32."""
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            decided, valued = self.actor[:-1](seen), self.critic[:-1](seen)
        return self.actor[-1](decided.float()), self.critic[-1](valued.float()).squeeze(-1)


def layers_of(actor: nn.Module) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]:
    """Of each layer of an actor the weights (outputs, inputs) and the biases (outputs,)."""
    layers = (layer for layer in actor.modules() if isinstance(layer, nn.Linear))
    return tuple((layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy()) for layer in layers)


def actor_of(layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> nn.Module:
    """The inverse of `layers_of`."""
    units = [weights.shape[0] for weights, _ in layers]
    actor = _dense(layers[0][0].shape[1], tuple(units[:-1]), units[-1])
    with torch.no_grad():
        for layer, (weights, biases) in zip(
            (each for each in actor if isinstance(each, nn.Linear)), layers, strict=True
        ):
            layer.weight.copy_(torch.from_numpy(weights))
            layer.bias.copy_(torch.from_numpy(biases))
    return actor


def _dense(inputs: int, hidden: tuple[int, ...], outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for units in hidden:
        layers += [nn.Linear(inputs, units), nn.Tanh()]
        inputs = units
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))
