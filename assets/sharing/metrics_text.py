"""The last results as text of the Prometheus format, for node_exporter's textfile collector.

The format: Prometheus, "Exposition formats", text-based format 0.0.4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import duckdb

import sql
from warehouse import Warehouse

MONTH = "submitted in the last month that a later one follows, or in the only one"
MONTH_FIGURES = {
    "jobs": ("jobs", f"Jobs {MONTH}."),
    "average_wait_s": ("wait_mean_seconds", f"Mean wait of the jobs {MONTH}, of those that started."),
    "median_wait_s": ("wait_median_seconds", f"Median wait of the jobs {MONTH}, of those that started."),
    "p95_wait_s": ("wait_p95_seconds", f"95th percentile of the waits of the jobs {MONTH}, of those that started."),
    "started_within_1h": (
        "started_within_1h_ratio",
        f"Share of the jobs {MONTH} that waited an hour at most, of those that started.",
    ),
    "covered_share": ("covered_ratio", "Share of that month that the log covers."),
}
"""Columns of the query marts.month_figures, and what their gauges are called."""
SOURCE_FIGURES = {
    "jobs": ("jobs", "Jobs in the warehouse."),
    "rejected_lines": ("rejected_lines", "Lines of the log that should have held a record and do not."),
    "newest_submission_s": ("newest_submission_timestamp_seconds", "Submission of the newest job that was read."),
    "log_changed_s": ("log_changed_timestamp_seconds", "Last change of the newest log file that was read."),
    "cluster_procs": ("cluster_processors", "Processors of the cluster."),
    "utilisation": (
        "month_utilisation_ratio",
        "Share of the processors in use, mean over the days of that month.",
    ),
    "mean_absolute_error_s": (
        "runtime_model_error_seconds",
        "Mean absolute error of the champion on the jobs it was tested on.",
    ),
    "error_ratio": (
        "runtime_model_drift_ratio",
        "Mean error of the champion on the newest jobs over that on its test jobs.",
    ),
    "grade": ("fidelity_grade", "How far replays can be trusted, 1 (grade A) to 4 (grade D)."),
}
"""Columns of the query marts.source_figures, and what their gauges are called."""


class Gauge(NamedTuple):
    """A metric of Prometheus. samples: labels and values."""

    name: str
    meaning: str
    samples: list[tuple[dict[str, str], float]]


def metrics_text(warehouse: Warehouse, sources: list[str]) -> str:
    """The gauges of some sources, or of all of the warehouse where none is named. Raises ValueError for one that it does not have."""
    with warehouse.read() as connection:
        return exposition_text(_gauges(connection, sources))


def metrics_values(warehouse: Warehouse, sources: list[str]) -> list[dict[str, Any]]:
    """The same figures as plain values, for each source: those of SOURCE_FIGURES, and of MONTH_FIGURES in `month` (None without dates) and
    in `queues`. The grade is a letter. Raises as `metrics_text`."""
    with warehouse.read() as connection:
        months, rows = _figures(connection, sources)
    for row in months:
        row["mean_wait_s"] = row.pop("average_wait_s")
    values = []
    for row in rows:
        of_source = [month for month in months if month["source"] == row["source"]]
        whole, queues = (of_source[0], of_source[1:]) if of_source else (None, [])
        figures = {name: row[name] for name in ("source", *SOURCE_FIGURES)}
        figures["grade"] = None if row["grade"] is None else "ABCD"[row["grade"] - 1]
        of_queues = [{name: value for name, value in each.items() if name != "source"} for each in queues]
        month = None if whole is None else {k: value for k, value in whole.items() if k not in ("source", "queue")}
        values.append(figures | {"month": month, "queues": of_queues})
    return values


def _figures(
    connection: duckdb.DuckDBPyConnection, sources: list[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of marts.month_figures and of marts.source_figures. Raises ValueError for a source that the warehouse does not have."""
    stored = [source for (source,) in connection.execute("SELECT source FROM core.sources ORDER BY ALL").fetchall()]
    missing = [source for source in sources if source not in stored]
    if missing:
        raise ValueError(
            f"source {missing[0]!r} is not in the warehouse yet: load it with `tracehouse run {missing[0]} --job ingest`"
        )
    chosen = sources or stored
    months = connection.sql(sql.load("marts.month_figures"), params={"sources": chosen}).pl().to_dicts()
    begins = {row["source"]: row["month_s"] for row in months}
    parameters = {"sources": chosen, "month_sources": list(begins), "month_begins": list(begins.values())}
    return months, connection.sql(sql.load("marts.source_figures"), params=parameters).pl().to_dicts()


def _gauges(connection: duckdb.DuckDBPyConnection, sources: list[str]) -> list[Gauge]:
    months, rows = _figures(connection, sources)
    begins = {row["source"]: row["month_s"] for row in months}
    gauges = [
        Gauge(f"tracehouse_{name}", meaning, _samples(rows, column))
        for column, (name, meaning) in SOURCE_FIGURES.items()
    ]
    gauges.append(
        Gauge(
            "tracehouse_month_start_timestamp_seconds",
            "First day of the last month that a later one follows, or of the only one.",
            [({"source": source}, second) for source, second in begins.items()],
        )
    )
    whole, queues = ([row for row in months if (row["queue"] is None) == of_all] for of_all in (True, False))
    for column, (name, meaning) in MONTH_FIGURES.items():
        gauges.append(Gauge(f"tracehouse_month_{name}", meaning, _samples(whole, column)))
        gauges.append(Gauge(f"tracehouse_queue_month_{name}", f"By queue: {meaning}", _samples(queues, column)))
    return gauges


def _samples(rows: list[dict[str, Any]], column: str) -> list[tuple[dict[str, str], float]]:
    """One for each row that has a value. Labels: the source, and the queue where rows have one."""
    return [
        ({name: row[name] for name in ("source", "queue") if row.get(name) is not None}, row[column])
        for row in rows
        if row[column] is not None
    ]


def exposition_text(gauges: list[Gauge]) -> str:
    """The gauges that have samples, in the text format."""
    lines = []
    for gauge in gauges:
        if not gauge.samples:
            continue
        meaning = gauge.meaning.replace("\\", r"\\").replace("\n", r"\n")
        lines += [f"# HELP {gauge.name} {meaning}", f"# TYPE {gauge.name} gauge"]
        for labels, value in gauge.samples:
            named = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            lines.append(f"{gauge.name}{{{named}}} {value!r}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
