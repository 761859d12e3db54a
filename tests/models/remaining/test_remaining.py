"""Remaining times: what is seen of a run at a moment, what predictors make of it, and how they are judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from models.remaining.evaluation import PREDICTORS, SHARES, finished, try_out
from models.remaining.predictors import Progress, held_out_groups
from models.remaining.runs import INPUTS, Runs, runs_of
from models.remaining.snapshots import LEVELS, MEDIAN, PROGRESS, Moments, at_shares, drawn, snapshots
from traces.vasp.folders import find_runs
from traces.vasp.runs import read_folder
from traces.vasp.synthetic import SyntheticOptions, SyntheticRun, draw_runs, write_run, write_runs


def runs_in(folder: Path) -> Runs:
    read = [read_folder(found) for found in find_runs(folder)]
    return runs_of(*(pl.concat(getattr(one, name) for one in read) for name in ("runs", "electronic", "ionic")))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("runs")
    write_runs(folder, SyntheticOptions(runs=70, seed=3, single_share=0.6, unfinished=3))
    return runs_in(folder)


def relaxation(seed: int = 1) -> SyntheticRun:
    return next(
        run for run in draw_runs(SyntheticOptions(runs=30, seed=seed, single_share=0.0)) if len(run.loops_s) > 4
    )


def feature(seen, name: str) -> np.ndarray:
    return seen.features[:, PROGRESS.index(name)]


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
    seen = snapshots(runs, at_shares(runs, np.array([0, 1]), np.array([0.2, 0.6])))
    left = feature(seen, "ionic_left").reshape(2, 2)
    assert (left[0] <= 4 * (feature(seen, "ionic_steps").reshape(2, 2)[0] + 5)).all()
    assert (left[1] == 9999 - feature(seen, "ionic_steps").reshape(2, 2)[1]).all()


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
        one, other = (snapshots(r, Moments(np.array([0]), np.array([until]))) for r in (whole, then))
        # where the first step began cannot be told of a run that is not over, so that a step at the edge may differ
        if one.seen[0] == other.seen[0]:
            np.testing.assert_allclose(one.features, other.features, rtol=1e-4, atol=1e-4, equal_nan=True)
        assert abs(int(one.seen[0]) - int(other.seen[0])) <= 1


def test_features_of_a_moment(tmp_path: Path) -> None:
    run = relaxation()
    write_run(tmp_path / "a", run)
    runs = runs_in(tmp_path)
    before = snapshots(runs, Moments(np.array([0]), np.array([0.0])))
    assert before.seen[0] == 0 and np.isnan(before.features).all() and np.isnan(before.step_s[0])
    second = len(run.loops_s[0]) + 2
    seen = snapshots(runs, Moments(np.array([0]), runs.step_end_s[[second - 1]]))
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
    seen = snapshots(runs, at_shares(runs, np.array([0]), np.array([0.5, 1.0])))
    left = feature(seen, "electronic_left")
    assert left[0] > 0
    assert left[1] <= 1


def test_shares_are_of_the_steps(many: Runs) -> None:
    which = finished(many)
    moments = at_shares(many, which, SHARES)
    seen = snapshots(many, moments).seen.reshape(len(which), -1)
    steps = np.diff(many.step)[which]
    assert (seen == np.ceil(steps[:, None] * SHARES - 1e-9)).all()


def test_drawn_moments_lie_all_over_the_runs(many: Runs) -> None:
    which = finished(many)
    moments = drawn(many, which, 10, np.random.default_rng(1))
    shares = (moments.used_s / many.total_s[moments.run]).reshape(-1, 10)
    assert (np.floor(10 * shares) == np.arange(10)).all()


def test_no_system_is_in_two_parts() -> None:
    group = np.random.default_rng(1).integers(20, size=300)
    masks = held_out_groups(group, 1, 5)
    assert (np.sum(masks, axis=0) == 1).all()
    for mask in masks:
        assert not set(group[mask]) & set(group[~mask])
        assert 40 <= mask.sum() <= 80


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_predictor_learns_and_can_be_kept(name: str, many: Runs) -> None:
    which = finished(many)
    predictor = PREDICTORS[name]()
    predictor.fit(many, which, seed=1)
    moments = at_shares(many, which, np.array([0.3, 0.7]))
    quantiles = predictor.predict(many, moments)
    assert quantiles.shape == (len(moments), len(LEVELS))
    assert (quantiles >= 0).all() and (np.diff(quantiles, axis=1) >= 0).all()
    again = PREDICTORS[name]()
    again.restore(predictor.state())
    np.testing.assert_allclose(again.predict(many, moments), quantiles, rtol=1e-5)
    if name != "progress":  # which learns as the first one does
        twin = PREDICTORS[name]()
        twin.fit(many, which, seed=1)
        assert (twin.predict(many, moments) == quantiles).all()


def test_before_the_first_step_the_parameters_speak(many: Runs) -> None:
    which = finished(many)
    predictor = Progress()
    predictor.fit(many, which, seed=1)
    start = Moments(which[:5], np.zeros(5))
    assert (predictor.predict(many, start) == predictor._before.predict(many, start)).all()


def test_steps_tell_more_than_parameters(many: Runs) -> None:
    """On systems that were not learned from; and more the longer a run goes on."""
    inputs, progress = (try_out(many, name, folds=2, seed=1) for name in ("inputs_only", "progress"))
    error = progress.errors(many).mean(axis=0)
    assert error[4] < 0.5 * inputs.errors_before(many).mean()
    assert error[9] < error[4] < error[0]
    assert 0.6 < progress.covered(many).mean() < 0.95
    assert (np.abs(progress.used_s[:, -1] - many.total_s[progress.which]) < 0.3 * many.total_s[progress.which]).all()
    middle = progress.used_s + progress.quantiles[:, :, MEDIAN]
    np.testing.assert_allclose(
        progress.errors(many), np.abs(middle / many.total_s[progress.which][:, None] - 1), atol=1e-12
    )


def test_too_few_runs_or_systems(many: Runs, tmp_path: Path) -> None:
    which = finished(many)
    with pytest.raises(ValueError, match="at least 20 finished VASP runs, found 5"):
        Progress().fit(many, which[:5], 1)
    run = relaxation()
    for k in range(24):
        write_run(tmp_path / str(k), run)
    same = runs_in(tmp_path)
    with pytest.raises(ValueError, match="at least 4 systems"):
        Progress().fit(same, finished(same), 1)
    with pytest.raises(ValueError, match=r"at least 5 systems .*, found 1"):
        try_out(same, "progress", 5, 1)
