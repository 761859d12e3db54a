"""The benchmark of Neural Simulated Annealing on one small epoch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from models.allocation.neural.repair_policy import load_repair_policy
from papers.neural_annealing import study as benchmark


def test_a_small_run_prints_curves_and_table_and_keeps_what_was_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "WINDOWS", 4)
    monkeypatch.setattr(benchmark, "CALIBRATION_WINDOWS", 2)
    monkeypatch.setitem(benchmark.RECIPES, "published", {"update_windows": 2, "window_episodes": 2, "passes": 2})
    command = ["-", "--networks", "CNN-3", "--updates", "2", "--epochs", "1", "--checkpoints", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command, "--variants", "paper"])
    benchmark.main()
    printed = capsys.readouterr().out
    assert "| CNN-3 | 117,372 | 54,641 |" in printed and "| epoch | Seq. | learned-500 |" in printed
    mean = next(line for line in printed.splitlines() if line.startswith("| mean |"))
    costs = [float(cell.replace(",", "")) for cell in mean.strip("|").split("|")[1:]]
    assert costs[1] <= costs[0] and costs[-1] <= costs[0]  # no search ends above the sequential start
    policy, card = load_repair_policy(tmp_path / "repair-code-paper-CNN-3-published-1.json")
    assert policy.network == "CNN-3" and card["tree"] == "code"
