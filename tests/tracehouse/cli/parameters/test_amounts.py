"""Options that take lengths of time and shares, as their commands meet them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.pipelines.command_line import fail, told_of
from tracehouse.cli.parameters.amounts import DurationType, ShareType


@click.command()
@click.option("--time", type=DurationType())
@click.option("--limit", type=DurationType(at_least=0, is_whole=False))
@click.option("--share", type=ShareType(0.005, 0.5, is_open=(False, True)), default=0.05)
def show(time: int | None, limit: float | None, share: float) -> None:
    click.echo(f"{time} {limit} {share}")


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(show, arguments)
    return result.stdout if result.exit_code == 0 else result.stderr.partition("Error: ")[2]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--time", "4h"], "14400 None 0.05"),
        (["--time", "1:30:00", "--share", "10%"], "5400 None 0.1"),
        (["--time", "90", "--share", "0.1"], "90 None 0.1"),
        (["--limit", "0.5"], "None 0.5 0.05"),
        (["--limit", "2min"], "None 120 0.05"),
    ],
)
def test_what_is_read(arguments: list[str], expected: str) -> None:
    assert shown(*arguments) == f"{expected}\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--time", "soon"], "Invalid value for '--time': length of time 'soon': expected a length of time such as 4h"),
        (["--time", "0"], "length of time '0': expected at least 1 s"),
        (["--share", "half"], "Invalid value for '--share': share 'half': expected a share such as 10% or 0.1"),
        (["--share", "50%"], "share '50%': expected at least 0.005 and less than 0.5"),
        (["--share", "0.1%"], "expected at least 0.005"),
    ],
)
def test_what_is_refused(arguments: list[str], says: str) -> None:
    assert says in shown(*arguments)


def test_options_of_replay_and_wait(log: Path) -> None:
    assert told_of(log, "--trim", "10%")["trim"] == told_of(log, "--trim", "0.1")["trim"] == 0.1
    tree = ("--topology", "2x2x2", "--procs-per-node", "8")
    assert told_of(log, *tree, "--every", "2min")["placement"]["period"] == 120
    assert "less than 0.5" in fail("replay", log, "--trim", "60%")
    assert "expected a length of time such as 4h" in fail("wait", "mine", "-n", "4", "-t", "an hour")
    assert "expected at least 0.005 and at most 0.5" in fail("walltime", "mine", "-u", "3", "--risk", "60%")
