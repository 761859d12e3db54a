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
from assets.predictions.queue_now import (
    QueueMoment,
    QueueNow,
    TreeStarts,
    load_queue_now,
    snapshot_moment,
    tree_starts,
)
from assets.predictions.waits import BY_JOBS_ALIKE, load_wait_source
from assets.replaying.own.slurm.moment import SlurmMoment, compared_moment, queue_file, read_moment
from assets.replaying.running.replayers import usual_backfill
from assets.replaying.running.settings import OWN_SCHEDULERS
from assets.replaying.site import site_of
from assets.usage.cluster_check import described_cluster
from models.waits.answers import Correction, QueueReplays, correction_of, queue_quantiles
from models.waits.replays import queue_start_times
from simulator.jobs.words import partitions_text
from tracehouse.text.tables import duration
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.sources import Source
from traces.common.blocks import whole_content
from traces.common.log import LogError
from traces.common.queue import HELD, QueueSnapshot
from traces.queues import parse_queue, run_queue_command
from warehouse import Warehouse

LEAST_FULLER = 0.05
"""Of the past queues must have as much work waiting as the present one, so that no warning is needed."""
LONGEST_USEFUL_S = 7 * 86_400
"""Of an interval of starts."""


class QueueAnswer(NamedTuple):
    """What is said of a queue. rows: a job each, see docs/guides/queue-now.md. lines: what holds for all of them. shares, factors: of users
    and jobs, next to those of sshare and sprio, None without these."""

    rows: pl.DataFrame
    lines: list[str]
    shares: pl.DataFrame | None = None
    factors: pl.DataFrame | None = None


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
        answer = QueueAnswer(answer.rows, [*answer.lines, *compared.lines], compared.shares, compared.factors)
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
    site = site_of(source, warehouse)
    scheduler = site.row
    base = QueueReplays(samples, seed, scheduler.policy, scheduler.backfill)
    other = None
    if rival != (None, None):
        other = base._replace(policy=rival[0] or base.policy, backfill=usual_backfill(rival[1] or base.backfill))
    lines = [f"{source}: {snapshot.counts()}", *(fault for fault, _ in snapshot.faults)]
    with say_if_slow("predicting run times"):
        now = load_queue_now(warehouse, source, snapshot, moment.second)
    lines[0] += f", at {now.clock.full(now.state.now)}, {moment.words}"
    if not now.entries:
        return QueueAnswer(_rows(now, snapshot, None, None), [*lines, "no job waits for processors"])
    with say_if_slow("replaying the queue and queues of the past"):
        starts = queue_start_times(now.state, samples, seed, base.policy, base.backfill)
        trees = tree_starts(warehouse, source, described_cluster(warehouse, source), snapshot, moment.second, seed)
        correction = None if trees is not None else _correction(warehouse, source, now, base)
        rivals = None if other is None else queue_start_times(now.state, samples, seed, other.policy, other.backfill)
    quantiles = queue_quantiles(starts, correction)[now.first]
    if trees is not None:
        quantiles = np.array([trees.starts[job.job_id][:3] for job in now.entries])
    if site.own_cluster is not None:
        own = OWN_SCHEDULERS[site.scheduler.policy]
        left_out = f"without the limits, partitions and shares of its own {own}, which --why knows"
        lines.append(_scheduler_line(base, f"{left_out}; these replays have no grade"))
    elif site.is_described:
        lines.append(_scheduler_line(base, f"{scheduler.why}; these replays have no grade"))
    else:
        lines.append(_scheduler_line(base, f"{scheduler.why}; {site.trust}"))
    if scheduler.machine is not None and scheduler.machine.partitions:
        owned = partitions_text(dict(scheduler.machine.partitions))
        lines.append(f"by the log, queues own processors ({owned}): these replays let all jobs share all of them")
    lines += [_interval_line(correction, trees), *_fuller_line(trees), *_limit_line(snapshot), *_long_line(quantiles)]
    lines.append(f"nobody comes later; {_runtime_words(warehouse, source, now.version)}")
    if other is not None and rivals is not None:
        lines += _rival_lines(other, now, starts, rivals)
    return QueueAnswer(_rows(now, snapshot, quantiles, rivals), lines)


def _correction(warehouse: Warehouse, source: str, now: QueueNow, base: QueueReplays) -> Correction | None:
    try:
        history = load_wait_source(warehouse, source).history
        return correction_of(history, now.state.now, base.seed, base.policy, base.backfill)
    except ValueError:  # no job of the log has a start, or none has a predicted run time
        return None


def _interval_line(correction: Correction | None, trees: TreeStarts | None) -> str:
    if trees is not None:
        return (
            f"starts and 80 % intervals are by trees on the work ahead of each job in priority order, from {trees.jobs:,} jobs of "
            f"{trees.queues} past queues"
        )
    if correction is None:
        return "80 % intervals are of the model only: the log has too few queues to correct them by"
    return f"80 % intervals are corrected by {correction.jobs:,} jobs of {correction.queues} past queues"


def _runtime_words(warehouse: Warehouse, source: str, version: int | None) -> str:
    if version is not None:
        return f"run times by version {version} of the run-time model"
    return f"run times {BY_JOBS_ALIKE}. {source} has no run-time model: {why_no_model(warehouse, source)}"


def _fuller_line(trees: TreeStarts | None) -> list[str]:
    """A warning where the trees have hardly seen a queue that was as full."""
    if trees is None or trees.fuller >= LEAST_FULLER * trees.queues:
        return []
    seen = (
        f"{trees.fuller} of the {trees.queues} past queues"
        if trees.fuller
        else f"none of the {trees.queues} past queues"
    )
    return [
        f"warning: {seen} had as much work waiting as this one, and trees cannot go beyond what they have learned from: starts may be much "
        "later than these, and outside of the intervals"
    ]


def _limit_line(snapshot: QueueSnapshot) -> list[str]:
    """What is said of jobs that limits keep."""
    kept = snapshot.limits()
    if not kept:
        return []
    reasons = ", ".join(f"{limit} {number:,}" for limit, number in kept.most_common())
    return [f"kept by a limit, which these starts do not know, so that they may be later: {reasons}"]


def _long_line(quantiles: np.ndarray) -> list[str]:
    """A warning where intervals are too long to tell a user. quantiles: of the starts, seconds, (jobs, 3)."""
    long = int((quantiles[:, 2] - quantiles[:, 0] > LONGEST_USEFUL_S).sum())
    if not long:
        return []
    return [f"{long} of {len(quantiles)} intervals are longer than a week, which is too long to tell a user"]


def _scheduler_line(base: QueueReplays, grade: str) -> str:
    return f"replayed {base.samples} times under {base.policy} with backfilling {base.backfill}; {grade}"


def _rival_lines(other: QueueReplays, now: QueueNow, starts: np.ndarray, rivals: np.ndarray) -> list[str]:
    """One line: the mean over the waiting jobs, who gains most and who pays most, by the medians of the table. starts, rivals: seconds,
    (samples, jobs)."""
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
