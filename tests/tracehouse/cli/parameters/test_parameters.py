"""Tests of tracehouse/cli/parameters: amounts, names, paths, settings, sources."""

from __future__ import annotations

import errno
import os
import pty
import re
from pathlib import Path
from typing import Annotated, Any

import click
import dagster as dg
import pytest
from click.testing import CliRunner
from pydantic import BaseModel, Field

from assets.common.writing.options import Option, written_settings
from assets.common.writing.outputs import check_file, check_folder, refuse_binary_on_terminal
from assets.replay.placement import PlacementConfig
from assets.replay.runs import OutageConfig, RunConfig
from assets.replaying.running.settings import NodeSettings, RunSettings
from assets.replaying.scenarios.scenario_file import SCENARIO_KEYS
from pipelines.definitions import defs
from tests.pipelines.command_line import fail, told_of
from tracehouse import ReplaySettings
from tracehouse.cli.main import load_command, main
from tracehouse.cli.parameters.amounts import DurationType, ShareType
from tracehouse.cli.parameters.names import ASSET_NAMES, complete_assets, complete_backfilling, complete_policies
from tracehouse.cli.parameters.settings import setting_options
from tracehouse.cli.parameters.sources import complete_sources, complete_vasp_sources, source_argument

# amounts: Options that take lengths of time and shares, as their commands meet them.


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


# names: Names that shells complete are those that there are.

CONTEXT, PARAMETER = click.Context(click.Command("any")), click.Option(["--any"])


def test_assets_are_those_of_the_definitions() -> None:
    keys = defs.resolve_asset_graph().materializable_asset_keys
    assert sorted(key.to_user_string() for key in keys) == list(ASSET_NAMES)


def test_what_is_begun_is_completed() -> None:
    assert [item.value for item in complete_policies(CONTEXT, PARAMETER, "s")] == [
        "SJF",
        "smallest",
        "SAF",
        "SRF",
        "SEXP",
        *(f"searched:{point}" for point in ("cautious", "balanced", "fast")),
    ]
    assert [item.value for item in complete_backfilling(CONTEXT, PARAMETER, "easy")] == ["easy", "easy-sjbf"]
    assert [item.value for item in complete_assets(CONTEXT, PARAMETER, "+marts/l")] == ["+marts/leaderboard"]


def test_options_that_take_names_complete_them() -> None:
    for command, option in (
        ("replay", "policy"),
        ("replay", "backfill"),
        ("wait", "policy"),
        ("wait", "backfill"),
        ("run", "selections"),
    ):
        (parameter,) = [each for each in load_command(command).params if each.name == option]
        assert parameter.shell_complete(CONTEXT, "") != []


# paths: What cannot be written is said before the work, in one sentence, and binary content goes to no terminal.


def test_files_and_folders_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("of yesterday")
    for path in (tmp_path / "new.csv", tmp_path / "old.csv", Path("/dev/null")):
        check_file(path)
    for path in (tmp_path, tmp_path / "a" / "b"):
        check_folder(path)
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert (tmp_path / "old.csv").read_text() == "of yesterday"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("none/new.csv", "none: no such folder, make it"),
        ("folder", "folder: is a folder"),
        ("/proc/new.csv", "cannot be written"),
    ],
)
def test_files_that_cannot_be_written(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=says):
        check_file(tmp_path / name)


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file, give a folder"):
        check_folder(tmp_path / "file")
    with pytest.raises(ValueError, match="cannot be written"):
        check_folder(tmp_path / "file" / "below")
    with pytest.raises(ValueError, match="cannot be written"):
        check_folder(Path("/proc/new"))


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EACCES, "this account may not write there. Give another place"),
        (errno.ENOSPC, "no space left on this disk."),
    ],
)
def test_a_place_that_is_closed_or_full_is_the_one_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    """Before, the message named a temporary file, and TRACEHOUSE_HOME as the remedy."""

    def refused(dir: Path) -> None:
        raise OSError(number, os.strerror(number), str(dir / "tmpkur8q1o7"))

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    for check, path in ((check_file, tmp_path / "new.csv"), (check_folder, tmp_path / "new")):
        with pytest.raises(ValueError, match=re.escape(f"{path}: {says}")) as fault:
            check(path)
        assert "TRACEHOUSE_HOME" not in str(fault.value) and "tmpkur" not in str(fault.value)


WRITING = [
    ["export", "nosuch", "FILE"], ["backup", "FILE"], ["train", "nosuch", "--out", "FILE"], ["train", "nosuch", "--plot", "FILE"],
    ["sql", "SELECT 1", "--output", "FILE"], ["replay", "nosuch", "--schedule", "FILE"], ["replay", "nosuch", "--placement", "FILE"],
]  # fmt: skip


@pytest.mark.parametrize("command", WRITING, ids=lambda command: " ".join(command[::2]))
def test_commands_say_so_before_their_work(catalogue: Path, tmp_path: Path, command: list[str]) -> None:
    """There is no such source, nor a warehouse: work would end with that."""
    path = str(tmp_path / "none" / "new")
    message = fail(*(path if word == "FILE" else word for word in command))
    assert (
        f"{tmp_path / 'none'}: no such folder, make it or give another file" in message
        and len(message.splitlines()) == 1
    )


@pytest.mark.parametrize(
    "command",
    [
        "ingest PATH --format swf",
        "replay PATH",
        "queue birch PATH",
        "vasp ingest PATH",
        "cluster import PATH --name c",
        "what-if PATH",
        "what-if birch --change PATH",
    ],
)
def test_a_named_pipe_is_refused_and_not_waited_for(catalogue: Path, tmp_path: Path, command: str) -> None:
    pipe = tmp_path / "log.fifo"
    os.mkfifo(pipe)
    words = [str(pipe) if word == "PATH" else word for word in command.split()]
    assert f"{pipe}: is a pipe (FIFO) and not a file" in " ".join(fail(*words).split())


def test_a_pipe_of_the_shell_is_read(catalogue: Path) -> None:
    """As `tracehouse queue birch <(squeue --json)` has it: it has a writer."""
    reader, writer = os.pipe()
    os.write(writer, b"no queue")
    os.close(writer)
    assert "is a pipe" not in fail("queue", "birch", f"/dev/fd/{reader}")


def test_a_folder_for_pictures(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is a file, give a folder" in fail("replay", "nosuch", "--plots", tmp_path / "file")


def test_a_dash_is_no_file(catalogue: Path) -> None:
    assert "standard output takes no such file" in fail("backup", "-")


def test_binary_content_goes_to_no_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        with pytest.raises(ValueError, match="an archive is binary: give the name of a file"):
            refuse_binary_on_terminal("an archive", Path(os.ttyname(theirs)))
    finally:
        os.close(ours)
        os.close(theirs)
    for path in (tmp_path / "new", Path("/dev/null"), None):
        refuse_binary_on_terminal("an archive", path)


# settings: A setting is declared once, and is an option, an entry of the configuration, a key of scenarios and a
# keyword.


class Wider(RunSettings):
    """The settings of a replay with one more, which is declared here alone."""

    weekends: Annotated[int, Option(metavar="NUMBER", least=0, convert=int, key="a whole number")] = Field(
        default=2, description="Weekends that are left out."
    )


class WiderConfig(dg.Config, Wider):
    outages: list[OutageConfig] = []  # type: ignore[assignment]


def test_a_new_setting_is_declared_once() -> None:
    given: dict[str, Any] = {}

    @click.command()
    @setting_options(Wider)
    def command(**settings: Any) -> None:
        given.update(settings)

    help_text = CliRunner().invoke(command, ["--help"]).stdout
    assert "--weekends NUMBER" in help_text and "Weekends that are left out." in help_text
    CliRunner().invoke(command, ["--weekends", "3", "--load", "+10%"], catch_exceptions=False)
    settings = written_settings(Wider, given)
    assert (settings.weekends, settings.load) == (3, pytest.approx(1.1))
    assert settings.model_dump(exclude={"weekends", "load"}) == RunSettings().model_dump(exclude={"load"})
    assert WiderConfig.to_fields_dict()["weekends"].description == "Weekends that are left out."


@pytest.mark.parametrize("model", [RunSettings, NodeSettings])
def test_every_setting_is_written_everywhere(model: type[BaseModel]) -> None:
    options = {parameter.name: parameter for parameter in load_command("replay").params}
    assert options.keys() >= model.model_fields.keys()
    assert PlacementConfig.model_fields.keys() >= model.model_fields.keys()
    assert {"policy", "backfill", *ReplaySettings.__annotations__} >= model.model_fields.keys()
    assert (
        RunConfig.model_fields.keys()
        >= RunSettings.model_fields.keys()
        >= SCENARIO_KEYS.keys()
        - {
            "nodes",
            "procs_per_node",
        }
    )
    for name, field in model.model_fields.items():
        assert options[name].help == (
            field.description if name != "policy" else "Order of the queue, one of the list above."
        )  # type: ignore[attr-defined]


# sources: SOURCE is an argument everywhere, the option of earlier versions is still taken, and shells complete it.

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
    assert [item.value for item in complete_sources(context, parameter, "bir")] == ["birch"]
    assert {item.value for item in complete_sources(context, parameter, "")} >= {"birch", "larch"}
    assert [item.value for item in complete_vasp_sources(context, parameter, "syn")] == ["synthetic-vasp"]
    catalogue.write_text("[sources.mine")
    assert complete_sources(context, parameter, "bir") == []
