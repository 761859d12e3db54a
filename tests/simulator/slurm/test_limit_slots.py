"""Which limits hold for which job."""

from __future__ import annotations

from dataclasses import replace

from simulator.cluster.requests import Request
from simulator.slurm.limit_slots import limits_of, unmodelled_limits
from tests.simulator.slurm_site import SITE, columns_of
from traces.cluster.accounts import Limit


def test_a_limit_of_the_qos_hides_that_of_the_account_which_still_counts_the_job() -> None:
    limits = (*SITE.limits, Limit("qos", "few", "running", "all", "cpu", 9))
    site = replace(SITE, limits=limits)
    jobs = columns_of([Request(0, limit_s=60, user="v", account="y", qos=qos) for qos in ("normal", "few")], site)
    slots = limits_of(site, jobs, ("",))
    normal, few = (slice(slots.first[job], slots.first[job + 1]) for job in range(2))
    assert slots.bound[slots.slot[normal]].tolist() == [6] and slots.checked[normal].tolist() == [1]
    assert slots.bound[slots.slot[few]].tolist() == [1, 9, 6] and slots.checked[few].tolist() == [1, 1, 0]


def test_limits_that_are_not_modelled_are_named() -> None:
    others = (Limit("account", "x", "submitted", "all", "cpu", 5), Limit("account", "x", "node", "job", "cpu", 5))
    assert unmodelled_limits(replace(SITE, limits=(*SITE.limits, *others)), ("",)) == others
