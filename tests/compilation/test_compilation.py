"""The compiled engine never runs yesterday's rules, and what one checkout has compiled is there for every other with the same sources."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import grimp
import pytest

import compilation
from compilation import Compiler, keeping, source_hash

PROJECT = Path(__file__).resolve().parents[2]

ROOM = {
    "__init__.py": "",
    "compiled.py": "from pathlib import Path\nfrom compilation import Compiler\nlean = Compiler(Path(__file__).parent).lean\n",
    "limits.py": "MARGIN = 100\n",
    "rules.py": "from room import limits\nfrom room.compiled import lean\n\n@lean\ndef shadow(end):\n    return end + limits.MARGIN\n",
    "engine.py": "from room.compiled import lean\nfrom room.rules import shadow\n\n@lean\ndef run(now):\n"
    "    return shadow(now) + shadow(0)\n",
}
CODE = "from room.engine import run; print(run(5), sum(run.stats.cache_hits.values()))"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with a small room of compiled functions. Its engine calls another file's function, which reads a third's constant."""
    checkout = tmp_path / "checkout"
    shutil.copytree(PROJECT / "compilation", checkout / "compilation", ignore=shutil.ignore_patterns("__pycache__"))
    (checkout / "room").mkdir()
    for name, text in ROOM.items():
        (checkout / "room" / name).write_text(text)
    return checkout


def started(checkout: Path, code: str = CODE) -> subprocess.Popen[str]:
    """A process of its own, of a user whose folders are beside the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": str(checkout.parent / "cache"), "PYTHONPATH": ""}
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True
    )


def printed(checkout: Path, code: str = CODE) -> str:
    """What it prints: by default, the engine's result, and how many functions were taken from the cache."""
    process = started(checkout, code)
    output, _ = process.communicate()
    assert process.returncode == 0
    return output


def test_another_checkout_takes_what_is_compiled_until_it_is_edited(project: Path) -> None:
    assert printed(project) == "205 0\n"
    other = shutil.copytree(project, project.parent / "other", ignore=shutil.ignore_patterns("__pycache__"))
    assert printed(other) == "205 1\n"
    for file, before, after, result in (("limits.py", "100", "300", 605), ("rules.py", "end +", "end -", -595)):
        text = (other / "room" / file).read_text()
        (other / "room" / file).write_text(text.replace(before, after))
        assert [printed(other), printed(other)] == [f"{result} 0\n", f"{result} 1\n"]
    assert printed(project) == "205 1\n"
    assert not list(project.parent.rglob("room/__pycache__/room-*"))


def test_a_constant_that_only_one_process_has_is_not_taken_by_others(project: Path) -> None:
    changed = f"import room.limits; room.limits.MARGIN = 7; {CODE}"
    assert [printed(project, changed), printed(project), printed(project, changed)] == ["19 0\n", "205 0\n", "19 1\n"]


def test_a_constant_is_no_reason_to_compile_a_function_again(project: Path) -> None:
    code = "from room.engine import run; from room.rules import shadow; run(5); print(shadow.signatures)"
    assert printed(project, code) == "[(int64,)]\n"


def test_many_processes_at_once_keep_what_each_has_compiled(project: Path) -> None:
    """Also one function for several types."""
    codes = {CODE: "205", CODE.replace("run(5)", "run(5.5)"): "205.5"}
    processes = [(started(project, code), result) for code, result in codes.items() for _ in range(2)]
    for process, result in processes:
        assert process.communicate()[0].startswith(f"{result} ")
    assert [printed(project, code) for code in codes] == [f"{result} 1\n" for result in codes.values()]
    assert not list(project.parent.rglob("*.new"))


def test_a_damaged_file_is_compiled_again(project: Path) -> None:
    printed(project)
    (file,) = project.parent.rglob("room.engine.run-*.nbc")
    content = bytearray(file.read_bytes())
    content[-1000] ^= 1
    for damaged in (content, content[:-1000]):
        file.write_bytes(damaged)
        assert printed(project) == "205 0\n"
    assert printed(project) == "205 1\n"


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


def test_the_key_covers_how_functions_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numba's own key has neither the options that a function is compiled with, nor numba's settings."""
    monkeypatch.setattr(compilation, "_GIVEN_FOLDER", str(tmp_path / "given"))
    assert Compiler(tmp_path).source_hash == source_hash(Path(compilation.__file__).parent, tmp_path)
    usual = Compiler(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    assert Compiler(tmp_path).folder == usual.folder
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert Compiler(tmp_path).folder != usual.folder and Compiler(tmp_path).source_hash == usual.source_hash


def test_the_key_covers_all_that_compiled_functions_can_read() -> None:
    """What a compiling module imports, and what that imports, is below the folders of its compiler."""
    graph = grimp.build_graph("compilation", "traces", "simulator", "models", cache_dir=None)
    compilers = sorted(graph.find_modules_that_directly_import("compilation"))
    assert compilers == [
        "models.allocation.compiled",
        "models.compiled",
        "simulator.compiled",
        "traces.common.compiled",
    ]
    for name in compilers:
        folders = [folder.relative_to(PROJECT).parts for folder in import_module(name)._COMPILER.folders]
        for module in graph.find_modules_that_directly_import(name):
            if module in compilers:
                continue
            for read in {module, *graph.find_upstream_modules(module)}:
                parts = tuple(read.split("."))
                assert any(parts[: len(folder)] == folder for folder in folders), f"{module} reads {read}"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, as yet not there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tracehouse"


def test_the_folder_is_the_users(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    assert keeping.opened("room-0", own, "") == cache / "room-0" and (cache / "room-0").stat().st_mode & 0o777 == 0o700
    assert keeping.opened("room-0", own, str(tmp_path / "given")) == tmp_path / "given" / "room-0"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert keeping.opened("room-0", own, "") == tmp_path / ".cache" / "tracehouse" / "room-0"


def test_where_the_folder_cannot_be_written_the_rooms_own_is_taken(cache: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert keeping.opened("room-0", own, "") == own / "room-0", "somebody else may write there"
    shutil.rmtree(cache)
    cache.write_text("a file")
    assert keeping.opened("room-0", own, "") == own / "room-0"
    assert keeping.opened("room-0", own, str(cache)) == own / "room-0"
    (tmp_path / "nothing").write_text("a file")
    assert keeping.opened("room-0", tmp_path / "nothing", "") is None


def test_functions_compile_without_any_folder(project: Path) -> None:
    (project.parent / "cache").write_text("a file")
    (project / "room" / "__pycache__").write_text("a file")
    assert printed(project) == "205 0\n"


def test_folders_used_last_stay(cache: Path, tmp_path: Path) -> None:
    for k in range(20):
        for name in (f"room-{k:032x}", f"other-{k:032x}", f"room-notes{k}"):
            (cache / name).mkdir(parents=True, exist_ok=True)
            os.utime(cache / name, (k, k))
    cache.chmod(0o700)
    assert keeping.opened(f"room-{3:032x}", tmp_path / "own", "") is not None
    kept = {f"room-{k:032x}" for k in (3, *range(11, 20))}
    others = {f"{name}{k:{width}}" for k in range(20) for name, width in (("other-", "032x"), ("room-notes", "d"))}
    assert {folder.name for folder in cache.iterdir()} == kept | others
    keeping.opened("other-0", tmp_path / "own", str(cache))
    assert len(list(cache.glob("other-*"))) == 21, "a folder that somebody gave is left alone"


def test_somebody_at_a_terminal_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(keeping, "_announced", False)
    monkeypatch.setattr(sys, "stderr", terminal)
    keeping._announce()
    assert terminal.getvalue() == ""
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    for announced in (False, True):
        monkeypatch.setattr(keeping, "_announced", announced)
        keeping._announce()
    assert terminal.getvalue().count("compiling for this machine") == 1
