"""Policy and value networks of RLSchert, in torch: (observations) -> (logits of the actions, value)."""

from __future__ import annotations

import torch
from torch import nn

from simulator.rlschert import ACTIONS, HORIZON, KILLABLE, SLOTS
from simulator.rlschert_view import FACTS, IMAGE_COLUMNS_BESIDE


class Facts(nn.Module):
    """Two layers of 64 over the facts of `simulator.rlschert_view.look`, (sequences, FACTS); the value has two of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.policy = nn.Sequential(
            nn.Linear(FACTS, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), _small(nn.Linear(64, ACTIONS))
        )
        self.value = nn.Sequential(nn.Linear(FACTS, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.policy(seen), self.value(seen).squeeze(-1)


class Image(nn.Module):
    """The paper's: two layers of 64 over the state image, or (convolutions) 16 kernels in each of two layers before them."""

    def __init__(self, procs: int, convolutions: bool) -> None:
        super().__init__()
        width = procs + IMAGE_COLUMNS_BESIDE
        if convolutions:
            below = nn.Sequential(
                nn.Unflatten(1, (1, HORIZON)), nn.Conv2d(1, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 16, 3, stride=2),
                nn.ReLU(), nn.Flatten(1),
            )  # fmt: skip
            inputs = below(torch.zeros(1, HORIZON, width)).shape[1]
        else:
            below, inputs = nn.Sequential(nn.Flatten(1)), HORIZON * width
        self.policy = nn.Sequential(
            below, nn.Linear(inputs, 64, bias=False), nn.ReLU(), nn.Linear(64, 64, bias=False), nn.ReLU()
        )
        self.head = _small(nn.Linear(64, ACTIONS, bias=False))
        self.value = nn.Linear(64, 1)

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.policy(seen)
        return self.head(hidden), self.value(hidden).squeeze(-1)


def new_network(name: str, procs: int) -> nn.Module:
    """One of options.NETWORKS. Raises ValueError for another name."""
    if name == "facts_mlp":
        return Facts()
    if name in ("image_mlp", "image_cnn"):
        return Image(procs, name == "image_cnn")
    raise ValueError(f"unknown network {name!r}; expected facts_mlp, image_mlp or image_cnn")


def without_kills(mask: torch.Tensor) -> torch.Tensor:
    """The mask of actions, (sequences, ACTIONS), for a policy that only selects."""
    kept = mask.clone()
    kept[:, SLOTS : SLOTS + KILLABLE] = False
    return kept


def _small(layer: nn.Linear) -> nn.Linear:
    """Nearly equal chances at first."""
    with torch.no_grad():
        layer.weight *= 0.01
        if layer.bias is not None:
            layer.bias.zero_()
    return layer
