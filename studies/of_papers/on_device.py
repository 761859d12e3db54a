"""RLScheduler's PPO with gradients by torch, on a GPU where there is one: a training of 100 epochs takes two to four minutes there.

Policies differ in their last digits from those of the compiled learner, whose sums have another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from models.scheduling.arena import Arena
from models.scheduling.learning.networks import new_policy_network
from models.scheduling.learning.ppo import Learner
from models.scheduling.options import PPOOptions
from simulator.agents.trajectories import Trajectories
from simulator.policies.network import VISIBLE_JOBS

ROWS_OF_A_PASS = 1_000_000
"""Rows in one pass, so that a process takes some 2 GB of the device's memory."""


class DevicePart(NamedTuple):
    """Some decisions on the device. rows: (rows, inputs). places: theirs among all slots, VISIBLE_JOBS a decision. before: log-probability
    of the choice when it was made. gain: its advantage."""

    rows: torch.Tensor
    places: torch.Tensor
    choice: torch.Tensor
    before: torch.Tensor
    gain: torch.Tensor


class DeviceLearner(Learner):
    """The kernel network and its critic. Each gradient step takes all decisions of the epoch, as `PAPER_PPO` has it."""

    def __init__(self, arena: Arena, options: PPOOptions, seed: int, device: str) -> None:
        """Raises ValueError for options with minibatches, with siblings in place of a critic, or with an entropy bonus."""
        if options.minibatch or options.baseline != "critic" or options.entropy_bonus:
            raise ValueError(
                "on a device RLScheduler's own options are trained: no minibatches, a critic, no entropy bonus"
            )
        super().__init__(arena, options, seed, None)
        assert self.critic is not None
        self.kind, self._device = f"kernel, torch on {device}", device
        self._twin: Any = new_policy_network("kernel", len(self.layout.inputs))
        self._twin.load_state_dict(self.network.state_dict())
        self._twin.to(device), self.critic.to(device)
        self._policy_steps = torch.optim.Adam(self._twin.parameters(), lr=options.policy_rate)
        self._value_steps = torch.optim.Adam(self.critic.parameters(), lr=options.value_rate)

    def update(
        self, trajectories: Trajectories, rewards: NDArray[np.float64], rng: np.random.Generator
    ) -> tuple[float, float, int]:
        """As in Learner: clipped policy steps until the KL limit, and the critic's. Returns (KL, entropy, policy steps)."""
        queues = self.queues_of(trajectories)
        self._queues = self._there(queues)
        advantage, target = self.advantages_of(trajectories, rewards, queues)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        answer = self._policy_passes(trajectories, advantage)
        assert self.critic is not None
        goal = self._there(target)
        for _ in range(self.options.passes):
            self._value_steps.zero_grad()
            ((self.critic(self._queues) - goal) ** 2).mean().backward()
            self._value_steps.step()
        self.network.load_state_dict({name: value.cpu() for name, value in self._twin.state_dict().items()})
        return answer

    def _policy_passes(self, trajectories: Trajectories, advantage: NDArray[np.float32]) -> tuple[float, float, int]:
        parts, decisions = list(self._parts(trajectories, advantage)), trajectories.decisions
        divergence = entropy = 0.0
        for steps in range(self.options.passes):
            self._policy_steps.zero_grad()
            sums = [self._part_pass(part, decisions) for part in parts]
            divergence, entropy = (float(sum(column)) / decisions for column in zip(*sums, strict=True))
            if divergence > self.options.kl_limit:
                return divergence, entropy, steps
            self._policy_steps.step()
        return divergence, entropy, self.options.passes

    def _part_pass(self, part: DevicePart, decisions: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Adds the gradients of the clipped loss of a part. decisions: of all parts. Returns the sums of KL and entropy."""
        scores = torch.full((len(part.choice) * VISIBLE_JOBS,), -torch.inf, device=self._device)
        scores = scores.index_put((part.places,), self._twin.layers(part.rows).squeeze(1)).view(
            len(part.choice), VISIBLE_JOBS
        )
        log_prob = scores.log_softmax(dim=1)
        moved = log_prob.gather(1, part.choice[:, None]).squeeze(1) - part.before
        ratio, clip = moved.exp(), self.options.clip
        (-torch.minimum(ratio * part.gain, ratio.clamp(1 - clip, 1 + clip) * part.gain).sum() / decisions).backward()
        with torch.no_grad():
            spread = -(log_prob.exp() * log_prob.clamp(min=-1e30)).sum()
            return (ratio - 1 - moved).sum(), spread

    def _parts(self, trajectories: Trajectories, advantage: NDArray[np.float32]) -> Iterator[DevicePart]:
        """The decisions in parts of about ROWS_OF_A_PASS rows, on the device."""
        sizes, ends = trajectories.num_rows, np.cumsum(trajectories.num_rows)
        cuts = np.unique(np.searchsorted(ends, np.arange(ROWS_OF_A_PASS, ends[-1], ROWS_OF_A_PASS)) + 1)
        for part in np.split(np.arange(len(sizes)), cuts[cuts < len(sizes)]):
            count = sizes[part]
            within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            yield DevicePart(
                self._there(trajectories.features[np.repeat(trajectories.first_row[part], count) + within]),
                self._there(np.repeat(np.arange(len(part)) * VISIBLE_JOBS, count) + within),
                self._there(trajectories.choice[part]),
                self._there(trajectories.log_prob[part]),
                self._there(advantage[part]),
            )

    def _values(self, queues: NDArray[np.float32], first_decision: NDArray[np.int64]) -> NDArray[np.float32]:
        assert self.critic is not None
        with torch.no_grad():
            values: NDArray[np.float32] = self.critic(self._queues).cpu().numpy()
            return values

    def _there(self, values: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)

    def to_state(self) -> dict[str, Any]:
        """What a checkpoint keeps of networks and optimisers."""
        return {str(k): module.state_dict() for k, module in enumerate(self._modules())}

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        for k, module in enumerate(self._modules()):
            module.load_state_dict(state[str(k)])
        self.network.load_state_dict({name: value.cpu() for name, value in self._twin.state_dict().items()})

    def _modules(self) -> list[Any]:
        return [self._twin, self._policy_steps, self.critic, self._value_steps]
