"""The commands `tracehouse vasp ...`: folders of VASP runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_text, print_json
from tracehouse.cli.parameters.sources import complete_vasp_sources, source_argument
from tracehouse.jobs import run_or_fail
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.catalogue import VaspSource, load_catalogue

if TYPE_CHECKING:
    import polars as pl


@click.group()
def vasp() -> None:
    """VASP run folders: what ran, how far running jobs are, and how long they still need."""


@vasp.command("sources")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array instead of a table.")
@plain_errors
def vasp_sources(as_json: bool) -> None:
    """List the folders of VASP runs in the catalogue."""
    listed = list(load_catalogue().vasp.values())
    if as_json:
        print_json([_row_of(source) for source in listed])
        return
    width = max((len(source.name) for source in listed), default=4)
    for source in listed:
        line = f"{source.name:<{width}}  {source.description or source.path or 'synthetic'}"
        click.echo(folded(line, terminal_width(), width + 2))
    click.echo("\nAdd one: tracehouse vasp ingest PATH --name NAME", err=True)


def _row_of(source: VaspSource) -> dict[str, Any]:
    return {
        "name": source.name,
        "path": str(source.path) if source.path else None,
        "time_zone": source.time_zone,
        "accounting": source.accounting or None,
        "description": source.description,
        "declared_at": source.declared_at,
    }


@vasp.command("ingest")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the folder in the catalogue. Default: its own name.")
@click.option(
    "--time-zone",
    help='Time zone of the cluster, such as "Europe/Berlin". Default: that of the catalogue or of this machine.',
)
@click.option("--accounting", help="The source whose jobs these runs are part of.")
@click.option("--replace", is_flag=True, help="Forget the runs of another folder that has this name.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def vasp_ingest(
    path: Path, name: str | None, time_zone: str | None, accounting: str | None, replace: bool, as_json: bool
) -> None:
    """Add a folder that holds VASP run folders, at any depth, and read it. Running it again reads what is new or has grown."""
    from tracehouse.vasp import ingest_runs

    summary = ingest_runs(path, name, time_zone, accounting, replace)
    if as_json:
        print_json(summary)
        return
    click.echo(_ingest_text(summary))
    click.echo(f"\nNext: tracehouse vasp run {summary['source']}", err=True)


def _ingest_text(summary: dict[str, Any]) -> str:
    lines = [f"folders   {summary['folders']:,}", f"accepted  {summary['accepted']:,}"]
    lines += [f"          {runs:>9,}  {state}" for state, runs in summary["runs_by_state"].items()]
    lines.append(f"rejected  {summary['rejected']:,}")
    lines += [f"          {count:>9,}  {reason}" for reason, count in summary["rejects_by_reason"].items()]
    return "\n".join(lines)


@vasp.command("run")
@source_argument("Only this folder of runs. Repeat for more. Default: all.", several=True, of_vasp=True)
@click.option(
    "--job",
    type=click.Choice(["vasp_ingest", "vasp_watch", "vasp", "rlschert"]),
    default="vasp",
    show_default=True,
    help="vasp_ingest reads, vasp_watch also predicts, vasp also trains and judges, and rlschert trains schedulers.",
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="YAML file with Dagster run configuration (ops: ...), as in the UI's launchpad.",
)
@plain_errors
def vasp_run(names: tuple[str, ...], job: str, config: Path | None) -> None:
    """Read run folders, train and judge predictors of remaining time, and predict what is running.

    Without SOURCE, all folders.
    """
    from pipelines.running import read_config

    catalogue = load_catalogue()
    chosen = [catalogue.vasp_source(name).name for name in names] or list(catalogue.vasp)
    run_or_fail(job, chosen, read_config(config), partitions="vasp")
    for name in chosen:
        click.echo(f"\nNext: tracehouse vasp remaining {name}", err=True)


@vasp.command("remaining")
@click.argument("source", shell_complete=complete_vasp_sources)
@click.option(
    "--all", "everything", is_flag=True, help="Also print what runs that ended without finishing would have needed."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, times in seconds.")
@plain_errors
def vasp_remaining(source: str, everything: bool, as_json: bool) -> None:
    """Print how long running VASP jobs still need, with the range that eight of ten ends fall into."""
    from tracehouse.vasp import remaining_times

    name = load_catalogue().vasp_source(source).name
    rows = remaining_times(name)
    rows = rows if everything else rows.filter(state="running")
    if as_json:
        click.echo(rows.write_json())
    elif rows.is_empty():
        click.echo(f"no run of {name} is {'without an end' if everything else 'running'}")
    else:
        click.echo(_remaining_text(rows))


@vasp.command("evaluate")
@click.option("--train", required=True, metavar="SOURCE", help="Folder of runs, in the catalogue, to learn from.")
@click.option("--test", required=True, metavar="SOURCE", help="Another one, whose finished runs are predicted.")
@click.option(
    "--predictor",
    "-p",
    type=click.Choice(["progress", "multimodal"]),
    default="progress",
    show_default=True,
    help="What is judged, beside the parameters alone (inputs_only) and the rivals.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the fits.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, errors in percent.")
@plain_errors
def vasp_evaluate(train: str, test: str, predictor: str, seed: int, as_json: bool) -> None:
    """Learn remaining times from all finished runs of one folder, and judge them on those of another.

    Errors are percent of the whole run time, after so many tenths of a run's electronic steps and in the mean over the run. Systems
    (elements, ions, electrons) that are also in the first folder are judged separately from those that are not. Rivals: ends_now
    (nothing is left), constant_median (every run takes the median whole run time of the first folder) and constant_share (every run
    is at the same share of its time). Nothing is stored. Runs of the first folder that are also in the second are left out of it.

    \b
    tracehouse vasp evaluate --train last-year --test this-year
    """
    from tracehouse.vasp import evaluate_transfer

    result = evaluate_transfer(train, test, predictor, seed)
    click.echo(json_text(result) if as_json else evaluation_text(result))


_BLOCKS = {
    "all runs": ("all", "all"),
    "systems not in --train": ("unseen", "all"),
    "systems in --train": ("seen", "all"),
    "single ionic step": ("all", "single"),
    "several ionic steps": ("all", "multiple"),
}
"""Runs that are shown together: their values of split and ionic."""
_TENTHS_SHOWN = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def evaluation_text(result: dict[str, Any]) -> str:
    """result: what `tracehouse vasp evaluate --json` prints."""
    lines = [
        f"learned from {result['trained_runs']:,} runs of {result['trained_systems']:,} systems of {result['train']}, judged on "
        f"{result['judged_runs']:,} runs of {result['judged_systems']:,} systems of {result['test']}"
    ]
    if result["repeated_runs"]:
        lines.append(f"left out: {result['repeated_runs']:,} runs of {result['test']} that are in {result['train']}")
    lines.append(
        "mean (median) error, percent of the whole run time; last: mean over the run, and true times in the 80 % interval"
    )
    head = "".join(f" {f'{share:.0%}':>11}" for share in _TENTHS_SHOWN) + f" {'run':>11}{'within':>8}"
    for label, (split, ionic) in _BLOCKS.items():
        rows = [row for row in result["scores"] if (row["split"], row["ionic"]) == (split, ionic)]
        if not rows or (split != "all" and rows[0]["runs"] == result["judged_runs"]):
            continue
        label = f"{label}: {rows[0]['runs']:,} runs, {rows[0]['systems']:,} systems"
        lines += ["", label, f"  {'after':<15}{head}"]
        for name in dict.fromkeys(row["predictor"] for row in rows):
            cells = {row["progress"]: row for row in rows if row["predictor"] == name}
            shown = [
                next(cells[p] for p in cells if p is not None and abs(p - share) < 0.01) for share in _TENTHS_SHOWN
            ]
            texts = [f"{row['mean_error']:,.0f} ({row['median_error']:,.0f})" for row in [*shown, cells[None]]]
            lines.append(
                f"  {name:<15}" + "".join(f" {text:>11}" for text in texts) + f"{cells[None]['coverage']:>8.0%}"
            )
    return "\n".join(lines)


def _remaining_text(rows: pl.DataFrame) -> str:
    lines = [f"{'used':>10} {'remaining':>10} {'10 %':>10} {'90 %':>10}  {'steps':>6}  {'state':<13} folder"]
    for row in rows.iter_rows(named=True):
        times = (_hours(row[c]) for c in ("used_s", "remaining_p50_s", "remaining_p10_s", "remaining_p90_s"))
        shown = " ".join(f"{text:>10}" for text in times)
        lines.append(f"{shown}  {row['electronic_steps']:>6}  {row['state']:<13} {row['folder']}")
    return "\n".join(lines)


def _hours(seconds: float) -> str:
    """Hours, minutes and seconds, as H:MM:SS."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
