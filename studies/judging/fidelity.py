"""How far replays of the archive logs can be trusted, and why not further: `python -m studies fidelity`."""

from __future__ import annotations

import polars as pl

import tracehouse
from assets.common.trace import Trace
from assets.replay.fidelity import fidelity_of
from papers.archive import SHARED
from papers.markdown import markdown

LOGS = {
    "KTH-SP2": "KTH-SP2-1996-2.1-cln",
    "CTC-SP2": "CTC-SP2-1996-3.1-cln",
    "HPC2N": "HPC2N-2002-2.2-cln",
    "SDSC-SP2, derived": "SDSC-SP2-1998-derived",
    "NASA iPSC": "NASA-iPSC-1993-3.1-cln",
    "Lublin-1": "lublin_256",
    "Lublin-2": "lublin_256_new2",
}
"""Names, and files of the archive."""
FIGURES = {
    "grade": ("grade", 1, ""),
    "logged mean wait, h": ("logged_wait_s", 1 / 3600, ".1f"),
    "replayed": ("replayed_wait_s", 1 / 3600, ".1f"),
    "logged p95, h": ("logged_p95_wait_s", 1 / 3600, ".1f"),
    "replayed p95": ("replayed_p95_wait_s", 1 / 3600, ".1f"),
    "waits alike": ("alike", 100, ".0f"),
    "rank": ("rank_correlation", 1, ".2f"),
    "waited with room, log": ("logged_room_share", 100, ".0f"),
    "replay": ("replayed_room_share", 100, ".0f"),
}
"""Headings, columns of replay.fidelity, what these are multiplied with, and their format."""

REASONS = (
    "up to 4 h requested: started by day",
    "over 4 h requested: started by day",
    "waited time of one user",
)
"""Of jobs that waited longer than ten minutes; by day is from 8 to 16 h of Monday to Friday."""
WAITED_S, LONG_S, HOURS, FRIDAY = 600, 4 * 3600, (8, 15), 5


def main() -> None:
    lines, without, parts, reasons = [], [], [], []
    for name, file in LOGS.items():
        log = tracehouse.load_log(SHARED / f"{file}.swf.gz")
        result = fidelity_of(log.warehouse, log.trace(labels=["queue"]))
        of_all = result.rows[0]
        if not result.ranked:
            without.append([name, of_all["no_grade_because"]])
            continue
        best = result.ranked[0]
        lines.append([name, f"`{best.policy}`", best.backfill, *cells(of_all)])
        reasons.append([name, *(f"{100 * share:.0f} %" for share in reasons_of(log.trace()))])
        for part in ("size", "month"):
            grades = pl.DataFrame(result.rows, infer_schema_length=None).filter(part=part)["grade"].fill_null("none")
            counts = grades.value_counts(sort=True).sort("grade")
            parts.append([name, part, ", ".join(f"{count} {grade}" for grade, count in counts.iter_rows())])
    print("grades\n\n" + markdown(["log", "fits best", "backfilling", *FIGURES], lines))
    print("\nno grades\n\n" + markdown(["log", "reason"], without))
    print("\nwhat holds jobs back\n\n" + markdown(["log", *REASONS], reasons))
    print("\ngrades of parts\n\n" + markdown(["log", "parts", "grades"], parts))


def reasons_of(trace: Trace) -> list[float]:
    """Shares, in the order of REASONS, of jobs that waited longer than WAITED_S."""
    start = (pl.lit(trace.clock_zero) + pl.duration(seconds="start_s")).dt.replace_time_zone("UTC")
    local = start.dt.convert_time_zone(trace.time_zone)
    waiting = trace.rows.with_columns(
        wait=pl.col("start_s") - pl.col("submit_s"),
        by_day=local.dt.hour().is_between(*HOURS) & (local.dt.weekday() <= FRIDAY),
        is_long=pl.col("requested_walltime_s") > LONG_S,
    ).filter(pl.col("wait") > WAITED_S)
    by_length = {length: waiting.filter(is_long=length)["by_day"].mean() for length in (False, True)}
    by_user = waiting.group_by("user_number").agg(pl.col("wait").sum())["wait"]
    return [by_length[False], by_length[True], by_user.max() / by_user.sum()]  # type: ignore[list-item, operator]


def cells(row: dict[str, object]) -> list[str]:
    """A row of replay.fidelity as it is printed; a dash where it has no value."""
    values = [(row[column], factor, form) for column, factor, form in FIGURES.values()]
    return [
        "-" if value is None else format(value * factor if isinstance(value, float) else value, form)
        for value, factor, form in values
    ]
