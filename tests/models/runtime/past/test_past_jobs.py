"""Tests of models/runtime/past: past_jobs, past_jobs_likeness."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl
import pytest

from models.runtime.past.past_jobs import (
    NOT_LOGGED,
    Likeness,
    LikenessInParts,
    _number_known,
    in_order,
    likeness_of,
    number_pairs,
    numbers_of_names,
)
from models.runtime.past.similar import no_memory
from tests.models.runtime.rows import ladder

# past_jobs: Jobs of a log as arrays: numbers of pairs, and the order of moments.


def test_pairs_are_numbered_as_they_come() -> None:
    rng = np.random.default_rng(7)
    one = rng.integers(-1, 40, 5000).astype(np.int32)
    other = rng.choice([np.iinfo(np.int64).min, -1, 0, 2**32, 2**33, 10**11], 5000)
    numbers = np.empty(5000, dtype=np.int32)
    following = _number_known(one, other, 3, numbers)
    seen: defaultdict[tuple[int, int], int] = defaultdict(lambda: 3 + len(seen))
    every = [seen[pair] for pair in zip(one.tolist(), other.tolist(), strict=True)]
    assert numbers.tolist() == [number if a >= 0 else -1 for number, a in zip(every, one.tolist(), strict=True)]
    assert following == 3 + len(seen)


def test_the_order_of_moments_is_that_of_a_stable_sort() -> None:
    rng = np.random.default_rng(1)
    moment = rng.integers(-50, 50, 3000).astype(np.int32)
    moment[rng.random(3000) < 0.2] = NOT_LOGGED
    logged = np.flatnonzero(moment != NOT_LOGGED)
    expected = logged[np.argsort(moment[logged], kind="stable")]
    for kind in (np.int32, np.int64):
        assert in_order(moment.astype(kind)).tolist() == expected.tolist()


# past_jobs_likeness: Classes of jobs that are alike: the same jobs together as with keys of a dictionary, whatever
# the parts.

JOBS = 500


def odd_rows(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)

    def some(*values: object) -> list[object]:
        return [values[k] for k in rng.integers(0, len(values), JOBS)]

    return pl.DataFrame(
        {
            "user_name": some(None, "ann", "bob", "cy"),
            "executable": some(None, "a", "b", "sh"),
            "requested_walltime_s": some(None, 0, -1, 60, 61, 3600, 86_400, 10**11),
            "requested_procs": some(None, 0, 1, 2, 3, 4, 1 << 20, 2**62),
        },
        schema_overrides={"requested_procs": pl.Int64},
    )


def in_parts(rows: pl.DataFrame, *parts: int) -> Likeness:
    numbered, classes, first = rows.with_columns(numbers_of_names()), LikenessInParts(rows.height), 0
    for count in parts:
        classes.add(numbered[first : first + count])
        first += count
    return classes.finish()


@pytest.mark.parametrize("seed", range(3))
def test_jobs_share_a_class_if_they_share_a_key(seed: int) -> None:
    rows = odd_rows(seed)
    likeness = likeness_of(rows)
    keys = [ladder(job) for job in rows.to_dicts()]
    number_of = {
        key: number for k, job in enumerate(keys) for key, number in zip(job, likeness.class_of[:, k], strict=True)
    }
    assert len(set(number_of.values())) == len(number_of) > 300  # no two keys share a number
    assert all(
        number_of[key] == number
        for k, job in enumerate(keys)
        for key, number in zip(job, likeness.class_of[:, k], strict=True)
    )


@pytest.mark.parametrize("parts", [(1,) * JOBS, (0, 499, 0, 1), (250, 250)])
def test_the_parts_do_not_matter(parts: tuple[int, ...]) -> None:
    rows = odd_rows(7)
    whole, likeness = likeness_of(rows), in_parts(rows, *parts)
    assert (likeness.class_of == whole.class_of).all() and (likeness.request == whole.request).all()


def test_small_numbers_take_four_bytes() -> None:
    rows = odd_rows(8)
    assert likeness_of(rows).request.dtype == np.int64
    assert likeness_of(rows.with_columns(requested_walltime_s=60)).request.dtype == np.int32


def test_a_class_has_room_for_its_jobs_and_for_twelve_at_most() -> None:
    likeness = likeness_of(odd_rows(9))
    room = np.diff(no_memory(likeness).first)
    jobs = np.bincount(likeness.class_of.ravel(), minlength=len(room))
    assert (room == np.minimum(jobs, 12)).all() and set(room) == set(range(13))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_pairs_are_numbered_in_the_order_in_which_they_come(kind: type) -> None:
    rng = np.random.default_rng(3)
    most = 40 if kind == np.int32 else 2**40
    one, other = rng.integers(-5, 40, 3000).astype(np.int32), rng.integers(-most, most, 3000).astype(kind)
    other[1000:] = other[rng.integers(0, 1000, 2000)]
    numbers = np.empty(3000, dtype=np.int32)
    expected: dict[tuple[int, int], int] = {}
    for pair in zip(one.tolist(), other.tolist(), strict=True):
        expected.setdefault(pair, 7 + len(expected))
    assert number_pairs(one, other, 7, numbers) == 7 + len(expected)
    assert numbers.tolist() == [expected[pair] for pair in zip(one.tolist(), other.tolist(), strict=True)]
