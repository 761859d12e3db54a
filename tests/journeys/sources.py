"""The logs of the journeys."""

from __future__ import annotations

import gzip
import tarfile
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tests.shared import shared_file

CATALOGUE = """
[sources.{name}]
format = "{format}"
cluster = "{name}"
generator = {{ site = "{name}", seed = {seed}, jobs = {jobs} }}
"""
_SLURM, _PBS, _SWF = "golden/slurm", "golden/pbs", "traces/swf"
_SLURM_24 = "golden/slurm24"


class JourneySource(NamedTuple):
    """name: of the source. log, configuration: below the shared folder; no log for one that is generated, which has a catalogue of
    its own. A packed folder is unpacked first. seed: of the generator. most_jobs: of it, or the first ones of an SWF log."""

    name: str
    format: str
    log: str = ""
    configuration: str = ""
    options: tuple[str, ...] = ()
    seed: int = 0
    most_jobs: int = 1_200

    def log_path(self, folder: Path) -> Path:
        """Where the log is. folder: of the journey, in which it may be unpacked. Skips the test without shared data."""
        path = shared_file(*self.log.split("/"))
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
            path = folder / path.name.removesuffix(".tar.gz")
        if self.format == "swf":
            path = _first_jobs(path, folder / f"{self.name}.swf", self.most_jobs)
        return path

    def configuration_path(self) -> Path | None:
        """Where the configuration is, None for a log without one. Skips the test without shared data."""
        return shared_file(*self.configuration.split("/")) if self.configuration else None

    @property
    def catalogue(self) -> str:
        """Of a log that is generated, else empty."""
        values = {"name": self.name, "format": self.format, "seed": self.seed, "jobs": self.most_jobs}
        return "" if self.log else CATALOGUE.format(**values)


def _first_jobs(log: Path, part: Path, most: int) -> Path:
    """Writes the comments and the first jobs of a packed SWF log: the whole of one takes an hour."""
    with gzip.open(log, "rt") as lines:
        comments, jobs = [], []
        for line in lines:
            if not line.startswith(";"):
                jobs = [line, *islice(lines, most - 1)]
                break
            comments.append(line)
    part.write_text("".join(comments + jobs))
    return part


BUNDLED = (JourneySource("birch", "pbs", seed=4), JourneySource("larch", "slurm", seed=1))
REAL = (
    JourneySource("kth", "swf", f"{_SWF}/KTH-SP2-1996-2.1-cln.swf.gz", most_jobs=6_000),
    JourneySource("hpc2n", "swf", f"{_SWF}/HPC2N-2002-2.2-cln.swf.gz", most_jobs=6_000),
    JourneySource("mason", "pbs", "traces/clusters/iu-mason/mason-2017-10-11.tar.gz"),
    JourneySource("pozidriv", "slurm", "traces/slurm/pozidriv.sacct.psv.gz"),
    JourneySource(
        "ub", "slurm", "traces/clusters/ub-micro/real_slurm_run/slurm_acct.out", "traces/clusters/ub-micro/etc"
    ),
    JourneySource("s7", "slurm", f"{_SLURM}/S7/run1/sacct.txt.gz", f"{_SLURM}/S7/run1"),
    JourneySource("s11", "slurm", f"{_SLURM}/S11/run1/sacct.txt.gz", f"{_SLURM}/S11/run1"),
    JourneySource("t1", "slurm", f"{_SLURM_24}/T1/run1/sacct.txt.gz", f"{_SLURM_24}/T1/run1"),
    JourneySource("p1f", "pbs", f"{_PBS}/P1f/run1/accounting.gz", f"{_PBS}/P1f/run1"),
    JourneySource("p5", "pbs", f"{_PBS}/P5/run1/accounting.gz", f"{_PBS}/P5/run1"),
)
