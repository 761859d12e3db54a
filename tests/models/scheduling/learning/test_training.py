"""What training takes: lessons without windows are refused."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Windows
from models.scheduling.learning.training import Lessons

SOME, NONE = Windows(np.array([0, 50]), 40), Windows(np.zeros(0, dtype=np.int64), 40)


def test_lessons_need_windows_to_learn_from_and_to_choose_by() -> None:
    assert len(Lessons(SOME, NONE, SOME).filtered) == 0
    for windows, validation in ((NONE, SOME), (SOME, NONE)):
        with pytest.raises(ValueError, match="one window to learn from and one to choose by"):
            Lessons(windows, SOME, validation)
