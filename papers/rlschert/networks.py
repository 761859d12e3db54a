"""Policy and value networks of RLSchert, in torch: (observations, future) -> (logits of the actions, value).

The future, (sequences, FUTURE), is for the value alone, which is used only in training: `act` does without."""

from __future__ import annotations

import torch
from torch import nn

from papers.rlschert.rules import ACTIONS, HORIZON, KILLABLE, SLOTS
from papers.rlschert.view import (
    FUTURE,
    GLOBALS,
    IMAGE_COLUMNS_BESIDE,
    KILL_FACTS,
    PROFILE,
    SIGHT_FACTS,
    SLOT_FACTS,
)

_WIDTH = 16
"""Numbers that stand for one job."""


class Facts(nn.Module):
    """A network over the facts of `papers.rlschert.view.look`, (sequences, SIGHT_FACTS).

    Jobs in slots share one set of weights and running jobs another, as in RLScheduler's kernel network. So what is learned of a
    job in one slot holds for the others. Each job is judged by its own facts and by what is around it: plan, queue, and the mean
    and the largest of both kinds. The value has two dense layers of 64.

    kills: whether it may kill; otherwise the logits of kills are zero, to be masked.
    """

    def __init__(self, kills: bool) -> None:
        super().__init__()
        self.slots, self.places, self.kills = _Kind(SLOT_FACTS), _Kind(KILL_FACTS), kills
        self.around = nn.Sequential(nn.Linear(PROFILE + GLOBALS + 4 * _WIDTH, 64), nn.ReLU())
        self.wait = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), _small(nn.Linear(32, 1)))
        self.value = nn.Sequential(
            nn.Linear(SIGHT_FACTS + FUTURE, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
        )

    def act(self, seen: torch.Tensor) -> torch.Tensor:
        """Logits of the actions, (sequences, ACTIONS)."""
        slots, places, rest = seen.split([SLOTS * SLOT_FACTS, KILLABLE * KILL_FACTS, PROFILE + GLOBALS], dim=1)
        slots = self.slots.embed(slots.unflatten(1, (SLOTS, SLOT_FACTS)))
        places = self.places.embed(places.unflatten(1, (KILLABLE, KILL_FACTS)))
        pooled = [summary for jobs in (slots, places) for summary in (jobs.mean(1), jobs.amax(1))]
        around = self.around(torch.cat([rest, *pooled], dim=1))
        kills = self.places(places, around) if self.kills else seen.new_zeros(len(seen), KILLABLE)
        return torch.cat([self.slots(slots, around), kills, self.wait(around)], dim=1)

    def forward(self, seen: torch.Tensor, future: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits, (sequences, ACTIONS), and values, (sequences,). future: (sequences, FUTURE)."""
        return self.act(seen), self.value(torch.cat([seen, future], dim=1)).squeeze(-1)


class _Kind(nn.Module):
    """Jobs of one kind: their facts, (sequences, jobs, facts), and from these and what is around them a logit each."""

    def __init__(self, facts: int) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(facts, _WIDTH), nn.ReLU())
        self.own, self.around = nn.Linear(_WIDTH, _WIDTH), nn.Linear(64, _WIDTH, bias=False)
        self.logit = _small(nn.Linear(_WIDTH, 1))

    def forward(self, jobs: torch.Tensor, around: torch.Tensor) -> torch.Tensor:
        # two products added, not one of both joined: what is around is multiplied once, not once a job
        return self.logit(torch.relu(self.own(jobs) + self.around(around)[:, None])).squeeze(-1)


class Image(nn.Module):
    """The paper's: two layers of 64 over the state image, or (convolutions) 16 kernels in each of two layers before them."""

    def __init__(self, procs: int, convolutions: bool) -> None:
        super().__init__()
        width = procs + IMAGE_COLUMNS_BESIDE
        if convolutions:
            below = nn.Sequential(
                nn.Unflatten(1, (1, HORIZON)),
                nn.Conv2d(1, 16, 3, stride=2),
                nn.ReLU(),
                nn.Conv2d(16, 16, 3, stride=2),
                nn.ReLU(),
                nn.Flatten(1),
            )
            # a training pass takes 0.6 of the time so
            nn.utils.convert_conv2d_weight_memory_format(below, torch.channels_last)
            inputs = below(torch.zeros(1, HORIZON, width)).shape[1]
        else:
            below, inputs = nn.Sequential(nn.Flatten(1)), HORIZON * width
        self.policy = nn.Sequential(
            below, nn.Linear(inputs, 64, bias=False), nn.ReLU(), nn.Linear(64, 64, bias=False), nn.ReLU()
        )
        self.head = _small(nn.Linear(64, ACTIONS, bias=False))
        self.value = nn.Linear(64 + FUTURE, 1)

    def act(self, seen: torch.Tensor) -> torch.Tensor:
        """Logits of the actions, (sequences, ACTIONS)."""
        return self.head(self.policy(seen))

    def forward(self, seen: torch.Tensor, future: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits, (sequences, ACTIONS), and values, (sequences,). future: (sequences, FUTURE)."""
        hidden = self.policy(seen)
        return self.head(hidden), self.value(torch.cat([hidden, future], dim=1)).squeeze(-1)


def new_rlschert_network(name: str, procs: int, kills: bool) -> Facts | Image:
    """One of options.RLSCHERT_NETWORKS. Raises ValueError for another name."""
    if name == "facts":
        return Facts(kills)
    if name in ("image_mlp", "image_cnn"):
        return Image(procs, name == "image_cnn")
    raise ValueError(f"unknown network {name!r}; expected facts, image_mlp or image_cnn")


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
