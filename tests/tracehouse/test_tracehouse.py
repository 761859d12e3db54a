"""The face as a whole: what it names, how quickly it loads, and that its examples run."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tracehouse

PROJECT = Path(__file__).resolve().parents[2]
FUNCTIONS = [name for name in tracehouse.__all__ if inspect.isfunction(getattr(tracehouse, name))]
OF_TRAINED_SOURCES = {"query", "saved_runs", "leaderboard", "predicted_runtimes", "predict_wait", "predict_queued_wait",
                      "advise_walltime", "train"}  # fmt: skip
LOADED_LATER = ("dagster", "numba", "torch", "polars", "duckdb", "sklearn", "xgboost", "gymnasium", "matplotlib")
SLOWEST_IMPORT_S = 0.5


def examples() -> list[doctest.DocTest]:
    """The examples of every public function and class, and of the methods of the classes."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = []
    for name in tracehouse.__all__:
        value = getattr(tracehouse, name)
        if value.__module__.startswith("tracehouse"):
            tests += [test for test in finder.find(value, name, globs={}) if test.examples]
    return tests


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_examples_of_docstrings_run_and_print_what_they_say(
    example: doctest.DocTest, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue("trained" if example.name in OF_TRAINED_SOURCES else "bundled")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed = runner.run(example).failed
    assert failed == 0, capsys.readouterr().out


def test_every_function_has_an_example_and_says_what_comes_back_and_what_goes_wrong() -> None:
    shown = {example.name for example in examples()}
    for name in FUNCTIONS:
        text = inspect.getdoc(getattr(tracehouse, name)) or ""
        assert name in shown, f"{name} has no example"
        assert "Returns\n-------" in text and "Raises\n------" in text, f"{name} lacks Returns or Raises"


def test_the_import_is_quick_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, time; began = time.process_time(); import tracehouse; "
        f"print(time.process_time() - began, *(m for m in {LOADED_LATER!r} if m in sys.modules))"
    )
    seconds, *loaded = subprocess.check_output([sys.executable, "-c", code], cwd=PROJECT, text=True).split()
    assert loaded == []
    assert float(seconds) < SLOWEST_IMPORT_S


def test_a_replay_needs_no_dagster(log: Path) -> None:
    code = (
        "import sys, tracehouse; runs = [tracehouse.replay(sys.argv[1], p) for p in ('FCFS', 'SAF')]; "
        "tracehouse.compare(*runs); print([m for m in ('dagster', 'torch', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(log)], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_the_names_for_type_checkers_are_those_that_are_loaded() -> None:
    tree = ast.parse((PROJECT / "tracehouse" / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    typed = {a.name: str(node.module) for node in block.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assert typed == tracehouse._MODULE_OF
    assert sorted(typed) == tracehouse.__all__ == dir(tracehouse)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tracehouse.nothing  # noqa: B018


def test_the_package_and_its_marker_for_type_checkers_are_packaged() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    assert "tracehouse*" in settings["tool"]["setuptools"]["packages"]["find"]["include"]
    assert settings["tool"]["setuptools"]["package-data"]["tracehouse"] == ["py.typed"]
    assert "tracehouse" in settings["tool"]["mypy"]["packages"]
    assert (PROJECT / "tracehouse" / "py.typed").exists()
