"""Whether cost and memory grow with a log: `python -m benchmarks.growth [--jobs 1000000,3000000,10000000,50000000]`.

Logs of one cluster and one load that differ in length alone: the first jobs of 26 generated years, as monthly SWF files through the
same reader. Each stage of each log runs in a process of its own, as in `benchmarks.large_log`. CPU time is of all threads. *Own
memory* is what the system cannot take back while the process runs. *Peak* has the pages of mapped files, too. With --folder, files are
kept there, and stages that were measured are not measured again. 50 million jobs need 20 GB.

    python -m benchmarks.growth --month --jobs 3000000

prints what a month more costs, where all but the newest months of the log are in the warehouse already.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import click

from assets.ingest.generated import generated_log
from benchmarks.large_log import STEPS, measure_apart, source_of
from papers.markdown import markdown
from traces.common.log import log_files
from traces.synthetic.centre import CENTRES
from warehouse import Warehouse

MODEL = "decades"
CENTRES[MODEL] = replace(CENTRES["falcon"], first_day=date(1994, 9, 24), jobs=50_000_000, users=2_650)
"""Falcon, with its users and jobs a year, for 26 years. No cluster lives that long: it is for this program alone. After some years its
queue has hundreds of thousands of jobs, since jobs of the whole machine come in a row. A replay of such a queue costs ten times as
much a job. So replays have a larger cluster here."""

STAGES = ("ingest", "canonical", "health", "operations", "job_features", "similar_jobs", "wide_replay")
MILLIONS = (1, 3, 10, 50)


def measured(jobs: int, folder: Path, stages: Sequence[str]) -> dict[str, dict[str, float]]:
    """By stage: rows, CPU and wall time in seconds, most memory in MiB. What the folder has is taken from there."""
    results = folder / f"growth-{jobs}.json"
    done: dict[str, dict[str, float]] = json.loads(results.read_text()) if results.exists() else {}
    place = folder / str(jobs)
    for name in ("warm", "log"):
        (place / name).mkdir(parents=True, exist_ok=True)
    for step in ("generate", *stages):
        if step not in done:
            done[step] = measure_apart(step, MODEL, jobs, place, "benchmarks.growth")
            results.write_text(json.dumps(done, indent=1))
            click.echo(f"{jobs:,} jobs, {step}: {done[step]}", err=True)
    return done


def table_of(figures: dict[int, dict[str, dict[str, float]]], stages: Sequence[str]) -> str:
    """One row a stage: CPU time a job, its ratio to the shortest log's, and the memory of the longest log."""
    sizes = sorted(figures)
    titles = ["stage", *(f"{size / 1e6:g} million, us of CPU a job" for size in sizes), "longest by shortest"]
    rows = []
    for step in stages:
        a_job = [figures[size][step]["cpu_s"] / size * 1e6 for size in sizes]
        longest = figures[sizes[-1]][step]
        memory = [f"{longest['own_mib']:,.0f}", f"{longest['peak_mib']:,.0f}"]
        rows.append([STEPS[step][0], *(f"{cost:.2f}" for cost in a_job), f"{a_job[-1] / a_job[0]:.2f}", *memory])
    return markdown([*titles, "own memory of the longest, MiB", "peak, MiB"], rows)


def month_more(jobs: int, folder: Path) -> str:
    """CPU seconds of each stage: of a log without its two newest months, when the older one of these comes, and when nothing does."""
    os.environ["TRACEHOUSE_HOME"] = str(folder)
    described = source_of(MODEL, jobs)
    files, logs = log_files(generated_log(described)), folder / "months"
    logs.mkdir()
    source, warehouse = replace(described, path=logs, generator=None), Warehouse(folder / "bench.duckdb")
    steps = {name: STEPS[name] for name in ("ingest", "canonical", "job_features", "similar_jobs")}
    rows = {name: [title] for name, (title, _) in steps.items()}
    for added in (files[:-2], files[-2:-1], []):
        for file in added:
            os.link(file, logs / file.name)
        for name, (_, step) in steps.items():
            began = time.process_time()
            step(source, warehouse)
            rows[name].append(f"{time.process_time() - began:.1f}")
    return markdown(["stage", "whole log, CPU-s", "a month more, CPU-s", "nothing new, CPU-s"], list(rows.values()))


@click.command()
@click.option("--month", is_flag=True, help="What a month more costs, of the first size of --jobs.")
@click.option("--jobs", default=",".join(f"{size * 10**6}" for size in MILLIONS), show_default=True, help="Sizes.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keeps the files there.")
@click.option("--stage", "stages", type=click.Choice(list(STEPS)), multiple=True, help="Only these.")
def main(month: bool, jobs: str, folder: Path | None, stages: tuple[str, ...]) -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory(prefix="tracehouse-bench-") as temporary:
        if month:
            click.echo(month_more(int(jobs.split(",")[0]), Path(temporary)))
            return
        chosen = stages or STAGES
        figures = {int(size): measured(int(size), folder or Path(temporary), chosen) for size in jobs.split(",")}
    click.echo(table_of(figures, chosen))


if __name__ == "__main__":
    main()
