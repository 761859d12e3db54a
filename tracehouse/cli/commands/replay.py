"""The command `tracehouse replay`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assets.common.storage import open_warehouse
from assets.common.writing.outputs import output_beside
from assets.replaying.running.scored_part import PartOptions, part_of
from assets.replaying.running.settings import NodeSettings, RunSettings, check_saved_settings
from pipelines.terminal import printable
from simulator.jobs.words import TOGETHER
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_text
from tracehouse.cli.parameters.paths import FileToWrite, FolderToWrite
from tracehouse.cli.parameters.settings import part_options, setting_options, take_part, without_defaults
from tracehouse.cli.parameters.sources import complete_sources_and_files
from tracehouse.text.replay_text import replay_text
from tracehouse.text.tables import folded, terminal_width

if TYPE_CHECKING:
    from assets.replaying.running.run import ReplayRun


@click.command()
@click.argument("trace_or_source", shell_complete=complete_sources_and_files)
@setting_options(RunSettings)
@setting_options(NodeSettings, has_defaults=False)
@part_options()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: settings, counts and every metric.")
@click.option(
    "--placement",
    type=FileToWrite(),
    metavar="FILE",
    help="Write the nodes of every job, and what they cost, to this CSV file.",
)
@click.option(
    "--schedule",
    type=FileToWrite(),
    metavar="FILE",
    help="Write the start of every job to this CSV file, times in the log's own seconds.",
)
@click.option(
    "--plots",
    type=FolderToWrite(),
    metavar="FOLDER",
    help="Write gantt.png, usage.png and waits.png there, and nodes.png where jobs are placed.",
)
@click.option(
    "--save",
    metavar="NAME",
    help="Keep the run of a source in the warehouse (replay.runs), for SQL and "
    "`tracehouse compare`. A run of that name is replaced.",
)
@plain_errors
def replay(trace_or_source: str, as_json: bool, save: str | None, **given: Any) -> None:
    """Replay a log (a path) or a source under a policy: what would have happened?

    Prints waits, slowdowns, utilisation and fairness. docs/guides/replay.md has examples, and
    docs/reference/semantics.md defines every metric.

    \b
    Policies, names in any case:
      FCFS, LCFS                 first (last) come first served
      SJF, LJF                   shortest (longest) estimate first
      smallest, largest, SAF     fewest (most) processors first, smallest area first
      LAF                        largest area first
      SRF, LRF                   smallest (largest) estimate by processor first
      SEXP, LEXP                 smallest (largest) expansion factor first
      inspector-SJF, inspector-SEXP, inspector-LEXP, inspector-multifactor
                                 SchedInspector's, where its names are those of other policies here
      WFP3, UNICEP, F1 to F4     scores of the literature: WFP3, UNICEP, F1, F2, F3, F4
      tetris, tetris-star        best packing first, packing and shortness
      random                     random:seed=1
      fairshare                  fairshare:half_life_days=7
      bounded-key                bounded-key:factor=10,cap_hours=12
      searched:cautious, searched:balanced, searched:fast
                                 searched on whole logs: less waiting for the most, more for the few
      multifactor                multifactor:age=1000,max_age_days=14,fairshare=10000,size=1000,half_life_days=7
      formula:TEXT               highest value first, as in PBS Professional: formula:10*eligible_time/walltime + ncpus
      FILE.py:NAME               a function of yours, lowest score first
      slurm, pbs                 the scheduler that the source's cluster describes: usual where it has one
      slurm:POLICY, pbs:POLICY   the same, with an order in place of its own: slurm:SAF,
                                 under Slurm also one that changes: slurm:WFP3, slurm:FILE.json
      learned                    the policy trained for the source
      FILE.json                  a trained policy
    """
    from tracehouse.replaying import NoTree, asked_settings, check_can_be_saved, replay_trace, summary

    files = {name: given.pop(name) for name in ("placement", "schedule", "plots")}
    scored = PartOptions(**take_part(given))
    try:
        asked = asked_settings(without_defaults(given), trace_or_source, on_nodes=files["placement"] is not None)
    except NoTree as error:
        option = error.setting.replace("_", "-").replace("period", "every")
        raise click.ClickException(
            f"--{option} needs the tree of switches: give --topology, such as --topology 16x8x4, or `topology` of the source in the "
            "catalogue"
        ) from None
    if save is not None:
        if asked.nodes is None:
            check_saved_settings(asked.settings)
        check_can_be_saved(trace_or_source, save)
    run = replay_trace(trace_or_source, asked, scored.labels)
    part = None if scored.is_all else part_of(run.logged_rows, run.trace.clock, scored)
    results = summary(run, trace_or_source, part)
    click.echo(json_text(results) if as_json else replay_text(results, terminal_width()))
    _remark(run, None if as_json else trace_or_source)
    _write_files(run, trace_or_source, **files)
    if save is not None:
        _save(run, trace_or_source, save, quiet=as_json)


def _remark(run: ReplayRun, graded: str | None) -> None:
    """What a reader must know beside the figures. graded: the source whose grade is printed, if it is."""
    nodes = None if run.ground is None else run.ground.settings
    alone = run.settings.backfill if run.policy.alone is not None else TOGETHER
    if run.policy.alone is not None or (nodes is not None and nodes.place == TOGETHER):
        click.echo(f"{alone} decides all starts: nothing is ordered or reserved beside it", err=True)
    if graded is not None:
        say_grade(graded, run.settings.policy)


def say_grade(trace_or_source: str, policy: str | None = None, run: str | None = None) -> None:
    """Says how far replays of a source can be trusted, where that is known. policy: of the replay, where it is about one. run: the name
    that it was saved by, where the sentence is to name it."""
    from assets.replaying.running.grade import grade_text
    from assets.replaying.running.loading import catalogue_source, is_loaded, is_path

    if is_path(trace_or_source):
        return
    source = catalogue_source(trace_or_source).name
    if is_loaded(source):
        said = grade_text(open_warehouse(), source, policy)
        if said is not None:
            what = f"replays of {source}" if run is None else f"the run {run} of {source}"
            trust = f"\nHow far {what} can be trusted: {printable(said)}"
            click.echo(folded(trust, terminal_width(of_errors=True)), err=True)


def _write_files(
    run: ReplayRun, trace_or_source: str, placement: Path | None, schedule: Path | None, plots: Path | None
) -> None:
    from tracehouse.replaying import placement_table, starts_table, write_plots

    if schedule is not None:
        with output_beside(schedule) as new:
            starts_table(run).write_csv(new)
    if placement is not None:
        with output_beside(placement) as new:
            placement_table(run).write_csv(new)
    if plots is not None:
        title = f"{Path(trace_or_source).name}: {run.policy.text}, {run.settings.backfill}"
        for path in write_plots(run, title, plots):
            click.echo(f"wrote {path}", err=True)


def _save(run: ReplayRun, source: str, name: str, quiet: bool) -> None:
    from tracehouse.replaying import run_to_compare, save_run

    placed = run.ground is not None
    save_run(source, name, run.settings, run.ground.settings if run.ground is not None else None)
    other = run_to_compare(source, name, placed)
    if other is not None and not quiet:
        other_run = printable(shlex.quote(other))  # another person may have made the warehouse
        click.echo(f"\nSaved. Next: tracehouse compare {source} {other_run} {name}", err=True)
