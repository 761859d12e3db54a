"""What training RLSchert's networks takes and gives: `python -m papers.rlschert.study PART ...`.

training: until learned killing has converged, a quarter of an hour. completion: the curve of RLSchert without killing for completion
time. table_3: what an iteration of the paper's networks on state images takes. networks: Table 3 itself, with the paper's settings and
one seed, DeepRM, and the network that kills, from docs/results/rlschert-policies.tar.xz. All on synthetic jobs, in CPU time of one process.

    python -m papers.rlschert.study --train FOLDER
    python -m papers.rlschert.study --keep FOLDER

train these networks, where an interrupted training goes on from its file, and write them into the archive.
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
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from papers.kept_files import kept_archive, members_of, short_floats, write_members
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


def training() -> None:
    """RLSchert with learned killing and its teacher, with the asset's own settings, one seed on one core."""
    options, teacher = RLSchertOptions(), None
    pool, validation = draw_sequences(Workload(), options.pool, 1), draw_sequences(Workload(), 32, 2)
    print(
        f"\n{'RLSchert, training':<20}{'iterations':>12}{'CPU-s':>8}{'validated slowdown':>20}{'within 5 % after, CPU-s':>26}"
    )
    for name in ("without killing", "learned killing"):
        begin, validated = time.process_time(), list[tuple[float, float]]()

        def keep(report: IterationReport, begin: float = begin, kept: list[tuple[float, float]] = validated) -> None:
            if report.validation is not None:
                kept.append((time.process_time() - begin, report.validation))

        teacher, _ = train_rlschert(pool, validation, Setting(), options, 1, teacher, keep)
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


def train_networks(folder: Path, iterations: int = PAPER_OPTIONS.iterations, only: str = "") -> None:
    """Trains what the folder lacks, one after the other: Table 3, a network that sees first predictions alone, as DeepRM does, and one that
    kills. Its teacher is the kept one. An interrupted training goes on from its file. only: how names of files begin."""
    pool, validation = (draw_sequences(Workload(), count, draw) for draw, count in ((1, PAPER_OPTIONS.pool), (2, 32)))
    for image in (each for each in IMAGES_TRAINED if each.file.startswith(only)):
        changed = {"network": image.network, "algorithm": image.algorithm, "iterations": iterations}
        options, begin = PAPER_OPTIONS.model_copy(update=changed), time.process_time()
        teacher = network_from_bytes(members_of(KEPT_NETWORKS)[f"{TEACHER.file}.json"])[0] if image.kills else None

        def show(report: IterationReport, name: str = image.name, begin: float = begin) -> None:
            if report.validation is not None:
                spent = time.process_time() - begin
                print(f"{name}, iteration {report.iteration}: {report.validation:.2f}, {spent:.0f} CPU-s", flush=True)

        file = folder / f"{image.file}.pt"
        train_rlschert(pool, validation, image.setting, options, 1, teacher, show, file)


def keep_networks(folder: Path, target: Path = KEPT_NETWORKS) -> None:
    """Writes the policies and curves of the folder into the archive, which keeps those that the folder lacks. A training that has not
    ended is kept as it is."""
    members = members_of(target)
    curves = {
        name: list(of)
        for name, of in groupby(members.pop(CURVES, b"").decode().splitlines(), lambda line: line.partition(",")[0])
    }
    for image in IMAGES_TRAINED:
        if not (folder / f"{image.file}.pt").exists():
            continue
        state = torch.load(folder / f"{image.file}.pt", weights_only=True)["state"]
        network = new_rlschert_network(image.network, Setting().procs, image.kills)
        network.load_state_dict(state["networks"]["kept"])
        curve = [IterationReport(**report) for report in state["curve"]]
        card = {"name": image.name, "seed": 1, "iterations": len(curve), "of": PAPER_OPTIONS.iterations}
        policy = RLSchertPolicy(network, image.network, image.kills)
        members[f"{image.file}.json"] = network_to_bytes(policy, Setting().procs, card)
        curves[image.file] = [
            f"{image.file},{report.iteration},{report.sampled:.3f},{'' if report.validation is None else f'{report.validation:.3f}'}"
            for report in curve
        ]
    rows = "".join(f"{line}\n" for of in curves.values() for line in of)
    write_members(target, members | {CURVES: rows.encode()})


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


def network_to_bytes(policy: RLSchertPolicy, procs: int, card: dict[str, Any]) -> bytes:
    """The content of the file, with weights of eight significant bits. The same network gives the same bytes. procs: of the cluster."""
    weights = {
        name: [list(part.shape), base64.b64encode(short_floats(part.numpy()).astype("<f4").tobytes()).decode()]
        for name, part in policy.network.state_dict().items()
    }
    document = {
        "format": NETWORK_FORMAT,
        "kind": policy.kind,
        "kills": policy.kills,
        "procs": procs,
        "weights": weights,
    }
    return json.dumps(document | {"card": card, "sha256": _digest(document)}, indent=1).encode()


def network_from_bytes(content: bytes) -> tuple[RLSchertPolicy, dict[str, Any]]:
    """The policy and its card. Raises ValueError for what is no such file, or a damaged one."""
    try:
        document = json.loads(content)
        if document["format"] != NETWORK_FORMAT:
            raise ValueError(f"of format {document['format']!r}, expected {NETWORK_FORMAT!r}")
        if document["sha256"] != _digest(document):
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


def _digest(document: dict[str, Any]) -> str:
    hashed = json.dumps([document[name] for name in ("kind", "kills", "procs", "weights")], sort_keys=True)
    return hashlib.sha256(hashed.encode()).hexdigest()


def main() -> None:
    """Runs the parts that are named."""
    parser = argparse.ArgumentParser(prog="python -m papers.rlschert.study")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--train", type=Path, metavar="FOLDER", help="train the networks of Table 3 that it lacks")
    parser.add_argument("--only", default="", help="of them those whose files begin so: rlschert, deeprm or kills")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write what was trained there into the archive")
    arguments = parser.parse_args()
    if arguments.train:
        train_networks(arguments.train, only=arguments.only)
    if arguments.keep:
        keep_networks(arguments.keep)
    if arguments.train or arguments.keep:
        return
    parts: dict[str, Callable[[], None]] = {"training": training, "completion": completion_curve, "table_3": table_3}
    parts["networks"] = networks
    if not arguments.parts or set(arguments.parts) - set(parts):
        sys.exit(f"expected parts to run, of {', '.join(parts)}")
    for part in arguments.parts:
        parts[part]()


if __name__ == "__main__":
    main()
