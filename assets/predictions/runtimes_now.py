"""Run times of jobs that are not in the warehouse: of a queue as it is now, and of jobs that never started."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

import sql
from assets.predictions.model_registry import has_champion, load_champion
from models.runtime.named import make_predictor
from models.runtime.past.histories import histories
from models.runtime.past.similar import similar_job_features
from models.runtime.predictor import FloatArray, Prediction, Predictor
from models.runtime.prequential import FALLBACK
from traces.common.queue import RUNNING, QueueJob
from warehouse import Warehouse

ALL_JOBS = 1 << 40
_NAMES = ("user", "group", "executable")


def predicted_now(
    warehouse: Warehouse, source: str, jobs: list[QueueJob], time_zone: str, now_s: int
) -> tuple[int | None, FloatArray]:
    """(version of the champion, quantiles of run times (jobs, levels) in seconds) of jobs in order of submission."""
    if has_champion(warehouse, source):
        version, predictor = load_champion(warehouse, source)
    else:
        version, predictor = None, make_predictor(FALLBACK)
    if not jobs:
        return version, np.zeros((0, 8))
    past = _past_jobs(warehouse, source, now_s)
    listed = pl.DataFrame([queue_job_row(job, k, now_s) for k, job in enumerate(jobs)], infer_schema_length=None)
    names = ("submit_s", "start_s", "procs", "requested_procs", "requested_walltime_s", "queue", "submit_time")
    now = listed.select(*names, "user_name", "group_name", "executable").with_columns(is_now=True, failed=False)
    return version, _predictions(predictor, past, now, time_zone).quantiles


def predicted_at_end(warehouse: Warehouse, source: str, jobs: pl.DataFrame, time_zone: str) -> Prediction:
    """Run times of jobs that never started, as if they were submitted when the log of their source ended: the champion predicts them, else
    similar jobs. jobs: procs, requested_procs, requested_walltime_s (null without a request) and names."""
    predictor = make_predictor(FALLBACK)
    if has_champion(warehouse, source):
        with suppress(ValueError):  # its file is lost, or of a kind that is no more
            predictor = load_champion(warehouse, source)[1]
    past = _past_jobs(warehouse, source, ALL_JOBS)
    end_s = pl.lit(
        1 + int(max(past["end_s"].fill_null(0).to_numpy().max(), past["submit_s"].to_numpy().max())), pl.Int64
    )
    names = ("procs", "requested_procs", "requested_walltime_s", "user_name", "group_name", "executable", "queue")
    now = jobs.select(name for name in names if name in jobs.columns).with_columns(
        is_now=True, failed=False, submit_s=end_s, start_s=pl.lit(None, pl.Int64), submit_time=pl.from_epoch(end_s)
    )
    return _predictions(predictor, past, now, time_zone)


def _predictions(predictor: Predictor, past: pl.DataFrame, jobs: pl.DataFrame, time_zone: str) -> Prediction:
    """Run times of jobs by those of the past: rows of `_past_jobs` and, in order of submission, of `queue_job_row`."""
    both = pl.concat([past, jobs], how="diagonal_relaxed")
    both = both.sort("submit_s", maintain_order=True).with_columns(
        (pl.col(name).rank("dense") - 1).cast(pl.Int32).alias(f"{kind}_number")
        for kind, name in zip(_NAMES, ("user_name", "group_name", "executable"), strict=True)
    )
    (history,) = histories([both], both.height)
    # the features that predictors learn from leave out run times of 0, such as those of jobs that were cancelled while they waited
    ran = both.with_columns(pl.when(pl.col("runtime_s") > 0).then("runtime_s").alias("runtime_s"))
    rows = both.hstack(history).hstack(similar_job_features(ran)).filter(pl.col("is_now"))
    local = pl.col("submit_time").dt.replace_time_zone("UTC").dt.convert_time_zone(time_zone)
    rows = rows.with_columns(hour_of_day=local.dt.hour().cast(pl.Int64), day_of_week=local.dt.weekday().cast(pl.Int64))
    return predictor.predict(rows)


def _past_jobs(warehouse: Warehouse, source: str, now_s: int) -> pl.DataFrame:
    """Jobs of the source that were over by a moment, with the columns that features are computed from."""
    names = sql.load("core.replay_names")
    bounds = {"source": source, "from_index": 0, "to_index": ALL_JOBS}
    with warehouse.read() as connection:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE replay_names AS {names}", {"source": source})
        moments = connection.sql(sql.load("features.job_moments"), params=bounds).pl()
        names_of_jobs = connection.sql(
            "SELECT job_index, submit_time, end_time, user_name, group_name, executable FROM core.jobs WHERE source = $source",
            params={"source": source},
        ).pl()
    rows = moments.join(names_of_jobs, on="job_index", how="left", maintain_order="left")
    over = (pl.col("submit_s") < now_s) & (pl.col("end_s").is_null() | (pl.col("end_s") <= now_s))
    return rows.filter(over).with_columns(
        is_now=False,
        end_time=pl.from_epoch("end_s", time_unit="s"),
        submit_time=pl.from_epoch("submit_s", time_unit="s"),
    )


def queue_job_row(job: QueueJob, number: int, now_s: int) -> dict[str, Any]:
    """A job of the queue as a row of core.jobs, with this job_index, and Unix seconds of its times. Of several partitions the first counts.
    Nobody knows yet when it ends."""
    submit_s, eligible_s = min(job.submit_s, now_s), job.asked.eligible_s
    runs = job.state == RUNNING
    return {
        "job_index": number,
        "job_id": job.job_id,
        "status": None,
        "user_name": job.user_name,
        "submit_s": submit_s,
        "start_s": min(job.start_s or now_s, now_s) if runs else None,
        "end_s": None,
        "procs": job.procs,
        "requested_procs": job.procs,
        "requested_walltime_s": job.requested_walltime_s if job.requested_walltime_s > 0 else None,
        "group_name": job.group_name,
        "executable": job.job_name,
        "queue": None if job.queue is None else job.queue.partition(",")[0],
        "account": job.account,
        "qos": job.asked.qos,
        "reservation": job.asked.reservation,
        "nodes": job.asked.nodes,
        "requested_nodes": job.asked.nodes,
        "gpus": job.asked.gpus,
        "requested_gpu_types": job.asked.gpu_types,
        "requested_memory_kb": job.asked.memory_kb,
        "memory_per": None,
        **dict.fromkeys(("start_time", "end_time", "dependency")),
        "features": job.asked.features,
        "is_exclusive": job.asked.is_exclusive,
        "submit_time": datetime.fromtimestamp(submit_s, UTC).replace(tzinfo=None),
        "eligible_time": None
        if eligible_s is None
        else datetime.fromtimestamp(min(max(eligible_s, submit_s), now_s), UTC).replace(tzinfo=None),
    }
