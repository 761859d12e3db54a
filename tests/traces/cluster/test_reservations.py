"""Reservations and gates are checked where they are made."""

import pytest

from traces.cluster.reservations import AdvanceReservation, Gate


def test_a_reservation_ends_after_it_begins() -> None:
    with pytest.raises(ValueError, match="ends before it begins"):
        AdvanceReservation("maint", 100, 100)


def test_a_gate_has_minutes_of_a_day() -> None:
    with pytest.raises(ValueError, match="minutes are from 0 to 1440"):
        Gate((0,), 1440, 0)
