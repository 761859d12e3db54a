"""A rule is a value."""

from __future__ import annotations

from models.identification.rules import LIMIT_KINDS, RUNNING_JOBS, Bound, IdentifiedRule


def test_rules_of_equal_parts_are_one() -> None:
    one, same = (IdentifiedRule(RUNNING_JOBS, "user", bounds=(Bound("ann", 0, 5),)) for _ in range(2))
    assert len({one, same}) == 1 and one.kind in LIMIT_KINDS and one.origin == "found"
