"""Actor and critic of Deep Back-Filling, in torch: two dense networks over the same flat observation."""

from __future__ import annotations

import torch
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


def _dense(inputs: int, hidden: tuple[int, ...], outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for units in hidden:
        layers += [nn.Linear(inputs, units), nn.Tanh()]
        inputs = units
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))
