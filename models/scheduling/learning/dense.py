"""Networks that see the whole queue at once, trained by the same PPO: what RLScheduler's kernel network is compared with.

Zhang et al. 2020, Table IV and figure 8: three perceptrons and LeNet. The engine cannot run them itself. It is stepped, all
windows side by side, and torch chooses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.choices import chunks_of, gather, ppo_gradient
from models.scheduling.learning.ppo import Learner
from models.scheduling.options import PPOOptions
from simulator.agents.batch import Batch
from simulator.agents.trajectories import Trajectories
from simulator.policies.network import KernelWeights
from simulator.policies.observation import blank_network, layout_named

if TYPE_CHECKING:
    import torch

FloatArray = NDArray[np.float64]

MOST_ROWS = 2048
"""Rows in one forward and backward pass, so that all arrays of a pass fit the cache. Gradients add up to those of a step."""


class DenseLearner(Learner):
    """A learner whose policy is one of models.scheduling.learning.networks.POLICY_NETWORKS other than the kernel network."""

    def __init__(self, arena: Arena, options: PPOOptions, seed: int, network: str) -> None:
        import torch

        from models.scheduling.learning.adam import Adam
        from models.scheduling.learning.networks import new_policy_network

        if arena.rules != "standard":
            raise ValueError(f"the network {network} can be trained under the standard rules only")
        super().__init__(arena, options, seed, None)
        self.kind = network
        torch.manual_seed(seed)
        self.network = new_policy_network(network, len(layout_named(options.layout).inputs))
        self._policy_optimiser = Adam(self.network.parameters(), lr=options.policy_rate)

    def weights(self) -> KernelWeights:
        """Zeros. Nobody deploys these networks: the curve is what counts, and no weights are kept."""
        return blank_network(self.layout)

    def collect(self, windows: Windows, seed: int) -> Trajectories:
        """Replays the windows with choices drawn from the network."""
        return self._play(windows, np.random.default_rng(seed))

    def validate(self, windows: Windows) -> FloatArray:
        """What each window costs with the best choice every time, (windows,)."""
        return self.arena.costs_of(windows, self._play(windows, None).start)

    def _policy_step(
        self, trajectories: Trajectories, decisions: NDArray[np.int64], advantage: NDArray[np.float32]
    ) -> tuple[float, float]:
        """Leaves the gradient of the mean loss in the network. Returns mean KL and entropy before the step."""
        import torch

        options = self.options
        self._policy_optimiser.zero_grad()
        kl = entropy = 0.0
        for part in chunks_of(trajectories.num_rows, decisions, MOST_ROWS):
            rows, sizes = rows_of(trajectories, part)
            scores = self.network(rows, sizes)
            gradient = np.empty(len(rows), dtype=np.float32)
            moved, spread, _ = ppo_gradient(
                scores.detach().numpy(),
                trajectories.num_rows[part],
                trajectories.choice[part],
                trajectories.log_prob[part],
                advantage[part],
                options.clip,
                options.entropy_bonus,
                gradient,
            )
            scores.backward(torch.from_numpy(gradient / np.float32(len(decisions))))
            kl, entropy = kl + moved, entropy + spread
        return kl / len(decisions), entropy / len(decisions)

    def _play(self, windows: Windows, rng: np.random.Generator | None) -> Trajectories:
        """Replays all windows side by side; choices are drawn with `rng`, or the best are taken."""
        import torch

        arena = self.arena
        batch = Batch(
            arena.jobs,
            arena.cluster_procs,
            windows.jobs,
            len(windows),
            arena.backfill,
            layout=self.layout,
            threads=arena.threads,
        )
        seen = batch.reset(windows.first)
        episodes, rows, sizes, choices, log_probs = [], [], [], [], []
        while seen.choosing.any():
            active = np.flatnonzero(seen.choosing)
            features, mask = seen.features[active], seen.mask[active]
            with torch.no_grad():
                scores = self.network(torch.from_numpy(features[mask]), torch.from_numpy(mask.sum(axis=1))).numpy()
            spread = np.full(mask.shape, -np.inf)
            spread[mask] = scores
            spread -= spread.max(axis=1, keepdims=True)
            log_prob = spread - np.log(np.exp(spread).sum(axis=1, keepdims=True))
            noisy = log_prob if rng is None else log_prob + rng.gumbel(size=mask.shape)
            choice = noisy.argmax(axis=1)
            episodes.append(active)
            rows.append(features[mask])
            sizes.append(mask.sum(axis=1))
            choices.append(choice)
            log_probs.append(log_prob[np.arange(len(active)), choice])
            action = np.zeros(len(windows), dtype=np.int64)
            action[active] = choice
            seen = batch.step(action)
        return _ragged(batch.start.copy(), episodes, rows, sizes, choices, log_probs, len(self.layout.inputs))


def _ragged(start, episodes, rows, sizes, choices, log_probs, inputs) -> Trajectories:
    """Decisions in the order of stepping -> in the order of windows."""
    if not episodes:
        none = np.zeros(0, dtype=np.int64)
        first = np.zeros(len(start) + 1, dtype=np.int64)
        return Trajectories(
            np.zeros((0, inputs), dtype=np.float32), none, none, none, np.zeros(0, dtype=np.float32), none, first, start
        )
    episode, num_rows = np.concatenate(episodes), np.concatenate(sizes).astype(np.int64)
    first_row = np.concatenate(([0], np.cumsum(num_rows)[:-1]))
    order = np.argsort(episode, kind="stable")
    count = np.bincount(episode, minlength=len(start))
    return Trajectories(
        np.concatenate(rows).astype(np.float32),
        first_row[order],
        num_rows[order],
        np.concatenate(choices).astype(np.int64)[order],
        np.concatenate(log_probs).astype(np.float32)[order],
        np.zeros(len(episode), dtype=np.int64),  # nobody reads the times of these
        np.concatenate(([0], np.cumsum(count))),
        start,
    )


def rows_of(trajectories: Trajectories, decisions: NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
    """Features of the decisions, (rows, inputs), and rows of each decision, (decisions,)."""
    import torch

    sizes = trajectories.num_rows[decisions]
    total = int(sizes.sum())
    first = int(trajectories.first_row[decisions[0]])
    in_one_piece = trajectories.first_row[decisions] == first + np.cumsum(sizes) - sizes
    if in_one_piece.all():
        return torch.from_numpy(trajectories.features[first : first + total]), torch.from_numpy(sizes)
    rows = np.empty((total, trajectories.features.shape[1]), dtype=np.float32)
    gather(trajectories.features, trajectories.first_row, trajectories.num_rows, decisions, rows)
    return torch.from_numpy(rows), torch.from_numpy(sizes)
