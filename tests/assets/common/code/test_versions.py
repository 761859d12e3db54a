"""Tests of assets/common/code: reach, versions.

The version of an asset changes with the code and the statements that it reaches, and with nothing else.

What a function reaches, and what is a comment in a statement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import sql
from assets.common.code import reach, versions
from assets.common.code.reach import STATEMENTS, TEMPLATES, Symbol, essence, reached_from
from assets.common.code.versions import code_version, version_of

FILES = {
    "assets/thing.py": """
'''About the module.'''
from models import tools
from models.tools import helper as named
LIMIT = 3
UNUSED = 4

@asset(key="thing", deps=[other], description="words")
def thing(context, jobs: tools.Kind):
    '''About the asset.'''
    from models.late import late
    unused = 1  # why
    return named(LIMIT) + tools.other.inner(late(jobs))

def other(): return UNUSED
""",
    "models/__init__.py": "",
    "models/tools.py": """
from models import other
STATEMENT = "core.jobs_from_pbs"
class Kind:
    field: int
    '''About the field.'''
def helper(x, kind="swf"): return load(f"core.repeats_{kind}"), x
def unused(): return "core.jobs_from_swf"
""",
    "models/other.py": "def inner(x): return connection.sql('SELECT * FROM marts.usage')\n",
    "models/late.py": "def late(x): return x\n",
}
ASSETS = {
    name: Symbol(f"assets.{module}", name)
    for module, name in (
        ("core.jobs", "jobs"),
        ("raw.log", "raw_log"),
        ("marts.operations", "operations"),
        ("features.job_features", "job_features"),
        ("replay.fidelity", "fidelity"),
        ("marts.report", "report"),
    )
}


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Nothing that was read before counts, in this test or in later ones."""
    caches = (reach.read_part, reach._module, reach._is_module, versions._kept_versions, versions._state_of_files)

    def forget() -> None:
        for cache in caches:
            cache.cache_clear()

    forget()
    yield
    forget()


def version_in(folder: Path, monkeypatch: pytest.MonkeyPatch, edits: dict[str, tuple[str, str]]) -> str:
    """The version of `thing` in a tree where one text of a file is another."""
    for name, text in FILES.items():
        old, new = edits.get(name, ("", ""))
        assert old in text
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text.replace(old, new, 1) if old else text)
    monkeypatch.setattr(reach, "CODE_ROOT", folder)
    for cache in (reach.read_part, reach._module, reach._is_module):
        cache.cache_clear()
    return version_of(Symbol("assets.thing", "thing"))


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("assets/thing.py", "LIMIT = 3", "LIMIT = 4", True),
        ("assets/thing.py", "+ tools", "- tools", True),
        ("models/tools.py", "kind=\"swf\"", "kind=\"pbs\"", True),
        ("models/tools.py", "field: int", "field: float", True),
        ("models/other.py", "marts.usage", "marts.waits", True),
        ("models/late.py", "return x", "return -x", True),
        ("models/tools.py", "class Kind", "print()\nclass Kind", True),
        ("assets/thing.py", "# why", "# another reason", False),
        ("assets/thing.py", "About the module", "Of the module", False),
        ("assets/thing.py", "About the asset", "Of the asset", False),
        ("assets/thing.py", '"words"', '"other words"', False),
        ("assets/thing.py", "UNUSED = 4", "UNUSED = 5", False),
        ("assets/thing.py", "LIMIT = 3", "LIMIT   =   (3)", False),
        ("models/tools.py", "About the field", "Of the field", False),
        ("models/tools.py", "jobs_from_swf", "jobs_from_slurm", False),
    ],
)  # fmt: skip
def test_what_is_reached_changes_the_version_and_a_comment_does_not(
    file: str, old: str, new: str, changes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = version_in(tmp_path, monkeypatch, {})
    assert (version_in(tmp_path, monkeypatch, {file: (old, new)}) != before) == changes


def test_statements_are_reached_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version_in(tmp_path, monkeypatch, {})
    reached = {symbol.name for symbol in reached_from(Symbol("assets.thing", "thing")) if symbol.module == STATEMENTS}
    assert {"core.repeats_pbs", "core.repeats_slurm", "core.repeats_swf", "marts.usage"} <= reached
    assert not {"core.jobs_from_pbs", "core.jobs_from_swf"} & reached


def test_a_changed_query_changes_exactly_the_assets_that_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doubled processors of PBS, which left core/jobs fresh. The ledger of raw/log keeps the version of that query, too."""
    before = {name: version_of(symbol) for name, symbol in ASSETS.items()}
    load = sql.load

    def changed(by: str) -> set[str]:
        monkeypatch.setattr(sql, "load", lambda name: load(name) + (by if name == "core.jobs_from_pbs" else ""))
        reach.read_part.cache_clear()
        return {name for name, symbol in ASSETS.items() if version_of(symbol) != before[name]}

    assert changed(" WHERE procs > 2") == {"jobs", "raw_log"}
    assert changed("\n-- a comment\n") == set()


def test_versions_are_kept_until_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "_kept_file", lambda: tmp_path / "cache" / "versions.json")
    symbol = ASSETS["operations"]
    version = code_version(symbol)
    monkeypatch.setattr(versions, "version_of", lambda _: "computed again")
    versions._kept_versions.cache_clear()
    assert code_version(symbol) == version
    for broken in ("", "[]", json.dumps({"files": "other"})):
        (tmp_path / "cache" / "versions.json").write_text(broken)
        versions._kept_versions.cache_clear()
        assert code_version(symbol) == "computed again"


# --- reach


@pytest.mark.parametrize(
    ("statement", "same"),
    [
        ("SELECT a,\n  b -- why\nFROM t", "SELECT a, b FROM t"),
        ("SELECT '--  no comment'", "SELECT '--  no comment'"),
        ("/* two\nlines */ SELECT a::INT", "SELECT a :: INT"),
    ],
)
def test_comments_and_blanks_are_no_part_of_a_statement(statement: str, same: str) -> None:
    assert essence(statement) == essence(same)


@pytest.mark.parametrize("other", ["SELECT 'a  b'", "SELECT 'A b'", "SELECT 'a b', 1", 'SELECT "a b"'])
def test_everything_else_is(other: str) -> None:
    assert essence(other) != essence("SELECT 'a b'")


def test_a_local_name_hides_what_a_module_has() -> None:
    """`jobs` is a function that fidelity depends on as an asset, and also the name of a variable in it."""
    reached = reached_from(Symbol("assets.replay.fidelity", "fidelity"))
    assert Symbol("assets.core.jobs", "jobs") not in reached
    assert Symbol("simulator.engine.replay", "OrderReplayer") in reached
    assert Symbol(STATEMENTS, "core.replayable_jobs") in reached


def test_the_report_reaches_its_templates_and_what_these_include() -> None:
    reached = reached_from(Symbol("assets.marts.report", "report"))
    names = {symbol.name for symbol in reached if symbol.module == TEMPLATES}
    assert names == {"page.html", "document.html", "blocks.html", "chart.html", "report.css"}
