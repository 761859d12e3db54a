"""What a function reaches, and what is a comment in a statement."""

from __future__ import annotations

import pytest

from assets.common.code.reach import STATEMENTS, TEMPLATES, Symbol, essence, reached_from


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
    reached = reached_from(Symbol("assets.evaluation.fidelity", "fidelity"))
    assert Symbol("assets.ingest.core_jobs", "jobs") not in reached
    assert Symbol("simulator.engine.replay", "replay") in reached
    assert Symbol(STATEMENTS, "core.replayable_jobs") in reached


def test_the_report_reaches_its_templates_and_what_these_include() -> None:
    reached = reached_from(Symbol("assets.report.report", "report"))
    names = {symbol.name for symbol in reached if symbol.module == TEMPLATES}
    assert names == {"page.html", "document.html", "blocks.html", "chart.html", "report.css"}
