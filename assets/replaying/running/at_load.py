"""What --load does: jobs are submitted more densely, and what was found in the log moves with them.

Time is squeezed from the first submission on, and run times stay. So the size over time that was found in the log is squeezed, too, and so
are hours and dates of rules that were found in it. What somebody gives by date stays, and an order refuses it.
"""

from __future__ import annotations

import polars as pl

from assets.common.trace import Trace
from assets.replaying.limits.way import named_cluster
from assets.replaying.own.clusters import own_cluster
from assets.replaying.running.settings import RunSettings


def rows_at_load(rows: pl.DataFrame, load: float) -> pl.DataFrame:
    """The jobs, submitted `load` times as densely from the first submission on. Jobs that were cancelled waited as long as before."""
    if load == 1 or rows.is_empty():
        return rows
    first = rows.filter(pl.col("job_index") >= 0)["submit_s"].min()  # not of a job that the log has no start of
    submit = first + ((pl.col("submit_s") - first) / load).round().cast(pl.Int64)
    return rows.with_columns(submit_s=submit, cancel_s=submit + pl.col("cancel_s") - pl.col("submit_s"))


def settings_at_load(trace: Trace, settings: RunSettings) -> RunSettings:
    """The settings, with what the cluster lacks while it is smaller at the times of their load."""
    if not settings.outages or trace.rows.is_empty():
        return settings
    first_s = int(trace.rows["submit_s"][0])
    return settings.model_copy(update={"outages": [each.at_load(settings.load, first_s) for each in settings.outages]})


def load_remark(trace: Trace, settings: RunSettings) -> str:
    """What moves with the submissions of another load, and what does not, in a line. "" where there is nothing of either."""
    if settings.load == 1:
        return ""
    if settings.is_on_cluster:
        cluster = own_cluster(trace, trace.rows, settings)
        dated = {
            "reservations": cluster.reservations,
            "hours": cluster.gates,
            "absences of nodes": [node for node in cluster.nodes if node.absences],
        }
        stay = [word for word, parts in dated.items() if parts]
        return f"not squeezed like the submissions: {', '.join(stay)}" if stay else ""
    moved = ["the cluster's size over time"] if any(not each.has_own_dates for each in settings.outages) else []
    if settings.cluster is not None:
        cluster = named_cluster(settings.cluster, trace.source)
        moved += ["hours"] if cluster.gates else []
        moved += ["dates of limits"] if any(limit.begin_s or limit.end_s for limit in cluster.limits) else []
    return f"found in the log and squeezed like the submissions: {', '.join(moved)}" if moved else ""
