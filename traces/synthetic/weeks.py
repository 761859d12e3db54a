"""A log of years of a large cluster, generated week by week, so that memory does not depend on the number of jobs.

What is published of the cluster is in `traces.synthetic.centre`. All else here and in `traces.synthetic.community` is guessed.
A week depends only on the model, the seed, the load and its own number.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import polars as pl

from traces.synthetic.centre import DAYS_A_WEEK, Centre, CentreOptions
from traces.synthetic.community import ONE_NODE, SEVERAL_NODES, Community, new_community
from traces.synthetic.users import LEAST_PATIENCE, SMALLEST_USED_SHARE
from traces.synthetic.workload import NORMAL_QUEUE_S, SHORT_QUEUE_S

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

OF_COMMUNITY, OF_COUNTS, OF_LOADS, OF_WEEKS = range(4)
"""Streams of random numbers, from the last on one for each week."""
HOURS_A_DAY, HOUR_S = 24, 3_600
WEEKDAY_SHARES = np.array([1.0, 1.08, 1.08, 1.04, 0.92, 0.36, 0.32])
"""Submissions of a day from Monday to Sunday, relative."""
OFFICE_HOURS = np.array([7, 6, 5, 5, 5, 7, 12, 28, 58, 82, 92, 92, 78, 88, 96, 94, 84, 58, 34, 26, 22, 19, 15, 10.0])
"""Submissions of an hour of a day from Monday to Friday, relative, in local time. They fall at noon."""
WEEKEND_HOURS = np.array([12, 10, 8, 7, 7, 8, 10, 14, 22, 32, 38, 40, 40, 42, 42, 40, 38, 34, 30, 28, 26, 24, 20, 16.0])
WEEK_SIGMA = 0.25
"""Spread of ln(number of jobs of a week)."""
ARRAY_SHARE = np.array([0.10, 0.08, 0.05, 0.01])
"""Share of the batches of each class of sizes that are arrays: equal jobs, submitted within seconds."""
ARRAY_LN_JOBS, ARRAY_SIGMA, LEAST_ARRAY = np.log(25.0), 1.2, 5
MOST_ARRAY = np.array([2000, 1000, 200, 20])
ARRAY_JOBS_A_SECOND = 25.0
SERIES_LN_JOBS, SERIES_SIGMA, MOST_SERIES = 0.4, 0.8, 20
"""Other batches are a few jobs, submitted some seconds or minutes apart."""
SERIES_GAP_LN_S, SERIES_GAP_SIGMA = np.log(30.0), 1.5
ANOTHER_SIZE_SHARE = 0.3
OTHER_SIZES = np.array([0.25, 0.5, 2.0, 4.0])
"""Node counts of the batches that take several nodes, as multiples of what the program usually takes."""
BATCH_SIGMA, JOB_SIGMA = 0.7, 0.25
"""Spread of a batch around its program, and of a job around its batch, as ln(run time)."""
FAILING_SHARE, FAILING_S = 0.04, 40.0
"""Share of the batches whose jobs fail at once, and the longest time that takes."""
THOUGHTLESS_SHARE = 0.1
"""Share of the batches that request the maximum time."""
WHOLE_EVERY_WEEKS, WHOLE_LN_S, WHOLE_SIGMA = 4, np.log(7_200.0), 0.6
"""One job takes the whole cluster every WHOLE_EVERY_WEEKS weeks, beginning with the first week."""
WIDE_LIMITS = ((2, 12 * HOUR_S), (8, 48 * HOUR_S))
"""Longest run times of jobs on more than a half or an eighth of the nodes. Otherwise one job could be a tenth of a week's work."""
LOAD_RANGE = 0.4
"""A week's load is within a fifth of the mean."""
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
LOAD_ROUNDS, MOST_FACTOR = 8, 20.0


class Batches(NamedTuple):
    """Batches of similar jobs of one user. Every array has shape (batches,).

    length: jobs. program: number, from 0. size_class, procs: as in `Community`. run_time_s: median of its jobs. fails: whether
    its jobs fail at once. used_share: the part of the request that its user expects to use. submit_s: of the first job, seconds
    of local wall clock since the week began. gap_s: mean time between its jobs.
    """

    length: IntArray
    program: IntArray
    size_class: IntArray
    procs: IntArray
    run_time_s: FloatArray
    fails: BoolArray
    used_share: FloatArray
    submit_s: FloatArray
    gap_s: FloatArray


def job_weeks(options: CentreOptions) -> Iterator[pl.DataFrame]:
    """The jobs of each week in turn, ordered by submission. The frames together are the log.

    Columns, all Int64: job_number (from 1), submit_s (seconds since local midnight of the first day), runtime_s (at least 1), procs
    and requested_walltime_s (at least runtime_s). Then user_id, group_id and executable, all from 1. queue is 1 for short, 2 for
    normal, else long. status is 1 for completed, and 0 for failed or killed at its request.
    """
    centre, left = options.centre, options.num_jobs
    community = new_community(np.random.default_rng([options.seed, centre.procs, OF_COMMUNITY]), centre)
    number = 1
    for week, count in enumerate(jobs_by_week(options).tolist()):
        jobs = _week(options, community, week, count).head(left)
        yield jobs.select(pl.Series("job_number", np.arange(number, number + jobs.height)), pl.all())
        number, left = number + jobs.height, left - jobs.height
        if not left:
            return


def jobs_by_week(options: CentreOptions) -> IntArray:
    """Jobs of each week of the whole log, however many are wanted. Shape (weeks,), sums to all jobs of the model."""
    centre = options.centre
    rng = np.random.default_rng([options.seed, centre.procs, OF_COUNTS])
    weight = rng.lognormal(0.0, WEEK_SIGMA, centre.weeks)
    first = centre.first_day.weekday()
    days = [min(DAYS_A_WEEK, centre.days - DAYS_A_WEEK * week) for week in range(centre.weeks)]
    weight *= [np.roll(WEEKDAY_SHARES, -first)[:count].sum() for count in days]
    edges = np.rint(np.cumsum(weight) / weight.sum() * centre.jobs).astype(np.int64)
    return np.diff(edges, prepend=0)


def _week(options: CentreOptions, community: Community, week: int, count: int) -> pl.DataFrame:
    """The columns of `job_weeks` but the number, for `count` jobs of one week."""
    centre = options.centre
    rng = np.random.default_rng([options.seed, centre.procs, OF_WEEKS + week])
    days = min(DAYS_A_WEEK, centre.days - DAYS_A_WEEK * week)
    batches = _batches(rng, centre, community, week, count, days)
    batch = np.repeat(np.arange(len(batches.length)), batches.length)
    noise = rng.lognormal(0.0, JOB_SIGMA, count)
    submit_s = _submissions(rng, centre, batches, batch, week, days)
    target = _load_of(options, week) * centre.procs * days * HOURS_A_DAY * HOUR_S
    requested_s, runtime_s = _run_times(centre, community, batches, batch, noise, target)
    order = np.argsort(submit_s, kind="stable")
    user = community.user[batches.program][batch]
    completed = (runtime_s < requested_s) & ~batches.fails[batch]
    columns = {
        "submit_s": submit_s,
        "runtime_s": runtime_s,
        "procs": batches.procs[batch],
        "requested_walltime_s": requested_s,
        "user_id": user + 1,
        "group_id": community.group[user],
        "executable": batches.program[batch] + 1,
        "queue": 1 + np.searchsorted([SHORT_QUEUE_S, NORMAL_QUEUE_S], requested_s),
        "status": completed.astype(np.int64),
    }
    return pl.DataFrame({name: column[order] for name, column in columns.items()})


def _load_of(options: CentreOptions, week: int) -> float:
    """The load of a week. It is spread evenly over the range, so that a few weeks have about the mean of all."""
    first = np.random.default_rng([options.seed, options.centre.procs, OF_LOADS]).random()
    return options.offered_load * (1.0 + LOAD_RANGE * ((first + week * GOLDEN) % 1.0 - 0.5))


def _batches(
    rng: np.random.Generator, centre: Centre, community: Community, week: int, count: int, days: int
) -> Batches:
    """Batches of together `count` jobs."""
    upto = np.cumsum(community.active(week))
    program, length = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    is_array = np.zeros(0, dtype=np.bool_)
    while length.sum() < count:
        draws = 50 + count // 4
        more = np.minimum(np.searchsorted(upto, rng.random(draws), side="right"), len(upto) - 1)
        size_class = community.size_class[more]
        arrays = rng.random(draws) < ARRAY_SHARE[size_class]
        jobs = np.clip(rng.lognormal(ARRAY_LN_JOBS, ARRAY_SIGMA, draws), LEAST_ARRAY, MOST_ARRAY[size_class])
        series = np.clip(rng.lognormal(SERIES_LN_JOBS, SERIES_SIGMA, draws), 1, MOST_SERIES)
        program, is_array = np.append(program, more), np.append(is_array, arrays)
        length = np.append(length, np.where(arrays, jobs, series).astype(np.int64))
    length = length[: 1 + int(np.searchsorted(np.cumsum(length), count))]
    length[-1] -= length.sum() - count
    size, program, is_array = len(length), program[: len(length)], is_array[: len(length)]
    size_class, procs = community.size_class[program], community.procs[program]
    ln_run_time = community.ln_run_time[program] + BATCH_SIGMA * rng.standard_normal(size)
    fails = rng.random(size) < FAILING_SHARE
    run_time_s = np.where(fails, rng.uniform(1.0, FAILING_S, size), np.exp(ln_run_time))
    nodes = procs // centre.cores_per_node
    other = np.clip(nodes * rng.choice(OTHER_SIZES, size), 1, centre.nodes).astype(np.int64)
    nodes = np.where(rng.random(size) < ANOTHER_SIZE_SHARE, other, nodes)
    procs = np.where(size_class == SEVERAL_NODES, nodes * centre.cores_per_node, procs)
    used_share = rng.uniform(SMALLEST_USED_SHARE, 1.0, size)
    used_share[rng.random(size) < THOUGHTLESS_SHARE] = 1e-9
    gap_s = rng.lognormal(SERIES_GAP_LN_S, SERIES_GAP_SIGMA, size)
    gap_s[is_array] = 1.0 / ARRAY_JOBS_A_SECOND
    if week % WHOLE_EVERY_WEEKS == 0:
        whole = int(np.argmin(np.where(size_class == SEVERAL_NODES, length, size)))
        procs[whole], size_class[whole], fails[whole] = centre.procs, SEVERAL_NODES, False
        run_time_s[whole] = rng.lognormal(WHOLE_LN_S, WHOLE_SIGMA)
    submit_s = _local_times(rng, centre, size, days)
    return Batches(length, program, size_class, procs, run_time_s, fails, used_share, submit_s, gap_s)


def _local_times(rng: np.random.Generator, centre: Centre, size: int, days: int) -> FloatArray:
    """When each batch is submitted, seconds of local wall clock since the week began, by weekday and hour."""
    weekdays = (centre.first_day.weekday() + np.arange(days)) % DAYS_A_WEEK
    hours = np.where(weekdays[:, None] < 5, OFFICE_HOURS / OFFICE_HOURS.sum(), WEEKEND_HOURS / WEEKEND_HOURS.sum())
    share = (WEEKDAY_SHARES[weekdays][:, None] * hours).ravel()  # (days * 24,)
    hour = rng.choice(len(share), size, p=share / share.sum())
    return HOUR_S * (hour + rng.random(size))


def _submissions(
    rng: np.random.Generator, centre: Centre, batches: Batches, batch: IntArray, week: int, days: int
) -> IntArray:
    """When each job is submitted, seconds since local midnight of the first day, shape (jobs,), in the order of the batches.

    A batch that would not end within its week begins earlier.
    """
    gaps = rng.exponential(1.0, len(batch)) * batches.gap_s[batch]
    passed = np.cumsum(gaps)
    first = np.cumsum(batches.length) - batches.length
    passed -= passed[first][batch]
    end = days * HOURS_A_DAY * HOUR_S - 1.0
    last = passed[first + batches.length - 1]
    begin = np.maximum(np.minimum(batches.submit_s, end - last), 0.0)
    local_s = np.minimum(begin[batch] + passed, end)
    zone = ZoneInfo(centre.time_zone)
    monday = datetime.combine(centre.first_day, datetime.min.time()) + timedelta(weeks=week)
    midnight = datetime.combine(centre.first_day, datetime.min.time()).replace(tzinfo=zone).astimezone(UTC)
    hours = [monday + timedelta(hours=hour) for hour in range(days * HOURS_A_DAY)]
    begins_s = np.array([(hour.replace(tzinfo=zone).astimezone(UTC) - midnight).total_seconds() for hour in hours])
    hour = (local_s // HOUR_S).astype(np.int64)
    return (begins_s[hour] + local_s - HOUR_S * hour).astype(np.int64)


def _run_times(
    centre: Centre, community: Community, batches: Batches, batch: IntArray, noise: FloatArray, target: float
) -> tuple[IntArray, IntArray]:
    """Requested and actual run times in seconds, both shape (jobs,), such that the jobs use `target` core seconds.

    The run times of batches on whole nodes are multiplied by one factor, since those are nearly all of the work. A job that
    would run longer than its request is killed at it. noise: of each job around its batch.
    """
    nodes = batches.procs // centre.cores_per_node
    limit_s = np.full(len(nodes), centre.max_walltime_s)
    for part, seconds in reversed(WIDE_LIMITS):
        limit_s[nodes * part > centre.nodes] = seconds
    menu = community.menus[community.user[batches.program]]  # (batches, choices)
    borders = np.sqrt(menu[:, :-1].astype(np.float64) * menu[:, 1:])
    scaled = (batches.size_class >= ONE_NODE) & ~batches.fails
    procs, factor = batches.procs[batch], 1.0
    for _ in range(LOAD_ROUNDS):
        typical_s = np.minimum(batches.run_time_s * np.where(scaled, factor, 1.0), limit_s)
        nearest = (borders < (typical_s / batches.used_share)[:, None]).sum(axis=1)
        survivable = (menu < (LEAST_PATIENCE * typical_s)[:, None]).sum(axis=1)
        choice = np.minimum(np.maximum(nearest, survivable), menu.shape[1] - 1)
        requested_s = np.minimum(menu[np.arange(len(menu)), choice], limit_s)[batch]
        runtime_s = np.clip(np.rint(typical_s[batch] * noise), 1, requested_s).astype(np.int64)
        area = (runtime_s * procs).astype(np.float64)
        large = area[scaled[batch]].sum()
        factor *= np.clip((target - area.sum() + large) / max(large, 1.0), 0.1, 3.0)
        factor = float(np.clip(factor, 1.0 / MOST_FACTOR, MOST_FACTOR))
    return requested_s, runtime_s
