"""The commands `tracehouse replay` and `tracehouse compare`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assets.common.storage import open_warehouse
from assets.common.writing.outputs import output_beside
from assets.what_if.changes.sizes import AskedProcs, parse_load, parse_nodes, parse_procs
from assets.what_if.scored_part import PartOptions, part_of
from pipelines.terminal import printable
from simulator.jobs.words import ADMIT_BY, CORRECTIONS, PLACES, RESERVE_BY, RULE_SETS, SHARING, TOGETHER
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.amounts import DurationType, ShareType
from tracehouse.cli.parameters.names import complete_backfilling, complete_policies
from tracehouse.cli.parameters.paths import FileToWrite, FolderToWrite
from tracehouse.cli.parameters.sources import complete_sources, complete_sources_and_files
from tracehouse.cli.parts import part_options, take_part
from tracehouse.text.replay_text import compare_text, placements_text, replay_text
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.catalogue import load_catalogue

if TYPE_CHECKING:
    from assets.what_if.on_nodes import NodeSettings
    from assets.what_if.run import ReplayRun

NODE_OPTIONS = ("topology", "hops", "procs_per_node", "nodes", "place", "period", "switches", "guard", "placing_seed")


@click.command()
@click.argument("trace_or_source", shell_complete=complete_sources_and_files)
@click.option(
    "--policy",
    "-p",
    default="FCFS",
    show_default=True,
    shell_complete=complete_policies,
    help="Order of the queue, one of the list above.",
)
@click.option(
    "--backfill",
    "-b",
    default="easy",
    show_default=True,
    shell_complete=complete_backfilling,
    help="none, any, easy, easy-sjbf, conservative, selective:threshold=X (default 2), pick:OPTIONS, learned (the agent "
    "that picks trained for the source), or FILE.json, such an agent, or one of Deep Back-Filling, which decides all starts "
    "(docs/guides/backfilling.md).",
)
@click.option(
    "--inspector",
    metavar="RULE|learned|FILE",
    help="Who accepts or rejects each pick of the policy: accept, unfit (rejects what does not fit), reject, learned (the inspector "
    "trained for the source), or FILE.json, a trained inspector.",
)
@click.option(
    "--estimates",
    default="requested",
    show_default=True,
    help="Run times the scheduler uses: requested, actual, predicted (or a quantile, predicted:p80), or live. Live ones come from "
    "similar jobs that have ended in the replay, updated while a job waits (live:mean, live:median, live:p80, "
    "live:slowdown, live:last_two).",
)
@click.option(
    "--reserve-by",
    type=click.Choice(RESERVE_BY),
    default="estimate",
    show_default=True,
    help="Time that reservations use for running jobs: their estimate, or the requested time, which no "
    "underestimate can upset.",
)
@click.option(
    "--admit-by",
    type=click.Choice(ADMIT_BY),
    default="estimate",
    show_default=True,
    help="What decides whether a job may go before a blocked one: its estimate, or its requested time, so that no "
    "underestimate delays the blocked one.",
)
@click.option(
    "--correction",
    type=click.Choice(CORRECTIONS),
    default="requested",
    show_default=True,
    help="Estimate of a job that has run longer than its estimate.",
)
@click.option(
    "--rules",
    type=click.Choice(RULE_SETS),
    default="standard",
    show_default=True,
    help="rlscheduler: the rules of that paper's code with its own backfilling, for comparison with its tables. "
    "rlscheduler-corrected: the same with the true wait in WFP3 and UNICEP.",
)
@click.option(
    "--window",
    metavar="START:LENGTH",
    help="Only these jobs: position of the first among the replayable jobs, from 0, and how many.",
)
@click.option(
    "--warm-start",
    is_flag=True,
    help="Begin with the jobs that were running or waiting by the log's own times.",
)
@click.option(
    "--outages",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV with start,end,procs and optionally announced, in the log's own seconds: processors missing.",
)
@click.option("--cancelled", is_flag=True, help="Also replay jobs that were cancelled before they started.")
@click.option("--drop-wider", is_flag=True, help="Leave out jobs wider than the cluster instead of failing.")
@click.option(
    "--trim",
    type=ShareType(0, 0.5, is_open=(False, True)),
    default=0.0,
    metavar="SHARE",
    help="Also give metrics without warm-up and cool-down: this share of the submission span cut at both ends.",
)
@click.option(
    "--load",
    metavar="FACTOR",
    default="1",
    show_default=True,
    help="How many times as densely jobs are submitted, such as 1.1 or +10% for a tenth more work in the same time.",
)
@click.option(
    "--procs",
    metavar="NUMBER",
    help="Processors of the cluster, such as 300, or a change such as +10% or -4. Default: from source or log.",
)
@click.option(
    "--without-queue",
    multiple=True,
    metavar="NAME",
    help="Leave the jobs of this queue, or partition, out. May be given several times.",
)
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="QUEUE=PROCS",
    help="Processors that a queue owns, such as gpu=64. Its jobs run on no others. May be given several times.",
)
@click.option(
    "--round-walltimes",
    metavar="LENGTH",
    help="Round requested times up to a multiple of this, such as 4h or 30min.",
)
@click.option(
    "--topology",
    metavar="TREE|FILE",
    help="Place jobs on nodes below switches: nodes per leaf x leaves per pod x pods (16x8x4), or Slurm's topology.conf "
    "(docs/guides/topology.md). Default: that of the source in the catalogue.",
)
@click.option(
    "--hops",
    metavar="NUMBERS",
    help="Hops between two nodes by the level of their lowest common switch, from the leaf up, such as 2,4,6.",
)
@click.option(
    "--procs-per-node",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Processors of a node. Default: from catalogue or log, or 1.",
)
@click.option(
    "--nodes",
    metavar="NUMBER|shared|whole",
    help="Nodes of the cluster instead of --procs, such as 32, or a change such as +10% or -4. With --topology it may be shared or whole: "
    "whether jobs share nodes, or take whole ones. Default: shared.",
)
@click.option(
    "--place",
    type=click.Choice(PLACES),
    help="Who chooses the nodes of a job. Default: tree, Slurm's best fit. looking-ahead also chooses the jobs.",
)
@click.option(
    "--every",
    "period",
    type=DurationType(),
    metavar="DURATION",
    help="The scheduler acts only this often, such as 60s or 5min. Default: always.",
)
@click.option(
    "--switches",
    metavar="LEAVES@WAIT",
    help="How long jobs wait for how few leaf switches, as with Slurm's --switches, such as 1@2h or 2@600s.",
)
@click.option(
    "--guard",
    type=click.IntRange(1),
    metavar="PERIODS",
    help="With --place looking-ahead: no job passes one that has waited this number of periods. Default: 11.",
)
@click.option(
    "--placing-seed",
    type=click.IntRange(0),
    metavar="NUMBER",
    help="Seed of the rules random, free and looking-ahead. Default: 1.",
)
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
def replay(
    trace_or_source: str,
    as_json: bool,
    save: str | None,
    outages: Path | None,
    load: str,
    **others: Any,
) -> None:
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
      multifactor                multifactor:age=1000,max_age_days=14,fairshare=10000,size=1000,half_life_days=7
      formula:TEXT               highest value first, as in PBS Professional: formula:10*eligible_time/walltime + ncpus
      FILE.py:NAME               a function of yours, lowest score first
      learned                    the policy trained for the source
      FILE.json                  a trained policy
    """
    from assets.what_if.settings import RunSettings, check_saved_settings, parse_partition, read_outages
    from tracehouse.replaying import check_can_be_saved, replay_trace, summary

    files = {name: others.pop(name) for name in ("placement", "schedule", "plots")}
    asked, size = PartOptions(**take_part(others)), _take_size(others)
    nodes = _nodes({name: others.pop(name) for name in NODE_OPTIONS}, files["placement"], trace_or_source)
    others["partitions"] = dict(parse_partition(text) for text in others["partitions"])
    settings = RunSettings(
        outages=read_outages(outages) if outages is not None else [], load=parse_load(load), **others
    )
    if save is not None:
        if nodes is None:
            check_saved_settings(settings)
        check_can_be_saved(trace_or_source, save)
    run = replay_trace(trace_or_source, settings, size, nodes, asked.labels)
    results = summary(run, trace_or_source, None if asked.is_all else part_of(run.logged_rows, run.trace.clock, asked))
    click.echo(json.dumps(results) if as_json else replay_text(results, terminal_width()))
    _remark(run, nodes, None if as_json else trace_or_source)
    _write_files(run, trace_or_source, **files)
    if save is not None:
        _save(run, trace_or_source, save, quiet=as_json)


def _take_size(given: dict[str, Any]) -> AskedProcs | None:
    """Takes the size of the cluster out of the options: --procs, or --nodes where that is a number. None without either."""
    procs, nodes = given.pop("procs"), given["nodes"]
    if nodes is None or nodes.strip().lower() in SHARING:
        given["nodes"] = nodes and nodes.strip().lower()
        return None if procs is None else parse_procs(procs)
    try:
        size = parse_nodes(nodes, given["procs_per_node"])
    except ValueError as error:
        raise ValueError(f"{error}. Or give shared or whole, for jobs that are placed on nodes") from None
    if procs is not None:
        raise ValueError("--procs and --nodes both say how large the cluster is: leave one of them out")
    given["nodes"] = None
    if all(given[name] is None for name in NODE_OPTIONS if name != "procs_per_node"):
        given["procs_per_node"] = None  # it says how large a node is, but not that jobs are placed on nodes
    return size


def _remark(run: ReplayRun, nodes: NodeSettings | None, graded: str | None) -> None:
    """What a reader must know beside the figures. graded: the source whose grade is printed, if it is."""
    alone = run.settings.backfill if run.policy.alone is not None else TOGETHER
    if run.policy.alone is not None or (nodes is not None and nodes.place == TOGETHER):
        click.echo(f"{alone} decides all starts: nothing is ordered or reserved beside it", err=True)
    if graded is not None:
        say_grade(graded)


def say_grade(trace_or_source: str) -> None:
    """Says how far replays of a source can be trusted, where that is known."""
    from assets.what_if.grade import grade_text
    from assets.what_if.loading import catalogue_source, is_loaded, is_path

    if is_path(trace_or_source):
        return
    source = catalogue_source(trace_or_source).name
    if is_loaded(source):
        said = grade_text(open_warehouse(), source)
        if said is not None:
            trust = f"\nHow far replays of {source} can be trusted: {printable(said)}"
            click.echo(folded(trust, terminal_width(of_errors=True)), err=True)


def _nodes(given: dict[str, Any], placement: Path | None, trace_or_source: str) -> NodeSettings | None:
    """The nodes of the options. Raises ClickException where neither they nor the catalogue have a tree."""
    from assets.what_if.loading import catalogue_source, is_path
    from assets.what_if.on_nodes import node_settings

    asked = {name: value for name, value in given.items() if value is not None}
    if not asked and placement is None:
        return None
    nodes = node_settings(asked, None if is_path(trace_or_source) else catalogue_source(trace_or_source))
    if nodes is None:
        option = next(iter(asked), "placement").replace("_", "-").replace("period", "every")
        raise click.ClickException(
            f"--{option} needs the tree of switches: give --topology, such as --topology 16x8x4, or `topology` of the source in the "
            "catalogue"
        )
    return nodes


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


@click.command()
@click.argument("source", shell_complete=complete_sources)
@click.argument("run_a")
@click.argument("run_b")
@part_options()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def compare(source: str, run_a: str, run_b: str, as_json: bool, **others: Any) -> None:
    """Compare two saved runs of a source over the same jobs: is B worth adopting where A runs?

    The verdict is on the later half of the jobs of a whole trace. B dominates if bounded slowdown and mean wait fall and no group
    pays. It trades if a group pays, and harms if that is more than twofold. Intervals of 95 % are of the ratio in the typical of
    16 blocks of jobs. Every metric over all jobs follows, and B minus A job by job.

    Two saved placements, which are replays on nodes, are compared by hop cost and wait.
    """
    from assets.what_if.compare import compare_runs, saved_runs
    from assets.what_if.compare_placements import compare_placements, saved_placements

    part = PartOptions(**take_part(others))
    warehouse, name = open_warehouse(), load_catalogue().source(source).name
    if {run_a, run_b} <= set(saved_placements(warehouse, name)) - set(saved_runs(warehouse, name)):
        if not part.is_all:
            raise click.ClickException(
                "placements are compared as a whole: leave --period, --from, --to, --queue, --user, --account out"
            )
        placements = compare_placements(warehouse, name, run_a, run_b)
        click.echo(json.dumps(placements) if as_json else placements_text(placements, terminal_width()))
        return
    comparison = compare_runs(warehouse, name, run_a, run_b, part)
    click.echo(json.dumps(comparison) if as_json else compare_text(comparison, terminal_width()))
    if not as_json:
        say_grade(name)
