"""All commands: their help, how fast it is there, and a catalogue with a fault."""

from __future__ import annotations

import importlib
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.pipelines.command_line import GOOD, call, fail, succeed
from tracehouse.cli.main import COMMANDS, load_command, main

OPTIONS = {
    "sources": ["--json"],
    "run": ["[SOURCE]...", "--job", "--select", "--config"],
    "ingest": ["PATH", "--format", "--name", "--procs", "--time-zone", "--columns", "--keep-names",
               "--replace", "--new-key", "--json"],
    "remove": ["SOURCE", "--with-history", "--gone", "--yes"],
    "export": ["SOURCE", "FILE", "--format", "--run", "--period", "--from", "--to", "--queue", "--user", "--account"],
    "publish": ["[FILE]"],
    "metrics": ["[SOURCE]...", "--out"],
    "pseudonym": ["user", "group", "NAMES"],
    "replay": [
        "--period", "--from", "--to", "--queue", "--user", "--account",
        "TRACE_OR_SOURCE", "--policy", "--backfill", "--estimates", "--reserve-by", "--admit-by",
        "--inspector", "--correction", "--rules", "--window",
        "--warm-start", "--without-queue", "--partition", "--round-walltimes", "--walltime-factor",
        "--cluster",
        "--outages", "--cancelled", "--drop-wider", "--trim", "--load", "--procs", "--json", "--schedule", "--plots", "--save", "FCFS",
        "--topology", "--hops", "--procs-per-node", "--nodes", "--place", "--every", "--switches", "--placing-seed", "--placement",
        "--guard",
        "tetris-star", "multifactor:age=", "formula:TEXT", "FILE.py:NAME", "learned", "conservative",
    ],
    "train": [
        "SOURCE", "--goal", "--backfill", "--estimates", "--rules", "--window-jobs", "--method", "--layout", "--start",
        "--learn", "--agent", "--policy", "--paper", "--epochs", "--accept-trade", "--seeds", "--out", "--plot", "--json",
        "--trajectories", "--minibatch", "--workers", "--launcher", "--torchrun", "--sync-fraction", "--backlogs", "--population",
        "--interval", "--repeat",
    ],
    "distil": ["POLICY", "SOURCE", "--seed", "--json"],
    "place": [
        "WINDOW", "--method", "--policy", "--seconds", "--seed", "--json", "scas|dcas|free|anneal|nsa|tree", "topology.conf",
    ],
    "compare": ["SOURCE", "RUN_A", "RUN_B", "--json", "--period", "--from", "--to", "--queue", "--user", "--account"],
    "periods": ["SOURCE", "[PERIOD]", "[EARLIER]", "--by", "--top", "--csv"],
    "who": ["SOURCE", "--by", "--period", "--top", "--csv", "--nodes"],
    "what-if": [
        "SCENARIOS", "--source", "--period", "--from", "--to", "--queue", "--user", "--account", "--out", "--format", "--html", "--top",
        "--json",
    ],
    "sql": ["QUERY", "--files", "--format", "--output", "--wide"],
    "report": ["[SOURCE]...", "--period", "--from", "--to"],
    "ui": ["--host", "--port", "--allow-host", "--plug-ins"],
    "wait": ["SOURCE", "--procs", "--walltime", "--user", "--job", "--at", "--samples", "--seed", "--policy", "--backfill", "--json"],
    "queue": ["SOURCE", "FILE", "--policy", "--backfill", "--samples", "--seed", "--format", "--out", "squeue --json", "--json"],
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
        ("run lublin-25", "lublin-256"),
        ("vasp remaining synthetic-vsp", "synthetic-vasp"),
        ("replay lublin-256 --policy sjff", "SJF"),
        ("replay lublin-256 --policy bounded_key:factor=3", "bounded-key"),
        ("replay lublin-256 --policy bounded-key:facter=3", "factor"),
        ("replay lublin-256 --rules rlscheduler --policy sjff", "SJF"),
        ("replay lublin-256 --backfill esay", "easy"),
        ("replay lublin-256 --backfill pick:slak_s=1", "slack_s"),
        ("replay lublin-256 --estimates predictd", "predicted"),
        ("replay lublin-256 --inspector accpt", "accept"),
        ("wait lublin-256 --procs 4 --walltime 60 --backfill esay", "easy"),
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
    for name, (_, help_text) in COMMANDS.items():
        assert load_command(name).name == name and re.search(
            rf"^  {name} +{re.escape(help_text)}$", listed, re.MULTILINE
        )


@pytest.mark.parametrize("where", ["loading", "parsing", "running"])
def test_ctrl_c_ends_in_one_line(catalogue: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    if where == "loading":
        monkeypatch.setattr(importlib, "import_module", interrupt)
    elif where == "parsing":
        monkeypatch.setattr(click.Command, "parse_args", interrupt)
    else:
        monkeypatch.setattr("tracehouse.cli.keeping.logs.load_catalogue", interrupt)
    result = call("sources")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "\ninterrupted\n")


def test_an_interrupt_says_how_to_go_on(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt("the same command goes on")

    monkeypatch.setattr("tracehouse.cli.keeping.logs.load_catalogue", interrupt)
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
