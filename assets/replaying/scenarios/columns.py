"""Columns that people read of the results of scenarios: in hours and percent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from assets.replaying.scenarios.scenario_file import BASE
from models.judging.fidelity import NO_FIGURES
from models.judging.verdict import BASELINE_ROW, LIKE_CHANCE

RANDOM_ORDER = "random order"
"""The row that stands for the mean of all of them."""
FAILED = "failed"
"""In the column of verdicts, of a scenario that could not be replayed."""


class Column(NamedTuple):
    """title: above the column. width: in characters. cell: of a row, as text."""

    title: str
    width: int
    cell: Callable[[dict[str, Any]], str]


def hours(value: float | None) -> str:
    """A wait in hours, with as many decimals as matter."""
    if value is None:
        return ""
    size = abs(round(value, 2))
    return f"{value:,.0f}" if size >= 1000 else f"{value:,.1f}" if size >= 10 else f"{value:.2f}"


def percent(value: float | None, sign: str = "") -> str:
    """A share as a percentage. sign: "+" where a plus is to be shown."""
    if value is None:
        return ""
    shown = 100 * value
    return f"{shown:{sign},.0f} %" if abs(shown) >= 10 or not sign else f"{shown:{sign}.1f} %"


def typical_change(row: dict[str, Any]) -> str:
    """The change of the mean wait in the typical block with its interval, as percentages."""
    if row["typical_ratio"] is None:
        return ""
    middle = percent(row["typical_ratio"] - 1, "+")
    if row["typical_ratio_low"] is None:
        return f"{middle} (none)"
    low, high = (row[f"typical_ratio_{end}"] - 1 for end in ("low", "high"))
    return f"{middle} ({percent(low, '+')[:-2]} to {percent(high, '+')[:-2]})"


def verdict_cell(row: dict[str, Any]) -> str:
    """The verdict, with a star where jobs are not in both replays."""
    if row["failed_because"] is not None:
        return FAILED
    if row["scenario"] == BASE:
        return BASELINE_ROW
    words = (row["verdict"] or "").replace(LIKE_CHANCE, "no better than random")  # the column is no wider
    return f"{words} *" if row["base_only_jobs"] or row["scenario_only_jobs"] else words


WAIT_COLUMNS = (
    Column("mean h", 8, lambda row: hours(row["average_wait_h"])),
    Column("median h", 10, lambda row: hours(row["median_wait_h"])),
    Column("p95 h", 8, lambda row: hours(row["p95_wait_h"])),
    Column("in 1 h", 8, lambda row: percent(row["started_within_1h_share"])),
    Column("in 24 h", 9, lambda row: percent(row["started_within_24h_share"])),
    Column("used", 6, lambda row: percent(row["utilisation"])),
)
"""Waits, shares of jobs that start within an hour and a day, and how much of the cluster is used."""
FIGURE_COLUMNS = {"median h": "median", "p95 h": "p95"}
"""Columns of WAIT_COLUMNS, and the figures whose letters are not that of the mean."""
CHANGE_COLUMNS = (
    Column("change", 8, lambda row: percent(row["change_share"], "+")),
    Column("keep pace", 11, lambda row: percent(row["pace_change_share"], "+")),
    Column("typical block", 23, typical_change),
    Column("random as good", 16, lambda row: percent(row["random_orders_as_good"])),
    Column("verdict", 28, verdict_cell),
)
"""The change of the mean wait against the base, of all paired jobs at the log's times, with users who keep their pace, and in the typical
block, which share of random orders is as good, and the verdict."""
RANK_COLUMNS = (
    Column("rank", 6, lambda row: str(row["rank"] or "")),
    Column("mean wait", 24, lambda row: FAILED if row["failed_because"] is not None else row["direction"] or ""),
)
"""All that is said where no figure is to be trusted."""
RANKS_ALONE = "Grade D: no figure is to be trusted. So there is only the order, least wait first, and the direction against the base."


def wait_columns(letters: Mapping[str, str]) -> tuple[Column, ...]:
    """WAIT_COLUMNS without the figures that are not to be trusted. letters: of figures, where they have one."""
    return tuple(each for each in WAIT_COLUMNS if letters.get(FIGURE_COLUMNS.get(each.title, "")) != NO_FIGURES)


def with_random_orders(
    rows: Sequence[dict[str, Any]], spread: tuple[float, float, float] | None
) -> list[dict[str, Any]]:
    """The rows of results with one more behind the base, for the mean of random orders: its wait, its change, and 5 to 95 % of the changes
    in place of a verdict. spread: of their mean waits over that of the base, None where none was replayed."""
    shown = list(rows)
    if spread is None:
        return shown
    base = next(k for k, row in enumerate(rows) if row["scenario"] == BASE)
    mean, low, high = (ratio - 1 for ratio in spread)
    between = f"5 to 95 %: {percent(low, '+')[:-2]} to {percent(high, '+')}"
    facts = {
        "scenario": RANDOM_ORDER,
        "average_wait_h": rows[base]["average_wait_h"] * (1 + mean),
        "change_share": mean,
    }
    shown.insert(base + 1, dict.fromkeys(rows[base]) | facts | {"verdict": between})
    return shown


def by_rank(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The scenarios among the rows of results, least wait first, and those that failed last."""
    scenarios = [row for row in rows if row["rank"] is not None or row["failed_because"] is not None]
    return sorted(scenarios, key=lambda row: (row["rank"] is None, row["rank"] or 0))
