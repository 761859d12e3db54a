"""The tree of shares."""

import pytest

from tests.traces.pbs.configuration.configurations import file_of
from traces.cluster.accounts import Account, AccountUser
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.shares import read_shares


def test_groups_and_users() -> None:
    accounts, members = read_shares(
        file_of("resource_group", "# tree\nA 100 root 60\nB 101 A 40\nu1 200 B 50\nu2 201 root 7\n"), Notes()
    )
    assert accounts == (Account("A", "root", 60), Account("B", "A", 40))
    assert members == (AccountUser("u1", "B", 50, is_default=True), AccountUser("u2", "root", 7, is_default=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A 1 root\n", "resource_group:1: expected `name number parent shares`, found 'A 1 root'"),
        ("A 1 root 2\nA 2 root 2\n", "resource_group:2: expected each name once, found A again"),
        (
            "A 1 B 2\n",
            r"resource_group:1: expected a parent that is root or stands above, found 'B'. Write a line for B",
        ),
        ("A 1 root x\n", "resource_group:1: expected a whole number from 0 as A, found 'x'"),
    ],
)
def test_faults(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_shares(file_of("resource_group", text), Notes())
