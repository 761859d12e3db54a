"""Times readers and simulator, and prints one table each. CPU time, ratios within one run; the replay engine is in
benchmarks/engine.py, training in benchmarks/policies.py.

Compilation is timed apart. Real logs are timed too where `shared/traces` lies beside the project.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from assets.ingest.generated import generated_log
from benchmarks.engine import engine
from benchmarks.logs import log_files_timed, timed_logs
from papers.archive import SHARED
from traces.catalogue.catalogue import load_catalogue
from traces.common.blocks import LogStream
from traces.common.log import log_files
from traces.pbs.reader import read_pbs
from traces.swf.reader import read_swf

PROJECT = Path(__file__).resolve().parents[1]


def cpu_s(work: Callable[[], object], repeats: int = 3) -> float:
    """CPU seconds of the fastest of `repeats` calls."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


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
    logs = log_files_timed()
    if len(logs) == 1:
        print(f"no real logs at {SHARED}: only the bundled sources are timed")
    definitions()
    readers(list(logs), generated_log(load_catalogue().sources["birch"]))
    engine(timed_logs())


if __name__ == "__main__":
    main()
