"""The commands `tracehouse replay` and `tracehouse compare`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assets.common.storage import open_warehouse
from pipelines.cli.errors import plain_errors
from pipelines.cli.replay_text import compare_text, replay_text
from pipelines.terminal import printable
from simulator.jobs.words import ADMIT_BY, CORRECTIONS, RESERVE_BY, RULE_SETS
from traces.catalogue.catalogue import load_catalogue

if TYPE_CHECKING:
    from assets.what_if.run import ReplayRun


@click.command()
@click.argument("trace_or_source")
@click.option("--policy", "-p", default="FCFS", show_default=True, help="Order of the queue, one of the list above.")
@click.option(
    "--backfill",
    "-b",
    default="easy",
    show_default=True,
    help="none, any, easy, easy-sjbf, conservative, selective:threshold=X (default 2), pick:OPTIONS, learned (the agent "
    "that picks trained for the source), or FILE.json, such an agent, or one of Deep Back-Filling, which decides all starts "
    "(docs/backfilling.md).",
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
    help="Run times the scheduler believes: requested, actual, predicted (or a quantile, predicted:p80), or live: from "
    "similar jobs that have ended in the replay, renewed while a job waits (live:mean, live:median, live:p80, "
    "live:slowdown, live:last_two).",
)
@click.option(
    "--reserve-by",
    type=click.Choice(RESERVE_BY),
    default="estimate",
    show_default=True,
    help="What a reservation believes of jobs that run: their estimate, or the wall time they requested, which no "
    "underestimate can upset.",
)
@click.option(
    "--admit-by",
    type=click.Choice(ADMIT_BY),
    default="estimate",
    show_default=True,
    help="What decides whether a job may go before a blocked one: its estimate, or the wall time it requested, so that no "
    "underestimate delays the blocked one.",
)
@click.option(
    "--correction",
    type=click.Choice(CORRECTIONS),
    default="requested",
    show_default=True,
    help="What it believes of a job that outlives its estimate.",
)
@click.option(
    "--rules",
    type=click.Choice(RULE_SETS),
    default="standard",
    show_default=True,
    help="rlscheduler: the rules of that paper's code, its own backfilling included, for comparison with its tables; "
    "corrected: with the true wait in WFP3 and UNICEP.",
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
@click.option("--cancelled", is_flag=True, help="Replay jobs, too, that were cancelled before they started.")
@click.option("--drop-wider", is_flag=True, help="Leave out jobs wider than the cluster instead of failing.")
@click.option(
    "--trim",
    type=click.FloatRange(0, 0.5, max_open=True),
    default=0.0,
    metavar="SHARE",
    help="Also give metrics without warm-up and cool-down: this share of the submission span cut at both ends.",
)
@click.option(
    "--load",
    metavar="FACTOR",
    default="1",
    show_default=True,
    help="Submit jobs so many times as densely: 1.1 or +10% for a tenth more work in the same time, -20% for less.",
)
@click.option(
    "--procs",
    metavar="NUMBER",
    help="Processors of the cluster: 300, or +10%, +16 and -4 from those of source or log. Default: these.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: settings, counts and every metric.")
@click.option(
    "--schedule",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the start of every job to this CSV file, times in the log's own seconds.",
)
@click.option(
    "--plots",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write gantt.png, usage.png and waits.png there.",
)
@click.option(
    "--save",
    metavar="NAME",
    help="Keep the run of a source in the warehouse (replay.runs), for SQL and "
    "`tracehouse compare`; a run of that name is replaced.",
)
@plain_errors
def replay(
    trace_or_source: str,
    as_json: bool,
    schedule: Path | None,
    plots: Path | None,
    save: str | None,
    outages: Path | None,
    load: str,
    procs: str | None,
    **settings: Any,
) -> None:
    """Replay a log (a path) or a source under a policy: what would have happened?

    Waits, slowdowns, utilisation and fairness are printed, beside what no schedule could have gone below.
    docs/replay.md shows every option; docs/semantics.md defines every rule and metric.

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
    from assets.what_if.settings import RunSettings, parse_load, parse_procs, read_outages
    from pipelines.cli.replaying import check_can_be_saved, replay_trace, summary

    if save is not None:
        check_can_be_saved(trace_or_source, save)
    if schedule is not None and not schedule.absolute().parent.is_dir():
        raise click.ClickException(f"{schedule.parent}: no such folder for --schedule")
    run = replay_trace(
        trace_or_source,
        RunSettings(outages=read_outages(outages) if outages is not None else [], load=parse_load(load), **settings),
        parse_procs(procs) if procs is not None else None,
    )
    if run.policy.placing is not None:
        click.echo(f"{settings['backfill']} decides all starts: nothing is ordered or reserved beside it", err=True)
    results = summary(run, trace_or_source)
    click.echo(json.dumps(results) if as_json else replay_text(results))
    _write_files(run, trace_or_source, schedule, plots)
    if save is not None:
        _save(run, trace_or_source, save, quiet=as_json)


def _write_files(run: ReplayRun, trace_or_source: str, schedule: Path | None, plots: Path | None) -> None:
    from pipelines.cli.replaying import starts_table, write_plots

    if schedule is not None:
        starts_table(run).write_csv(schedule)
    if plots is not None:
        title = f"{Path(trace_or_source).name}: {run.policy.text}, {run.settings.backfill}"
        for path in write_plots(run, title, plots):
            click.echo(f"wrote {path}", err=True)


def _save(run: ReplayRun, source: str, name: str, quiet: bool) -> None:
    from pipelines.cli.replaying import run_to_compare, save_run

    save_run(source, name, run.settings)
    other = run_to_compare(source, name)
    if other is not None and not quiet:
        other_run = printable(shlex.quote(other))  # the warehouse may be of somebody else
        click.echo(f"\nSaved. Next: tracehouse compare {source} {other_run} {name}", err=True)


@click.command()
@click.argument("source")
@click.argument("run_a")
@click.argument("run_b")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def compare(source: str, run_a: str, run_b: str, as_json: bool) -> None:
    """Compare two saved runs of a source over the same jobs: is B worth adopting where A runs?

    The verdict is on the later half of the jobs of a whole trace. B dominates if bounded slowdown and mean wait fall and nobody
    pays. It trades if somebody does, and harms if that is more than twofold. 95 % intervals are of the ratio in the typical of
    16 blocks of jobs. Every metric over all jobs follows, and B minus A job by job.
    """
    from assets.what_if.compare import compare_runs  # it needs scipy, which every command would load

    comparison = compare_runs(open_warehouse(), load_catalogue().source(source).name, run_a, run_b)
    click.echo(json.dumps(comparison) if as_json else compare_text(comparison))
