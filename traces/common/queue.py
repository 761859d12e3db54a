"""The queue of a scheduler at one moment: the jobs that run, wait or are held, as every reader of snapshots returns it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from traces.common.log import LARGEST_S
from traces.common.pseudonyms import PSEUDONYM_KINDS, pseudonym_of

RUNNING, WAITING, HELD = "running", "waiting", "held"
"""What a job of the queue does. A held one could not start on an idle cluster: somebody holds it, or it waits for a time or another job."""
BY_HAND = ("held", "JobHeldUser", "JobHeldAdmin")
"""Why a job is held that a user or an operator holds."""


@dataclass(frozen=True)
class QueueRequest:
    """What a job of the queue asked for besides processors and time, with the names and units of core.jobs; None or () where the scheduler
    does not say. node_names: that it runs on. eligible_s: Unix seconds. reason: why it waits, as the scheduler says."""

    nodes: int | None = None
    gpus: int | None = None
    gpu_types: str | None = None
    memory_kb: int | None = None
    qos: str | None = None
    reservation: str | None = None
    features: str | None = None
    is_exclusive: bool | None = None
    eligible_s: int | None = None
    priority: int | None = None
    reason: str | None = None
    node_names: tuple[str, ...] = ()


NOTHING_MORE = QueueRequest()


@dataclass(frozen=True)
class QueueJob:
    """One entry of the queue.

    state: RUNNING, WAITING or HELD. because: why it is held, else "". tasks: jobs that it stands for, above 1 for an array. procs: of one
    job. requested_walltime_s: seconds, -1 for none. submit_s, start_s: Unix seconds; start_s is None for a job that does not run. Names
    are None where the scheduler tells none. asked: what else it asked for. limit: which one keeps a waiting job, as the
    scheduler says, else "".
    """

    job_id: str
    state: str
    because: str
    tasks: int
    procs: int
    requested_walltime_s: int
    submit_s: int
    start_s: int | None
    user_name: str | None = None
    group_name: str | None = None
    account: str | None = None
    queue: str | None = None
    job_name: str | None = None
    asked: QueueRequest = NOTHING_MORE
    limit: str = ""


@dataclass(frozen=True)
class QueueSnapshot:
    """A queue as it was read. place: where from, for messages. written_s: when the scheduler wrote it, Unix seconds, None where it does
    not say. read: jobs that it lists, arrays counted as their tasks. ended: jobs that are over. faults: what is wrong with each job that
    cannot be used: (place and job and what was expected, jobs that it stands for). latest_s: the latest of its times that are no plans,
    Unix seconds, None for none."""

    place: str
    written_s: int | None
    jobs: tuple[QueueJob, ...]
    ended: int
    faults: tuple[tuple[str, int], ...]
    latest_s: int | None = None

    @property
    def read(self) -> int:
        """Jobs that the snapshot lists: those that run, wait, are held, are over, or have a fault."""
        return sum(job.tasks for job in self.jobs) + self.ended + sum(tasks for _, tasks in self.faults)

    def count(self, state: str) -> int:
        """Jobs in a state, arrays counted as their tasks."""
        return sum(job.tasks for job in self.jobs if job.state == state)

    def limits(self) -> Counter[str]:
        """Waiting jobs that limits keep, by the limit, arrays counted as their tasks."""
        kept = Counter[str]()
        for job in self.jobs:
            if job.state == WAITING and job.limit:
                kept[job.limit] += job.tasks
        return kept

    def counts(self) -> str:
        """The sum in words: what was read, and what became of it."""
        by_limits = self.limits().total()
        parts = [f"{self.count(RUNNING):,} {RUNNING}", f"{self.count(WAITING):,} {WAITING}"]
        parts[-1] += f" ({by_limits:,} of them kept by a limit)" if by_limits else ""
        held = Counter[str]()
        for job in self.jobs:
            held[job.because] += job.tasks if job.state == HELD else 0
        parts.append(f"{sum(held.pop(because, 0) for because in BY_HAND):,} held")
        if held.total():
            reasons = ", ".join(f"{because} {number:,}" for because, number in held.most_common() if number)
            parts.append(f"{held.total():,} not to start yet ({reasons})")
        parts += [f"{self.ended:,} over"] if self.ended else []
        parts += [f"{sum(tasks for _, tasks in self.faults):,} left out for a fault"] if self.faults else []
        return f"{self.read:,} {'job' if self.read == 1 else 'jobs'} read: {', '.join(parts)}"

    def with_pseudonyms(self, kinds: tuple[str, ...], key: bytes) -> QueueSnapshot:
        """The snapshot with the names of these kinds replaced, as they are in the log of the source."""
        columns = {column: kind for kind in kinds for column in PSEUDONYM_KINDS[kind]}

        def renamed(job: QueueJob) -> QueueJob:
            names: dict[str, Any] = {column: getattr(job, column, None) for column in columns}
            changed: dict[str, Any] = {c: pseudonym_of(key, columns[c], name) for c, name in names.items() if name}
            if "project" in kinds and job.asked.reservation:
                reservation = pseudonym_of(key, "project", job.asked.reservation)
                changed["asked"] = replace(job.asked, reservation=reservation)
            return replace(job, **changed)

        return replace(self, jobs=tuple(renamed(job) for job in self.jobs))


class QueueJobFault(ValueError):
    """A job of a snapshot that cannot be used; the message says what was expected. tasks: jobs that it stands for."""

    def __init__(self, message: str, tasks: int = 1) -> None:
        super().__init__(message)
        self.tasks = tasks


def snapshot_of(
    place: str, written_s: int | None, jobs: Iterable[QueueJob | QueueJobFault | None], latest_s: int | None = None
) -> QueueSnapshot:
    """A snapshot of what a reader made of each entry: a job, a fault with its message, or None for one that is over."""
    entries = list(jobs)
    return QueueSnapshot(
        place,
        written_s,
        tuple(entry for entry in entries if isinstance(entry, QueueJob)),
        sum(entry is None for entry in entries),
        tuple((f"{place}: {entry}", entry.tasks) for entry in entries if isinstance(entry, QueueJobFault)),
        latest_s,
    )


def whole_seconds(value: Any) -> int | None:
    """A number of seconds, None for what is none: 0, a text, a truth value, or more than a log can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LARGEST_S:
        return None
    return int(value)
