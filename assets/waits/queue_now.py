"""The queue of a scheduler as it is now, as the state of a machine: with run times that the champion predicts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from assets.common.trace import Trace
from assets.predictions.runtimes_now import predicted_now, queue_job_row
from assets.replaying.limits.way import clock_zero_s
from assets.replaying.starts import OnSite, on_site
from assets.waits.loading import load_trace_with_nodes, site_waits
from models.runtime.predictor import QUANTILE_COLUMNS, FloatArray
from models.waits.clock import LogClock
from models.waits.history import History, JobSet, State, history_of, joined_histories
from models.waits.replays import QueueStarts
from models.waits.scoring import WaitsUnknown
from traces.common.queue import RUNNING, WAITING, QueueJob, QueueSnapshot
from warehouse import Warehouse


@dataclass(frozen=True)
class QueueNow:
    """A queue that can be replayed.

    entries: of the snapshot that wait for processors, by submission, each once. first: the position in `state.waiting` of the first task of
    each, int64 (entries,). left_out: entries that wait and are not replayed, with the reason. version: of the champion that predicted
    the run times, None where the source has none, so that similar jobs did. replays: of the site. trace, place: of the log and the
    queue, as SiteStarts has them. history: of the log, None where it says nothing of waits."""

    clock: LogClock
    state: State
    entries: tuple[QueueJob, ...]
    first: np.ndarray
    left_out: tuple[tuple[QueueJob, str], ...]
    version: int | None
    replays: OnSite
    trace: Trace
    place: np.ndarray
    history: History | None

    @property
    def starts(self) -> QueueStarts:
        """Replays of the queue by its site."""
        return self.replays.starts(self.trace, self.place)


def load_queue_now(
    warehouse: Warehouse, source: str, snapshot: QueueSnapshot, now_s: int, others: Sequence[OnSite] = ()
) -> QueueNow:
    """The state of a source's machine by a snapshot of its queue. now_s: when the snapshot was written, Unix seconds. others: further
    orders that are to replay it. Of a job of the queue what the log has is an attempt before, if that is over, and else left out.

    The champion predicts each run time from the jobs of the source that had ended by then, else similar ones of these do. Raises ValueError
    where the source is not in the warehouse, or the champion's file has changed.
    """
    replays = on_site(warehouse, source)
    trace = load_trace_with_nodes(warehouse, source, replays.settings, *(each.settings for each in others))
    zero = clock_zero_s(trace)
    is_over = (pl.col("start_s") + pl.col("runtime_s") <= now_s - zero).fill_null(False)
    listed = pl.col("job_id").is_in([job.job_id for job in snapshot.jobs])
    trace = replace(trace, rows=trace.rows.filter(~listed | is_over))
    history, place = None, np.zeros(0, dtype=np.int64)
    with suppress(WaitsUnknown):  # no job of the log has a start
        of_log = site_waits(warehouse, trace, replays)
        history, trace, place = of_log.log.history, of_log.trace, of_log.place
    jobs = sorted((job for job in snapshot.jobs if job.state in (RUNNING, WAITING)), key=lambda job: job.submit_s)
    version, quantiles = predicted_now(warehouse, source, jobs, trace.time_zone, now_s)
    live = _live_rows(trace, jobs, quantiles, replays, now_s)
    trace = replace(trace, rows=pl.concat([trace.rows, live]), nodes=_with_live_nodes(trace, live, jobs))
    procs = replays.procs or trace.cluster_procs
    now = history_of(live, procs, whole=False)
    number = np.arange(len(jobs))
    place = np.concatenate([place, trace.rows.height - len(jobs) + number])
    if history is not None:
        history, order = joined_histories(history, now)
        place, number = place[order], np.argsort(order)[len(order) - len(jobs) :]
    why_not = [_cannot_start(job, replays, procs) if job.state == WAITING else "" for job in jobs]
    runs = [k for k, job in enumerate(jobs) if job.state == RUNNING]
    waits = [k for k, job in enumerate(jobs) if job.state == WAITING and not why_not[k]]
    tasks = [jobs[k].tasks for k in waits]
    each = [k for k, count in zip(waits, tasks, strict=True) for _ in range(count)]

    def job_set(chosen: list[int], since: np.ndarray) -> JobSet:
        return replace(now.job_set(np.array(chosen, dtype=np.int64), since[chosen]), number=number[chosen])

    return QueueNow(
        trace.clock,
        State(now_s - zero, procs, job_set(runs, now.start), job_set(each, now.submit)),
        tuple(jobs[k] for k in waits),
        np.concatenate([[0], np.cumsum(tasks, dtype=np.int64)[:-1]]).astype(np.int64)
        if waits
        else np.zeros(0, np.int64),
        tuple((job, why) for job, why in zip(jobs, why_not, strict=True) if why),
        version,
        replays,
        trace,
        place,
        history,
    )


def _cannot_start(job: QueueJob, replays: OnSite, procs: int) -> str:
    """Why a job of the queue cannot be replayed, "" where it can."""
    if job.procs > procs:
        return f"wider than the cluster of {procs:,}"
    strange = _strange_queue(job, replays)
    return f"the cluster that is described has no queue {strange!r}" if strange else ""


def _strange_queue(job: QueueJob, replays: OnSite) -> str:
    """The queue of a job that the cluster whose own scheduler replays does not have, such as one that is new. "" where it has it."""
    cluster, queue = replays.site.own_cluster, (job.queue or "").partition(",")[0]
    reserved = () if cluster is None else {each.queue for each in cluster.reservations}
    return queue if cluster is not None and queue and not (cluster.has_queue(queue) or queue in reserved) else ""


def _live_rows(trace: Trace, jobs: list[QueueJob], quantiles: FloatArray, replays: OnSite, now_s: int) -> pl.DataFrame:
    """The jobs of a queue as rows of the trace of their log, behind its own. quantiles: of their run times, seconds (jobs, levels)."""
    rows, zero = trace.rows, clock_zero_s(trace)
    first = 1 + max(rows["job_index"].to_list(), default=-1)
    number = dict(rows.select("user_name", "user_number").unique().iter_rows())
    new = 1 + max(number.values(), default=-1)
    made = []
    for k, (job, runtimes) in enumerate(zip(jobs, quantiles.tolist(), strict=True)):
        row = queue_job_row(job, first + k, now_s)
        user = number.setdefault(job.user_name, new)
        new = max(new, user + 1)
        row |= {
            "queue": None if _strange_queue(job, replays) else row["queue"],
            "submit_s": row["submit_s"] - zero,
            "start_s": None if row["start_s"] is None else row["start_s"] - zero,
            "requested_walltime_s": row["requested_walltime_s"] or -1,
            # it is not over
            "runtime_s": 1 + now_s - (row["start_s"] or now_s),
            **dict(zip(QUANTILE_COLUMNS, runtimes, strict=True)),
            "user_number": user,
            "longest_runtime_s": rows["longest_runtime_s"][0],
            **dict.fromkeys(("memory_share", "user_place", "group_place", "executable_place"), 1.0),
        }
        made.append({name: row.get(name) for name in rows.columns})
    return pl.DataFrame(made, schema=rows.schema)


def _with_live_nodes(trace: Trace, live: pl.DataFrame, jobs: list[QueueJob]) -> pl.DataFrame | None:
    if trace.nodes is None:
        return None
    held = [
        {"job_index": index, "node_name": name, "procs": None}
        for index, job in zip(live["job_index"], jobs, strict=True)
        for name in job.asked.node_names
    ]
    return pl.concat([trace.nodes, pl.DataFrame(held, schema=trace.nodes.schema)])


class QueueMoment(NamedTuple):
    """second: when a queue was as a snapshot has it, Unix seconds. words: where that is known from."""

    second: int
    words: str


def snapshot_moment(snapshot: QueueSnapshot, otherwise: QueueMoment, is_live: bool = False) -> QueueMoment:
    """When a snapshot was written: as it says itself, else the latest of its times, and never before a job that it shows. otherwise: where
    it has neither. That comes first if the snapshot was made just then, which is_live says."""
    if snapshot.written_s is not None:
        moment = QueueMoment(snapshot.written_s, "as the queue says itself")
    elif snapshot.latest_s is not None and not is_live:
        moment = QueueMoment(
            snapshot.latest_s, "by the latest time in the queue, which does not say when it was written"
        )
    else:
        moment = otherwise
    shown = [max(job.submit_s, job.start_s or 0) for job in snapshot.jobs]
    return moment._replace(second=max([moment.second, *shown]))
