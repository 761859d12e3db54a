"""Writes docs/results/backfilling-policies.tar.xz from what a training of Deep Back-Filling left: `python -m studies dbf_agents FOLDER`.

`python -m papers.deep_back_filling.study --train` fills FOLDER, and `python -m papers.deep_back_filling.as_published` judges the agents.
"""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from papers.deep_back_filling.as_published import BLOCK, CURVES, KEPT_AGENTS, TESTS, TRAINED_WINDOWS
from papers.deep_back_filling.placing_file import placing_from_bytes, placing_to_bytes
from papers.deep_back_filling.protocol import ProtocolMetrics
from papers.deep_back_filling.study import SHOWN_METRICS
from studies.of_papers.kept import short_floats, write_members

CURVE_COLUMNS = ("reward", "wait_placed", "wait_arrived", "queue", "use", "decisions")


def keep_agents(folder: Path, target: Path = KEPT_AGENTS) -> None:
    """Writes the last tested agent of each window, its curve and its tests, from what a training left."""
    members, curves, tests = {}, io.StringIO(), io.StringIO()
    for window in TRAINED_WINDOWS:
        state = torch.load(folder / f"dbf-{window}-1.pt", weights_only=True)["state"]
        last = max(test["episodes"] for test in state["tests"])
        agent = placing_from_bytes((folder / f"{window}-1-{last}-agent.json").read_bytes())
        card = agent.card | {"seed": 1, "trained_now": len(state["curve"])}
        layers = tuple((short_floats(weights), short_floats(biases)) for weights, biases in agent.layers)
        members[f"{window}.json"] = placing_to_bytes(replace(agent, layers=layers, card=card))
        rows = state["curve"]
        for end in range(BLOCK, len(rows) + 1, BLOCK):
            means = [np.mean([row[name] for row in rows[end - BLOCK : end]]) for name in CURVE_COLUMNS]
            csv.writer(curves, lineterminator="\n").writerow([window, end, *(f"{mean:.6g}" for mean in means)])
        for test in state["tests"]:
            for how in ("likeliest", "drawn"):
                metrics = ProtocolMetrics(*(column.numpy() for column in test[how]))
                cells = [f"{np.mean(getattr(metrics, name)):.6g}" for name in SHOWN_METRICS.values()]
                csv.writer(tests, lineterminator="\n").writerow([window, test["episodes"], how, *cells])
    write_members(target, members | {CURVES: curves.getvalue().encode(), TESTS: tests.getvalue().encode()})


def main() -> None:
    """Writes the archive."""
    keep_agents(Path(sys.argv[1]))
