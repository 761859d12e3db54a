"""Requests as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.pbs.requests import PbsJob, Piece, node_amount, site_and_asks
from simulator.pbs.settings import FIVE_YEARS
from tests.simulator.pbs_site import asking, pbs_site

ORDER = np.arange(4)


def test_jobs_that_ask_for_the_same_are_one_ask() -> None:
    asked = [asking(0, 2, 60), asking(5, 2, 90), asking(9, 2, 60, sharing="excl")]
    site, asks, ask = site_and_asks(pbs_site(), asked, ORDER)
    assert ask.tolist() == [0, 0, 1] and asks.total.tolist() == [[8], [8]] and asks.chunks.tolist() == [2, 2]
    assert site.amounts.tolist() == [[4]] * 4


def test_words_and_hosts_narrow_the_nodes() -> None:
    asked = [PbsJob(0, (Piece(1, {"ncpus": 1}, ("vnode=n2",)), Piece(1, {"ncpus": 1}, ("fast=true",))))]
    site, asks, _ = site_and_asks(pbs_site(), asked, ORDER)
    assert site.usable[asks.mask].tolist() == [[False, False, True, False], [False] * 4]


def test_a_job_without_walltime_plans_for_five_years() -> None:
    assert asking(0, 1, None).time_s == FIVE_YEARS
    assert node_amount(pbs_site().nodes[0], "ngpus") == 2


def test_an_unknown_reservation_is_an_error() -> None:
    with pytest.raises(ValueError, match="R9"):
        site_and_asks(pbs_site(), [asking(0, 1, 60, reservation="R9")], ORDER)
