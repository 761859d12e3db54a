"""A lottery that beats the incumbent does not dominate, and a rule that knows something still does."""

from __future__ import annotations

import numpy as np
import pytest

from models.judging.chance import CAPS_S, ORDERS_OF_A_CAP, ChanceCloud, RandomOrder, cloud_around, random_orders
from models.judging.judge import beside_cloud, judge, takes_over
from models.judging.panel import Replayed
from models.judging.verdict import DOMINATES, LIKE_CHANCE
from simulator.engine.replay import replay
from simulator.policies.registry import Policy, parse_policy
from tests.models.judging.bursts import PROCS, bursts


@pytest.fixture(scope="module")
def incumbent() -> Replayed:
    return bursts()


def under(incumbent: Replayed, policy: str | Policy) -> Replayed:
    return Replayed(incumbent.jobs, PROCS, replay(incumbent.jobs, PROCS, policy, "easy"), incumbent.scored)


@pytest.fixture(scope="module")
def cloud(incumbent: Replayed) -> ChanceCloud:
    return cloud_around(incumbent, lambda order: under(incumbent, order).schedule, random_orders(len(incumbent.jobs)))


def test_a_planted_random_order_never_dominates(incumbent: Replayed, cloud: ChanceCloud) -> None:
    """Orders of other seeds than those of the cloud. Without the cloud most of them would."""
    planted = [RandomOrder(cap_s, seed) for cap_s in CAPS_S for seed in range(1000, 1005)]
    judged = [judge([under(incumbent, order.policy)], [incumbent]) for order in planted]
    assert sum(each.verdict.word == DOMINATES for each in judged) > len(judged) // 2
    beside = [beside_cloud(each, cloud) for each in judged]
    assert {each.verdict.word for each in beside} & {DOMINATES} == set()
    assert any(each.verdict.word == LIKE_CHANCE for each in beside)
    assert not any(takes_over(each, cloud=lambda: cloud) for each in judged)


def test_a_rule_that_knows_the_requests_is_beyond_the_cloud(incumbent: Replayed, cloud: ChanceCloud) -> None:
    judgement = beside_cloud(judge([under(incumbent, parse_policy("WFP3"))], [incumbent]), cloud)
    assert judgement.verdict.word == DOMINATES
    assert judgement.verdict.share_as_good == pytest.approx(1 / (1 + len(cloud.ratios)))


def test_a_log_on_which_every_lottery_dominates_carries_no_verdict(cloud: ChanceCloud) -> None:
    assert set(cloud.dominating) == set(CAPS_S)
    assert not cloud.carries_verdict
    mean, low, high = cloud.spread("wait")
    assert low < mean < high < 1.0


def test_the_same_seed_gives_the_same_order_and_large_logs_get_fewer(incumbent: Replayed) -> None:
    order = RandomOrder(3600, 7).policy
    assert order.fixed is not None
    first, again = (order.fixed(incumbent.jobs, PROCS) for _ in range(2))
    assert np.array_equal(first, again) and 0 <= (first - incumbent.jobs.submit).min() < 3600
    assert len(random_orders(1000)) == len(CAPS_S) * ORDERS_OF_A_CAP
    assert len(random_orders(2_000_000)) >= 20
