"""`tracehouse models` and `tracehouse rollback`: the registry of run-time models."""

import click

from assets.common.storage import open_warehouse
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import print_json
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.catalogue import load_catalogue

INDENT = 7
"""Indent of what happened, where it does not fit in the line."""


@click.command()
@source_argument()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@plain_errors
def models(source: str, as_json: bool) -> None:
    """List what happened to a source's run-time models, newest first: which became champion, which were refused, and why."""

    from assets.common.learnable import why_no_model
    from assets.common.trace import load_clock

    load_catalogue().source(source)
    with open_warehouse().read() as connection:
        history = connection.sql(
            "SELECT * EXCLUDE (source) FROM predictions.model_history WHERE source = $source ORDER BY event DESC",
            params={"source": source},
        ).pl()
    if history.is_empty():
        raise ValueError(f"source {source!r} has no run-time model: {why_no_model(open_warehouse(), source)}")
    if as_json:
        print_json(history.to_dicts())
        return
    champion = history["champion"][0]
    clock = load_clock(open_warehouse(), source)
    width = terminal_width()
    about = "Errors are of the newest days, which a version is tested on before it is used."
    click.echo(folded(f"{source}: version {champion} is champion. Times are of {clock.name}. {about}\n", width))
    head = f"{'event':>5}  {'data until':<20}  {'version':>7}  {'predictor':<18}  {'mean error, s':>13}"
    click.echo(head if width is not None and width < len(head) + 20 else f"{head}  what happened")
    for row in history.iter_rows(named=True):
        until = clock.text((row["data_until"] - clock.zero).total_seconds())
        line = f"{row['event']:>5}  {until:<20}  {row['version']:>7}  {row['predictor']:<18}  {row['mean_absolute_error_s']:>13,.0f}"
        click.echo(folded(f"{line}  {row['kind']}: {row['reason']}", width, INDENT))


@click.command()
@source_argument()
@click.option(
    "--to", "version", type=click.IntRange(min=1), help="Version to go back to. Default: the champion before."
)
@plain_errors
def rollback(source: str, version: int | None) -> None:
    """Make an earlier run-time model champion again and predict with it. `tracehouse models` lists them.

    The next night's challenger is compared with this champion.
    """
    from assets.predictions.model_registry import roll_back
    from pipelines.running import run_job

    load_catalogue().source(source)
    before, now = roll_back(open_warehouse(), source, version)
    for problem in run_job("predict", [source]).values():
        raise ValueError(
            f"version {now} is champion again, instead of version {before}, but has not predicted yet: {problem}"
        )
    click.echo(f"{source}: version {now} is champion again, instead of version {before}. Its predictions are in use")
