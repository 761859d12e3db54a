"""The schedulers of a tiny plan, trained once and tried once."""

from __future__ import annotations

import pytest

from papers.rlschert.plan import ladder_tasks
from papers.rlschert.trials import TrainedScheduler, Trials, train_ladder, try_everything
from tests.papers.rlschert.examples import PLAN


@pytest.fixture(scope="session")
def trained() -> list[TrainedScheduler]:
    return [one for task in ladder_tasks(PLAN) for one in train_ladder(task, lambda report: None)]


@pytest.fixture(scope="session")
def groups(trained: list[TrainedScheduler]) -> list[Trials]:
    return list(try_everything(PLAN, trained))
