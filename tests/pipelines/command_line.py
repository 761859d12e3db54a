"""Commands as users call them, for tests. They run in this process (click's CliRunner), since each process costs seconds.

A fault must end in a message and a non-zero exit code: `call` fails the test where any other exception came through, which a
user would see as a traceback.
"""

from __future__ import annotations

import functools
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from click.testing import CliRunner, Result
from dagster._core.storage import local_compute_log_manager
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from sqlalchemy import Engine, create_engine, event

from assets.common.storage import open_warehouse
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from pipelines.faults import FAULT
from pipelines.terminal import _Printable
from tracehouse.cli.main import main
from traces.catalogue.catalogue import load_catalogue

GOOD = "{n} {n}0 5 10 4 -1 -1 4 100 -1 1 1 1 1 1 1 -1 -1\n"

_migrations = functools.cache(ScriptDirectory.from_config)
"""Dagster's own: every command reads all their files, four times."""

_RECORDS = (sqlite_event_log, sqlite_run_storage, sqlite_schedule_storage)
"""Modules of Dagster that make a new SQL engine for each statement. A new engine compiles its statement again."""


@event.listens_for(Engine, "connect")
def _do_not_wait_for_the_disk(connection: Any, _record: Any) -> None:
    """Dagster's records of the tests need not survive a power cut: waiting for the disk took a fifth of a run's time."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


@contextmanager
def _kept_engines() -> Iterator[Callable[..., Engine]]:
    """What makes SQL engines, one for each file. They keep their connections until the end, whatever Dagster wants: it opens and
    closes a file for each statement."""
    engines: dict[str, Engine] = {}

    def kept_engine(place: str, poolclass: Any = None, **settings: Any) -> Engine:
        if place not in engines:
            engines[place] = create_engine(place, **settings)
            engines[place].dispose = lambda: None
        return engines[place]

    try:
        yield kept_engine
    finally:
        for engine in engines.values():
            engine.pool.dispose()


@contextmanager
def in_brief(arrange_pictures: bool = False) -> Iterator[None]:
    """Jobs of this process leave out what takes time and nobody looks at. Pictures are drawn, but only arranged, and their axes only
    labelled, where this is asked for: it takes two fifths of an ingest. Tests of pictures, and pipelines in processes of their
    own, leave out nothing."""
    with pytest.MonkeyPatch.context() as patch, _kept_engines() as kept_engine:
        # what is printed here goes to no file that four processes of Dagster's could copy
        patch.setattr(local_compute_log_manager, "mirror_stream_to_file", lambda *_: nullcontext())
        patch.setattr(ScriptDirectory, "from_config", _migrations)
        for records in _RECORDS:
            patch.setattr(records, "create_engine", kept_engine)
        if not arrange_pictures:
            patch.setattr(Figure, "set_layout_engine", lambda *_, **__: None)
            patch.setattr(Axis, "draw", lambda *_, **__: None)
            patch.setattr(Axis, "get_tightbbox", lambda *_, **__: None)
        yield


def call(*arguments: str | Path, arrange_pictures: bool = False) -> Result:
    with in_brief(arrange_pictures):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        pytest.fail(f"traceback instead of a message: {type(result.exception).__name__}: {result.exception}")
    assert "Traceback" not in result.output and FAULT not in result.output, result.output
    return result


def succeed(*arguments: str | Path) -> str:
    result = call(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def fail(*arguments: str | Path) -> str:
    """The message of a command that cannot succeed; nothing is printed where results go."""
    result = call(*arguments)
    assert result.exit_code != 0
    assert result.stdout == ""
    assert "Error: " in result.stderr
    return result.stderr.partition("Error: ")[2]


def on_terminal(patch: pytest.MonkeyPatch, columns: int) -> None:
    """Lets commands believe that they write to a terminal of this width."""
    patch.setattr(_Printable, "isatty", lambda _: True, raising=False)
    patch.setenv("COLUMNS", str(columns))


def use_home(patch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Points tracehouse at a home of its own, and returns its (empty) second catalogue."""
    folder.mkdir(parents=True, exist_ok=True)
    catalogue = folder / "sources.toml"
    catalogue.touch()
    patch.setenv("TRACEHOUSE_HOME", str(folder))
    patch.setenv("TRACEHOUSE_SOURCES", str(catalogue))
    patch.setenv("DAGSTER_HOME", str(folder))  # set again by tracehouse itself; so that it is undone after the tests
    # The definitions know the warehouse of the home that they were loaded in. A user's process has one home, this one
    # has many: each loads its own, and leaves those of other tests as they were.
    for module in ("pipelines.definitions", "pipelines.running"):
        patch.setitem(sys.modules, module, None)
        del sys.modules[module]
    return catalogue


def load_source(log: Path) -> None:
    """Declares an SWF log as a source of the home in use, under the name of its file, and reads it. `tracehouse ingest` does so, too, in a
    job of Dagster's with pictures, which takes two seconds."""
    catalogue = Path(os.environ["TRACEHOUSE_SOURCES"])
    entry = f'[sources.{log.stem}]\nformat = "swf"\npath = "{log}"\n'
    catalogue.write_text(catalogue.read_text() + entry)
    source = load_catalogue().source(log.stem)
    update_raw_log(open_warehouse(), source)
    write_jobs(open_warehouse(), source.name)


def told_of(log: Path | str, *arguments: str | Path) -> dict[str, Any]:
    """What `tracehouse replay --json` says of a log or a source."""
    said: dict[str, Any] = json.loads(succeed("replay", log, "--json", *arguments))
    return said
