"""A home with a small cluster of Slurm or PBS, and a log of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from traces.catalogue.catalogue import load_catalogue

CLUSTER = """
name = "two"
[scheduler]
name = "slurm"
version = "22.05.8"
[scheduler.values]
schedulertype = "sched/backfill"
prioritytype = "priority/basic"
selecttype = "select/cons_tres"
[[nodes]]
names = "n[1-2]"
cores = 4
memory_mib = 1000
[[partitions]]
name = "main"
is_default = true
"""
PBS_CLUSTER = CLUSTER.replace('name = "slurm"\nversion = "22.05.8"', 'name = "pbs"\nversion = "23.06"')
LARGE, SMALL = 900, 300
"""Memory, MiB: two large jobs do not fit on a node, three small ones do."""
BEHIND = [(0, 0, 600, LARGE), (10, 10, 600, LARGE), (20, 600, 900, LARGE), (30, 600, 700, SMALL)]
"""Memory holds the third job back, though six of eight CPUs are idle. The fourth one fits on no node either."""
MANY = [(a + 4000 * n, b + 4000 * n, c + 4000 * n, memory) for n in range(12) for a, b, c, memory in BEHIND]
RUNS_AND_WAITS = [(0, 0, 2000, LARGE), (50, 60, 400, SMALL), (100, 2000, 2300, LARGE), (500, 2300, 2600, LARGE)]
"""At second 500 the first job runs on n1, the second has ended, and the third waits."""
COLUMNS = (
    *(
        "JobID",
        "User",
        "Account",
        "Partition",
        "Submit",
        "Start",
        "End",
        "Timelimit",
        "State",
        "NNodes",
        "NCPUS",
        "ReqCPUS",
    ),
    *("ReqMem", "ReqTRES", "AllocTRES", "NodeList"),
)
SUBMITTED = 1_704_067_200
"""The first second of 2024, UTC."""


def log_of(jobs: list[tuple[int, int, int, int]]) -> str:
    """Lines of sacct. jobs: submission, start and end in seconds of the log, and memory in MiB of one CPU on one node."""
    lines = ["|".join(COLUMNS)]
    for number, (submit, start, end, memory) in enumerate(jobs, 1):
        times = "|".join(str(SUBMITTED + second) for second in (submit, start, end))
        held = f"cpu=1,mem={memory}M,node=1"
        lines.append(f"{number}|ann|physics|main|{times}|01:00:00|COMPLETED|1|1|1|{memory}M|{held}|{held}|n1")
    return "\n".join(lines) + "\n"


def own_home(
    folder: Path,
    jobs: list[tuple[int, int, int, int]],
    patch: pytest.MonkeyPatch,
    cluster: str = CLUSTER,
    log: str = "",
) -> None:
    """Makes `folder` the home, with the source `mine` in its warehouse. jobs: as `log_of` takes them. log: in place of it."""
    (folder / "clusters").mkdir(parents=True)
    (folder / "clusters" / "two.toml").write_text(cluster, encoding="utf-8")
    (folder / "mine.psv").write_text(log or log_of(jobs), encoding="utf-8")
    (folder / "sources.local.toml").write_text(
        f'[sources.mine]\nformat = "slurm"\npath = "{folder / "mine.psv"}"\ncluster = "two"\ntime_zone = "UTC"\n',
        encoding="utf-8",
    )
    patch.setenv("TRACEHOUSE_HOME", str(folder))
    patch.setenv("TRACEHOUSE_SOURCES", "")
    update_raw_log(open_warehouse(), load_catalogue().source("mine"))
    write_jobs(open_warehouse(), "mine")
