"""Search for a priority key. A learned policy is worth deploying only if it is better than the best key.

The family is  submit + min(c * estimate^a * procs^b, cap),  lowest first. The order is known at submission, so the fast engine
replays a whole log in a tenth of a second. c weighs the size of a job's request against its wait, since submit - now is minus the wait.
`c = 0` is FCFS. A very large c with `a = 1` is SJF where `b = 0`, and smallest area first where `b = 1`. The cap is a promise: no job
goes before one in the queue that was submitted earlier by more than the cap.

Keys are searched under guards: one whole replay per key, in which long waits, wide jobs and much work may hardly wait longer. Single
users and jobs may. The published protocols search by the mean cost of windows, without a cap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.judging.verdict import MOST_LOST, Ratios, ratios_of
from models.scheduling.arena import Arena, Windows
from models.scheduling.options import KeySearchOptions
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy
from simulator.policies.scoring import FIXED

FloatArray = NDArray[np.float64]

LOG_C, EXPONENT, LOG_CAP_S = (-4.0, 8.0), (0.0, 2.0), (3.0, 6.0)
"""Ranges of log10(c), of the exponents and of log10(cap in seconds, from 17 minutes to 11 days) that random search draws from."""
LARGEST_LOG_TERM = 700.0
"""Logarithm of the largest term. CMA-ES leaves the ranges, and e^710 is infinite."""
SEARCHED_GUARDS = ("p99_wait", "area_wait", "wide_wait")
"""Guards that a search keeps. Of the tail the 99th percentile is enough: a verdict looks at the 95th, too."""
SEARCH_GUARD = 1.05
"""No guard of a key that dominates in the search is above this. It is less than MOST_OF_A_GUARD, since later jobs differ."""
PENALTY = 10.0
"""What exceeding a guard by its e-fold adds to the value of a key."""


@dataclass(frozen=True)
class PriorityKey:
    """submit + min(10^log_c * estimate^a * procs^b, cap_s), lowest first. cap_s: seconds, infinite without a cap."""

    log_c: float
    a: float
    b: float
    cap_s: float = math.inf

    @property
    def formula(self) -> str:
        """In the form that `tracehouse replay --policy` takes, where the highest value goes first."""
        term = f"{10**self.log_c:.6g}*estimate**{self.a:.6g}*procs**{self.b:.6g}"
        return f"formula:-(submit + {term if math.isinf(self.cap_s) else f'min({term}, {self.cap_s:.0f})'})"

    def scores(self, jobs: Jobs) -> FloatArray:
        """Lowest first, float64 (num_jobs,)."""
        size = self.a * np.log(jobs.estimate) + self.b * np.log(jobs.procs)
        term = 10**self.log_c * np.exp(np.minimum(size, LARGEST_LOG_TERM - self.log_c * np.log(10)))
        return (jobs.submit - jobs.origin) + np.minimum(term, self.cap_s)

    @property
    def policy(self) -> Policy:
        """The key in the form that the engine takes."""
        return Policy(self.formula, FIXED, lambda jobs, cluster_procs: self.scores(jobs))


@dataclass(frozen=True)
class KeySearch:
    """best: the key of the least value. value: the mean cost on windows, or `guarded_value`."""

    best: PriorityKey
    value: float
    tried: FloatArray  # log_c, a, b, (log10 of the cap,) and value of every key in the order tried, (keys, 4 or 5)


def search_key(arena: Arena, windows: Windows, options: KeySearchOptions, seed: int) -> KeySearch:
    """The key without a cap that has the least mean cost on windows. The same arguments give the same key."""
    return _search(lambda key: float(arena.costs(key.policy, windows).mean()), False, options, seed)


def search_guarded_key(
    arena: Arena,
    scored: range,
    options: KeySearchOptions,
    seed: int,
    on_key: Callable[[], None] = lambda: None,
) -> KeySearch:
    """The key of the least `guarded_value` against FCFS, over the scored jobs of a replay from the first job to the last of them.

    scored: positions of consecutive jobs. The same arguments give the same key.
    """
    return _search(guarded_values(arena, scored), options.caps, options, seed, on_key)


def guarded_values(arena: Arena, scored: range) -> Callable[[PriorityKey], float]:
    """A function that returns the `guarded_value` of keys against FCFS. scored: as in `search_guarded_key`."""
    fcfs = arena.replayed("FCFS", scored).panel()
    return lambda key: guarded_value(ratios_of(arena.replayed(key.policy, scored).panel(), fcfs))


def searched_jobs(open_jobs: int) -> range:
    """The jobs that score keys, among the first `open_jobs`, which the search may use. The first fifth lets queues form."""
    return range(open_jobs // 5, open_jobs)


def guarded_value(ratios: Ratios) -> float:
    """What a search minimizes: the logarithms of bounded slowdown and wait over FCFS's, plus PENALTY for what others pay.

    The penalty is for the part of a guard above SEARCH_GUARD, of bounded slowdown and wait above 1, and of lost capacity above
    MOST_LOST.
    """
    gains = _log(ratios.bounded_slowdown), _log(ratios.wait)
    paid = [_log(guard) - math.log(SEARCH_GUARD) for guard in _searched(ratios)]
    paid += [*gains, ratios.lost_capacity - MOST_LOST]
    return sum(gains) + PENALTY * sum(max(each, 0.0) for each in paid)


def _search(
    value_of: Callable[[PriorityKey], float],
    caps: bool,
    options: KeySearchOptions,
    seed: int,
    on_key: Callable[[], None] = lambda: None,
) -> KeySearch:
    """Random search, then CMA-ES from the best of those keys."""
    rng = np.random.default_rng(seed)
    tried: list[tuple[float, ...]] = []

    def value(x: FloatArray) -> float:
        tried.append((*x.tolist(), value_of(key_at(x))))
        on_key()
        return tried[-1][-1]

    ranges = np.array([LOG_C, EXPONENT, EXPONENT, *([LOG_CAP_S] if caps else [])])
    low, high = ranges.T
    for x in rng.uniform(low, high, (options.random_keys, len(ranges))):
        value(x)
    start = np.array(min(tried, key=lambda row: row[-1])[:-1])
    tuned_constants(value, start, 0.2, (high - low) / 2, seed, options.steps)
    best = min(tried, key=lambda row: row[-1])
    return KeySearch(key_at(np.array(best[:-1])), best[-1], np.array(tried))


def tuned_constants(
    value_of: Callable[[FloatArray], float],
    start: FloatArray,
    spread: float,
    scales: FloatArray,
    seed: int,
    steps: int,
) -> None:
    """Asks `value_of` for the value of about `steps` points, which CMA-ES (Hansen and Ostermeier 2001) makes small. start, scales:
    (constants,). Callers keep the points themselves."""
    import cma

    if not steps:
        return
    search = cma.CMAEvolutionStrategy(
        start, spread, {"CMA_stds": scales, "seed": seed + 1, "maxfevals": steps, "verbose": -9}
    )
    while not search.stop():
        points = search.ask()
        search.tell(points, [value_of(point) for point in points])


def _searched(ratios: Ratios) -> list[float]:
    return [ratios.guards[name] for name in SEARCHED_GUARDS if name in ratios.guards]


def _log(ratio: float) -> float:
    """The logarithm of a ratio, finite where no job waits under one of the two."""
    return math.log(min(max(ratio, 1e-6), 1e6))


def key_at(x: FloatArray) -> PriorityKey:
    """The key at a point of the search: log10(c), a, b, and log10(cap) if there is one."""
    log_c, a, b, *log_cap = x.tolist()
    return PriorityKey(log_c, a, b, 10 ** min(log_cap[0], 12.0) if log_cap else math.inf)
