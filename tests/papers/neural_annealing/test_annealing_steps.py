"""Tests of papers/neural_annealing: annealing_steps, best_repair, periods, study, topology, training.

Cost and wait by the length of the period, at a small scale.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from pydantic import ValidationError

from models.allocation.neural.repair_networks import repair_layers
from models.allocation.neural.repair_policy import RepairPolicy, load_repair_policy, repair_to_bytes
from models.allocation.window import sequential_allocation
from papers.neural_annealing import annealing_steps as benchmark
from papers.neural_annealing import best_repair, study
from papers.neural_annealing import study as benchmark_of_study
from papers.neural_annealing.annealing_steps import (
    EQUAL_TIME,
    SEARCHES,
    TWICE,
)
from papers.neural_annealing.periods import PERIODS_S, by_periods, exact_or_flow, one_by_one, period_table
from papers.neural_annealing.topology import PRINTED_SHARES, allocation_costs
from papers.neural_annealing.training import TEST_STREAM, RepairOptions, epoch_seed, epoch_windows
from simulator.topology.closed_loop import published_jobs
from simulator.topology.tree import fat_tree, regular_tree
from studies.of_papers.annealing_picture import costs_in_lines
from studies.publishing.results import tables_of


def short_recipe() -> study.RepairRecipe:
    """The published one, with as little of everything as a test needs."""
    return study.RECIPES["published"]._replace(settings={"update_windows": 2, "window_episodes": 2, "passes": 2})


# annealing_steps: Cost by moves with two small networks, and its table.


def test_a_small_run_prints_both_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study, "WINDOWS", 4)
    monkeypatch.setattr(study, "CALIBRATION_WINDOWS", 2)
    monkeypatch.setitem(study.RECIPES, "published", short_recipe())
    command = ["-", "--networks", "FCN-1,CNN-3", "--updates", "2", "--epochs", "2", "--checkpoints", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    benchmark.main()
    tables = {name: costs_in_lines(table.splitlines()) for name, table in tables_of(capsys.readouterr().out).items()}
    assert list(tables) == list(SEARCHES)
    published, corrected = tables.values()
    assert list(corrected) == ["sequential", "learned FCN-1", "learned CNN-3", TWICE, EQUAL_TIME, "SCAS, exact"]
    for costs in tables.values():
        assert all(len(row) == 6 and max(row) <= costs["sequential"][0] for row in costs.values())
        assert min(costs["SCAS, exact"]) <= min(costs["sequential"])
    assert np.mean(corrected[TWICE]) <= np.mean(published[TWICE])  # what the undo is worth
    assert (tmp_path / "repair-code-paper-FCN-1-published-1.json").exists()


# best_repair: The tables of what any repair could gain, on a few windows.


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


# options: Options of the repair operator's training: the paper's numbers, and what each variant means.


def test_the_defaults_are_those_of_the_paper() -> None:
    options = RepairOptions()
    assert (options.actor_rate, options.critic_rate, options.gamma, options.passes, options.clip) == (
        3e-4,
        1e-3,
        0.99,
        80,
        0.2,
    )
    assert (options.seen_nodes, options.most_removed, options.network) == (100, 2, "CNN-3")


def test_a_variant_decides_what_is_seen_and_what_a_window_is() -> None:
    tree = fat_tree(4)
    paper, code = RepairOptions(), RepairOptions(variant="code", integer=True, largest=20)
    assert not paper.problem(tree).code_view and code.problem(tree).code_view
    assert not paper.problem(tree).integer and code.problem(tree).integer
    assert (paper.problem(tree).largest, code.problem(tree).largest) == (40, 20)
    assert paper.most_jobs is None and code.most_jobs == 2
    assert RepairOptions(variant="code", window_jobs=4).most_jobs == 4


@pytest.mark.parametrize("wrong", [{"variant": "both"}, {"network": "CNN-4"}, {"seen_nodes": 13}, {"siblings": 0}])
def test_wrong_options_are_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        RepairOptions(**wrong)


# study: The benchmark of Neural Simulated Annealing on one small epoch.


def test_a_small_run_prints_curves_and_table_and_keeps_what_was_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark_of_study, "WINDOWS", 4)
    monkeypatch.setattr(benchmark_of_study, "CALIBRATION_WINDOWS", 2)
    monkeypatch.setitem(benchmark_of_study.RECIPES, "published", short_recipe())
    command = ["-", "--networks", "CNN-3", "--updates", "2", "--epochs", "1", "--checkpoints", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command, "--variants", "paper"])
    benchmark_of_study.main()
    printed = capsys.readouterr().out
    assert "| CNN-3 | 117,372 | 54,641 |" in printed and "| epoch | Seq. | learned-500 |" in printed
    mean = next(line for line in printed.splitlines() if line.startswith("| mean |"))
    costs = [float(cell.replace(",", "")) for cell in mean.strip("|").split("|")[1:]]
    assert costs[1] <= costs[0] and costs[-1] <= costs[0]  # no search ends above the sequential start
    policy, card = load_repair_policy(tmp_path / "repair-code-paper-CNN-3-published-1.json")
    assert policy.network == "CNN-3" and card["tree"] == "code"


# topology_plots: The picture of the protocol shows the rows, and what the paper prints.

ROWS = pl.DataFrame(
    [
        {"tree": tree, "protocol": protocol, "method": method, "epoch": epoch, "of_sequential": share + epoch / 10}
        for tree, lower in (("paper", 0.0), ("code", 0.05))
        for protocol in ("window", "closed_loop")
        for method, share in (("sequential", 1.0), ("SCAS, exact", 0.85 - lower))
        for epoch in (0, 1)
    ]
)


def test_a_panel_has_epochs_means_and_printed_numbers() -> None:
    window, loop = allocation_costs(ROWS).axes
    epochs, means = window.collections[2], window.collections[3]  # the second tree, which is the code's
    assert sorted(epochs.get_offsets()[:, 0].tolist()) == pytest.approx([0.8, 0.9, 1.0, 1.1])
    assert dict(zip(means.get_offsets()[:, 1].round().tolist(), means.get_offsets()[:, 0].tolist(), strict=True)) == {
        1.0: pytest.approx(1.05), 0.0: pytest.approx(0.85),
    }  # fmt: skip
    assert [text.get_text() for text in window.get_yticklabels()] == ["SCAS, exact", "sequential"]
    assert window.collections[4].get_offsets()[:, 0].tolist() == [PRINTED_SHARES["SCAS, exact"]]
    assert len(loop.collections) == 4


def test_one_protocol_is_one_panel() -> None:
    (only,) = allocation_costs(ROWS.filter(protocol="closed_loop", tree="paper")).axes
    assert only.get_title() == "each method in a cluster of its own"


# --- periods


PERIODS_TREE = regular_tree((10, 5, 2))


def test_the_table_has_a_row_for_each_way() -> None:
    lines = period_table(1, 40, PERIODS_TREE).splitlines()
    assert len(lines) == 2 + 2 + len(PERIODS_S)
    assert lines[2].startswith("| FCFS, job by job |") and lines[-1].startswith("| every 60 s |")


def test_placing_moves_no_wait_of_one_by_one_and_periods_add_waits() -> None:
    work = published_jobs(60, 1, sizes=(2, 20))
    first, ring = (one_by_one(PERIODS_TREE, work, "none", place) for place in ("first", "ring"))
    assert np.array_equal(first[1], ring[1]) and ring[0].sum() < first[0].sum()
    sequence, optimum = (
        by_periods(PERIODS_TREE, work, 30, solver) for solver in (sequential_allocation, exact_or_flow)
    )
    assert np.array_equal(sequence[1], optimum[1]) and optimum[0].sum() < sequence[0].sum()
    assert (sequence[1] >= 0).all()
