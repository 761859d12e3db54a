"""What nobody has foreseen: the traceback is kept in a file, and the user sees a sentence."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from pipelines.terminal import printable
from traces.catalogue.places import home

FAULT = "this is a fault of tracehouse"
"""How such a message is recognized."""
EXIT_CODE = 70
"""EX_SOFTWARE of sysexits.h."""
PACKAGES = ("tracehouse", "dagster", "duckdb", "polars", "numba")
"""Their versions are kept with a traceback."""
MOST_KEPT = 20
_MOST_OF_A_MESSAGE = 300
_shows = [False]
"""Whether tracebacks are shown (--debug)."""


class UnforeseenFault(click.ClickException):
    """A fault of tracehouse, as the lines that are printed of it."""

    exit_code = EXIT_CODE


def show_tracebacks(on: bool) -> None:
    """Whether tracebacks of this process are shown from now on, instead of kept."""
    _shows[0] = on


def shows_tracebacks() -> bool:
    """Whether they are shown."""
    return _shows[0]


@contextmanager
def no_traceback() -> Iterator[None]:
    """Turns exceptions that nobody has foreseen into UnforeseenFault, unless tracebacks are shown."""
    try:
        yield
    except (click.exceptions.Exit, click.Abort, click.ClickException, BrokenPipeError, SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # of polars, which is no Exception
        if _shows[0] or not (is_panic or isinstance(error, Exception)):
            raise
        raise UnforeseenFault(kept_fault(error)) from None


def kept_fault(error: BaseException) -> str:
    """Keeps the traceback of an exception. Returns the message: what it is, where the file is, what to do."""
    text = str(error).strip() or "no message"
    first = f"{type(error).__name__}: {printable(text.splitlines()[0][:_MOST_OF_A_MESSAGE])}"
    if isinstance(error, MemoryError):
        first = f"this needs more memory than there is ({first})"
    file = _write(error)
    if file is None:
        return f"{first}. {FAULT}, and its traceback could not be kept. `tracehouse --debug` with the same command shows it: report that"
    return (
        f"{first}. {FAULT}. What was finished before is kept. The traceback is in {file}: report it as an issue of the project, with the "
        "command. `tracehouse --debug` shows it at once"
    )


def _write(error: BaseException) -> Path | None:
    """The file of a traceback; None where none can be written."""
    from importlib.metadata import version

    now = datetime.now(UTC)
    trace = "".join(traceback.format_exception(error))
    about = [
        f"time      {now:%Y-%m-%d %H:%M:%S} UTC",
        f"command   {' '.join(sys.argv)}",
        f"system    {platform.platform()}, Python {platform.python_version()}",
        *(f"{name:<9} {version(name)}" for name in PACKAGES),
    ]
    content = printable("\n".join([*about, "", trace])).encode(errors="replace")
    for folder in (home() / "warehouse" / "data" / "faults", Path(tempfile.gettempdir())):
        file = folder / f"tracehouse-fault-{now:%Y%m%d-%H%M%S-%f}.txt"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as kept:
                kept.write(content)
            for old in sorted(folder.glob("tracehouse-fault-*.txt"))[:-MOST_KEPT]:
                old.unlink(missing_ok=True)
        except OSError:
            continue
        return file
    return None
