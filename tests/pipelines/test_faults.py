"""No command shows a traceback, whatever goes wrong in it: it is kept in a file, and --debug shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import tracehouse.cli.keeping.logs as logs_commands
from assets.ingest import core_jobs
from pipelines.faults import EXIT_CODE, FAULT, MOST_KEPT, kept_fault, show_tracebacks
from tests.pipelines.command_line import in_brief
from tests.tiny import busy_log
from tracehouse.cli.main import main
from traces.catalogue.places import home


class PanicException(BaseException):
    """As polars raises it."""


def run(*arguments: str | Path) -> Result:
    with in_brief():
        return CliRunner().invoke(main, [str(argument) for argument in arguments])


def kept() -> list[Path]:
    return sorted((home() / "warehouse" / "data" / "faults").glob("*.txt"))


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError("deep"), MemoryError("2 PiB"), PanicException("date")])
def test_a_fault_is_kept_and_said(catalogue: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fault() -> None:
        raise error

    monkeypatch.setattr(logs_commands, "load_catalogue", fault)
    result = run("sources")
    assert result.exit_code == EXIT_CODE and "Traceback" not in result.output
    assert FAULT in result.stderr and type(error).__name__ in result.stderr
    (file,) = kept()
    assert str(file) in result.stderr and file.stat().st_mode & 0o777 == 0o600
    assert "Traceback (most recent call last)" in file.read_text() and "duckdb" in file.read_text()
    try:
        with pytest.raises(type(error)):
            CliRunner().invoke(main, ["--debug", "sources"], catch_exceptions=False)
    finally:
        show_tracebacks(False)


def test_a_fault_in_a_step_of_one_source_lets_the_others_run(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a source that has just been added leaves nothing behind."""
    log = catalogue.with_name("busy.swf")
    log.write_text(busy_log())

    def fault(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(core_jobs, "write_jobs", fault)
    result = run("ingest", log, "--name", "mine")
    assert result.exit_code == 1 and FAULT in result.stderr and "Traceback" not in result.output
    assert "[sources" not in catalogue.read_text() and len(kept()) == 1


def test_few_are_kept_and_a_folder_that_takes_none_is_no_fault(
    catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(MOST_KEPT + 3):
        kept_fault(ValueError())
    assert len(kept()) == MOST_KEPT
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "file"))
    assert "could not be kept" in kept_fault(ValueError())
