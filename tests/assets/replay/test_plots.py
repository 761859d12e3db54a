"""Figures of what-if replays, drawn from one small replay."""

from __future__ import annotations

import io

import pytest

from assets.common.trace import load_trace
from assets.replay import plots
from assets.replay.replayers import choose_policy
from assets.replay.run import ReplayRun, replay_run
from assets.replay.settings import RunSettings
from assets.replay.tables import run_jobs, series_of, with_time
from tests.tiny import busy_log, warehouse_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ReplayRun:
    trace = load_trace(warehouse_of(tmp_path_factory.mktemp("busy"), busy_log()), "mine")
    return replay_run(trace, RunSettings(), choose_policy(RunSettings(), None, "mine"))


def png(figure) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=40)
    return picture.getvalue()


def test_the_gantt_chart_shows_the_stretch_where_most_jobs_wait(run: ReplayRun) -> None:
    figure = plots.gantt_of(run, "mine")
    title = figure.axes[0].get_title(loc="left") or figure.axes[0].get_title()
    assert title.startswith("mine") and png(figure).startswith(b"\x89PNG")


def test_use_and_queue_have_an_axis_for_each_run_and_one_for_all_queues(run: ReplayRun) -> None:
    series = with_time(series_of(run), run)
    figure = plots.use_and_queue({"a": series, "b": series}, {"a": 16, "b": 16})
    assert len(figure.axes) == 3 and figure.axes[2].get_ylabel() == "jobs waiting"
    assert len(figure.axes[2].lines[0].get_xdata()) <= plots.MOST_POINTS + 1
    days = plots.use_and_queue({"a": series}, {"a": 16}, has_calendar=False)
    assert days.axes[1].get_xlabel() == "days since the first submission"


def test_waits_are_drawn_by_class_and_hour(run: ReplayRun) -> None:
    figure = plots.waits({"a": run_jobs("a", run)}, {"a": 16}, "Europe/Berlin")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert any("by size and run time" in title for title in titles)
    assert any("Europe/Berlin" in title for title in titles)
