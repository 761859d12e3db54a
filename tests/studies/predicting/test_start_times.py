"""Start times of recorded queues: what is read, and what rivals may know."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from studies.predicting.start_times import FOLDER, against, cedar_table, predicted_by_rivals, read_noons, score_row
from studies.predicting.start_trees import OWN_FEATURES, STATE_FEATURES
from tests.shared import shared_file


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    shared_file("traces", "waits", "graham_on_submit_days.parquet")
    return pl.read_parquet(FOLDER / "graham_on_submit_days.parquet", n_rows=9000)


def test_noons_have_what_was_known_then(frame: pl.DataFrame) -> None:
    noons = read_noons(frame)
    assert [noon.queue.now for noon in noons] == sorted(frame["poll_time"].dt.epoch("s").unique().to_list())
    assert noons[0].queue.features.shape[1] == len(OWN_FEATURES) + len(STATE_FEATURES)
    names = OWN_FEATURES + STATE_FEATURES
    assert np.isnan(
        noons[0].queue.features[:, names.index("day_wait_s_partition")]
    ).all()  # nothing had been seen before
    # what became of the jobs afterwards changes no feature of any noon before
    later = frame.with_columns(
        pl.when(pl.col("poll_time").dt.epoch("s") == noons[-1].queue.now).then(7).otherwise(pl.col(name)).alias(name)
        for name in (
            "poll_wait_sec",
            "elapsed_time",
            "run_time_sec",
            "q_core_run_hours",
            "q_p_core_run_hours",
            "priority_x",
        )
    )
    for before, after in zip(noons, read_noons(later), strict=True):
        np.testing.assert_array_equal(before.queue.features, after.queue.features)


def test_rivals_use_what_had_started_by_noon(frame: pl.DataFrame) -> None:
    noons = read_noons(frame)
    rivals = predicted_by_rivals(noons, 2)
    jobs = len(noons[2].queue.wait)
    assert {ends.shape for ends in rivals.values()} == {(jobs, 3)} and not rivals["zero"].any()
    longest = noons[2].queue.now - noons[0].queue.now
    for name in ("median of similar jobs", "binomial bound"):
        ends = rivals[name]
        assert (ends <= longest).all() and (ends[:, 0] <= ends[:, 1]).all() and (ends[:, 1] <= ends[:, 2]).all()
    assert (rivals["binomial bound"][:, 2] >= np.median(rivals["median of similar jobs"][:, 1])).any()


def test_scores_and_pairs() -> None:
    true = [np.array([100, 1000]), np.array([5000])]
    exact = [np.stack([wait - 1, wait, wait + 1], axis=1).astype(float) for wait in true]
    off = [each + 700.0 for each in exact]
    assert score_row("ours", exact, true)[1:6] == ["0", "0", "100.0%", "100.0%", "100.0%"]
    assert score_row("off", off, true)[3:6] == ["0.0%", "0.0%", "0.0%"]
    ratio, more = against(exact, off, true, draws=20)
    assert ratio.startswith("0.00") and more.startswith("+100.0")


def test_slurm_s_own_estimates_of_cedar() -> None:
    shared_file("traces", "waits", "cedar_true_start_time_vs_slurm_estimate.csv")
    assert "| 53 | 2,961 |" in cedar_table()
