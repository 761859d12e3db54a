"""The trial of split windows: two windows' sizes with two seeds, which have learned for one epoch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from papers.deep_back_filling import split_trial, split_windows
from papers.deep_back_filling.split_trial import SplitTrial
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.simulator.busy import PROCS


@pytest.fixture(scope="session")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SplitTrial]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_trial, "PROCS", PROCS)
        patch.setattr(split_trial, "EPOCHS", 1)
        patch.setattr(split_trial, "LESSON_JOBS", 60)
        patch.setattr(split_trial, "JOB_EPISODES", 3)
        patch.setattr(split_trial, "JOB_SLOTS", 4)
        patch.setattr(split_trial, "INSPECTED", ())
        patch.setattr(split_windows, "PROCS", PROCS)
        folder: Path = tmp_path_factory.mktemp("splits")
        yield SplitTrial(JOBS, folder, seeds=(1, 2), slots=(4, 6), options=small_options())
