"""What-if questions from Python are those of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import tracehouse
from tests.pipelines.command_line import fail, succeed

TEXT = '[base]\nload = 1.1\n[scenarios.more]\nprocs = "+25%"\n[scenarios.SJF]\npolicy = "SJF"\n'


def test_an_answer_is_that_of_the_command_line(log: Path) -> None:
    Path("s.toml").write_text(TEXT)
    printed = json.loads(succeed("what-if", "s.toml", "--source", log, "--json", "--period", "2026-01"))
    from_file = tracehouse.what_if("s.toml", log, period="2026-01")
    changes = {"more": {"procs": "+25%"}, "SJF": {"policy": "SJF"}}
    from_words = tracehouse.what_if(changes, log, base={"load": 1.1}, period="2026-01")
    for answer in (from_file, from_words):
        assert json.loads(json.dumps(answer.summary)) == printed
    assert repr(from_file) == f"WhatIf({log}: more, SJF)"
    assert f"{log}: the month 2026-01" in str(from_file)


def test_an_answer_is_tables_and_a_page(log: Path) -> None:
    answer = tracehouse.what_if({"more": {"procs": 20}}, log)
    assert answer.scenarios["scenario"].to_list() == ["log", "base", "more"]
    assert answer.jobs.height == 400 and answer.groups["jobs"].max() > 0
    assert [path.name for path in answer.write("out", "parquet")] == [
        "scenarios.parquet",
        "groups.parquet",
        "jobs.parquet",
    ]
    assert pl.read_parquet("out/jobs.parquet").equals(answer.jobs)
    answer.write_page("page.html")
    assert Path("page.html").read_text().startswith("<!doctype html>")


def test_what_is_wrong_has_the_message_of_the_command_line(log: Path) -> None:
    Path("s.toml").write_text('[scenarios.x]\npolicy = "SAFF"\n')
    said = fail("what-if", "s.toml", "--source", log).strip()
    with pytest.raises(ValueError) as caught:
        tracehouse.what_if("s.toml", log)
    assert str(caught.value) == said
    with pytest.raises(ValueError, match=r"a file says what the base is, in its table \[base\]: leave base out"):
        tracehouse.what_if("s.toml", log, base={"policy": "SAF"})
    with pytest.raises(TypeError, match="what_if\\(\\) knows no month; expected some of period, begin, end"):
        tracehouse.what_if({"x": {"procs": 3}}, log, month="2026-01")  # type: ignore[call-arg]
