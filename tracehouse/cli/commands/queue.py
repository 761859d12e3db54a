"""The command `tracehouse queue`: when the jobs that wait now will start."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assets.common.writing.outputs import write_output
from tracehouse.cli.errors import FAULTS_OF_USE, plain_errors
from tracehouse.cli.parameters.paths import FileToWrite
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.cli.queue_text import queue_text
from tracehouse.text.tables import terminal_width
from traces.catalogue.catalogue import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracehouse.queue import QueueAnswer


@click.command()
@source_argument("A source that is in the warehouse.")
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--policy", "-p", help="Compare with this order on the same site, as in `tracehouse replay`.")
@click.option("--backfill", "-b", help="Compare with this backfilling, as there.")
@click.option(
    "--samples",
    type=click.IntRange(10, 10_000),
    default=200,
    show_default=True,
    help="Replays of the queue; a long one has fewer.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the drawn run times.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "line", "csv", "json"]),
    default="table",
    show_default=True,
    help="Of the jobs. The line is for a message of the day.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: one object.")
@click.option("--out", type=FileToWrite(), metavar="FILE", help="Write into this file.")
@click.option("--why", "is_why", is_flag=True, help="What keeps each job now, by the rules of the source's cluster.")
@click.option("--user", help="The jobs of this user alone. The others are replayed, too.")
@click.option("--page", type=FileToWrite(), metavar="FILE", help="Write a page for browsers, with what keeps each job.")
@click.option(
    "--watch",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    help="Ask again and again, so many seconds after each answer.",
)
@plain_errors
def queue(
    source: str,
    file: str | None,
    policy: str | None,
    backfill: str | None,
    samples: int,
    seed: int,
    form: str,
    as_json: bool,
    out: Path | None,
    is_why: bool,
    user: str | None,
    page: Path | None,
    watch: int | None,
) -> None:
    """When do the jobs that wait now start? Each with an interval, and under another policy.

    FILE is what `squeue --json` (Slurm) or `qstat -f -F json` (PBS) printed, and - is standard input. Without FILE the source's
    queue_command of the catalogue is run. FILE may be a folder with the queue. With --why, what `sshare -a -l -P` and `sprio -l` printed
    there is compared with the shares and priorities that are computed. The queue is replayed many times from its present state, with run
    times that the champion predicts. What replays the source in every answer decides: the cluster's own Slurm or PBS, an order under its
    limits, or the order that fits the log best. Jobs that come later are drawn from the same hours of past weeks.

    \b
    squeue --json | tracehouse queue mycluster -
    tracehouse queue mycluster queue.json --policy SAF
    tracehouse queue mycluster queue.json --why
    tracehouse queue mycluster --watch 60 --page /var/www/queue.html
    """
    from tracehouse.app.queue_page import queue_page
    from tracehouse.queue import IF_KNOWN, NEEDED, NONE, queue_now

    if watch is not None and file == "-":
        raise click.UsageError(
            "--watch asks again, and standard input ends: give FILE, or queue_command in the catalogue"
        )
    declared, form = load_catalogue().source(source), "json" if as_json else form
    causes = NEEDED if is_why else NONE if page is None else IF_KNOWN

    def show_queue() -> None:
        answer = queue_now(declared, file, (policy, backfill), (samples, seed), causes)
        answer = answer if user is None else answer.of_user(user)
        if watch is not None and out is None and page is None:
            click.clear()
        _show(answer, form, out)
        if page is not None:
            write_output(page, queue_page(declared.name, answer.lines, answer.rows, watch).encode())

    _repeated(show_queue, watch)


def _repeated(show: Callable[[], None], every_s: int | None) -> None:
    """Shows the queue once, or again and again, also after a fault of the queue."""
    while True:
        try:
            show()
        except (*FAULTS_OF_USE, OSError) as error:
            if every_s is None or isinstance(error, BrokenPipeError):
                raise
            click.echo(f"{error}. The next answer is asked for in {every_s} s", err=True)
        if every_s is None:
            return
        time.sleep(every_s)


def _show(answer: QueueAnswer, form: str, out: Path | None) -> None:
    text = queue_text(answer, form, None if out else terminal_width())
    if out is None:
        click.echo(text, nl=False)
    else:
        write_output(out, text.encode())
    if form in ("csv", "json"):
        for line in answer.lines:
            click.echo(line, err=True)
