"""Whose waits grow and shrink: jobs of a scenario beside the base, by account or user, by size and by queue."""

from __future__ import annotations

import polars as pl

from assets.replay.scenarios.pairing import SECONDS_PER_HOUR
from simulator.metrics.metrics import SIZE_CLASSES, size_classes

NONE = "(none)"
"""The group of jobs whose account or queue the log does not know."""
GROUP_SCHEMA = {
    "scenario": pl.Utf8,
    "grouped_by": pl.Utf8,
    "group": pl.Utf8,
    "jobs": pl.Int64,
    "base_wait_h": pl.Float64,
    "wait_h": pl.Float64,
    "change_h": pl.Float64,
    "total_change_h": pl.Float64,
    "jobs_longer_by_1h": pl.Int64,
    "jobs_shorter_by_1h": pl.Int64,
}


def labelled_jobs(rows: pl.DataFrame, cluster_procs: int) -> pl.DataFrame:
    """job_index, and the groups that jobs belong to. Their columns are account (user where the log has no account), size, and queue
    where there are several.

    rows: of a trace, with the columns user_name, account and queue. cluster_procs: of the base.
    """
    payer = "account" if rows["account"].null_count() < rows.height else "user"
    column = "account" if payer == "account" else "user_name"
    sizes = size_classes(rows["procs"].to_numpy(), cluster_procs)
    labels: dict[str, pl.Expr | pl.Series] = {
        payer: pl.col(column).fill_null(NONE),
        "size": pl.Series(sizes).replace_strict(dict(enumerate(SIZE_CLASSES)), return_dtype=pl.Utf8),
    }
    if rows["queue"].n_unique() > 1:
        labels["queue"] = pl.col("queue").fill_null(NONE)
    return rows.select("job_index", **labels)


def fate_of_groups(scenario: str, waits: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """A row for each group with the columns of GROUP_SCHEMA, those whose jobs wait longer in total first.

    waits: of assets.replay.scenarios.pairing.paired_waits. labels: of labelled_jobs. Waits are means over jobs, in hours.
    total_change_h is the change summed over jobs.
    """
    change = pl.col("wait_s") - pl.col("base_wait_s")
    jobs = waits.join(labels, on="job_index", how="left", maintain_order="left")
    parts = []
    for name in labels.columns[1:]:
        groups = jobs.group_by(pl.col(name).alias("group")).agg(
            jobs=pl.len().cast(pl.Int64),
            base_wait_h=pl.col("base_wait_s").mean() / SECONDS_PER_HOUR,
            wait_h=pl.col("wait_s").mean() / SECONDS_PER_HOUR,
            change_h=change.mean() / SECONDS_PER_HOUR,
            total_change_h=change.sum() / SECONDS_PER_HOUR,
            jobs_longer_by_1h=(change > SECONDS_PER_HOUR).sum().cast(pl.Int64),
            jobs_shorter_by_1h=(change < -SECONDS_PER_HOUR).sum().cast(pl.Int64),
        )
        ordered = groups.sort("total_change_h", "group", descending=[True, False])
        parts.append(
            ordered.with_columns(scenario=pl.lit(scenario), grouped_by=pl.lit(name)).select(list(GROUP_SCHEMA))
        )
    return pl.concat(parts)


def most_changed(groups: pl.DataFrame, top: int) -> list[tuple[str, str, pl.DataFrame]]:
    """(grouped by, "longer" or "shorter", the first `top` groups) of one scenario, where any group changes. Those whose jobs wait longer
    (or shorter) by most hours in total come first."""
    parts = []
    for name in groups["grouped_by"].unique(maintain_order=True):
        of_kind = groups.filter(grouped_by=name)
        longer = of_kind.filter(pl.col("total_change_h") > 0).head(top)
        shorter = of_kind.filter(pl.col("total_change_h") < 0).reverse().head(top)
        parts += [(name, word, part) for word, part in (("longer", longer), ("shorter", shorter)) if part.height]
    return parts
