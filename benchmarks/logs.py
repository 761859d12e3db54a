"""The logs that are timed: a generated one, and real ones where `shared/traces` lies beside the project."""

from __future__ import annotations

from pathlib import Path

from assets.ingest.generated import generated_log
from papers.archive import SHARED, jobs_of_file
from simulator.jobs.jobs import Jobs
from traces.catalogue.sources import Source

MODEL_LOG = Source(
    "lublin-256",
    "swf",
    None,
    procs=256,
    time_zone="UTC",
    generator={"jobs": 20_000, "seed": 2003, "offered_load": 0.85, "users": 80},
)
REAL_LOGS = {
    "lublin_256.swf.gz": 256,
    "HPC2N-2002-2.2-cln.swf.gz": 240,
    "KTH-SP2-1996-2.1-cln.swf.gz": 100,
    "SDSC-SP2-1998-derived.swf.gz": 128,
    "CTC-SP2-1996-3.1-cln.swf.gz": 338,
}


def log_files_timed() -> dict[Path, int]:
    """The log files, and the processors of each cluster."""
    real = {SHARED / name: procs for name, procs in REAL_LOGS.items() if (SHARED / name).exists()}
    assert MODEL_LOG.procs is not None
    return {generated_log(MODEL_LOG): MODEL_LOG.procs} | real


def timed_logs() -> dict[str, tuple[Jobs, int]]:
    """By file name: the jobs, with requested times, and the processors."""
    return {path.name: (jobs_of_file(path), procs) for path, procs in log_files_timed().items()}
