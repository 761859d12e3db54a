"""The compiled engine never runs yesterday's rules: a change in any of its files compiles it anew."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import compilation
from compilation import Compiler, source_hash

PROJECT = Path(__file__).resolve().parents[2]
CODE = """
import numpy as np
from simulator.jobs.jobs import jobs_from_log
from simulator.engine.replay import replay
n = np.array
jobs = jobs_from_log(n([0, 1, 2]), n([100, 10, 150]), n([3, 4, 1]), n([100, 10, 150]))
print(replay(jobs, 4, "FCFS", "easy").start.tolist())
"""


def starts(folder: Path) -> str:
    return subprocess.run([sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_an_edited_rule_takes_effect(tmp_path: Path) -> None:
    """With the engine of fixed orders, which takes half as long to compile as the other."""
    for room in ("compilation", "simulator"):
        shutil.copytree(PROJECT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    before = starts(tmp_path)
    assert before == starts(tmp_path) == "[0, 100, 110]\n"  # the third job would delay the second
    # what the engine calls stands in another file than the engine
    rules = tmp_path / "simulator" / "engine" / "running.py"
    edited = rules.read_text().replace(
        "return est_end[k], available - need", "return est_end[k] + 1000, available - need"
    )
    rules.write_text(edited)
    assert starts(tmp_path) == "[0, 152, 2]\n"


def test_the_key_covers_files_at_any_depth_and_their_names(tmp_path: Path) -> None:
    room, below = tmp_path / "room", tmp_path / "below"
    for file in (room / "a" / "deep" / "rules.py", below / "b.py"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("one = 1\n")
    keys = [source_hash(room, below)]
    (room / "a" / "deep" / "rules.py").write_text("one = 2\n")
    keys.append(source_hash(room, below))
    (below / "b.py").write_text("one = 2\n")
    keys.append(source_hash(room, below))
    (room / "a" / "deep" / "rules.py").rename(room / "a" / "rules.py")
    keys.append(source_hash(room, below))
    (room / "notes.txt").write_text("no code")
    assert len(set(keys)) == len(keys)
    assert source_hash(room, below) == keys[-1]


def test_the_key_covers_how_functions_are_compiled(tmp_path: Path) -> None:
    """numba's own key does not hold the options that a function is compiled with."""
    assert Compiler(tmp_path).source_hash == source_hash(Path(compilation.__file__).parent, tmp_path)


def test_folders_of_older_keys_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "_GIVEN_FOLDER", "")
    room = tmp_path / "room"
    room.mkdir()
    (room / "rules.py").write_text("one = 1\n")
    kept = Compiler(room).folder
    kept.mkdir(parents=True)
    older = kept.parent / ("room-" + "0" * 12)
    of_somebody_else = kept.parent / "room-notes"
    for folder in (older, of_somebody_else):
        folder.mkdir()
    assert Compiler(room).folder == kept
    assert sorted(kept.parent.iterdir()) == sorted([kept, of_somebody_else])


def test_a_folder_that_somebody_gave_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "_GIVEN_FOLDER", str(tmp_path / "given"))
    room = tmp_path / "room"
    older = tmp_path / "given" / ("room-" + "0" * 12)
    older.mkdir(parents=True)
    room.mkdir()
    assert Compiler(room).folder.parent == tmp_path / "given"
    assert older.exists()
