"""Reservations of the accounting log."""

from __future__ import annotations

import gzip

import pytest

from tests.traces.pbs.pbs_goldens import golden_folder
from traces.cluster.reservations import AdvanceReservation
from traces.pbs.reservations import ReservationRecord, reservations_of_records
from traces.pbs.rules import _logged_s, record_pairs

NODES = {"start": "100", "end": "200", "nodes": "(n1:ncpus=4)+(n2:ncpus=4+n1:ncpus=4)"}


def record(kind: str, logged_s: int, name: str = "R1.head", **attributes: str) -> ReservationRecord:
    return ReservationRecord(kind, logged_s, name, attributes)


def test_a_reservation_is_known_from_its_confirmation() -> None:
    asked, confirmed = record("U", 9, requestor="ada@head"), record("Y", 10, **NODES)
    expected = AdvanceReservation("R1.head", 100, 200, 10, ("n1", "n2"), users=("ada",), queue="R1")
    assert reservations_of_records([asked, confirmed]) == (expected,)
    began = record(
        "B",
        100,
        owner="ada@head",
        queue="R1",
        Authorized_Users="+ada@*,grace@x,-eve@*",
        Authorized_Groups="phys",
        **NODES,
    )
    (reservation,) = reservations_of_records([asked, confirmed, began])
    assert (reservation.announced_s, reservation.users, reservation.groups) == (10, ("ada", "grace"), ("phys",))


@pytest.mark.parametrize(("deleted_s", "ends"), [(50, []), (150, [150]), (200, [200])])
def test_one_that_is_deleted_ends_then(deleted_s: int, ends: list[int]) -> None:
    records = [record("Y", 10, **NODES), record("K", deleted_s), record("K", deleted_s, "R2.head")]
    assert [reservation.end_s for reservation in reservations_of_records(records)] == ends


def test_records_that_say_nothing_count_as_none() -> None:
    assert reservations_of_records([record("Y", 10), record("B", 10, start="5", end="5"), record("F", 20)]) == ()


@pytest.mark.thorough
def test_reservations_of_the_recorded_run() -> None:
    lines = gzip.decompress((golden_folder("P7") / "accounting.gz").read_bytes()).decode().splitlines()
    parts = (line.split(";", 3) for line in lines)
    records = [
        ReservationRecord(kind, _logged_s(stamp) or 0, name, record_pairs(text)) for stamp, kind, name, text in parts
    ]
    first, second = reservations_of_records(records)
    assert (first.begin_s, first.end_s, len(first.nodes), first.users) == (1795677995, 1795678025, 16, ("u1",))
    assert (second.begin_s, second.end_s, len(second.nodes), second.users) == (1795678040, 1795678060, 32, ("u2",))
    assert (first.queue, first.announced_s) == ("R183", 1795677953)
