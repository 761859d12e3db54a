"""The clock of a replay."""

from __future__ import annotations

from simulator.pbs.loop import KEPT_S
from tests.simulator.pbs_site import asking, pbs_site, starts_on
from traces.cluster.reservations import AdvanceReservation

RESERVED = AdvanceReservation("R1", 100, 200, 5, ("n0", "n1"), queue="R1")


def test_jobs_wait_for_their_reservation_and_others_stay_out_of_it() -> None:
    site = pbs_site(reservations=(RESERVED,))
    asked = [asking(0, 2, 50, user="bob"), asking(10, 2, 50, reservation="R1"), asking(60, 3, 50), asking(61, 2, 50)]
    assert starts_on(site, asked, [50, 50, 40, 40]) == [0, 100, 200, 61]


def test_a_reservation_that_ends_with_a_job_keeps_its_nodes() -> None:
    site = pbs_site(reservations=(RESERVED,))
    asked = [asking(10, 2, 300, reservation="R1"), asking(101, 4, 50)]
    assert starts_on(site, asked, [300, 10]) == [100, 200 + KEPT_S]


def test_a_job_waits_for_others_and_for_its_time() -> None:
    asked = [
        asking(0, 1, 60),
        asking(1, 1, 60, dependencies=(("afterok", 0),)),
        asking(2, 1, 60, begin_s=75),
        asking(3, 1, 60, held=True),
    ]
    assert starts_on(pbs_site(), asked, [30, 10, 10, 10]) == [0, 30, 75, -1]
