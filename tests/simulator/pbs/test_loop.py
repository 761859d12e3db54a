"""The clock of a replay."""

from __future__ import annotations

import numpy as np

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.loop import KEPT_S
from simulator.pbs.replaying import PbsReplayer
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


def test_events_of_one_turn_have_one_pass() -> None:
    """Two small jobs end in one second. After the first end a job of one node starts, after both the wide one before it does."""
    asked = [asking(0, 2, 100), asking(0, 2, 100), asking(1, 4, 60), asking(2, 2, 30)]
    times = [np.array(column, dtype=np.int64) for column in ([0, 0, 1, 2], [40, 40, 10, 10], [100, 100, 60, 30])]
    jobs = Jobs(times[0], times[1], np.ones_like(times[0]), times[2], times[2])
    starts = []
    for turns in ([0, 1, 2, 3], [1, 1, 2, 3]):
        order = (np.array([10, 11, 12, 13]), np.array(turns))
        replayer = PbsReplayer(pbs_site(strict_ordering=False), asked, turns=order)
        starts.append(replayer.replay(jobs, Cluster(16)).schedule.start.tolist())
    assert starts == [[0, 0, 50, 40], [0, 0, 40, 50]]


def test_a_late_stamp_moves_the_expected_end_in_later_passes() -> None:
    """The wide job is planned for second 100, or 101 where the first one's start was stamped a second later."""
    asked = [asking(0, 3, 100), asking(1, 4, 60), asking(2, 1, 99)]
    times = [np.array(column, dtype=np.int64) for column in ([0, 1, 2], [50, 10, 10], [100, 60, 99])]
    jobs = Jobs(times[0], times[1], np.ones_like(times[0]), times[2], times[2])
    for late, start in ((0, 60), (1, 2)):
        replayer = PbsReplayer(pbs_site(), asked, late=np.array([late, 0, 0]))
        assert replayer.replay(jobs, Cluster(16)).schedule.start.tolist()[2] == start


def test_usage_counts_while_nobody_waits() -> None:
    """Ann's job runs alone for a minute. Without passes her usage would be that of one who has used nothing."""
    site = pbs_site(fair_share=True, fairshare_usage_res="ncpus*walltime", scheduler_iteration=10)
    asked = [asking(0, 1, 90), asking(70, 4, 30, user="eve"), asking(71, 4, 30), asking(72, 4, 30, user="bob")]
    assert starts_on(site, asked, [80, 10, 10, 10])[3] < starts_on(site, asked, [80, 10, 10, 10])[2]
