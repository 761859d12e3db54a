"""Whose waits grow and shrink: jobs of a scenario and of the base, by account, user, size, queue and QOS."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.replay.scenarios.pairing import SECONDS_PER_HOUR
from simulator.metrics.metrics import SIZE_CLASSES, size_classes

IntArray = NDArray[np.int64]
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
    "within_spread": pl.Boolean,
}


def labelled_jobs(rows: pl.DataFrame, cluster_procs: int) -> pl.DataFrame:
    """job_index, and the groups that jobs belong to. Their columns are account where the log has accounts, user, size, and queue and qos
    where there are several.

    rows: of a trace, with the columns user_name, account, queue and qos. cluster_procs: of the base.
    """
    sizes = size_classes(rows["procs"].to_numpy(), cluster_procs)
    labels: dict[str, pl.Expr | pl.Series] = {
        **({"account": pl.col("account").fill_null(NONE)} if rows["account"].null_count() < rows.height else {}),
        "user": pl.col("user_name").fill_null(NONE),
        "size": pl.Series(sizes).replace_strict(dict(enumerate(SIZE_CLASSES)), return_dtype=pl.Utf8),
    }
    labels |= {name: pl.col(name).fill_null(NONE) for name in ("queue", "qos") if rows[name].n_unique() > 1}
    return rows.select("job_index", **labels)


def fate_of_groups(
    scenario: str, waits: pl.DataFrame, labels: pl.DataFrame, runs: tuple[IntArray, IntArray] | None = None
) -> pl.DataFrame:
    """A row for each group with the columns of GROUP_SCHEMA, those whose jobs wait longer in total first.

    waits: of assets.replay.scenarios.pairing.paired_waits. labels: of labelled_jobs. Waits are means over jobs, in hours.
    total_change_h is the change summed over jobs. runs: waits of the same jobs in each run of the base and of the scenario,
    (runs, jobs). within_spread: whether mean waits of a group in the runs of the one are among those of the other, null where both
    ran once.
    """
    change = pl.col("wait_s") - pl.col("base_wait_s")
    jobs = waits.join(labels, on="job_index", how="left", maintain_order="left")
    parts = []
    spread = runs is not None and max(len(each) for each in runs) > 1
    if spread and runs is not None:
        jobs = jobs.with_columns(
            **{
                f"{which}_{k}": pl.Series(row)
                for which, each in zip("ab", runs, strict=True)
                for k, row in enumerate(each)
            }
        )
    for name in labels.columns[1:]:
        groups = jobs.group_by(pl.col(name).alias("group")).agg(
            jobs=pl.len().cast(pl.Int64),
            base_wait_h=pl.col("base_wait_s").mean() / SECONDS_PER_HOUR,
            wait_h=pl.col("wait_s").mean() / SECONDS_PER_HOUR,
            change_h=change.mean() / SECONDS_PER_HOUR,
            total_change_h=change.sum() / SECONDS_PER_HOUR,
            jobs_longer_by_1h=(change > SECONDS_PER_HOUR).sum().cast(pl.Int64),
            jobs_shorter_by_1h=(change < -SECONDS_PER_HOUR).sum().cast(pl.Int64),
            within_spread=_within_spread() if spread else pl.lit(None, dtype=pl.Boolean),
        )
        ordered = groups.sort("total_change_h", "group", descending=[True, False])
        parts.append(
            ordered.with_columns(scenario=pl.lit(scenario), grouped_by=pl.lit(name)).select(list(GROUP_SCHEMA))
        )
    return pl.concat(parts)


def _within_spread() -> pl.Expr:
    """Whether the means of a group in the columns a_0, a_1, ... and b_0, b_1, ... overlap."""
    ends = {
        which: (
            pl.min_horizontal(pl.col(f"^{which}_\\d+$").mean()),
            pl.max_horizontal(pl.col(f"^{which}_\\d+$").mean()),
        )
        for which in "ab"
    }
    return (ends["a"][0] <= ends["b"][1]) & (ends["b"][0] <= ends["a"][1])


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
