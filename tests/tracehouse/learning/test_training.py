"""Training from Python is that of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracehouse
from tests.tracehouse.cli.learning.test_train import QuickRecipe


def test_what_is_in_hand_is_trained_on(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log object that knows its cluster, and settings of the command by name."""
    monkeypatch.setattr("tracehouse.learning.policy_training.Recipe", QuickRecipe)
    loaded = tracehouse.load_log(log, procs=24)
    policy = tracehouse.train(loaded, seeds=[1], goal="wait", epochs=1, window_jobs=32, method="evolution")
    assert (policy.path, policy.card["cluster_procs"], policy.card["goal"]) == (Path("busy-evolution.json"), 24, "wait")
    assert tracehouse.replay(loaded, policy).policy == "busy-evolution.json"
    with pytest.raises(TypeError, match=r"train\(\) has no setting epoch: expected some of learn, agent"):
        tracehouse.train(loaded, epoch=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="a log has no predicted run times"):
        tracehouse.train(loaded, estimates="predicted")
    with pytest.raises(ValueError, match="expected different numbers"):
        tracehouse.train(loaded, seeds=[1, 1])
