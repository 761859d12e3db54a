"""The published tables that come from the warehouse: experiments, uses of predictions, and what came out on the bundled sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from assets.common.storage import read_model
from models.scheduling.policy_file import policy_from_bytes
from papers.markdown import markdown
from studies.predicting.vasp_tables import vasp_tables
from studies.publishing.experiment_tables import VERDICTS, ddppo_tables, experiment_tables
from warehouse import Warehouse

FIGURES = {
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
"""Columns and their headings. The last two are intervals about the typical block."""
BUNDLED = ("birch", "larch")
PREDICTED = {
    "requested": "requested",
    "last_two": "last two jobs of the user",
    "similar_jobs": "similar jobs",
    "stack": "stack",
}
"""Predictors of run times, and what they are called there."""


def warehouse_tables(warehouse: Warehouse) -> dict[str, tuple[str, str]]:
    """By name: the command that makes a table, and the table. Sources that have no such rows have no table."""
    if not warehouse.exists():
        return {}
    with warehouse.read() as connection:
        held_out = connection.sql(
            f"{VERDICTS} WHERE experiment = 'held_out' AND goal = 'bsld' "
            "ORDER BY source, average_bounded_slowdown, policy, seed"
        ).pl()
        agents = connection.sql(
            f"{VERDICTS} WHERE experiment IN ('backfilling', 'inspector') AND goal = 'bsld' "
            "ORDER BY experiment, source, average_bounded_slowdown, policy, seed"
        ).pl()
        own = connection.sql(
            "SELECT * FROM experiments.comparisons WHERE experiment = 'inspector' AND rules = 'rlscheduler' AND goal = 'bsld' "
            "AND rival LIKE '%unfit%' ORDER BY source, backfill DESC, rival, cost"
        ).pl()
        trained = connection.sql(
            "SELECT source, policy, seed, file, sha256 FROM experiments.policies WHERE experiment = 'inspector' AND rules = 'rlscheduler' "
            "AND goal = 'bsld' ORDER BY ALL"
        ).pl()
        runtimes = connection.sql("FROM predictions.runtime_scores WHERE user_class = 'all users'").pl()
        tables = experiment_tables(connection) | ddppo_tables(connection) | vasp_tables(connection)
    for (source,), part in held_out.group_by("source", maintain_order=True):
        tables[f"held_out, {source}"] = (f"tracehouse run {source} --job experiments", held_out_table(part))
    for (experiment, source), part in agents.group_by("experiment", "source", maintain_order=True):
        seeds = ", ".join(map(str, part["seed"].drop_nulls().unique().sort()))
        command = f"tracehouse run {source} --job experiments, with the agents of the table and the seeds {seeds}"
        tables[f"{experiment}{of_estimates(part)}, {source}"] = (command, agents_table(part))
    for (source,), part in own.group_by("source", maintain_order=True):
        command = f"tracehouse run {source} --job experiments{own_settings(trained.filter(source=source))}"
        tables[f"inspector by its own rules, {source}"] = (command, own_rules_table(part))
    if set(BUNDLED) <= set(runtimes["source"]):
        tables["run times, bundled sources"] = ("tracehouse run", runtimes_table(runtimes))
    return tables


def held_out_table(rows: pl.DataFrame) -> str:
    """A line for each policy and estimates. Seeds that give the same figures share a line."""
    seeds: dict[tuple[str, ...], list[int]] = {}
    for row in rows.iter_rows(named=True):
        cells = (f"{row['policy']}, {row['estimates']}", *(cell(row, name) for name in FIGURES))
        seeds.setdefault(cells, []).extend([] if row["seed"] is None else [row["seed"]])
    of_policy = {name: sum(other[0] == name for other in seeds) for name, *_ in seeds}
    lines = []
    for (name, *others), which in seeds.items():
        label = name if of_policy[name] == 1 else f"{name}, seed {' and '.join(map(str, sorted(which)))}"
        lines.append([label, *others])
    return markdown(["policy", *FIGURES.values()], lines)


def of_estimates(rows: pl.DataFrame) -> str:
    """What the name of a table says of the times that its agents learned with. Nothing where they are as requested."""
    learned = rows.filter(pl.col("seed").is_not_null())["estimates"].unique().sort().to_list()
    return f" with {' and '.join(learned)} times" if learned and "requested" not in learned else ""


def agents_table(rows: pl.DataFrame) -> str:
    """As `held_out_table` with fewer columns. Of the rules that pick from the same jobs, and of those that keep processors free, only the
    best and those that agents start from are shown."""
    kept, seen = [], set()
    for row in rows.iter_rows(named=True):
        rule = row["policy"]
        group = re.sub(r"by=\w+", "by", rule) if "pick:" in rule and row["seed"] is None else rule
        group = "kept free" if "kept free" in rule else group
        if group not in seen or "by=shortest" in rule or row["seed"] is not None:
            kept.append(row)
        seen.add(group)
    names = ("average_bounded_slowdown", "wait_h", "max_wait_d", "wide_wait_ratio", "lost_capacity_change", "verdict")
    seeds: dict[tuple[str, ...], list[int]] = {}
    for row in kept:
        cells = (f"`{row['policy']}`, {row['estimates']}", *(cell(row, name) for name in names))
        seeds.setdefault(cells, []).extend([] if row["seed"] is None else [row["seed"]])
    lines = [
        [f"{name}, seed {' and '.join(map(str, sorted(which)))}" if which else name, *others]
        for (name, *others), which in seeds.items()
    ]
    return markdown(["policy", *(FIGURES[name] for name in names)], lines)


def own_settings(trained: pl.DataFrame) -> str:
    """With which settings of experiments/inspector inspectors learned by their own rules, as their files say it. Nothing where none is
    left.

    trained: policy, seed, file and sha256, from experiments.policies. Raises ValueError where a file is lost.
    """
    cards = [policy_from_bytes(read_model(row["file"], row["sha256"]))[1] for row in trained.iter_rows(named=True)]
    if not cards:
        return ""
    bases = ", ".join(dict.fromkeys(policy.split(", ")[1] for policy in trained["policy"]))
    epochs = ", ".join(map(str, sorted({card["parameters"]["ppo"]["epochs"] for card in cards})))
    seeds = ", ".join(map(str, sorted(set(trained["seed"]))))
    return f", with the own_bases {bases}, own_epochs {epochs} and the seeds {seeds}"


def own_rules_table(rows: pl.DataFrame) -> str:
    """Mean bounded slowdowns of windows of later jobs, and differences from the rule that rejects what does not fit."""
    lines = []
    for row in rows.iter_rows(named=True):
        difference = f"{row['difference']:+.1f}"
        if row["difference_low"] is not None:
            difference += f" [{row['difference_low']:+.1f}, {row['difference_high']:+.1f}]"
        lines.append([row["backfill"], f"`{row['policy']}`", str(row["seeds"]), f"{row['cost']:.1f}", difference])
    return markdown(["backfilling", "policy", "seeds", "bounded slowdown", "minus the rule's"], lines)


def runtimes_table(scores: pl.DataFrame) -> str:
    """For each bundled source the median (mean) absolute errors, s, and what the stack gains. scores: on all users."""
    lines = []
    for source in BUNDLED:
        of = {row["predictor"]: row for row in scores.filter(pl.col("source") == source).iter_rows(named=True)}
        errors = [
            f"{of[name]['median_absolute_error_s']:,.0f} ({of[name]['mean_absolute_error_s']:,.0f})"
            for name in PREDICTED
        ]
        stack = of["stack"]
        gain = f"{stack['mae_gain_low_s']:+,.0f} to {stack['mae_gain_high_s']:+,.0f}"
        lines.append([source, *errors, gain, f"{100 * stack['coverage_80']:.1f} %"])
    gain_title = "gain in mean error of the stack over last two, s, 95 % interval"
    return markdown(["source", *PREDICTED.values(), gain_title, "in the 80 % quantile"], lines)


def cell(row: Mapping[str, Any], name: str) -> str:
    """One number of a row, or an interval."""
    if name in ("slowdown", "wait"):
        ratio, low, high = (row[f"typical_{name}_{what}"] for what in ("ratio", "low", "high"))
        return f"{ratio:.2f} [none]" if low is None else f"{ratio:.2f} [{low:.2f}, {high:.2f}]"
    value = row[name]
    if isinstance(value, str):
        return value
    return "" if value is None else f"{value:{'+.3f' if name == 'lost_capacity_change' else '.2f'}}"
