"""Tests of papers: archive, compiled, definitions, kept_files, markdown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import compilation
import papers
import simulator
from compilation import source_hash
from papers import archive
from papers.archive import jobs_of_file, log_file, trace_of_log
from papers.compiled import RULES_HASH
from papers.definitions import ASSETS_OF_PAPERS
from papers.kept_files import kept_archive, members_of
from papers.markdown import markdown, print_cells, print_heading
from studies.of_papers.kept import short_floats, write_members
from tests.pipelines.command_line import fail, succeed, use_home
from tests.tiny import busy_log

# archive: Logs of the archive: where they are looked for, and what is said where they are not.


def test_a_log_that_is_not_there_ends_the_study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(archive, "SHARED", tmp_path)
    with pytest.raises(SystemExit, match=r"HPC2N.*cln\.swf\.gz: .* --logs FOLDER"):
        log_file("HPC2N")


def test_a_log_is_read_with_its_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(archive, "SHARED", tmp_path)
    monkeypatch.setitem(archive.LOGS, "busy", ("busy.swf", 64))
    (tmp_path / "busy.swf").write_text(busy_log(50))
    trace = trace_of_log("busy")
    assert trace.cluster_procs == 64 and len(jobs_of_file(log_file("busy"))) == trace.rows.height == 50


# compiled: The room's compiler: its key is what runs by the rules of a paper store.


def test_the_hash_is_over_papers_and_what_they_call() -> None:
    rooms = (Path(room.__file__ or "").parent for room in (compilation, papers, simulator))
    assert source_hash(*rooms) == RULES_HASH


# definitions: Every asset in a paper's folder is loaded.


def test_every_asset_of_a_paper_is_listed() -> None:
    texts = [file.read_text() for file in Path(papers.__file__ or "").parent.rglob("*.py")]
    keys = {key for text in texts for key in re.findall(r'@asset(?:_of_parts)?\(\s*"experiments\.(\w+)"', text)}
    assert {asset.key.path[-1] for asset in ASSETS_OF_PAPERS} == keys and len(keys) == len(ASSETS_OF_PAPERS)


# kept_files: Archives of trained networks.


def test_the_same_members_come_back_and_give_the_same_bytes(tmp_path: Path) -> None:
    members = {"b.json": b"2", "folder/a.csv": b"1,2\n"}
    for name in ("one", "two"):
        write_members(tmp_path / name, members)
    assert members_of(tmp_path / "one") == members and members_of(tmp_path / "three") == {}
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert kept_archive("rlscheduler").exists()


def test_short_floats_are_those_of_bfloat16() -> None:
    weights = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
    assert (short_floats(weights) == torch.from_numpy(weights).bfloat16().float().numpy()).all()
    assert (short_floats(short_floats(weights)) == short_floats(weights)).all()


ARCHIVES = {
    "rlscheduler": ("replay", "--rules", "rlscheduler", "--policy"),
    "ddppo": ("replay", "--policy"),
    "backfilling": ("replay", "--procs", "256", "--backfill"),
    "repair": ("place", "--method", "nsa", "--policy"),
    "rlschert": ("replay", "--policy"),
}
"""By archive: the command that takes its files."""


def test_every_archive_has_a_command() -> None:
    files = kept_archive("any").parent.glob(kept_archive("*").name)
    assert {file.name for file in files} == {kept_archive(name).name for name in ARCHIVES}


@pytest.mark.parametrize("archive_name", ARCHIVES)
def test_commands_take_every_file_of_an_archive(
    archive_name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """But RLSchert's, whose networks read a plan image of 16 processors, and that is what is said."""
    use_home(monkeypatch, tmp_path)
    command, *options = ARCHIVES[archive_name]
    work, file = tmp_path / "work", tmp_path / "network.json"
    if command == "place":
        jobs = {"tree": "16x8x4", "idle": list(range(200)), "jobs": [2, 3]}
        work.write_text(json.dumps(jobs))
    else:
        work = tmp_path / "busy.swf"
        work.write_text(busy_log(60))
    members = {
        name: content for name, content in members_of(kept_archive(archive_name)).items() if name.endswith(".json")
    }
    assert members
    for name, content in members.items():
        file.write_bytes(content)
        if archive_name == "rlschert":
            assert "a plan image of 16 processors" in fail(command, work, *options, file), name
        else:
            assert succeed(command, work, *options, file), name


# markdown: Tables that are printed row by row are tables.


def test_rows_one_by_one_are_the_whole_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_heading("log", "wait")
    print_cells("KTH", "12")
    printed = capsys.readouterr().out
    assert printed.replace("---", " --- ").splitlines() == markdown(["log", "wait"], [["KTH", "12"]]).splitlines()
