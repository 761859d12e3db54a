"""Times learning: collection, epochs with the paper's settings and with ours, one decision, and how long training takes to reach
the published score on Lublin-1. CPU time of one process unless said otherwise; `python -m benchmarks.policies [PART ...]`."""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.run import cpu_s
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.hindsight import search_orders
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.recipes import learn
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.options import (
    PAPER_PPO,
    EvolutionOptions,
    HindsightOptions,
    KeySearchOptions,
    PPOOptions,
    Recipe,
)
from models.scheduling.search.priority_key import search_key
from papers.archive import SHARED
from papers.rlscheduler.ten_windows import PUBLISHED_LENGTH, PUBLISHED_WINDOWS, published_split
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.policies.network import VISIBLE_JOBS, score_rows
from simulator.policies.observation import LAYOUTS, blank_network
from traces.swf.reader import read_swf

REFERENCE_EPOCH_CPU_S = 467
"""What the reference code takes here for an epoch of 100 windows of 256 jobs with 80 + 80 full-batch iterations."""
PUBLISHED = {"none": 254.67, "easy": 58.64}
"""RLScheduler's scores on Lublin-1, Table V."""
DECISIONS = 2000
PUBLISHED_PPO, PUBLISHED_EVOLUTION = PPOOptions(trajectories=128), EvolutionOptions(windows=24)
"""As in experiments/published: many windows of 256 jobs."""


def lublin() -> Jobs:
    path = SHARED / "lublin_256.swf.gz"
    if not path.exists():
        sys.exit(f"{path} is not there: these benchmarks need the shared traces")
    rows = read_swf(path).records.sort("submit_s", maintain_order=True)
    column = {name: rows[name].fill_null(-1).to_numpy() for name in rows.columns}
    known = {name: np.ones(len(rows), dtype=np.float32) for name in ("memory", "user", "group", "executable")}
    runtime = column["runtime_s"]
    known["request_share"] = (runtime / runtime.max()).astype(np.float32)
    return jobs_from_log(
        column["submit_s"], runtime, column["allocated_procs"], column["requested_walltime_s"], facts=known
    )


def collection(jobs: Jobs) -> None:
    print(f"\n{'collection, 100 windows of 256 jobs':<44}{'decisions':>10}{'jobs seen':>10}{'decisions/CPU-s':>17}")
    first = np.linspace(0, len(jobs) - 256, 100).astype(np.int64)
    for rules, backfill in (
        ("rlscheduler", "none"),
        ("rlscheduler", "easy"),
        ("standard", "none"),
        ("standard", "easy"),
    ):
        for layout in ("paper", "plain"):
            arena = Arena(jobs, 256, parse_goal("bsld"), backfill, rules, threads=1)
            blank = blank_network(LAYOUTS[layout])
            windows = Windows(first, 256)
            found = arena.sample(blank, windows, 1)
            seconds = cpu_s(lambda arena=arena, blank=blank, windows=windows: arena.sample(blank, windows, 1))  # type: ignore[misc]
            name = f"{rules}, {backfill}, {layout}"
            print(f"{name:<44}{found.decisions:>10,}{found.num_rows.mean():>10.1f}{found.decisions / seconds:>17,.0f}")


def epochs(jobs: Jobs) -> None:
    first = np.linspace(0, len(jobs) - 256, 1000).astype(np.int64)
    lessons = Lessons(Windows(first, 256), Windows(first[:0], 256), Windows(first[:1], 256))
    whole = PAPER_PPO.model_copy(update={"epochs": 2, "kl_limit": 1e9})  # all 80 + 80 iterations, no early stop
    cases = {
        "the paper's, 80 + 80 iterations": (whole, "rlscheduler"),
        "the paper's, with its KL limit": (PAPER_PPO.model_copy(update={"epochs": 2}), "rlscheduler"),
        "the default, with 128 windows": (PUBLISHED_PPO.model_copy(update={"epochs": 2}), "standard"),
    }
    print(f"\n{'an epoch, CPU-s':<44}{'none':>10}{'easy':>10}{'reference / none':>19}")
    for name, (options, rules) in cases.items():
        took = []
        for backfill in ("none", "easy"):
            arena = Arena(jobs, 256, parse_goal("bsld"), backfill, rules, threads=1)
            seconds = cpu_s(lambda arena=arena, options=options: train_by_ppo(arena, lessons, options, 1), 1)  # type: ignore[misc]
            took.append(seconds / options.epochs)
        print(f"{name:<44}{took[0]:>10.2f}{took[1]:>10.2f}{REFERENCE_EPOCH_CPU_S / took[0]:>18.1f}x")


def search(jobs: Jobs) -> None:
    """What searches replay: orders of one window each, and keys on many windows."""
    windows = Windows(np.linspace(0, len(jobs) - 256, 12).astype(np.int64), 256)
    arena = Arena(jobs, 256, parse_goal("bsld"), threads=1)
    area = jobs.estimate.astype(np.float64) * jobs.procs
    orders = HindsightOptions()
    seconds = cpu_s(lambda: search_orders(arena, windows, area, orders, 1), 2)
    tried = orders.orders * len(windows)
    print(f"\n{'searches, windows of 256 jobs, EASY':<44}{'replays/CPU-s':>14}{'jobs/CPU-s':>12}")
    print(f"{'orders, simulated annealing':<44}{tried / seconds:>14,.0f}{256 * tried / seconds:>12,.0f}")
    keys = KeySearchOptions(random_keys=200, steps=0)
    seconds = cpu_s(lambda: search_key(arena, windows, keys, 1), 2)
    tried = keys.random_keys * len(windows)
    print(f"{'priority keys, random search':<44}{tried / seconds:>14,.0f}{256 * tried / seconds:>12,.0f}")


def decision() -> None:
    print(f"\n{'one decision over 128 jobs, microseconds':<44}")
    for name, layout in LAYOUTS.items():
        weights = blank_network(layout)
        rows = np.random.default_rng(0).random((VISIBLE_JOBS, len(layout.inputs))).astype(np.float32)
        for array in weights[2:]:
            array[:] = np.random.default_rng(1).normal(0, 0.3, array.shape)
        scores = np.empty(VISIBLE_JOBS, dtype=np.float32)
        score_rows(rows, VISIBLE_JOBS, weights, scores)

        def score(rows=rows, weights=weights, scores=scores) -> None:
            for _ in range(DECISIONS):
                score_rows(rows, VISIBLE_JOBS, weights, scores)

        print(f"{name:<44}{cpu_s(score) / DECISIONS * 1e6:>10.1f}")


def published(jobs: Jobs) -> None:
    """Wall time of training, and what the policy then scores on the ten published windows: learned from all jobs, as the paper,
    and from those outside of the windows."""
    print(f"\n{'Lublin-1, the published score':<44}{'target':>10}{'reached':>10}{'wall s':>10}")
    ten = Windows(np.array(PUBLISHED_WINDOWS, dtype=np.int64), PUBLISHED_LENGTH)
    for seen in (True, False):
        split = published_split(len(jobs), 256, seen)
        lessons = Lessons(split.learn, split.learn, split.choose)
        for backfill, target in PUBLISHED.items():
            arena = Arena(jobs, 256, parse_goal("bsld"), backfill, "rlscheduler")
            for method in ("ppo", "evolution"):
                began = time.monotonic()
                found = learn(
                    arena,
                    lessons,
                    Recipe(
                        method=method, start="best", cautious=False, ppo=PUBLISHED_PPO, evolution=PUBLISHED_EVOLUTION
                    ),
                    1,
                    _quiet,
                )
                took = time.monotonic() - began
                name = f"{method}, {backfill}, {'all jobs' if seen else 'other jobs'}"
                print(f"{name:<44}{target:>10.2f}{arena.costs(found.weights, ten).mean():>10.2f}{took:>10.0f}")


def _quiet(report: EpochReport) -> None:
    pass


def main() -> None:
    parts = sys.argv[1:] or ["collection", "search", "epochs", "decision", "published"]
    jobs = lublin()
    for part, work in (("collection", collection), ("search", search), ("epochs", epochs), ("published", published)):
        if part in parts:
            work(jobs)
    if "decision" in parts:
        decision()


if __name__ == "__main__":
    main()
