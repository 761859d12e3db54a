"""What training RLSchert's networks takes and gives: `python -m papers.rlschert.study PART ...`.

training: until learned killing has converged, a quarter of an hour. completion: the curve of RLSchert without killing for completion
time. table_3: what an iteration of the paper's networks on state images takes. All on synthetic jobs, in CPU time of one process.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from papers.markdown import markdown
from papers.rlschert.cluster import Setting, run_heuristic_on
from papers.rlschert.options import PAPER_OPTIONS, RLSchertOptions
from papers.rlschert.plan import NETWORKS_TRIED
from papers.rlschert.training import IterationReport, train_rlschert
from papers.rlschert.view import HEURISTICS
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


def main() -> None:
    """Runs the parts that are named."""
    parts = {"training": training, "completion": completion_curve, "table_3": table_3}
    if not sys.argv[1:] or set(sys.argv[1:]) - set(parts):
        sys.exit(f"expected parts to run, of {', '.join(parts)}")
    for part in sys.argv[1:]:
        parts[part]()


if __name__ == "__main__":
    main()
