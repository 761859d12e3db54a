"""Progress bars are silent where nobody looks at them."""

from __future__ import annotations

import time

import dagster as dg
import pytest
from tqdm import tqdm

from assets.common import progress as module
from assets.common.asset import asset
from assets.common.progress import LoggedBar, progress, progress_bar, say_if_slow


def test_items_come_through_and_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress(range(3), "items")) == [0, 1, 2]
    with progress_bar("steps", 2) as bar:
        bar.update(2)
    assert capsys.readouterr() == ("", "")


def test_a_log_tells_how_far_the_work_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of ten steps in 30 s leave 120 s; what takes less than 20 s says nothing."""
    now, said = [0.0], list[str]()
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    with LoggedBar("epochs", 10, said.append) as bar:
        for moment in (5.0, 30.0, 40.0, 55.0):
            now[0] = moment
            bar.update()
    assert said == ["epochs: 2 of 10, about 2 min left", "epochs: 4 of 10, about 82 s left"]


def test_without_a_total_there_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[str]()
    monkeypatch.setattr(module, "SAID_EVERY_S", 0.0)
    LoggedBar("lines", 0, said.append).update(1500)
    LoggedBar("jobs", 3 * 3600 * 10**9, said.append).update(1)
    assert said[0] == "lines: 1,500" and said[1].endswith(" h left")


def test_a_step_of_dagster_logs_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAID_EVERY_S", 0.0)

    @asset(key="made")
    def made(context) -> None:  # type: ignore[no-untyped-def]
        assert list(progress(range(2), "items")) == [0, 1]

    with dg.instance_for_test() as instance:
        result = dg.materialize([made], instance=instance)
        said = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert isinstance(progress_bar("steps", 2), tqdm), "outside of a step it is a bar"
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
