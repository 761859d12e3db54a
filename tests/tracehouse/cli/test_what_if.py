"""`tracehouse what-if`, as its users meet it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest

from assets.replay.scenarios import results
from assets.replay.scenarios.scenario_file import scenarios_of
from tests.pipelines.command_line import call, fail, succeed
from tracehouse.scenarios import merged_part
from traces.catalogue.catalogue import read_catalogue
from traces.catalogue.places import PROJECT


def test_scenarios_are_answered(busy: Path) -> None:
    text = succeed("what-if", "s.toml")
    assert text.startswith("base: FCFS, backfilling easy, requested times, 16 processors: ")
    assert "\nmine: all 400 jobs\n" in text
    for line in ("log  ", "base  ", "a quarter more processors  ", "without queue 7  ", "waits  "):
        assert f"\n{line}" in text
    assert "whose waits change most" in text
    assert succeed("what-if", "s.toml", "--source", "mine.swf").splitlines()[1] == "mine.swf: all 400 jobs"


def test_json_is_one_object(busy: Path) -> None:
    said = json.loads(succeed("what-if", "s.toml", "--json"))
    assert [row["scenario"] for row in said["scenarios"]] == [
        "log",
        "base",
        "a quarter more processors",
        "without queue 7",
    ]
    assert said["source"] == "mine" and said["grade"] is None and said["remarks"]
    assert {row["grouped_by"] for row in said["groups"]} == {"user", "size", "queue"}


def test_results_are_written(busy: Path) -> None:
    done = call("what-if", "s.toml", "--out", "out", "--html", "page.html")
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-4:] == [
        "wrote out/scenarios.csv",
        "wrote out/groups.csv",
        "wrote out/jobs.csv",
        "wrote page.html",
    ]
    assert pl.read_csv("out/jobs.csv").height == 400 + 360
    assert Path("page.html").read_text().startswith("<!doctype html>")
    succeed("what-if", "s.toml", "--out", "out", "--format", "parquet")
    assert pl.read_parquet("out/scenarios.parquet").height == 4


def test_the_command_line_says_what_is_scored(busy: Path) -> None:
    Path("part.toml").write_text('period = "2026-01"\nqueue = "1"\n' + Path("s.toml").read_text())
    in_file = json.loads(succeed("what-if", "part.toml", "--json"))
    given = json.loads(succeed("what-if", "part.toml", "--to", "600000", "--json"))
    assert "queue 1" in in_file["scored"] and "the month 2026-01" in in_file["scored"]
    assert "queue 1" in given["scored"] and "month" not in given["scored"]
    file = scenarios_of({"period": "2026-01", "scenarios": {"x": {"procs": 1}}})
    assert merged_part(file, {}).period == "2026-01"
    assert merged_part(file, {"user": "3"}).model_dump(exclude_none=True) == {"period": "2026-01", "user": "3"}
    assert merged_part(file, {"begin": "5"}).model_dump(exclude_none=True) == {"begin": "5"}


def test_what_is_wrong_is_said_before_the_work(busy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        pytest.fail("the work began")

    monkeypatch.setattr(results, "replay_run", never)
    Path("file").write_text("")
    Path("folder").mkdir()
    for options, said in (
        (["--out", "file"], "file: is a file, give a folder"),
        (["--out", "file/out"], "file/out: cannot be written (Not a directory), give another place"),
        (["--html", "folder"], "folder: is a folder, give the name of a file in it"),
        (["--html", "gone/page.html"], "gone: no such folder, make it or give another file"),
    ):
        assert said in fail("what-if", "s.toml", *options)
    assert fail("what-if", "gone.toml").startswith(
        "gone.toml: no such file of scenarios; write one that has [scenarios."
    )
    Path("none.toml").write_text('source = "mine"\n')
    assert fail("what-if", "none.toml").startswith("none.toml: no scenario; write one such as [scenarios.")
    assert "unknown source 'mime'; did you mean 'mine'" in fail("what-if", "s.toml", "--source", "mime")
    assert "last-month, a month such as 2026-03" in fail("what-if", "s.toml", "--period", "summer")
    Path("s.toml").write_text('[scenarios.x]\nwithout_queue = "long"\n')
    assert fail("what-if", "s.toml", "-s", "mine") == (
        "s.toml:1: scenario 'x': without_queue 'long': mine has no job of this queue: the queues are 2, 1, 7\n"
    )
    assert fail("what-if", "s.toml").startswith("s.toml: no source: give --source NAME, or write source")


def test_make_run_answers_the_bundled_questions_first(busy: Path) -> None:
    """On another log here, which is quick: the file names a bundled source, and that is there."""
    questions = PROJECT / "scenarios.toml"
    assert tomllib.loads(questions.read_text())["source"] in read_catalogue(PROJECT / "sources.toml").sources
    text = succeed("what-if", str(questions), "--source", "mine.swf")
    for line in ("short jobs pass first  ", "smallest area first  ", "10 % more processors  "):
        assert f"\n{line}" in text
