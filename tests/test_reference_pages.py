"""The generated parts of pages of the reference are in the pages, and as the code has them now."""

from __future__ import annotations

import click
import pytest

from docs import reference_pages
from docs.reference_pages import BLOCK, GENERATED, PAGES, generated_page, help_of
from tracehouse.cli.main import load_command


def test_pages_are_up_to_date() -> None:
    """A change of a command's help, a table's comment, a setting or a docstring changes a page."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in PAGES.rglob("*.md")}
    outdated = [name for name, text in texts.items() if generated_page(text) != text]
    assert outdated == [], "write them again: python -m docs.reference_pages"
    assert sorted(mark[1] for text in texts.values() for mark in BLOCK.finditer(text)) == sorted(GENERATED)


def test_help_is_that_of_the_shell_whatever_was_called_before() -> None:
    command = load_command("cluster")
    command.get_help(click.Context(command))
    assert "-h, --help" in "\n".join(help_of(command, "tracehouse cluster", "##"))


def test_a_page_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GENERATED, "tables", lambda: ["", "| a |", "", "", "", "| b |", ""])
    page = "# Tables\n\n<!-- generated: tables -->\n\nmore\n"
    written = generated_page(page)
    assert written == ("# Tables\n\n<!-- generated: tables -->\n\n| a |\n\n| b |\n\n<!-- end of tables -->\n\nmore\n")
    assert generated_page(written) == written


def test_the_site_shows_more_than_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reference_pages.ON_SITE, "tables", lambda: ["all columns"])
    source = ["before\n<!-- generated: tables -->\n\nshort\n\n<!-- end of tables -->\nafter\n"]
    reference_pages.write_generated(None, "reference/tables", source)  # type: ignore[arg-type]
    assert source == ["before\nall columns\nafter\n"]
