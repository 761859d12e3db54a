"""The compiled engine never runs yesterday's rules: a change in any of its files compiles it again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import compilation
from compilation import Compiler, source_hash

PROJECT = Path(__file__).resolve().parents[2]

ROOM = {
    "__init__.py": "",
    "compiled.py": "from pathlib import Path\nfrom compilation import Compiler\nlean = Compiler(Path(__file__).parent).lean\n",
    "rules.py": "from room.compiled import lean\n\n@lean\ndef shadow(end):\n    return end + 100\n",
    "engine.py": "from room.compiled import lean\nfrom room.rules import shadow\n\n@lean\ndef run(now):\n"
    "    return shadow(now) + shadow(0)\n",
}
CODE = "from room.engine import run; print(run(5), sum(run.stats.cache_hits.values()))"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a small room of compiled functions. Its engine calls a function of another file."""
    shutil.copytree(PROJECT / "compilation", tmp_path / "compilation", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "room").mkdir()
    for name, text in ROOM.items():
        (tmp_path / "room" / name).write_text(text)
    return tmp_path


def printed(folder: Path, code: str = CODE) -> str:
    """What a process of its own prints: by default, the engine's result, and how many functions were taken from the cache."""
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_an_edited_rule_takes_effect(project: Path) -> None:
    assert [printed(project), printed(project)] == ["205 0\n", "205 1\n"]
    rules = project / "room" / "rules.py"
    rules.write_text(rules.read_text().replace("end + 100", "end + 200"))
    assert [printed(project), printed(project)] == ["405 0\n", "405 1\n"]


def test_a_constant_is_no_reason_to_compile_a_function_again(project: Path) -> None:
    code = "from room.engine import run; from room.rules import shadow; run(5); print(shadow.signatures)"
    assert printed(project, code) == "[(int64,)]\n"


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
