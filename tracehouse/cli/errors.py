"""How commands end when something is wrong: a message that tells what to do, and no traceback."""

import functools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

from assets.common.storage import open_warehouse
from assets.common.writing.locks import alone_on
from pipelines.terminal import printable
from tracehouse.cli.parameters.paths import refuse_inputs
from traces.catalogue.editing import remove_source
from traces.catalogue.places import home
from traces.catalogue.sources import CatalogueError
from traces.common.log import LogError
from traces.common.pseudonyms import PseudonymError
from warehouse import NoWarehouse, WarehouseBusy, WarehouseError, disk_fault

NUL_IN_PATH = "a path has a NUL character, which no file can have in its name; look at what was given"


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Errors that tell the user what to do are printed as they stand, without a traceback."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            refuse_inputs(kwargs)
            return command(*args, **kwargs)
        except (CatalogueError, LogError, PseudonymError, WarehouseError, ValueError) as error:
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


def load_declared(job: str, name: str, former: str, config: dict[str, Any], partitions: str = "sources") -> None:
    """Runs a job that ingests. What cannot be loaded leaves catalogue, warehouse and partitions as they were. Call it inside `declares`.

    former: the entry that the catalogue had under this name, or "". partitions: "sources", or "vasp". Where rows of the former
    log are forgotten already, the catalogue keeps the new entry: the old one would mix the rows of both. When the command is
    interrupted, or finds the warehouse busy, everything stays: the same command goes on.
    """
    from assets.ingest.removal import remove_source_data
    from pipelines.forgetting import forget_partition
    from pipelines.running import run_job

    stored = _stored_files(name, partitions)
    try:
        raise_failures(run_job(job, [name], config, partitions))
    except click.ClickException:  # the job ran, and says what is wrong with the log
        is_replaced = any(op["config"].get("replace") for op in config["ops"].values())
        if is_replaced and former and stored and not stored & _stored_files(name, partitions):
            _warn(
                f"what {name} had before is forgotten already, so its new entry stays in the catalogue: {_remedy(name)}"
            )
            raise
        try:
            with alone_on(name):
                if not former and not stored:
                    with suppress(Exception):  # a full disk, say. What led here is the better message
                        remove_source_data(open_warehouse(), name, with_history=False, is_vasp=partitions == "vasp")
                        forget_partition(name, partitions)
                remove_source(name, former, partitions)
        except WarehouseBusy:
            _warn(f"another command works on {name}, so it stays as it is: {_remedy(name)}")
        except OSError as error:
            _warn(f"{error.filename}: cannot be written, and keeps its entry [{partitions}.{name}]")
        raise


def _remedy(name: str) -> str:
    return f"mend what is wrong and ingest it again, or take it out with `tracehouse remove {name}`"


def _warn(text: str) -> None:
    click.secho(printable(f"  ! {text}"), fg="yellow", err=True)


def _stored_files(name: str, partitions: str) -> set[tuple[str, str]]:
    """(name, hash or time) of the files whose rows are in the warehouse. None where there is no warehouse yet."""
    query = {
        "sources": "SELECT file, sha256 FROM raw.log_files WHERE source = ?",
        "vasp": "SELECT folder, coalesce(root, '') || stamp FROM raw.vasp_folders WHERE source = ?",
    }[partitions]
    with suppress(NoWarehouse), open_warehouse().read() as connection:
        return set(connection.execute(query, [name]).fetchall())
    return set()


def raise_failures(failures: dict[str, str]) -> None:
    """Ends the command with an error that names every source that failed."""
    if len(failures) == 1:
        raise click.ClickException(printable(next(iter(failures.values()))))
    if failures:
        listed = "\n".join(f"  {source}: {problem}" for source, problem in failures.items())
        raise click.ClickException(f"{len(failures)} sources failed:\n{printable(listed)}")
