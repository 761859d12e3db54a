"""The most of something that a log's jobs had at a time, by user, account or queue, to hold it against a limit."""

from __future__ import annotations

import polars as pl

BEGIN, END, AMOUNT, PROMISED = "begin_s", "end_s", "amount", "promised_s"
SUSPENSIONS = "suspensions"
"""When a job was suspended and held nothing: a list of from_s and to_s, in order, between its begin and its end."""
SUSPENSIONS_TYPE = pl.List(pl.Struct({"from_s": pl.Int64, "to_s": pl.Int64}))


def held_spans(jobs: pl.DataFrame) -> pl.DataFrame:
    """A row for each time in which a job held what it had: one for most jobs, several for one that was suspended.

    jobs: with begin_s, end_s, promised_s and suspensions, which are null for jobs that were not suspended. A job that was suspended may
    run for as much longer.
    """
    was_suspended = (pl.col(SUSPENSIONS).list.len() > 0).fill_null(False)
    suspensions = pl.col(SUSPENSIONS).list
    spans = (
        jobs.filter(was_suspended)
        .with_row_index("job")
        .with_columns(
            first_s=BEGIN,
            begin_s=pl.concat_list(BEGIN, suspensions.eval(pl.element().struct.field("to_s"))),
            end_s=pl.concat_list(suspensions.eval(pl.element().struct.field("from_s")), END),
        )
        .explode(BEGIN, END)
    )
    length = pl.col(END) - pl.col(BEGIN)
    used = length.cum_sum().over("job") - length
    spans = spans.with_columns(promised_s=pl.col(PROMISED) + pl.col(BEGIN) - pl.col("first_s") - used)
    return pl.concat([jobs.filter(~was_suspended), spans.filter(length > 0).select(jobs.columns)])


def peaks_over(jobs: pl.DataFrame, by: str | None, bound: int) -> pl.DataFrame:
    """Of each group of jobs whose sum of amounts was above `bound`, a row: `by`, "peak", and "job_id" that took it over the bound first.

    jobs: job_id, `by` (None for all together), and the columns begin_s, end_s and amount. A job counts from its begin to before its end, so
    one that begins where another ends is not beside it.
    """
    return _over(_events(jobs, by), by, bound, pl.col("sum"))


def outstanding_over(jobs: pl.DataFrame, by: str | None, bound: int) -> pl.DataFrame:
    """The same for amounts times the seconds that running jobs may still use. promised_s: until when a job may run."""
    events = _events(jobs.with_columns(promise=pl.col(AMOUNT) * pl.col(PROMISED)), by, "promise")
    return _over(events, by, bound, pl.col("sum_of_promise") - pl.col("time_s") * pl.col("sum"))


def _events(jobs: pl.DataFrame, by: str | None, *further: str) -> pl.DataFrame:
    """Begins and ends in order of time, ends first, with running sums within each group."""
    columns = ["job_id", *([by] if by else [])]
    amounts = (AMOUNT, *further)
    begins = jobs.select(*columns, pl.col(BEGIN).alias("time_s"), pl.lit(1).alias("step"), *amounts)
    ends = jobs.select(
        *columns, pl.col(END).alias("time_s"), pl.lit(-1).alias("step"), *(-pl.col(name) for name in amounts)
    )
    events = pl.concat([begins, ends]).sort("time_s", "step", maintain_order=True)
    sums = [
        pl.col(AMOUNT).cum_sum().alias("sum"),
        *(pl.col(name).cum_sum().alias(f"sum_of_{name}") for name in further),
    ]
    return events.with_columns(each.over(by) if by else each for each in sums)


def _over(events: pl.DataFrame, by: str | None, bound: int, value: pl.Expr) -> pl.DataFrame:
    over = events.with_columns(value=value).filter((pl.col("step") == 1) & (pl.col("value") > bound))
    columns = [pl.col("value").max().alias("peak"), pl.col("job_id").first(), pl.len().alias("starts")]
    if by:
        return over.group_by(by, maintain_order=True).agg(columns)
    return (
        over.select(columns)
        if over.height
        else over.select(pl.col("value").alias("peak"), "job_id", pl.lit(0).alias("starts"))
    )
