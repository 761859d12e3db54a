"""How long six scenarios of KTH-SP2 take: `python -m benchmarks.scenarios`, where the archive logs are.

CPU time of `tracehouse what-if`, a process of its own each time, with its start, tables and page. Compiled code is there. Before, the
log is ingested, its scheduler fitted and its run times predicted, which takes about 40 CPU-s.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import dagster as dg

from assets.common.partitions import SOURCES
from assets.common.storage import open_warehouse
from assets.features.job_features import job_features
from assets.features.similar_jobs import similar_jobs
from assets.predictions.runtime_evaluation import runtime_evaluation
from assets.predictions.runtime_model import runtime_model
from assets.predictions.runtime_predictions import runtime_predictions
from assets.replay.fidelity import fidelity
from papers.archive import SHARED
from traces.catalogue.places import PROJECT

LOG, SOURCE = "KTH-SP2-1996-2.1-cln.swf.gz", "kth-sp2"
AIM_CPU_S = 60
REPEATS = 3
SCENARIOS = """
source = "kth-sp2"
[scenarios."10 % more processors"]
procs = "+10%"
[scenarios."4 nodes off"]
nodes = -4
[scenarios."EASY with predicted times"]
backfill = "easy"
estimates = "predicted"
[scenarios."fair share"]
policy = "fairshare:half_life_days=7"
[scenarios."wall times rounded up to 4 h"]
round_walltimes = "4h"
[scenarios."20 % more load"]
load = "+20%"
"""


def command(*arguments: str) -> float:
    """CPU seconds of a `tracehouse` command in a process of its own. Raises CalledProcessError where it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "tracehouse.cli.main", *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepare() -> None:
    """A grade and predicted run times of the ingested log."""
    assert SOURCES.name is not None
    wanted = [job_features, similar_jobs, runtime_evaluation, runtime_model, runtime_predictions, fidelity]
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions(SOURCES.name, [SOURCE])
        dg.materialize(wanted, instance=instance, partition_key=SOURCE, resources={"warehouse": open_warehouse()})


def main() -> None:
    if not (SHARED / LOG).exists():
        sys.exit(f"{SHARED / LOG}: the log is not there; name the folder above with TRACEHOUSE_SHARED")
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TRACEHOUSE_HOME": folder, "TRACEHOUSE_SOURCES": str(Path(folder) / "sources.toml")}
        (Path(folder) / "sources.toml").touch()
        file, out, page = (str(Path(folder) / name) for name in ("scenarios.toml", "out", "page.html"))
        Path(file).write_text(SCENARIOS)
        command("ingest", str(SHARED / LOG), "--name", SOURCE)
        prepare()
        times = [command("what-if", file, "--out", out, "--html", page) for _ in range(REPEATS)]
        print(
            f"six scenarios of KTH-SP2: {min(times):.1f} to {max(times):.1f} CPU-s in {REPEATS} runs (aim: {AIM_CPU_S})"
        )


if __name__ == "__main__":
    main()
