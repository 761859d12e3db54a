"""What a training is asked for."""

from __future__ import annotations

import pytest

from tracehouse.learning.policy_training import seeds_of


def test_seeds_of_a_text() -> None:
    assert seeds_of("3,1") == [3, 1]
    for text, said in (("a", "expected whole numbers"), ("1,1", "expected different numbers")):
        with pytest.raises(ValueError, match=said):
            seeds_of(text)
