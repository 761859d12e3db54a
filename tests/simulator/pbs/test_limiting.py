"""Limits on what runs."""

from __future__ import annotations

import pytest

from simulator.pbs.limiting import is_counted, run_limits
from tests.simulator.pbs_site import asking, pbs_site, starts_on
from traces.cluster.accounts import Limit
from traces.cluster.reservations import AdvanceReservation

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
