"""The fields of SWF."""

from __future__ import annotations

from traces.swf.fields import FIELDS, FRACTIONAL, MAY_BE_NEGATIVE, NEVER_UNKNOWN, NUM_FIELDS, TIME_FIELDS


def test_there_are_18_and_the_rest_are_some_of_them() -> None:
    assert NUM_FIELDS == len(set(FIELDS)) == 18
    assert set(FIELDS) > FRACTIONAL | TIME_FIELDS | MAY_BE_NEGATIVE | NEVER_UNKNOWN
    assert not FRACTIONAL & TIME_FIELDS
    assert not MAY_BE_NEGATIVE & NEVER_UNKNOWN


def test_their_order_is_that_of_the_format() -> None:
    assert (FIELDS[0], FIELDS[3], FIELDS[7], FIELDS[10], FIELDS[17]) == (
        "job_number",
        "runtime_s",
        "requested_procs",
        "status",
        "think_time_s",
    )
