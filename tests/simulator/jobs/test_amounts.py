"""Lengths of time and shares, as users write them."""

from __future__ import annotations

import pytest

from simulator.jobs.amounts import parse_duration, parse_share

LENGTHS = {
    "4h": 14_400, "30min": 1800, "30m": 1800, "2d": 172_800, "90s": 90, "3600": 3600, "0": 0, " 1.5 H ": 5400, "1h30min": 5400,
    "1d 2h": 93_600, "4:00:00": 14_400, "2-12:00:00": 216_000, "15:30": 930,
}  # fmt: skip


@pytest.mark.parametrize("text", LENGTHS)
def test_lengths_of_time(text: str) -> None:
    assert parse_duration(text) == LENGTHS[text]


@pytest.mark.parametrize("text", ["", "h", "4 hours", "-4h", "4w", "1:2:3:4", "+1h", "12h3", "999999999999", "four"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="expected a length of time such as 4h, 30min, 2d or 4:00:00, or seconds"):
        parse_duration(text)


def test_a_fault_says_what_it_is_of() -> None:
    with pytest.raises(ValueError, match=r"^round_walltimes 'x': expected"):
        parse_duration("x", "round_walltimes")


@pytest.mark.parametrize(
    ("text", "share"), [("10%", 0.1), ("10 %", 0.1), ("0.1", 0.1), (" .5", 0.5), ("1", 1.0), ("2.5%", 0.025)]
)
def test_shares(text: str, share: float) -> None:
    assert parse_share(text) == share


@pytest.mark.parametrize("text", ["", "%", "ten", "-1%", "1e-2", "10%%", "nan"])
def test_what_is_no_share(text: str) -> None:
    with pytest.raises(ValueError, match=r"^risk '.*': expected a share such as 10% or 0.1$"):
        parse_share(text, "risk")
