"""What training RLSchert's networks takes and gives: `python -m papers.rlschert.study PART ...`.

training: until learned killing has converged, a quarter of an hour. completion: the curve of RLSchert without killing for completion
time. table_3: what an iteration of the paper's networks on state images takes. networks: Table 3 itself, with the paper's settings and
one seed, and DeepRM. An interrupted training goes on from its file in `--checkpoints`. All on synthetic jobs, in CPU time of one process.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from papers.markdown import markdown
from papers.rlschert.cluster import Setting, run_heuristic_on
from papers.rlschert.options import PAPER_OPTIONS, RLSchertOptions
from papers.rlschert.plan import NETWORKS_TRIED, TEST_SEED
from papers.rlschert.training import IterationReport, RLSchertPolicy, train_rlschert, train_selecting
from papers.rlschert.view import HEURISTICS, WHOLE_QUEUE_HEURISTICS
from papers.rlschert.workload import Workload, draw_sequences

ITERATIONS_TIMED = 4
ALGORITHMS = {"pg": "policy gradient", "ppo": "PPO"}
LAYERS = {"image_mlp": "dense", "image_cnn": "convolutions"}
SHOWN_ITERATIONS = (5, 10, 15, 20, 30, 50, 70, 90, 110, 130, 150)
"""Of the curve of completion time."""


def training() -> None:
    """RLSchert with learned killing and its teacher, with the asset's own settings, one seed on one core."""
    options, teacher = RLSchertOptions(), None
    pool, validation = draw_sequences(Workload(), options.pool, 1), draw_sequences(Workload(), 32, 2)
    print(
        f"\n{'RLSchert, training':<20}{'iterations':>12}{'CPU-s':>8}{'validated slowdown':>20}{'within 5 % after, CPU-s':>26}"
    )
    for name, kills in (("without killing", False), ("learned killing", True)):
        begin, validated = time.process_time(), list[tuple[float, float]]()

        def keep(report: IterationReport, begin: float = begin, kept: list[tuple[float, float]] = validated) -> None:
            if report.validation is not None:
                kept.append((time.process_time() - begin, report.validation))

        teacher, _ = train_rlschert(
            pool, validation, Setting(), options, 1, kills=kills, teacher=teacher, on_iteration=keep
        )
        best = min(cost for _, cost in validated)
        soon = next(seconds for seconds, cost in validated if cost <= 1.05 * best)
        print(f"{name:<20}{options.iterations:>12}{validated[-1][0]:>8.0f}{best:>20.2f}{soon:>26.0f}")


def completion_curve() -> None:
    """The curve of the paper's Figure 8, of RLSchert without killing, one seed, with the asset's own settings."""
    options = RLSchertOptions(goal="completion")
    pool, validation = draw_sequences(Workload(), options.pool, 1), draw_sequences(Workload(), 32, 2)
    setting, curve = Setting(goal="completion"), dict[int, float]()

    def keep(report: IterationReport) -> None:
        if report.validation is not None:
            curve[report.iteration] = report.validation

    train_rlschert(pool, validation, setting, options, 1, kills=False, on_iteration=keep)
    rules = {name: run_heuristic_on(validation, setting, name).completions().mean() for name in HEURISTICS}
    shown = [iteration for iteration in SHOWN_ITERATIONS if iteration in curve]
    cells = [f"{value:.1f}" for value in (*(curve[iteration] for iteration in shown), *rules.values())]
    print(
        f"\nbest iteration: {min(curve, key=lambda iteration: curve[iteration])}\n\ncompletion time on the validation sequences\n"
    )
    print(markdown(["iteration", *map(str, shown), *rules], [["completion time", *cells]]))


def table_3() -> None:
    """Iterations of the networks of the paper's Table 3 with its settings, after a first one that is longer than the others."""
    pool, validation = (draw_sequences(Workload(), count, seed) for seed, count in ((1, PAPER_OPTIONS.pool), (2, 32)))
    lines = []
    for network, algorithm in NETWORKS_TRIED:
        changed = {"network": network, "algorithm": algorithm, "iterations": ITERATIONS_TIMED + 1}
        options, ends = (
            PAPER_OPTIONS.model_copy(update=changed | {"validate_every": ITERATIONS_TIMED + 2}),
            list[float](),
        )

        def keep(report: IterationReport, ends: list[float] = ends) -> None:
            ends.append(time.process_time())

        train_rlschert(pool, validation, Setting(), options, 1, kills=False, on_iteration=keep)
        one = float(np.median(np.diff(ends)))
        lines.append([f"{ALGORITHMS[algorithm]}, {LAYERS[network]}", f"{one:.1f}", f"{one * 250 / 3600:.2f}"])
    titles = ["network", "CPU-seconds an iteration", "CPU-hours for 250 iterations, one seed"]
    print(f"\nTable 3, networks on state images\n\n{markdown(titles, lines)}")


@dataclass(frozen=True)
class TrainedImage:
    """A network on state images that was trained with the paper's settings. name: its row. printed: slowdown in Table 3, or Table 7
    for DeepRM. seconds: CPU time of the training, of what was trained in this process."""

    name: str
    printed: float
    setting: Setting
    policy: RLSchertPolicy
    curve: list[IterationReport]
    seconds: float


IMAGES_TRAINED = (
    ("policy gradient, dense", "pg", "image_mlp", True, 7.16),
    ("PPO, dense", "ppo", "image_mlp", True, 7.03),
    ("PPO, dense, first predictions", "ppo", "image_mlp", False, 9.63),
    ("PPO, convolutions", "ppo", "image_cnn", True, 7.59),
)
"""Row, algorithm, network, whether estimates follow the predictions while jobs run, and what the paper prints."""


def networks(checkpoints: Path | None, iterations: int = PAPER_OPTIONS.iterations, seed: int = 1) -> None:
    """Table 3, and a network that sees first predictions alone, as DeepRM does. None kills, and judging sequences are of no training."""
    pool, validation = (draw_sequences(Workload(), count, draw) for draw, count in ((1, PAPER_OPTIONS.pool), (2, 32)))
    trained = []
    for name, algorithm, network, with_remaining, printed in IMAGES_TRAINED:
        changed = {"network": network, "algorithm": algorithm, "iterations": iterations}
        options, setting = (
            PAPER_OPTIONS.model_copy(update=changed),
            Setting(with_remaining=with_remaining, printed_reward=True),
        )
        kind = "rlschert" if with_remaining else "deeprm"
        file = checkpoints / f"{kind}-{algorithm}-{network}-{seed}.pt" if checkpoints else None
        begin = time.process_time()
        policy, curve = train_selecting(pool, validation, setting, options, seed, file)
        trained.append(TrainedImage(name, printed, setting, policy, curve, time.process_time() - begin))
        print(f"{name}: {trained[-1].seconds:.0f} CPU-s now", flush=True)
    print_networks(trained)


def print_networks(trained: list[TrainedImage]) -> None:
    """Slowdowns on the 16 test sequences, beside the heuristics, and the curves on the validation sequences."""
    test = draw_sequences(Workload(), 16, TEST_SEED)
    costs = {
        name: run_heuristic_on(test, Setting(with_remaining=name in WHOLE_QUEUE_HEURISTICS), name).slowdowns()
        for name in (*HEURISTICS, *WHOLE_QUEUE_HEURISTICS)
    }
    printed = dict.fromkeys(costs, "")
    for one in trained:
        costs[one.name] = one.policy.run(test, one.setting).slowdowns()
        printed[one.name] = f"{one.printed:.2f}"
    lines = []
    for name, cost in costs.items():
        apart = paired_difference(cost[None], costs["SAF"][None], Windows(np.arange(len(cost)), 1), 1)
        interval = "" if name == "SAF" or apart.low is None else f"{apart.low:+.2f} to {apart.high:+.2f}"
        lines.append([name, f"{cost.mean():.2f}", interval, printed[name]])
    titles = ["scheduler", "slowdown", "against SAF, 95 %", "the paper prints"]
    print(f"\nTable 3, trained as published\n\n{markdown(titles, lines)}")
    shown = sorted({report.iteration for one in trained for report in one.curve if report.iteration % 25 == 0})
    rows = []
    for one in trained:
        validated = {report.iteration: report.validation for report in one.curve}
        cells = [f"{validated[iteration]:.2f}" if validated.get(iteration) else "" for iteration in shown]
        rows.append([one.name, *cells])
    print(
        f"\nTable 3, slowdown on the validation sequences by iteration\n\n{markdown(['network', *map(str, shown)], rows)}"
    )


def main() -> None:
    """Runs the parts that are named."""
    parser = argparse.ArgumentParser(prog="python -m papers.rlschert.study")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--checkpoints", type=Path, help="folder of the networks that were trained")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {"training": training, "completion": completion_curve, "table_3": table_3}
    parts["networks"] = lambda: networks(arguments.checkpoints)
    if not arguments.parts or set(arguments.parts) - set(parts):
        sys.exit(f"expected parts to run, of {', '.join(parts)}")
    for part in arguments.parts:
        parts[part]()


if __name__ == "__main__":
    main()
