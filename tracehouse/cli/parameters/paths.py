"""Files and folders that a command writes: what cannot be written is refused before the work."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import click

from assets.common.writing.outputs import check_file, check_folder
from traces.catalogue.catalogue import load_catalogue


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
