"""Limits and accounts are in tests/traces/cluster/test_description.py; here is what a limit refuses by itself."""

import pytest

from traces.cluster.accounts import Limit


def test_a_bound_is_not_negative() -> None:
    with pytest.raises(ValueError, match="is negative: -1"):
        Limit("qos", "normal", "running", "user", "cpu", -1)


@pytest.mark.parametrize(
    ("owner_name", "association"),
    [("ada", ("", "ada", "")), ("lab/ada", ("lab", "ada", "")), ("lab/ada/gpu", ("lab", "ada", "gpu"))],
)
def test_the_association_of_a_limit(owner_name: str, association: tuple[str, str, str]) -> None:
    assert Limit("user", owner_name, "running", "all", "cpu", 4).association == association
