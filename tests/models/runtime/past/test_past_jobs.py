"""Jobs of a log as arrays: numbers of pairs, and the order of moments."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from models.runtime.past.past_jobs import NOT_LOGGED, _number_known, in_order


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
