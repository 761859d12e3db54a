"""A complete synthetic workload: jobs of a published model, submitted by users in sessions, at a chosen offered load.

Sizes, run times and arrivals follow Lublin and Feitelson (`traces.synthetic.lublin`), users and batches Zakay and Feitelson
(`traces.synthetic.users`), requested walltimes Tsafrir, Etsion and Feitelson (`traces.synthetic.users`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date

import numpy as np
import numpy.typing as npt
import polars as pl

from traces.synthetic.lublin import JOB_CLASSES, DailyCycle, arrival_points, job_sizes, run_times
from traces.synthetic.users import (
    assign_estimates,
    assign_executables,
    assign_users,
    batch_lengths,
    cut_batches,
    job_run_times,
    submission_order,
    user_activity,
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SHORT_QUEUE_S = 3_600  # longest request of the queue "short"
NORMAL_QUEUE_S = 43_200  # longest request of the queue "normal"; anything above goes to "long"
USERS_PER_GROUP = 6


@dataclass(frozen=True)
class WorkloadOptions:
    """What to generate. Every field is checked. ValueError names the field, its value and what to do."""

    jobs: int  # rows of the result, at least 1
    procs: int  # processors of the cluster, at least 2
    seed: int  # the same options and seed give the same frame
    offered_load: float = 0.85  # sum(run time * procs) / (procs of the cluster * time from first to last arrival)
    users: int = 60  # people who might submit. In a short trace the least active may not
    job_class: str = "batch"  # "batch", "interactive" or "one_class": a column of Lublin and Feitelson's table
    max_walltime_s: int = 172_800  # longest request. Run times are cut at it, and it is the most popular request
    start_date: str = "2026-01-05"  # local date of day one, from whose midnight submit_s counts

    def __post_init__(self) -> None:
        kinds: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,)}
        words = {"int": "a whole number", "float": "a number", "str": "a text"}
        for option in fields(self):
            value, kind = getattr(self, option.name), str(option.type)
            is_kind = isinstance(value, kinds[kind]) and not isinstance(value, bool)
            _require(is_kind, option.name, value, f"use {words[kind]}")
        _require(self.jobs >= 1, "jobs", self.jobs, "ask for at least 1 job")
        _require(self.procs >= 2, "procs", self.procs, "the model needs a cluster of at least 2 processors")
        _require(self.seed >= 0, "seed", self.seed, "use a whole number from 0")
        load_is_usable = 0.0 < self.offered_load < float("inf")
        _require(load_is_usable, "offered_load", self.offered_load, "use a number above 0, for example 0.85")
        _require(self.users >= 1, "users", self.users, "at least 1 user must submit")
        classes = ", ".join(sorted(JOB_CLASSES))
        _require(self.job_class in JOB_CLASSES, "job_class", self.job_class, f"choose one of {classes}")
        _require(self.max_walltime_s >= 60, "max_walltime_s", self.max_walltime_s, "use at least 60 seconds")
        try:
            date.fromisoformat(self.start_date)
        except (TypeError, ValueError):
            _require(False, "start_date", self.start_date, "write a date as YYYY-MM-DD, for example 2026-01-05")


def generate_workload(options: WorkloadOptions) -> pl.DataFrame:
    """One row per job, ordered by submit time.

    Columns: job_number (Int64, 1 to jobs), submit_s (Int64, seconds since local midnight of the start date), runtime_s
    (Int64, at least 1), procs (Int64, 1 to options.procs), requested_walltime_s (Int64, at least runtime_s), user, group,
    queue and executable (String).

    The offered load is met exactly, up to whole seconds, by scaling the gaps between arrivals. A single job has no span
    to scale. A job that reaches its requested walltime was killed there: runtime_s equals requested_walltime_s.
    """
    rng = np.random.default_rng(options.seed)
    parameters = JOB_CLASSES[options.job_class].for_machine(options.procs)
    cycle = DailyCycle.of(parameters)
    gaps = arrival_points(rng, options.jobs, parameters)

    lengths = batch_lengths(rng, options.jobs)
    model_sizes = job_sizes(rng, options.jobs, parameters)
    model_run_times_s = run_times(rng, model_sizes, parameters)
    batch_sizes, batch_run_times_s = cut_batches(rng, model_sizes, model_run_times_s, lengths)
    user_of_batch = assign_users(rng, batch_run_times_s, user_activity(rng, options.users))
    executable_of_batch = assign_executables(batch_run_times_s, user_of_batch, lengths)

    # Who submits when is decided on the model's own clock. The load then stretches or shrinks it.
    batches = submission_order(rng, cycle.seconds_at(np.cumsum(gaps)), user_of_batch, lengths)
    users = user_of_batch[batches]
    sizes = batch_sizes[batches]
    wanted_s = np.minimum(job_run_times(rng, batch_run_times_s, batches), options.max_walltime_s)
    requested_s, runtime_s = assign_estimates(rng, wanted_s, users, batches, options.max_walltime_s)

    area = float((runtime_s * sizes).sum())
    arrivals_s = arrivals_over_span(gaps, cycle, area / (options.procs * options.offered_load))
    groups = rng.integers(1, 2 + (options.users - 1) // USERS_PER_GROUP, options.users)
    return pl.DataFrame(
        {
            "job_number": np.arange(1, options.jobs + 1, dtype=np.int64),
            "submit_s": np.floor(arrivals_s).astype(np.int64),
            "runtime_s": runtime_s,
            "procs": sizes,
            "requested_walltime_s": requested_s,
            "user": [f"u{user + 1:03d}" for user in users.tolist()],
            "group": [f"g{group:02d}" for group in groups[users].tolist()],
            "queue": queue_names(requested_s),
            "executable": [f"app{number:03d}" for number in executable_of_batch[batches].tolist()],
        }
    )


def arrivals_over_span(gaps: FloatArray, cycle: DailyCycle, span_s: float) -> FloatArray:
    """Arrival times, seconds since local midnight of day one, ascending, with `span_s` from the first to the last.

    gaps, shape (jobs,), are in points of the daily cycle. The first arrival stays where its gap puts it, and all later
    gaps are multiplied by one factor before they are paid out against the cycle. Scaling points and not seconds keeps
    noon at noon. The clock maps points to seconds one to one, so the factor follows from the points that the
    wanted span holds, without a search.
    """
    points = np.cumsum(gaps)
    if len(gaps) == 1:
        return cycle.seconds_at(points)
    first_s = cycle.seconds_at(points[:1])
    points_in_span = cycle.points_at(first_s + span_s) - points[0]
    factor = points_in_span / (points[-1] - points[0])
    return cycle.seconds_at(points[0] + factor * (points - points[0]))


def queue_names(requested_walltime_s: IntArray) -> list[str]:
    """Queue of each job, by requested walltime: short up to 1 h, normal up to 12 h, else long."""
    names = np.array(["short", "normal", "long"])
    return names[np.searchsorted([SHORT_QUEUE_S, NORMAL_QUEUE_S], requested_walltime_s)].tolist()


def _require(holds: bool, name: str, value: object, remedy: str) -> None:
    if not holds:
        raise ValueError(f"{name} is {value!r}: {remedy}")
