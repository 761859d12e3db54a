"""Tests of tracehouse/cli: errors, frame_text, linking, main, queue_text, session, commands/app, commands/completion,
commands/replay_grade, commands/tune, commands/ui."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from assets.replaying.running import grade, loading
from assets.replaying.running.scored_part import PartOptions
from pipelines.web.guard import HOSTS_VARIABLE
from simulator.policies.plugins import FOLDER_VARIABLE
from tests.pipelines.command_line import GOOD, call, fail, succeed, use_home
from tests.settings_way import WAYS, functions_passed, modules_of
from tests.tiny import SOURCE, Home, busy_log
from tracehouse.cli.commands.replay import say_grade
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.main import COMMANDS, load_command, main
from tracehouse.cli.parameters.settings import OPTIONS as PARTS_OPTIONS
from tracehouse.cli.parameters.settings import part_options, take_part
from tracehouse.cli.session import begin_session
from traces.common.log import LogError
from warehouse import WarehouseError
from warehouse.door import _is_confined

# completion: `tracehouse completion`: scripts that a shell takes, and what they ask for.


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str) -> None:
    script = succeed("completion", shell)
    assert f"_TRACEHOUSE_COMPLETE={shell}_complete" in script and "tracehouse" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_an_unknown_shell() -> None:
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in fail("completion", "tcsh")


def completed(words: str, number: int) -> list[str]:
    """What bash gets for the word of this number, by a process that may load nothing that takes long."""
    code = "import sys; sys.modules.update(dagster=None, torch=None); from tracehouse.cli.main import main; main(prog_name='tracehouse')"
    asked = {"_TRACEHOUSE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_names_are_completed_without_what_takes_long(catalogue: Path) -> None:
    assert completed("tracehouse rep", 1) == ["replay", "report", "reproduce"]
    assert completed("tracehouse run bir", 2) == ["birch"]
    assert completed("tracehouse run --select marts/rep", 3) == ["marts/report"]
    assert completed("tracehouse replay birch --policy sj", 4) == ["SJF"]
    assert completed("tracehouse vasp remaining syn", 3) == ["synthetic-vasp"]


# errors: Errors that tell the user what to do are messages; faults of tracehouse keep their traceback.


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


# main: All commands: their help, how fast it is there, and a catalogue with a fault.

OPTIONS = {
    "sources": ["--json"],
    "run": ["[SOURCE]...", "--job", "--select", "--config", "--json"],
    "ingest": ["PATH", "--format", "--name", "--procs", "--cluster", "--time-zone", "--columns", "--keep-names",
               "--replace", "--new-key", "--json"],
    "remove": ["SOURCE", "--with-history", "--gone", "--yes"],
    "export": ["SOURCE", "FILE", "--format", "--run", "--period", "--from", "--to", "--queue", "--user", "--account"],
    "publish": ["[FILE]"],
    "metrics": ["[SOURCE]...", "--out", "--json"],
    "pseudonym": ["user", "group", "NAMES", "--json"],
    "replay": [
        "--period", "--from", "--to", "--queue", "--user", "--account",
        "TRACE_OR_SOURCE", "--policy", "--backfill", "--estimates", "--reserve-by", "--admit-by",
        "--inspector", "--correction", "--rules", "--window",
        "--warm-start", "--users", "--without-queue", "--partition", "--round-walltimes", "--walltime-factor",
        "--cluster", "--set",
        "--outages", "--cancelled", "--drop-wider", "--trim", "--load", "--procs", "--json", "--schedule", "--plots", "--save", "FCFS",
        "--topology", "--hops", "--procs-per-node", "--nodes", "--place", "--every", "--switches", "--placing-seed", "--placement",
        "--guard",
        "tetris-star", "multifactor:age=", "formula:TEXT", "FILE.py:NAME", "learned", "conservative",
    ],
    "train": [
        "SOURCE", "--goal", "--backfill", "--estimates", "--rules", "--window-jobs", "--method", "--layout", "--start",
        "--learn", "--agent", "--policy", "--paper", "--epochs", "--accept-trade", "--seeds", "--out", "--plot", "--json",
        "--trajectories", "--minibatch", "--workers", "--launcher", "--torchrun", "--sync-fraction", "--backlogs", "--population",
        "--interval", "--repeat", "--cluster",
    ],
    "distil": ["POLICY", "SOURCE", "--seed", "--json"],
    "place": [
        "WINDOW", "--method", "--policy", "--seconds", "--seed", "--json", "scas|dcas|free|anneal|nsa|tree", "topology.conf",
    ],
    "compare": ["SOURCE", "RUN_A", "RUN_B", "--json", "--period", "--from", "--to", "--queue", "--user", "--account"],
    "periods": ["SOURCE", "[PERIOD]", "[EARLIER]", "--by", "--top", "--csv", "--json"],
    "who": ["SOURCE", "--by", "--period", "--top", "--csv", "--nodes", "--waste", "--habits", "--json"],
    "why": [
        "SOURCE", "[JOB]...", "--user", "--account", "--queue", "--partition", "--period", "--by", "--replay", "--top", "--csv", "--json",
    ],
    "what-if": [
        "SCENARIOS", "--source", "--cluster", "--set", "--change",
        "--period", "--from", "--to", "--queue", "--user", "--account", "--out", "--format", "--html", "--top",
        "--json",
    ],
    "tune": ["SOURCE", "--settings", "--list", "--guard", "--trials", "--seed", "--cluster", "--policy", "--json"],
    "sql": ["QUERY", "--files", "--format", "--output", "--wide", "--json"],
    "report": ["[SOURCE]...", "--period", "--from", "--to", "--json"],
    "app": ["SOURCE", "--port"],
    "ui": ["--host", "--port", "--allow-host", "--plug-ins"],
    "wait": [
        "SOURCE", "--procs", "--walltime", "--user", "--queue", "--partition", "--gpus", "--account", "--qos", "--soonest",
        "--job", "--at", "--samples", "--seed", "--policy", "--backfill", "--json",
    ],
    "queue": ["SOURCE", "FILE", "--policy", "--backfill", "--samples", "--seed", "--format", "--out", "--why", "squeue --json", "--json",
              "--user", "--page", "--watch"],
    "walltime": ["SOURCE", "--user", "--procs", "--executable", "--risk", "--json"],
    "models": ["SOURCE", "--json"],
    "rollback": ["SOURCE", "--to"],
    "reproduce": ["[TABLE]", "[SOURCE]...", "--log", "--logs", "--again"],
    "completion": ["bash", "zsh", "fish"],
    "backup": ["FILE", "--replace"],
    "restore": ["FILE", "--replace"],
}  # fmt: skip


@pytest.mark.parametrize("command", OPTIONS)
def test_help_tells_every_option(command: str) -> None:
    text = succeed(command, "--help")
    for option in OPTIONS[command]:
        assert option in text
    told = set(re.findall(r"--[a-z-]+", text)) - {"--help"}
    assert told == {option for option in OPTIONS[command] if option.startswith("--")}
    assert command in succeed("--help")


def test_an_unknown_command_is_an_error() -> None:
    assert "No such command 'inject'" in fail("inject")


@pytest.mark.parametrize(
    ("command", "near"),
    [
        ("replya", "replay"),
        ("sources --jsn", "--json"),
        ("run brich", "birch"),
        ("vasp remaining synthetic-vsp", "synthetic-vasp"),
        ("replay birch --policy sjff", "SJF"),
        ("replay birch --policy bounded_key:factor=3", "bounded-key"),
        ("replay birch --policy bounded-key:facter=3", "factor"),
        ("replay birch --rules rlscheduler --policy sjff", "SJF"),
        ("replay birch --backfill esay", "easy"),
        ("replay birch --backfill pick:slak_s=1", "slack_s"),
        ("replay birch --estimates predictd", "predicted"),
        ("replay birch --inspector accpt", "accept"),
        ("wait birch --procs 4 --walltime 60 --backfill esay", "easy"),
    ],
)
def test_the_nearest_name_is_asked_for(catalogue: Path, command: str, near: str) -> None:
    assert re.search(f"[Dd]id you mean '{near}'\\?", fail(*command.split()))


def test_help_needs_no_heavy_package() -> None:
    heavy = {"dagster", "duckdb", "numba", "numpy", "polars", "pydantic", "torch", "sklearn"}
    assert _modules_after("main(['--help'])") & heavy == set()


def test_commands_load_nothing_that_takes_long_before_they_run() -> None:
    assert (
        _modules_after("[load_command(name) for name in COMMANDS]") & {"dagster", "numba", "torch", "sklearn"} == set()
    )


def _modules_after(statement: str) -> set[str]:
    """What a process of its own has loaded, since this one may have imported anything."""
    code = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    code += f"from tracehouse.cli.main import COMMANDS, load_command, main; {statement}"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split())


def test_every_command_is_listed_under_its_name() -> None:
    listed = succeed("--help")
    for name, help_text in COMMANDS.items():
        assert load_command(name).name == name and re.search(
            rf"^  {name} +{re.escape(help_text)}$", listed, re.MULTILINE
        )


@pytest.mark.parametrize("command", WAYS)
def test_settings_pass_few_functions_and_modules(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Home(tmp_path)  # the tiny source in its catalogue
    use_home(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    passed = functions_passed(command, SOURCE).settings
    way, modules = WAYS[command], modules_of(passed)
    assert 10 < len(passed) <= way.functions and 5 < len(modules) <= way.modules, modules


@pytest.mark.parametrize("where", ["loading", "parsing", "running"])
def test_ctrl_c_ends_in_one_line(catalogue: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    if where == "loading":
        monkeypatch.setattr(importlib, "import_module", interrupt)
    elif where == "parsing":
        monkeypatch.setattr(click.Command, "parse_args", interrupt)
    else:
        monkeypatch.setattr("tracehouse.cli.commands.sources.load_catalogue", interrupt)
    result = call("sources")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "\ninterrupted\n")


def test_an_interrupt_says_how_to_go_on(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt("the same command goes on")

    monkeypatch.setattr("tracehouse.cli.commands.sources.load_catalogue", interrupt)
    assert call("sources").stderr == "\ninterrupted: the same command goes on\n"


def test_a_process_cannot_be_interrupted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(main, "main", lambda: sys.exit(130))
    try:
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 130 and signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "command", [["sources"], ["run"], ["replay", "mine"], ["ingest", "a.swf"], ["ui"]], ids=" ".join
)
def test_a_faulty_catalogue_is_told_by_every_command(catalogue: Path, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "a.swf").write_text(GOOD.format(n=1))
    text = '[sources.mine]\nformat = "swf"\npath = "x"\nproc = 8\n'
    catalogue.write_text(text)
    command = [str(tmp_path / word) if word.endswith(".swf") else word for word in command]
    assert fail(*command).startswith(f"{catalogue}:4: [sources.mine] unknown key 'proc': expected one of")
    assert catalogue.read_text() == text


# parts: Options that choose which jobs are scored.


def test_every_field_of_a_part_has_an_option() -> None:
    assert set(PARTS_OPTIONS) == set(PartOptions.model_fields)


def test_options_are_taken_out_of_the_others() -> None:
    taken: list[tuple[dict[str, str], dict[str, Any]]] = []

    @click.command()
    @click.option("--period-of-the-scheduler", "period", default=60)
    @part_options()
    def command(**others: Any) -> None:
        taken.append((take_part(others), others))

    assert CliRunner().invoke(command, ["--period", "last-month", "--queue", "long"]).exit_code == 0
    assert CliRunner().invoke(command, []).exit_code == 0
    assert taken == [({"period": "last-month", "queue": "long"}, {"period": 60}), ({}, {"period": 60})]


# session: What holds in every command: text is printable, and the warehouse is closed to other files.


def test_until_the_command_ends(catalogue: Path) -> None:
    plain, before = sys.stdout, _is_confined[-1]
    with click.Context(click.Command("any")) as context:
        begin_session(context)
        assert sys.stdout is not plain and _is_confined[-1]
    assert sys.stdout is plain and _is_confined[-1] == before


# ui: `tracehouse ui` starts Dagster's own server in its place, on a home where every source is a partition.


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """The commands that took the place of this process, each with its environment."""
    commands: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda program, *command: commands.append(command))
    for name in (HOSTS_VARIABLE, FOLDER_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    return commands


def test_the_server_takes_over(catalogue: Path, started: list[tuple[list[str], dict[str, str]]]) -> None:
    result = call("ui", "--port", "4000")
    assert result.exit_code == 0, result.stderr
    ((command, environment),) = started
    assert command[1:] == ["-m", "pipelines.web.services", "127.0.0.1", "4000"]
    assert result.stderr.startswith("starting: in some seconds it is on http://127.0.0.1:4000 ")
    assert (catalogue.parent / "inbox").is_dir()
    assert environment[HOSTS_VARIABLE] == "127.0.0.1" and FOLDER_VARIABLE not in environment
    assert environment["PYTHONSAFEPATH"] == "1" and "PYTHONSAFEPATH" not in os.environ


def test_names_and_plug_ins_reach_the_server(catalogue: Path, started: list[tuple[list[str], dict[str, str]]]) -> None:
    folder = catalogue.parent
    result = call("ui", "--host", "0.0.0.0", "--port", "4000", "--allow-host", "ui.example.org", "--plug-ins", folder)
    assert result.exit_code == 0, result.stderr
    ((_, environment),) = started
    assert environment[HOSTS_VARIABLE] == "ui.example.org" and environment[FOLDER_VARIABLE] == str(folder)
    assert "until --allow-host names this one" in call("ui", "--host", "0.0.0.0", "--port", "4000").stderr
    assert "is no name of a host" in fail("ui", "--allow-host", "*")


def test_a_busy_port_ends_in_a_sentence(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("the server was started"))
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        message = fail("ui", "--port", str(port))
    assert message.startswith(f"port {port} of 127.0.0.1 is in use, perhaps by another `tracehouse ui`: --port ")
    assert message.endswith(" is free\n") and len(message.splitlines()) == 1


def test_an_address_that_is_not_of_this_machine(catalogue: Path) -> None:
    assert "cannot be listened on" in fail("ui", "--host", "192.0.2.1", "--port", "4001")
    assert "cannot be listened on" in fail("ui", "--host", "no.such.host.invalid", "--port", "4001")


# replay_grade: How far replays of a source can be trusted is said below their results.


def test_the_grade_of_a_source_is_said(
    catalogue: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say_grade("birch")  # which is not loaded
    monkeypatch.setattr(loading, "is_loaded", lambda source: True)
    monkeypatch.setattr(grade, "grade_text", lambda warehouse, source, policy: None)
    say_grade("birch")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(grade, "grade_text", lambda warehouse, source, policy: "grade B")
    say_grade("birch")
    assert capsys.readouterr().err == "\nHow far replays of birch can be trusted: grade B\n"


# tune: `tracehouse tune`: what it refuses before anything is replayed.


def test_tune_says_what_can_be_searched(catalogue: Path) -> None:
    catalogue.write_text('[sources.mine]\nformat = "swf"\npath = "mine.swf"\nprocs = 4\n')
    (catalogue.parent / "mine.swf").write_text(busy_log(40))
    assert "it has 33 jobs to replay, and a search needs 200" in fail("tune", "mine")
    assert "expected NAME=RATIO" in fail("tune", "mine", "--guard", "pace=1.1")
    assert "expected searched:cautious" in fail("tune", "mine", "--policy", "SJF")
