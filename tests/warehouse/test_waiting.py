"""Waiting for other processes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from warehouse.errors import WarehouseBusy, WarehouseError
from warehouse.waiting import Waiting, file_lock, process_words, timeout_from_environment


def test_a_lock_that_is_held_names_its_holder(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    with (
        file_lock(lock, time.monotonic() + 60),
        pytest.raises(WarehouseBusy, match=f"another writer .process {os.getpid()}"),
        file_lock(lock, time.monotonic()),
    ):
        pass
    with file_lock(lock, time.monotonic() + 60):  # it was given back
        assert lock.read_text() == str(os.getpid())


def test_at_the_deadline_it_says_why(tmp_path: Path) -> None:
    with pytest.raises(WarehouseBusy, match=r"still busy after 0 s: a backup runs\. Close it there or wait"):
        Waiting(tmp_path, time.monotonic()).step("a backup runs")


def test_seconds_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_TIMEOUT_S", "1.5")
    assert timeout_from_environment() == 1.5
    monkeypatch.setenv("TRACEHOUSE_TIMEOUT_S", "soon")
    with pytest.raises(WarehouseError, match="must be a number of seconds, found 'soon'"):
        timeout_from_environment()


def test_a_process_in_words() -> None:
    assert process_words(str(os.getpid())).startswith(f"process {os.getpid()}, ")
    assert process_words("nobody") == "process unknown"
    assert process_words("999999999") == "process 999999999"
