"""What is seen of a run at a moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.remaining.evaluation import finished
from models.remaining.runs import Runs
from models.remaining.snapshots import PROGRESS_SHARES, Moments, at_shares, drawn, snapshots_at
from tests.models.remaining.synthetic import feature, relaxation, runs_in
from traces.vasp.synthetic import SyntheticOptions, draw_runs, write_run


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
