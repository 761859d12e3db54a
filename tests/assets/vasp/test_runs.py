"""VASP runs as the warehouse gives them to predictors."""

from __future__ import annotations

import numpy as np

from assets.vasp.runs import load_runs
from tests.assets.vasp.remaining import OPEN, RUNS, SOURCE
from warehouse import Warehouse


def test_runs_and_their_steps_come_in_one_order(vasp_warehouse: Warehouse) -> None:
    runs = load_runs(vasp_warehouse, SOURCE)
    assert len(runs) == RUNS and runs.keys["folder"].is_sorted() and np.isnan(runs.total_s).sum() == OPEN
    with vasp_warehouse.read() as connection:
        counts = connection.execute(
            "SELECT electronic_steps, ionic_steps FROM raw.vasp_runs ORDER BY folder, outcar, launch"
        ).fetchall()
    assert np.diff(runs.step).tolist() == [row[0] for row in counts]
    assert np.diff(runs.ionic).tolist() == [row[1] for row in counts]


def test_a_condition_chooses_runs_and_steps(vasp_warehouse: Warehouse) -> None:
    whole = load_runs(vasp_warehouse, SOURCE)
    some = load_runs(vasp_warehouse, SOURCE, "elapsed_s IS NULL")
    which = np.flatnonzero(np.isnan(whole.total_s))
    assert some.keys.equals(whole.keys[which])
    assert np.diff(some.step).tolist() == np.diff(whole.step)[which].tolist()
