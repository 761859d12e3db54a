"""Search for a priority key: what a learned policy has to beat to be worth deploying.

The family is  submit + c * estimate^a * procs^b,  lowest first. The order is known at submission, so that the fast engine
tries thousands of keys a second. c weighs what a job asks for against its wait, since submit - now is minus the wait.
c = 0 is FCFS. A very large c with a = 1 is SJF where b = 0, and smallest area first where b = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.options import KeySearchOptions
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy
from simulator.policies.scoring import FIXED

FloatArray = NDArray[np.float64]

LOG_C, EXPONENT = (-4.0, 8.0), (0.0, 2.0)
"""Ranges of log10(c) and of the exponents that random search draws from."""
LARGEST_LOG_TERM = 700.0
"""Logarithm of the largest term: CMA-ES leaves the ranges, and e^710 is infinite."""


@dataclass(frozen=True)
class PriorityKey:
    """submit + 10^log_c * estimate^a * procs^b, lowest first"""

    log_c: float
    a: float
    b: float

    @property
    def formula(self) -> str:
        """As `tracehouse replay --policy` takes it; there the highest value goes first."""
        return f"formula:-(submit + {10**self.log_c:.6g}*estimate**{self.a:.6g}*procs**{self.b:.6g})"

    def scores(self, jobs: Jobs) -> FloatArray:
        """Lowest first, float64 (num_jobs,)."""
        size = self.a * np.log(jobs.estimate) + self.b * np.log(jobs.procs)
        return (jobs.submit - jobs.origin) + 10**self.log_c * np.exp(
            np.minimum(size, LARGEST_LOG_TERM - self.log_c * np.log(10))
        )

    @property
    def policy(self) -> Policy:
        """The key as the engine takes it."""
        return Policy(self.formula, FIXED, lambda jobs, cluster_procs: self.scores(jobs))


@dataclass(frozen=True)
class KeySearch:
    """best: by the mean cost on the windows; cost: that mean."""

    best: PriorityKey
    cost: float
    tried: FloatArray  # log_c, a, b and cost of every key in the order tried, (keys, 4)


def search_key(
    arena: Arena,
    windows: Windows,
    options: KeySearchOptions,
    seed: int,
    on_key: Callable[[], None] = lambda: None,
) -> KeySearch:
    """Random search, then CMA-ES (Hansen and Ostermeier 2001) from the best of those keys. Same arguments, same key."""
    import cma

    rng = np.random.default_rng(seed)
    tried: list[tuple[float, float, float, float]] = []

    def cost(x: FloatArray) -> float:
        key = PriorityKey(float(x[0]), float(x[1]), float(x[2]))
        tried.append((key.log_c, key.a, key.b, float(arena.costs(key.policy, windows).mean())))
        on_key()
        return tried[-1][3]

    low, high = np.array([LOG_C[0], EXPONENT[0], EXPONENT[0]]), np.array([LOG_C[1], EXPONENT[1], EXPONENT[1]])
    for x in rng.uniform(low, high, (options.random_keys, 3)):
        cost(x)
    start = np.array(min(tried, key=lambda row: row[3])[:3])
    if options.steps:
        search = cma.CMAEvolutionStrategy(
            start, 0.2, {"CMA_stds": (high - low) / 2, "seed": seed + 1, "maxfevals": options.steps, "verbose": -9}
        )
        while not search.stop():
            keys = search.ask()
            search.tell(keys, [cost(x) for x in keys])
    best = min(tried, key=lambda row: row[3])
    return KeySearch(PriorityKey(*best[:3]), best[3], np.array(tried))
