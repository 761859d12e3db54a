"""Networks that see the whole queue at once, trained by the same PPO: what RLScheduler's kernel network is compared with.

Zhang et al. 2020, Table IV and figure 8: three perceptrons and LeNet. The engine cannot run them itself; it is stepped, all
windows side by side, and torch chooses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.options import PPOOptions
from models.scheduling.ppo import Learner
from simulator.batch import Batch
from simulator.network import KernelWeights
from simulator.observation import LAYOUTS, blank_network
from simulator.trajectories import Trajectories

FloatArray = NDArray[np.float64]


class DenseLearner(Learner):
    """A learner whose policy is one of models.scheduling.networks.NETWORKS other than the kernel network."""

    def __init__(self, arena: Arena, options: PPOOptions, seed: int, network: str) -> None:
        import torch

        from models.scheduling.networks import new_network

        if arena.rules != "standard":
            raise ValueError(f"the network {network} can be trained under the standard rules only")
        super().__init__(arena, options, seed, None)
        self.kind = network
        torch.manual_seed(seed)
        self.network = new_network(network, len(LAYOUTS[options.layout].inputs))
        self._policy_steps = torch.optim.Adam(self.network.parameters(), lr=options.policy_rate, fused=True)

    def weights(self) -> KernelWeights:
        """Nobody deploys these networks: the curve is what counts, and no weights are kept."""
        return blank_network(self.layout)

    def collect(self, windows: Windows, seed: int) -> Trajectories:
        return self._play(windows, np.random.default_rng(seed))

    def validate(self, windows: Windows) -> FloatArray:
        return self.arena.costs_of(windows, self._play(windows, None).start)

    def _play(self, windows: Windows, rng: np.random.Generator | None) -> Trajectories:
        """Replays all windows side by side; choices are drawn with `rng`, or the best are taken."""
        import torch

        arena = self.arena
        batch = Batch(
            arena.jobs, arena.cluster_procs, windows.jobs, len(windows), arena.backfill, layout=self.layout,
            threads=arena.threads,
        )  # fmt: skip
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
            np.zeros((0, inputs), dtype=np.float32), none, none, none, np.zeros(0, dtype=np.float32), first, start
        )
    episode, num_rows = np.concatenate(episodes), np.concatenate(sizes).astype(np.int64)
    first_row = np.concatenate(([0], np.cumsum(num_rows)[:-1]))
    order = np.argsort(episode, kind="stable")
    count = np.bincount(episode, minlength=len(start))
    return Trajectories(
        np.concatenate(rows).astype(np.float32), first_row[order], num_rows[order],
        np.concatenate(choices).astype(np.int64)[order], np.concatenate(log_probs).astype(np.float32)[order],
        np.concatenate(([0], np.cumsum(count))), start,
    )  # fmt: skip
