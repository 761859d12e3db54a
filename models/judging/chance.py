"""What orders without any knowledge reach: a cloud of random orders, which a policy has to leave before it dominates.

Strict FCFS is a weak incumbent where one user's burst blocks all others, and there any shuffling lowers the mean. So a rule that merely
beats the incumbent may be no better than a lottery. Rules: docs/reference/semantics/verdicts.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.judging.panel import Replayed
from models.judging.verdict import Ratios, ratios_of
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.policies.registry import Policy
from simulator.policies.scoring import FIXED

CAPS_S = (3600, 4 * 3600, 12 * 3600)
"""The most by which a random order sets a job back, seconds."""
ORDERS_OF_A_CAP = 34
FEW_ORDERS_OF_A_CAP = 7
"""On a log of more than MANY_JOBS jobs. Of so few, no single one may be as good as a policy."""
MANY_JOBS = 1_000_000
ON_CLUSTER = ((20_000, 14), (100_000, FEW_ORDERS_OF_A_CAP))
"""Jobs, and how many orders of a cap a log of at most so many gets on the nodes of a cluster, where a replay takes a hundred times as
long."""
MOST_DOMINATING = 0.5
"""Where a larger share of the random orders of every cap dominates, a log carries no verdict."""


@dataclass(frozen=True)
class RandomOrder:
    """Jobs in the order of submit + U(0, cap_s), one random number a job. Same seed, same order."""

    cap_s: int
    seed: int

    @property
    def policy(self) -> Policy:
        """The order as the engines take it."""
        name = f"random order within {self.cap_s // 3600} h"
        return Policy(name, FIXED, self._scores, scores_whole_replay=True, setback=self._setback)

    def _scores(self, jobs: Jobs, cluster_procs: int) -> NDArray[np.float64]:
        return jobs.submit + self._setback(jobs, cluster_procs)

    def _setback(self, jobs: Jobs, cluster_procs: int) -> NDArray[np.float64]:
        return np.random.default_rng((self.cap_s, self.seed)).random(len(jobs)) * self.cap_s


OnRandomOrder = Callable[[RandomOrder, Replayed, Ratios], None]
"""Takes a random order, its replay and what that is over the incumbent."""


def random_orders(num_jobs: int) -> tuple[RandomOrder, ...]:
    """The orders of a log with so many jobs, equally many for every cap."""
    seeds = range(ORDERS_OF_A_CAP if num_jobs <= MANY_JOBS else FEW_ORDERS_OF_A_CAP)
    return tuple(RandomOrder(cap_s, seed) for cap_s in CAPS_S for seed in seeds)


def orders_on_cluster(num_jobs: int) -> tuple[RandomOrder, ...]:
    """The orders of a log with so many jobs where each replay is under a cluster's own scheduler. None for a very long log."""
    seeds = range(next((orders for most, orders in ON_CLUSTER if num_jobs <= most), 0))
    return tuple(RandomOrder(cap_s, seed) for cap_s in CAPS_S for seed in seeds)


@dataclass(frozen=True)
class ChanceCloud:
    """ratios: of each random order over the incumbent, on the same scored jobs, in the order of `orders`."""

    orders: tuple[RandomOrder, ...]
    ratios: tuple[Ratios, ...]

    @property
    def dominating(self) -> dict[int, float]:
        """By cap, in seconds, the share of the orders that would dominate the incumbent if nobody asked for more."""
        shares = {}
        for cap_s in sorted({order.cap_s for order in self.orders}):
            of_cap = [
                each.dominates for order, each in zip(self.orders, self.ratios, strict=True) if order.cap_s == cap_s
            ]
            shares[cap_s] = sum(of_cap) / len(of_cap)
        return shares

    @property
    def carries_verdict(self) -> bool:
        """Whether a verdict on this log says anything. It does not where most random orders dominate, however far they set jobs back. Fewer
        than FEW_ORDERS_OF_A_CAP take no verdict away."""
        few = len(self.orders) < FEW_ORDERS_OF_A_CAP * len(CAPS_S)
        return few or min(self.dominating.values()) <= MOST_DOMINATING

    def share_as_good(self, ratios: Ratios) -> float:
        """The share of the orders that do at least as well in bounded slowdown and in mean wait, the policy counted as one of them. It is
        the p-value of the claim that no order without knowledge does as well in both."""
        return self.share_as_good_as(ratios.bounded_slowdown, ratios.wait)

    def share_as_good_as(self, slowdown: float, wait: float) -> float:
        """As `share_as_good`, of both ratios over the incumbent."""
        as_good = sum(each.bounded_slowdown <= slowdown and each.wait <= wait for each in self.ratios)
        return (1 + as_good) / (1 + len(self.ratios))

    def __str__(self) -> str:
        spreads = {
            words: self.spread(name)
            for name, words in (("bounded_slowdown", "bounded slowdown"), ("wait", "mean wait"))
        }
        parts = [f"{words} {mean:.2f} ({low:.2f} to {high:.2f})" for words, (mean, low, high) in spreads.items()]
        why = "" if self.carries_verdict else ". Most of them dominate, so that no verdict on this log says anything"
        return f"{len(self.orders)} random orders: {', '.join(parts)}, 5 to 95 % of them in brackets{why}"

    def spread(self, measure: str) -> tuple[float, float, float]:
        """Mean, and 5 and 95 % quantile, of a ratio over the orders."""
        values = np.array([getattr(each, measure) for each in self.ratios], dtype=np.float64)
        low, high = np.quantile(values, (0.05, 0.95))
        return float(values.mean()), float(low), float(high)


def cloud_around(
    incumbent: Replayed,
    replay_order: Callable[[Policy], Schedule],
    orders: Iterable[RandomOrder],
    wide_of: int | None = None,
    on_replayed: OnRandomOrder = lambda *_: None,
) -> ChanceCloud:
    """Replays random orders where the incumbent was replayed. replay_order: replays all jobs of the incumbent in an order, under its rules.
    wide_of: as in models.judging.panel.panel_of. on_replayed: takes each replay, which is not kept here."""
    theirs, replayed, ratios = incumbent.panel(wide_of), [], []
    for order in orders:
        ours = Replayed(incumbent.jobs, incumbent.cluster, replay_order(order.policy), incumbent.scored)
        ratios.append(ratios_of(ours.panel(wide_of), theirs))
        on_replayed(order, ours, ratios[-1])
        replayed.append(order)
    return ChanceCloud(tuple(replayed), tuple(ratios))
