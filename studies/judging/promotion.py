"""How often a policy is promoted that learned nothing, and one that is better by a tenth: `python -m studies promotion`.

*Nothing learned*: PPO starts from smallest area first, and the rewards of its windows are shuffled before every update. The best of
its epochs is chosen by some jobs, and later jobs confirm it or do not, as in every training. *A tenth shorter*: every wait of smallest
area first with EASY, from which training starts, is a tenth shorter. *A larger cluster*: FCFS with EASY on a cluster of a processor or two
more, so that some weeks gain much and others nothing. Every run has a synthetic log of its own. The tenth of a log before its middle
confirms, as in `tracehouse train`. A policy that some random orders equal is not promoted (models/judging/chance.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt

import numpy as np

from models.judging.chance import ChanceCloud
from models.judging.judge import Judgement, judge, takes_over
from models.judging.panel import Replayed
from models.judging.verdict import DOMINATES
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.ppo import Learner, train_by_ppo
from models.scheduling.learning.recipes import SHARPNESS, smallest_area_first
from models.scheduling.learning.training import Lessons
from models.scheduling.options import PPOOptions
from simulator.agents.trajectories import Trajectories
from simulator.jobs.jobs import jobs_from_log
from simulator.policies.observation import LAYOUTS
from traces.synthetic.workload import WorkloadOptions, generate_workload

SEEDS = range(200)
NULL_SEEDS = range(200, 400)
"""The rule of promotion was chosen with the trainings of SEEDS in view; these are others."""
PROCS, LOAD = 64, 0.75
NULL_JOBS = 4000
SIZES = (4000, 10_000, 40_000)
"""Jobs of the logs on which the shorter waits are looked for, and the larger cluster on the first size."""
SMALL = PPOOptions(epochs=4, trajectories=8, siblings=4)
WINDOW = 128
BETTER = 0.9


@dataclass(frozen=True)
class Counts:
    """How many of the runs dominated, how many of these were promoted, and how many of these had both intervals below 1."""

    runs: int
    dominated: int
    promoted: int
    certain: int

    def __str__(self) -> str:
        share = self.promoted / self.runs
        error = 2 * sqrt(share * (1 - share) / self.runs)
        others = (self.dominated / self.runs, self.certain / self.runs)
        return f"{self.runs} | {others[0]:.1%} | {share:.1%} +- {error:.1%} | {others[1]:.1%}"


class ShuffledLearner(Learner):
    """Learns from rewards that belong to other windows."""

    def update(
        self, trajectories: Trajectories, rewards: np.ndarray, rng: np.random.Generator
    ) -> tuple[float, float, int]:
        """As `Learner.update`, with the rewards shuffled."""
        return super().update(trajectories, rng.permutation(rewards), rng)


def main() -> None:
    print("| what | jobs of a log | runs | dominates | is promoted | both intervals below 1 |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    print(f"| nothing learned | {NULL_JOBS:,} | {counted(NULL_SEEDS, nothing_learned)} |", flush=True)
    for jobs in SIZES:
        print(
            f"| every wait a tenth shorter | {jobs:,} | {counted(SEEDS, partial(shorter_waits, jobs=jobs))} |",
            flush=True,
        )
    jobs = SIZES[0]
    for more in (1, 2):
        usual, larger = (mean_wait(jobs, procs) for procs in (0, more))
        words = f"{more} processor{'s' * (more > 1)} more, mean wait {larger / usual - 1:+.0%}"
        print(f"| {words} | {jobs:,} | {counted(SEEDS, partial(larger_cluster, jobs=jobs, more=more))} |", flush=True)


@dataclass(frozen=True)
class Trial:
    """A judgement, and what makes the cloud of random orders around the one that was compared with."""

    judgement: Judgement
    cloud: Callable[[], ChanceCloud]


def counted(seeds: range, run: Callable[[int], Trial]) -> Counts:
    """What becomes of one run for each seed. run: takes the seed."""
    trials = [run(seed) for seed in seeds]
    dominated = sum(each.judgement.verdict.word == DOMINATES for each in trials)
    certain = sum(each.judgement.verdict.is_certain for each in trials)
    promoted = sum(takes_over(each.judgement, cloud=each.cloud) for each in trials)
    return Counts(len(seeds), dominated, promoted, certain)


def arena_of(seed: int, jobs: int, procs: int = PROCS) -> Arena:
    """A synthetic log, and a cluster of that many processors."""
    rows = generate_workload(WorkloadOptions(jobs=jobs, procs=PROCS, seed=seed, offered_load=LOAD))
    names = ("submit_s", "runtime_s", "procs", "requested_walltime_s")
    return Arena(jobs_from_log(*(rows[name].to_numpy() for name in names)), procs, parse_goal("bsld"), threads=1)


def nothing_learned(seed: int) -> Trial:
    """The chosen epoch of a training with shuffled rewards beside what it started from, on the jobs that confirm."""
    arena = arena_of(seed, NULL_JOBS)
    learned, chosen, confirmed = (int(share * NULL_JOBS) for share in (0.3, 0.4, 0.5))
    confirming = Windows.blocks(chosen, confirmed)
    windows = Windows.spread(0, learned, WINDOW, 1000)
    lessons = Lessons(windows, windows, Windows.blocks(learned, chosen), confirming, after=WINDOW)
    start = smallest_area_first(LAYOUTS["plain"], SHARPNESS["ppo"], seed)
    learner = ShuffledLearner(arena, SMALL, seed, start)
    weights = train_by_ppo(
        arena, lessons, SMALL, seed, learner=learner
    ).weights  # without a start: epoch 0 is no choice
    ours, theirs = (arena.replayed(policy, confirming.scored) for policy in (weights, start))
    return Trial(judge([ours], [theirs]), partial(arena.chance_cloud, theirs))


def replayed(seed: int, jobs: int, more: int = 0, policy: str = "FCFS") -> Replayed:
    """A policy with EASY on a cluster of so many processors more, over the jobs that confirm."""
    scored = Windows.blocks(int(0.4 * jobs), int(0.5 * jobs)).scored
    return arena_of(seed, jobs, PROCS + more).replayed(policy, scored)


def mean_wait(jobs: int, more: int, logs: int = 40) -> float:
    """Seconds, over some logs together."""
    return float(np.mean([replayed(seed, jobs, more).panel().wait_s for seed in range(logs)]))


def shorter_waits(seed: int, jobs: int) -> Trial:
    """A schedule in which every wait is a tenth shorter, beside the true one."""
    usual = replayed(seed, jobs, policy="SAF")
    wait = BETTER * (usual.schedule.start - usual.jobs.submit)
    start = usual.jobs.submit + np.rint(wait).astype(np.int64)
    shorter = replace(usual, schedule=replace(usual.schedule, start=start))
    return Trial(judge([shorter], [usual]), partial(arena_of(seed, jobs).chance_cloud, usual))


def larger_cluster(seed: int, jobs: int, more: int) -> Trial:
    """The larger cluster beside the usual one."""
    usual = replayed(seed, jobs)
    judgement = judge([replayed(seed, jobs, more)], [usual])
    return Trial(judgement, partial(arena_of(seed, jobs).chance_cloud, usual))
