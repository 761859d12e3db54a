"""The tables and the training curve of Deep Back-Filling's benchmark, on a trace small enough for a test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import papers.deep_back_filling.study as benchmark
from papers.deep_back_filling.networks import layers_of
from papers.deep_back_filling.placing_file import load_placing
from papers.deep_back_filling.protocol import RIVALS
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.simulator.busy import PROCS


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "---" not in line]


def test_a_row_has_every_metric(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "PROCS", PROCS)
    options = small_options()
    first = benchmark.trial_starts(len(JOBS), options)
    benchmark.print_heading("rule", *benchmark.SHOWN_METRICS)
    benchmark.print_row("EASY", benchmark.rival_on(RIVALS["FCFS+EASY"], JOBS, first, options))
    header, row = rows(capsys.readouterr().out)
    assert len(header) == len(row) == len(benchmark.SHOWN_METRICS) + 1
    assert row[0] == "EASY" and "±" in row[header.index("queue")]


def test_training_prints_a_curve_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "PROCS", PROCS)
    options = small_options(seeds=(1, 2))
    trained = benchmark.print_training(JOBS, options, tmp_path)
    printed = capsys.readouterr().out
    names = [row[0] for row in rows(printed)]
    assert "4-2, seed 2, 4 episodes, drawn" in names and "shortest, same view" in names
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {
        f"{name}.pt" for seed in (1, 2) for name in (f"dbf-4-2-{seed}", f"4-2-{seed}-2-actor", f"4-2-{seed}-4-actor")
    } | {f"4-2-{seed}-{episodes}-agent.json" for seed in (1, 2) for episodes in (2, 4)}
    agent = load_placing(tmp_path / "4-2-2-4-agent.json")
    assert (agent.cluster_procs, agent.front, agent.back) == (PROCS, 4, 2)
    assert agent.longest_s == trained[1].options.longest_s == JOBS.estimate.max()
    for ours, (weights, biases) in zip(agent.layers, layers_of(trained[1].network.actor), strict=True):
        assert np.array_equal(ours[0], weights) and np.array_equal(ours[1], biases)
    again = benchmark.print_training(JOBS, options, tmp_path)
    assert capsys.readouterr().out == printed
    assert [one.curve for one in again] == [one.curve for one in trained]
