"""Who is compared."""

from __future__ import annotations

import pytest

from assets.common.trace import load_trained_trace
from assets.evaluation.contestants import contestants_of
from simulator.policies.registry import RIVAL_HEURISTICS
from tests.tiny import SOURCE
from warehouse import Warehouse


def test_heuristics_key_and_learned_policies_are_compared(warehouse: Warehouse) -> None:
    _, test_position = load_trained_trace(warehouse, SOURCE)
    contestants = contestants_of(warehouse, SOURCE, test_position)
    assert [entry.policy for entry in contestants] == [*RIVAL_HEURISTICS, "key", "learned"], (
        "of the learned the champion"
    )
    assert contestants[-1].seed in (1, 2) and contestants[-1].weights is not None
    with pytest.raises(ValueError, match="trained on jobs that are now in the test part"):
        contestants_of(warehouse, SOURCE, test_position - 1)
