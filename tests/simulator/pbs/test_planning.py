"""Plans for top jobs."""

from __future__ import annotations

import pytest

from simulator.pbs.planning import PLANNED_STEP_S
from tests.simulator.pbs_site import asking, pbs_site, starts_on


@pytest.mark.parametrize(("walltime", "start"), [(98, 2), (99, 40)])
def test_a_job_that_ends_when_the_top_job_begins_may_start(walltime: int, start: int) -> None:
    """The wide job is planned for second 100."""
    asked = [asking(0, 2, 100), asking(1, 4, 60), asking(2, 1, walltime)]
    assert starts_on(pbs_site(), asked, [30, 10, 10]) == ([0, 30, 2] if start == 2 else [0, 30, 40])


def test_ends_of_one_minute_count_as_one() -> None:
    """The top job could begin at second 70, but is planned for 110, the last end before the minute is over. So 105 s fit in front."""
    asked = [asking(0, 3, 70), asking(0, 1, 110), asking(1, 3, 60), asking(71, 1, 30, user="bob")]
    assert PLANNED_STEP_S == 60
    assert starts_on(pbs_site(), [*asked[:3]], [70, 110, 10]) == [0, 0, 70]


def test_a_depth_of_two_holds_two_plans() -> None:
    asked = [asking(0, 3, 100), asking(1, 4, 50), asking(2, 4, 50), asking(3, 1, 120)]
    assert starts_on(pbs_site(backfill_depth=1), asked, [100, 10, 10, 10])[3] == 120
    assert starts_on(pbs_site(backfill_depth=2), asked, [100, 10, 10, 10])[3] == 120
    assert starts_on(pbs_site(strict_ordering=False), asked, [100, 10, 10, 10])[3] == 3


def test_a_job_without_walltime_is_expected_in_five_years() -> None:
    """X3 of the recorded runs."""
    asked = [asking(0, 2, None), asking(1, 4, 60), asking(2, 1, 86400), asking(3, 1, None)]
    assert starts_on(pbs_site(), asked, [50, 10, 10, 10]) == [0, 50, 2, 60]


def test_a_job_that_can_never_run_takes_no_place() -> None:
    asked = [asking(0, 3, 100), asking(1, 5, 60), asking(2, 4, 60), asking(3, 1, 600)]
    assert starts_on(pbs_site(), asked, [100, 10, 10, 10]) == [0, -1, 100, 110]


def test_a_soft_walltime_is_what_pbs_plans_by() -> None:
    asked = [asking(0, 3, 1000, soft_walltime_s=100), asking(1, 4, 60), asking(2, 1, 98), asking(3, 1, 99)]
    assert starts_on(pbs_site(), asked, [100, 10, 10, 10]) == [0, 100, 2, 110]
