"""The published tables of decentralised PPO: policies of large logs on logs that they have not seen (Sgambati et al. 2025).

The published tables of the experiments that follow RLScheduler's paper: learned policies, transfer and training curves.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from papers.ddppo.plots import SHOWN_NAMES
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


# --- ddppo tables


METRICS = {
    "bsld": ("bounded slowdown", ".1f"),
    "wait": ("wait, s", ",.0f"),
    "turnaround": ("turnaround, s", ",.0f"),
    "utilisation": ("utilisation", ".3f"),
}
"""What is judged: its heading, and how its figures are written."""
FINER = {"utilisation": ".4f"}
"""How differences are written, where that is not as the figures: some intervals end just beside 0."""
RIVALS = {"FCFS": "FCFS", "SAF": "SAF", "bounded-key": "bounded key", "ppo": "our PPO"}
LEARNED_NAMES = SHOWN_NAMES | {"bounded-key": "bounded key"}
VERDICT_COLUMNS = {
    "average_bounded_slowdown": ("bounded slowdown", ".1f"),
    "wait_h": ("mean wait, h", ".2f"),
    "p99_wait_h": ("p99 wait, h", ".1f"),
    "max_wait_d": ("longest wait, days", ".1f"),
    "verdict": ("verdict", ""),
}


def ddppo_tables(connection: DuckDBPyConnection) -> Tables:
    """By name: the command that makes a table, and the table. Nothing where the experiment was not made."""
    costs = connection.sql(
        "SELECT source, goal, policy, trained_on, seed, window_number, first_position, window_jobs, "
        "CASE goal WHEN 'utilisation' THEN -cost ELSE cost END AS cost FROM experiments.window_costs "
        "WHERE experiment = 'ddppo' AND (seed IS NULL OR policy LIKE '%, for ' || goal) ORDER BY ALL"
    ).pl()
    differences = connection.sql(
        "SELECT * FROM experiments.comparisons WHERE experiment = 'ddppo' "
        "AND (trained_on IS NULL OR policy LIKE '%, for ' || goal) ORDER BY source, trained_on NULLS FIRST, cost, policy"
    ).pl()
    verdicts = connection.sql(
        f"{VERDICTS} WHERE experiment = 'ddppo' AND goal = 'bsld' AND policy NOT LIKE 'without %' "
        "ORDER BY source, average_bounded_slowdown, policy, seed"
    ).pl()
    tables: Tables = {}
    for (source,), part in costs.group_by("source", maintain_order=True):
        command = f"tracehouse run {source} --job ddppo_transfer"
        of_source = differences.filter(source=source)
        tables[f"ddppo, {source}"] = (command, windows_table(part))
        tables[f"ddppo differences, {source}"] = (command, differences_table(of_source))
        tables[f"ddppo verdicts, {source}"] = (command, verdicts_table(verdicts.filter(source=source)))
    if costs["trained_on"].n_unique() > 2:
        sizes = costs.filter(pl.col("policy") == "population, for bsld")
        jobs = dict(connection.execute("SELECT source, count(*) FROM core.jobs GROUP BY ALL").fetchall())
        logs = sorted(sizes["trained_on"].unique(), key=lambda log: (jobs.get(log, 0), log))
        tables["ddppo by training log"] = ("tracehouse run NAME --job ddppo_transfer", sizes_table(sizes, logs))
    return tables


def named(policy: str, trained_on: str | None) -> str:
    """A policy's name without what it is for, and the log that it learned from."""
    name, comma, log = policy.partition(", for ")[0].partition(", ")
    name = f"{LEARNED_NAMES.get(name, name)}{comma}{log}"
    return name if trained_on is None else f"{name}, {trained_on}"


def windows_table(costs: pl.DataFrame) -> str:
    """Mean and deviation over the ten windows, as the paper has it; a learned policy is that for the metric, mean of its seeds.

    costs: of one log; goal, policy, trained_on, seed, window_number, cost.
    """
    cells: dict[str, dict[str, str]] = {}
    order = costs.with_columns(pl.col("trained_on").fill_null("")).sort("trained_on", maintain_order=True)
    for (trained_on, policy, goal), part in order.group_by("trained_on", "policy", "goal", maintain_order=True):
        windows = part.group_by("window_number").agg(pl.col("cost").mean())["cost"]
        style = METRICS[str(goal)][1]
        of_policy = cells.setdefault(named(str(policy), str(trained_on) or None), {})
        of_policy[str(goal)] = f"{windows.mean():{style}} ± {windows.std():{style}}"
    lines = [[name, *(of.get(goal, "") for goal in METRICS)] for name, of in cells.items()]
    return markdown(["policy", *(label for label, _ in METRICS.values())], lines)


def differences_table(rows: pl.DataFrame) -> str:
    """What each learned policy costs less than a rival on the same windows, with its 95 % interval over windows and seeds.

    rows: of experiments.comparisons of one log. PPO is that from the same log.
    """
    cells: dict[tuple[str, str, str], dict[str, str]] = {}
    learned = rows.filter(pl.col("trained_on").is_not_null())
    for row in learned.to_dicts():
        label, style = METRICS[row["goal"]]
        style = FINER.get(row["goal"], style)
        rival = row["rival"].removesuffix(", requested").partition(", for ")[0]
        sign = -1.0 if row["goal"] == "utilisation" else 1.0
        low, high = sorted((sign * row["difference_low"], sign * row["difference_high"]))
        key = (label, named(row["policy"], row["trained_on"]), str(row["seeds"]))
        cells.setdefault(key, {})[rival] = f"{sign * row['difference']:+{style}} [{low:+{style}}, {high:+{style}}]"
    lines = [[*key, *(of.get(rival, "") for rival in RIVALS)] for key, of in sorted(cells.items())]
    return markdown(["metric", "policy", "seeds", *(f"minus {name}'s" for name in RIVALS.values())], lines)


def verdicts_table(rows: pl.DataFrame) -> str:
    """One continuous replay of the whole log for each rule, and for each seed of our population and our PPO, which share a line."""
    lines = []
    for (policy, estimates), part in rows.group_by("policy", "estimates", maintain_order=True):
        seeds = part["seed"].drop_nulls().len()
        written = [[f"{value:{style}}" for value in part[name]] for name, (_, style) in VERDICT_COLUMNS.items()]
        label = f"{named(str(policy), None)}, {seeds} seeds" if seeds > 1 else named(str(policy), None)
        lines.append([label, str(estimates), *(range_of(cells) for cells in written[:-1]), counted(written[-1])])
    return markdown(["policy", "estimates", *(label for label, _ in VERDICT_COLUMNS.values())], lines)


def range_of(cells: list[str]) -> str:
    """The least and the most of some numbers as they are written, or the only one."""
    ordered = sorted(cells, key=lambda cell: float(cell.replace(",", "")))
    return " to ".join(dict.fromkeys((ordered[0], ordered[-1])))


def counted(words: list[str]) -> str:
    """How often each of some words comes, or the only one."""
    return words[0] if len(words) == 1 else "; ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def sizes_table(costs: pl.DataFrame, logs: list[str]) -> str:
    """Bounded slowdowns by the log that was learned from, and how each differs from the first, with a 95 % interval.

    costs: of our population for bounded slowdown; source, trained_on, seed, window_number, first_position, window_jobs, cost. logs: that
    were learned from, in their order in the table.
    """
    lines = []
    for (source,), part in costs.group_by("source", maintain_order=True):
        windows = Windows(part["first_position"].unique().sort().to_numpy(), int(part["window_jobs"][0]))
        of = {log: _by_seed(part.filter(trained_on=log)) for log in logs}
        cells = [str(source), *(f"{of[log].mean():.1f}" for log in logs)]
        for log in logs[1:]:
            gap = paired_difference(of[log], of[logs[0]], windows, 1)
            cells.append(f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]")
        lines.append(cells)
    return markdown(["judged on", *logs, *(f"{log} minus {logs[0]}" for log in logs[1:])], lines)


def _by_seed(costs: pl.DataFrame) -> np.ndarray:
    """float64 (seeds, windows)."""
    ordered = costs.sort("seed", "window_number")
    return ordered["cost"].to_numpy().reshape(ordered["seed"].n_unique(), -1)
