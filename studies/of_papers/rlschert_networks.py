"""Trains RLSchert's networks on images, and keeps them: `python -m studies rlschert_networks --train FOLDER`.

    python -m studies rlschert_networks --train FOLDER [--only kills]
    python -m studies rlschert_networks --keep FOLDER
    python -m studies rlschert_networks --converge

train the networks of Table 3, where an interrupted training goes on from its file; write them into docs/results/rlschert-policies.tar.xz;
and say what a training until learned killing has converged takes, a quarter of an hour. `python -m papers.rlschert.study networks` judges
them.
"""

from __future__ import annotations

import argparse
import base64
import json
import time
from itertools import groupby
from pathlib import Path
from typing import Any

import torch

from papers.kept_files import members_of
from papers.rlschert.cluster import Setting
from papers.rlschert.networks import new_rlschert_network
from papers.rlschert.plan import PAPER_OPTIONS, RLSchertOptions
from papers.rlschert.study import (
    CURVES,
    IMAGES_TRAINED,
    KEPT_NETWORKS,
    NETWORK_FORMAT,
    TEACHER,
    network_from_bytes,
    weights_digest,
)
from papers.rlschert.training import IterationReport, RLSchertPolicy, train_rlschert
from papers.rlschert.workload import Workload, draw_sequences
from studies.of_papers.kept import short_floats, write_members


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
    return json.dumps(document | {"card": card, "sha256": weights_digest(document)}, indent=1).encode()


def main() -> None:
    """Trains, keeps, or times."""
    parser = argparse.ArgumentParser(prog="python -m studies rlschert_networks")
    parser.add_argument("--train", type=Path, metavar="FOLDER", help="train the networks of Table 3 that it lacks")
    parser.add_argument("--only", default="", help="of them those whose files begin so: rlschert, deeprm or kills")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write what was trained there into the archive")
    parser.add_argument(
        "--converge", action="store_true", help="train with the asset's settings, and say what that takes"
    )
    arguments = parser.parse_args()
    if arguments.train:
        train_networks(arguments.train, only=arguments.only)
    if arguments.keep:
        keep_networks(arguments.keep)
    if arguments.converge:
        training()
