"""The command `tracehouse queue`: when the jobs that wait now will start."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from assets.common.storage import open_warehouse, pseudonym_key
from assets.common.writing.outputs import write_output
from simulator.jobs.words import partitions_text
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.paths import FileToWrite
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.cli.predicting.wait import duration
from tracehouse.cli.tables import folded, terminal_width
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.sources import Source
from traces.common.log import LogError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import polars as pl

    from assets.predictions.queue_now import QueueNow
    from models.waits.answers import QueueReplays
    from traces.common.queue import QueueSnapshot


class QueueAnswer(NamedTuple):
    """What is said of a queue. rows: a job each, see docs/guides/queue-now.md. lines: what holds for all of them."""

    rows: pl.DataFrame
    lines: list[str]


@click.command()
@source_argument("A source that is in the warehouse, with a run-time model.")
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--policy", "-p", help="Compare with this order of the queue, as in `tracehouse replay`.")
@click.option("--backfill", "-b", help="Compare with this backfilling, as there.")
@click.option(
    "--samples", type=click.IntRange(10, 10_000), default=200, show_default=True, help="Replays of the queue."
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the drawn run times.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="Of the jobs.",
)
@click.option("--out", type=FileToWrite(), metavar="FILE", help="Write into this file.")
@plain_errors
def queue(
    source: str,
    file: str | None,
    policy: str | None,
    backfill: str | None,
    samples: int,
    seed: int,
    form: str,
    out: Path | None,
) -> None:
    """When do the jobs that wait now start? Each with an interval, and under another policy.

    FILE is what `squeue --json` (Slurm) or `qstat -f -F json` (PBS) printed, and - is standard input. Without FILE the source's
    queue_command of the catalogue is run. The queue is replayed many times with run times that the champion predicts. The scheduler is
    the one that fits the log best where its grade is A or B, else that of the catalogue or the log's header, or FCFS with EASY. Nobody
    comes later.

    \b
    squeue --json | tracehouse queue mycluster -
    tracehouse queue mycluster queue.json --policy SAF
    """
    declared = load_catalogue().source(source)
    snapshot, read_s = read_snapshot(declared, file)
    answer = answer_queue(declared.name, snapshot, read_s, (policy, backfill), (samples, seed))
    text = queue_text(answer, form, None if out else terminal_width())
    if out is None:
        click.echo(text, nl=False)
    else:
        write_output(out, text.encode())
    if form != "table":
        for line in answer.lines:
            click.echo(line, err=True)


def read_snapshot(source: Source, file: str | None) -> tuple[QueueSnapshot, int]:
    """(the queue with the source's pseudonyms, Unix second at which it was read or its file was written). file: - for standard input, None
    for the source's queue_command. Raises LogError, and ValueError where there is neither file nor command."""
    from traces.queues import parse_queue, run_queue_command

    read_s = int(time.time())
    if file is None:
        if not source.queue_command:
            raise ValueError(
                f'give FILE, or - for standard input, or set queue_command = "squeue --json" in [sources.{source.name}] of the catalogue'
            )
        place, text = f"queue_command of {source.name}", run_queue_command(source.queue_command)
    elif file == "-":
        place, text = "standard input", sys.stdin.read()
    else:
        place = file
        try:
            text, read_s = Path(file).read_text(encoding="utf-8"), int(Path(file).stat().st_mtime)
        except FileNotFoundError:
            raise LogError(f"{file}: no such file; `squeue --json > {file}` writes one") from None
        except (OSError, UnicodeDecodeError) as error:
            raise LogError(f"{file}: cannot be read as a UTF-8 text file ({error})") from None
    snapshot = parse_queue(text, place, source.time_zone or load_catalogue().time_zone)
    if source.pseudonyms and source.format != "swf":  # an SWF log has numbers for names, and keeps them
        snapshot = snapshot.with_pseudonyms(source.pseudonyms, pseudonym_key(open_warehouse()))
    return snapshot, read_s


def answer_queue(
    source: str, snapshot: QueueSnapshot, read_s: int, rival: tuple[str | None, str | None], drawn: tuple[int, int]
) -> QueueAnswer:
    """What `tracehouse queue` says. read_s: when the snapshot was read, Unix seconds. rival: policy and backfilling to compare with, None
    each for that of the source. drawn: samples and seed."""
    from assets.predictions.queue_now import load_queue_now, snapshot_moment
    from assets.predictions.waits import load_wait_source
    from assets.what_if.grade import grade_of
    from assets.what_if.scenarios.base_scheduler import base_scheduler, stored_header
    from assets.what_if.settings import usual_backfill
    from models.waits.answers import QueueReplays
    from models.waits.queue_starts import correction_of, queue_quantiles
    from models.waits.replays import queue_start_times
    from tracehouse.cli.replaying import say_if_slow

    warehouse, (samples, seed) = open_warehouse(), drawn
    grade = grade_of(warehouse, source)
    scheduler = base_scheduler(grade, source, stored_header(warehouse, source))
    base = QueueReplays(samples, seed, scheduler.policy, scheduler.backfill)
    other = None
    if rival != (None, None):
        other = base._replace(policy=rival[0] or base.policy, backfill=usual_backfill(rival[1] or base.backfill))
    lines = [f"{source}: {snapshot.counts()}", *(fault for fault, _ in snapshot.faults)]
    with say_if_slow("predicting run times"):
        now = load_queue_now(warehouse, source, snapshot, snapshot_moment(snapshot, read_s))
    lines[0] += f", at {now.clock.full(now.state.now)}"
    if not now.entries:
        return QueueAnswer(_rows(now, snapshot, None, None), [*lines, "no job waits for processors"])
    with say_if_slow("replaying the queue and queues of the past"):
        starts = queue_start_times(now.state, samples, seed, base.policy, base.backfill)
        try:
            history = load_wait_source(warehouse, source).history
            correction = correction_of(history, now.state.now, seed, base.policy, base.backfill)
        except ValueError:  # no job of the log has a start, or none has a predicted run time
            correction = None
        rivals = None if other is None else queue_start_times(now.state, samples, seed, other.policy, other.backfill)
    quantiles = queue_quantiles(starts, correction)[now.first]
    lines.append(
        _scheduler_line(
            base, f"{scheduler.why}; {grade.words if grade else f'no grade: `tracehouse run {source}` gives it one'}"
        )
    )
    if scheduler.machine is not None and scheduler.machine.partitions:
        owned = partitions_text(dict(scheduler.machine.partitions))
        lines.append(f"by the log, queues own processors ({owned}): these replays let all jobs share all of them")
    lines.append(
        "80 % intervals are of the model only: the log has too few queues to correct them by"
        if correction is None
        else f"80 % intervals are corrected by {correction.jobs:,} jobs of {correction.queues} past queues"
    )
    lines.append(f"nobody comes later; run times by version {now.version} of the run-time model")
    if other is not None and rivals is not None:
        lines += _rival_lines(other, now, starts, rivals)
    return QueueAnswer(_rows(now, snapshot, quantiles, rivals), lines)


def _scheduler_line(base: QueueReplays, grade: str) -> str:
    return f"replayed {base.samples} times under {base.policy} with backfilling {base.backfill}; {grade}"


def _rival_lines(other: QueueReplays, now: QueueNow, starts: np.ndarray, rivals: np.ndarray) -> list[str]:
    """One line: the mean over the waiting jobs, who gains most and who pays most, by the medians of the table. starts, rivals: seconds,
    (samples, jobs)."""
    import numpy as np

    change = (np.median(rivals, axis=0) - np.median(starts, axis=0))[now.first]
    line = (
        f"under {other.policy} with backfilling {other.backfill} jobs start after {duration(rivals.mean())} from now on average "
        f"instead of {duration(starts.mean())}"
    )
    for place, word in ((int(change.argmin()), "gains"), (int(change.argmax()), "pays")):
        if (change[place] < -0.5) if word == "gains" else (change[place] > 0.5):
            line += f"; job {now.entries[place].job_id} {word} most, {duration(abs(change[place]))}"
    return [line]


def _rows(
    now: QueueNow, snapshot: QueueSnapshot, quantiles: np.ndarray | None, rivals: np.ndarray | None
) -> pl.DataFrame:
    """One row for each entry that waits, in order of submission, then those that cannot be predicted, with the reason."""
    import numpy as np
    import polars as pl

    from traces.common.queue import HELD

    zero = now.clock.zero
    present = now.state.now
    rows: list[dict[str, Any]] = []
    unpredicted = [(job, f"wider than the cluster of {now.state.cluster_procs:,}") for job in now.too_wide]
    unpredicted += [(job, job.because) for job in snapshot.jobs if job.state == HELD]
    for job, because in [*((job, "") for job in now.entries), *unpredicted]:
        submitted = job.submit_s - round((zero - zero.__class__(1970, 1, 1)).total_seconds())
        rows.append({
            "job": job.job_id, "user": job.user_name, "queue": job.queue, "procs": job.procs, "tasks": job.tasks,
            "requested_s": job.requested_walltime_s if job.requested_walltime_s > 0 else None,
            "waited_s": max(present - submitted, 0), "not_predicted": because or None,
        })  # fmt: skip
    named: dict[str, Any] = {"user": pl.Utf8, "queue": pl.Utf8, "not_predicted": pl.Utf8, "requested_s": pl.Int64}
    frame = pl.DataFrame(rows, schema_overrides=named) if rows else pl.DataFrame(schema={"job": pl.Utf8} | named)
    if quantiles is None:
        return frame
    predicted = {f"start_{name}_s": quantiles[:, k] for k, name in enumerate(("p10", "p50", "p90"))}
    if rivals is not None:
        predicted["rival_start_p50_s"] = np.median(rivals, axis=0)[now.first]
        predicted["change_s"] = np.rint(predicted["rival_start_p50_s"]) - np.rint(predicted["start_p50_s"])
    missing = frame.height - len(now.entries)
    columns = {
        name: [round(float(second)) for second in values] + [None] * missing for name, values in predicted.items()
    }
    texts = {
        name.removesuffix("_s"): [None if second is None else now.clock.text(present + second) for second in seconds]
        for name, seconds in columns.items()
        if name != "change_s"
    }
    return frame.hstack(pl.DataFrame(columns | texts))


def queue_text(answer: QueueAnswer, form: str, width: int | None) -> str:
    """The answer as a table, or as "csv" or "json" with all columns, in seconds from now. width: of the terminal, None for any."""
    from tracehouse.cli.query import table_text

    if form == "csv":
        return answer.rows.write_csv()
    if form == "json":
        return json.dumps({"lines": answer.lines, "jobs": answer.rows.to_dicts()}) + "\n"
    return "\n".join(folded(line, width) for line in answer.lines) + "\n" + table_text(_shown(answer.rows), width)


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns that people read: lengths of time in words."""
    import polars as pl

    def words(name: str) -> pl.Series:
        seconds = rows[name].to_list()
        signs = ["-" if second is not None and second < 0 else "" for second in seconds]
        texts = [
            "" if second is None else sign + duration(abs(second)) for sign, second in zip(signs, seconds, strict=True)
        ]
        return pl.Series(texts, dtype=pl.Utf8)

    if not rows.height:
        return rows
    shown = rows.select("job", "user", "procs").with_columns(words("waited_s").alias("waited"))
    if "start_p50" in rows.columns:
        short = _shortener(rows)
        ends = (short(rows[name]) for name in ("start_p10", "start_p90"))
        between = [f"{low} to {high}" if low else "" for low, high in zip(*ends, strict=True)]
        shown = shown.with_columns(pl.Series("starts", short(rows["start_p50"])), pl.Series("80 % interval", between))
    if "change_s" in rows.columns:
        rival = pl.Series("under the other", short(rows["rival_start_p50"]))
        shown = shown.with_columns(rival, words("change_s").alias("change"))
    shown = shown.with_columns(words("requested_s").alias("requested"), rows["queue"].fill_null(""))
    held = rows["not_predicted"].fill_null("")
    return shown.with_columns(held) if (held != "").any() else shown


def _shortener(rows: pl.DataFrame) -> Callable[[pl.Series], list[str]]:
    """What leaves the weekday out of local times, and the year, if all of them are of the same. Seconds of a log's own clock stay."""
    weekday, year = len("Sun "), len("2026-")
    names = [name for name in ("start_p10", "start_p50", "start_p90", "rival_start_p50") if name in rows.columns]
    years = {text[weekday : weekday + year] for name in names for text in rows[name].to_list() if text}
    left_out = weekday + (year if len(years) == 1 else 0)

    def short(times: pl.Series) -> list[str]:
        texts = ["" if text is None else text for text in times.to_list()]
        return [text if text.startswith("second") else text[left_out:] for text in texts]

    return short
