"""The tables of experiments/held_out, from the warehouse: one for each source."""

from __future__ import annotations

import polars as pl

from warehouse import Warehouse

HEADINGS = {
    "policy": "policy",
    "average_bounded_slowdown": "bounded slowdown",
    "wait_h": "mean wait, h",
    "p99_wait_h": "p99 wait, h",
    "max_wait_d": "longest wait, days",
    "area_wait_ratio": "wait by work, ratio",
    "wide_wait_ratio": "wait of wide jobs, ratio",
    "lost_capacity_change": "capacity lost, difference",
    "verdict": "verdict",
    "slowdown": "typical block: bounded slowdown",
    "wait": "and mean wait",
}
FORMATS = {"lost_capacity_change": "+.3f"}
ALL_ROWS = """
    SELECT *, average_wait_s / 3600 AS wait_h, p99_wait_s / 3600 AS p99_wait_h, max_wait_s / 86400 AS max_wait_d
    FROM experiments.verdicts WHERE experiment = 'held_out' AND goal = 'bsld'
    ORDER BY source, average_bounded_slowdown, policy, seed
"""


def held_out_tables(warehouse: Warehouse) -> dict[str, tuple[str, str]]:
    """By name: the command that makes a table, and the table."""
    if not warehouse.path.exists():
        return {}
    with warehouse.read() as connection:
        rows = connection.sql(ALL_ROWS).pl()
    return {
        f"held_out, {source}": (f"tracehouse run --job experiments --source {source}", table_of(part))
        for (source,), part in rows.group_by("source", maintain_order=True)
    }


def table_of(rows: pl.DataFrame) -> str:
    """Markdown, a line for each policy and estimates. Seeds that give the same schedule share a line."""
    lines = [f"| {' | '.join(HEADINGS.values())} |", "| --- " + "| ---: " * 7 + "| --- | --- | --- |"]
    seeds: dict[tuple[str, ...], list[int]] = {}
    for row in rows.iter_rows(named=True):
        cells = (f"{row['policy']}, {row['estimates']}", *(cell(row, name) for name in list(HEADINGS)[1:]))
        seeds.setdefault(cells, []).extend([] if row["seed"] is None else [row["seed"]])
    of_policy = {name: sum(other[0] == name for other in seeds) for name, *_ in seeds}
    for (name, *others), which in seeds.items():
        label = name if of_policy[name] == 1 else f"{name}, seed {' and '.join(map(str, sorted(which)))}"
        lines.append(f"| {' | '.join([label, *others])} |")
    return "\n".join(lines)


def cell(row: dict[str, object], name: str) -> str:
    """One number of a row, or an interval."""
    if name in ("slowdown", "wait"):
        ratio, low, high = (row[f"typical_{name}_{what}"] for what in ("ratio", "low", "high"))
        return f"{ratio:.2f} [none]" if low is None else f"{ratio:.2f} [{low:.2f}, {high:.2f}]"
    value = row[name]
    if isinstance(value, str):
        return value
    return "" if value is None else f"{value:{FORMATS.get(name, '.2f')}}"
