"""The command `tracehouse ingest`."""

from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

import click

from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import print_json
from tracehouse.cli.linking import can_ask, link_to_a_cluster
from tracehouse.ingesting import OUTCOMES, lacks_zone
from tracehouse.ingesting import ingest as ingest_log
from traces.catalogue.sources import FORMATS, LARGEST_CLUSTER
from traces.common.zones import machine_time_zone


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--format", "log_format", type=click.Choice(FORMATS), help="Format of the log. Default: it is guessed.")
@click.option("--name", help="Name of the source. Default: the file's name.")
@click.option(
    "--procs", type=click.IntRange(1, LARGEST_CLUSTER), help="Processors of the cluster. Default: from the log."
)
@click.option("--cluster", metavar="NAME", help="Its description, which `tracehouse cluster import` has written.")
@click.option(
    "--time-zone",
    help='Time zone of the cluster, such as "Europe/Berlin". Default: that of the log, of the catalogue, or of this machine.',
)
@click.option(
    "--columns", help="Columns of a Slurm log without a header line, in order, such as JobID,User,Submit,Start,End."
)
@click.option(
    "--keep-names",
    is_flag=True,
    help="Keep users, groups, accounts, projects and job names as they are, instead of pseudonyms.",
)
@click.option("--replace", is_flag=True, help="Forget the jobs of another log that has this name.")
@click.option("--new-key", is_flag=True, help="Take a new key of pseudonyms, because that of the warehouse is lost.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def ingest(path: Path, name: str | None, as_json: bool, **settings: Any) -> None:
    """Add a log (a file, or a folder of files) as a source and load it. Running it again reads what is new.

    Of an archive of `tracehouse collect`, the configuration becomes the source's cluster.

    Names in PBS and Slurm logs become pseudonyms. `tracehouse pseudonym` prints the pseudonym of a name.

    Slurm writes local times: on a terminal, their zone is asked for. PBS writes Unix seconds, and a zone only says which hours and days
    these are.
    """
    from tracehouse.replaying import warn_of_peak

    if can_ask() and lacks_zone(path, name, **settings):
        settings["time_zone"] = ask_zone()
    summary = ingest_log(path, name, **settings)
    if as_json:
        print_json(summary)
        return
    click.echo(_ingest_text(summary))
    warn_of_peak(summary["cluster_procs"], summary["cluster_procs_from"])
    _warn_of_more_in_use(summary)
    link_to_a_cluster(summary["source"])
    click.echo(f"\nNext: tracehouse run {summary['source']}", err=True)


def _warn_of_more_in_use(summary: dict[str, Any]) -> None:
    """Says that the size of the cluster is less than the log itself had in use."""
    procs, peak = summary["cluster_procs"], summary["peak_procs"]
    if peak is not None and peak > procs:
        click.echo(
            f"up to {peak:,} processors were in use at a time, and the {summary['cluster_procs_from']} says {procs:,}: give --procs "
            "where that is wrong (`tracehouse health` says on how many days)",
            err=True,
        )


def ask_zone() -> str:
    """The time zone that a user types. That of this machine, where he types none."""
    return str(
        click.prompt(
            "Time zone in which the log writes its times", default=machine_time_zone(), err=True, type=ZoneType()
        )
    )


class ZoneType(click.ParamType):
    """The name of a time zone."""

    name = "zone"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name. Fails, and is asked for again, where there is no such zone."""
        if value not in available_timezones():
            self.fail(f'unknown time zone {value!r}: expected an IANA name such as "Europe/Berlin"', param, ctx)
        return value


def _ingest_text(summary: dict[str, Any]) -> str:
    lines = [
        f"source    {summary['source']} ({summary['cluster_procs']} processors, from the {summary['cluster_procs_from']})",
        f"lines     {summary['lines']:,}",
        f"accepted  {summary['accepted']:,}",
    ]
    lines += [f"          {count:>9,}  no job of its own: {why}" for why, count in summary["repeats_by_reason"].items()]
    for outcome in OUTCOMES:
        lines.append(f"{outcome:<9} {summary[outcome]:,}")
        lines += [f"          {count:>9,}  {reason}" for reason, count in summary[f"{outcome}_by_reason"].items()]
    if summary["rejected"]:
        query = f"FROM raw.rejects WHERE source = '{summary['source']}'"
        lines.append(f'          {"where":>9}  tracehouse sql "{query}"')
    lines += summary.get("cluster_lines", [])
    if summary["unknown_columns"]:
        lines.append(f"columns that sacct does not have, not read: {', '.join(summary['unknown_columns'])}")
    return "\n".join(lines)
