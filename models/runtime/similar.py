"""Similar jobs: the run times of the ended jobs that are most like a job are used to predict its own.

A nearest-neighbour predictor for logs. Likeness is a ladder of classes (`likeness_of`), from the same user, executable,
request and processors down to any job with about the same request. Each class remembers its last `MEMORY` run times. A
prediction is a weighted sample of run times. A class with many run times takes most of the weight and leaves the rest to the next,
wider one, which is the back-off of Bell, Cleary and Witten's text models. Within a class recent jobs weigh more.

The functions are compiled, because they run once per job of a trace, and inside replays each time a user's job has ended.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.compiled import compiled, lean
from models.runtime.predictor import LEVELS, SIMILAR_COLUMNS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MEMORY = 12
"""Run times that a class remembers. With `RECENCY` 0.8 the twelfth weighs a twelfth of the first."""

RECENCY = 0.8
"""Weight of a run time relative to that of the next later one of the same class."""

DOUBT = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
"""By class. With run times of total weight w it takes w / (w + doubt) of the weight that narrower classes have left."""

TAU_S = 10.0
"""A run time below this counts as this where its inverse is taken, as in the bounded slowdown."""

NUM_CLASSES = 7
MOST_VALUES = NUM_CLASSES * MEMORY + 1
NO_REQUEST_S = 1 << 40


class Blend(NamedTuple):
    """How the run times of classes are weighed: RECENCY and DOUBT, or others. doubt: float64 (NUM_CLASSES,)."""

    recency: float
    doubt: FloatArray


def usual_blend() -> Blend:
    """RECENCY and DOUBT."""
    return Blend(RECENCY, np.array(DOUBT))


class Likeness(NamedTuple):
    """class_of: number of the job's class, int64 (NUM_CLASSES, jobs). request: requested time in seconds, NO_REQUEST_S for
    none, float64 (jobs,)."""

    class_of: IntArray
    request: FloatArray


class Memory(NamedTuple):
    """What is remembered. runtimes: float64 (NUM_CLASSES, classes, MEMORY), ring buffers. seen: how many run times were ever entered,
    int64 (NUM_CLASSES, classes)."""

    runtimes: FloatArray
    seen: IntArray


def likeness_of(rows: pl.DataFrame) -> Likeness:
    """Classes of jobs. rows: user_name, executable, requested_walltime_s and requested_procs, each null where unknown."""
    request = pl.col("requested_walltime_s").fill_null(-1)
    procs = pl.col("requested_procs").fill_null(-1)
    # half an octave of wall time, an octave of processors
    request_class = pl.when(request > 0).then((2 * request.clip(1).log(2)).round()).otherwise(-1).cast(pl.Int64)
    procs_class = procs.clip(1).log(2).ceil().cast(pl.Int64)
    user, executable = pl.col("user_name"), pl.col("executable")
    ladder: tuple[tuple[pl.Expr, ...], ...] = (
        (user, executable, request, procs),
        (user, executable, request),
        (user, request),
        (user, executable),
        (user,),
        (request_class, procs_class),
        (request_class,),
    )
    class_of = np.empty((NUM_CLASSES, rows.height), dtype=np.int64)
    for k, parts in enumerate(ladder):
        alike = pl.struct(part.alias(str(i)) for i, part in enumerate(parts))
        class_of[k] = rows.select(alike.rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    asked = rows["requested_walltime_s"].fill_null(0).to_numpy().astype(np.float64)
    return Likeness(class_of, np.where(asked > 0, asked, float(NO_REQUEST_S)))


def no_memory(likeness: Likeness) -> Memory:
    """Before any job has ended."""
    classes = int(likeness.class_of.max(initial=0)) + 1
    return Memory(np.zeros((NUM_CLASSES, classes, MEMORY)), np.zeros((NUM_CLASSES, classes), dtype=np.int64))


@lean
def remember(memory, likeness, job, runtime):
    """Enters the run time of a job that has ended into its classes."""
    for k in range(NUM_CLASSES):
        c = likeness.class_of[k, job]
        memory.runtimes[k, c, memory.seen[k, c] % MEMORY] = runtime
        memory.seen[k, c] += 1


@lean
def recall(memory, likeness, job, blend, value, weight):
    """Fills value and weight, (MOST_VALUES,), with the weighted sample for a job. Returns how many there are.

    No run time exceeds the request, and weights sum to 1. The weight that no class takes goes to a quarter of the request, or to an hour
    where there is none.
    """
    request = likeness.request[job]
    left = 1.0
    count = 0
    for k in range(NUM_CLASSES):
        c = likeness.class_of[k, job]
        seen = memory.seen[k, c]
        kept = min(seen, MEMORY)
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
            value[count] = min(memory.runtimes[k, c, (seen - 1 - i) % MEMORY], request)
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


@compiled
def _pass(order, is_end, likeness, memory, runtime, blend, levels, features):
    """Goes through the events and fills a row of `features` at each submission.

    Columns: mean, inverse, number of the user's own run times, quantiles."""
    value = np.empty(MOST_VALUES)
    weight = np.empty(MOST_VALUES)
    for event in range(len(order)):
        job = order[event]
        if is_end[event]:
            remember(memory, likeness, job, runtime[job])
            continue
        count = recall(memory, likeness, job, blend, value, weight)
        features[job, 0], features[job, 1] = moments(value, weight, count)
        own = 0
        for k in range(5):
            own += min(memory.seen[k, likeness.class_of[k, job]], MEMORY)
        features[job, 2] = own
        sort_sample(value, weight, count)
        for q in range(len(levels)):
            features[job, 3 + q] = quantile_of_sample(value, weight, count, levels[q])


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
    job, is_end = _submissions_and_ends(rows)
    runtime = np.maximum(rows["runtime_s"].fill_null(0).to_numpy().astype(np.float64), 1.0)
    likeness = likeness_of(rows)
    features = np.zeros((rows.height, len(SIMILAR_FEATURES)))
    memory, blend = no_memory(likeness), Blend(recency, np.array(doubt))
    _pass(job, is_end, likeness, memory, runtime, blend, np.array(LEVELS), features)
    del job, is_end, likeness, memory, runtime  # for millions of jobs they take as much memory as the copy
    return pl.DataFrame(features, schema=list(SIMILAR_FEATURES))


def _submissions_and_ends(rows: pl.DataFrame) -> tuple[IntArray, NDArray[np.bool_]]:
    """Which job is submitted or ends, and whether it ends, in the order of time. Both have the shape (submissions and ends,)."""
    submit = rows["submit_time"].dt.epoch("us").to_numpy()
    has_ended = pl.col("end_time").is_not_null() & pl.col("runtime_s").is_not_null()
    ended = np.flatnonzero(rows.select(has_ended).to_series().to_numpy())
    end = rows["end_time"].dt.epoch("us").fill_null(0).to_numpy()[ended]
    # at the same moment submissions come first. For a submission, a job that ends in the same second has not ended yet
    job = np.concatenate([np.arange(len(submit)), ended])
    is_end = np.concatenate([np.zeros(len(submit), dtype=np.bool_), np.ones(len(ended), dtype=np.bool_)])
    order = np.lexsort((job, is_end, np.concatenate([submit, end])))
    return job[order], is_end[order]
