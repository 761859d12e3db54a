"""`tracehouse backup` and `tracehouse restore`: what cannot be made from the logs again, in one archive."""

from pathlib import Path

import click

from assets.common.archive import CATALOGUE, PSEUDONYM_KEY, Manifest
from assets.common.backup import back_up
from assets.common.journal import DATABASE
from assets.common.restore import restore_backup
from assets.common.storage import key_fault, open_warehouse
from assets.common.writing.outputs import refuse_binary_on_terminal
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.paths import FileToWrite
from traces.catalogue.places import home

MOST_LISTED = 5


@click.command()
@click.argument("file", type=FileToWrite())
@click.option("--replace", is_flag=True, help="Replace FILE if it exists.")
@plain_errors
def backup(file: Path, replace: bool) -> None:
    """Write warehouse, models, key of pseudonyms and catalogue into the archive FILE, while runs go on.

    FILE is a tar file, compressed with Zstandard: name it like tracehouse.tar.zst. Logs, reports and Dagster's records are not
    in it. `tracehouse restore` puts it back.
    """
    refuse_binary_on_terminal("an archive", file)
    done = back_up(file, replace)
    click.echo(f"wrote {file} ({_size(done.size_bytes)}): {_contents(done.manifest)}")
    click.echo("not in it: your logs (those of the inbox too), reports, Dagster's records of runs")
    if done.manifest.holds(PSEUDONYM_KEY):
        click.echo("It holds the key of pseudonyms. Only you may read it (mode 0600): keep it so")
    if (fault := key_fault(open_warehouse())) is not None:
        click.echo(f"warning: the archive has not the key of its pseudonyms. {fault}", err=True)
    if done.lost:
        listed = ", ".join(done.lost[:MOST_LISTED]) + (", ..." if len(done.lost) > MOST_LISTED else "")
        click.echo(
            f"warning: {len(done.lost)} model files in use are missing or damaged, also in the archive: {listed}",
            err=True,
        )


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--replace", is_flag=True, help="Replace the warehouse, models, key and catalogue that are there.")
@plain_errors
def restore(file: Path, replace: bool) -> None:
    """Put the archive FILE, written by `tracehouse backup`, in the place of an empty home's warehouse.

    The whole archive is verified before anything is changed. If this is killed, the home is as before, or the next command
    finishes the work. Restore archives of your own only: they bring a catalogue and a key.
    """
    manifest = restore_backup(file, replace)
    click.echo(f"restored {file} into {home()}: {_contents(manifest)}")
    click.echo(f"It was made on {manifest.made} UTC by tracehouse {manifest.tracehouse}")
    click.echo("\nNext: put your logs where the catalogue says (tracehouse sources), then tracehouse run", err=True)


def _contents(manifest: Manifest) -> str:
    """What an archive holds, in words."""
    size_bytes = next(file.size_bytes for file in manifest.files if file.name == DATABASE)
    parts = [f"warehouse ({_size(size_bytes)})", f"{manifest.models} model files"]
    parts += ["key of pseudonyms"] if manifest.holds(PSEUDONYM_KEY) else []
    parts += ["catalogue"] if manifest.holds(CATALOGUE) else []
    return ", ".join(parts)


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
