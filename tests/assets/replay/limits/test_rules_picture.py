"""A picture has a panel for each rule that can be drawn, and the waits."""

from __future__ import annotations

from dataclasses import replace

from assets.replay.limits.rules_picture import rules_figure
from models.identification.identify import Identification
from models.identification.orders import OrderEvidence
from models.identification.rules import BOUNDARY, HOURS, ORDER, RUNNING_JOBS, Bound, Edge, IdentifiedRule
from models.judging.fidelity import agreement_of
from tests.models.identification.hidden import PROCS, hidden_log
from traces.cluster.reservations import Gate


def test_a_panel_for_each_rule() -> None:
    rule = IdentifiedRule(RUNNING_JOBS, "user", 3)
    log = hidden_log(rule, count=600)
    rules = (
        rule,
        IdentifiedRule(RUNNING_JOBS, "user", bounds=(Bound("user-1", 0, 3), Bound("user-1", 86_400, None))),
        IdentifiedRule(HOURS, "all", gate=Gate((0,), 480, 1080, over_time_s=3600)),
        IdentifiedRule(BOUNDARY, "all", edges=(Edge((0,), 480, "UTC"),)),
        IdentifiedRule(ORDER, "all", word="SJF"),
    )
    same = agreement_of(log.wait, log.wait, log.jobs.runtime)
    identification = Identification(PROCS, rules, (), (), 1, 1, OrderEvidence(0), same, same)
    assert len(rules_figure(log, identification, "mine").axes) == 5
    assert len(rules_figure(log, replace(identification, rules=()), "mine").axes) == 1
