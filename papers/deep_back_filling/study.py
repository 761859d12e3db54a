"""Deep Back-Filling's protocol on Lublin-1: `python -m papers.deep_back_filling.study`.

Prints every rule that sees the whole queue, and rules that see a window of it, in 100 episodes that end when 1,000 jobs are placed.

    python -m papers.deep_back_filling.study --train --window 10-10 --episodes 5000 --seeds 1,2,3 --checkpoints FOLDER

trains agents in the mode of the paper, one seed after the other, and prints what each checkpoint is worth on later jobs. What was
trained is kept in FOLDER, and an interrupted run goes on from there. For each seed that is the state of the training. For each
checkpoint it is the actor, and the agent's file, which `tracehouse replay --backfill` takes. --cut 1 trains and tests on the whole
trace, as the paper does. --speed prints how fast episodes are stepped and learned.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from papers.archive import LOGS, jobs_of_file, log_file
from papers.deep_back_filling.episodes import PlacingBatch, PlacingRules
from papers.deep_back_filling.networks import ActorCritic
from papers.deep_back_filling.options import DeepBackFillingOptions
from papers.deep_back_filling.placing_file import placing_to_bytes
from papers.deep_back_filling.protocol import (
    RIVALS,
    WINDOW_RULES,
    WINDOW_SIZES,
    ProtocolMetrics,
    Rival,
    protocol_starts,
    try_rival,
    window_rival,
    window_splits,
)
from papers.deep_back_filling.training import PlacingLearner, TrainedPlacing, UpdateReport, train_deep_back_filling
from papers.deep_back_filling.trials import CheckpointTest, agent_of, trial_starts, with_longest
from papers.markdown import print_cells, print_heading
from simulator.jobs.jobs import Jobs

LOG, PROCS = LOGS["Lublin-1"]
SHOWN_METRICS = {
    "wait placed, s": "wait_placed",
    "wait arrived, s": "wait_arrived",
    "queue": "queue",
    "use": "use",
    "load, core-h": "load",
    "wide placed": "wide_placed",
    "p99, h": "wait_p99",
    "longest, h": "wait_longest",
    "invisible": "invisible",
    "partly": "partly_observed",
}
HOURS = ("load", "wait_p99", "wait_longest")
DIGITS = {"use": 3, "wide_placed": 2, "queue": 1, "partly_observed": 2, "invisible": 1}


def main() -> None:
    """Prints rules, a training, or how fast both are."""
    parser = argparse.ArgumentParser(prog="python -m papers.deep_back_filling.study")
    parser.add_argument("--train", action="store_true", help="train agents instead of replaying rules")
    parser.add_argument("--speed", action="store_true", help="time episodes and updates instead")
    parser.add_argument("--window", default="10-10", help="slots at the front and at the end of the queue")
    parser.add_argument("--episodes", type=int, default=5000, help="training episodes")
    parser.add_argument("--every", type=int, help="training episodes from one tested checkpoint to the next")
    parser.add_argument("--seeds", default="1", help="seeds, separated by commas")
    parser.add_argument("--cut", type=float, default=0.5, help="share of the trace that is trained on")
    parser.add_argument("--update-episodes", type=int, default=1, help="episodes played before an update")
    parser.add_argument("--half-precision", action="store_true", help="gradient steps in bfloat16")
    parser.add_argument("--checkpoints", type=Path, help="folder of what was trained")
    arguments = parser.parse_args()
    jobs = jobs_of_file(log_file("Lublin-1"))
    front, _, back = arguments.window.partition("-")
    options = DeepBackFillingOptions(
        front=int(front),
        back=int(back),
        episodes=arguments.episodes,
        checkpoint_every=arguments.every or DeepBackFillingOptions().checkpoint_every,
        update_episodes=arguments.update_episodes,
        cut=arguments.cut,
        half_precision=arguments.half_precision,
        seeds=tuple(int(seed) for seed in arguments.seeds.split(",")),
    )
    if arguments.speed:
        print_speed(jobs, options)
    elif arguments.train:
        print_training(jobs, options, arguments.checkpoints)
    else:
        print_rivals(jobs)
        print_windows(jobs)


def print_rivals(jobs: Jobs) -> None:
    """A row for each rule that sees the whole queue."""
    first = protocol_starts(len(jobs))
    print_heading("rule", *SHOWN_METRICS)
    for name, rival in RIVALS.items():
        print_row(name, try_rival(rival, jobs, PROCS, first))


def print_windows(jobs: Jobs) -> None:
    """Wait of the placed and of the arrived jobs and the queue, by rule, size and split of the window."""
    first = protocol_starts(len(jobs))
    splits = list(window_splits(2))
    print("\nrules that see a window\n")
    print_heading("rule", "slots", *splits)
    for by in WINDOW_RULES:
        for slots in WINDOW_SIZES:
            cells = []
            for front, back in window_splits(slots).values():
                means = try_rival(window_rival(by, front, back), jobs, PROCS, first, window=slots).means()
                cells.append(f"{means.wait_placed:,.0f}; {means.wait_arrived:,.0f}; {means.queue:.1f}")
            print_cells(by, str(slots), *cells)


def print_training(jobs: Jobs, options: DeepBackFillingOptions, folder: Path | None) -> list[TrainedPlacing]:
    """Trains every seed, beside the rules on the same episodes."""
    first = trial_starts(len(jobs), options)
    same_view = {f"{by}, same view": window_rival(by, options.front, options.back) for by in WINDOW_RULES}
    no_tail = {"shortest, no tail": window_rival("shortest", options.slots, 0)}
    print_heading("agent", *SHOWN_METRICS)
    for name, rival in (
        {"EASY-SJBF": RIVALS["EASY-SJBF"], "SAF+EASY": RIVALS["SAF+EASY"]} | same_view | no_tail
    ).items():
        print_row(name, rival_on(rival, jobs, first, options))
    trained = []
    for seed in options.seeds:
        name = f"{options.front}-{options.back}, seed {seed}"
        state = folder / f"dbf-{options.front}-{options.back}-{seed}.pt" if folder else None
        reporter = Reporter(name, folder, with_longest(jobs, options))
        trained.append(train_deep_back_filling(jobs, PROCS, options, seed, state, reporter.on_update, reporter.on_test))
    return trained


def rival_on(rival: Rival, jobs: Jobs, first: NDArray[np.int64], options: DeepBackFillingOptions) -> ProtocolMetrics:
    """The rule in the agent's test episodes."""
    return try_rival(rival, jobs, PROCS, first, options.placed, options.later, options.slots)


class Reporter:
    """Prints what a training reports, and keeps the actor of each checkpoint in the folder."""

    def __init__(self, name: str, folder: Path | None, options: DeepBackFillingOptions) -> None:
        """options: with the run time that counts as 1."""
        self._name, self._folder, self._options = name, folder, options
        self._recent: list[UpdateReport] = []

    def on_update(self, report: UpdateReport) -> None:
        """Every hundredth update a line of progress goes to the error stream."""
        self._recent.append(report)
        if len(self._recent) == 100:
            means = {name: float(np.mean([getattr(r, name) for r in self._recent])) for name in vars(report)}
            shown = ("decisions", "reward", "wait_placed", "wait_arrived", "queue", "use", "invisible", "entropy", "kl")
            now = time.strftime("%H:%M:%S")
            values = {name: round(means[name], 4) for name in shown}
            print(f"{now} {self._name}, episode {report.episodes}: {json.dumps(values)}", file=sys.stderr, flush=True)
            self._recent.clear()

    def on_test(self, test: CheckpointTest, network: ActorCritic | None) -> None:
        """A row each for the likeliest action and for drawn ones. network: None for one that was tested before."""
        print_row(f"{self._name}, {test.episodes:,} episodes, likeliest", test.likeliest)
        print_row(f"{self._name}, {test.episodes:,} episodes, drawn", test.drawn)
        if self._folder is not None and network is not None:
            name = f"{self._name.replace(', seed ', '-')}-{test.episodes}"
            self._folder.mkdir(parents=True, exist_ok=True)
            torch.save(network.actor.state_dict(), self._folder / f"{name}-actor.pt")
            card = {"trace": LOG, "episodes": test.episodes} | self._options.model_dump(include={"cut", "placed"})
            agent = agent_of(network, PROCS, self._options, card)
            (self._folder / f"{name}-agent.json").write_bytes(placing_to_bytes(agent))


def print_row(name: str, metrics: ProtocolMetrics) -> None:
    """Means, and standard deviations of waits and queue as in the paper's figures."""
    means = metrics.means()
    cells = []
    for column in SHOWN_METRICS.values():
        mean = float(getattr(means, column)) / (3600 if column in HOURS else 1)
        digits = DIGITS.get(column, 0)
        spread = f" ± {np.std(getattr(metrics, column)):,.{digits}f}" if column in ("wait_arrived", "queue") else ""
        cells.append(f"{mean:,.{digits}f}{spread}")
    print_cells(name, *cells)


def print_speed(jobs: Jobs, options: DeepBackFillingOptions) -> None:
    """Decisions a CPU-second without a network, and what an episode with its update takes."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(1)
    for episodes in (100, 1):
        rules = PlacingRules(options.front, options.back, later=options.training_later, threads=1)
        batch = PlacingBatch(jobs, PROCS, episodes, rules)
        for _ in range(2):  # the first time it may be compiled
            sight = batch.reset(rng.integers(0, len(jobs) - options.training_later, episodes))
            decisions, seconds = 0, 0.0
            while sight.asking.any():
                decisions += int(sight.asking.sum())
                action = rng.integers(0, options.slots + 1, episodes)
                begin = time.process_time()
                sight = batch.step(action)
                seconds += time.process_time() - begin
        print(f"{episodes} episodes side by side, random actions: {decisions / seconds:,.0f} decisions per CPU-second")
    learner = PlacingLearner(jobs, PROCS, with_longest(jobs, options), 1)
    learner.learn()
    begin, before, updates = time.process_time(), learner.episodes, 5
    decisions = sum(learner.learn().decisions for _ in range(updates))
    seconds, episodes = time.process_time() - begin, learner.episodes - before
    print(
        f"learning, {options.hidden}: {seconds / episodes:.2f} CPU-s an episode of {decisions / episodes:,.0f} decisions, "
        f"{decisions / seconds:,.0f} decisions per CPU-second, {5000 * seconds / episodes / 3600:.1f} h for 5,000 episodes"
    )


if __name__ == "__main__":
    main()
