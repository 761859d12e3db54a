"""Tests of assets/common/progress: bars are silent where nobody looks at them."""

import threading
import time

import dagster as dg
import numpy as np
import pytest

from assets.common import progress as module
from assets.common.asset import asset
from assets.common.progress import (
    DrawnBar,
    LoggedBar,
    is_drawing,
    newest_work,
    progress,
    progress_bar,
    progress_logged_by,
    say_if_slow,
)
from simulator.replayer import WATCHED_JOBS, watched


def test_items_come_through_and_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress(range(3), "items")) == [0, 1, 2]
    with progress_bar("steps", 2) as bar:
        bar.update(2)
    assert capsys.readouterr() == ("", "")


def test_bars_on_a_terminal_close_one_by_one() -> None:
    """Closing one ended in a fault, since a tqdm cannot be compared with None."""
    with DrawnBar("outer", 2):
        with DrawnBar("inner", 3) as inner:
            inner.update(3)
        work = newest_work()
        assert is_drawing() and work is not None and work.label == "outer"
    assert not is_drawing()


def test_a_log_tells_how_far_the_work_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of ten steps in 30 s leave 120 s; what takes less than 20 s says nothing."""
    now, said = [0.0], list[str]()
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    with LoggedBar("epochs", 10, said.append) as bar:
        for moment in (5.0, 30.0, 40.0, 55.0):
            now[0] = moment
            bar.update()
    assert said == ["epochs: 2 of 10, about 2 min left", "epochs: 4 of 10, about 82 s left"]


def test_without_a_terminal_the_lines_are_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a notebook, or a batch job."""
    monkeypatch.setattr(module, "SAID_EVERY_S", 0.0)
    assert list(progress(range(2), "items")) == [0, 1]
    assert capsys.readouterr().err == "items: 1 of 2, about 0 s left\nitems: 2 of 2, about 0 s left\n"


def test_the_newest_work_is_the_one_that_is_said() -> None:
    with LoggedBar("outer", 10, print) as outer:
        outer.update(0.5)
        with LoggedBar("inner", 4, print):
            assert str(newest_work()) == "inner: 0 of 4"
        said = newest_work()
        assert said is not None and (said.label, said.n) == ("outer", 0.5), "parts of a step count"
    assert newest_work() is None


def test_a_replay_that_takes_long_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one call of compiled code, and a thread reads what it writes. Of replays side by side one is shown."""
    monkeypatch.setattr(module, "SHOWN_AFTER_S", 0.0)
    monkeypatch.setattr(module, "LOOKED_EVERY_S", 0.001)
    monkeypatch.setattr(module, "SAID_EVERY_S", 0.0)
    said = list[str]()
    start = np.full(WATCHED_JOBS, -1)
    with progress_logged_by(said.append), watched("jobs", start), watched("others", start):
        for share in range(1, 5):
            start[: 500 * share] = 7
            time.sleep(0.02)
    assert {line.partition(":")[0] for line in said} in ({"jobs"}, {"others"})
    assert "jobs: 1,000 of 2,000, about " in " ".join(said).replace("others", "jobs")
    assert newest_work() is None


def test_a_small_replay_is_not_looked_at() -> None:
    threads = threading.active_count()
    with watched("jobs", np.full(WATCHED_JOBS - 1, -1)):
        assert threading.active_count() == threads


def test_without_a_total_there_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[str]()
    monkeypatch.setattr(module, "SAID_EVERY_S", 0.0)
    LoggedBar("lines", 0, said.append).update(1500)
    LoggedBar("jobs", 3 * 3600 * 10**9, said.append).update(1)
    assert said[0] == "lines: 1,500" and said[1].endswith(" h left")


def test_a_step_of_dagster_logs_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAID_EVERY_S", 0.0)

    @asset("made", table=None, partitions_def=None)
    def made(context) -> None:  # type: ignore[no-untyped-def]
        assert list(progress(range(2), "items")) == [0, 1]

    with dg.instance_for_test() as instance:
        result = dg.materialize([made], instance=instance)
        said = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert progress_bar("steps", 2).log is module._say, "outside of a step it is on standard error"
    assert "items: 1 of 2, about 0 s left" in said and "items: 2 of 2, about 0 s left" in said


def test_only_what_is_slow_says_what_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with say_if_slow("quick"):
        pass
    monkeypatch.setattr(module, "SLOW_S", 0.01)
    with say_if_slow("slow"):
        time.sleep(0.1)
    assert capsys.readouterr().err == "slow ...\n"
