"""The argument SOURCE: at the same place in every command, and with the names of the catalogue for the shell."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import CompletionItem

from traces.catalogue.catalogue import load_catalogue


def complete_sources(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Sources whose names begin so; none where the catalogue has a fault."""
    return _completed("sources", begun)


def complete_sources_and_files(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Sources whose names begin so, and files, which the shell completes itself."""
    return [*complete_sources(context, parameter, begun), CompletionItem(begun, type="file")]


def complete_vasp_sources(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Folders of VASP runs whose names begin so; none where the catalogue has a fault."""
    return _completed("vasp", begun)


def _completed(partitions: str, begun: str) -> list[CompletionItem]:
    with suppress(Exception):  # a message would end up in the line that is being typed
        catalogue = load_catalogue()
        entries = catalogue.vasp if partitions == "vasp" else catalogue.sources
        return [
            CompletionItem(name, help=entry.description) for name, entry in entries.items() if name.startswith(begun)
        ]
    return []


def source_argument(
    what: str = "The source.", several: bool = False, of_vasp: bool = False, or_log: bool = False
) -> Callable[..., Any]:
    """Adds the argument SOURCE to a command, and the option --source of earlier versions, which --help leaves out.

    The command takes `source`, or with `several` the tuple `names`, which may be empty. Giving both argument and option is an error.
    what: help of the option. of_vasp: whether names are those of folders of VASP runs. or_log: whether it may be a file.
    """
    name = "names" if several else "source"
    former = f"former_{name}"
    argument = click.argument(
        name,
        nargs=-1 if several else 1,
        required=False,
        metavar="[SOURCE]..." if several else "SOURCE",
        shell_complete=complete_vasp_sources if of_vasp else complete_sources_and_files if or_log else complete_sources,
    )
    option = click.option("--source", "-s", former, multiple=several, hidden=True, help=what)

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(*args: Any, **given: Any) -> Any:
            previous, now = given.pop(former), given[name]
            if previous and now:
                raise click.UsageError("SOURCE is given twice, as an argument and with --source: leave --source out")
            given[name] = now or previous
            if not several and given[name] is None:
                raise click.MissingParameter(param_hint="'SOURCE'", param_type="argument")
            return command(*args, **given)

        return argument(option(wrapped))

    return add
