"""What becomes of the champion of a source when a policy that orders the queue is trained on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.trace import load_trace
from assets.policies.registry import champion_row
from tests.tiny import busy_log, warehouse_of
from tracehouse.learning import policy_training
from tracehouse.learning.policy_training import JobsToTrain, train_policy
from tracehouse.learning.settings import TrainingSettings


def test_an_order_challenges_the_champion_of_its_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an agent does. One for something else leaves the champion, and a log by its path has none."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(900))
    monkeypatch.setattr(policy_training, "open_warehouse", lambda: warehouse)
    monkeypatch.setattr(policy_training, "_rivals", lambda setup, policies, best: ("key", {}))
    monkeypatch.setattr(policy_training, "_judged", lambda setup, best, key: {})
    jobs = JobsToTrain("mine", load_trace(warehouse, "mine"), is_loaded=True)

    def happened(**changes: object) -> str | None:
        settings = TrainingSettings(epochs=1, seeds=[1], window_jobs=48, trajectories=8, **changes)  # type: ignore[arg-type]
        return train_policy(jobs, settings, None, None).happened

    assert happened() == "the first policy of this source is champion"
    assert happened() == "the same training as before: nothing changes"
    before = champion_row(warehouse, "mine", "order")
    said = happened(goal="wait")
    assert said is not None and said.startswith("the champion is for something else and stays: train with --goal bsld")
    assert champion_row(warehouse, "mine", "order") == before
    challenged = happened(start="nothing")
    assert challenged is not None and challenged.startswith("challenger")
    assert happened(rules="rlscheduler") is None
