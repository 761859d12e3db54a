"""The published tables that come from folders of VASP runs: errors of remaining times, and RLSchert's schedulers."""

from __future__ import annotations

import polars as pl
from duckdb import DuckDBPyConnection

from papers.markdown import markdown

TRIED = {
    "inputs_only": "parameters alone",
    "ends_now": "`ends_now`",
    "constant_share": "`constant_share`",
    "constant_median": "`constant_median`",
    "progress": "`progress`",
    "multimodal": "`multimodal`",
}
"""Predictors of remaining times, in the order of the tables, and what they are called there."""
IONIC = {"single": "single ionic step", "multiple": "several ionic steps", "all": "all"}
TENTHS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
"""Shares of the electronic steps that were over. 0: before the run."""
SWEPT = {
    "load": "`job_rate`",
    "resources": "processors",
    "preemption": "`preemption_cost`",
    "predictable": "predictable jobs",
}
"""Experiments that vary something, and what."""
OF_SWEEPS = (
    "SAF", "SJF", "our network, first predictions", "our network", "our network, rule killing", "our network, learned killing",
    "SJF, stopping rule",
    "SJF, whole queue", "SJF, whole queue, rule killing", "SJF, whole queue, stopping rule",
)  # fmt: skip
WHOLE_QUEUE = "SJF, whole queue"
COMPARED = ("SJF, whole queue, stopping rule", "our network, learned killing")
"""Schedulers whose difference from SJF with the whole queue is shown where a kill costs time."""
SHOWN_ITERATIONS = (5, 10, 25, 50, 75, 100, 125, 150)
NAMED = "replace(replace(policy, 'DeepRM', 'our network, first predictions'), 'RLSchert', 'our network')"
"""The asset's learned rows are of our network (docs/reference/differences.md), whatever the warehouse calls them."""
SCHEDULER = (
    f"CASE kill WHEN 'none' THEN {NAMED} WHEN 'stopping' THEN {NAMED} || ', stopping rule' "
    f"ELSE {NAMED} || ', ' || kill || ' killing' END"
)
"""As schedulers are called in experiments.rlschert_comparisons, but for what is ours."""
Tables = dict[str, tuple[str, str]]


def vasp_tables(connection: DuckDBPyConnection) -> Tables:
    """By name: the command that makes a table, and the table."""
    scores = connection.sql("FROM predictions.remaining_time_scores WHERE split = 'unseen'").pl()
    both = connection.sql(
        "SELECT source, predictor, split, count(*) // 10 AS runs, 100 * avg(error) AS mean, 100 * median(error) AS median "
        "FROM predictions.remaining_time_trials SEMI JOIN "
        "(SELECT source, folder, outcar, launch, seed FROM predictions.remaining_time_trials WHERE split = 'seen') AS seen "
        "USING (source, folder, outcar, launch, seed) GROUP BY ALL ORDER BY ALL"
    ).pl()
    seeds = connection.sql("SELECT DISTINCT source, seed FROM predictions.remaining_time_trials ORDER BY ALL").pl()
    tables: Tables = {}
    for (source,), rows in scores.group_by("source", maintain_order=True):
        of_source = seeds.filter(pl.col("source") == source)["seed"].to_list()
        command = f"tracehouse vasp run {source}, with the seeds {of_source}"
        tables[f"remaining times, {source}"] = (command, remaining_table(rows))
        of_both = both.filter(pl.col("source") == source)
        if of_both.height:
            tables[f"remaining times of systems that were seen, {source}"] = (command, seen_table(of_both))
    return tables | _rlschert_tables(connection)


def _rlschert_tables(connection: DuckDBPyConnection) -> Tables:
    means = connection.sql(
        f"SELECT source, experiment, setting, part, {SCHEDULER} AS scheduler, avg(slowdown) AS slowdown, "
        "avg(completion) AS completion, avg(kills) AS kills, "
        "list(DISTINCT CASE WHEN policy IN ('DeepRM', 'RLSchert') THEN seed END) AS seeds "
        "FROM experiments.rlschert GROUP BY ALL ORDER BY source, experiment, setting, scheduler"
    ).pl()
    apart = connection.sql(
        f"SELECT * REPLACE ({NAMED} AS policy) FROM experiments.rlschert_comparisons WHERE experiment = 'preemption' "
        "ORDER BY source, setting"
    ).pl()
    curves = connection.sql(
        f"SELECT source, {SCHEDULER} AS scheduler, iteration, avg(validation) AS validation FROM experiments.rlschert_curves "
        "WHERE experiment = 'main' AND validation IS NOT NULL GROUP BY ALL ORDER BY ALL"
    ).pl()
    tables: Tables = {}
    for (source,), rows in means.group_by("source", maintain_order=True):
        seeds = rows["seeds"].explode().drop_nulls().unique().sort().to_list()
        command = f"tracehouse vasp run {source} --job rlschert, with the seeds {seeds}"
        tables[f"rlschert, {source}"] = (command, schedulers_table(rows.filter(pl.col("experiment") == "main")))
        for experiment in SWEPT:
            of_sweep = rows.filter(pl.col("experiment") == experiment)
            others = rows.filter(pl.col("experiment") == "mixed") if experiment == "predictable" else None
            if of_sweep.height:
                lines = sweep_table(experiment, of_sweep, apart.filter(pl.col("source") == source), others)
                tables[f"rlschert {experiment}, {source}"] = (command, lines)
        of_source = curves.filter(pl.col("source") == source)
        if of_source.height:
            tables[f"rlschert training, {source}"] = (command, training_table(of_source))
    return tables


def remaining_table(scores: pl.DataFrame) -> str:
    """scores: of one source and split. Mean (median) error in percent by share of the steps."""
    lines = []
    for ionic, label in IONIC.items():
        of_kind = {
            (row["predictor"], row["progress"]): row for row in scores.filter(pl.col("ionic") == ionic).to_dicts()
        }
        first = True
        for predictor, name in TRIED.items():
            rows = [of_kind.get((predictor, tenth)) for tenth in TENTHS]
            if not any(rows):
                continue
            cells = []
            for row in rows:
                cells.append("" if row is None else f"{row['mape']:,.0f} ({row['median_error']:,.0f})")
            row = next(row for row in rows if row is not None)
            lines.append(
                [f"{label}: {name}" if first else name, f"{row['runs']}, {row['systems']}" if first else "", *cells]
            )
            first = False
    return markdown(
        ["", "runs, systems", "before", *(f"{tenth:.0%}".replace("%", " %") for tenth in TENTHS[1:])], lines
    )


def seen_table(rows: pl.DataFrame) -> str:
    """rows: predictor, split, mean and median error in percent, on the runs that both kinds of split have."""
    of = {(row["predictor"], row["split"]): row for row in rows.to_dicts()}
    lines = [
        [
            name,
            *(
                f"{of[predictor, split]['mean']:,.1f} ({of[predictor, split]['median']:,.1f})"
                for split in ("seen", "unseen")
            ),
        ]
        for predictor, name in TRIED.items()
        if (predictor, "seen") in of
    ]
    return markdown(["", "seen", "unseen"], lines)


def schedulers_table(rows: pl.DataFrame) -> str:
    """rows: of the main trials, by scheduler and part. The slowest first."""
    of = {(row["scheduler"], row["part"]): row for row in rows.to_dicts()}
    names = sorted({name for name, _ in of}, key=lambda name: -of[name, "test"]["slowdown"])
    lines = []
    for name in names:
        test = of[name, "test"]
        seen = of[name, "training"]["slowdown"]
        kills = f"{test['kills']:.1f}" if test["kills"] else ""
        lines.append([name, f"{seen:.2f}", f"{test['slowdown']:.2f}", kills, f"{test['completion']:.1f}"])
    return markdown(["", "slowdown, seen in training", "slowdown, unseen", "kills", "completion, unseen"], lines)


def sweep_table(experiment: str, rows: pl.DataFrame, apart: pl.DataFrame, others: pl.DataFrame | None = None) -> str:
    """Mean slowdowns by setting. apart: comparisons, for what a kill costs. others: with half other applications."""
    settings = rows["setting"].unique().sort().to_list()
    titles = [f"{100 * setting:.0f} %" if experiment == "predictable" else f"{setting:g}" for setting in settings]
    slowdown = {(row["scheduler"], row["setting"]): row["slowdown"] for row in rows.to_dicts()}
    mixed = {row["scheduler"]: row["slowdown"] for row in others.to_dicts()} if others is not None else {}
    lines = []
    for name in OF_SWEEPS:
        if (name, settings[0]) in slowdown:
            cells = [f"{slowdown[name, setting]:.2f}" for setting in settings]
            lines.append([name, *cells, *([f"{mixed[name]:.2f}"] if mixed else [])])
    if experiment == "preemption":
        for name in COMPARED:
            pairs = apart.filter((pl.col("policy") == name) & (pl.col("rival") == WHOLE_QUEUE)).to_dicts()
            if pairs:
                intervals = [
                    f"{row['difference']:+.2f} ({row['difference_low']:+.2f} to {row['difference_high']:+.2f})"
                    for row in pairs
                ]
                lines.append([f"{name}, less {WHOLE_QUEUE}", *intervals])
    return markdown([SWEPT[experiment], *titles, *(["half other applications"] if mixed else [])], lines)


def training_table(rows: pl.DataFrame) -> str:
    """Slowdown on the validation sequences by iteration, mean of the seeds."""
    of = {(row["scheduler"], row["iteration"]): row["validation"] for row in rows.to_dicts()}
    shown = [iteration for iteration in SHOWN_ITERATIONS if iteration in rows["iteration"].to_list()]
    lines = [
        [name, *(f"{of[name, iteration]:.2f}" if (name, iteration) in of else "" for iteration in shown)]
        for name in rows["scheduler"].unique(maintain_order=True)
    ]
    return markdown(["iteration", *map(str, shown)], lines)
