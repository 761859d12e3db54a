"""Times the way of logs into the warehouse: `python -m benchmarks.ingest [--all-records] [JOBS ...]`.

Generated PBS logs of daily files, 5,000 jobs a day, each size in a process of its own: wall time, CPU time and resident memory of
reading them into the raw tables and of writing the canonical jobs; then again without a change, and with one more day. Before
that, the readers alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

SIZES = (100_000, 300_000, 1_000_000, 3_000_000)
FALCON_JOBS = 11_700_000
JOBS_A_DAY = 5000


def readers(jobs: int = 60_000) -> None:
    """Records per second of the readers alone, on one thread and on two, from memory."""
    from concurrent.futures import ThreadPoolExecutor

    from benchmarks.pbs_logs import write_days
    from traces.common.blocks import BLOCK_BYTES
    from traces.pbs.reader import parse_pbs
    from traces.pbs.rules import read_line
    from traces.swf.reader import parse_swf

    with tempfile.TemporaryDirectory(prefix="tracehouse-bench-") as folder:
        write_days(Path(folder), jobs, JOBS_A_DAY)
        pbs = b"".join(file.read_bytes() for file in sorted(Path(folder).iterdir()))
    row = b"%d %d 100 3600 16 -1 -1 16 7200 -1 1 %d 5 17 2 1 -1 -1\n"
    swf = b"".join(row % (k, 7 * k, k % 300) for k in range(1_000_000))
    print(f"{'reader':<28}{'bytes a record':>15}{'1 thread':>12}{'2 threads':>12}  records a second of wall time")
    for name, content, parse in (("PBS, end records", pbs, parse_pbs), ("SWF", swf, parse_swf)):
        blocks, begin = [], 0
        while begin < len(content):
            end = content.rfind(b"\n", begin, begin + BLOCK_BYTES) + 1
            blocks.append(content[begin:end])
            begin = end
        records = content.count(b"\n")
        rates = []
        for threads in (1, 2):
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(parse, blocks))
                began = time.perf_counter()
                for _ in range(3):
                    list(pool.map(parse, blocks))
                rates.append(3 * records / (time.perf_counter() - began))
        print(f"{name:<28}{len(content) / records:>15,.0f}{rates[0]:>12,.0f}{rates[1]:>12,.0f}")
    lines = pbs[: 4 << 20].split(b"\n")[:-1]
    began = time.perf_counter()
    for k, line in enumerate(lines):
        read_line(k, line, [], [], Counter())
    print(f"{'PBS by the rules alone':<28}{'':>15}{len(lines) / (time.perf_counter() - began):>12,.0f}\n")


def swf_end_to_end(rows: int = 2_000_000) -> None:
    from assets.ingest.canonical_jobs import write_jobs
    from assets.ingest.update import update_raw_log
    from traces.catalogue.sources import Source
    from warehouse import Warehouse

    with tempfile.TemporaryDirectory(prefix="tracehouse-bench-") as folder:
        log = Path(folder) / "large.swf"
        row = "%d %d 100 3600 16 -1 -1 16 7200 -1 1 %d 5 17 2 1 -1 -1\n"
        log.write_text("; MaxProcs: 100000\n" + "".join(row % (k, 7 * k, k % 300) for k in range(rows)))
        warehouse, began = Warehouse(Path(folder) / "w.duckdb"), time.perf_counter()
        update_raw_log(warehouse, Source("bench", "swf", log))
        middle = time.perf_counter()
        write_jobs(warehouse, "bench")
        end = time.perf_counter()
    print(f"SWF, {rows:,} rows: {rows / (middle - began):,.0f} a second into the raw table, {rows / (end - began):,.0f} with "
          "canonical jobs\n")  # fmt: skip


def measure(folder: Path, jobs: int, kinds: str) -> dict[str, float]:
    """Ingests the logs in `folder`, then nothing new, then a new day."""
    from assets.ingest.canonical_jobs import write_jobs
    from assets.ingest.update import update_raw_log
    from benchmarks.pbs_logs import write_days
    from traces.catalogue.sources import Source
    from traces.common.pseudonyms import DEFAULT_KINDS
    from warehouse import Warehouse

    days = len(list(folder.iterdir()))
    source = Source("bench", "pbs", folder, procs=100_000, pseudonyms=DEFAULT_KINDS)
    small = folder.with_name("small")
    write_days(small, 100, kinds="QSE")
    warm = Warehouse(folder.with_name("warm.duckdb"))
    update_raw_log(
        warm, Source("bench", "pbs", small, procs=100_000)
    )  # compilation and imports are not what is measured
    write_jobs(warm, "bench")
    warehouse = Warehouse(folder.with_name("bench.duckdb"))

    found: dict[str, float] = {
        "jobs": jobs,
        "bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "files": days,
    }
    wall, cpu = time.perf_counter(), time.process_time()

    def lap(name: str) -> None:
        nonlocal wall, cpu
        found[f"{name}_s"], found[f"{name}_cpu_s"] = time.perf_counter() - wall, time.process_time() - cpu
        wall, cpu = time.perf_counter(), time.process_time()

    def ingest(name: str) -> None:
        update_raw_log(warehouse, source)
        lap(f"{name}_raw")
        assert write_jobs(warehouse, "bench") == jobs
        lap(f"{name}_jobs")

    ingest("first")
    # not getrusage, which counts what the parent process had too
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    found["rss_mib"] = int(peak.group(1)) / 1024 if peak else 0
    found["database_bytes"] = warehouse.path.stat().st_size
    ingest("again")
    write_days(folder, JOBS_A_DAY, JOBS_A_DAY, kinds, first_day=days)
    jobs += JOBS_A_DAY
    wall, cpu = time.perf_counter(), time.process_time()
    ingest("day")
    return found


def main() -> None:
    from benchmarks.pbs_logs import write_days

    kinds = "QSE" if "--all-records" in sys.argv else "E"
    readers()
    swf_end_to_end()
    sizes = [int(text) for text in sys.argv[1:] if text.isdigit()] or list(SIZES)
    print(f"records {kinds}; {'jobs':>10} {'GB':>5} {'raw s':>7} {'jobs s':>7} {'jobs/s':>9} {'raw jobs/s':>10} {'CPU-s':>6} "
          f"{'MiB':>6} {'DB GB':>6} {'again s':>8} {'a day s':>8}")  # fmt: skip
    rows = []
    for jobs in sizes:
        with tempfile.TemporaryDirectory(prefix="tracehouse-bench-") as folder:
            write_days(Path(folder) / "logs", jobs, JOBS_A_DAY, kinds)
            code = (
                "import json, sys, pathlib; from benchmarks.ingest import measure; "
                "print(json.dumps(measure(pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))"
            )
            home = os.environ | {"TRACEHOUSE_HOME": folder}  # for the key of the pseudonyms
            told = subprocess.check_output([sys.executable, "-c", code, f"{folder}/logs", str(jobs), kinds], env=home)
        row = json.loads(told.decode().splitlines()[-1])
        rows.append(row)
        first = row["first_raw_s"] + row["first_jobs_s"]
        print(
            f"{'':11}{jobs:>10,} {row['bytes'] / 1e9:>5.2f} {row['first_raw_s']:>7.2f} {row['first_jobs_s']:>7.2f} "
            f"{jobs / first:>9,.0f} {jobs / row['first_raw_s']:>10,.0f} {row['first_raw_cpu_s'] + row['first_jobs_cpu_s']:>6.1f} "
            f"{row['rss_mib']:>6,.0f} {row['database_bytes'] / 1e9:>6.2f} "
            f"{row['again_raw_s'] + row['again_jobs_s']:>8.2f} {row['day_raw_s'] + row['day_jobs_s']:>8.2f}",
            flush=True,
        )
    if len(rows) > 1:
        number = np.array([row["jobs"] for row in rows])
        for name, of in (
            ("seconds", [row["first_raw_s"] + row["first_jobs_s"] for row in rows]),
            ("MiB", [row["rss_mib"] for row in rows]),
        ):
            slope, constant = np.polyfit(number, of, 1)
            print(f"fit: {constant:.2f} + {slope * 1e6:.2f} {name} per million jobs; {FALCON_JOBS:,} jobs: "
                  f"{constant + slope * FALCON_JOBS:,.0f} {name}")  # fmt: skip


if __name__ == "__main__":
    main()
