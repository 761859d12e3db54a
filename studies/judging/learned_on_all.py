"""Does a network that learns on several logs at once add anything to the program? `python -m studies learned_on_all --kept FOLDER`.

The kernel network starts as `searched:balanced`, and may leave it within its cap. Evolution strategies learn on the first 30 % of three
logs together, by what the search of programs made small: the gain, and five times whatever guards exceed. The next tenth of their jobs
chooses the generation, among those that learned. The second halves judge it over the program, and so do those of three logs that it never
read. FOLDER keeps every generation, so that a training that was stopped goes on. With `tried` it prints what settings reach on the jobs
that choose.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assets.policies.training import TrainingSetup
from models.judging.chance import ChanceCloud, RandomOrder, cloud_around
from models.judging.judge import judge
from models.judging.verdict import Ratios
from models.scheduling.learning.evolution import CostOf, evolve_by
from models.scheduling.learning.recipes import SHARPNESS, program_network
from models.scheduling.learning.training import EpochReport, TrainedPolicy
from models.scheduling.options import EvolutionOptions
from papers.markdown import print_cells, print_heading
from simulator.policies.network import CAP_S, KernelWeights
from simulator.policies.observation import LAYOUTS
from studies.judging.learned_program import PROGRAM, RIVALS, rival_rows, rows_of, setup_of
from studies.judging.search_policies import LIMITS
from studies.judging.searched import ORDERS, UNSEEN, gain_of
from studies.judging.searched_logs import COPIES_SEED, LEARNED_FROM
from studies.searching.learning_logs import LearningLog, perturbed_copies
from studies.searching.several_logs import GuardedLogs

SEEDS = (1, 2, 3)
OPTIONS = EvolutionOptions(generations=27, pairs=8, validate_every=3)
SETTINGS = ((0.03, 0.05), (0.01, 0.02), (0.003, 0.005))
"""Rate and spread."""
CHOSEN = 0
"""Of SETTINGS. The jobs that choose the generation chose it, by the first TRIED generations of seed 1."""
TRIED = 12
SEEN_OFTEN = 1.43
"""How many times as large as half its interval a difference is that four of five comparisons see, (1.96 + 0.84) / 1.96."""


def fitness_of(setups: Sequence[TrainingSetup]) -> GuardedLogs:
    """What a network is trained by on these logs. No job of a second half is in it."""
    learned, choosing = [], []
    for setup in setups:
        jobs, procs, name = setup.arena.jobs, setup.arena.cluster_procs, setup.trace.source
        first = LearningLog(name, jobs.window(0, setup.lessons.windows.scored.stop), procs)
        learned.append([first, *perturbed_copies(first, COPIES_SEED)])
        chosen = setup.lessons.validation.scored
        choosing.append(LearningLog(name, jobs.window(0, chosen.stop), procs, chosen.start))
    return GuardedLogs(learned, choosing, LIMITS["balanced"])


@dataclass(frozen=True)
class Learned:
    """A fitness by which what a training starts from counts for nothing, so that something learned is judged."""

    fitness: GuardedLogs
    start: KernelWeights

    def cost_in_generation(self, rng: np.random.Generator, centre: KernelWeights) -> CostOf:
        """As the fitness has it."""
        return self.fitness.cost_in_generation(rng, centre)

    def validated(self, weights: KernelWeights) -> float:
        """As the fitness has it, infinite for the start."""
        return math.inf if weights is self.start else self.fitness.validated(weights)

    def training(self, settings: object, start: KernelWeights) -> str:
        """Another one than that by the fitness."""
        return self.fitness.training(["learned", settings], start)


def options_of(setting: int) -> EvolutionOptions:
    """The options with one of SETTINGS."""
    rate, spread = SETTINGS[setting]
    return OPTIONS.model_copy(update={"rate": rate, "spread": spread})


def start_of(seed: int) -> KernelWeights:
    """The program as a network."""
    return program_network(LAYOUTS["program"], SHARPNESS["evolution"], seed)


def trained_with(fitness: GuardedLogs, setting: int, seed: int, folder: Path | None = None) -> TrainedPolicy:
    """The best generation of one seed, which is not the program."""

    def say(report: EpochReport) -> None:
        validated = "" if report.validation_cost is None else f", later jobs {report.validation_cost:.3f}"
        print(f"setting {setting}, seed {seed}, {report.epoch}: {report.sampled_cost:.3f}{validated}", flush=True)

    kept, start = None if folder is None else folder / f"{setting}-{seed}.checkpoint", start_of(seed)
    return evolve_by(Learned(fitness, start), start, options_of(setting), seed, say, kept)


def print_trained(fitness: GuardedLogs, trained: Mapping[int, TrainedPolicy]) -> None:
    """What each seed reaches on the jobs that choose, next to the program, which training keeps where it costs less."""
    program = fitness.validated(start_of(1))
    print("\ntrained\n")
    print_heading("seed", "best generation", "value on the jobs that choose", "the program's", "kept")
    for seed, policy in trained.items():
        kept = "yes" if policy.validation_cost < program else "no"
        print_cells(f"{seed}", f"{policy.best_epoch}", f"{policy.validation_cost:.3f}", f"{program:.3f}", kept)


def print_tried(fitness: GuardedLogs) -> None:
    """What the first generations with each setting reach on the jobs that choose, next to the program."""
    print("\nsettings\n")
    print_heading("rate", "spread", "best generation", "its value", "mean value")
    for setting, (rate, spread) in enumerate(SETTINGS):
        values = first_values(fitness, options_of(setting))
        best = min(values, key=values.__getitem__)
        cells = [f"{best}", f"{values[best]:.3f}", f"{np.mean(list(values.values())):.3f}"]
        print_cells(f"{rate:g}", f"{spread:g}", *cells)
    print_cells("the program", "", "0", f"{fitness.validated(start_of(1)):.3f}", "")


def first_values(fitness: GuardedLogs, options: EvolutionOptions, last: int = TRIED) -> dict[int, float]:
    """By generation, up to the last one, what seed 1 reaches on the jobs that choose."""
    values: dict[int, float] = {}

    def note(report: EpochReport) -> None:
        if report.validation_cost is not None:
            values[report.epoch] = report.validation_cost
        if report.epoch == last:
            raise StopIteration

    with suppress(StopIteration):
        evolve_by(fitness, start_of(1), options, 1, note)
    return values


@cache
def setup_named(log: str) -> TrainingSetup:
    """The setup of a log, made once."""
    return setup_of(log)


def cloud_of_program(setup: TrainingSetup, orders: int = ORDERS) -> ChanceCloud:
    """What random orders within the cap reach on the second half, next to the program."""
    arena, scored = setup.arena, setup.judging.scored
    lots = (RandomOrder(CAP_S, seed) for seed in range(orders))
    return cloud_around(arena.replayed(PROGRAM, scored), lambda policy: arena.replayed(policy, scored).schedule, lots)


class Compared(NamedTuple):
    """One policy over the program on one second half. gain: as in `gain_of`. margin: half the interval of the typical block's wait, as a
    logarithm, None where it has none."""

    gain: float
    margin: float | None


def compared(setup: TrainingSetup, policy: str | KernelWeights) -> Compared:
    """A policy over the program."""
    arena, scored = setup.arena, setup.judging.scored
    judgement = judge([arena.replayed(policy, scored)], [arena.replayed(PROGRAM, scored)])
    low, high = judgement.wait.low, judgement.wait.high
    margin = None if low is None or high is None else math.log(high / low) / 2
    return Compared(gain_of(judgement.verdict.ratios[0]), margin)


def print_together(
    policies: Mapping[str, str | KernelWeights],
    clouds: Mapping[str, Sequence[Ratios]],
    setups: Mapping[str, TrainingSetup],
) -> dict[str, dict[str, Compared]]:
    """The mean ratio of bounded slowdown and wait over the program, on the logs learned from and on the others, and one test over all.

    An order of one seed is one order on all logs. Returns what was compared, by policy and log.
    """
    every = {name: {log: compared(setup, policy) for log, setup in setups.items()} for name, policy in policies.items()}
    print("\ntogether\n")
    print_heading("policy", "the three logs", "unseen logs", "all logs", "random orders as good")
    random = np.array([[gain_of(each) for each in clouds[log]] for log in setups]).mean(axis=0)
    for name, of_log in every.items():
        means = [
            math.exp(np.mean([of_log[log].gain for log in logs])) for logs in (LEARNED_FROM, UNSEEN, tuple(setups))
        ]
        share = (1 + int((random <= math.log(means[-1])).sum())) / (1 + len(random))
        print_cells(name, *(f"{mean:.3f}" for mean in means), f"{share:.1%}")
    return every


def print_power(every: Mapping[str, Mapping[str, Compared]], logs: Sequence[str]) -> None:
    """The differences of wait from the program that such a comparison sees: of the typical seed, and on the logs learned from together."""
    print("\npower\n")
    print_heading(
        "log", "seen in half of cases", "seen in four of five", "mean ratio of the seeds", "range of the seeds"
    )
    margins = {log: median_margin([of_log[log] for of_log in every.values()]) for log in logs}
    pooled = [margin for log in LEARNED_FROM if (margin := margins[log]) is not None]
    joint = math.hypot(*pooled) / len(pooled) if len(pooled) == len(LEARNED_FROM) else None
    gains = {log: [of_log[log].gain for of_log in every.values()] for log in logs}
    joint_gains = np.mean([gains[log] for log in LEARNED_FROM], axis=0).tolist()
    for name, margin, seeds in [
        *((log, margins[log], gains[log]) for log in logs),
        ("the three logs", joint, joint_gains),
    ]:
        seen = ["-", "-"] if margin is None else [f"{1 - math.exp(-times * margin):.0%}" for times in (1, SEEN_OFTEN)]
        mean, low, high = (math.exp(each) for each in (np.mean(seeds), min(seeds), max(seeds)))
        print_cells(name, *seen, f"{mean:.2f}", f"{low:.2f} to {high:.2f}")


def median_margin(compared_seeds: Sequence[Compared]) -> float | None:
    """Of those that have one."""
    margins = [each.margin for each in compared_seeds if each.margin]
    return float(np.median(margins)) if margins else None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies learned_on_all")
    parser.add_argument("part", nargs="?", choices=["tried"], help="the settings, on the jobs that choose")
    parser.add_argument("--kept", type=Path, help="folder that keeps every generation of the trainings")
    asked = parser.parse_args()
    fitness = fitness_of([setup_named(log) for log in LEARNED_FROM])
    if asked.part == "tried":
        print_tried(fitness)
        return
    trained = {seed: trained_with(fitness, CHOSEN, seed, asked.kept) for seed in SEEDS}
    print_trained(fitness, trained)
    setups = {log: setup_named(log) for log in (*LEARNED_FROM, *UNSEEN)}
    clouds = {}
    for log, setup in setups.items():
        cloud = cloud_of_program(setup)
        clouds[log] = cloud.ratios
        print(f"\non {log}\n")
        titles = ["policy", "best generation", "confirmed", "bounded slowdown", "mean wait", "worst guard", "verdict"]
        print_heading(*titles, "typical block: wait", "random orders as good")
        for seed, *cells in rows_of(setup, trained, cloud):
            print_cells(f"seed {seed}" if seed.isdigit() else "all seeds", *cells)
        for row in rival_rows(setup, cloud):
            print_cells(*row)
    seeds: dict[str, str | KernelWeights] = {f"seed {seed}": policy.weights for seed, policy in trained.items()}
    every = print_together({**seeds, **{name: name for name in RIVALS}}, clouds, setups)
    print_power({name: every[name] for name in seeds}, tuple(setups))


if __name__ == "__main__":
    main()
