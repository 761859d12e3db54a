"""The commands `tracehouse cluster identify` and `tracehouse cluster adopt`."""

from __future__ import annotations

from pathlib import Path

import click

from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import print_json
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.clusters import command_to_link
from tracehouse.text.tables import terminal_width
from traces.catalogue.catalogue import load_catalogue


@click.command()
@source_argument(or_log=True)
@click.option("--procs", type=click.IntRange(min=1), help="Processors of the cluster. Default: from source or log.")
@click.option(
    "--budget", type=click.IntRange(min=10), default=400, show_default=True, help="Replays that the search may make."
)
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw the evidence (png, svg or pdf).")
@click.option("--rejected", "with_rejected", is_flag=True, help="List every candidate that was rejected, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all rejected candidates.")
@plain_errors
def identify(
    source: str, procs: int | None, budget: int, picture: Path | None, with_rejected: bool, as_json: bool
) -> None:
    """Find the rules in a log: limits, hours, sizes, the order of jobs. SOURCE is a source, or the path of a log.

    Candidates come from the first half of the log, and replays of that half choose among them. The second half says how well the rules
    explain what happened. Nothing changes until `tracehouse cluster adopt SOURCE`.

    \b
    Examples:
      tracehouse cluster identify mycluster
      tracehouse cluster identify old.swf.gz --procs 240 --picture rules.png
    """
    from tracehouse.identifying.log_rules import identify_cluster
    from tracehouse.text.rules_text import identification_text, identification_values, is_worse

    result = identify_cluster(source, procs, budget)
    if picture is not None:
        from assets.common.writing.outputs import output_beside
        from assets.replaying.limits.identified import logged_jobs
        from assets.replaying.limits.rules_picture import rules_figure

        figure = rules_figure(logged_jobs(result.trace), result.identification, result.trace.source)
        with output_beside(picture) as path:
            figure.savefig(path, format=picture.suffix.lstrip(".") or "png", dpi=150)
    if as_json:
        about = {"source": result.trace.source, "no_grade_because": result.no_grade_because}
        print_json(about | identification_values(result.identification))
        return
    text = identification_text(
        result.trace.source,
        result.identification,
        with_rejected,
        terminal_width(),
        result.described,
        result.no_grade_because,
    )
    click.echo(text)
    if result.adoptable and not is_worse(result.identification):
        click.echo(f"\nNext: tracehouse cluster adopt {source}, once you agree", err=True)


@click.command("adopt")
@source_argument()
@click.option("--revoke", is_flag=True, help="Take the found rules out of the cluster again.")
@plain_errors
def adopt_found(source: str, revoke: bool) -> None:
    """Make the rules that were found in the log of SOURCE part of its cluster.

    They stand at the end of the cluster's file, with origin = "found". Delete those that you deny. Rules that were adopted before are
    replaced.
    """
    from tracehouse.identifying.log_rules import adopt_rules

    adopted = adopt_rules(source, revoke)
    if revoke:
        gone = "" if adopted.file.exists() else ", and the file, which was made for them, is removed"
        click.echo(f"{adopted.file}: no found rules any more{gone}")
        if not adopted.named:
            click.echo(f"The catalogue names no cluster of {source} any more.", err=True)
        return
    click.echo(f"{adopted.file}: {adopted.rules:,} {'rule' if adopted.rules == 1 else 'rules'} found in the log")
    if not adopted.named:
        click.echo(f"Next: {_how_to_name(source, adopted.file.stem)}", err=True)
    else:
        click.echo(f"Next: tracehouse replay {source} --cluster {adopted.file.stem}", err=True)


def _how_to_name(source: str, cluster: str) -> str:
    """What names a cluster at a source that commands have not named it at: a command, or for a log without a path a line of the
    catalogue."""
    entry = load_catalogue(may_be_missing=True).sources.get(source)
    if entry is not None and entry.path is not None:
        return command_to_link(entry, cluster)
    place = "the catalogue" if entry is None else entry.declared_at
    return f'write cluster = "{cluster}" at the source, in {place}'
