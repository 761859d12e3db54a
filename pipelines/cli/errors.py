"""How commands end when something is wrong: a message that tells what to do, and no traceback."""

import functools
from collections.abc import Callable
from typing import Any

import click

from traces.catalogue.sources import CatalogueError
from traces.common.log import LogError
from traces.common.pseudonyms import PseudonymError
from warehouse import WarehouseError


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Errors that tell the user what to do are printed as they stand, without a traceback."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (CatalogueError, LogError, PseudonymError, WarehouseError, ValueError) as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:  # whoever reads has seen enough; click ends quietly
            raise
        except OSError as error:
            raise click.ClickException(str(error)) from error

    return wrapped


def raise_failures(failures: dict[str, str]) -> None:
    """Ends the command with an error that names every source that failed."""
    if len(failures) == 1:
        raise click.ClickException(next(iter(failures.values())))
    if failures:
        listed = "\n".join(f"  {source}: {problem}" for source, problem in failures.items())
        raise click.ClickException(f"{len(failures)} sources failed:\n{listed}")
