"""Tests of models: compiled, side_by_side. Compiled functions of this room are compiled again when the simulator's change, too.

Work in several processes: order, reports, errors, and processes that end early.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable

import pytest

from models import compiled as module
from models.side_by_side import ONE_THREAD, ProcessLost, work_side_by_side


def test_functions_compute_what_they_say_compiled_or_not() -> None:
    @module.compiled
    def doubled(x):
        return 2 * x

    assert doubled(21) == doubled.py_func(21) == 42


# --- side by side


PREPARED = "TRACEHOUSE_TEST_PREPARED"


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.side_by_side.cores", lambda: 2)


def prepare() -> None:
    os.environ[PREPARED] = "yes"


def square(item: int, report: Callable[[str], None]) -> tuple[int, str, list[str]]:
    """Fails for 13, and is killed by 99."""
    report(f"at {item}")
    if item == 13:
        raise LookupError("13 is no number to square")
    if item == 99:
        os.kill(os.getpid(), signal.SIGKILL)
    return item**2, os.environ.get(PREPARED, "no"), [os.environ[name] for name in ONE_THREAD]


def test_results_are_in_the_order_of_the_items_and_reports_come_here() -> None:
    reports: list[tuple[int, str]] = []
    results = list(work_side_by_side(square, [5, 3, 4], lambda item, text: reports.append((item, text)), prepare))
    assert results == [(number**2, "yes", ["1", "1"]) for number in (5, 3, 4)]
    assert sorted(reports) == [(3, "at 3"), (4, "at 4"), (5, "at 5")]


def test_an_error_or_a_lost_process_ends_all() -> None:
    with pytest.raises(LookupError, match="13 is no number to square"):
        list(work_side_by_side(square, [1, 13, 2], lambda item, text: None))
    with pytest.raises(ProcessLost, match=r"the process that worked on 99 has ended \(-9\)"):
        list(work_side_by_side(square, [99, 1], lambda item, text: None))
    with pytest.raises(KeyboardInterrupt):
        list(work_side_by_side(square, [1, 2], interrupt))
    assert not multiprocessing.active_children()


def interrupt(item: int, text: str) -> None:
    """As if Ctrl-C came then."""
    raise KeyboardInterrupt
