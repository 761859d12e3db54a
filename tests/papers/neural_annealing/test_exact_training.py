"""A repair step that learns from the exact cost of every choice."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from papers.neural_annealing import exact_training
from papers.neural_annealing.exact_training import ExactPass, train_on_values
from papers.neural_annealing.options import RepairOptions
from simulator.topology.tree import regular_tree

TREE = regular_tree((4, 3, 5))
OPTIONS = RepairOptions(network="FCN-1", seen_nodes=20, largest=10, window_jobs=3)


@pytest.fixture(autouse=True)
def few_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """One epoch tries, and each window has one repair."""
    monkeypatch.setattr(exact_training, "TRIED_EPOCHS", 1)
    monkeypatch.setattr(exact_training, "STATES_OF_A_WINDOW", 1)
    monkeypatch.setattr(exact_training, "EXACT_BATCH", 32)


def test_choices_get_cheaper_than_random_ones() -> None:
    learner = train_on_values(TREE, OPTIONS, 1, None, 12, 4)
    learned, tried = learner.decisions
    shares = [report.share for report in learner.curve]
    assert shares[-1] < min(0.99, shares[0])
    assert tried.least < shares[-1] and learned.least < 1
    even = torch.where(learned.legal, learned.above, 0).sum(dim=1)
    assert even.abs().max() < 1e-3 * learned.mean.max()  # over all choices the gain is none


def test_an_interrupted_training_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "exact.pt"
    whole = train_on_values(TREE, OPTIONS, 3, None, 7, 1)

    def stop(report: ExactPass) -> None:
        if report.number == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_on_values(TREE, OPTIONS, 3, file, 7, 1, stop)
    passes: list[int] = []
    again = train_on_values(TREE, OPTIONS, 3, file, 7, 1, lambda report: passes.append(report.number))
    assert again.curve == whole.curve and passes == list(range(1, 8))
    states = [learner.network.actor.state_dict() for learner in (whole, again)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
