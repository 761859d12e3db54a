"""Figures of the real system, from a few rows."""

from __future__ import annotations

import io
from datetime import date

import numpy as np
import polars as pl

from assets.operations import plots

MARCH, APRIL = date(2026, 3, 1), date(2026, 4, 1)
NONE = pl.Series([], dtype=pl.Date)
"""No month is covered in part."""


def test_the_busiest_queues_have_a_line_each() -> None:
    queues = [f"q{k}" for k in range(plots.MOST_SHOWN + 2)]
    waits = pl.DataFrame(
        {
            "queue": queues * 2,
            "month": [MARCH] * len(queues) + [APRIL] * len(queues),
            "jobs": list(range(1, len(queues) + 1)) * 2,
            "median_wait_s": [3600.0] * 2 * len(queues),
            "p95_wait_s": [7200.0] * 2 * len(queues),
        }
    )
    top, bottom = plots.waits_by_queue(waits, pl.Series([APRIL])).axes
    assert [len(ax.patches) for ax in (top, bottom)] == [1, 1]
    assert top.patches[0].get_label() == "month covered in part"
    assert [line.get_label() for line in top.lines] == queues[:1:-1]
    assert list(top.lines[0].get_ydata()) == [1, 1] and list(bottom.lines[0].get_ydata()) == [2, 2]


def test_core_hours_of_small_accounts_are_together() -> None:
    accounts = [f"a{k}" for k in range(plots.MOST_SHOWN + 2)]
    hours = pl.DataFrame({"month": [MARCH] * len(accounts), "account": accounts, "core_hours": [10.0] * len(accounts)})
    (axes,) = plots.core_hours_by_account(hours, NONE).axes
    assert [round(bar.get_height()) for bar in axes.patches] == [10] * plots.MOST_SHOWN + [20]


def test_hours_without_jobs_stay_empty() -> None:
    waits = pl.DataFrame({"weekday": [1, 7], "hour_of_day": [0, 23], "hours": [2.0, 3.0]})
    shown = np.ma.masked_invalid(plots.waits_by_hour(waits).axes[0].images[0].get_array())
    assert shown.count() == 2 and shown[6, 23] == 3


def test_submissions_are_shares_by_hour_weekday_and_size() -> None:
    jobs = pl.DataFrame({"weekday": [1, 7, 7], "hour_of_day": [8, 8, 9], "procs_up_to": [1, 1, 64], "jobs": [2, 1, 1]})
    by_hour, by_day, by_size = ([bar.get_height() for bar in ax.patches] for ax in plots.submissions(jobs).axes)
    assert by_hour == [75, 25] and by_day == [50, 50] and by_size == [75, 25]


def test_used_share_and_capacity() -> None:
    used = pl.DataFrame({"share_from": [0.1, 0.5, 1.175], "jobs": [1, 2, 1], "median": [0.5] * 3})
    (axes,) = plots.walltime_used(used).axes
    assert [bar.get_height() for bar in axes.patches] == [25, 50, 25]
    days = pl.DataFrame(
        {"day": [MARCH, APRIL], "mean_procs": [1.0, 2.0], "peak_procs": [3, 4], "cluster_procs": [8, 8]}
    )
    assert [line.get_label() for line in plots.capacity(days).axes[0].lines] == ["most at one time", "of the cluster"]


def test_nothing_used_is_an_empty_figure() -> None:
    assert (
        not plots.walltime_used(pl.DataFrame(schema={"share_from": float, "jobs": int, "median": float}))
        .axes[0]
        .patches
    )


def test_names_from_a_log_are_no_formulas() -> None:
    """matplotlib fails where the text between two dollar signs is none, and a whole night with it."""
    odd = r"$\frac{$"
    waits = pl.DataFrame({"queue": [odd], "month": [MARCH], "jobs": [1], "median_wait_s": [1.0], "p95_wait_s": [2.0]})
    hours = pl.DataFrame({"month": [MARCH], "account": [odd], "core_hours": [10.0]})
    for figure in (plots.waits_by_queue(waits, NONE), plots.core_hours_by_account(hours, NONE)):
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg")
        assert "frac" in drawn.getvalue()
