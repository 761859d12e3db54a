"""Times readers and simulator, and prints one table each. CPU time, ratios within one run; the replay engine is in
benchmarks/engine.py, training in benchmarks/policies.py.

Compilation is timed apart. Real logs are timed too where `shared/traces` lies beside the project.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from assets.ingest.generated import generated_log
from benchmarks.engine import engine
from simulator.jobs.jobs import Jobs, jobs_from_log
from traces.catalogue.catalogue import load_catalogue
from traces.common.blocks import LogStream
from traces.common.log import log_files
from traces.pbs.reader import read_pbs
from traces.swf.reader import read_swf

PROJECT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TRACEHOUSE_SHARED", PROJECT.parent / "shared")) / "traces" / "swf"
REAL_LOGS = {
    "lublin_256.swf.gz": 256,
    "HPC2N-2002-2.2-cln.swf.gz": 240,
    "KTH-SP2-1996-2.1-cln.swf.gz": 100,
    "SDSC-SP2-1998-derived.swf.gz": 128,
    "CTC-SP2-1996-3.1-cln.swf.gz": 338,
}


def cpu_s(work: Callable[[], object], repeats: int = 3) -> float:
    """CPU seconds of the fastest of `repeats` calls."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def jobs_of(path: Path) -> Jobs:
    log = read_swf(path).records.sort("submit_s", maintain_order=True)
    column = {name: log[name].fill_null(-1).to_numpy() for name in log.columns}
    procs = np.where(column["allocated_procs"] > 0, column["allocated_procs"], column["requested_procs"])
    keep = (column["runtime_s"] > 0) & (procs > 0)
    return jobs_from_log(
        column["submit_s"][keep], column["runtime_s"][keep], procs[keep], column["requested_walltime_s"][keep]
    )


def split_in_python(path: Path) -> int:
    """The plainest SWF reader there is, for scale: split every line, convert every field."""
    content = b"".join(block.content for block in LogStream(path))
    rows = [[float(field) for field in line.split()] for line in content.decode().splitlines() if line[:1] != ";"]
    return len(rows)


def definitions() -> None:
    code = "import time; import pipelines.definitions; print(time.process_time())"
    runs = [float(subprocess.check_output([sys.executable, "-c", code], cwd=PROJECT).split()[-1]) for _ in range(3)]
    print(f"\ndefinitions load           {min(runs):6.2f} CPU-s")


def readers(swf: list[Path], pbs: Path) -> None:
    print(f"\n{'reader':<34}{'lines':>9}{'CPU-s':>8}{'lines/CPU-s':>13}  against split() in Python")
    for path in swf:
        read_swf(path)
        seconds, lines = cpu_s(lambda path=path: read_swf(path)), read_swf(path).lines
        plain = cpu_s(lambda path=path: split_in_python(path), repeats=1)
        print(f"{path.name:<34}{lines:>9,}{seconds:>8.3f}{lines / seconds:>13,.0f}  {plain / seconds:.1f}x faster")
    files = log_files(pbs)
    seconds, lines = cpu_s(lambda: [read_pbs(file) for file in files]), sum(read_pbs(file).lines for file in files)
    print(
        f"{'PBS accounting, ' + str(len(files)) + ' daily files':<34}{lines:>9,}{seconds:>8.3f}{lines / seconds:>13,.0f}"
    )


def main() -> None:
    sources = load_catalogue().sources
    bundled, month = sources["lublin-256"], sources["campus-pbs"]
    assert bundled.procs is not None
    logs = {generated_log(bundled): bundled.procs}
    real = {SHARED / name: procs for name, procs in REAL_LOGS.items() if (SHARED / name).exists()}
    if not real:
        print(f"no real logs at {SHARED}: only the bundled sources are timed")
    logs |= real
    definitions()
    readers(list(logs), generated_log(month))
    engine({path.name: (jobs_of(path), procs) for path, procs in logs.items()})


if __name__ == "__main__":
    main()
