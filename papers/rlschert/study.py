"""What training RLSchert's networks takes and gives: `python -m papers.rlschert.study PART ...`.

completion: the curve of RLSchert without killing for completion
time. table_3: what an iteration of the paper's networks on state images takes. networks: Table 3 itself, with the paper's settings and
one seed, DeepRM, and the network that kills, from docs/results/rlschert-policies.tar.xz. All on synthetic jobs, in CPU time of one process.
`python -m studies rlschert_networks` trains these networks, and writes them into the archive.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from papers.kept_files import kept_archive, members_of
from papers.markdown import markdown
from papers.rlschert.cluster import Setting, run_heuristic_on
from papers.rlschert.networks import new_rlschert_network
from papers.rlschert.plan import NETWORKS_TRIED, PAPER_OPTIONS, TEST_SEED, RLSchertOptions
from papers.rlschert.training import IterationReport, RLSchertPolicy, train_rlschert
from papers.rlschert.view import HEURISTICS, WHOLE_QUEUE_HEURISTICS
from papers.rlschert.workload import Workload, draw_sequences

ITERATIONS_TIMED = 4
ALGORITHMS = {"pg": "policy gradient", "ppo": "PPO"}
LAYERS = {"image_mlp": "dense", "image_cnn": "convolutions"}
SHOWN_ITERATIONS = (5, 10, 15, 20, 30, 50, 70, 90, 110, 130, 150)
"""Of the curve of completion time."""


def completion_curve() -> None:
    """The curve of the paper's Figure 8, of RLSchert without killing, one seed, with the asset's own settings."""
    options = RLSchertOptions(goal="completion")
    pool, validation = draw_sequences(Workload(), options.pool, 1), draw_sequences(Workload(), 32, 2)
    setting, curve = Setting(goal="completion"), dict[int, float]()

    def keep(report: IterationReport) -> None:
        if report.validation is not None:
            curve[report.iteration] = report.validation

    train_rlschert(pool, validation, setting, options, 1, on_iteration=keep)
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

        train_rlschert(pool, validation, Setting(), options, 1, on_iteration=keep)
        one = float(np.median(np.diff(ends)))
        lines.append([f"{ALGORITHMS[algorithm]}, {LAYERS[network]}", f"{one:.1f}", f"{one * 250 / 3600:.2f}"])
    titles = ["network", "CPU-seconds an iteration", "CPU-hours for 250 iterations, one seed"]
    print(f"\nTable 3, networks on state images\n\n{markdown(titles, lines)}")


class ImageTraining(NamedTuple):
    """A network on state images, as the paper trains it. algorithm, network: as RLSchertOptions has them. with_remaining: whether estimates
    follow the predictions while jobs run. printed: the slowdown in Table 3, or in Table 7 for DeepRM and where it kills. kills: whether it
    learns to, with the dense network of PPO as its teacher."""

    name: str
    algorithm: str
    network: str
    with_remaining: bool
    printed: float
    kills: bool = False

    @property
    def file(self) -> str:
        """Of what is kept."""
        who = "kills" if self.kills else "rlschert" if self.with_remaining else "deeprm"
        return f"{who}-{self.algorithm}-{self.network}-1"

    @property
    def setting(self) -> Setting:
        """The cluster, with the reward as printed."""
        return Setting(with_remaining=self.with_remaining, printed_reward=True)


IMAGES_TRAINED = (
    ImageTraining("policy gradient, dense", "pg", "image_mlp", True, 7.16),
    ImageTraining("PPO, dense", "ppo", "image_mlp", True, 7.03),
    ImageTraining("PPO, dense, first predictions", "ppo", "image_mlp", False, 9.63),
    ImageTraining("PPO, dense, learned killing", "ppo", "image_mlp", True, 8.32, kills=True),
    ImageTraining("PPO, convolutions", "ppo", "image_cnn", True, 7.59),
)
TEACHER = IMAGES_TRAINED[1]
"""Whose selections a network that kills imitates."""
KEPT_NETWORKS = kept_archive("rlschert")
NETWORK_FORMAT = "tracehouse rlschert network 1"
CURVES = "curves.csv"
"""Of the archive: file, iteration, mean slowdown of the sampled sequences, and on the validation sequences where it was measured."""


def networks() -> None:
    """Slowdowns of the kept networks on the 16 test sequences, beside the rules, and the curves on the validation sequences."""
    members, test = members_of(KEPT_NETWORKS), draw_sequences(Workload(), 16, TEST_SEED)
    costs = {
        name: run_heuristic_on(test, Setting(with_remaining=name in WHOLE_QUEUE_HEURISTICS), name).slowdowns()
        for name in (*HEURISTICS, *WHOLE_QUEUE_HEURISTICS)
    }
    facts = {name: ["", ""] for name in costs}
    for image in IMAGES_TRAINED:
        if f"{image.file}.json" in members:
            policy, card = network_from_bytes(members[f"{image.file}.json"])
            costs[image.name] = policy.run(test, image.setting).slowdowns()
            facts[image.name] = [f"{card['iterations']} of {card['of']}", f"{image.printed:.2f}"]
    lines = []
    for name, cost in costs.items():
        intervals = [
            "" if name == rival else interval_of(cost, costs[rival]) for rival in ("SJF", "SAF") if rival in costs
        ]
        lines.append([name, f"{cost.mean():.2f}", *intervals, *facts[name]])
    titles = ["scheduler", "slowdown", "against SJF, 95 %", "against SAF, 95 %", "iterations", "the paper prints"]
    print(f"\nTable 3, trained as published\n\n{markdown(titles, lines)}")
    print_image_curves(members[CURVES].decode())


def interval_of(cost: np.ndarray, rival: np.ndarray) -> str:
    """The 95 % interval of the mean difference over sequences."""
    apart = paired_difference(cost[None], rival[None], Windows(np.arange(len(cost)), 1), 1)
    return "" if apart.low is None else f"{apart.low:+.2f} to {apart.high:+.2f}"


def print_image_curves(text: str) -> None:
    """What the networks cost on the validation sequences, by iteration."""
    validated: dict[str, dict[int, str]] = {}
    for file, iteration, _, cost in csv.reader(io.StringIO(text)):
        if cost:
            validated.setdefault(file, {})[int(iteration)] = f"{float(cost):.2f}"
    shown = sorted({iteration for of in validated.values() for iteration in of if iteration % 25 == 0})
    rows = [
        [image.name, *(validated[image.file].get(iteration, "") for iteration in shown)]
        for image in IMAGES_TRAINED
        if image.file in validated
    ]
    print(
        f"\nTable 3, slowdown on the validation sequences by iteration\n\n{markdown(['network', *map(str, shown)], rows)}"
    )


def network_from_bytes(content: bytes) -> tuple[RLSchertPolicy, dict[str, Any]]:
    """The policy and its card. Raises ValueError for what is no such file, or a damaged one."""
    try:
        document = json.loads(content)
        if document["format"] != NETWORK_FORMAT:
            raise ValueError(f"of format {document['format']!r}, expected {NETWORK_FORMAT!r}")
        if document["sha256"] != weights_digest(document):
            raise ValueError("the weights are not those that were written, their hash differs")
        network = new_rlschert_network(document["kind"], document["procs"], document["kills"])
        weights = {
            name: torch.from_numpy(np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float32).reshape(shape))
            for name, (shape, text) in document["weights"].items()
        }
        network.load_state_dict(weights)
    except (KeyError, TypeError, UnicodeDecodeError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"no network of RLSchert, or a damaged one ({error}): take it from the archive again"
        ) from None
    return RLSchertPolicy(network, document["kind"], document["kills"]), document["card"]


def weights_digest(document: dict[str, Any]) -> str:
    """SHA-256 of what a file holds of a network, in hexadecimal."""
    hashed = json.dumps([document[name] for name in ("kind", "kills", "procs", "weights")], sort_keys=True)
    return hashlib.sha256(hashed.encode()).hexdigest()


def main() -> None:
    """Runs the parts that are named."""
    parser = argparse.ArgumentParser(prog="python -m papers.rlschert.study")
    parser.add_argument("parts", nargs="*")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {"completion": completion_curve, "table_3": table_3}
    parts["networks"] = networks
    if not arguments.parts or set(arguments.parts) - set(parts):
        sys.exit(f"expected parts to run, of {', '.join(parts)}")
    for part in arguments.parts:
        parts[part]()


if __name__ == "__main__":
    main()
