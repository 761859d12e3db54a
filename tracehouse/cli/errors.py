"""How commands end when something is wrong: a message that tells what to do, and no traceback."""

import functools
from collections.abc import Callable
from typing import Any

import click

from pipelines.terminal import printable
from tracehouse.cli.parameters.paths import refuse_inputs
from traces.catalogue.places import home
from traces.catalogue.sources import CatalogueError
from traces.common.log import LogError
from traces.common.pseudonyms import PseudonymError
from warehouse import WarehouseError, disk_fault

NUL_IN_PATH = "a path has a NUL character, which no file can have in its name; look at what was given"


FAULTS_OF_USE = (CatalogueError, LogError, PseudonymError, WarehouseError, ValueError)
"""Errors whose text says what to do."""


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Errors that tell the user what to do are printed as they stand, without a traceback."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            refuse_inputs(kwargs)
            return command(*args, **kwargs)
        except FAULTS_OF_USE as error:
            text = NUL_IN_PATH if str(error).startswith("embedded null") else str(error)  # of the system's calls
            raise click.ClickException(printable(text)) from error
        except BrokenPipeError:  # whoever reads has seen enough; click ends quietly
            raise
        except OSError as error:
            raise click.ClickException(printable(disk_fault(error, home()) or str(error))) from error
        except Exception as error:  # of DuckDB, or of Dagster's own records
            fault = disk_fault(error, home())
            if fault is None:
                raise
            raise click.ClickException(printable(fault)) from error

    return wrapped
