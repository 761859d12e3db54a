"""Synthetic VASP runs, read as the pipeline reads them: what the tests of remaining times share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from models.remaining.runs import Runs, runs_of
from models.remaining.snapshots import SNAPSHOT_FEATURES
from traces.vasp.folders import find_runs
from traces.vasp.runs import read_folder
from traces.vasp.synthetic import SyntheticOptions, SyntheticRun, draw_runs


def runs_in(folder: Path) -> Runs:
    read = [read_folder(found) for found in find_runs(folder)]
    return runs_of(*(pl.concat(getattr(one, name) for one in read) for name in ("runs", "electronic", "ionic")))


def relaxation(seed: int = 1) -> SyntheticRun:
    return next(
        run for run in draw_runs(SyntheticOptions(runs=30, seed=seed, single_share=0.0)) if len(run.loops_s) > 4
    )


def feature(seen, name: str) -> np.ndarray:
    return seen.features[:, SNAPSHOT_FEATURES.index(name)]
