"""VASP runs as arrays: their clock, inputs and systems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.remaining.evaluation import finished
from models.remaining.runs import INPUTS
from tests.models.remaining.synthetic import relaxation, runs_in
from traces.vasp.folders import find_runs
from traces.vasp.runs import read_folder
from traces.vasp.synthetic import write_run


def test_the_clock_of_a_run(tmp_path: Path) -> None:
    """Set-up, then the steps; forces take their time after the last electronic step of an ionic one."""
    run = relaxation()
    write_run(tmp_path / "a", run)
    runs = runs_in(tmp_path)
    assert runs.total_s[0] == pytest.approx(run.elapsed_s, abs=1e-3)
    expected, moves, now = (
        [],
        [],
        run.setup_s + run.closing_s,
    )  # nothing is written in the end: all of it counts as set-up
    for loops in run.loops_s:
        expected += (now + np.cumsum(loops)).tolist()
        now += float(loops.sum()) * (1 + run.ionic_overhead)
        moves.append(now)
    np.testing.assert_allclose(runs.step_end_s, expected, rtol=1e-3, atol=0.05)
    np.testing.assert_allclose(runs.ionic_end_s, moves, rtol=1e-3, atol=0.05)
    assert runs.ionic_end_s[-1] == pytest.approx(runs.total_s[0], abs=0.05)
    assert runs.step_ionic.tolist() == [k for k, loops in enumerate(run.loops_s) for _ in loops]


def test_where_something_is_written_in_the_end_set_up_is_a_share_that_is_drawn(tmp_path: Path) -> None:
    """Of what no step tells; another for every run, and the same for the same one."""
    run = relaxation()
    for name in "abcdef":
        write_run(tmp_path / name, run)
        outcar = tmp_path / name / "OUTCAR"
        outcar.write_text(outcar.read_text().replace("LWAVE  =      F", "LWAVE  =      T"))
    runs = runs_in(tmp_path)
    before = runs.step_end_s[runs.step[:-1]] - runs.step_s[runs.step[:-1]]
    outside = run.setup_s + run.closing_s
    assert (before > -0.05).all() and (before < outside + 0.05).all()
    assert np.ptp(before) > 0.1 * outside
    assert (runs_in(tmp_path).step_end_s == runs.step_end_s).all()


@pytest.mark.parametrize("missing", ["head", "middle"])
def test_nothing_is_learned_from_a_run_of_which_a_part_is_missing(missing: str, tmp_path: Path) -> None:
    """Its time is that of steps that are not there."""
    write_run(tmp_path / "a", relaxation())
    path = tmp_path / "a" / "OUTCAR"
    text = path.read_text()
    begin = 0 if missing == "head" else text.index("Iteration      1(   3)")
    path.write_text(text[:begin] + text[text.index("Iteration      2(   2)") :])
    (read,) = (read_folder(folder) for folder in find_runs(tmp_path))
    assert read.runs.select("missing", "state").rows() == [(missing, "finished")] and read.runs["elapsed_s"][0] > 0
    runs = runs_in(tmp_path)
    assert np.isnan(runs.total_s).all() and len(finished(runs)) == 0


def test_inputs_and_systems(tmp_path: Path) -> None:
    run = relaxation()
    write_run(tmp_path / "a", run)
    write_run(tmp_path / "b", run)
    write_run(tmp_path / "c", relaxation(seed=2))
    runs = runs_in(tmp_path)
    assert runs.group[0] == runs.group[1] != runs.group[2]
    assert not runs.single.any()
    for name, value in (
        ("nelect", run.electrons),
        ("cores", run.cores),
        ("nsw", 99),
        ("encut", run.encut),
        ("nions", run.ions),
    ):
        assert runs.input(name)[0] == pytest.approx(value)
    assert np.isnan(runs.input("kpar")).sum() == 0
    assert runs.inputs.shape == (3, len(INPUTS))
