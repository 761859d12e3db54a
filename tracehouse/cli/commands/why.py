"""`tracehouse why`: why jobs waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from models.waits.clock import LogClock
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_option, print_json
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.text.answers import is_left, why_values
from tracehouse.text.tables import TableColumn, fitted_table, folded, terminal_width

if TYPE_CHECKING:
    import polars as pl

    from assets.replaying.own.wait_causes import WaitCauses

GROUPS = ("user", "account", "queue", "qos")
_CAUSES = (TableColumn("what kept them", right=False), TableColumn("hours"), TableColumn("of all"), TableColumn("jobs"))
_GROUPED = (
    TableColumn("jobs that waited"),
    TableColumn("hours"),
    TableColumn("most for", right=False),
    TableColumn("of its hours"),
)


@click.command()
@source_argument()
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@click.option("--user", help="Only jobs of this user.")
@click.option("--account", help="Only jobs of this account.")
@click.option("--queue", "--partition", help="Only jobs of this queue or partition.")
@click.option("--period", help="Only jobs submitted then: last-month, 2026-03, last-30-days, 2026-03-01..2026-03-15.")
@click.option(
    "--by",
    type=click.Choice(GROUPS),
    multiple=True,
    help="Group by this, may be repeated.  [default: user]",
)
@click.option("--replay", "replayed", is_flag=True, help="Of the source's first replay, not of the log.")
@click.option(
    "--top", type=click.IntRange(min=1), default=5, show_default=True, help="Groups of a kind that are shown."
)
@click.option("--csv", "as_csv", is_flag=True, help="Write the seconds of every job by cause as CSV.")
@json_option
@plain_errors
def why(
    source: str,
    jobs: tuple[str, ...],
    user: str | None,
    account: str | None,
    queue: str | None,
    period: str | None,
    by: tuple[str, ...],
    replayed: bool,
    top: int,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Why jobs waited: hours by cause, which add up to the wait of every job.

    Starts and ends are those of the log. At every change of the queue the rules of the source's cluster say what keeps each job: a limit,
    a reservation, a resource that is missing, or jobs of higher priority, and by which factor. Where no rule is known, the job could have
    started: there is a rule that nobody has described. A source without a cluster is taken for a row of processors.

    \b
    Examples:
      tracehouse why mycluster
      tracehouse why mycluster 4711
      tracehouse why mycluster --user anna --period 2026-05
      tracehouse why mycluster --by queue --by account
    """
    from assets.common.storage import open_warehouse
    from assets.common.trace import load_clock
    from assets.replaying.own.wait_causes import chosen_waits, wait_causes
    from traces.catalogue.catalogue import load_catalogue

    name, warehouse = load_catalogue().source(source).name, open_warehouse()
    wanted = {"user": user, "account": account, "queue": queue}
    causes = wait_causes(warehouse, name, replayed)
    rows, words = chosen_waits(warehouse, name, causes, wanted, period, jobs)
    if as_csv:
        click.echo(rows.write_csv(), nl=False)
        return
    if as_json:
        print_json(why_values(name, causes, rows, words, by or GROUPS[:1], with_jobs=bool(jobs)))
        return
    width = terminal_width()
    if jobs:
        clock = load_clock(warehouse, name)
        texts = [job_text(causes, rows[k], clock, width) for k in range(rows.height)]
        click.echo("\n\n".join(texts))
        return
    click.echo(why_text(name, causes, rows, words, by or GROUPS[:1], top, width))


def why_text(
    source: str, causes: WaitCauses, rows: pl.DataFrame, words: str, kinds: tuple[str, ...], top: int, width: int | None
) -> str:
    """What is printed of several jobs. words: which they are, empty for all. width: of the terminal, None for a file."""
    from simulator.slurm.waiting.words import CAUSE_WORDS

    hours = float(rows["wait_s"].sum()) / 3600
    lines = [folded(fact, width) for fact in [*_waited(source, rows, words), f"by {causes.basis}"]]
    if causes.odd_layouts:
        jobs, have = ("job", "it has") if causes.odd_layouts == 1 else ("jobs", "they have")
        lines.append(f"{causes.odd_layouts:,} {jobs} started where {have} no room by these rules")
    for why_changed, count in causes.left_out.items():
        words = why_changed.replace("_", " ")
        lines.append(f"{count:,} {words.replace('jobs', 'job', 1) if count == 1 else words}")
    lines += ["", *fitted_table(_CAUSES, _cause_cells(causes.of(rows), hours), width)]
    for kind in kinds:
        groups = causes.by_group(rows, kind)
        if groups.is_empty():
            lines += ["", f"the log has no {kind}s"]
            continue
        cells = [
            [
                str(row["value"]),
                f"{row['jobs']:,}",
                f"{row['hours']:,.1f}",
                CAUSE_WORDS[row["cause"]],
                _share(row["share"]),
            ]
            for row in groups.head(top).iter_rows(named=True)
        ]
        lines += ["", f"by {kind}, most waiting first"]
        lines += fitted_table((TableColumn(kind, right=False), *_GROUPED), cells, width)
        if groups.height > top:
            lines.append(f"and {groups.height - top:,} more (--top)")
    limits = causes.limits(rows).head(top)
    if limits.height:
        lines += ["", "limits, most waiting first"]
        columns = (TableColumn("limit", right=False), TableColumn("jobs"), TableColumn("hours"))
        cells = [[limit, f"{jobs:,}", f"{each:,.1f}"] for limit, jobs, each in limits.iter_rows()]
        lines += fitted_table(columns, cells, width)
    return "\n".join(line.rstrip() for line in lines)


def _waited(source: str, rows: pl.DataFrame, words: str) -> list[str]:
    """How long the jobs waited that started, and what those waited besides that left the queue."""
    from assets.usage.waits_and_waste import hours_text, left_text

    started, left = rows.filter(rows["start_s"].is_not_null()), rows.filter(is_left(rows))
    hours, left_hours = (float(part["wait_s"].sum()) / 3600 for part in (started, left))
    mean = hours_text(hours / started.height) if started.height else "-"
    which = f" ({words})" if words else ""
    facts = [f"{source}: {started.height:,} jobs{which} waited {hours:,.0f} h in all, {mean} on average"]
    if left.height:
        after = left_text(left.height, hours_text(left_hours / left.height))
        facts.append(f"{after}: the hours by cause below are the {hours + left_hours:,.0f} h of both")
    return facts


def job_text(causes: WaitCauses, row: pl.DataFrame, clock: LogClock, width: int | None) -> str:
    """What is printed of one job. row: its row of WaitCauses.jobs."""
    from assets.replaying.own.wait_causes import log_second
    from assets.usage.waits_and_waste import hours_text

    job = row.row(0, named=True)
    hours = job["wait_s"] / 3600
    who = f" of user {job['user']}" if job["user"] else ""
    submitted = clock.full(log_second(job["submit_s"], clock))
    ending = "has not started" if job["start_s"] is None else f"started {clock.text(log_second(job['start_s'], clock))}"
    lines = [
        folded(f"job {job['job_id']}{who} waited {hours_text(hours)}: submitted {submitted}, {ending}", width),
        folded(f"by {causes.basis}", width),
        *fitted_table(_CAUSES[:3], [cells[:3] for cells in _cause_cells(causes.of(row), hours)], width),
    ]
    if job["behind_job"] is not None:
        owner = f" of user {job['behind_user']}" if job["behind_user"] else ""
        lines.append(f"longest behind job {job['behind_job']}{owner}, {hours_text(job['behind_s'] / 3600)} at one go")
    if job["limit"] is not None:
        lines.append(f"the limit: {job['limit']}")
    return "\n".join(line.rstrip() for line in lines)


def _cause_cells(table: pl.DataFrame, hours: float) -> list[list[str]]:
    from simulator.slurm.waiting.words import CAUSE_WORDS

    return [
        [
            CAUSE_WORDS[row["cause"]],
            f"{row['hours']:,.1f}",
            _share(row["hours"] / hours if hours else 0.0),
            f"{row['jobs']:,}",
        ]
        for row in table.sort("hours", descending=True).iter_rows(named=True)
    ]


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"
