"""Which rules agents are compared with."""

from __future__ import annotations

from assets.experiments.agents import rules_with_any_view, rules_with_the_view, unlearned
from simulator.policies.agents import parse_agent


def test_rules_with_the_same_view_pick_from_the_same_jobs() -> None:
    agent = parse_agent("pick:by=shortest,from=all,window=5-3,must=1")
    rules = rules_with_the_view("FCFS", agent, "requested")
    assert [rule.name for rule in rules] == [
        f"FCFS, pick:by={by},from=all,window=5-3" for by in ("oldest", "shortest", "narrowest", "smallest")
    ]
    assert all(rule.agent is not None and rule.agent.picking.front == 5 for rule in rules)
    assert [rule.name for rule in rules_with_the_view("SJF", parse_agent("inspect:accept"), "requested")] == [
        "SJF, inspect:unfit"
    ]
    assert unlearned("SJF", agent, "actual").estimates == "actual"


def test_rules_that_keep_processors_free_are_of_the_clusters_size() -> None:
    rules = {rule.name: rule for rule in rules_with_any_view("requested", 64)}
    kept = [rule.agent.picking.keep_free for name, rule in rules.items() if "kept free" in name and rule.agent]
    assert kept == [4, 16, 24]
    assert rules["EASY-SJBF"].backfill == "easy-sjbf" and rules["SAF, first fit"].backfill == "any"
