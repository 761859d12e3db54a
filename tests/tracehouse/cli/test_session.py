"""What holds in every command: text is printable, and the warehouse is closed to other files."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tracehouse.cli.session import begin_session
from warehouse.door import _is_confined


def test_until_the_command_ends(catalogue: Path) -> None:
    plain, before = sys.stdout, _is_confined[-1]
    with click.Context(click.Command("any")) as context:
        begin_session(context)
        assert sys.stdout is not plain and _is_confined[-1]
    assert sys.stdout is plain and _is_confined[-1] == before
