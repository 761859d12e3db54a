"""Times the reader of VASP runs, and RLSchert's cluster. CPU time of one process; `python -m studies vasp [PART ...]`.

reading: MB of text per CPU-second. cuts: every real OUTCAR, cut at 20 random bytes, is read and compared with the whole. cluster:
steps per CPU-second. Real runs are read where `shared/traces/vasp` lies beside the project; synthetic ones always.
"""

from __future__ import annotations

import csv
import gzip
import random
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.run import cpu_s
from papers.archive import SHARED
from papers.rlschert.cluster import Setting, SlotCluster
from papers.rlschert.rules import new_state
from papers.rlschert.view import HEURISTICS, run_heuristic
from papers.rlschert.workload import Workload, draw_sequences
from traces.vasp.folders import find_runs
from traces.vasp.outcar import Launch, read_outcar
from traces.vasp.runs import read_folder
from traces.vasp.synthetic import SyntheticOptions, write_runs
from traces.vasp.tables import tables_of

REAL = SHARED.parent / "vasp"
CUTS = 20


def reading() -> None:
    print(f"\n{'reading VASP runs':<28}{'folders':>8}{'MB':>8}{'OUTCAR alone, MB/CPU-s':>24}{'folders, MB/CPU-s':>20}")
    with tempfile.TemporaryDirectory() as temporary:
        write_runs(Path(temporary), SyntheticOptions(runs=200))
        for name, root in (("synthetic", Path(temporary)), ("real", REAL)):
            if not root.is_dir():
                continue
            folders = list(find_runs(root))
            texts = [_text(folder.path / file) for folder in folders for file in folder.outcars]
            size = sum(map(len, texts)) / 1e6
            alone = cpu_s(lambda texts=texts: [read_outcar([text]) for text in texts])  # type: ignore[misc]
            whole = cpu_s(lambda folders=folders: tables_of([read_folder(folder) for folder in folders]), repeats=1)  # type: ignore[misc]
            print(f"{name:<28}{len(folders):>8}{size:>8.1f}{size / alone:>24.0f}{size / whole:>20.0f}")


def cuts() -> None:
    """Cuts every real OUTCAR; exits with an error where a cut does not read as a part of the whole."""
    if not REAL.is_dir():
        print(f"\n{REAL} is not there: no real runs to cut")
        return
    rng, count, begin = random.Random(1), 0, time.process_time()
    with (REAL / "INDEX.tsv").open() as index:
        runs = [row["run"] for row in csv.DictReader(index, delimiter="\t")]
    for run in runs:
        text = _text(REAL / run / "OUTCAR.gz")
        whole = read_outcar([text])
        for _ in range(CUTS):
            at = rng.randrange(len(text))
            part = text[:at]
            part = part[: part.rfind(b"\n") + 1]
            check_prefix(part, read_outcar([part]), whole, f"{run} cut at byte {at}")
            count += 1
    seconds = time.process_time() - begin
    print(f"\n{count:,} cuts of {len(runs)} OUTCARs read; complete steps are those of the whole ({seconds:.0f} CPU-s)")


def check_prefix(text: bytes, part: list[Launch], whole: list[Launch], where: str) -> None:
    for name, line in (("electronic", rb"(?m)^ *LOOP: "), ("ionic", rb"(?m)^ *LOOP\+: ")):
        read, there = sum(len(getattr(launch, name)) for launch in part), len(re.findall(line, text))
        if read != there:
            sys.exit(f"{where}: {read} {name} steps of {there} were read")
    for launch, complete in zip(part, whole, strict=False):
        for name in ("electronic", "ionic"):
            steps, expected = getattr(launch, name), getattr(complete, name)
            if steps[:-1] != expected[: max(len(steps) - 1, 0)]:
                sys.exit(f"{where}: {name} steps differ from the whole file's")
            if steps:
                told = {key: value for key, value in vars(steps[-1]).items() if value is not None}
                if any(getattr(expected[len(steps) - 1], key) != value for key, value in told.items()):
                    sys.exit(f"{where}: the last {name} step tells something else than the whole file")


def cluster() -> None:
    sequences = draw_sequences(Workload(), 64, seed=1)
    setting = Setting()
    print(f"\n{'RLSchert: 64 sequences of 200 jobs':<44}{'steps':>10}{'steps/CPU-s':>14}")
    state = new_state(sequences, setting.procs)
    for number, name in enumerate(HEURISTICS):
        steps = run_heuristic(sequences, setting.rules(), state, number, 1, 10**7)
        seconds = cpu_s(lambda number=number: run_heuristic(sequences, setting.rules(), state, number, 1, 10**7))  # type: ignore[misc]
        print(f"{name + ', compiled to the end':<44}{steps:>10,}{steps / seconds:>14,.0f}")
    for images in (False, True):
        many, rng = SlotCluster(sequences, setting, images), np.random.default_rng(1)
        best = float("inf")
        for _ in range(3):
            many.begin()
            taken, used = 0, 0.0
            for _ in range(600):
                action = np.where(many.mask, rng.random(many.mask.shape), -1).argmax(axis=1)
                taken += int((~many.over).sum())
                begin = time.process_time()
                many.step(action)
                used += time.process_time() - begin
            best = min(best, used / taken)
        what = "state images" if images else "facts"
        print(f"{f'random choices, stepped side by side, {what}':<44}{taken:>10,}{1 / best:>14,.0f}")


def _text(path: Path) -> bytes:
    return gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()


PARTS = {
    "reading": reading,
    "cuts": cuts,
    "cluster": cluster,
}


def main() -> None:
    unknown = [name for name in sys.argv[1:] if name not in PARTS]
    if unknown:
        sys.exit(f"unknown part {unknown[0]!r}; expected {', '.join(PARTS)}")
    for part in sys.argv[1:] or list(PARTS):
        PARTS[part]()
