"""Files and folders that a command writes: what cannot be written is refused before the work."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import click

from assets.common.writing.outputs import refuse_own
from traces.catalogue.catalogue import load_catalogue
from warehouse import disk_fault


class FileToWrite(click.ParamType):
    """A file that can be written. may_be_dash: whether `-` is standard output; else it is refused."""

    name = "file"

    def __init__(self, may_be_dash: bool = False) -> None:
        self.may_be_dash = may_be_dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path. Ends the command where it cannot be written."""
        path = Path(value)
        try:
            if value == "-" and not self.may_be_dash:
                raise ValueError("-: standard output takes no such file, give a name")
            if value != "-":
                check_file(path)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return path


class FolderToWrite(click.ParamType):
    """A folder that files can be written into, or that can be made."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path. Ends the command where nothing can be written there."""
        path = Path(value)
        try:
            check_folder(path)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return path


def refuse_inputs(given: Mapping[str, Any]) -> None:
    """Raises ValueError where the running command would write a file that it is to read. given: its parameters, by name."""
    context = click.get_current_context(silent=True)
    kinds = {each.name: each.type for each in context.command.params} if context is not None else {}
    outputs = [path for name, path in given.items() if path and isinstance(kinds.get(name), FileToWrite)]
    inputs = [value for name, value in given.items() if name in kinds and not isinstance(kinds[name], FileToWrite)]
    for output, value in product(outputs, inputs):
        if not isinstance(value, str | Path) or not output.is_file():
            continue
        with suppress(OSError, ValueError):  # other text, and no path at all
            if not output.samefile(value) or str(value) in load_catalogue(may_be_missing=True).sources:
                continue
            raise click.ClickException(f"{output}: is read by this command, and must stay as it is. Give another place")


def check_file(path: Path) -> None:
    """Raises ValueError where a file cannot be written: it is not for results, its folder is missing or closed, or it is a folder
    itself."""
    refuse_own(path)
    folder = path.absolute().parent
    if path.is_dir():
        raise ValueError(f"{path}: is a folder, give the name of a file in it")
    if path.exists() and not path.is_file():  # a device, or a pipe
        return
    if not folder.is_dir():
        raise ValueError(f"{path.parent}: no such folder, make it or give another file")
    if path.exists() and not os.access(path, os.W_OK):
        raise ValueError(f"{path}: cannot be written, give another file")
    _try_to_write(folder, path)


def check_folder(path: Path) -> None:
    """Raises ValueError where no result can be written into a folder, which may be missing yet."""
    refuse_own(path)
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path}: is a file, give a folder")
    _try_to_write(next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists()), path)


def _try_to_write(folder: Path, path: Path) -> None:
    """Only a file that was made tells: root, and file systems that are read-only, have modes that say nothing."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        fault = disk_fault(error, folder) or f"{path}: cannot be written ({error.strerror})"
        raise ValueError(f"{fault}, give another place") from None


def refuse_binary_on_terminal(what: str, path: Path | None) -> None:
    """Raises ValueError where binary content would go to a terminal. path: where it goes, None or `-` for standard output."""
    to_standard_output = path is None or str(path) == "-"
    if sys.stdout.isatty() if to_standard_output else _is_terminal(path):
        raise ValueError(f"{what} is binary: give the name of a file, or send it into a file or a pipe")


def _is_terminal(path: Path | None) -> bool:
    if path is None or not path.is_char_device():
        return False
    with path.open("rb") as device:
        return device.isatty()
