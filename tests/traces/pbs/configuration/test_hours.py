"""Prime time and dedicated time."""

import pytest

from tests.traces.pbs.configuration.configurations import file_of
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.cluster.reservations import Gate
from traces.pbs.configuration.hours import gates_of_prime_time, read_dedicated_time, read_prime_time

HOLIDAYS = "* prime time\nYEAR 2026\n  weekday  0600 1730\n  saturday none all\n  sunday all none\n  1 Jan 1 none all New Year\n"
WORKDAYS = (0, 1, 2, 3, 4)


def test_queues_are_closed_out_of_their_hours() -> None:
    spans, dates = read_prime_time(file_of("holidays", HOLIDAYS), Notes())
    assert spans == ((WORKDAYS, 360, 1050), ((6,), 0, 1440)) and [entry.line for entry in dates] == [6]
    gates = gates_of_prime_time(spans, {}, ("p_day", "np_night", "any"), "UTC")
    assert gates == (
        Gate(WORKDAYS, 0, 360, partition="p_day"),
        Gate(WORKDAYS, 1050, 1440, partition="p_day"),
        Gate((5,), 0, 1440, partition="p_day"),
        Gate(WORKDAYS, 360, 1050, partition="np_night"),
        Gate((6,), 0, 1440, partition="np_night"),
    )


def test_dedicated_time_is_a_reservation() -> None:
    file = file_of("dedicated_time", "# maintenance\n12/24/2026 08:00 12/24/2026 20:00\n")
    reservation = read_dedicated_time(file, ("ded1",), "Europe/Berlin", Notes())[0]
    assert (reservation.end_s - reservation.begin_s, reservation.begin_s % 86400) == (12 * 3600, 7 * 3600)
    assert reservation.partitions == ("ded1",)


@pytest.mark.parametrize("line", ["weekday 0600", "someday 0600 1700", "weekday 0660 1700", "weekday early late"])
def test_faults(line: str) -> None:
    with pytest.raises(ConfigurationError, match=r"holidays:1: expected .*Write lines such as `weekday 0600 1730`"):
        read_prime_time(file_of("holidays", line), Notes())
    with pytest.raises(ConfigurationError, match=r"ded:1: expected `MM/DD/YYYY HH:MM MM/DD/YYYY HH:MM`"):
        read_dedicated_time(file_of("ded", "12/24/2026 08:00 12/24/2026 07:00"), (), "UTC", Notes())
