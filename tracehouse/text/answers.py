"""What reading commands print with --json, as plain values. Times are seconds, waits of many jobs are in hours, shares are of 1, and what
is not known is None. Keys are those of docs/json_keys.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from assets.replaying.own.over_asking import OverAsking
    from assets.replaying.own.wait_causes import WaitCauses
    from assets.usage.node_use import NodeUse
    from assets.usage.two_periods import TwoPeriods
    from assets.usage.waits_and_waste import WaitsAndWaste

HOUR_S = 3600
_STARTED = {"started_in_1h": "started_within_1h", "started_in_24h": "started_within_24h"}
_WAITS = ("mean_wait", "median_wait", "p95_wait", "max_wait")


def in_seconds(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose waits in hours, such as mean_wait_h, are in seconds, as mean_wait_s. waited_h becomes hours, which are those waited."""
    values = {}
    for name, value in row.items():
        stem, unit, rest = name.partition("_h")
        if name == "waited_h":
            values["hours"] = value
        elif unit and stem in _WAITS:
            values[f"{stem}{rest}_s"] = None if value is None else HOUR_S * value
        else:
            values[name] = value
    return values


def grouped(kinds: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Rows of groups by kind, in which the group has the name of its kind as key, in place of `value`. The key `kind` goes."""
    return {
        kind: [{kind: row["value"]} | {k: v for k, v in row.items() if k not in ("kind", "value")} for row in rows]
        for kind, rows in kinds.items()
    }


def who_values(source: str, result: WaitsAndWaste, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Waits and waste of a source: of all jobs, and of all groups of these kinds."""
    groups = {kind: result.groups(kind).to_dicts() for kind in kinds}
    whole = {name: value for name, value in result.whole.items() if name not in ("kind", "value")}
    rows = grouped({kind: [in_seconds(row) for row in of_kind] for kind, of_kind in groups.items()})
    return {"source": source, "period": result.words or None} | in_seconds(whole) | {"by": rows}


def nodes_values(source: str, use: NodeUse | None, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Who held nodes, and what stood idle. use: None where the log does not say which nodes its jobs held."""
    if use is None:
        return {"source": source, "moments": 0, "strange_nodes": 0, "states": [], "by": {}}
    return {
        "source": source,
        "moments": use.moments,
        "strange_nodes": use.strange_nodes,
        "states": use.states.to_dicts(),
        "by": grouped({kind: use.holders[kind].to_dicts() for kind in kinds}),
    }


def waste_values(source: str, result: OverAsking, kinds: tuple[str, ...]) -> dict[str, Any]:
    """What was asked for and not used. Mean waits are those of replays: as asked, with better requests, and with right ones."""
    whole = {name: value for name, value in result.unused["all"].row(0, named=True).items() if name != "value"}

    def waits(kind: str) -> list[dict[str, Any]]:
        hours = result.waits[kind].to_dicts() if result.waits else []
        names = ("asked", "better", "right")
        return [
            {"value": row["value"], "jobs": row["jobs"]}
            | {f"mean_wait_{name}_s": None if row[name] is None else HOUR_S * row[name] for name in names}
            for row in hours
        ]

    def costs(kind: str) -> list[dict[str, Any]]:
        rows = result.culprits.filter(result.culprits["kind"] == kind).to_dicts() if result.culprits.height else []
        return [
            {"value": row["value"], "others_hours": row["others_hours"], "others_hours_low": row["low"]}
            | {"others_hours_high": row["high"]}
            for row in rows
        ]

    every = [{name: value for name, value in row.items() if name != "value"} for row in waits("all")]
    return (
        {"source": source}
        | whole
        | {
            "basis": result.basis or None,
            "copies": result.copies,
            "replayed": every[0] if every else None,
            "saved_s": [HOUR_S * each for each in result.saved] if every else None,
            "by": grouped({kind: result.unused[kind].to_dicts() for kind in kinds}),
            "replayed_by": grouped({kind: waits(kind) for kind in kinds}),
            "costs_by": grouped({kind: costs(kind) for kind in kinds}),
        }
    )


def why_values(
    source: str, causes: WaitCauses, rows: pl.DataFrame, words: str, kinds: tuple[str, ...], with_jobs: bool = False
) -> dict[str, Any]:
    """Why the jobs of `rows` waited. words: which they are, empty for all. with_jobs: each of them, too. jobs, hours, mean_wait_s: of those
    that started. left_jobs, left_hours: of those that left the queue before. Causes and groups are of both."""
    started, left = rows.filter(rows["start_s"].is_not_null()), rows.filter(is_left(rows))
    hours, left_hours = (float(part["wait_s"].sum()) / HOUR_S for part in (started, left))
    values: dict[str, Any] = {
        "source": source,
        "chosen": words or None,
        "basis": causes.basis,
        "jobs": started.height,
        "hours": hours,
        "mean_wait_s": HOUR_S * hours / started.height if started.height else None,
        "left_jobs": left.height,
        "left_hours": left_hours,
        "odd_layouts": causes.odd_layouts,
        "left_out": causes.left_out,
        "causes": _cause_values(causes.of(rows), hours + left_hours),
        "by": grouped({kind: causes.by_group(rows, kind).to_dicts() for kind in kinds}),
        "limits": causes.limits(rows).to_dicts(),
    }
    if with_jobs:
        values["waits"] = [_job_values(causes, rows[k]) for k in range(rows.height)]
    return values


def is_left(rows: pl.DataFrame) -> pl.Series:
    """Which jobs left the queue without a start, and had waited until then. rows: of WaitCauses.jobs."""
    return rows["start_s"].is_null() & (rows["wait_s"] > 0)


def _job_values(causes: WaitCauses, row: pl.DataFrame) -> dict[str, Any]:
    job = row.row(0, named=True)
    names = (
        "user",
        "account",
        "queue",
        "qos",
        "submit_s",
        "start_s",
        "wait_s",
        "behind_job",
        "behind_user",
        "behind_s",
        "limit",
    )
    return (
        {"job": job["job_id"]}
        | {name: job[name] for name in names}
        | {"causes": _cause_values(causes.of(row), job["wait_s"] / HOUR_S)}
    )


def _cause_values(table: pl.DataFrame, hours: float) -> list[dict[str, Any]]:
    from simulator.slurm.waiting.words import CAUSE_WORDS

    return [
        {"cause": row["cause"], "words": CAUSE_WORDS[row["cause"]], "hours": row["hours"]}
        | {"share": row["hours"] / hours if hours else 0.0, "jobs": row["jobs"]}
        for row in table.sort("hours", descending=True).iter_rows(named=True)
    ]


def periods_values(source: str, result: TwoPeriods, kinds: tuple[str, ...]) -> dict[str, Any]:
    """A period beside an earlier one, whose figures are in `before`, null where there is none."""
    *before, now = (in_seconds(row) for row in result.whole.rename(_STARTED).to_dicts())
    rows = {kind: [in_seconds(row) for row in result.groups.filter(kind=kind).to_dicts()] for kind in kinds}
    return {
        "source": source,
        "period": result.later.words,
        **now,
        "before": None if result.earlier is None else {"period": result.earlier.words} | before[0],
        "since": result.since,
        "mean_wait_before_since_s": None if result.before_h is None else HOUR_S * result.before_h,
        "mean_wait_after_since_s": None if result.after_h is None else HOUR_S * result.after_h,
        "by": grouped(rows),
    }
