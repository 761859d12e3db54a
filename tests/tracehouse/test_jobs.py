"""What a job that failed says."""

from __future__ import annotations

import pytest

from tracehouse.jobs import JobFailed, raise_failures


def test_every_source_that_failed_is_named() -> None:
    raise_failures({})
    with pytest.raises(JobFailed, match=r"^broken$"):
        raise_failures({"a": "broken"})
    with pytest.raises(JobFailed, match=r"2 sources failed:\n  a: broken\n  b: gone"):
        raise_failures({"a": "broken", "b": "gone"})


def test_a_message_steers_no_terminal() -> None:
    for failures in ({"a": "\x1b[2J"}, {"a": "\x1b[2J", "b": "gone"}):
        with pytest.raises(JobFailed) as raised:
            raise_failures(failures)
        assert "\\x1b[2J" in str(raised.value) and "\x1b" not in str(raised.value)
