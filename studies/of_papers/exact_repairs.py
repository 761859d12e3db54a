"""Neural Simulated Annealing with networks that learn from the exact cost of every choice: `python -m studies exact_repairs PART ...`.

    python -m studies exact_repairs table_3 --networks FCN-3 --variants paper --updates 300
    python -m studies exact_repairs steps --networks FCN-3 --updates 300

print what `papers.neural_annealing.study` and `papers.neural_annealing.annealing_steps` print, and take their arguments. Networks learn for
as many passes as `--updates` says.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from papers.neural_annealing import annealing_steps, study
from papers.neural_annealing.training import RepairOptions
from simulator.topology.tree import SwitchTree
from studies.of_papers.exact_training import ExactLearner, ExactPass, train_on_values

PARTS = {"table_3": study.main, "steps": annealing_steps.main}


def exact_share(part: list[ExactPass]) -> float:
    """Cost over that of random first nodes, in a part of a training."""
    return float(np.mean([report.share for report in part]))


def train_exactly(tree: SwitchTree, options: RepairOptions, seed: int, checkpoint: Path | None) -> ExactLearner:
    """A training with as many passes as the options have updates."""
    return train_on_values(tree, options, seed, checkpoint, options.updates)


def main() -> None:
    """Runs the part that is named."""
    if len(sys.argv) < 2 or sys.argv[1] not in PARTS:
        sys.exit(f"expected a part to run, of {', '.join(PARTS)}")
    study.RECIPES["exact"] = study.RepairRecipe({}, train_exactly, exact_share)
    part = PARTS[sys.argv.pop(1)]
    sys.argv += ["--recipe", "exact"]
    part()
