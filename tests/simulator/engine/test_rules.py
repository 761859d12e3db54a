"""Rules by name."""

from __future__ import annotations

import pytest

from simulator.engine.replay import BACKFILLING, rules_of
from simulator.engine.rules import ANY, EASY, EASY_SJBF, NO_BACKFILL, RESERVE
from simulator.policies.agents import FIRST, NO_ONE


def test_each_backfilling_has_its_rule() -> None:
    rules = [rules_of(name, "requested", 8) for name in BACKFILLING]
    assert [rule.backfill for rule in rules] == [NO_BACKFILL, ANY, EASY, EASY_SJBF, RESERVE, RESERVE, EASY]
    assert [rule.threshold for rule in rules[4:6]] == [1.0, 2.0]
    assert [rule.picking.by for rule in rules] == [NO_ONE] * 6 + [FIRST]
    assert rules_of("selective:threshold=3", "requested", 8).threshold == 3.0


@pytest.mark.parametrize("name", ["eazy", "easy:threshold=2", "selective:limit=2"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)expected"):
        rules_of(name, "requested", 8)
