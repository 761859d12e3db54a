"""The published tables of the experiments that follow RLScheduler's paper: learned policies, transfer and training curves."""

from __future__ import annotations

import polars as pl
from duckdb import DuckDBPyConnection

from papers.markdown import markdown

GOALS = {
    "bsld": ("bounded slowdown (V)", ".2f"),
    "utilisation_as_coded": ("utilisation (VI)", ".3f"),
    "slowdown": ("slowdown (X)", ".2f"),
    "wait": ("wait, s (XI)", ".0f"),
    "bsld:max_user": ("of the worst user (VIII)", ".2f"),
}
"""By goal: its table in the paper, and how its figures are written."""
LEARNED_FROM = {"published": "other jobs", "published_seen": "all jobs"}
BACKFILLINGS = ("none", "easy")
SHOWN_EPOCHS = {"filtering": (1, 2, 4, 6, 8, 10, 12, 16, 20), "networks": (5, 10, 20)}
VERDICTS = """
SELECT *, average_wait_s / 3600 AS wait_h, p99_wait_s / 3600 AS p99_wait_h, max_wait_s / 86400 AS max_wait_d FROM experiments.verdicts
"""
"""Continuous replays with waits in the units that are printed."""
Tables = dict[str, tuple[str, str]]


def experiment_tables(connection: DuckDBPyConnection) -> Tables:
    """By name: the command that makes a table, and the table."""
    rows = connection.sql(
        "SELECT DISTINCT source, experiment, backfill, goal, policy, trained_on, seeds, cost FROM experiments.comparisons "
        "WHERE rules = 'rlscheduler' AND experiment IN ('published', 'published_seen', 'transfer') "
        "ORDER BY source, backfill DESC, experiment, trained_on NULLS FIRST, policy"
    ).pl()
    curves = connection.sql(
        "SELECT source, experiment, variant, epoch, avg(validation_cost) AS cost, min(validation_cost) AS least, "
        "max(validation_cost) AS most FROM experiments.curves WHERE experiment IN ('networks', 'filtering') GROUP BY ALL ORDER BY ALL"
    ).pl()
    tables: Tables = {}
    of_paper = rows.filter(pl.col("experiment") != "transfer")
    for (source,), part in of_paper.group_by("source", maintain_order=True):
        tables[f"published, {source}"] = (_command("published", source), learned_table(part))
    moved = rows.filter(pl.col("experiment") == "transfer")
    for policy in moved.filter(pl.col("trained_on").is_not_null())["policy"].unique(maintain_order=True):
        tables[f"transfer, {policy}"] = (_command("transfer", "NAME"), transfer_table(moved, policy))
    for (source, experiment), part in curves.group_by("source", "experiment", maintain_order=True):
        table = curves_table(part, SHOWN_EPOCHS[str(experiment)])
        tables[f"curves of {experiment}, {source}"] = (_command("curves", source), table)
    return tables


def _command(asset: str, source: object) -> str:
    return f"tracehouse run {source} --job experiments (experiments/{asset})"


def learned_table(rows: pl.DataFrame) -> str:
    """Means over ten windows and the seeds, by goal, policy and what it has learned from."""
    cells: dict[tuple[str, str, str, str], dict[str, str]] = {}
    for row in rows.to_dicts():
        label, digits = GOALS[row["goal"]]
        cost = -row["cost"] if row["goal"].startswith("utilisation") else row["cost"]
        learned_from = LEARNED_FROM[row["experiment"]] if row["trained_on"] else ""
        key = (label, row["policy"], learned_from, str(row["seeds"]) if row["trained_on"] else "")
        cells.setdefault(key, {})[row["backfill"]] = f"{cost:{digits}}"
    order = [label for label, _ in GOALS.values()]
    lines = [
        [*key, *(cells[key].get(backfill, "") for backfill in BACKFILLINGS)]
        for key in sorted(cells, key=lambda key: order.index(key[0]))
    ]
    return markdown(["goal", "policy", "learned from", "seeds", *BACKFILLINGS], lines)


def transfer_table(rows: pl.DataFrame, policy: str) -> str:
    """Bounded slowdowns of a way of training by the log that it learned from, beside SAF and the worst rule."""
    logs = rows["trained_on"].drop_nulls().unique().sort().to_list()
    lines = []
    for (source, backfill), part in rows.group_by("source", "backfill", maintain_order=True):
        rules = part.filter(pl.col("trained_on").is_null()).sort("cost")
        learned = {row["trained_on"]: row["cost"] for row in part.filter(pl.col("policy") == policy).to_dicts()}
        worst = rules.row(-1, named=True)
        saf = rules.row(by_predicate=pl.col("policy") == "SAF", named=True)["cost"]
        cells = [f"{learned[log]:.1f}" if log in learned else "" for log in logs]
        lines.append([f"{source}, {backfill}", *cells, f"{saf:.1f}", f"{worst['cost']:.1f} ({worst['policy']})"])
    return markdown(["judged on", *logs, "SAF", "worst heuristic"], lines)


def curves_table(rows: pl.DataFrame, epochs: tuple[int, ...]) -> str:
    """Bounded slowdown by epoch, mean of the seeds, least to most."""
    of = {(row["variant"], row["epoch"]): row for row in rows.to_dicts()}
    shown = [epoch for epoch in epochs if epoch in rows["epoch"].to_list()]
    lines = [
        [
            variant,
            *(
                f"{of[variant, k]['cost']:.1f} ({of[variant, k]['least']:.1f} to {of[variant, k]['most']:.1f})"
                for k in shown
            ),
        ]
        for variant in rows["variant"].unique(maintain_order=True)
    ]
    return markdown(["epoch", *map(str, shown)], lines)
