"""Who overtakes whom."""

from __future__ import annotations

import numpy as np

from models.identification.levels import held_moments
from models.identification.orders import order_evidence, queue_policy
from models.identification.rules import ORDER, RUNNING_JOBS, IdentifiedRule
from tests.models.identification.hidden import PROCS, hidden_log


def test_age_decides_under_first_come_first_served() -> None:
    log = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", 2))
    evidence = order_evidence(log, held_moments(log, PROCS))
    assert evidence.pairs >= 200 and evidence.surely("age") == 1 and evidence.surely("nothing") == 0
    few = hidden_log(count=400, days=200)
    assert order_evidence(few, held_moments(few, PROCS)).names == ()


def test_a_queue_goes_before_another() -> None:
    log = hidden_log(IdentifiedRule(ORDER, "all", word="queues:long,short"), count=400)
    score = queue_policy(log, ["long", "short"]).fixed(log.jobs, PROCS)  # type: ignore[misc]
    long = log.holders["queue"].number == 1
    assert score[long].max() < score[~long].min() and np.all(np.diff(score[long]) >= 0)
