"""Random orders in the stored scores: a row for each in replay.period_scores, and what the cloud of them says beside a policy.

They have no verdict there, so that whoever reads policies by their verdicts does not meet them. Their schedules are not stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from assets.replaying.running.settings import OWN_SCHEDULERS
from models.judging.chance import CAPS_S, ChanceCloud, OnRandomOrder, RandomOrder
from models.judging.panel import Panel, Replayed, panel_of_metrics
from models.judging.verdict import BEST_FIRST, LIKE_CHANCE, NO_DIFFERENCE, NO_VERDICT, Ratios, ratios_of
from simulator.metrics.metrics import SEMANTICS

SUMMED = ("mean", "5 %", "95 %")
"""Of the cloud, a row of the leaderboard each."""


def random_order_rows(backfill: str, cluster: str | None = None) -> tuple[list[dict[str, Any]], OnRandomOrder]:
    """Rows of replay.period_scores, none yet, and what adds one for every replay of models.judging.chance.cloud_around. backfill: of the
    incumbent, whose requested times random orders have, too. cluster: as the rows have it."""
    same = {"backfill": backfill, "estimates": "requested", "cluster": cluster}
    rows: list[dict[str, Any]] = []

    def add(order: RandomOrder, replayed: Replayed, ratios: Ratios) -> None:
        rows.append(
            {"policy": order.policy.name, "seed": order.seed, **same, "jobs": int(replayed.scored.sum())}
            | replayed.metrics
            | {"wide_wait_s": replayed.panel().wide_wait_s, "semantics": SEMANTICS}
            | {"bounded_slowdown_ratio": ratios.bounded_slowdown, "wait_ratio": ratios.wait}
            | {"p99_wait_ratio": ratios.p99_wait, "area_wait_ratio": ratios.area_wait}
            | {"wide_wait_ratio": ratios.wide_wait, "lost_capacity_change": ratios.lost_capacity}
        )

    return rows, add


def is_random_order() -> pl.Expr:
    """Of rows of replay.period_scores."""
    return pl.col("policy").is_in([RandomOrder(cap_s, 0).policy.name for cap_s in CAPS_S])


def incumbent_of(scores: pl.DataFrame) -> dict[str, Any]:
    """The row of replay.period_scores that the others of its source are compared with: the cluster's own scheduler where there is one, else
    FCFS with EASY, or the order that the site has under its limits."""
    judged = scores.filter(pl.col("verdict").is_not_null(), estimates="requested")
    is_one = (pl.col("bounded_slowdown_ratio") == 1) & (pl.col("wait_ratio") == 1)
    own, usual = pl.col("policy").is_in(list(OWN_SCHEDULERS)), pl.col("policy") == "FCFS"
    return judged.sort(own, is_one, usual, "policy", descending=[True, True, True, False]).row(0, named=True)


def panel_of_scores(row: dict[str, Any], procs: int | None = None) -> Panel:
    """The panel that a row of replay.period_scores is about. procs: of the source's cluster, where it is known."""
    return panel_of_metrics(row, row["wide_wait_s"], procs)


def stored_cloud(scores: pl.DataFrame, incumbent: Panel | None = None, procs: int | None = None) -> ChanceCloud | None:
    """The cloud of the random orders among rows of replay.period_scores of one source. None where they have none, as those of older
    releases.

    incumbent: what they are compared with, by default `incumbent_of` the rows. procs: as for `panel_of_scores`.
    """
    rows = scores.filter(is_random_order()).sort("policy", "seed").to_dicts()
    if not rows:
        return None
    if incumbent is None:
        incumbent = panel_of_scores(incumbent_of(scores))
    caps = {RandomOrder(cap_s, 0).policy.name: cap_s for cap_s in CAPS_S}
    orders = tuple(RandomOrder(caps[row["policy"]], row["seed"]) for row in rows)
    return ChanceCloud(orders, tuple(ratios_of(panel_of_scores(row, procs), incumbent) for row in rows))


def with_share_as_good(rows: pl.DataFrame, cloud: ChanceCloud | None) -> pl.DataFrame:
    """The rows with the share of random orders that are as good as each, by its ratios of the whole log: NULL where it is unknown. rows: of
    replay.period_scores or marts.leaderboard."""
    ratios = rows.select("bounded_slowdown_ratio", "wait_ratio").iter_rows()
    shares = [None if cloud is None else cloud.share_as_good_as(*pair) for pair in ratios]
    return rows.with_columns(random_orders_as_good=pl.Series(shares, dtype=pl.Float64))


@dataclass(frozen=True)
class WaitsByLot:
    """What random orders do to the scored jobs, on average over the orders. Waits in seconds, share of 1. low_s, high_s: 5 and 95 % of the
    mean waits."""

    orders: int
    mean_s: float
    median_s: float
    p95_s: float
    longest_s: float
    within_24_h: float
    slowdown: float
    low_s: float
    high_s: float


def waits_by_lot(rows: pl.DataFrame) -> WaitsByLot | None:
    """rows: of random orders in replay.period_scores. None where there is none."""
    if rows.is_empty():
        return None
    mean = rows.select(pl.selectors.float().mean()).row(0, named=True)
    low, high = np.quantile(rows["average_wait_s"].to_numpy(), (0.05, 0.95))
    return WaitsByLot(
        orders=rows.height,
        mean_s=mean["average_wait_s"],
        median_s=mean["median_wait_s"],
        p95_s=mean["p95_wait_s"],
        longest_s=mean["max_wait_s"],
        within_24_h=1 - mean["waits_over_24_h_share"],
        slowdown=mean["average_bounded_slowdown"],
        low_s=float(low),
        high_s=float(high),
    )


def cloud_rows(scores: pl.DataFrame) -> pl.DataFrame:
    """Rows like those of replay.period_scores that sum up the random orders among them: the mean of every number, and what 5 and 95 % of
    them stay below. None where there is none."""
    random = scores.filter(is_random_order())
    if random.is_empty():
        return random
    numbers = [name for name, kind in scores.schema.items() if kind.is_float()]
    kinds = {"mean": pl.col(numbers).mean(), "5 %": _quantile(numbers, 0.05), "95 %": _quantile(numbers, 0.95)}
    summed = pl.concat(
        random.select(kinds[shown]).with_columns(policy=pl.lit(f"random order, {shown}")) for shown in SUMMED
    )
    words = {name: random[name][0] for name in ("backfill", "cluster")} | {
        "estimates": "requested",
        "verdict": LIKE_CHANCE,
        "payers": "",
    }
    same = {"seed": None, "jobs": random["jobs"][0], "semantics": random["semantics"][0]}
    rows = summed.with_columns(**{name: pl.lit(value) for name, value in (words | same).items()})
    return rows.select(pl.col(name).cast(kind) for name, kind in scores.schema.items() if name in rows.columns)


def in_place(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with a verdict, best first, and what they are ordered by: the `place` of their verdict, and their `gain`, which is the product
    of both ratios of the whole log."""
    word = pl.col("verdict").str.split(", ").list.first()
    place = word.replace_strict({name: k for k, name in enumerate(BEST_FIRST)}, return_dtype=pl.Int64)
    gain = pl.col("bounded_slowdown_ratio") * pl.col("wait_ratio")
    return rows.with_columns(place=place, gain=gain).sort("place", "gain", "policy", "estimates", "backfill")


def rank_policies(scores: pl.DataFrame) -> pl.DataFrame:
    """Rows of marts.leaderboard (without `source`), best first, from rows of replay.period_scores of one source.

    Within a verdict the sum of the logarithms of both gains counts. Policies with the same verdict and the same ratios share a rank.
    Nothing is ranked where every verdict is that there is no difference, or none.
    """
    ranked = in_place(scores)
    rank = pl.struct("place", "gain").rank("min").cast(pl.Int64)
    unranked = [BEST_FIRST.index(word) for word in (NO_DIFFERENCE, NO_VERDICT)]
    differ = bool((~ranked["place"].is_in(unranked)).any())
    return ranked.with_columns(rank=rank if differ else pl.lit(None, dtype=pl.Int64))


def _quantile(names: list[str], share: float) -> pl.Expr:
    return pl.col(names).quantile(share, "linear")
