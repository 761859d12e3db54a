"""Usage at one moment."""

from __future__ import annotations

import numba

from simulator.policies.moment import usage_of
from tests.simulator.policies.moments import moment


@numba.njit
def _usage_of(now, user):
    return usage_of(now, user)


def test_usage_of_a_user_and_of_all() -> None:
    later = moment(now=150)
    assert [_usage_of(later, user) for user in (0, 1, -1)] == [1.5, 4.5, 6.0], "one half-life later"
