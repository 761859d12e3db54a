"""Closed replays give exactly the submissions and the schedules of the oracle, which knows docs/reference/semantics/followers.md alone."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from simulator.engine.replay import NeverStarts, OrderReplayer
from tests.shared import size
from tests.simulator.oracle import BACKFILLS, oracle_run
from tests.simulator.oracle_policies import POLICIES
from tests.simulator.oracle_types import CORRECTIONS, Workload
from tests.simulator.oracle_workloads import closed_workloads


@pytest.mark.parametrize("backfill", BACKFILLS)
def test_two_thousand_closed_replays_equal_the_oracles(backfill: str) -> None:
    compare(backfill, size(400, 4000))


def compare(backfill: str, examples: int) -> None:
    """Random workloads, policies and corrections under a backfilling rule."""

    @settings(deadline=None, max_examples=examples)
    @given(workload=closed_workloads(), policy=st.sampled_from(POLICIES), correction=st.sampled_from(CORRECTIONS))
    def same(workload: Workload, policy: str, correction: str) -> None:
        order = OrderReplayer(policy, backfill, correction)
        expected = None
        with suppress(ValueError):  # a job that outages leave stuck
            expected = oracle_run(workload, policy, backfill, correction)
        if expected is None:
            with pytest.raises(NeverStarts):
                order.replay(workload.as_jobs(), workload.as_cluster())
            return
        outcome = order.replay(workload.as_jobs(), workload.as_cluster())
        start, backfilled = outcome.schedule.start.tolist(), outcome.schedule.backfilled.tolist()
        if expected.ambiguous_order and start != expected.start:
            reject()  # rounding may order two jobs either way
        assert start == expected.start
        assert backfilled == expected.backfilled
        if outcome.submit is not None:
            assert outcome.submit.tolist() == expected.submit

    same()
