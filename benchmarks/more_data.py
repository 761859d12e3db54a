"""Does more data help a scheduling policy? `python -m benchmarks.more_data [--folder FOLDER]`.

One generated log of 11.3 million jobs, and parts of it with 0.1 and 1 million: PPO learns from each with the same settings, from as many
windows, with five seeds. It starts from smallest area first. A seed has its own part, and its smaller parts lie in its larger ones. Its
policies are judged on logs that they have not seen: on the paper's ten windows, and by continuous replays.

What is done stays in the folder, so that the same command goes on where it was interrupted. It takes about 2 GB of disk and
half a CPU-hour. Each step has a process of its own.
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
import numpy as np
from numpy.typing import NDArray

import tracehouse
from assets.common.storage import data_folder, write_whole
from assets.common.trace import Trace, load_trace
from assets.experiments.ddppo import lessons_from_part, setup_of
from assets.experiments.ddppo_transfer import SCORED_FROM, shared_windows
from assets.experiments.protocols.published_windows import PUBLISHED_LENGTH, PUBLISHED_WINDOWS
from assets.policies.training import PolicyTask, arena_of_task
from assets.policies.verdicts import JudgedRule, judged_replays, scores_of
from benchmarks.large_log import SEED, WINDOW_JOBS, canonical, generate, ingest, source_of
from benchmarks.logs import SHARED
from benchmarks.markdown import markdown
from models.judging.intervals import WAIT_OFFSET_S
from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from models.scheduling.learning.recipes import SHARPNESS
from models.scheduling.learning.starts import smallest_area_first
from models.scheduling.learning.training import EpochReport
from models.scheduling.options import PPOOptions, WorkerOptions
from models.scheduling.policy_file import policy_from_bytes, policy_to_bytes
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.task_folder import TASK_FILE, read_task, write_task
from simulator.policies.network import KernelWeights
from simulator.policies.observation import layout_named
from traces.catalogue.sources import Source
from warehouse import Warehouse

FloatArray = NDArray[np.float64]

JUDGING_LOGS = {
    "lublin-1": ("lublin_256.swf.gz", 256),
    "lublin-2": ("lublin_256_new2.swf.gz", 256),
    "sdsc-sp2": ("SDSC-SP2-1998-derived.swf.gz", 128),
    "kth-sp2": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "ctc-sp2": ("CTC-SP2-1996-3.1-cln.swf.gz", 338),
}
RULES = ("FCFS", "SAF")
"""Policies that have learned nothing, beside which the others are shown."""
PAPER_WINDOWS = Windows(np.array(PUBLISHED_WINDOWS, dtype=np.int64), PUBLISHED_LENGTH)
METRICS = ("average_bounded_slowdown", "average_wait_s")


@dataclass(frozen=True)
class Study:
    """What is compared. jobs: of the whole log, 0 for all of the model. sizes: jobs of the parts, 0 for the whole log; the first is what
    the others are compared with. offered_load: below the usual 0.7, at which windows begin with 2,600 waiting jobs and take six times as
    long. choosing: windows that choose the epoch."""

    model: str = "falcon"
    jobs: int = 0
    offered_load: float = 0.6
    sizes: tuple[int, ...] = (100_000, 1_000_000, 0)
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    window_jobs: int = WINDOW_JOBS
    options: PPOOptions = field(default_factory=lambda: PPOOptions(epochs=10, trajectories=40))
    choosing: int = 16

    def part(self, all_jobs: int, size: int, seed: int) -> range:
        """Positions of the jobs that a seed learns from. Parts of the seeds are evenly over the log."""
        size = size or all_jobs
        begin = int((self.seeds.index(seed) + 0.5) / len(self.seeds) * (all_jobs - size))
        return range(begin, begin + size)


FULL = Study()


def log_source(study: Study) -> Source:
    """The generated log, as a catalogue would declare it."""
    source = source_of(study.model, study.jobs, SEED)
    return replace(source, generator=source.generator | {"offered_load": study.offered_load})


def prepare(folder: Path, study: Study) -> None:
    """Generates the log, reads it, and writes the arrays of its jobs into `arrays`, where trainings map them into memory."""
    home = folder / "log"
    home.mkdir(parents=True, exist_ok=True)
    os.environ["TRACEHOUSE_HOME"] = str(home)
    source, warehouse = log_source(study), Warehouse(home / "bench.duckdb")
    for step in (generate, ingest, canonical):
        step(source, warehouse)


def write_arrays(folder: Path, study: Study) -> None:
    """The jobs out of the warehouse into `arrays`."""
    trace = load_trace(Warehouse(folder / "log" / "bench.duckdb"), study.model)
    setup = setup_of(trace, PolicyTask("bsld", "easy", window_jobs=study.window_jobs), 0)
    del trace
    workers = WorkerOptions(workers=1, backlog_policy="FCFS")
    write_task(folder / "arrays", WorkerTask(setup.arena, setup.lessons, study.options, 0, workers=workers))


def policy_file(folder: Path, size: int, seed: int) -> Path:
    """Where a policy is."""
    return folder / "policies" / f"{size or 'all'}-{seed}.json"


def learn(folder: Path, study: Study, size: int, seed: int) -> None:
    """Trains one policy. Its card says from what, and what it took."""
    whole, file = read_task(folder / "arrays"), policy_file(folder, size, seed)
    part = study.part(len(whole.arena.jobs), size, seed)
    jobs = whole.arena.jobs.window(part.start, len(part))  # the part is a log of its own: nothing was before it
    lessons = lessons_from_part(range(len(part)), study.window_jobs)
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
        "trained_jobs": len(part),
        "first_job": part.start,
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
        if name not in RULES:
            weights = policy_from_bytes((folder / "policies" / f"{name}.json").read_bytes())[0]
        costs = costs_on(trace, name, weights)
        target = judged_file(folder, log, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, json.dumps(costs).encode())
        print(f"{log}, {name}: {costs['average_bounded_slowdown']:.1f}", flush=True)


def costs_on(trace: Trace, name: str, weights: KernelWeights | None) -> dict[str, Any]:
    """Bounded slowdowns of the ten windows, and METRICS of a continuous replay. weights: None for a rule of this name."""
    arena = arena_of_task(trace, PolicyTask("bsld", "easy"))
    windows = arena.costs(name if weights is None else weights, shared_windows(trace))
    rule = JudgedRule(name, name if weights is None else "learned", weights=weights)
    ((replayed, judgement),) = judged_replays(trace, [rule], int(SCORED_FROM * trace.rows.height))
    scores = scores_of(replayed, judgement)
    return {"windows": windows.tolist()} | {metric: scores[metric] for metric in METRICS}


def alone(step: Callable[..., None], *arguments: Any) -> None:
    """Runs a step in a process of its own, so that it leaves no memory behind."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        pool.submit(step, *arguments).result()


def run(folder: Path, study: Study, run_step: Callable[..., None] = alone) -> None:
    """All steps that are not done yet."""
    if not (folder / "arrays" / TASK_FILE).exists():
        run_step(prepare, folder, study)
        run_step(write_arrays, folder, study)
    for size in study.sizes:  # the largest come last, and take longest
        for seed in study.seeds:
            if not policy_file(folder, size, seed).exists():
                run_step(learn, folder, study, size, seed)
    names = [*RULES, *(name_of(size, seed) for size in study.sizes for seed in study.seeds)]
    for log in JUDGING_LOGS:
        missing = [name for name in names if not judged_file(folder, log, name).exists()]
        if missing:
            run_step(judge_on, folder, log, missing)


def name_of(size: int, seed: int) -> str:
    """A learned policy's name."""
    return policy_file(Path(), size, seed).stem


def sizes_done(folder: Path, study: Study) -> tuple[int, ...]:
    """The sizes whose policies of all seeds are judged. Raises click.ClickException for fewer than two, which cannot be compared."""
    done = tuple(
        size
        for size in study.sizes
        if all(judged_file(folder, log, name_of(size, seed)).exists() for log in JUDGING_LOGS for seed in study.seeds)
    )
    if len(done) < 2:
        raise click.ClickException(
            f"{folder}: {len(done)} sizes are done, and two can be compared: run the study first"
        )
    return done


@dataclass(frozen=True)
class Judged:
    """What a policy or the seeds of a size cost on a log: windows float64 (seeds, 10), replays float64 (seeds,) by metric."""

    windows: FloatArray
    replays: dict[str, FloatArray]


def judged_of(folder: Path, log: str, names: Sequence[str]) -> Judged:
    """The costs of these policies, which are seeds of one size."""
    costs = [json.loads(judged_file(folder, log, name).read_text()) for name in names]
    replays = {metric: np.array([each[metric] for each in costs]) for metric in METRICS}
    return Judged(np.array([each["windows"] for each in costs]), replays)


def seeds_ratio(ours: FloatArray, theirs: FloatArray) -> tuple[float, float, float]:
    """The ratio of two sizes, and its 95 % interval over the seeds, which are pairs: by the t distribution of the logarithms.

    ours, theirs: float64 (seeds,) or (logs, seeds), above 0. Of several logs it is the geometric mean.
    """
    from scipy.special import stdtrit

    logs = np.atleast_2d(np.log(ours) - np.log(theirs)).mean(axis=0)
    margin = float(stdtrit(len(logs) - 1, 0.975) * logs.std(ddof=1) / np.sqrt(len(logs)))
    mean = float(logs.mean())
    return float(np.exp(mean)), float(np.exp(mean - margin)), float(np.exp(mean + margin))


def size_label(size: int, all_jobs: int) -> str:
    """Jobs of a part, in millions."""
    return f"{(size or all_jobs) / 1e6:.3g} million"


def ratio_text(ratio: float, low: float, high: float) -> str:
    """A ratio with its interval."""
    return f"{ratio:.2f} [{low:.2f}, {high:.2f}]"


def cards_of(folder: Path, study: Study, size: int) -> list[dict[str, Any]]:
    """The cards of the policies of one size, by seed."""
    return [policy_from_bytes(policy_file(folder, size, seed).read_bytes())[1] for seed in study.seeds]


def learned_table(folder: Path, study: Study) -> str:
    """What each size learned from, mean over the seeds."""
    lines = []
    for size in study.sizes:
        cards = cards_of(folder, study, size)

        def mean(name: str, cards: list[dict[str, Any]] = cards) -> float:
            return float(np.mean([card[name] for card in cards]))

        decisions = [card["decisions"] / 1e6 for card in cards]
        spread = f"{np.mean(decisions):.2f} ({min(decisions):.2f} to {max(decisions):.2f})"
        means = (f"{mean('days'):,.0f}", f"{mean('windows'):,.0f}", spread, f"{mean('best_epoch'):.1f}")
        peak = f"{max(card['peak_mib'] for card in cards):,.0f}"
        lines.append([f"{cards[0]['trained_jobs']:,}", str(len(cards)), *means, peak])
    titles = ["jobs", "seeds", "days", "windows to draw from", "decisions, millions", "epoch chosen", "peak MiB"]
    return markdown(titles, lines)


def all_judged(folder: Path, study: Study) -> dict[str, dict[int, Judged]]:
    """By log and size, what its seeds cost."""
    return {
        log: {size: judged_of(folder, log, [name_of(size, seed) for seed in study.seeds]) for size in study.sizes}
        for log in JUDGING_LOGS
    }


def windows_table(folder: Path, study: Study, labels: dict[int, str], judged: dict[str, dict[int, Judged]]) -> str:
    """Bounded slowdowns of the ten windows, mean over windows and seeds, and paired differences from the smallest size."""
    least, *larger = study.sizes
    lines = []
    for log, of_size in judged.items():
        costs = [judged_of(folder, log, [rule]).windows for rule in RULES]
        costs += [of_size[size].windows for size in study.sizes]
        cells = [f"{each.mean():.1f}" for each in costs]
        for size in larger:
            gap = paired_difference(of_size[size].windows, of_size[least].windows, PAPER_WINDOWS, 1)
            cells.append(f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]")
        lines.append([log, *cells])
    gaps = [f"{labels[size]} minus {labels[least]}" for size in larger]
    return markdown(["judged on", *RULES, *labels.values(), *gaps], lines)


def replays_table(folder: Path, study: Study, labels: dict[int, str], judged: dict[str, dict[int, Judged]]) -> str:
    """Bounded slowdowns of continuous replays, geometric mean over the seeds, and ratios to the smallest size."""
    least, *larger = study.sizes
    lines = []
    for log, of_size in judged.items():
        slowdowns = {size: of_size[size].replays[METRICS[0]] for size in study.sizes}
        cells = [f"{judged_of(folder, log, [rule]).replays[METRICS[0]][0]:.1f}" for rule in RULES]
        for values in slowdowns.values():
            cells.append(f"{np.exp(np.log(values).mean()):.1f} ({values.min():.1f} to {values.max():.1f})")
        cells += [ratio_text(*seeds_ratio(slowdowns[size], slowdowns[least])) for size in larger]
        lines.append([log, *cells])
    return markdown(
        ["judged on", *RULES, *labels.values(), *(f"{labels[size]} by {labels[least]}" for size in larger)], lines
    )


def together_table(folder: Path, study: Study, labels: dict[int, str], judged: dict[str, dict[int, Judged]]) -> str:
    """Ratios of sizes, and to SAF, in all logs together: geometric means over the logs, with intervals over the seeds."""
    of_name = {label: [of_size[size] for of_size in judged.values()] for size, label in labels.items()}
    of_name["SAF"] = [judged_of(folder, log, ["SAF"]) for log in judged]

    def costs(name: str, measure: str) -> FloatArray:
        """float64 (logs, seeds)."""
        if measure == "windows":
            return np.array([each.windows.mean(axis=1) for each in of_name[name]])
        means = np.array([each.replays[measure] for each in of_name[name]])
        return means + (WAIT_OFFSET_S if measure == METRICS[1] else 0.0)

    measures = {
        "windows": "bounded slowdown, ten windows",
        METRICS[0]: "bounded slowdown, continuously",
        METRICS[1]: "mean wait, continuously",
    }
    names = list(labels.values())
    pairs = [(larger, less) for k, larger in enumerate(names) for less in names[:k]]
    pairs += [(name, "SAF") for name in names]
    lines = [
        [f"{a} by {b}", *(ratio_text(*seeds_ratio(costs(a, measure), costs(b, measure))) for measure in measures)]
        for a, b in pairs
    ]
    return markdown([f"{len(judged)} logs together", *measures.values()], lines)


def print_tables(folder: Path, study: Study) -> None:
    """Prints what came out."""
    labels = {size: size_label(size, cards_of(folder, study, size)[0]["trained_jobs"]) for size in study.sizes}
    judged = all_judged(folder, study)
    for title, table in {
        "together": together_table(folder, study, labels, judged),
        "ten windows": windows_table(folder, study, labels, judged),
        "continuous replays": replays_table(folder, study, labels, judged),
        "what was learned from": learned_table(folder, study),
    }.items():
        print(f"\n{title}\n\n{table}")


@click.command()
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where everything is kept. Default: beside the warehouse."
)
def main(folder: Path | None) -> None:
    """Trains and judges what is missing, and prints the tables."""
    folder = folder or data_folder() / "more-data"
    run(folder, FULL)
    print_tables(folder, FULL)


if __name__ == "__main__":
    main()
