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


def test_what_is_in_hand_is_a_log_a_function_and_a_file_of_a_plug_in(log: Path) -> None:
    """A loaded log knows its cluster, which its path does not, and is not read again. Two functions may have one name."""
    Path("mine.py").write_text("def narrow(procs):\n    return procs\n")
    loaded = tracehouse.load_log(log, procs=24)
    log.write_text("")
    changes = {
        "file": {"policy": "mine.py:narrow"},
        "function": {"policy": lambda procs: procs},
        "another": {"policy": lambda wait, procs: procs - wait},
    }
    answer = tracehouse.what_if(changes, loaded, base={"policy": lambda submit: submit})
    rows = answer.scenarios.filter(pl.col("scenario") != "log")
    assert rows["procs"].to_list() == [24] * 4
    assert rows["policy"].to_list() == ["<lambda>() 3", "mine.py:narrow", "<lambda>()", "<lambda>() 2"]
    waits = dict(rows.select("scenario", "average_wait_h").iter_rows())
    assert waits["file"] == waits["function"] != waits["another"]
    with pytest.raises(ValueError, match=r"scenario 'x': policy .*has a parameter 'job', which is not known"):
        tracehouse.what_if({"x": {"policy": lambda job: job}}, loaded)
