"""`--rules rlscheduler`: which policies there are."""

from __future__ import annotations

import pytest

from assets.replay.replayers import choose_policy
from assets.replay.settings import RunSettings


@pytest.mark.parametrize("name", ["wfp3", "INSPECTOR-sjf", "F1", "lrf"])
def test_policies_are_those_of_both_codes(name: str) -> None:
    chosen = choose_policy(RunSettings(rules="rlscheduler", policy=name), None, "mine")
    assert chosen.text.lower() == name.lower() and (chosen.policy is None) == (chosen.text in ("WFP3", "F1"))


def test_another_policy_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"unknown policy of the RLScheduler rules 'WFP4'; did you mean 'WFP3'\?.*--rules standard"
    ):
        choose_policy(RunSettings(rules="rlscheduler", policy="WFP4"), None, "mine")
