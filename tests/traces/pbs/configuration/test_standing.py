"""Standing reservations."""

from datetime import UTC, datetime

import pytest

from traces.cluster.nodes import Node
from traces.cluster.notes import Entry
from traces.cluster.remarks import ConfigurationError
from traces.cluster.reservations import AdvanceReservation
from traces.pbs.configuration.standing import standing_reservation

NODES = (Node("n1", 4, features=("fast",)), Node("n2", 4))


def reserve(time_zone: str = "UTC", **attributes: str) -> AdvanceReservation:
    entries = {key: Entry("maui.cfg", 3, f"SRCFG[r] {key}", text) for key, text in attributes.items()}
    return standing_reservation("r", entries, NODES, time_zone)


@pytest.mark.parametrize(
    ("attributes", "begin", "hours", "repeats"),
    [
        ({"STARTTIME": "8:00:00", "ENDTIME": "17:00:00"}, "Mon 08:00", 9, "daily"),
        ({"STARTTIME": "20:00:00", "ENDTIME": "6:00:00", "DAYS": "TUE,SAT"}, "Tue 20:00", 10, "FREQ=WEEKLY;BYDAY=TU,SA"),
        ({"PERIOD": "WEEK", "STARTTIME": "1:06:00:00", "ENDTIME": "2:06:00:00"}, "Mon 06:00", 24, "weekly"),
        ({}, "Mon 00:00", 24, "daily"),
    ],
)  # fmt: skip
def test_spans_repeat(attributes: dict[str, str], begin: str, hours: int, repeats: str) -> None:
    reservation = reserve(**attributes)
    assert datetime.fromtimestamp(reservation.begin_s, UTC).strftime("%a %H:%M") == begin
    assert (reservation.end_s - reservation.begin_s, reservation.repeats) == (hours * 3600, repeats)


def test_what_is_kept_and_for_whom() -> None:
    assert reserve(HOSTLIST="n[12]").nodes == ("n1", "n2") and reserve(HOSTLIST="ALL").nodes == ("n1", "n2")
    assert reserve(NODEFEATURES="fast").nodes == ("n1",)
    assert reserve(TASKCOUNT="3", RESOURCES="PROCS:2;MEM:100").cpus == 6
    for_some = reserve(PERIOD="INFINITY", USERLIST="a+,b-", QOSLIST="&high", GROUPLIST="g", FLAGS="SPACEFLEX")
    assert (for_some.begin_s, for_some.repeats) == (0, "")
    assert (for_some.users, for_some.qos, for_some.groups, for_some.flags) == (
        ("a", "b"),
        ("high",),
        ("g",),
        ("spaceflex",),
    )


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"PERIOD": "YEAR"}, r"maui.cfg:3: expected one of DAY, WEEK, INFINITY as SRCFG\[r\] PERIOD, found 'YEAR'"),
        ({"DAYS": "MON,XYZ"}, r"expected days of SUN, .* as SRCFG\[r\] DAYS"),
        ({"HOSTLIST": "m1"}, r"expected names of nodes that the cluster has as SRCFG\[r\] HOSTLIST, found 'm1'"),
        ({"NODEFEATURES": "slow"}, r"expected features that a node of the cluster has"),
        ({"STARTTIME": "noon"}, r"expected a duration"),
    ],
)
def test_faults(attributes: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        reserve(**attributes)
