"""The ranking: paired differences, intervals that mean something, seeds averaged."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assets.evaluation.ranking import rank_policies, readable


def scores(windows: int, seeds: int = 2) -> pl.DataFrame:
    """Hard and easy windows; SAF takes 3 less than FCFS on every window, the learned policy 5 less on average."""
    rng = np.random.default_rng(0)
    hardness = rng.lognormal(3, 1, windows) + 20
    rows = []
    for policy, less in (("FCFS", 0.0), ("SAF", 3.0), ("learned", 5.0)):
        for seed in range(1, seeds + 1) if policy == "learned" else [None]:
            for window in range(windows):
                slowdown = hardness[window] - less + ((-1) ** seed if seed else 0)
                rows.append((policy, seed, window, slowdown))
    frame = pl.DataFrame(rows, schema=["policy", "seed", "window_number", "average_bounded_slowdown"], orient="row")
    same = {"average_wait_s": 1.0, "p95_wait_s": 2.0, "utilisation": 0.5, "semantics": 1}
    return frame.with_columns(
        backfill=pl.lit("easy"), estimates=pl.lit("requested"), **{k: pl.lit(v) for k, v in same.items()}
    )


def test_ranks_by_mean_and_pairs_on_windows() -> None:
    rows = rank_policies(scores(30), resamples=500, seed=1)
    assert rows["policy"].to_list() == ["learned", "SAF", "FCFS"]
    assert rows["rank"].to_list() == [1, 2, 3]
    saf = rows.row(1, named=True)
    # every window differs by exactly 3: unpaired noise between windows must not show
    assert [saf[name] for name in ("minus_fcfs", "minus_fcfs_low", "minus_fcfs_high")] == pytest.approx([-3.0] * 3)
    assert saf["bounded_slowdown_high"] - saf["bounded_slowdown_low"] > 5
    learned = rows.row(0, named=True)
    assert learned["seeds"] == 2
    assert learned["minus_saf"] == pytest.approx(-2.0)
    assert learned["minus_saf_low"] < -2.0 < learned["minus_saf_high"], "seeds are resampled too"


def test_order_of_rows_does_not_matter() -> None:
    frame = scores(12)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    assert rank_policies(frame, 200, 1).equals(rank_policies(shuffled, 200, 1))


def test_too_few_windows_give_no_interval() -> None:
    rows = rank_policies(scores(4), resamples=200, seed=1)
    assert rows["minus_saf_low"].null_count() == rows.height
    assert rows["average_bounded_slowdown"].null_count() == 0


def test_readers_see_intervals_in_one_cell() -> None:
    shown = readable(rank_policies(scores(30), resamples=200, seed=1))
    assert shown.columns[:4] == ["rank", "policy", "estimates", "bounded slowdown"]
    assert shown["its interval"][1] == "0.00 to 0.00", "SAF differs from itself by nothing"
    few = readable(rank_policies(scores(4), resamples=200, seed=1))
    assert few["95 % interval"].to_list() == ["too few windows"] * 3
