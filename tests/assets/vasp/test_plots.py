"""The figure of errors of remaining times."""

from __future__ import annotations

import polars as pl

from assets.vasp.plots import error_by_progress


def test_a_line_per_predictor_and_kind_of_run() -> None:
    scores = pl.DataFrame({
        "predictor": ["progress"] * 3, "ionic": ["single", "single", "all"], "progress": [0.0, 0.5, 0.5],
        "split": ["unseen"] * 3, "mape": [90.0, 10.0, 20.0], "median_error": [80.0, 5.0, 8.0],
    })  # fmt: skip
    above, below = error_by_progress(scores).axes
    (line,) = above.lines  # neither what is said before the start nor all runs together
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([50.0], [10.0])
    assert below.lines[0].get_ydata().tolist() == [5.0] and line.get_label() == "progress, single"
