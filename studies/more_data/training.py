"""Does more data help a scheduling policy? `python -m studies more_data [--folder FOLDER]`.

One generated log of 11.3 million jobs, falcon, and parts of it with 0.1 and 1 million: PPO learns from each with the same settings, from
as many windows, with five seeds. It starts from smallest area first. A seed has its own part, and its smaller parts lie in its larger ones.
Beside it PPO learns from another generated log, lemhi, with 0.4 million jobs. Policies are judged on logs that they have not seen: on the
paper's ten windows, and by continuous replays.

What is done stays in the folder, so that the same command goes on where it was interrupted. It takes about 2 GB of disk and
an hour of one processor. Each step has a process of its own.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

import tracehouse
from assets.common.storage import data_folder, write_whole
from assets.common.trace import Trace, load_trace
from assets.policies.training import PolicyTask, arena_of_task
from assets.policies.verdicts import JudgedRule, judged_replays, scores_of
from benchmarks.large_log import SEED, WINDOW_JOBS, canonical, generate, ingest, source_of
from models.scheduling.learning.recipes import SHARPNESS, smallest_area_first
from models.scheduling.learning.training import EpochReport
from models.scheduling.options import PPOOptions, WorkerOptions
from models.scheduling.policy_file import policy_from_bytes, policy_to_bytes
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.task_folder import TASK_FILE, read_task, write_task
from papers.archive import SHARED
from papers.ddppo.ddppo import lessons_from_part, setup_of
from papers.ddppo.ddppo_transfer import PAPER_RULES, SCORED_FROM, shared_windows
from simulator.policies.network import KernelWeights
from simulator.policies.observation import layout_named
from traces.catalogue.sources import Source
from warehouse import Warehouse

JUDGING_LOGS = {
    "lublin-1": ("lublin_256.swf.gz", 256),
    "lublin-2": ("lublin_256_new2.swf.gz", 256),
    "sdsc-sp2": ("SDSC-SP2-1998-derived.swf.gz", 128),
    "kth-sp2": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "ctc-sp2": ("CTC-SP2-1996-3.1-cln.swf.gz", 338),
    "hpc2n": ("HPC2N-2002-2.2-cln.swf.gz", 240),
    "nasa-ipsc": ("NASA-iPSC-1993-3.1-cln.swf.gz", 128),
}
METRICS = ("average_bounded_slowdown", "average_wait_s")


@dataclass(frozen=True)
class Part:
    """What policies learn from. model: of the generated log. size: jobs, 0 for the whole log."""

    model: str
    size: int = 0

    def policy(self, seed: int) -> str:
        """The name of the policy with this seed."""
        return f"{self.model}-{self.size or 'all'}-{seed}"


@dataclass(frozen=True)
class Study:
    """What is compared. parts: in the order of training. jobs: of each whole log, 0 for all of its model. offered_load: below the usual
    0.7, at which windows of falcon begin with 2,600 waiting jobs and take six times as long. choosing: windows that choose the epoch."""

    parts: tuple[Part, ...] = (Part("falcon", 100_000), Part("falcon", 1_000_000), Part("falcon"), Part("lemhi"))
    jobs: int = 0
    offered_load: float = 0.6
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    window_jobs: int = WINDOW_JOBS
    options: PPOOptions = field(default_factory=lambda: PPOOptions(epochs=10, trajectories=40))
    choosing: int = 16

    def positions(self, all_jobs: int, part: Part, seed: int) -> range:
        """Positions of the jobs that a seed learns from. Parts of the seeds are evenly over the log."""
        size = part.size or all_jobs
        begin = int((self.seeds.index(seed) + 0.5) / len(self.seeds) * (all_jobs - size))
        return range(begin, begin + size)

    def rival(self, part: Part) -> Part | None:
        """What a part is compared with: the first of its log, and a log with the last part of the log before it."""
        of_model = [each for each in self.parts if each.model == part.model]
        if part != of_model[0]:
            return of_model[0]
        place = self.parts.index(part)
        return self.parts[place - 1] if place else None


FULL = Study()


def log_source(study: Study, model: str) -> Source:
    """The generated log, as a catalogue would declare it."""
    source = source_of(model, study.jobs, SEED)
    return replace(source, generator=source.generator | {"offered_load": study.offered_load})


def prepare(folder: Path, study: Study, model: str) -> None:
    """Generates a log and reads it."""
    home = folder / model / "log"
    home.mkdir(parents=True, exist_ok=True)
    os.environ["TRACEHOUSE_HOME"] = str(home)
    source, warehouse = log_source(study, model), Warehouse(home / "bench.duckdb")
    for step in (generate, ingest, canonical):
        step(source, warehouse)


def write_arrays(folder: Path, study: Study, model: str) -> None:
    """The jobs out of the warehouse into `arrays`, from where trainings map them into memory."""
    trace = load_trace(Warehouse(folder / model / "log" / "bench.duckdb"), model)
    setup = setup_of(trace, PolicyTask("bsld", "easy", window_jobs=study.window_jobs), 0)
    del trace
    workers = WorkerOptions(workers=1, backlog_policy="FCFS")
    write_task(folder / model / "arrays", WorkerTask(setup.arena, setup.lessons, study.options, 0, workers=workers))


def policy_file(folder: Path, part: Part, seed: int) -> Path:
    """Where a policy is."""
    return folder / "policies" / f"{part.policy(seed)}.json"


def learn(folder: Path, study: Study, part: Part, seed: int) -> None:
    """Trains one policy. Its card says from what, and what it took."""
    whole, file = read_task(folder / part.model / "arrays"), policy_file(folder, part, seed)
    positions = study.positions(len(whole.arena.jobs), part, seed)
    jobs = whole.arena.jobs.window(positions.start, len(positions))  # a log of its own: nothing was before it
    lessons = lessons_from_part(range(len(positions)), study.window_jobs)
    lessons = replace(lessons, validation=lessons.validation.thinned(study.choosing))
    arena = replace(whole.arena, jobs=jobs, threads=1)
    start = smallest_area_first(layout_named(study.options.layout), SHARPNESS["ppo"], seed)
    task = replace(whole, arena=arena, lessons=lessons, options=study.options, seed=seed, start=start)

    def show(report: EpochReport) -> None:
        told = f"{report.decisions:,} decisions, {report.sampled_cost:.2f} drawn, {report.validation_cost:.2f} chosen"
        print(f"{file.stem}, epoch {report.epoch}: {told}", flush=True)

    file.parent.mkdir(parents=True, exist_ok=True)
    checkpoint = file.with_suffix(".checkpoint")
    trained = train_by_ddppo(LoneWorker(), task, show, checkpoint)
    card = {
        "trained_jobs": len(positions),
        "first_job": positions.start,
        "days": float(jobs.submit[-1] - jobs.submit[0]) / 86_400,
        "windows": len(lessons.windows),
        "decisions": sum(report.decisions for report in trained.curve),
        "best_epoch": trained.best_epoch,
        "validation_cost": trained.validation_cost,
        "peak_mib": peak_mib(),
        "parameters": trained.parameters,
    }
    write_whole(file, policy_to_bytes(trained.weights, card))
    checkpoint.unlink()


def peak_mib() -> float:
    """The most memory that this process has had resident, MiB; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    peak = re.search(r"VmHWM:\s*(\d+) kB", status.read_text()) if status.exists() else None
    return int(peak.group(1)) / 1024 if peak else 0.0


def judged_file(folder: Path, log: str, name: str) -> Path:
    """Where a policy's costs on a log are."""
    return folder / "judged" / log / f"{name}.json"


def judge_on(folder: Path, log: str, names: Sequence[str]) -> None:
    """Judges rules and learned policies, by their names, on one log, and writes what each costs."""
    file, procs = JUDGING_LOGS[log]
    trace = tracehouse.load_log(SHARED / file, procs=procs).trace()
    for name in names:
        weights = None
        if name not in PAPER_RULES:
            weights = policy_from_bytes((folder / "policies" / f"{name}.json").read_bytes())[0]
        costs = costs_on(trace, name, weights)
        target = judged_file(folder, log, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, json.dumps(costs).encode())
        print(f"{log}, {name}: {costs['average_bounded_slowdown']:.1f}", flush=True)


def costs_on(trace: Trace, name: str, weights: KernelWeights | None) -> dict[str, Any]:
    """Bounded slowdowns of the ten windows, and METRICS and the verdict of a continuous replay. weights: None for a rule of this name."""
    arena = arena_of_task(trace, PolicyTask("bsld", "easy"))
    windows = arena.costs(name if weights is None else weights, shared_windows(trace))
    rule = JudgedRule(name, name if weights is None else "learned", weights=weights)
    ((replayed, judgement),) = judged_replays(trace, [rule], int(SCORED_FROM * trace.rows.height))
    scores = scores_of(replayed, judgement)
    measured = {metric: scores[metric] for metric in METRICS}
    return {"windows": windows.tolist(), "verdict": judgement.verdict.word} | measured


def alone(step: Callable[..., None], *arguments: Any) -> None:
    """Runs a step in a process of its own, so that it leaves no memory behind."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        pool.submit(step, *arguments).result()


def run(folder: Path, study: Study, run_step: Callable[..., None] = alone) -> None:
    """All steps that are not done yet."""
    for part in study.parts:
        if not (folder / part.model / "arrays" / TASK_FILE).exists():
            run_step(prepare, folder, study, part.model)
            run_step(write_arrays, folder, study, part.model)
        for seed in study.seeds:
            if not policy_file(folder, part, seed).exists():
                run_step(learn, folder, study, part, seed)
    names = [*PAPER_RULES, *(part.policy(seed) for part in study.parts for seed in study.seeds)]
    for log in JUDGING_LOGS:
        missing = [name for name in names if not judged_file(folder, log, name).exists()]
        if missing:
            run_step(judge_on, folder, log, missing)


@click.command()
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where everything is kept. Default: beside the warehouse."
)
def main(folder: Path | None) -> None:
    """Trains and judges what is missing, and prints the tables."""
    from studies.more_data.tables import print_tables

    folder = folder or data_folder() / "more-data"
    run(folder, FULL)
    print_tables(folder, FULL)
