"""The tables of what any repair could gain, on a few windows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from models.allocation.neural.repair_networks import repair_layers
from models.allocation.neural.repair_policy import RepairPolicy, repair_to_bytes
from papers.neural_annealing import best_repair
from papers.neural_annealing.training import TEST_STREAM, epoch_seed, epoch_windows


def rows_of(printed: str, title: str) -> list[list[str]]:
    """Cells of the rows of a printed table."""
    table = printed.split(f"{title}\n\n")[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def test_both_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    every = best_repair.tested_windows("code", 1)
    tree = best_repair.TRAINED_CLUSTERS["code"]
    same = epoch_windows(tree.tree, epoch_seed(TEST_STREAM, 0), tree.most_jobs)
    assert len(every) == 100 and all((one[0] == other[0]).all() for one, other in zip(every, same, strict=True))
    torch.manual_seed(1)
    policy = RepairPolicy.of_actor(repair_layers("FCN-1", 4, 100, 100), "FCN-1", "paper", 100, 40)
    softened = policy.softened(0.5)
    assert all(
        (half == 0.5 * whole).all() for half, whole in zip(softened.weights[-2:], policy.weights[-2:], strict=True)
    )
    file = tmp_path / "untrained.json"
    file.write_bytes(repair_to_bytes(policy, {"tree": "code"}))
    monkeypatch.setattr(best_repair, "tested_windows", lambda tree, epochs: every[:8])
    monkeypatch.setattr(best_repair, "BLOCK", 1)
    monkeypatch.setattr(best_repair, "SEARCH_MOVES", 60)
    monkeypatch.setattr(best_repair, "BEST_MOVES", (10,))
    monkeypatch.setattr(best_repair, "TRAINED_CLUSTERS", {"code": tree})
    monkeypatch.setattr(sys, "argv", ["-", "--policies", str(file)])
    best_repair.main()
    printed = capsys.readouterr().out
    single = rows_of(printed, "a single repair")
    assert [row[2] for row in single] == ["random", "untrained", "the best"] * 2
    costs = np.array([float(row[3].replace(",", "")) for row in single]).reshape(2, 3)
    assert (costs[:, 2] < costs[:, 0]).all() and costs[:, 1] == pytest.approx(costs[:, 0], rel=0.1)
    whole = rows_of(printed, "whole searches")
    repairs = ["random", "untrained", "untrained, softer", "the best"]
    assert [row[2] for row in whole] == [*repairs, "random, all idle nodes", "none: SCAS, exact", *repairs]
    assert single[0][4:] == ["", ""] and single[2][5].count("to") == 1
