"""The logs of the Parallel Workloads Archive, and RLScheduler's, that studies are of.

They are in the folder that TRACEHOUSE_LOGS names, as `tracehouse reproduce --logs FOLDER` says it, in `traces/swf` of TRACEHOUSE_SHARED, or
in `shared/traces/swf` beside the project.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

import tracehouse
from assets.common.trace import Trace
from papers.paper_tables import LOGS_FOLDER
from simulator.jobs.jobs import Jobs, jobs_from_log
from traces.catalogue.places import PROJECT
from traces.swf.reader import read_swf

SHARED = Path(
    os.environ.get(LOGS_FOLDER)
    or Path(os.environ.get("TRACEHOUSE_SHARED") or PROJECT.parent / "shared") / "traces" / "swf"
)
ARCHIVE_LOGS = {
    "KTH-SP2": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "CTC-SP2": ("CTC-SP2-1996-3.1-cln.swf.gz", 338),
    "SDSC-SP2": ("SDSC-SP2-1998-derived.swf.gz", 128),
    "HPC2N": ("HPC2N-2002-2.2-cln.swf.gz", 240),
}
LOGS = ARCHIVE_LOGS | {"Lublin-1": ("lublin_256.swf.gz", 256), "Lublin-2": ("lublin_256_new2.swf.gz", 256)}
"""By name: the file, and the processors of the cluster."""


def log_file(name: str) -> Path:
    """The file of one of LOGS. Ends the study, with the remedy, where it is not there."""
    path = SHARED / LOGS[name][0]
    if not path.exists():
        sys.exit(f"{path}: this log of the archive is not there: name its folder with --logs FOLDER, or {LOGS_FOLDER}")
    return path


def trace_of_log(name: str) -> Trace:
    """One of LOGS, on its cluster. Ends the study as `log_file` does."""
    return tracehouse.load_log(log_file(name), procs=LOGS[name][1]).trace()


def jobs_of_file(path: Path) -> Jobs:
    """The jobs of a log that ran, with requested times."""
    log = read_swf(path).records.sort("submit_s", maintain_order=True)
    column = {name: log[name].fill_null(-1).to_numpy() for name in log.columns}
    procs = np.where(column["allocated_procs"] > 0, column["allocated_procs"], column["requested_procs"])
    keep = (column["runtime_s"] > 0) & (procs > 0)
    return jobs_from_log(
        column["submit_s"][keep], column["runtime_s"][keep], procs[keep], column["requested_walltime_s"][keep]
    )
