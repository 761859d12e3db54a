"""Trains RLScheduler with its own settings, and keeps the policies: `python -m studies rlscheduler_train --train FOLDER`.

    python -m studies rlscheduler_train --train FOLDER [--device cuda] [--only lublin-1] [--epochs 10]
    python -m studies rlscheduler_train --keep FOLDER

train what FOLDER lacks, one after the other, from where it was interrupted, and put it into docs/results/rlscheduler-policies.tar.xz. A
training of 100 epochs takes half an hour on a processor, 19 seconds an epoch. `python -m papers.rlscheduler.as_published` judges them.
"""

from __future__ import annotations

import argparse
import csv
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from models.scheduling.learning.checkpoint import TrainingProgress, read_checkpoint
from models.scheduling.learning.ppo import Learner, train_by_ppo
from models.scheduling.learning.training import EpochReport
from models.scheduling.options import PAPER_PPO
from models.scheduling.policy_file import policy_to_bytes
from papers.kept_files import members_of
from papers.rlscheduler.as_published import CURVE_FILE, KEPT_TRAININGS, PUBLISHED_TRAININGS, PublishedTraining, arena_of
from papers.rlscheduler.ten_windows import PUBLISHED_JOBS, published_split
from studies.of_papers.kept import write_members

FILTERED_EPOCHS = 50
"""Of a training with the trajectory filter: the first half."""


class _Paused(Exception):
    """A training has as many epochs as were asked for."""


def train_as_published(training: PublishedTraining, folder: Path, device: str, epochs: int) -> None:
    """Trains one policy up to so many epochs and writes it twice, as it was after the last one and after the best one, and the curve."""
    from studies.of_papers.on_device import DeviceLearner

    arena = replace(arena_of(training.log, training.goal, "none"), threads=1)
    lessons = published_split(PUBLISHED_JOBS, 256, seen=True).lessons(arena)
    options = PAPER_PPO.model_copy(update={"filtered_epochs": FILTERED_EPOCHS if training.filtered else 0})
    seed, state = training.seed, folder / f"{training.name}.pt"
    learner = Learner(arena, options, seed, None) if device == "cpu" else DeviceLearner(arena, options, seed, device)

    def on_epoch(report: EpochReport) -> None:
        print(f"{training.name}, epoch {report.epoch}: {report.validation_cost:.4g}", flush=True)
        if report.epoch >= epochs:
            raise _Paused

    with suppress(_Paused):
        train_by_ppo(arena, lessons, options, seed, on_epoch, state, learner=learner)
    kept = read_checkpoint(state)
    assert kept is not None
    progress = TrainingProgress.from_state(kept["state"]["progress"])
    curve = progress.curve
    for which, weights, epoch in (("last", learner.weights(), len(curve)), ("best", progress.weights, progress.epoch)):
        card = published_card(training, epoch)
        (folder / f"{training.name}-{which}.json").write_bytes(policy_to_bytes(weights, card))
    with (folder / f"{training.name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([training.name, r.epoch, r.sampled_cost, r.validation_cost] for r in curve)


def keep_trainings(folder: Path, target: Path = KEPT_TRAININGS) -> None:
    """Puts what was trained in the folder into the archive, in place of what it has of the same trainings: the curve, and the policies of
    a training that has all its epochs."""
    members = members_of(target)
    lines = members[CURVE_FILE].decode().splitlines()
    for training in PUBLISHED_TRAININGS:
        file = folder / f"{training.name}.csv"
        curve = file.read_text().splitlines() if file.exists() else []
        if curve:
            lines = [line for line in lines if not line.startswith(f"{training.name},")] + curve
        if len(curve) == PAPER_PPO.epochs:
            for name in (f"{training.name}-{which}.json" for which in ("last", "best")):
                members[name] = (folder / name).read_bytes()
    members[CURVE_FILE] = "".join(f"{line}\r\n" for line in lines).encode()
    write_members(target, members)


def published_card(training: PublishedTraining, epoch: int) -> dict[str, object]:
    """What a policy file says of itself. epoch: after which it was as it is."""
    task = {"goal": training.goal, "backfill": "none", "estimates": "requested", "rules": "rlscheduler", "agent": None}
    learned = {"seed": training.seed, "epochs": PAPER_PPO.epochs, "epoch": epoch}
    return {"source": training.log, "trained_jobs": PUBLISHED_JOBS, **task, "filtered": training.filtered, **learned}


def main() -> None:
    """Trains, or keeps what was trained."""
    parser = argparse.ArgumentParser(prog="python -m studies rlscheduler_train")
    parser.add_argument("--train", type=Path, metavar="FOLDER", help="train what this folder lacks")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--only", default="", help="trainings whose name begins so")
    parser.add_argument("--epochs", type=int, default=PAPER_PPO.epochs, help="stop each training after so many")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="put what was trained there into the archive")
    given = parser.parse_args()
    if given.train:
        given.train.mkdir(parents=True, exist_ok=True)
        for training in PUBLISHED_TRAININGS:
            if training.name.startswith(given.only):
                train_as_published(training, given.train, given.device, given.epochs)
    if given.keep:
        keep_trainings(given.keep)
