"""Tests of compilation: apart, compilation."""

from __future__ import annotations

import fcntl
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

# apart: Functions apart are compiled once, whoever calls them, and are there when code that calls them is read from
# disk.

PROJECT = Path(__file__).resolve().parents[2]

ROOM = {
    "__init__.py": "",
    "compiled.py": "from pathlib import Path\nfrom compilation import Compiler\nlean = Compiler(Path(__file__).parent).lean\n",
    "loop.py": """
from compilation.apart import apart
from room.compiled import lean

@apart
@lean
def loop(numbers):
    total = 0
    for number in numbers:
        if number < 0:
            raise ValueError("a negative number")
        total += number
    return total
""",
    "callers.py": """
from room.compiled import lean
from room.loop import loop

@lean
def twice(numbers):
    return 2 * loop(numbers)

@lean
def of_both(numbers):
    return twice(numbers) + loop(numbers[1:])
""",
}
CODE = """
import numpy as np
from room.callers import of_both
from room.loop import loop
numbers = np.array([1, 2, 3])
result = of_both(numbers)
try:
    said = of_both(np.array([1, -2]))
except ValueError as error:
    said = error
(compiled,) = of_both.overloads.values()
names = [bool(one.is_declaration) for one in compiled.library._get_module_for_linking().functions if "loop" in one.name]
hits = sum(of_both.stats.cache_hits.values()), sum(loop.stats.cache_hits.values())
print(result, loop(numbers), said, names, *hits, sep=", ")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a room whose loop is called by name, also by a function whose code is put into another one."""
    shutil.copytree(PROJECT / "compilation", tmp_path / "compilation", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "room").mkdir()
    for name, text in ROOM.items():
        (tmp_path / "room" / name).write_text(text)
    return tmp_path


def printed(folder: Path) -> str:
    """What a process of its own prints: results, an error, whether the caller has the loop's name only, and what it took from the cache."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(folder / "cache")
    command = [sys.executable, "-c", CODE]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_callers_have_no_copy_and_find_the_function_when_they_are_read_from_disk(project: Path) -> None:
    same = "17, 6, a negative number, [True]"
    assert printed(project) == f"{same}, 0, 0\n"
    assert printed(project) == f"{same}, 1, 1\n"
    for file in project.glob("cache/tracehouse/room-*/room.loop.loop-*"):
        file.unlink()
    assert printed(project) == f"{same}, 1, 0\n", "it is compiled again"


# compilation: The compiled engine never runs yesterday's rules, and what one checkout has compiled is there for every
# other with the same sources.

ROOM_OF_COMPILATION = {
    "__init__.py": "",
    "compiled.py": "from pathlib import Path\nfrom compilation import Compiler\nlean = Compiler(Path(__file__).parent).lean\n",
    "limits.py": "MARGIN = 100\n",
    "rules.py": "from room import limits\nfrom room.compiled import lean\n\n@lean\ndef shadow(end):\n    return end + limits.MARGIN\n",
    "engine.py": "from room.compiled import lean\nfrom room.rules import shadow\n\n@lean\ndef run(now):\n"
    "    return shadow(now) + shadow(0)\n",
}
CODE_OF_COMPILATION = "from room.engine import run; print(run(5), sum(run.stats.cache_hits.values()))"


@pytest.fixture
def project_of_compilation(tmp_path: Path) -> Path:
    """A checkout with a small room of compiled functions. Its engine calls another file's function, which reads a third's constant."""
    checkout = tmp_path / "checkout"
    shutil.copytree(PROJECT / "compilation", checkout / "compilation", ignore=shutil.ignore_patterns("__pycache__"))
    (checkout / "room").mkdir()
    for name, text in ROOM_OF_COMPILATION.items():
        (checkout / "room" / name).write_text(text)
    return checkout


def started(checkout: Path, code: str = CODE_OF_COMPILATION) -> subprocess.Popen[str]:
    """A process of its own, of a user whose folders are beside the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": str(checkout.parent / "cache"), "PYTHONPATH": ""}
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True
    )


def printed_of_compilation(checkout: Path, code: str = CODE_OF_COMPILATION) -> str:
    """What it prints: by default, the engine's result, and how many functions were taken from the cache."""
    process = started(checkout, code)
    output, _ = process.communicate()
    assert process.returncode == 0
    return output


def test_another_checkout_takes_what_is_compiled_until_it_is_edited(project_of_compilation: Path) -> None:
    assert printed_of_compilation(project_of_compilation) == "205 0\n"
    other = shutil.copytree(
        project_of_compilation, project_of_compilation.parent / "other", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert printed_of_compilation(other) == "205 1\n"
    for file, before, after, result in (("limits.py", "100", "300", 605), ("rules.py", "end +", "end -", -595)):
        text = (other / "room" / file).read_text()
        (other / "room" / file).write_text(text.replace(before, after))
        assert [printed_of_compilation(other), printed_of_compilation(other)] == [f"{result} 0\n", f"{result} 1\n"]
    assert printed_of_compilation(project_of_compilation) == "205 1\n"
    assert not list(project_of_compilation.parent.rglob("room/__pycache__/room-*"))


def test_a_constant_that_only_one_process_has_is_not_taken_by_others(project_of_compilation: Path) -> None:
    changed = f"import room.limits; room.limits.MARGIN = 7; {CODE_OF_COMPILATION}"
    assert [
        printed_of_compilation(project_of_compilation, changed),
        printed_of_compilation(project_of_compilation),
        printed_of_compilation(project_of_compilation, changed),
    ] == ["19 0\n", "205 0\n", "19 1\n"]


def test_a_constant_is_no_reason_to_compile_a_function_again(project_of_compilation: Path) -> None:
    code = "from room.engine import run; from room.rules import shadow; run(5); print(shadow.signatures)"
    assert printed_of_compilation(project_of_compilation, code) == "[(int64,)]\n"


def test_many_processes_at_once_keep_what_each_has_compiled(project_of_compilation: Path) -> None:
    """Also one function for several types."""
    codes = {CODE_OF_COMPILATION: "205", CODE_OF_COMPILATION.replace("run(5)", "run(5.5)"): "205.5"}
    processes = [(started(project_of_compilation, code), result) for code, result in codes.items() for _ in range(2)]
    for process, result in processes:
        assert process.communicate()[0].startswith(f"{result} ")
    assert [printed_of_compilation(project_of_compilation, code) for code in codes] == [
        f"{result} 1\n" for result in codes.values()
    ]
    assert not [file for end in ("new", "lock") for file in project_of_compilation.parent.rglob(f"*.{end}")]


def test_code_that_another_process_compiles_is_waited_for(project_of_compilation: Path) -> None:
    printed_of_compilation(project_of_compilation)
    (file,) = project_of_compilation.parent.rglob("room.engine.run-*.nbc")
    content = file.read_bytes()
    file.unlink()
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = started(project_of_compilation, CODE_OF_COMPILATION)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(5)
        file.write_bytes(content)
        assert process.communicate()[0] == "205 1\n"
    assert file.read_bytes() == content


def test_code_whose_compilation_failed_is_not_waited_for(project_of_compilation: Path) -> None:
    """The process goes on, and has the lock still."""
    code = f"""
from room.engine import run
for kind in (str, str):
    try:
        run(kind("five"))
    except Exception as error:
        print(type(error).__name__)
{CODE_OF_COMPILATION}"""
    assert printed_of_compilation(project_of_compilation, code) == "TypingError\nTypingError\n205 0\n"


def test_a_folder_without_locks_is_used_without(project_of_compilation: Path) -> None:
    code = f"""
import errno, fcntl, time
def without(*_):
    raise OSError(errno.ENOLCK, "no locks available")
fcntl.flock, time.sleep = without, None
{CODE_OF_COMPILATION}"""
    assert [printed_of_compilation(project_of_compilation, code) for _ in range(2)] == ["205 0\n", "205 1\n"]


def test_a_damaged_file_is_compiled_again(project_of_compilation: Path) -> None:
    printed_of_compilation(project_of_compilation)
    (file,) = project_of_compilation.parent.rglob("room.engine.run-*.nbc")
    content = bytearray(file.read_bytes())
    content[-1000] ^= 1
    for damaged in (content, content[:-1000]):
        file.write_bytes(damaged)
        assert printed_of_compilation(project_of_compilation) == "205 0\n"
    assert printed_of_compilation(project_of_compilation) == "205 1\n"


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


def test_functions_compile_without_any_folder(project_of_compilation: Path) -> None:
    (project_of_compilation.parent / "cache").write_text("a file")
    (project_of_compilation / "room" / "__pycache__").write_text("a file")
    assert printed_of_compilation(project_of_compilation) == "205 0\n"


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
