"""Tests of studies/of_papers: exact_repairs, exact_training.

A repair step that learns from the exact cost of every choice.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from papers.neural_annealing import study
from papers.neural_annealing.training import RepairOptions
from simulator.topology.tree import SwitchTree, regular_tree
from studies.of_papers import exact_repairs, exact_training
from studies.of_papers.exact_training import ExactLearner, ExactPass, train_on_values

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


def test_it_is_a_recipe_of_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train_shortly(tree: SwitchTree, options: RepairOptions, seed: int, file: Path, passes: int) -> ExactLearner:
        return train_on_values(tree, options, seed, file, passes, 1)

    monkeypatch.setattr(exact_repairs, "train_on_values", train_shortly)
    monkeypatch.setattr(study, "WINDOWS", 2)
    monkeypatch.setattr(study, "CALIBRATION_WINDOWS", 1)
    monkeypatch.setitem(study.RECIPES, "exact", study.RECIPES["published"])  # so that it is as before after the test
    command = ["-", "table_3", "--networks", "FCN-1", "--variants", "paper", "--updates", "2", "--epochs", "1"]
    monkeypatch.setattr(sys, "argv", [*command, "--checkpoints", str(tmp_path)])
    exact_repairs.main()
    printed = capsys.readouterr().out
    assert "FCN-1, paper, exact training, code's tree" in printed and "| FCN-1 | " in printed
    assert (tmp_path / "repair-code-paper-FCN-1-exact-1.json").exists()
