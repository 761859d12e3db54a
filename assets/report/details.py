"""The last section of the report: where the numbers come from, and all of them, for those who want to know."""

from __future__ import annotations

from typing import Any

import polars as pl

from assets.replay.limits.unhonoured import origin_words
from assets.report.changes import full_name, lot_name, lot_range
from assets.report.comparison import Comparison
from assets.report.logged import LoggedSystem
from assets.report.page import Block, Bullets, Heading, Section, Table, TermList
from assets.report.words import NAMES_EXPLAINED, amount, count, duration_text, share, size_names
from models.judging.verdict import NOBODY_PAYS_MORE, VERDICT_MEANING
from simulator.metrics.metrics import SEMANTICS
from warehouse import Warehouse

_QUERIES = {
    "lines": "SELECT * FROM marts.ingest_summary WHERE source = $source",
    "about": "SELECT format, time_zone_from FROM core.sources WHERE source = $source",
    "findings": "SELECT finding, found, unit, share, example FROM marts.trace_health WHERE source = $source AND found > 0 ORDER BY finding",
    "parts": (
        "SELECT part, value, jobs, grade, logged_wait_s, replayed_wait_s, alike, rank_correlation FROM replay.fidelity "
        "WHERE source = $source AND part <> 'all' AND logged_wait_s IS NOT NULL ORDER BY part DESC, value"
    ),
    "predictors": (
        "SELECT predictor, jobs, median_absolute_error_s, mean_absolute_error_s, underestimated_share FROM predictions.runtime_scores "
        "WHERE source = $source AND user_class = 'all users' ORDER BY mean_absolute_error_s, predictor"
    ),
}


def read_details(warehouse: Warehouse, source: str) -> dict[str, pl.DataFrame]:
    """The rows of _QUERIES, by name."""
    with warehouse.read() as connection:
        return {name: connection.sql(query, params={"source": source}).pl() for name, query in _QUERIES.items()}


def details_section(logged: LoggedSystem, comparison: Comparison, rows: dict[str, pl.DataFrame]) -> Section:
    """Facts about the log, its faults, all schedulers, grades of parts, predicted run times, and what the names mean."""
    blocks: list[Block] = [Heading("The log"), TermList(_facts(logged, comparison, rows)), *_findings(rows["findings"])]
    blocks += _all_schedulers(comparison)
    blocks += _grades(logged, rows["parts"].to_dicts())
    blocks += _predictors(rows["predictors"].to_dicts())
    blocks += [
        Heading("What the names of schedulers mean"),
        Bullets([f"{name}: {text}" for name, text in NAMES_EXPLAINED.items()]),
    ]
    blocks += [
        Heading("What the verdicts mean"),
        Bullets([f"{name}: {text}" for name, text in VERDICT_MEANING.items()]),
    ]
    blocks.append(
        "Requested times are those that users ask for. Predicted times are those of a model that knew only jobs which had ended. Live "
        f"estimates are the same within the replay. Rules and metrics are semantics {SEMANTICS} of docs/reference/semantics.md."
    )
    return Section("Details", blocks)


def _facts(logged: LoggedSystem, comparison: Comparison, rows: dict[str, pl.DataFrame]) -> list[tuple[str, str]]:
    about = rows["about"].row(0, named=True)
    facts = [
        ("format", about["format"]),
        ("cluster", f"{logged.extent.cluster_procs:,} processors (from the {logged.extent.cluster_procs_from})"),
    ]
    if logged.extent.clock.has_dates:
        nobody = about["format"] != "swf" and about["time_zone_from"] == "assumed"
        assumed = ", assumed: give the right one with `tracehouse ingest --time-zone`" if nobody else ""
        facts.append(("time zone", f"{logged.extent.clock.name}{assumed}"))
    else:
        facts.append(("dates", "none: the log counts from a second that it does not tell"))
    for line in rows["lines"].to_dicts():
        ends = f"{line['accepted']:,} jobs, {line['kept']:,} other records, {line['ignored']:,} ignored, {line['rejected']:,} rejected"
        facts.append(("lines", f"{line['lines']:,} in {count(line['files'], 'file')}: {ends}"))
    facts.append(("rules that hold jobs back", origin_words(logged.extent.source)))
    if comparison.scored:
        facts.append(("compared", f"schedulers on the last {count(comparison.scored, 'job')} that can be replayed"))
    return facts


def _findings(findings: pl.DataFrame) -> list[Block]:
    heading = Heading("What looks wrong in the log")
    if findings.is_empty():
        return [heading, "Nothing was found."]
    rows = [
        [
            row["finding"],
            count(row["found"], row["unit"].removesuffix("s")),
            share(row["share"]) if row["share"] is not None else "",
            row["example"] or "",
        ]
        for row in findings.to_dicts()
    ]
    return [
        heading,
        Table("Nothing of this was taken out", ("finding", "how many", "of all", "example"), rows, text_columns=[3]),
    ]


def _all_schedulers(comparison: Comparison) -> list[Block]:
    if not comparison.ranks or not comparison.has_figures:
        return []
    baseline = comparison.baseline
    assert baseline is not None
    rows = []
    chance = comparison.chance
    if chance is not None:
        numbers = [duration_text(chance.mean_s), duration_text(chance.longest_s), f"{chance.slowdown:,.1f}"]
        rows.append([lot_name(chance), *numbers, lot_range(chance), ""])
    for row in (comparison.logged, baseline, *comparison.tried):
        if row is not None:
            is_tried = row.kind in ("tried", "incumbent") and row is not baseline
            pays = (row.payers or NOBODY_PAYS_MORE) if is_tried else ""
            numbers = [duration_text(row.mean_s), duration_text(row.longest_s), f"{row.slowdown:,.1f}"]
            rows.append([full_name(row), *numbers, row.verdict if is_tried else "", pays])
    columns = ("scheduler", "mean wait", "longest wait", "mean bounded slowdown", "verdict", "who pays")
    caption = "All that were tried, by verdict, below random orders. Bounded slowdown: how many times longer a job took than it ran."
    return [Heading("All schedulers"), Table(caption, columns, rows, text_columns=[4, 5])]


def _grades(logged: LoggedSystem, parts: list[dict[str, Any]]) -> list[Block]:
    if not parts:
        return []
    names = size_names(logged.extent.cluster_procs)
    order = list(names)
    parts = sorted(parts, key=lambda row: order.index(row["value"]) if row["value"] in order else len(order))
    rows = []
    for row in parts:
        waits = [duration_text(row[name]) for name in ("logged_wait_s", "replayed_wait_s")]
        rows.append(
            [
                names.get(row["value"], row["value"]),
                f"{row['jobs']:,}",
                *waits,
                share(row["alike"]),
                row["grade"] or "none",
            ]
        )
    columns = ("part", "jobs", "mean wait in the log", "in the replay", "waits alike", "grade")
    caption = "Second half of the log by size and month. Waits are alike within a minute or a tenth. No grade: hardly anybody waited."
    return [Heading("How well the replay fits, part by part"), Table(caption, columns, rows)]


def _predictors(predictors: list[dict[str, Any]]) -> list[Block]:
    if not predictors:
        return []
    rows = [
        [
            row["predictor"],
            duration_text(row["median_absolute_error_s"]),
            duration_text(row["mean_absolute_error_s"]),
            share(row["underestimated_share"]),
        ]
        for row in predictors
    ]
    caption = f"Errors over {amount(predictors[0]['jobs'])} jobs, each predicted from jobs that had ended before"
    return [
        Heading("How well run times are predicted"),
        Table(caption, ("predictor", "median error", "mean error", "jobs that ran longer"), rows),
    ]
