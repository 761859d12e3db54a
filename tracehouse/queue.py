"""When the jobs that wait now start."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assets.common.learnable import why_no_model
from assets.common.progress import say_if_slow
from assets.common.storage import open_warehouse, pseudonym_key
from assets.ingest.zones import zone_of_source
from assets.replaying.own.slurm.moment import SlurmMoment, compared_moment, queue_file, read_moment
from assets.replaying.starts import OnSite, on_site
from assets.waits.loading import BY_JOBS_ALIKE
from assets.waits.queue_now import (
    QueueMoment,
    QueueNow,
    load_queue_now,
    snapshot_moment,
)
from models.waits.answers import Correction, correction_of, samples_of, start_interval
from models.waits.replays import RowStarts
from tracehouse.text.tables import duration
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.sources import Source
from traces.common.blocks import whole_content
from traces.common.log import LogError
from traces.common.queue import HELD, QueueSnapshot
from traces.queues import parse_queue, run_queue_command
from warehouse import Warehouse

NEVER_STARTS = "does not start in most of the replays: --why says what keeps it"
SAMPLES = 200
"""Replays of a queue."""
NONE, IF_KNOWN, NEEDED = "none", "if known", "needed"
"""What an answer has of the causes that keep jobs."""
LONGEST_USEFUL_S = 7 * 86_400
"""Of an interval of starts."""


class QueueAnswer(NamedTuple):
    """What is said of a queue. rows: a job each, see docs/guides/queue-now.md. lines: what holds for all of them. shares, factors: of users
    and jobs, next to those of sshare and sprio, None without these. moment: the source and when its queue was so, in words."""

    rows: pl.DataFrame
    lines: list[str]
    shares: pl.DataFrame | None = None
    factors: pl.DataFrame | None = None
    moment: str = ""

    def of_user(self, user: str) -> QueueAnswer:
        """The same for the jobs of one user."""
        rows = self.rows.filter(pl.col("user") == user)
        lines = self.lines if rows.height else [*self.lines, f"no job of {user} waits"]
        return self._replace(rows=rows, lines=lines)


def read_snapshot(source: Source, file: str | None) -> tuple[QueueSnapshot, QueueMoment]:
    """(the queue with the source's pseudonyms, when it was so). file: one, or a folder with it, - for standard input, None for the source's
    queue_command. Raises LogError, and ValueError where there is neither file nor command, or a folder has none."""
    read = QueueMoment(int(time.time()), "when it was read")
    if file is None:
        if not source.queue_command:
            raise ValueError(
                f'give FILE, or - for standard input, or set queue_command = "squeue --json" in [sources.{source.name}] of the catalogue'
            )
        place, text = f"queue_command of {source.name}", run_queue_command(source.queue_command)
    elif file == "-":
        place, text = "standard input", sys.stdin.read()
    else:
        file = str(queue_file(Path(file))) if Path(file).is_dir() else file
        place = file
        if not Path(file).exists():
            raise LogError(f"{file}: no such file; `squeue --json > {file}` writes one")
        try:  # a pipe of the shell has a writer, and is read once
            content = whole_content(Path(file)) if Path(file).is_file() else Path(file).read_bytes()
            text = content.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise LogError(f"{file}: cannot be read as a UTF-8 text file ({error})") from None
        read = QueueMoment(int(Path(file).stat().st_mtime), "when the file was changed last")
    snapshot = parse_queue(text, place, zone_of_source(open_warehouse(), load_catalogue(), source))
    if source.replaced_names:
        snapshot = snapshot.with_pseudonyms(source.replaced_names, pseudonym_key(open_warehouse()))
    return snapshot, snapshot_moment(snapshot, read, is_live=file is None)


def read_shares_and_priorities(source: Source, folder: str | None) -> SlurmMoment | None:
    """What a folder has of sshare and sprio, with the source's pseudonyms. None for what is no folder, and for one that has neither."""
    if folder is None or not Path(folder).is_dir() or (moment := read_moment(Path(folder))) is None:
        return None
    if source.replaced_names:
        return moment.with_pseudonyms(source.replaced_names, pseudonym_key(open_warehouse()))
    return moment


def with_causes(
    answer: QueueAnswer, source: str, snapshot: QueueSnapshot, now_s: int, moment: SlurmMoment | None = None
) -> QueueAnswer:
    """An answer with what keeps each job now: columns why (in words), behind_job, behind_user, limit, and the scheduler's own reason.
    now_s: when the queue was so, Unix seconds. moment: shares and priorities to compare with those that are computed. Raises ValueError
    where the source has no cluster."""
    from assets.replaying.own.queue_causes import queue_causes
    from simulator.slurm.waiting.words import CAUSE_WORDS

    with say_if_slow("following the queue"):
        causes = queue_causes(open_warehouse(), source, snapshot, now_s)
    if moment is not None:
        compared = compared_moment(moment, causes.state)
        lines = [*answer.lines, *compared.lines]
        answer = answer._replace(lines=lines, shares=compared.shares, factors=compared.factors)
    if not answer.rows.height:
        return answer
    reasons = {job.job_id: job.asked.reason for job in snapshot.jobs}
    names = ("behind_job", "behind_user", "limit")
    said = pl.DataFrame(
        {
            "job": causes.jobs["job_id"],
            "why": causes.jobs["now"].replace_strict(CAUSE_WORDS, default=None, return_dtype=pl.Utf8),
            **{name: causes.jobs[name] if causes.jobs.height else pl.Series(dtype=pl.Utf8) for name in names},
        }
    ).unique("job", keep="first")
    rows = answer.rows.join(said, on="job", how="left", maintain_order="left").with_columns(
        reason=pl.Series([reasons.get(job) for job in answer.rows["job"]], dtype=pl.Utf8)
    )
    lines = [f"what keeps jobs is by {causes.basis}"] if causes.basis else []
    if causes.odd_layouts:
        lines.append(f"{causes.odd_layouts:,} jobs run where they have no room by these rules")
    return answer._replace(rows=rows, lines=[*answer.lines, *lines])


def queue_now(
    source: Source,
    file: str | None = None,
    rival: tuple[str | None, str | None] = (None, None),
    drawn: tuple[int, int] = (SAMPLES, 1),
    causes: str = IF_KNOWN,
) -> QueueAnswer:
    """The answer about the queue of this moment. file: as `read_snapshot` takes it. rival, drawn: as `answer_queue` takes them. causes:
    whether it says what keeps each job: NONE, IF_KNOWN, or NEEDED, which raises ValueError where no cluster says so."""
    snapshot, moment = read_snapshot(source, file)
    answer = answer_queue(source.name, snapshot, moment, rival, drawn)
    if causes == NONE:
        return answer
    try:
        return with_causes(answer, source.name, snapshot, moment.second, read_shares_and_priorities(source, file))
    except ValueError:
        if causes == NEEDED:
            raise
    return answer


def answer_queue(
    source: str,
    snapshot: QueueSnapshot,
    moment: QueueMoment,
    rival: tuple[str | None, str | None],
    drawn: tuple[int, int],
) -> QueueAnswer:
    """What `tracehouse queue` says. moment: when the queue was so. rival: policy and backfilling to compare with, None
    each for that of the source. drawn: samples and seed."""
    warehouse, (samples, seed) = open_warehouse(), drawn
    order = {name: word for name, word in zip(("policy", "backfill"), rival, strict=True) if word is not None}
    other = on_site(warehouse, source, order) if order else None
    lines = [f"{source}: {snapshot.counts()}", *(fault for fault, _ in snapshot.faults)]
    with say_if_slow("predicting run times"):
        now = load_queue_now(warehouse, source, snapshot, moment.second, () if other is None else (other,))
    at = now.clock.full(now.state.now)
    lines[0] += f", at {at}, {moment.words}"
    named = f"{source}, {at}"
    if not now.entries:
        return QueueAnswer(_rows(now, snapshot, None, None), [*lines, "no job waits for processors"], moment=named)
    with say_if_slow("replaying the queue and queues of the past"):
        if not isinstance(now.starts, RowStarts):
            samples = samples_of(samples, len(now.state.waiting))
        starts, correction = now.starts(now.state, samples, seed), None
        if now.history is not None:
            correction = correction_of(now.history, now.state.now, seed, now.starts)
        rivals = None if other is None else other.starts(now.trace, now.place)(now.state, samples, seed)
    starts = starts[:, now.first]
    quantiles = start_interval(starts, correction)
    quantiles[np.isinf(quantiles[:, 1])] = np.inf
    lines.append(f"replayed {samples} times under {now.replays.words}")
    lines += [_interval_line(correction), *_limit_line(snapshot, now), *_long_line(quantiles)]
    later = "nobody comes later" if isinstance(now.starts, RowStarts) else "later jobs are drawn from the past"
    lines.append(f"{later}; {_runtime_words(warehouse, source, now.version)}")
    of_rival = None
    if other is not None and rivals is not None:
        of_rival = start_interval(rivals[:, now.first], correction)[:, 1]
        both = np.isfinite(of_rival) & np.isfinite(quantiles[:, 1])
        if both.any():
            means = [float(each[both].mean()) for each in (of_rival, quantiles[:, 1])]
            change = np.where(both, of_rival, 0.0) - np.where(both, quantiles[:, 1], 0.0)
            lines += _rival_lines(other, now, means, change)
    return QueueAnswer(_rows(now, snapshot, quantiles, of_rival), lines, moment=named)


def _interval_line(correction: Correction | None) -> str:
    if correction is None:
        return "80 % intervals are of the model only: the log has too few queues to correct them by"
    return f"80 % intervals are corrected by {correction.jobs:,} jobs of {correction.queues} past queues"


def _runtime_words(warehouse: Warehouse, source: str, version: int | None) -> str:
    if version is not None:
        return f"run times by version {version} of the run-time model"
    return f"run times {BY_JOBS_ALIKE}. {source} has no run-time model: {why_no_model(warehouse, source)}"


def _limit_line(snapshot: QueueSnapshot, now: QueueNow) -> list[str]:
    """What is said of jobs that limits keep, where the replays know no limits."""
    kept = snapshot.limits()
    if not kept or now.replays.site.is_described:
        return []
    reasons = ", ".join(f"{limit} {number:,}" for limit, number in kept.most_common())
    return [f"kept by a limit, which these starts do not know, so that they may be later: {reasons}"]


def _long_line(quantiles: np.ndarray) -> list[str]:
    """A warning where intervals are too long to tell a user. quantiles: of the starts, seconds, (jobs, 3)."""
    ends = quantiles[np.isfinite(quantiles[:, 1])]
    long = int((ends[:, 2] - ends[:, 0] > LONGEST_USEFUL_S).sum())
    if not long:
        return []
    return [f"{long} of {len(quantiles)} intervals are longer than a week, which is too long to tell a user"]


def _rival_lines(other: OnSite, now: QueueNow, means: list[float], change: np.ndarray) -> list[str]:
    """One line: the mean of the median starts under the other order and under the site's own, seconds, who gains most and who pays most.
    change: of each entry, seconds, 0 for one that either never starts."""
    line = f"under {other.order_words} jobs start after {duration(means[0])} from now on average instead of {duration(means[1])}"
    for place, word in ((int(change.argmin()), "gains"), (int(change.argmax()), "pays")):
        if (change[place] < -0.5) if word == "gains" else (change[place] > 0.5):
            line += f"; job {now.entries[place].job_id} {word} most, {duration(abs(change[place]))}"
    return [line]


def _rows(
    now: QueueNow, snapshot: QueueSnapshot, quantiles: np.ndarray | None, rivals: np.ndarray | None
) -> pl.DataFrame:
    """One row for each entry that waits, in order of submission, then those that cannot be predicted, with the reason. One that starts in
    none of the replays has no start. quantiles: seconds from now, (entries, 3). rivals: medians under another order, (entries,)."""
    never = [quantiles is not None and not np.isfinite(quantiles[k, 1]) for k in range(len(now.entries))]
    zero = now.clock.zero
    present = now.state.now
    rows: list[dict[str, Any]] = []
    unpredicted = [*now.left_out]
    unpredicted += [(job, job.because) for job in snapshot.jobs if job.state == HELD]
    for job, because in [
        *((job, NEVER_STARTS if is_never else "") for job, is_never in zip(now.entries, never, strict=True)),
        *unpredicted,
    ]:
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
        predicted["rival_start_p50_s"] = rivals
        predicted["change_s"] = np.where(np.isfinite(rivals), np.rint(rivals), np.nan) - np.rint(
            predicted["start_p50_s"]
        )
    missing = frame.height - len(now.entries)
    columns = {
        name: [round(float(second)) if np.isfinite(second) else None for second in values] + [None] * missing
        for name, values in predicted.items()
    }
    texts = {
        name.removesuffix("_s"): [None if second is None else now.clock.text(present + second) for second in seconds]
        for name, seconds in columns.items()
        if name != "change_s"
    }
    return frame.hstack(pl.DataFrame(columns | texts))
