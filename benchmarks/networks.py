"""How fast networks replay whole logs: ten untrained ones, of which each waits with other jobs, and one that orders as SAF does.

A network scores every waiting job at every decision, so that its speed follows the length of the queue. Untrained networks let some
jobs wait for very long. What a trained one costs is nearer to the last column. Compilation is not in the figures.
"""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.engine import median_cpu_s
from benchmarks.logs import timed_logs
from models.scheduling.learning.networks import new_policy_network, to_weights
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.policies.network import KernelWeights
from simulator.policies.observation import LAYOUTS, blank_network

SEEDS = range(10)
LAYOUT = LAYOUTS["plain"]


def untrained(seed: int) -> KernelWeights:
    """The weights with which a training begins."""
    torch.manual_seed(seed)
    return to_weights(new_policy_network("kernel", len(LAYOUT.inputs)), LAYOUT)


def like_saf() -> KernelWeights:
    """A network of the same size whose output is minus the area, as it reads it."""
    weights = blank_network(LAYOUT)
    weights.w1[LAYOUT.facts.index("area"), 0] = weights.w2[0, 0] = weights.w3[0, 0] = 1.0
    weights.w4[0] = -1.0
    return weights


def mean_queue(jobs: Jobs, procs: int, weights: KernelWeights) -> float:
    """Waiting jobs at a random moment."""
    wait = replay(jobs, procs, "learned", "easy", weights).start - jobs.submit
    return float(wait.sum() / (jobs.submit[-1] - jobs.submit[0]))


def main() -> None:
    print(
        f"{'jobs per CPU-second, EASY':<30}{'jobs':>9}{'ten untrained: median':>23}{'slowest':>10}{'its queue':>11}{'like SAF':>10}"
    )
    for name, (jobs, procs) in timed_logs().items():
        rates = []
        for seed in SEEDS:
            weights = untrained(seed)
            seconds = median_cpu_s(lambda j=jobs, p=procs, w=weights: replay(j, p, "learned", "easy", w), 1)  # type: ignore[misc]
            rates.append(len(jobs) / seconds)
        slowest = int(np.argmin(rates))
        saf = like_saf()
        seconds = median_cpu_s(lambda j=jobs, p=procs, w=saf: replay(j, p, "learned", "easy", w), 3)  # type: ignore[misc]
        print(
            f"{name:<30}{len(jobs):>9,}{np.median(rates):>23,.0f}{rates[slowest]:>10,.0f}"
            f"{mean_queue(jobs, procs, untrained(slowest)):>11,.0f}{len(jobs) / seconds:>10,.0f}"
        )


if __name__ == "__main__":
    main()
