"""Which code made the rows of a log file: what the ledger says of it, and what it has to be today.

The ledger's `version` has two parts, such as `pbs-1/jobs-ab12cd34ef56`. The first is the version of the format's reader.
When it differs, the file is read again. The second is a hash of the statements that make canonical jobs of that format.
When only that one differs, no log is read, but all canonical jobs of the source are recomputed.

What the catalogue says of a source that gives the rows of its log another meaning: the ledger has it for every file.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

import sql
from assets.common.code.reach import essence
from traces.catalogue.sources import Source
from traces.common.pseudonyms import fingerprint_of
from traces.pbs.reader import PBS_READER_VERSION
from traces.slurm.reader import SLURM_READER_VERSION
from traces.swf.reader import SWF_READER_VERSION

READER_VERSIONS = {"swf": SWF_READER_VERSION, "slurm": SLURM_READER_VERSION, "pbs": PBS_READER_VERSION}

JOB_STATEMENTS = {
    log_format: (
        "core.capacity_from_jobs",
        "core.cluster_from_jobs",
        f"core.jobs_from_{log_format}",
        f"core.repeats_{log_format}",
        *more,
    )
    for log_format, more in {
        "swf": ("core.partial_swf",),
        "slurm": ("core.first_requeued_slurm", "core.requeued_slurm", "core.requeues_from_slurm"),
        "pbs": (
            "core.cancelled_pbs",
            "core.first_deleted_pbs",
            "core.requeues_from_pbs",
            "core.suspended_pbs",
            "core.suspensions_from_pbs",
        ),
    }.items()
}
"""The statements of `assets.ingest.canonical_jobs`, by format."""

HASHED_READERS = "f916bbd43d75"
"""What releases wrote before the version had two parts: a hash of all readers. It stands for version 1 of each reader."""
HASHED_JOBS = {"swf": "0e5f7f78283d", "slurm": "d578a41f44f2", "pbs": "0ea6fc9383a0"}
"""Hashes of the statements as they were in those releases. They never change."""


@dataclass(frozen=True)
class CodeVersion:
    """The code that made the rows of a log file. reader: such as "pbs-1". jobs: such as "jobs-ab12cd34ef56"."""

    reader: str
    jobs: str

    def __str__(self) -> str:
        return f"{self.reader}/{self.jobs}"


def current_version(log_format: str) -> CodeVersion:
    """The version of the code that runs now, for logs of one format."""
    texts = "\n".join(f"{name}: {essence(sql.load(name))}" for name in JOB_STATEMENTS[log_format])
    return CodeVersion(
        f"{log_format}-{READER_VERSIONS[log_format]}", f"jobs-{hashlib.sha256(texts.encode()).hexdigest()[:12]}"
    )


def recorded_version(text: str, log_format: str) -> CodeVersion:
    """The version that a row of the ledger tells, in the form of today."""
    if text == HASHED_READERS:
        return CodeVersion(f"{log_format}-1", f"jobs-{HASHED_JOBS[log_format]}")
    reader, _, jobs = text.partition("/")
    return CodeVersion(reader, jobs)


# --- settings


@dataclass(frozen=True)
class ReadingSettings:
    """How the rows of a log file were read.

    procs: processors of the cluster, None where only the jobs tell them. drop_wider: whether wider jobs are rejects.
    columns: of a Slurm log without a header line. pseudonyms: kinds of names that are replaced, in order. key: hash of the
    key of the pseudonyms, empty where names stay. time_zone: of the local times in the log, empty where the rows keep them
    as they are.
    """

    procs: int | None = None
    drop_wider: bool = False
    columns: str = ""
    pseudonyms: tuple[str, ...] = ()
    key: str = ""
    time_zone: str = ""

    def __str__(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def reading_settings(source: Source, procs: int | None, key: bytes | None, time_zone: str) -> ReadingSettings:
    """The settings of today. key: of the pseudonyms. time_zone: of the source, or the default."""
    return ReadingSettings(
        procs,
        source.drop_wider,
        source.columns,
        tuple(sorted(source.pseudonyms)) if key else (),
        fingerprint_of(key) if key else "",
        time_zone if source.format == "slurm" else "",  # records of PBS tell Unix seconds, and stamps stay local
    )


def hashed_settings(source: Source, path: str, settings: ReadingSettings, time_zone: str) -> str:
    """What the first releases wrote into the ledger instead of the settings: a hash."""
    decisive = [
        path,
        source.format,
        settings.procs,
        source.drop_wider,
        source.columns,
        list(settings.pseudonyms),
        settings.key,
        time_zone if source.format != "swf" else "",
    ]
    return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:16]


def recorded_settings(text: str) -> ReadingSettings | None:
    """The settings that a row of the ledger tells; None where it only has their hash."""
    if not text.startswith("{"):
        return None
    fields = json.loads(text)
    return ReadingSettings(**fields | {"pseudonyms": tuple(fields["pseudonyms"])})
