"""The code keeps its rules (`tests/rules.py`), and each rule notices when it is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rules
from tests.rules import CodeBase
from tests.rules_of_writing import OWN, writers
from tracehouse.cli.main import COMMANDS, ELSEWHERE

LONG_FUNCTIONS: set[str] = set()
WIDE_FUNCTIONS: set[str] = set()
UNDOCUMENTED_FUNCTIONS: set[str] = set()
SAME_NAMES = {
    "CHECKS",  # the checks of an asset stand beside it, and definitions collect them
    "replay",  # the engine's function, and the command that calls it
    "TABLES",  # what a paper's front page has for `tracehouse reproduce`
    "WAY",  # what assets/replaying/running/replayers.py asks a paper for
    "main",  # the program of a study, and the command line
    "report",  # the asset, and the command that makes it
}


@pytest.fixture(scope="module")
def code() -> CodeBase:
    return CodeBase()


def test_functions_are_short(code: CodeBase) -> None:
    assert set(rules.long_functions(code)) == LONG_FUNCTIONS


def test_functions_have_few_parameters(code: CodeBase) -> None:
    assert set(rules.wide_functions(code)) == WIDE_FUNCTIONS


def test_public_functions_have_a_docstring(code: CodeBase) -> None:
    assert set(rules.undocumented_functions(code)) == UNDOCUMENTED_FUNCTIONS


def test_every_module_has_a_test_file_of_its_name(code: CodeBase) -> None:
    assert rules.modules_without_tests(code) == []


def test_every_test_file_has_a_module_of_its_name(code: CodeBase) -> None:
    assert rules.tests_without_modules(code) == []


def test_imports_stand_at_the_top(code: CodeBase) -> None:
    assert rules.hidden_imports(code) == []


def test_a_name_means_one_thing(code: CodeBase) -> None:
    assert set(rules.repeated_names(code)) == SAME_NAMES


def test_names_say_what_a_thing_is(code: CodeBase) -> None:
    assert rules.vague_names(code) == {}


def test_files_and_folders_are_small(code: CodeBase) -> None:
    assert rules.large_files(code) == {}
    assert rules.crowded_folders(code) == {}


def test_the_formatter_formats(code: CodeBase) -> None:
    assert sum(rules.unformatted(code).values()) <= rules.MOST_FMT_SKIPS


def test_an_asset_stands_in_the_file_of_its_key_and_the_folder_of_its_group(code: CodeBase) -> None:
    assert rules.misplaced_assets(code) == []


def test_a_command_is_in_the_file_of_its_name(code: CodeBase) -> None:
    expected = {f"tracehouse.cli.commands.{name.replace('-', '_')}" for name in COMMANDS}
    modules = {name for name in code.files if name.startswith("tracehouse.cli.commands.")}
    assert modules - expected == {"tracehouse.cli.commands.cluster_rules"}, "a part of `tracehouse cluster`"
    assert {name.split(".")[-1] for name in expected - modules} == set(ELSEWHERE)


def test_results_go_through_one_door(code: CodeBase) -> None:
    """A new writer either takes no name from a user, and is added with its reason, or writes through assets.common.writing.outputs."""
    assert set(writers(code)) == set(OWN)


def broken(folder: Path, files: dict[str, str]) -> CodeBase:
    """A small tree that breaks a rule."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return CodeBase(folder)


ASSET = '@asset(\n    "raw.log",\n)\ndef raw_log(): ...\n'


def test_each_rule_notices_when_it_is_broken(tmp_path: Path) -> None:
    body = "    x = 1\n" * rules.MOST_LINES
    parameters = ", ".join(f"p{k}" for k in range(rules.MOST_PARAMETERS + 1))
    code = broken(
        tmp_path,
        {
            "models/long.py": f"def long():\n{body}",
            "models/wide.py": f"def wide({parameters}): ...\n",
            "models/inner.py": "def inner():\n    from models.wide import wide\n",
            "models/twice.py": "class Wide: ...\nLIMIT = 1\n",
            "simulator/twice.py": "class Wide: ...\nLIMIT = 2\n",
            "simulator/vague.py": "def f():\n    found = 1  # fmt: skip\n",
            "simulator/large.py": "x = 1\n" * (rules.MOST_FILE_LINES + 1),
            "tests/models/test_wide_things.py": "",
            "tests/models/test_else.py": "",
            "tests/models/test_models.py": '"""Tests of models: inner, other, below/deep."""',
            "models/below/deep.py": "",
            "assets/ingest/reading.py": ASSET,
            "assets/raw/log.py": ASSET,
        }
        | {f"traces/file{k}.py": "" for k in range(rules.MOST_FILES + 1)},
    )
    assert rules.long_functions(code) == {"models.long:long": rules.MOST_LINES + 1}
    assert rules.wide_functions(code) == {"models.wide:wide": rules.MOST_PARAMETERS + 1}
    assert "models.long:long" in rules.undocumented_functions(code)
    missing = rules.modules_without_tests(code)
    assert "models.long" in missing and not {"models.wide", "models.inner", "models.below.deep"} & set(missing)
    assert rules.tests_without_modules(code) == ["tests/models/test_else.py", "tests/models/test_models.py"]
    assert rules.hidden_imports(code) == ["models.inner:2 models.wide"]
    assert rules.repeated_names(code) == {
        "LIMIT": ["models.twice", "simulator.twice"],
        "Wide": ["models.twice", "simulator.twice"],
        "raw_log": ["assets.ingest.reading", "assets.raw.log"],
    }
    assert rules.vague_names(code) == {"simulator.vague": 1}
    assert rules.unformatted(code) == {"simulator.vague": 1}
    assert rules.large_files(code) == {"simulator.large": rules.MOST_FILE_LINES + 1}
    assert rules.crowded_folders(code) == {"traces": rules.MOST_FILES + 1}
    assert rules.misplaced_assets(code) == ["assets.ingest.reading: raw/log"]


WRITES = (
    'path.write_text("x")', 'open(path, "w")', 'path.open(mode="ab")', "os.open(path, os.O_CREAT)", "frame.write_csv(path)",
    'figure.savefig(path, format="png")', 'connection.execute(f"COPY ({query}) TO {path}")', "write_whole(path, b'')",
)  # fmt: skip
HARMLESS = (
    "frame.write_csv()", 'path.open("rb")', "content = io.BytesIO()\n    frame.write_parquet(content)",
    "with output_beside(path) as new:\n        frame.write_csv(new)",
)  # fmt: skip


def test_a_writer_beside_the_door_is_noticed(tmp_path: Path) -> None:
    files = {f"assets/writes{k}.py": f"def f(path):\n    {text}\n" for k, text in enumerate(WRITES)}
    files |= {f"assets/reads{k}.py": f"def f(path):\n    {text}\n" for k, text in enumerate(HARMLESS)}
    assert set(writers(broken(tmp_path, files))) == {f"assets.writes{k}" for k in range(len(WRITES))}
