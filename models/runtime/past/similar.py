"""Similar jobs: the run times of the ended jobs that are most like a job are used to predict its own.

A nearest-neighbour predictor for logs. Likeness is a ladder of classes (models/runtime/past/past_jobs.py), from the same user, executable,
request and processors down to any job with about the same request. Each class remembers its last `MEMORY` run times. A
prediction is a weighted sample of run times. A class with many run times takes most of the weight and leaves the rest to the next,
wider one, which is the back-off of Bell, Cleary and Witten's text models. Within a class recent jobs weigh more.

The functions are compiled, because they run once per job of a trace, and inside replays each time a user's job has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.compiled import compiled, lean
from models.runtime.past.past_jobs import (
    NOT_LOGGED,
    NUM_CLASSES,
    Likeness,
    LikenessInParts,
    Numbers,
    in_order,
    numbers_of_names,
    with_values,
)
from models.runtime.predictor import LEVELS, SIMILAR_COLUMNS

FloatArray = NDArray[np.float64]

MEMORY = 12
"""Run times that a class remembers. With `RECENCY` 0.8 the twelfth weighs a twelfth of the first."""

RECENCY = 0.8
"""Weight of a run time relative to that of the next later one of the same class."""

DOUBT = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
"""By class. With run times of total weight w it takes w / (w + doubt) of the weight that narrower classes have left."""

TAU_S = 10.0
"""A run time below this counts as this where its inverse is taken, as in the bounded slowdown."""

MOST_VALUES = NUM_CLASSES * MEMORY + 1
NO_REQUEST_S = 1 << 40


class Blend(NamedTuple):
    """How the run times of classes are weighed: RECENCY and DOUBT, or others. doubt: float64 (NUM_CLASSES,)."""

    recency: float
    doubt: FloatArray


def usual_blend() -> Blend:
    """RECENCY and DOUBT."""
    return Blend(RECENCY, np.array(DOUBT))


class Memory(NamedTuple):
    """What is remembered. runtimes: of all classes, the last ones of each, float64. first: where those of a class begin, int32
    (classes + 1,). seen: how many were ever entered, int32 (classes,)."""

    runtimes: FloatArray
    first: NDArray[np.int32]
    seen: NDArray[np.int32]


def no_memory(likeness: Likeness) -> Memory:
    """Before any job has ended. A class has room for as many run times as it has jobs, MEMORY at most."""
    num_classes = int(likeness.class_of.max(initial=-1)) + 1
    first, seen = np.zeros(num_classes + 1, dtype=np.int32), np.zeros(num_classes, dtype=np.int32)
    runtimes = np.zeros(_make_room(likeness.class_of, first))
    return Memory(runtimes, first, seen)


@compiled
def _make_room(class_of, first):
    """Fills first. Returns how many run times all classes can remember."""
    for kind in range(len(class_of)):
        for job in range(class_of.shape[1]):
            first[class_of[kind, job]] += 1
    begin = 0
    for c in range(len(first)):
        jobs = first[c]
        first[c] = begin
        begin += min(jobs, MEMORY)
    return begin


@lean
def request_of(likeness, job):
    """The requested time in seconds, NO_REQUEST_S for none."""
    return likeness.request[job] if likeness.request[job] > 0 else NO_REQUEST_S


def requests_of(likeness: Likeness) -> NDArray[np.int64]:
    """`request_of` all jobs, int64 (jobs,). NO_REQUEST_S does not fit into int32, and numpy would wrap it silently."""
    request = likeness.request.astype(np.int64)
    request[request <= 0] = NO_REQUEST_S
    return request


@lean
def remember(memory, likeness, job, runtime):
    """Enters the run time of a job that has ended into its classes."""
    for k in range(NUM_CLASSES):
        c = likeness.class_of[k, job]
        room = memory.first[c + 1] - memory.first[c]
        memory.runtimes[memory.first[c] + memory.seen[c] % room] = runtime
        memory.seen[c] += 1


@lean
def num_kept(memory, c):
    """How many run times a class remembers."""
    return min(memory.seen[c], memory.first[c + 1] - memory.first[c])


@lean
def kept_runtime(memory, c, age):
    """A run time that a class remembers, in seconds. age: how many were entered after it."""
    room = memory.first[c + 1] - memory.first[c]
    return memory.runtimes[memory.first[c] + (memory.seen[c] - 1 - age) % room]


@lean
def recall(memory, likeness, job, blend, value, weight):
    """Fills value and weight, (MOST_VALUES,), with the weighted sample for a job. Returns how many there are.

    No run time exceeds the request, and weights sum to 1. The weight that no class takes goes to a quarter of the request, or to an hour
    where there is none.
    """
    request = request_of(likeness, job)
    left = 1.0
    count = 0
    for k in range(NUM_CLASSES):
        c = likeness.class_of[k, job]
        kept = num_kept(memory, c)
        if kept == 0:
            continue
        total = 0.0
        part = 1.0
        for _ in range(kept):
            total += part
            part *= blend.recency
        share = left / (total + blend.doubt[k])
        part = 1.0
        for i in range(kept):
            value[count] = min(kept_runtime(memory, c, i), request)
            weight[count] = share * part
            count += 1
            part *= blend.recency
        left -= share * total
    value[count] = request / 4 if request < NO_REQUEST_S else 3600.0
    weight[count] = left
    return count + 1


@lean
def moments(value, weight, count):
    """(mean run time in s, mean of 1 / max(run time, TAU_S) in 1/s) of a weighted sample."""
    mean = 0.0
    inverse = 0.0
    for i in range(count):
        mean += weight[i] * value[i]
        inverse += weight[i] / max(value[i], TAU_S)
    return mean, inverse


@lean
def sort_sample(value, weight, count):
    """By value, in place, by insertion: samples are short and made of nearly sorted pieces."""
    for i in range(1, count):
        v, w = value[i], weight[i]
        k = i
        while k > 0 and value[k - 1] > v:
            value[k] = value[k - 1]
            weight[k] = weight[k - 1]
            k -= 1
        value[k] = v
        weight[k] = w


@lean
def quantile_of_sample(value, weight, count, level):
    """The quantile of a sorted weighted sample: between the values whose middle weights lie on either side of the level."""
    below = 0.0
    last_middle = 0.0
    for i in range(count):
        middle = below + weight[i] / 2
        if middle >= level:
            if i == 0 or middle == last_middle:
                return value[i]
            part = (level - last_middle) / (middle - last_middle)
            return value[i - 1] + part * (value[i] - value[i - 1])
        last_middle = middle
        below += weight[i]
    return value[count - 1]


class _Log(NamedTuple):
    """Jobs in the order of submission, (jobs,): int32, or int64 where they need it. Times are seconds since the first submission; end
    is NOT_LOGGED where it or the run time is unknown. ends: the jobs that have ended in that order, int32 (ended jobs,)."""

    submit: Numbers
    end: Numbers
    runtime: Numbers
    ends: NDArray[np.int32]


@compiled
def _pass(log, likeness, memory, at, blend, levels, first, features):
    """Fills the rows of `features` for the jobs from `first` on. at: how many ends are remembered, int64 (1,).

    Columns: mean, inverse, number of the user's own run times, quantiles."""
    value = np.empty(MOST_VALUES)
    weight = np.empty(MOST_VALUES)
    for row in range(len(features)):
        job = first + row
        # for a submission, a job that ends in the same second has not ended yet
        while at[0] < len(log.ends) and log.end[log.ends[at[0]]] < log.submit[job]:
            remember(memory, likeness, log.ends[at[0]], max(log.runtime[log.ends[at[0]]], 1))
            at[0] += 1
        count = recall(memory, likeness, job, blend, value, weight)
        features[row, 0], features[row, 1] = moments(value, weight, count)
        own = 0
        for k in range(5):
            own += num_kept(memory, likeness.class_of[k, job])
        features[row, 2] = own
        sort_sample(value, weight, count)
        for q in range(len(levels)):
            features[row, 3 + q] = quantile_of_sample(value, weight, count, levels[q])


SIMILAR_FEATURES = ("similar_mean_s", "similar_inverse_per_s", "similar_jobs", *SIMILAR_COLUMNS)
"""Columns of `similar_job_features`."""


def similar_job_features(
    rows: pl.DataFrame, recency: float = RECENCY, doubt: tuple[float, ...] = DOUBT
) -> pl.DataFrame:
    """`SIMILAR_FEATURES` for every row: mean and quantiles of the run times of similar jobs that had ended in an earlier second.

    rows: submit_time, end_time (null where unknown), runtime_s and the columns of `likeness_of`. A row's values depend only on rows
    that ended before its submission. similar_inverse_per_s is the mean of 1 / max(run time, 10 s). similar_jobs counts the
    run times of the user's own jobs among those that were used.
    """
    place = rows.select(pl.arg_sort_by("submit_time", maintain_order=True)).to_series()
    jobs = rows[place].select(
        "runtime_s",
        "requested_walltime_s",
        "requested_procs",
        *numbers_of_names(),
        submit_s=pl.col("submit_time").dt.epoch("s"),
        end_s=pl.col("end_time").dt.epoch("s"),
    )
    (features,) = similar_jobs_in_parts([jobs], rows.height, Blend(recency, np.array(doubt)))
    return features[place.arg_sort()]


def similar_jobs_in_parts(
    parts: Iterable[pl.DataFrame], num_jobs: int, blend: Blend | None = None, first_part: int = 0
) -> Iterator[pl.DataFrame]:
    """`SIMILAR_FEATURES` of jobs that come in parts, in frames of as many jobs as each part has, without those before `first_part`.

    parts: the jobs in the order of submission: submit_s, end_s (null where unknown), runtime_s and the columns of
    `LikenessInParts.add`. num_jobs: how many there are in all parts. All are read before the first frame comes. A job takes 48
    bytes then, and 64 at most before.
    """
    log, likeness, heights = _log_of(parts, num_jobs)
    memory, at = no_memory(likeness), np.zeros(1, dtype=np.int64)
    first = sum(heights[:first_part])
    for height in heights[first_part:]:
        features = np.empty((height, len(SIMILAR_FEATURES)))
        _pass(log, likeness, memory, at, blend or usual_blend(), np.array(LEVELS), first, features)
        first += height
        yield pl.DataFrame(features, schema=list(SIMILAR_FEATURES))


def _log_of(parts: Iterable[pl.DataFrame], num_jobs: int) -> tuple[_Log, Likeness, list[int]]:
    """The arrays of a pass, and how many jobs each part has."""
    submit: Numbers = np.empty(num_jobs, dtype=np.int32)
    end: Numbers = np.empty(num_jobs, dtype=np.int32)
    runtime: Numbers = np.empty(num_jobs, dtype=np.int32)
    classes = LikenessInParts(num_jobs)
    heights: list[int] = []
    begin = first_s = 0
    for part in parts:
        if not begin and part.height:
            first_s = part["submit_s"][0]
        here = slice(begin, begin + part.height)
        has_ended = pl.col("end_s").is_not_null() & pl.col("runtime_s").is_not_null()
        columns = part.select(
            submit=pl.col("submit_s") - first_s,
            end=pl.when(has_ended).then(pl.col("end_s") - first_s).otherwise(NOT_LOGGED),
            runtime=pl.col("runtime_s").fill_null(0),
        )
        submit = with_values(submit, here, columns["submit"].to_numpy())
        end = with_values(end, here, columns["end"].to_numpy())
        runtime = with_values(runtime, here, columns["runtime"].to_numpy())
        classes.add(part)
        heights.append(part.height)
        begin = here.stop
    likeness = classes.finish()  # before the ends are in order, so that the memory of either serves the other
    return _Log(submit, end, runtime, in_order(end)), likeness, heights
