"""The archive's logs that studies are of. They are where TRACEHOUSE_SHARED says, or in the folder `shared` beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from simulator.jobs.jobs import Jobs, jobs_from_log
from traces.swf.reader import read_swf

PROJECT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TRACEHOUSE_SHARED", PROJECT.parent / "shared")) / "traces" / "swf"
ARCHIVE_LOGS = {
    "KTH-SP2": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "CTC-SP2": ("CTC-SP2-1996-3.1-cln.swf.gz", 338),
    "SDSC-SP2": ("SDSC-SP2-1998-derived.swf.gz", 128),
    "HPC2N": ("HPC2N-2002-2.2-cln.swf.gz", 240),
}
LOGS = ARCHIVE_LOGS | {"Lublin-1": ("lublin_256.swf.gz", 256), "Lublin-2": ("lublin_256_new2.swf.gz", 256)}
"""By name: the file, and the processors of the cluster."""


def jobs_of(path: Path) -> Jobs:
    """The jobs of a log that ran, with requested times."""
    log = read_swf(path).records.sort("submit_s", maintain_order=True)
    column = {name: log[name].fill_null(-1).to_numpy() for name in log.columns}
    procs = np.where(column["allocated_procs"] > 0, column["allocated_procs"], column["requested_procs"])
    keep = (column["runtime_s"] > 0) & (procs > 0)
    return jobs_from_log(
        column["submit_s"][keep], column["runtime_s"][keep], procs[keep], column["requested_walltime_s"][keep]
    )
