"""Tests of models/remaining: runs, snapshots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.remaining.evaluation import finished
from models.remaining.runs import INPUTS, Runs
from models.remaining.snapshots import PROGRESS_SHARES, Moments, at_shares, drawn, snapshots_at
from tests.models.remaining.synthetic import feature, relaxation, runs_in
from traces.vasp.folders import find_runs
from traces.vasp.runs import read_folder
from traces.vasp.synthetic import SyntheticOptions, draw_runs, write_run

# runs: VASP runs as arrays: their clock, inputs and systems.


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


# snapshots: What is seen of a run at a moment.


def test_a_relaxation_that_stands_still_is_not_thought_to_make_all_its_steps(tmp_path: Path) -> None:
    """NSW = 9999 says nothing of what is left; of molecular dynamics it does."""
    run = relaxation()
    write_run(tmp_path / "a", run)
    write_run(tmp_path / "b", run)
    for name, moves in (("a", "2"), ("b", "0")):
        outcar = tmp_path / name / "OUTCAR"
        text = (
            outcar.read_text()
            .replace("NSW    =     99", "NSW    =   9999")
            .replace("IBRION =      2", f"IBRION =      {moves}")
        )
        outcar.write_text(text)
    runs = runs_in(tmp_path)
    seen = snapshots_at(runs, at_shares(runs, np.array([0, 1]), np.array([0.2, 0.6])))
    left = feature(seen, "ionic_left").reshape(2, 2)
    assert (left[0] <= 4 * (feature(seen, "ionic_steps").reshape(2, 2)[0] + 5)).all()
    assert (left[1] == 9999 - feature(seen, "ionic_steps").reshape(2, 2)[1]).all()


def test_a_moment_shows_nothing_of_what_comes_after_it(many: Runs, tmp_path: Path) -> None:
    """The same features from the whole file as from the file as it was at that moment."""
    run = relaxation()
    write_run(tmp_path / "whole" / "a", run)
    whole = runs_in(tmp_path / "whole")
    for share in (0.15, 0.4, 0.8):
        until = share * run.elapsed_s
        write_run(tmp_path / str(share) / "a", run, until_s=until)
        then = runs_in(tmp_path / str(share))
        assert np.isnan(then.total_s[0])
        one, other = (snapshots_at(r, Moments(np.array([0]), np.array([until]))) for r in (whole, then))
        # where the first step began cannot be told of a run that is not over, so that a step at the edge may differ
        if one.seen[0] == other.seen[0]:
            np.testing.assert_allclose(one.features, other.features, rtol=1e-4, atol=1e-4, equal_nan=True)
        assert abs(int(one.seen[0]) - int(other.seen[0])) <= 1


def test_features_of_a_moment(tmp_path: Path) -> None:
    run = relaxation()
    write_run(tmp_path / "a", run)
    runs = runs_in(tmp_path)
    before = snapshots_at(runs, Moments(np.array([0]), np.array([0.0])))
    assert before.seen[0] == 0 and np.isnan(before.features).all() and np.isnan(before.step_s[0])
    second = len(run.loops_s[0]) + 2
    seen = snapshots_at(runs, Moments(np.array([0]), runs.step_end_s[[second - 1]]))
    loops = np.concatenate(run.loops_s)[:second]
    assert seen.seen[0] == second == feature(seen, "steps")[0]
    assert feature(seen, "steps_now")[0] == 2
    assert feature(seen, "ionic_steps")[0] == 1
    assert seen.step_s[0] == pytest.approx(loops.mean(), rel=1e-3)
    assert feature(seen, "most_ionic_left")[0] == 98
    assert feature(seen, "most_electronic_left")[0] == 58
    assert feature(seen, "force_gap")[0] > 0
    assert feature(seen, "change_gap")[0] == pytest.approx(np.log10(abs(np.diff(run.energies_ev[1])[0])) + 5, abs=0.01)


def test_a_moment_whose_energies_have_reached_the_goal_has_no_steps_left(tmp_path: Path) -> None:
    run = next(r for r in draw_runs(SyntheticOptions(runs=5, seed=4, single_share=1.0)))
    write_run(tmp_path / "a", run)
    runs = runs_in(tmp_path)
    seen = snapshots_at(runs, at_shares(runs, np.array([0]), np.array([0.5, 1.0])))
    left = feature(seen, "electronic_left")
    assert left[0] > 0
    assert left[1] <= 1


def test_shares_are_of_the_steps(many: Runs) -> None:
    which = finished(many)
    moments = at_shares(many, which, PROGRESS_SHARES)
    seen = snapshots_at(many, moments).seen.reshape(len(which), -1)
    steps = np.diff(many.step)[which]
    assert (seen == np.ceil(steps[:, None] * PROGRESS_SHARES - 1e-9)).all()


def test_drawn_moments_lie_all_over_the_runs(many: Runs) -> None:
    which = finished(many)
    moments = drawn(many, which, 10, np.random.default_rng(1))
    shares = (moments.used_s / many.total_s[moments.run]).reshape(-1, 10)
    assert (np.floor(10 * shares) == np.arange(10)).all()
