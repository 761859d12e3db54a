"""Limits and accounts are in tests/traces/cluster/test_description.py; here is what a limit refuses by itself."""

import pytest

from traces.cluster.accounts import Limit


def test_a_bound_is_not_negative() -> None:
    with pytest.raises(ValueError, match="is negative: -1"):
        Limit("qos", "normal", "running", "user", "cpu", -1)
