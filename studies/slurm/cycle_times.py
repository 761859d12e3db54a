"""What the time of a backfill cycle changes in whole replays: `python -m studies slurm_cycle_times`.

Each recorded run is replayed with cycles that take a millisecond for each job that they test, as where nobody knows it, and with the time
that `sdiag` printed at the end of the run. All else is as in `slurm_free_runs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from simulator.slurm.replaying import TEST_US
from studies.slurm.decisions import SHARED
from studies.slurm.free_runs import SEEDS, Distance, distance, phases_of, replay_golden
from studies.slurm.golden_cluster import text_of
from studies.slurm.golden_runs import GoldenRun, read_golden_run
from traces.cluster.notes import TextFile
from traces.slurm.state.cycles import read_sdiag

ROW = "| {} | {} | {:.0f} | {:.0f} | {:.0f} | {:.2f} | {:.2f} | {:.3f} | {:.3f} |"


def golden_folders_with_sdiag() -> Iterator[tuple[Path, int]]:
    """Folders of recorded runs of all versions, and microseconds of a backfill cycle for each job that it tests."""
    for folder in sorted((SHARED / "golden").glob("slurm*/*/run1")):
        diagnosis, _ = read_sdiag(TextFile("sdiag.txt", text_of(folder, "sdiag.txt")))
        if diagnosis.test_us is not None:
            yield folder, diagnosis.test_us


def distances(run: GoldenRun, test_us: int, seeds: int = SEEDS) -> list[Distance]:
    """How far replays are from the real run, one for each phase of the cycles."""
    phases = [replace(phases_of(run, seed), test_us=test_us) for seed in range(seeds)]
    return [distance(run, replay_golden(run, each)) for each in phases]


def mean(rows: list[Distance], name: str) -> float:
    """The mean of a measure over replays."""
    return float(np.mean([getattr(row, name) for row in rows]))


def main() -> None:
    """Prints a row for each run, and what replays are off by on average."""
    print(
        "| run | of sdiag, us | real mean wait, s | 1 ms, s | sdiag, s | within 60 s, 1 ms | sdiag | tau, 1 ms | sdiag |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    off: list[list[float]] = []
    for folder, test_us in golden_folders_with_sdiag():
        run = read_golden_run(folder)
        usual, measured = (distances(run, each) for each in (TEST_US, test_us))
        real_s, both = usual[0].real_wait_s, (usual, measured)
        cells = [mean(rows, name) for name in ("wait_s", "within_60_s", "tau") for rows in both]
        print(ROW.format(f"{folder.parents[1].name} {folder.parent.name}", test_us, real_s, *cells), flush=True)
        off.append([abs(mean(rows, "wait_s") / real_s - 1) for rows in both])
    usual_off, measured_off = np.mean(off, axis=0)
    nearer = sum(measured < usual for usual, measured in off)
    print(f"\nMean waits are off by {usual_off:.1%} with 1 ms, and by {measured_off:.1%} with sdiag.", end=" ")
    print(f"It is nearer in {nearer} of {len(off)} runs.")


if __name__ == "__main__":
    main()
