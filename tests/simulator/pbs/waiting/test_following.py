"""Tests of simulator/pbs/waiting: following, looking.

What kept jobs, from starts that are given: those of a replay, under which no job starts before it can.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.pbs.requests import PbsJob
from simulator.pbs.waiting.following import GivenStarts, follow_pbs
from simulator.pbs.waiting.looking import PBS_KEPT, PbsWaits
from tests.simulator.busy import asking, pbs_site, starts_on
from traces.cluster.accounts import Limit
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate


def kept_in_replay(site: ClusterDescription, asked: list[PbsJob], runtimes: list[int]) -> list[dict[str, int]]:
    """Of each job what kept it in a replay, and for how many seconds."""
    start = np.array(starts_on(site, asked, runtimes), dtype=np.int64)
    none = np.zeros(len(asked) + 1, dtype=np.int64)
    given = GivenStarts(start, start + np.array(runtimes), start, none, none[:0], none[:0])
    waits, _ = follow_pbs(site, asked, given, 600)
    assert waits.counts[0] == 0
    submit = np.array([one.submit_s for one in asked])
    assert (waits.seconds.sum(axis=1) == start - submit).all()
    return kept_of(waits)


def kept_of(waits: PbsWaits) -> list[dict[str, int]]:
    return [{name: int(row[code]) for code, name in enumerate(PBS_KEPT) if row[code]} for row in waits.seconds.tolist()]


def test_jobs_wait_for_resources_and_behind_a_plan() -> None:
    asked = [asking(0, 3, 100), asking(1, 4, 50), asking(2, 1, 200)]
    kept = kept_in_replay(pbs_site(), asked, [100, 50, 10])
    assert kept == [{}, {"cores": 99}, {"behind_earlier": 98, "cores": 50}]


def test_without_strict_ordering_nobody_is_behind_anybody() -> None:
    asked = [asking(0, 4, 100), asking(1, 4, 50), asking(2, 1, 10)]
    assert kept_in_replay(pbs_site(strict_ordering=False), asked, [100, 50, 10])[2] == {"cores": 148}


@pytest.mark.parametrize(
    ("settings", "jobs", "cause"),
    [
        ({"job_sort_formula": "eligible_time"}, [asking(1, 4, 50), asking(2, 1, 300)], "behind_age"),
        ({"fair_share": True}, [asking(1, 4, 50, user="new"), asking(2, 1, 300, user="old")], "behind_fair_share"),
    ],
)
def test_who_comes_first_is_said_as_pbs_orders_them(
    settings: dict[str, object], jobs: list[PbsJob], cause: str
) -> None:
    asked = [asking(0, 3, 100, user="old"), *jobs]
    kept = kept_in_replay(pbs_site(**settings), asked, [100, 50, 10])
    assert kept[1] == {"cores": 100 - jobs[0].submit_s} and cause in kept[2]


def test_a_sort_key_puts_a_later_job_first() -> None:
    """When the second job ends, there is room for the third one, which would delay the plan of the widest."""
    asked = [asking(0, 2, 100), asking(0, 1, 50), asking(1, 2, 300), asking(2, 4, 50)]
    kept = kept_in_replay(pbs_site(job_sort_key="ncpus HIGH"), asked, [100, 50, 10, 50])
    assert kept[2:] == [{"cores": 99, "behind_other": 50}, {"cores": 98}]


def test_what_all_nodes_lack_is_said_before_a_limit() -> None:
    """As PBS does. With room for it the limit keeps the job."""
    site = replace(pbs_site(), limits=(Limit("cluster", "", "running", "user", "jobs", 1, who="ann"),))
    asked = [asking(0, 1, 100, user="ann"), asking(1, 3, 40, user="bob"), asking(2, 1, 100, user="ann")]
    assert kept_in_replay(site, asked, [100, 39, 100])[2] == {"cores": 38, "limit": 60}


def test_nodes_stay_with_a_reservation_that_ended_with_a_job_in_it() -> None:
    """For half a minute, as in a replay: the waiting job was said to be able to start."""
    held = replace(pbs_site(), reservations=(AdvanceReservation("R1", 20, 60),))
    asked = [asking(0, 4, 100, reservation="R1"), asking(30, 4, 10)]
    start = np.array(starts_on(held, asked, [100, 10]), dtype=np.int64)
    none = np.zeros(3, dtype=np.int64)
    waits, _ = follow_pbs(held, asked, GivenStarts(start, np.array([60, 100]), start, none, none[:0], none[:0]), 600)
    assert start.tolist() == [20, 90], "the job of the reservation ends with it"
    assert kept_of(waits)[1] == {"cores": 30, "reservation": 30}


def test_limits_hours_and_reservations_keep_jobs() -> None:
    site = replace(pbs_site(), limits=(Limit("cluster", "", "running", "user", "jobs", 1, who="ann"),))
    asked = [asking(0, 1, 100, user="ann"), asking(1, 1, 100, user="ann"), asking(2, 1, 100, user="bob")]
    assert kept_in_replay(site, asked, [100] * 3) == [{}, {"limit": 99}, {}]
    night = replace(pbs_site(), gates=(Gate(tuple(range(7)), 0, 60),))
    assert kept_in_replay(night, [asking(10, 1, 100)], [100]) == [{"closed_hours": 3590}]
    held = replace(pbs_site(), reservations=(AdvanceReservation("R1", 50, 90),))
    assert kept_in_replay(held, [asking(10, 1, 100)], [100]) == [{"reservation": 80}]
    assert kept_in_replay(pbs_site(), [asking(10, 1, 100, begin_s=70)], [100]) == [{"begin_time": 60}]
