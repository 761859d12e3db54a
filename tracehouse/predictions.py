"""What the models of a source predict: run times, waits, and walltimes to request."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from math import isfinite
from typing import Any, NamedTuple, TypedDict, Unpack

import polars as pl

import sql
from assets.common.learnable import LEAST_JOBS, what_learning_lacks
from assets.common.progress import progress, say_if_slow
from assets.common.storage import open_warehouse
from assets.waits.loading import NewJob, SiteWaits, load_site_waits, load_wait_scores, load_walltime_jobs, with_new_job
from assets.waits.soonest import NearRequest, near_requests
from models.waits.answers import QueueReplays, WaitAnswer, new_job_wait, queued_job_wait, samples_of
from models.waits.history import state_at
from models.waits.replays import RowStarts
from models.waits.walltime_advice import MARGIN, advise, longest_of, try_on_history
from simulator.jobs.words import parse_duration
from traces.catalogue.catalogue import load_catalogue


class QueueSettings(TypedDict, total=False):
    """How the queue is replayed to predict a wait: samples (200), seed (1), and policy and backfill in place of the site's own."""

    samples: int
    seed: int
    policy: str
    backfill: str


class WaitSettings(QueueSettings, total=False):
    """These, and what a new job asks for besides: queue, gpus, account, qos. soonest: whether requests near it are tried, too."""

    queue: str
    gpus: int
    account: str
    qos: str
    soonest: bool


_OF_NEW_JOBS = ("queue", "gpus", "account", "qos")
PERCENTS_SHOWN = (10, 25, 50, 75, 90)
SAMPLES = (10, 10_000)
NEAR_SAMPLES = 40
"""Replays of each request near the one that is asked for."""
RISKS = (0.005, 0.5)


def predicted_runtimes(source: str) -> pl.DataFrame:
    """Predicted run times of all jobs of a source, beside the true ones.

    Every prediction was made by a model that had been fitted before the job was submitted.

    Parameters
    ----------
    source
        Name of a source whose model is trained (`tracehouse run NAME --job train`).

    Returns
    -------
    polars.DataFrame
        One row a job that can be replayed, in order of submission. The columns are job_index, job_id, submit_time
        (UTC), runtime_s, requested_walltime_s, predicted_runtime_s, the quantiles runtime_p05_s to runtime_p95_s,
        predictor, and version (null where the prediction is from the evaluation). Times are seconds.

    Raises
    ------
    ValueError
        The source has no predicted run times yet.
    CatalogueError, WarehouseError
        There is no such source, or no warehouse yet.

    Examples
    --------
    >>> import tracehouse
    >>> runtimes = tracehouse.predicted_runtimes("birch")
    >>> runtimes.columns[:6]
    ['job_index', 'job_id', 'submit_time', 'runtime_s', 'requested_walltime_s', 'predicted_runtime_s']
    """
    parameters = {"source": load_catalogue().source(source).name}
    with open_warehouse().read() as connection:
        rows = connection.sql(sql.load("predictions.predicted_runtimes"), params=parameters).pl()
    if rows.is_empty():
        raise ValueError(f"source {source!r} has no predicted run times yet: `tracehouse run {source}`")
    return rows


def predict_wait(
    source: str,
    procs: int,
    walltime: str | int,
    user: str | None = None,
    at: str | int | None = None,
    **settings: Unpack[WaitSettings],
) -> dict[str, Any]:
    """How long would a new job wait? The distribution of its start, at a moment of the log.

    Only what was known at that moment is used. `tracehouse wait` does the same.

    Parameters
    ----------
    source
        Name of a source in the warehouse.
    procs
        Processors of the job.
    walltime
        What it requests: seconds, or text such as `"4h"` or `"4:00:00"`.
    user
        Who submits it.
    at
        Local time of the cluster such as `"2004-03-01 08:00"`, or a second of the log's own clock. By default the
        last submission of a log that still grows (the last one is at most two days old), else a busy moment of its
        second half, drawn with the seed. `moment` says which.
    **settings
        samples (200) and seed (1) of the replays of the queue, and policy and backfill in place of the site's own. queue,
        gpus, account and qos of the job, where the source's cluster has a scheduler of its own; by default as the user's
        last job. With soonest=True the key `soonest` has requests near this one that would start earlier.

    Returns
    -------
    dict
        What `tracehouse wait --json` prints. wait_p10_s to wait_p90_s are the quantiles of the wait in seconds, and
        wait_mean_s is its mean. start_p10 to start_p90 are the local times of the start, and told_by says what they rest on.

    Raises
    ------
    ValueError
        The moment is outside the log, the cluster has no such queue, or the job can never start.
    CatalogueError, WarehouseError
        There is no such source, or no warehouse yet.

    Examples
    --------
    >>> import tracehouse
    >>> wait = tracehouse.predict_wait("birch", procs=16, walltime="4:00:00", samples=50)
    >>> wait["wait_p10_s"] <= wait["wait_p50_s"] <= wait["wait_p90_s"]
    True
    """
    _check_range("procs", procs, 1)
    requested_s = parse_duration(str(walltime), "walltime")
    _check_range("walltime", requested_s, 1)
    own = {name: settings.pop(name) for name in _OF_NEW_JOBS if name in settings}  # type: ignore[misc]
    near = settings.pop("soonest", False)
    return _answer(source, WaitQuestion(_text(at), new=NewJob(procs, requested_s, user, **own), near=near), settings)


def predict_queued_wait(
    source: str, job_id: str, at: str | int | None = None, **replays: Unpack[QueueSettings]
) -> dict[str, Any]:
    """How long will a job of the log wait that waits at a moment? As `predict_wait`, for a job that is in the queue.

    Parameters
    ----------
    source
        Name of a source whose run times are predicted.
    job_id
        Its identifier in the log.
    at, **replays
        As in `predict_wait`.

    Returns
    -------
    dict
        As in `predict_wait`. The wait counts from the submission of the job, and waited_s of it are over.

    Raises
    ------
    ValueError
        The job does not wait at that moment, or as in `predict_wait`.

    Examples
    --------
    >>> import tracehouse
    >>> longest_wait = (
    ...     "SELECT job_id, epoch(submit_time - clock_zero)::BIGINT + 60 FROM core.jobs JOIN core.sources USING (source) "
    ...     "WHERE source = 'birch' ORDER BY wait_s DESC LIMIT 1"
    ... )
    >>> job_id, at = tracehouse.query(longest_wait).row(0)
    >>> tracehouse.predict_queued_wait("birch", job_id, at, samples=50)["waited_s"]
    60
    """
    return _answer(source, WaitQuestion(_text(at), job_id), replays)


def advise_walltime(
    source: str, user: str, procs: int | None = None, executable: str | None = None, risk: float = 0.05
) -> dict[str, Any]:
    """Which walltime to request, so that a job is killed with at most a given risk.

    The advice comes from the run times of the user's jobs that ended last. `tracehouse walltime` does the same.

    Parameters
    ----------
    source
        Name of a source that is in the warehouse.
    user
        Whose job it is, as the log names the user.
    procs, executable
        Look at the user's jobs of this size, and of this executable or job name, if there are enough.
    risk
        Largest acceptable risk of being killed at the limit, 0.005 to 0.5.

    Returns
    -------
    dict
        What `tracehouse walltime --json` prints. walltime_s is the advice in seconds, jobs and same say what it rests
        on, and tried_killed_share is the share of the user's past jobs that it would have killed.

    Raises
    ------
    ValueError
        The user has no job that ran, or too few for this risk.
    CatalogueError, WarehouseError
        There is no such source, or no warehouse yet.

    Examples
    --------
    >>> import tracehouse
    >>> user = tracehouse.query("SELECT mode(user_name) AS user FROM core.jobs").item()
    >>> advice = tracehouse.advise_walltime("birch", user, risk=0.1)
    >>> advice["walltime_s"] % 60
    0
    """
    _check_range("risk", risk, *RISKS)
    return answer_walltime(load_catalogue().source(source).name, user, procs, executable, risk)


def _answer(source: str, question: WaitQuestion, settings: QueueSettings) -> dict[str, Any]:
    unknown = [name for name in settings if name not in QueueSettings.__annotations__]
    if unknown:
        raise ValueError(f"unknown setting {unknown[0]!r}: expected one of {', '.join(QueueSettings.__annotations__)}")
    usual: QueueSettings = {"samples": 200, "seed": 1}
    chosen = usual | settings
    _check_range("samples", chosen["samples"], *SAMPLES)
    return answer_wait(load_catalogue().source(source).name, question, chosen)


def _text(at: str | int | None) -> str | None:
    return None if at is None else str(at)


def _check_range(name: str, value: float, least: float, most: float = float("inf")) -> None:
    """Raises ValueError for values that the command line would also refuse."""
    if not least <= value <= most:
        raise ValueError(
            f"{name} {value}: expected {least} to {most}"
            if most < float("inf")
            else f"{name} {value}: expected at least {least}"
        )


class WaitQuestion(NamedTuple):
    """at: when, None for the usual moment. What the question is about is a job that waits, or a new one. near: whether requests near that
    of the new one are tried, too."""

    at: str | None
    job_id: str | None = None
    new: NewJob | None = None
    near: bool = False


def _with_bar(jobs: list[int]) -> Iterator[int]:
    return progress(jobs, "jobs of the past")


def answer_wait(source: str, question: WaitQuestion, settings: QueueSettings) -> dict[str, Any]:
    """What `tracehouse wait --json` prints. settings: with samples and seed."""
    at, job_id, new, near = question
    samples, seed = settings["samples"], settings["seed"]
    order = {name: str(settings[name]) for name in ("policy", "backfill") if settings.get(name) is not None}
    with say_if_slow(f"reading {source}"):
        waits = load_site_waits(open_warehouse(), source, order)
        log, scores = waits.log, load_wait_scores(open_warehouse(), source)
    if at is not None:
        moment, chosen = log.moment(at), None
    elif job_id is not None:
        moment, chosen = log.moment_of_job(job_id)
    else:
        moment, chosen = log.usual_moment(datetime.now(UTC), seed)
    variants: list[NearRequest] = []
    if not isinstance(waits.starts, RowStarts):
        samples = samples_of(samples, len(state_at(log.history, moment).waiting) + 1)
    with say_if_slow("replaying the queue and jobs of the past"):
        if job_id is not None:
            number = log.job_number(job_id, moment)
            procs, request = int(log.history.procs[number]), int(log.history.request[number])
            answer = queued_job_wait(log.history, moment, number, QueueReplays(samples, seed, waits.starts))
        else:
            assert new is not None
            procs, request = new.procs, new.request
            user_number = log.user_number(new.user) if new.user is not None else -1
            starts, number = with_new_job(waits, new, moment)
            replays = QueueReplays(samples, seed, starts)
            answer = new_job_wait(log.history, moment, procs, request, user_number, replays, _with_bar, number)
            variants = near_requests(waits, new, user_number, moment, min(samples, NEAR_SAMPLES), seed) if near else []
    asked = new or NewJob(procs, request)
    requested_s = request if request >= 1 else None
    about = {"source": source, "moment": chosen, "job": job_id, "procs": procs, "requested_walltime_s": requested_s}
    return _answer_row(waits, answer, asked, moment, about) | {
        **{"samples": samples, "seed": seed, "policy": waits.replays.settings.policy},
        "backfill": waits.replays.settings.portable_backfill,
        "replayed": waits.replays.words,
        "scores": scores,
        "soonest": [_near_row(each) for each in variants],
    }


def _answer_row(
    waits: SiteWaits, answer: WaitAnswer, asked: NewJob, moment: int, about: dict[str, Any]
) -> dict[str, Any]:
    """The answer by its keys, without the settings of the replays. about: source, moment, job, procs and request of the question."""
    log, state, submitted = waits.log, answer.state, moment - answer.waited_s
    wait_at = dict(zip(PERCENTS_SHOWN, answer.quantiles, strict=True))
    replayed = dict(zip(PERCENTS_SHOWN, answer.replayed, strict=True))
    return about | {
        "at_s": moment,
        "at": log.clock.text(moment),
        "time_zone": log.clock.zone,
        "user": asked.user,
        **{name: getattr(asked, name) for name in _OF_NEW_JOBS},
        "cluster_procs": state.cluster_procs,
        "busy_procs": state.busy_procs,
        "running_jobs": len(state.running),
        "waiting_jobs": len(state.waiting) - (about["job"] is None),
        "waited_s": answer.waited_s,
        "told_by": answer.told_by,
        "basis": log.basis,
        "neighbours": answer.neighbours,
        **{f"wait_p{percent}_s": float(wait_s) for percent, wait_s in wait_at.items()},
        "wait_mean_s": answer.mean_s,
        **{f"start_p{percent}": log.clock.text(submitted + wait_s) for percent, wait_s in wait_at.items()},
        **{f"replay_p{percent}_s": float(wait_s) for percent, wait_s in replayed.items()},
        "similar_mean_s": answer.similar_mean_s,
        "similar_p50_s": answer.similar_median_s,
    }


def _near_row(variant: NearRequest) -> dict[str, Any]:
    """A request with its starts, seconds from now; None for one that never starts."""
    job, starts = variant.job, (round(second) if isfinite(second) else None for second in variant.start_s.tolist())
    asked = {
        "request": variant.words,
        "procs": job.procs,
        "requested_walltime_s": job.request,
        "queue": job.queue,
        "qos": job.qos,
    }
    return asked | dict(zip(("start_p10_s", "start_p50_s", "start_p90_s"), starts, strict=True))


def answer_walltime(source: str, user: str, procs: int | None, executable: str | None, risk: float) -> dict[str, Any]:
    """What `tracehouse walltime --json` prints.

    In a log of which nothing can be learned, a user of few jobs gets the longest of the last requests, and `basis` says so. Raises
    ValueError where the user has no jobs, or too few of a longer log."""
    jobs, user_number, executable_number = load_walltime_jobs(open_warehouse(), source, user, executable)
    moment = int(jobs.end.max())
    trial = try_on_history(jobs, user_number, moment, risk, executable is not None, procs is not None)
    aimed = trial.aimed_risk if trial is not None else None
    advice, basis = advise(jobs, user_number, procs, executable_number, moment, risk, aimed), None
    if advice is None:
        ended = int((jobs.user == user_number).sum())
        least = -int(-(1 - MARGIN * risk) / (MARGIN * risk) // 1)
        few = f"{ended} ended jobs, too few for a risk of {risk:g}, which takes at least {least}"
        if what_learning_lacks(open_warehouse(), source, LEAST_JOBS) is not None:
            advice = longest_of(jobs, user_number, procs, executable_number, moment)
            basis = f"the longest that these jobs requested or ran: the user has {few}"
        if advice is None:
            raise ValueError(f"source {source!r}: user {user!r} has {few}: give a larger --risk")
    return {
        "source": source,
        "user": user,
        "procs": procs,
        "executable": executable,
        "risk": risk,
        "walltime_s": advice.walltime_s,
        "same": advice.group,
        "basis": basis,
        "jobs": advice.jobs,
        "jobs_at_limit": advice.at_limit,
        "median_runtime_s": advice.median_runtime_s,
        "median_request_s": advice.median_request_s,
        "tried_jobs": trial.jobs if trial else 0,
        "tried_killed_share": trial.killed if trial else None,
        "tried_median_advised_s": trial.median_advised_s if trial else None,
        "tried_median_requested_s": trial.median_requested_s if trial else None,
        "tried_advised_by_requested": trial.requested_share if trial else None,
        "aimed_risk": aimed,
        "keeps_risk": trial.killed <= risk if trial else None,
    }
