"""What all figures share."""

from __future__ import annotations

import numpy as np
import polars as pl

from assets.common.plots import BLUE, daily_load, figure, gantt, log_axis


def test_a_figure_has_as_many_axes_as_rows() -> None:
    canvas, axes = figure(rows=3, share_x=True)
    assert len(axes) == len(canvas.axes) == 3
    log_axis(axes[0].xaxis)
    assert axes[0].get_xscale() == "log" and axes[0].get_yscale() == "linear"


def test_daily_load_has_a_bar_for_every_day() -> None:
    days = pl.DataFrame({"day": [1, 2, 3], "jobs": [4, 5, 6], "offered_load": [0.1, 0.5, 0.9]})
    jobs, load = daily_load(days).axes
    assert [bar.get_height() for bar in jobs.patches] == [4, 5, 6]
    assert [bar.get_height() for bar in load.patches] == [10, 50, 90]
    assert jobs.patches[0].get_facecolor()[:3] == tuple(int(BLUE[k : k + 2], 16) / 255 for k in (1, 3, 5))


def test_a_gantt_chart_of_two_jobs() -> None:
    start, runtime, procs = np.array([0, 10]), np.array([20, 5]), np.array([1, 3])
    canvas = gantt("mine", start, runtime, procs, np.array([0, 2]), 4, 0, 30)
    assert len(canvas.axes) == 1
