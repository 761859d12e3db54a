from __future__ import annotations

from dataclasses import replace

import pytest

from models.scheduling.arena import Arena
from models.scheduling.learning.training import Lessons, TrainedPolicy
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from tests.models.scheduling.workers.processes import QUICK


@pytest.fixture(scope="session")
def task(arena: Arena, lessons: Lessons) -> WorkerTask:
    return WorkerTask(arena, replace(lessons, after=20), QUICK, 5)


@pytest.fixture(scope="session")
def alone(task: WorkerTask) -> TrainedPolicy:
    """What one worker learns from the task."""
    return train_by_ddppo(LoneWorker(), task)
