"""What `tracehouse queue` prints: the jobs that wait and when they start, as a table, CSV, JSON or one line."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from tracehouse.cli.frame_text import table_text
from tracehouse.cli.json_output import json_text
from tracehouse.text.tables import duration, folded

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from tracehouse.queue import QueueAnswer

_MOST_COMPARED = 10
"""Rows of what is compared."""


def queue_text(answer: QueueAnswer, form: str, width: int | None) -> str:
    """The answer as a table, as one "line", or as "csv" or "json" with all columns, in seconds from now. width: of the terminal, None for
    any."""
    if form == "line":
        return one_line(answer)
    if form == "csv":
        return answer.rows.write_csv()
    compared = {"shares": answer.shares, "factors": answer.factors}
    if form == "json":
        more = {name: table.to_dicts() for name, table in compared.items() if table is not None}
        return json_text({"moment": answer.moment, "lines": answer.lines, "jobs": answer.rows.to_dicts()} | more) + "\n"
    text = "\n".join(folded(line, width) for line in answer.lines) + "\n"
    if answer.rows.height:
        text += table_text(_shown(answer.rows), width)
    if answer.shares is not None and answer.shares.height:
        text += f"\nfair shares of now{_of_most(answer.shares.height)}\n" + table_text(
            _shown_shares(answer.shares), width
        )
    if answer.factors is not None and (differing := _shown_factors(answer.factors)).height:
        text += f"\npriority factors that differ{_of_most(differing.height)}\n"
        text += table_text(differing.head(_MOST_COMPARED), width)
    return text


def one_line(answer: QueueAnswer) -> str:
    """What a message of the day says: how many jobs wait, and when half of them and nine in ten start, by their medians."""
    rows = answer.rows
    if "start_p50_s" not in rows.columns or not (starts := rows.drop_nulls("start_p50_s").sort("start_p50_s")).height:
        return f"{answer.moment}: no job waits that is known to start\n"
    half, most = (starts["start_p50"][ceil(starts.height * share) - 1] for share in (0.5, 0.9))
    jobs = f"{starts.height:,} jobs wait" if starts.height > 1 else "1 job waits"
    more = rows.height - starts.height
    unknown = f", of {more:,} more nobody knows" if more else ""
    return f"{answer.moment}: {jobs}, half of them start by {half}, nine in ten by {most}{unknown}\n"


def _of_most(rows: int) -> str:
    return f", {_MOST_COMPARED} of {rows:,} (--json has all)" if rows > _MOST_COMPARED else ""


def _shown_shares(shares: pl.DataFrame) -> pl.DataFrame:
    """The users whose factor by the log is furthest from that of sshare. Usage is a part of that of all users."""
    import polars as pl

    part = {
        name: (100 * pl.col(column) / pl.col(column).sum()).round(1).fill_nan(0.0)
        for name, column in (("usage %", "usage"), ("by the log %", "log_usage"))
    }
    shares = shares.with_columns(**part)
    difference = (pl.col("fair_share") - pl.col("log_computed")).abs()
    shares = shares.sort(difference, "account", "user", descending=[True, False, False]).head(_MOST_COMPARED)
    factors = {"FairShare": "fair_share", "from its usage": "computed", "from the log": "log_computed"}
    return shares.select("account", "user", *part, **{name: pl.col(of).round(4) for name, of in factors.items()})


def _shown_factors(factors: pl.DataFrame) -> pl.DataFrame:
    """The jobs of which a part of the priority differs, those with the largest difference of the whole first."""
    import polars as pl

    rows = factors.filter(pl.col("differing").list.len() > 0)
    rows = rows.sort((pl.col("priority") - pl.col("computed")).abs(), "job", descending=[True, False])
    words = [
        ", ".join(f"{name} {row[name]:,} computed {row[f'computed_{name}']:,}" for name in row["differing"])
        for row in rows.to_dicts()
    ]
    return rows.select("job", "queue", "priority", "computed").with_columns(pl.Series("differing", words, pl.Utf8))


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns that people read: lengths of time in words."""
    import polars as pl

    def words(name: str) -> pl.Series:
        seconds = rows[name].to_list()
        signs = ["-" if second is not None and second < 0 else "" for second in seconds]
        texts = [
            "" if second is None else sign + duration(abs(second)) for sign, second in zip(signs, seconds, strict=True)
        ]
        return pl.Series(texts, dtype=pl.Utf8)

    shown = rows.select("job", "user", "procs").with_columns(words("waited_s").alias("waited"))
    if "start_p50" in rows.columns:
        short = _shortener(rows)
        ends = (short(rows[name]) for name in ("start_p10", "start_p90"))
        between = [f"{low} to {high}" if low else "" for low, high in zip(*ends, strict=True)]
        shown = shown.with_columns(pl.Series("starts", short(rows["start_p50"])), pl.Series("80 % interval", between))
    if "change_s" in rows.columns:
        rival = pl.Series("under the other", short(rows["rival_start_p50"]))
        shown = shown.with_columns(rival, words("change_s").alias("change"))
    if "why" in rows.columns:
        from tracehouse.app.queue_page import why_words

        shown = shown.with_columns(
            pl.Series("why", [why_words(row) for row in rows.to_dicts()]), rows["reason"].fill_null("")
        )
    shown = shown.with_columns(words("requested_s").alias("requested"), rows["queue"].fill_null(""))
    held = rows["not_predicted"].fill_null("")
    return shown.with_columns(held) if (held != "").any() else shown


def _shortener(rows: pl.DataFrame) -> Callable[[pl.Series], list[str]]:
    """What leaves the weekday out of local times, and the year, if all of them are of the same. Seconds of a log's own clock stay."""
    weekday, year = len("Sun "), len("2026-")
    names = [name for name in ("start_p10", "start_p50", "start_p90", "rival_start_p50") if name in rows.columns]
    years = {text[weekday : weekday + year] for name in names for text in rows[name].to_list() if text}
    left_out = weekday + (year if len(years) == 1 else 0)

    def short(times: pl.Series) -> list[str]:
        texts = ["" if text is None else text for text in times.to_list()]
        return [text if text.startswith("second") else text[left_out:] for text in texts]

    return short
