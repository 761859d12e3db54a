"""Names of locks and texts in statements. tests/warehouse/test_lake_door.py takes real locks."""

from __future__ import annotations

import os

import pytest

from warehouse.lake_locks import ALL, COMMIT, GATE, key_of, literal, name_this_process


def test_each_name_has_its_number() -> None:
    keys = {key_of(name) for name in (GATE, ALL, COMMIT, "kth-sp2", "ctc-sp2")}
    assert len(keys) == 5 and all(0 <= key < 1 << 63 for key in keys)
    assert key_of(GATE) == key_of("gate")


def test_a_text_in_a_statement() -> None:
    assert literal("host=db password='x'") == "'host=db password=''x'''"


def test_sessions_carry_the_number_of_their_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGAPPNAME", "")
    name_this_process()
    assert os.environ["PGAPPNAME"].endswith(f"process {os.getpid()}")
