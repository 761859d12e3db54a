"""Files and folders of a command: what cannot be written, and what cannot be read as a file, is refused before the work."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import click

from assets.common.writing.outputs import check_file, check_folder
from traces.catalogue.catalogue import load_catalogue
from traces.common.log import kind_of_no_file


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
    """Raises ValueError where the running command would read what is no file, or write a file that it is to read. given: its parameters,
    by name."""
    context = click.get_current_context(silent=True)
    kinds = {each.name: each.type for each in context.command.params} if context is not None else {}
    outputs = [path for name, path in given.items() if path and isinstance(kinds.get(name), FileToWrite)]
    inputs = [value for name, value in given.items() if name in kinds and not isinstance(kinds[name], FileToWrite)]
    for value in inputs:
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, str | Path):
                _refuse_no_file(Path(each))
    for output, value in product(outputs, inputs):
        if not isinstance(value, str | Path) or not output.is_file():
            continue
        with suppress(OSError, ValueError):  # other text, and no path at all
            if not output.samefile(value) or str(value) in load_catalogue(may_be_missing=True).sources:
                continue
            raise click.ClickException(f"{output}: is read by this command, and must stay as it is. Give another place")


def _refuse_no_file(path: Path) -> None:
    """Raises ValueError for a named pipe, a socket or a device. To open one may take for ever. A pipe of the shell, as of <(command), has
    a writer, and stays."""
    with suppress(OSError, ValueError):  # other text, and no path at all
        status = path.stat()
        is_of_shell = stat.S_ISFIFO(status.st_mode) and not path.resolve().exists()
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or is_of_shell):
            kind = kind_of_no_file(status.st_mode)
            raise click.ClickException(f"{path}: is {kind} and not a file: write its content to a file, and give that")
