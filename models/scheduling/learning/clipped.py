"""The clipped update in torch (Schulman et al. 2017, equation 7), for networks that differ from paper to paper.

The kernel network has it compiled: models.scheduling.learning.choices.ppo_gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import torch


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
    chosen = log_probs.gather(1, action[:, None]).squeeze(1)
    log_ratio = chosen - old
    ratio = log_ratio.exp()
    gained = chosen * advantage if clip is None else ratio * advantage
    if clip is not None:
        gained = torch.minimum(gained, ratio.clamp(1 - clip, 1 + clip) * advantage)
    entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
    return ClippedChoices(gained.mean(), entropy, (ratio - 1 - log_ratio).mean())
