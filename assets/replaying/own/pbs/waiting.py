"""What kept the jobs of a log, by the rules of the PBS that its cluster describes."""

from __future__ import annotations

import numpy as np
import polars as pl

from assets.replaying.own.pbs.requests import pbs_jobs_of_rows
from assets.replaying.own.pbs.way import with_settings
from assets.replaying.own.waiting_rules import FollowedWaits, limit_texts, starts_of_log
from simulator.pbs.limiting import is_counted, numbered_run_limits
from simulator.pbs.settings import cycle_settings, is_on, unmodelled_formula
from simulator.pbs.waiting.following import GivenStarts, follow_pbs
from simulator.pbs.waiting.looking import PBS_KEPT
from traces.cluster.description import ClusterDescription


def followed_pbs(
    cluster: ClusterDescription, rows: pl.DataFrame, nodes: pl.DataFrame, until_s: int | None
) -> FollowedWaits:
    """What kept each job. rows: the jobs in order of submission, of `jobs_and_nodes`, with REQUEST_LABELS. nodes, until_s: as `causes_of`
    takes them. Raises ValueError for a job of a queue that the cluster does not have."""
    basis = f"the rules, the order and the nodes of cluster {cluster.name} (PBS {cluster.scheduler.version})".replace(
        " )", ")"
    )
    unread = ["round_robin"] if is_on(cluster.scheduler.values, "round_robin", False) else []
    if unmodelled_formula(cluster.scheduler):
        unread.append("job_sort_formula")
        cluster = with_settings(cluster, {"job_sort_formula": ""})
    if unread:
        basis += f", without its {' and '.join(unread)}"
    asked, left_out = pbs_jobs_of_rows(
        rows.with_columns(dependency=None), cluster
    )  # such waits count as not to start yet
    given = GivenStarts(*starts_of_log(rows, nodes, cluster, until_s))
    moments = None if until_s is None else np.array([until_s])
    waits, written = follow_pbs(cluster, asked, given, cycle_settings(cluster.scheduler).iteration, moments)
    _, limits = numbered_run_limits(cluster, asked, is_counted)
    return FollowedWaits(
        start=given.start,
        left=given.left,
        seconds={name: waits.seconds[:, code] for code, name in enumerate(PBS_KEPT)},
        others=waits.longest if until_s is None else waits.other,
        limits=limit_texts(waits.slot, [[limit] for limit in limits], given.left),
        now=None if until_s is None else [PBS_KEPT[code] if code >= 0 else None for code in written[0].tolist()],
        basis=basis,
        odd_layouts=int(waits.counts[0]),
        left_out=left_out,
    )
