"""SOURCE is an argument everywhere, the option of earlier versions is still taken, and shells complete it."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.pipelines.command_line import fail
from tracehouse.cli.main import main
from tracehouse.cli.parameters.sources import complete_sources, complete_vasp_sources, source_argument

WITH_SOURCE = [
    ["models"], ["rollback"], ["report"], ["run"], ["train"], ["distil", __file__], ["wait", "-n", "4", "-t", "60"],
    ["walltime", "-u", "3"], ["vasp", "run"],
]  # fmt: skip


@pytest.mark.parametrize("command", WITH_SOURCE, ids=lambda command: " ".join(command[:2]))
def test_the_argument_and_the_former_option_say_the_same(loaded: tuple[Path, str], command: list[str]) -> None:
    """Here: that there is no such source, or that the policy file is none."""
    message = fail(*command, "nosuch")
    assert "unknown source 'nosuch'" in message or "'nosuch'; known: " in message or "not a policy file" in message
    for option in ("--source", "-s"):
        assert fail(*command, option, "nosuch") == message
        assert "SOURCE is given twice" in fail(*command, "mine", option, "mine")


@pytest.mark.parametrize("command", [["models"], ["train"], ["distil", __file__], ["wait"], ["walltime", "-u", "3"]])
def test_a_command_of_one_source_needs_it(command: list[str]) -> None:
    assert "Missing argument 'SOURCE'" in fail(*command)


@pytest.mark.parametrize("command", WITH_SOURCE, ids=lambda command: " ".join(command[:2]))
def test_help_shows_the_argument_only(command: list[str]) -> None:
    name = command[:2] if command[0] == "vasp" else command[:1]
    text = CliRunner().invoke(main, [*name, "--help"]).stdout
    assert "SOURCE" in text.splitlines()[0] and "--source" not in text


def test_several_sources() -> None:
    @click.command()
    @source_argument(several=True)
    def show(names: tuple[str, ...]) -> None:
        click.echo(" ".join(names))

    for arguments in (["a", "b"], ["-s", "a", "--source", "b"]):
        assert CliRunner().invoke(show, arguments).stdout == "a b\n"
    assert CliRunner().invoke(show, []).stdout == "\n"


def test_names_are_completed(catalogue: Path) -> None:
    context, parameter = click.Context(main), click.Argument(["source"])
    assert [item.value for item in complete_sources(context, parameter, "lub")] == ["lublin-256"]
    assert {item.value for item in complete_sources(context, parameter, "")} >= {"lublin-256", "campus-pbs"}
    assert [item.value for item in complete_vasp_sources(context, parameter, "syn")] == ["synthetic-vasp"]
    catalogue.write_text("[sources.mine")
    assert complete_sources(context, parameter, "lub") == []
