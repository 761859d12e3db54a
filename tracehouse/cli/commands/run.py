"""The command `tracehouse run`."""

from pathlib import Path
from typing import NamedTuple

import click
from click.core import ParameterSource

from assets.common.progress import say_if_slow
from assets.common.storage import open_warehouse
from tracehouse.cli.commands.report import PIPE_WIDTH, print_line, print_results, report_values
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_option, print_json
from tracehouse.cli.parameters.names import complete_assets
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.jobs import raise_failures
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.catalogue import Catalogue, load_catalogue
from traces.catalogue.clusters import load_found

JOBS_OF_SOURCES = (
    *(
        "ingest",
        "train",
        "predict",
        "evaluate",
        "replay_runs",
        "population",
        "ddppo",
        "ddppo_transfer",
    ),
    *("experiments", "topology", "everything"),
)
"""All but topology are of a source."""


@click.command()
@source_argument("Only this source; repeat for more. Default: all.", several=True)
@click.option(
    "--job",
    type=click.Choice(JOBS_OF_SOURCES),
    default="everything",
    show_default=True,
    help="Part of the pipeline to run.",
)
@click.option(
    "--select",
    "selections",
    metavar="ASSETS",
    multiple=True,
    shell_complete=complete_assets,
    help="Only these assets, in Dagster's language: marts/report, +marts/report for all that it needs, group:policies. Repeat for more.",
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="YAML file with Dagster run configuration (ops: ...), as in the UI's launchpad.",
)
@json_option
@plain_errors
def run(names: tuple[str, ...], job: str, selections: tuple[str, ...], config: Path | None, as_json: bool) -> None:
    """Materialize the pipeline, raw log to report, and print what the reports say in short. Without SOURCE: of all sources.

    With --json: what was materialized and passed over, what failed, and the head figures of the reports.
    """
    from pipelines.step_log import recording_steps

    with recording_steps() as steps:
        outcome = _run(names, job, selections, config, as_json)
    if as_json:
        print_json(
            {
                "job": "selection" if selections else job,
                "steps": [step._asdict() for step in steps],
                "failed": [{"source": source, "because": why} for source, why in outcome.failures.items()],
            }
            | report_values(outcome.reported)
        )
    elif outcome.reported:
        print_results(outcome.reported, outcome.new)
    raise_failures(outcome.failures)


class RunOutcome(NamedTuple):
    """failures: what went wrong, by source. reported: sources with a new report. new: those that were read for the first time."""

    failures: dict[str, str]
    reported: list[str]
    new: list[str]


def _run(
    names: tuple[str, ...], job: str, selections: tuple[str, ...], config: Path | None, as_json: bool
) -> RunOutcome:
    from assets.replaying.running.loading import is_loaded
    from pipelines.running import read_config, run_job

    catalogue = load_catalogue()
    if selections:
        return RunOutcome(run_selection(catalogue, names, selections, config), [], [])
    if job == "topology":
        if names:
            raise ValueError("the job topology generates its jobs and is of no source: leave SOURCE out")
        return RunOutcome(run_job(job, [job], read_config(config), partitions=None), [], [])
    chosen = [catalogue.source(name).name for name in names] or list(catalogue.sources)
    new = [] if job != "everything" or config is not None else [name for name in chosen if not is_loaded(name)]
    failures = _first_looks(catalogue, new, as_json)
    failures |= run_job(job, [name for name in chosen if name not in failures], read_config(config))
    done = [name for name in chosen if name not in failures]
    return RunOutcome(failures, done if job in ("evaluate", "everything") else [], new)


def _first_looks(catalogue: Catalogue, names: list[str], as_json: bool) -> dict[str, str]:
    """Reads logs that are new, and prints what they say before anything is trained or replayed. Returns what went wrong by source.
    as_json: whether standard output is for JSON alone.

    The rules that a bundled log shows are made part of its cluster at once. Of another log that is for its owner to decide."""
    from assets.pages.render import first_answer
    from pipelines.running import run_job
    from tracehouse.identifying.log_rules import adopt_rules, identify_cluster

    failures = run_job("ingest", names) if names else {}
    for name in (name for name in names if name not in failures):
        if "site" in catalogue.source(name).generator and load_found(name) is None:
            with say_if_slow(f"looking for rules of {name} that no file names"):
                adoptable = identify_cluster(name).adoptable
            if adoptable:
                adopt_rules(name)
        click.secho(f"\n{name}", bold=True, err=as_json)
        for label, text in first_answer(open_warehouse(), name):
            print_line(label, text, terminal_width() or PIPE_WIDTH, as_json)
        click.echo(err=as_json)
    return failures


def run_selection(
    catalogue: Catalogue, names: tuple[str, ...], selections: tuple[str, ...], config: Path | None
) -> dict[str, str]:
    """Runs assets for sources, or for folders of VASP runs, if that is what they are of, and says the grades where they are among them.
    Returns what went wrong, by name. Raises ValueError for a --job beside them."""
    from assets.replaying.running.grade import grade_text
    from pipelines.running import read_config, run_job, select_assets

    if click.get_current_context().get_parameter_source("job") == ParameterSource.COMMANDLINE:
        raise ValueError("--select and --job exclude each other: leave one of them out")
    assets = select_assets(selections)
    if assets.partitions is None and names:
        raise ValueError(f"{' '.join(selections)}: of no source, leave SOURCE out")
    if assets.partitions == "vasp":
        chosen = [catalogue.vasp_source(name).name for name in names] or list(catalogue.vasp)
    elif assets.partitions == "sources":
        chosen = [catalogue.source(name).name for name in names] or list(catalogue.sources)
    else:
        chosen = ["selection"]
    failures = run_job("selection", chosen, read_config(config), assets.partitions, assets.keys)
    is_graded = "replay/fidelity" in {key.to_user_string() for key in assets.keys}
    for name in (name for name in chosen if is_graded and name not in failures):
        click.echo(folded(f"{name}: {grade_text(open_warehouse(), name)}", terminal_width(), 2), err=True)
    return failures
