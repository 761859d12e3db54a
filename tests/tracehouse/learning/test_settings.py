"""What a training is asked for."""

from __future__ import annotations

import pytest

from assets.what_if.changes.options import written_settings
from tracehouse.learning.settings import TrainingSettings, seeds_of


def test_seeds_are_a_text_or_numbers() -> None:
    assert seeds_of("3,1") == seeds_of([3, 1]) == [3, 1]
    for text, said in (("a", "expected whole numbers"), ("1,1", "expected different numbers")):
        with pytest.raises(ValueError, match=said):
            seeds_of(text)


def test_what_is_not_given_is_as_declared() -> None:
    settings = written_settings(TrainingSettings, {"goal": "wait", "epochs": None, "seeds": "7"})
    assert (settings.goal, settings.seeds, settings.epochs, settings.window_jobs) == ("wait", [7], None, 512)
