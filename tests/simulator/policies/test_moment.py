"""Usage at one moment."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from simulator.policies.moment import change_rate, usage_at, usage_of
from tests.simulator.policies.moments import moment


@numba.njit
def _usage_of(now, user):
    return usage_of(now, user)


def test_usage_of_a_user_and_of_all() -> None:
    later = moment(now=150)
    assert [_usage_of(later, user) for user in (0, 1, -1)] == [1.5, 4.5, 6.0], "one half-life later"


def test_usage_is_the_decayed_integral_of_processors() -> None:
    usage, rate, since = np.zeros(3), np.zeros(3), np.zeros(3, dtype=np.int64)
    change_rate(usage, rate, since, 0, 100, 4, 50.0)
    change_rate(usage, rate, since, 1, 120, 1, 50.0)
    change_rate(usage, rate, since, 0, 180, -4, 50.0)
    moments = np.arange(100, 180, 0.001) + 0.0005
    first = 4 * np.sum(2.0 ** (-(300 - moments) / 50.0)) * 0.001
    assert usage_at(usage, rate, since, 0, 300, 50.0) == pytest.approx(first, rel=1e-6)
    everyone = first + usage_at(usage, rate, since, 1, 300, 50.0)
    assert usage_at(usage, rate, since, 2, 300, 50.0) == pytest.approx(everyone, rel=1e-9)
