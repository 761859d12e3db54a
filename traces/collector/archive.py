"""What `collect.sh` has packed: a log by day, the scheduler's configuration, and a manifest.

The collector: a shell script for a login node, which needs nothing of tracehouse there.
"""

from __future__ import annotations

import tarfile
import zlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

_MANIFEST = "MANIFEST"
_FIRST_LINE = "tracehouse-collection 1"
_FACTS = ("scheduler", "version", "time_zone", "from", "to", "key")
_SCHEDULERS = ("slurm", "pbs")


@dataclass(frozen=True)
class CollectedSite:
    """An unpacked archive. scheduler: "slurm" or "pbs", which is the log's format too. time_zone: of the site. first_day, last_day: of the
    log. key: fingerprint of the key of its pseudonyms. missing: what the script could not read, and what it left at the site."""

    folder: Path
    scheduler: str
    version: str
    time_zone: str
    first_day: str
    last_day: str
    key: str
    missing: tuple[str, ...]

    @property
    def log(self) -> Path:
        """The folder of the log."""
        return self.folder / "accounting"

    @property
    def configuration(self) -> Path:
        """The folder of the configuration."""
        return self.folder / "configuration"

    @property
    def state(self) -> Path:
        """The folder of what the scheduler said when the archive was made: its queue, priorities and cycles."""
        return self.folder / "state"


def is_collection(path: Path) -> bool:
    """Whether a file is an archive of the collector. A file that cannot be read is none, and a pipe is not waited for."""
    if not path.is_file():
        return False
    try:
        with tarfile.open(path) as packed:
            return any(PurePosixPath(name).name == _MANIFEST for name in packed.getnames())
    except (OSError, EOFError, zlib.error, tarfile.TarError):
        return False


def unpack_collection(archive: Path, folder: Path) -> CollectedSite:
    """Unpacks an archive into `folder`, which is made, and reads its manifest.

    Raises ValueError, with the archive and what was expected, for a file that is none, for one that is cut off, and for names that lead
    out of the folder.
    """
    try:
        with tarfile.open(archive) as packed:
            folder.mkdir(parents=True, exist_ok=True)
            packed.extractall(folder, filter="data")
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise ValueError(
            f"{archive}: expected an archive of `tracehouse collect` that is whole, but: {error}"
        ) from error
    inner = [path.parent for path in sorted(folder.glob(f"*/{_MANIFEST}"))]
    if len(inner) != 1:
        raise ValueError(f"{archive}: expected one folder with a {_MANIFEST} in the archive, found {len(inner)}")
    return read_collection(inner[0])


def read_collection(folder: Path) -> CollectedSite:
    """An archive that is unpacked already. Raises ValueError, with the file and what was expected, for a manifest that cannot be read."""
    path = folder / _MANIFEST
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines or lines[0] != _FIRST_LINE:
        raise ValueError(f"{path}:1: expected {_FIRST_LINE!r}; an archive of a later release needs that release")
    facts = {word: rest for word, _, rest in (line.partition(" ") for line in lines[1:])}
    for name in _FACTS:
        if name not in facts:
            raise ValueError(f"{path}: expected a line with {name!r}, found none")
    if facts["scheduler"] not in _SCHEDULERS:
        raise ValueError(f"{path}: expected a scheduler of {', '.join(_SCHEDULERS)}, found {facts['scheduler']!r}")
    missing = tuple(line for line in lines[1:] if line.startswith(("missing ", "left out ")))
    scheduler, version, time_zone, first_day, last_day, key = (facts[name] for name in _FACTS)
    return CollectedSite(folder, scheduler, version, time_zone, first_day, last_day, key, missing)


# --- script


COLLECTOR_FILE = "collect.sh"


def collector_script() -> str:
    """The text of the script. Its first lines say how it is used."""
    return files("traces.collector").joinpath(COLLECTOR_FILE).read_text(encoding="utf-8")
