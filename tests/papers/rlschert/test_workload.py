"""RLSchert's synthetic jobs, and how their predictions err."""

from __future__ import annotations

import numpy as np
import pytest

from papers.rlschert.rules import LONGEST, WIDEST
from papers.rlschert.workload import PAPER_ERRORS, Errors, Sequences, Workload, draw_sequences


def measured_errors(sequences: Sequences) -> tuple[float, float]:
    """MAPE before the run, and while running (mean over each job's units after the first, then over jobs that have any), as the
    drawn predictions have them, shares."""
    length = sequences.length[:, :, None]
    before = np.abs(sequences.first - sequences.length) / sequences.length
    units = np.arange(LONGEST)
    runs = (units >= 1) & (units < length)
    error = np.where(runs, np.abs(units + sequences.remaining - length) / length, 0.0).sum(axis=2)
    count = runs.sum(axis=2)
    return float(before.mean()), float((error[count > 0] / count[count > 0]).mean())


def test_jobs_are_as_the_paper_tells() -> None:
    drawn = draw_sequences(Workload(), 100, seed=1)
    assert drawn.length.mean() == pytest.approx(10, rel=0.06)
    assert drawn.procs.mean() == pytest.approx(3, rel=0.03)
    assert drawn.length.min() >= 1 and drawn.length.max() <= LONGEST
    assert drawn.procs.min() >= 1 and drawn.procs.max() <= WIDEST
    assert (np.diff(drawn.arrive, axis=1) >= 1).all()
    assert np.diff(drawn.arrive, axis=1).mean() == pytest.approx(1 / 0.7, rel=0.03)
    assert drawn.remaining.shape == (100, 200, LONGEST) and drawn.remaining.min() >= 1


@pytest.mark.parametrize(("share", "kind"), [(1.0, 0), (0.0, 1)])
def test_predictions_err_as_asked(share: float, kind: int) -> None:
    """Jobs of one kind; short ones lose errors of less than half a unit, so that the others have a little more."""
    drawn = draw_sequences(Workload(single_share=share), 100, seed=1)
    before, running = measured_errors(drawn)
    assert before == pytest.approx(PAPER_ERRORS.before[kind], rel=0.06)
    assert running == pytest.approx(PAPER_ERRORS.running[kind], rel=0.2)


def test_predictions_get_better_while_a_job_runs() -> None:
    drawn = draw_sequences(Workload(single_share=0.0, mean_length=40), 60, seed=1)
    error = []
    for share in (0.1, 0.5, 0.9):
        t = np.floor(share * drawn.length).astype(np.int64)
        total = t + np.take_along_axis(drawn.remaining, t[:, :, None], axis=2)[:, :, 0]
        error.append((np.abs(total - drawn.length) / drawn.length).mean())
    assert error[0] > error[1] > error[2]


def test_perfect_predictions() -> None:
    exact = Workload(errors=Errors((0, 0), (0, 0), (0, 0)))
    drawn = draw_sequences(exact, 3, seed=1)
    assert (drawn.first == drawn.length).all()
    left = drawn.length[:, :, None] - np.arange(LONGEST)
    assert (drawn.remaining == np.maximum(left, 1)).all()


def test_jobs_whose_steps_cannot_be_read_keep_their_first_prediction() -> None:
    drawn = draw_sequences(Workload(predictable_share=0.0), 3, seed=1)
    assert (drawn.remaining == np.maximum(drawn.first[:, :, None] - np.arange(LONGEST), 1)).all()
    half = draw_sequences(Workload(predictable_share=0.5, other_error=1.212), 40, seed=1)
    kept = (half.remaining == np.maximum(half.first[:, :, None] - np.arange(LONGEST), 1)).all(axis=2)
    assert 0.45 < kept.mean() < 0.75
    assert measured_errors(half)[0] > 1.3 * measured_errors(draw_sequences(Workload(), 40, seed=1))[0]


def test_jobs_of_real_runs() -> None:
    drawn = draw_sequences(Workload(observed=((5, 2, True), (50, 9, False))), 5, seed=1)
    assert set(zip(drawn.length.ravel().tolist(), drawn.procs.ravel().tolist(), strict=True)) == {(5, 2), (50, 9)}


def test_the_same_seed_gives_the_same_jobs() -> None:
    one, same, other = (draw_sequences(Workload(jobs=20), 2, seed=seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert (one.length != other.length).any()


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"job_rate": 0.0}, "job_rate is a share from 0 to 1, got 0.0"),
        ({"single_share": 1.5}, "single_share is a share"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"mean_procs": 11.0}, "mean_procs 1 to 10"),
    ],
)
def test_workloads_that_make_no_sense(told: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Workload(**told)  # type: ignore[arg-type]


def test_errors_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="before: errors are shares from 0 to 3"):
        Errors((-0.1, 0.2), (0.1, 0.1), (0.1, 0.1))
    with pytest.raises(ValueError, match="at_end must not be larger"):
        Errors((0.1, 0.2), (0.1, 0.1), (0.2, 0.1))
