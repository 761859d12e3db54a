"""VASP runs as the warehouse gives them to predictors."""

from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import Path

import numpy as np
import pytest

from assets.vasp.folders import update_vasp_log
from assets.vasp.runs import load_open_runs, load_runs
from models.remaining.open_runs import used_seconds
from tests.assets.vasp.remaining import OPEN, RUNS, SOURCE, restarted_run
from traces.catalogue.catalogue import VaspSource
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


@pytest.mark.parametrize("earlier", ["appended", "moved", "copied"])
@pytest.mark.parametrize("ended", [True, False])
def test_time_used_is_that_of_the_launch(earlier: str, ended: bool, tmp_path: Path) -> None:
    """The first launch made an hour of steps, and was started again three days later; the second one has run for an hour."""
    begin = restarted_run(tmp_path / "runs" / "run", earlier, ended)
    warehouse, now = Warehouse(tmp_path / "w.duckdb"), begin + timedelta(seconds=259_600)
    update_vasp_log(warehouse, VaspSource(SOURCE, tmp_path / "runs"), "UTC", now.astimezone(UTC).replace(tzinfo=None))
    rows = load_open_runs(warehouse, SOURCE)[0].with_columns(used_s=used_seconds())
    first = ("OUTCAR" if earlier == "appended" else "OUTCAR.1", 1, "cut_off", 3500.0)
    second = ("OUTCAR", 2 if earlier == "appended" else 1, "running", 3577.0)
    expected = sorted([first] if ended else [first, second])
    assert rows.select("outcar", "launch", "state", "used_s").rows() == expected
    with warehouse.read() as connection:
        reasons = connection.execute("SELECT state_reason FROM raw.vasp_runs WHERE state = 'cut_off'").fetchall()
    assert reasons == [(f"started again in {'the same file' if earlier == 'appended' else 'OUTCAR'}",)]
