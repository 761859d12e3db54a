"""Tests of simulator/pbs: limiting, loop, occurrences."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.limiting import is_counted, is_queue_limit, refused_jobs, run_limits
from simulator.pbs.occurrences import closed_spans, occurrences_between, prime_spans, queue_windows
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.state import KEPT_S
from tests.simulator.busy import asking, pbs_site, starts_on
from traces.cluster.accounts import Limit
from traces.cluster.description import AdvanceReservation, Gate

# limiting: Limits on what runs.

PER_USER = Limit("cluster", "", "running", "user", "jobs", 1)
ANN_MORE = Limit("cluster", "", "running", "user", "jobs", 2, "ann")
OF_QUEUE = Limit("partition", "high", "running", "all", "cpu", 4)


def test_a_limit_of_one_name_goes_before_that_of_all() -> None:
    limits = run_limits(pbs_site((PER_USER, ANN_MORE)), [asking(0, 1, 60), asking(0, 1, 60, user="bob")])
    assert sorted(limits.bound.tolist()) == [1, 2] and limits.first.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", [{"counts": "submitted"}, {"is_soft": True}, {"counts": "job", "each": "job"}])
def test_other_limits_do_not_count(kind: dict[str, object]) -> None:
    words = {"counts": "running", "each": "user"} | kind
    assert not is_counted(Limit("cluster", "", resource="jobs", bound=1, **words))  # type: ignore[arg-type]


def test_what_a_limit_on_queued_jobs_would_have_refused_is_counted() -> None:
    """Three of ann's jobs are in the queue at once, and the fourth one comes when two have gone."""
    queued = Limit("cluster", "", "submitted", "user", "jobs", 2)
    asked = [asking(0, 1, 60), asking(1, 1, 60), asking(2, 1, 60), asking(40, 1, 60), asking(3, 1, 60, user="bob")]
    times = (np.array([0, 1, 2, 40, 3]), np.array([30, 40, -1, 60, 60]))
    assert is_queue_limit(queued) and refused_jobs(pbs_site((queued,)), asked, *times) == 1
    assert refused_jobs(pbs_site((PER_USER,)), asked, *times) == 0


def test_limits_of_users_and_queues_keep_jobs() -> None:
    site = pbs_site((PER_USER, OF_QUEUE), strict_ordering=False)
    asked = [asking(0, 1, 60), asking(0, 1, 60), asking(0, 1, 60, user="bob", queue="high")]
    asked.append(asking(0, 1, 60, user="cid", queue="high"))
    assert starts_on(site, asked, [30, 30, 20, 20]) == [0, 30, 0, 20]


def test_a_job_that_a_limit_keeps_takes_the_place_of_the_top_job() -> None:
    """X2 of the recorded runs: without a plan for the wide job, a long one starts in front of it."""
    asked = [asking(0, 2, 40), asking(2, 1, 20), asking(4, 4, 10, user="bob"), asking(6, 1, 100, user="cid")]
    assert starts_on(pbs_site((PER_USER,)), asked, [25, 10, 5, 12]) == [0, 25, 35, 6]


def test_plans_count_against_limits() -> None:
    """The wide job will begin while the narrow one would run, and both are of one user who may have sixteen processors."""
    limit = Limit("cluster", "", "running", "user", "cpu", 16)
    asked = [asking(0, 1, 30, user="bob"), asking(1, 4, 30), asking(2, 1, 600), asking(2, 1, 600, user="bob")]
    assert starts_on(pbs_site((limit,)), asked, [30, 30, 10, 10]) == [0, 30, 60, 60]


def test_jobs_of_reservations_have_no_limits_and_do_not_count() -> None:
    reserved = AdvanceReservation("R1", 10, 100, 5, ("n0", "n1"), queue="R1")
    asked = [asking(0, 1, 60), asking(10, 1, 60, reservation="R1"), asking(11, 1, 60, reservation="R1")]
    assert starts_on(pbs_site((PER_USER,), (reserved,)), asked, [5, 30, 30]) == [0, 10, 11]


# loop: The clock of a replay.

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


# occurrences: Standing reservations and hours of queues.

DAY = 86_400
MONDAY = int(datetime(2026, 3, 2, 8, tzinfo=UTC).timestamp())
"""Eight hours, and the hour at which the days below begin in UTC."""


@pytest.mark.parametrize(
    ("repeats", "days"),
    [
        ("", [0]),
        ("daily", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("weekday", [0, 1, 2, 3, 4, 7]),
        ("weekend", [5, 6]),
        ("weekly", [0, 7]),
        ("FREQ=WEEKLY;BYDAY=TU,FR;COUNT=2", [1, 4]),
        ("RRULE:FREQ=DAILY;INTERVAL=3", [0, 3, 6]),
        ("FREQ=DAILY;UNTIL=20260304T090000Z", [0, 1, 2]),
        ("FREQ=YEARLY", [0]),
    ],
)
def test_a_standing_reservation_comes_again(repeats: str, days: list[int]) -> None:
    one = AdvanceReservation("S1", MONDAY, MONDAY + 3600, repeats=repeats)
    occurrences = occurrences_between([one], MONDAY, MONDAY + 7 * DAY)
    assert [(each.begin_s - MONDAY) / DAY for each in occurrences] == days
    assert all(each.end_s - each.begin_s == 3600 for each in occurrences)


def test_it_comes_at_the_same_hour_when_the_clocks_change() -> None:
    """On 29 March 2026 Berlin loses an hour. The log's clock begins with the reservation."""
    one = AdvanceReservation("S1", 0, 3600, repeats="daily", timezone="Europe/Berlin")
    begins = [each.begin_s for each in occurrences_between([one], 0, 28 * DAY, MONDAY)]
    assert begins[26] == 26 * DAY and begins[27] == 27 * DAY - 3600


def test_a_gate_is_closed_on_its_days_and_over_midnight() -> None:
    gates = [Gate((0,), 20 * 60, 6 * 60, partition="p_day"), Gate((0,), 0, 60, over_time_s=60)]
    assert closed_spans(gates, 0, 7 * DAY, MONDAY) == [
        (12 * 3600, 22 * 3600, "p_day"),
        (7 * DAY + 12 * 3600, 7 * DAY + 22 * 3600, "p_day"),
    ]


def test_jobs_of_a_standing_reservation_run_in_any_of_its_occurrences() -> None:
    """The second one waits for the next day. Others stay out of both."""
    standing = AdvanceReservation("S1", 100, 200, 5, ("n0", "n1"), repeats="daily", queue="S1")
    asked = [asking(10, 2, 500, reservation="S1"), asking(11, 2, 50, reservation="S1"), asking(60, 4, 50)]
    assert starts_on(pbs_site(reservations=(standing,)), asked, [500, 20, 10]) == [100, 100 + DAY, 230]


def test_jobs_wait_until_their_queue_opens() -> None:
    """Second 0 is midnight on a Thursday."""
    site = pbs_site(gates=(Gate((3,), 0, 10, partition="high"),))
    asked = [asking(5, 4, 60, queue="high"), asking(6, 4, 60)]
    assert starts_on(site, asked, [10, 10]) == [600, 6]


PRIME = {"prime_time": "TH,FR 0002-0005", "holidays": "1970-01-02"}
"""Second 0 is midnight on a Thursday, so prime time is from second 120 to 300 there, and on Friday, a holiday, there is none."""


@pytest.mark.parametrize(
    ("settings", "queue", "walltime", "start"),
    [
        ({}, "work", 500, 10),
        ({"backfill_prime": True}, "work", 110, 10),
        ({"backfill_prime": True}, "work", 111, 120),
        ({"backfill_prime": True}, "work", 181, 300),
        ({"backfill_prime": True, "prime_spill": "00:01:00"}, "work", 170, 10),
        ({"backfill_prime": True, "prime_spill": "00:01:00"}, "work", 171, 120),
        ({"backfill_prime": True, "prime_spill": "00:01:00", "prime_spill.non_prime": "0"}, "work", 170, 120),
        ({"backfill_prime": False, "backfill_prime.non_prime": True}, "work", 500, 120),
        ({"backfill_prime": True, "prime_exempt_anytime_queues": True}, "work", 500, 10),
        ({"primetime_prefix": "hi"}, "high", 500, 120),
        ({"nonprimetime_prefix": "hi"}, "high", 500, 10),
    ],
)
def test_jobs_keep_out_of_other_hours(settings: dict[str, str | bool], queue: str, walltime: int, start: int) -> None:
    asked = [asking(10, 4, walltime, queue=queue)]
    assert starts_on(pbs_site(**PRIME, **settings), asked, [5]) == [start]


def test_a_queue_for_other_hours_is_open_on_a_holiday() -> None:
    site = pbs_site(**PRIME, nonprimetime_prefix="hi", gates=(Gate((3, 4), 2, 5, partition="high"),))
    asked = [asking(130, 4, 60, queue="high"), asking(DAY + 130, 4, 60, queue="high")]
    assert starts_on(site, asked, [5, 5]) == [300, DAY + 130]
    assert prime_spans(PRIME, 0, 2 * DAY) == [(120, 300)] and prime_spans({}, 0, DAY) is None
    with pytest.raises(
        ValueError, match="prime_time: expected days and hours such as `MO,TU 0600-1730`, got 'MO 6-17'"
    ):
        prime_spans({"prime_time": "MO 6-17"}, 0, DAY)
    with pytest.raises(ValueError, match=r"holidays: expected dates such as 2026-12-25, got '25\.12'"):
        prime_spans({"prime_time": "MO 0600-1700", "holidays": "2026-01-01, 25.12"}, 0, DAY)


def test_a_job_that_would_cross_into_other_hours_is_planned_for_them() -> None:
    """The wide job is planned for second 120, so the last one, which would run until 121, stays behind it."""
    asked = [asking(10, 4, 111), asking(11, 1, 109), asking(11, 1, 110, queue="high")]
    site = pbs_site(**PRIME, backfill_prime=True, prime_exempt_anytime_queues=False, prime_spill="0")
    assert starts_on(site, asked, [5, 5, 5]) == [120, 11, 125]


def test_a_job_that_no_hours_have_room_for_never_starts() -> None:
    site = pbs_site(prime_time="MO,TU,WE,TH,FR,SA,SU 0002-0005", backfill_prime=True)
    assert starts_on(site, [asking(0, 1, None), asking(1, 4, 60)], [5, 5]) == [-1, 1]
    assert starts_on(pbs_site(prime_time="", primetime_prefix="hi"), [asking(0, 1, 60, queue="high")], [5]) == [-1]


def test_dedicated_time_is_for_its_queues_alone() -> None:
    dedicated = AdvanceReservation("dedicated-1", 100, 200, flags=("dedicated",), partitions=("high",))
    site = pbs_site(reservations=(dedicated,))
    asked = [asking(0, 1, 100), asking(0, 1, 101), asking(0, 1, 100, queue="high"), asking(0, 1, 101, queue="high")]
    assert starts_on(site, asked, [5, 5, 5, 5]) == [0, 200, 100, -1]
    assert queue_windows(site, "high", 0, 1000) == [(100, 200, 200)]
