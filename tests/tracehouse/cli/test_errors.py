"""Errors that tell the user what to do are messages; faults of tracehouse keep their traceback."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from tracehouse.cli.errors import plain_errors
from traces.common.log import LogError
from warehouse import WarehouseError


@pytest.mark.parametrize(
    "error", [ValueError("do this"), LogError("do this"), WarehouseError("do this"), OSError("do this")]
)
def test_expected_errors_become_messages(error: Exception) -> None:
    @plain_errors
    def command() -> None:
        raise error

    with pytest.raises(click.ClickException, match="do this"):
        command()


@pytest.mark.parametrize("error", [KeyError("a fault"), BrokenPipeError("the reader has seen enough")])
def test_other_errors_pass(error: Exception) -> None:
    @plain_errors
    def command() -> None:
        raise error

    with pytest.raises(type(error)):
        command()


def test_a_message_steers_no_terminal() -> None:
    """It may quote a line of a log, or name a file of somebody else."""

    @plain_errors
    def command() -> None:
        raise LogError("line 3: \x1b[2J is no number")

    with pytest.raises(click.ClickException) as raised:
        command()
    assert raised.value.message == "line 3: \\x1b[2J is no number"


def test_a_nul_in_a_path_ends_in_a_message() -> None:
    """No shell passes one. A script that calls a command from Python may."""

    @plain_errors
    def command(file: str) -> None:
        Path(file).stat()

    with pytest.raises(click.ClickException, match="a path has a NUL character"):
        command("mine\0.swf")
