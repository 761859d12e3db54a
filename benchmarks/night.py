"""What a night costs at the size of a real centre: `python -m benchmarks.night [--jobs 1000000] [--load 0.9] [--folder DIR]`.

A made centre of 1,000 nodes under Slurm, whose users and jobs are like larch's, writes what sacct prints of ninety days. With a load above
1 its backlog grows as long as jobs come. Then every step of a night runs by itself, in a process of its own: CPU time, and the most
resident memory. Compiled code is loaded, if it was compiled before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import polars as pl

from assets.ingest.site_logs import site_zero_s, with_starts
from papers.markdown import markdown
from traces.slurm.configuration.folder import read_slurm_cluster
from traces.slurm.writer import write_sacct
from traces.synthetic.campaigns import site_submissions
from traces.synthetic.sites import LARCH, SITE_GROUPS, BundledSite, site_files

NAME = "ninety"
TIMES = 25
"""So many nodes and users of each kind as larch has."""
DAYS, MOST_JOBS, SEED = 90, 1_000_000, 11
STEPS = (
    "raw/log",
    "core/jobs",
    "marts/trace_health",
    "marts/operations",
    "marts/job_wait_causes",
    "replay/fidelity",
    "replay/usual_changes",
    "marts/report",
)
TITLES = ["step", "CPU-s", "wall s", "peak MiB"]


def made_site(jobs: int, load: float) -> BundledSite:
    """Larch, as many times as large. Of fewer jobs than a million there are fewer days."""
    work = replace(
        LARCH.work,
        users=LARCH.work.users * TIMES,
        cores=LARCH.work.cores * TIMES,
        days=max(round(DAYS * jobs / MOST_JOBS), 1),
        jobs=jobs,
        load=load,
    )
    return replace(LARCH, name=NAME, work=work, limit=None)


def configuration(site: BundledSite) -> dict[str, str]:
    """The text of each configuration file by its name."""
    files = site_files("larch")
    conf, gres = files["slurm.conf"], files["gres.conf"]
    for letter, count in (("c", 36), ("m", 2), ("g", 2)):
        old, new = f"{letter}[01-{count:02}]", f"{letter}[0001-{count * TIMES:04}]"
        conf, gres = conf.replace(old, new), gres.replace(old, new)
    dump = files["sacctmgr.dump"].splitlines()
    kept = [line for line in dump if not line.startswith(("User", "Parent - '")) or line == "Parent - 'root'"]
    for place, group in enumerate(SITE_GROUPS):
        kept.append(f"Parent - '{group}'")
        for user in range(place, site.work.users, len(SITE_GROUPS)):
            kept.append(
                f"User - 'u{user + 1:02}':DefaultAccount='{group}':Fairshare=1:QOS='normal,urgent':DefaultQOS='normal'"
            )
    return {**files, "slurm.conf": conf, "gres.conf": gres, "sacctmgr.dump": "\n".join(kept) + "\n"}


def make(folder: Path, jobs: int, load: float) -> str:
    """Writes configuration and log of the centre into a folder. Returns how it is, in words."""
    site = made_site(jobs, load)
    place = folder / "configuration"
    place.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in configuration(site).items():
        paths.append(place / name)
        paths[-1].write_text(text, encoding="utf-8")
    cluster = read_slurm_cluster(paths, NAME, site.time_zone).description
    submitted = site_submissions(site.work, SEED)
    began = time.process_time()
    ran = with_starts(site, cluster, submitted)
    seconds = time.process_time() - began
    zero_s = site_zero_s(site)
    log = folder / "log"
    log.mkdir(exist_ok=True)
    write_sacct(ran.with_columns(pl.col("submit_s", "start_s", "end_s") + zero_s), log, site.time_zone, NAME)
    started = ran.filter(pl.col("start_s").is_not_null())
    wait = started["start_s"] - started["submit_s"]
    moments = np.sort(np.concatenate([started["submit_s"].to_numpy(), started["start_s"].to_numpy()]))
    queue = np.searchsorted(np.sort(started["submit_s"].to_numpy()), moments, "right")
    queue = queue - np.searchsorted(np.sort(started["start_s"].to_numpy()), moments, "right")
    return (
        f"{jobs:,} jobs on {TIMES * 40:,} nodes in {site.work.days} days, load {load:g}: started by our Slurm in {seconds:.0f} CPU-s, "
        f"mean wait {wait.mean() / 3600:.1f} h, at most {queue.max():,} waiting"
    )


def measured(command: Sequence[str], home: Path) -> list[str]:
    """CPU and wall time of a command and of all that it starts, seconds, and the most memory of one process, MiB. Raises RuntimeError with
    what it said where it fails."""
    environment = {**os.environ, "TRACEHOUSE_HOME": str(home), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    began = time.monotonic()
    process = subprocess.Popen(
        [Path(sys.executable).with_name("tracehouse"), *command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said = process.stdout.read().decode() if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"tracehouse {' '.join(command)} failed:\n{said[-2000:]}")
    seconds = used.ru_utime + used.ru_stime
    return [f"{seconds:,.0f}", f"{time.monotonic() - began:,.0f}", f"{used.ru_maxrss / 1024:,.0f}"]


def night(folder: Path, steps: Sequence[str]) -> str:
    """Reads configuration and log into a new home in the folder, and runs each step."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    log = str(folder / "log" / f"{NAME}.sacct.psv")
    rows = [
        ["cluster import", *measured(["cluster", "import", str(folder / "configuration"), "--name", NAME], home)],
        ["ingest", *measured(["ingest", log, "--name", NAME, "--cluster", NAME, "--time-zone", LARCH.time_zone], home)],
    ]
    for step in steps:
        rows.append([step, *measured(["run", NAME, "--select", step], home)])
        click.echo(f"{step}: {rows[-1][1]} CPU-s", err=True)
    return markdown(TITLES, rows)


@click.command(help=__doc__)
@click.option("--jobs", default=MOST_JOBS, help="Jobs of the log.", show_default=True)
@click.option("--load", default=0.9, help="Of the cluster's cores, by what jobs ask for and use.", show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), help="Keeps the log here, and takes one that is here.")
@click.option("--step", "steps", multiple=True, default=STEPS, help="Assets to run.", show_default=True)
def main(jobs: int, load: float, folder: Path | None, steps: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as passing:
        place = folder or Path(passing)
        words = place / "words.txt"
        if not words.exists():
            text = make(place, jobs, load)
            words.write_text(text, encoding="utf-8")
        click.echo(words.read_text(encoding="utf-8") + "\n")
        click.echo(night(place, steps))


if __name__ == "__main__":
    main()
