"""What the catalogue says of a source that gives the rows of its log another meaning: the ledger has it for every file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from traces.catalogue.sources import Source
from traces.common.pseudonyms import fingerprint_of


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
