"""Whole replays of our PBS against recorded runs: `python -m studies pbs_free_replays`.

Submissions, walltimes, run times and the configuration alone make a schedule. It is measured by what two runs of the real PBS are
compared by: mean difference of waits, share of waits within 3 s, and share of pairs of jobs that start in the same order.

One replay has the seconds of the accounting log. The other one has the seconds in which the scheduler learned of submissions and ends.
Since this one is the recorded run, it also says how far PBS comes from itself where jobs end a second earlier or later.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from papers.markdown import markdown
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.queueing import ASKED_EVERY_S
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.settings import PbsPhases
from studies.pbs.recorded_runs import RecordedRun, read_recorded_run, recorded_folders
from studies.pbs.timing import logged_run_times, seen_times

IntArray = NDArray[np.int64]

SECOND_RUNS = {
    "P1": (3.5, 0.83, 0.991),
    "P1f": (2.6, 0.87, 0.994),
    "P2": (0.8, 0.92, 0.999),
    "P3": (3.8, 0.66, 0.978),
    "P4": (5.1, 0.77, 0.986),
    "P5": (6.6, 0.60, 0.967),
    "P6": (0.6, 0.92, 0.995),
    "P7": (0.3, 1.00, 1.000),
}
"""The same measures between two runs of PBS, from the reference."""
UNKNOWN_RUN_S = 60
SEEDS = 20
_TITLES = ["run", "difference, s", "within 3 s", "pair order"]


@dataclass(frozen=True)
class WaitDistance:
    """Of one replay from the real run, over jobs that started in both."""

    jobs: int
    real_wait_s: float
    wait_s: float
    difference_s: float
    within_3_s: float
    pair_order: float


def replay_recorded(run: RecordedRun, seed: int | None = None) -> IntArray:
    """Starts of a recorded run's jobs in a replay of its accounting log. seed: of run times that are a second longer for half of the jobs,
    which a log of whole seconds does not tell, None for those of the log."""
    runtime = logged_run_times(run, UNKNOWN_RUN_S)
    if seed is not None:
        runtime += np.random.default_rng(seed).integers(0, 2, len(runtime))
    turns = tuple(np.array([getattr(each, name) for each in run.jobs]) for name in ("submit_turn", "end_turn"))
    return _starts(run, PbsReplayer(run.cluster, [each.job for each in run.jobs], turns=turns), runtime)


def replay_seen(run: RecordedRun, seed: int | None = None) -> IntArray:
    """Starts in a replay in which PBS learns of submissions and ends in the seconds in which it did. Of the seconds of its polls, which no
    log has, the nearest counts. seed: of ends that are a second earlier or later, for a third of the jobs each, None for the run's."""
    seen = seen_times(run, UNKNOWN_RUN_S)
    ran_s = seen.ran_s
    if seed is not None:
        ran_s = np.maximum(ran_s + np.random.default_rng(seed).integers(-1, 2, len(ran_s)), 1)
    asked = [
        replace(each.job, begin_s=max(each.job.begin_s, int(arrival)))
        for each, arrival in zip(run.jobs, seen.arrival_s, strict=True)
    ]
    has_shares = str(run.cluster.scheduler.values.get("fair_share")).lower() == "true"
    decay_s = run.decays[0] - min(job.submit_s for job in asked) if run.decays else None
    starts = [
        seen.late_s
        + _starts(run, PbsReplayer(run.cluster, asked, PbsPhases(0, poll_s, decay_s), seen.turns, seen.late_s), ran_s)
        for poll_s in (range(ASKED_EVERY_S) if has_shares else range(1))
    ]
    return min(starts, key=lambda start: wait_distance(run, start).difference_s)


def _starts(run: RecordedRun, replayer: PbsReplayer, runtime: IntArray) -> IntArray:
    submit = np.array([job.submit_s for job in replayer.asked], dtype=np.int64)
    limit = np.array([job.time_s for job in replayer.asked], dtype=np.int64)
    jobs = Jobs(submit, runtime, np.ones_like(runtime), limit, np.maximum(limit, runtime))
    return replayer.replay(jobs, Cluster(run.cluster.num_cpus)).schedule.start


def noise_s(run: RecordedRun, replay: Callable[[RecordedRun, int], IntArray]) -> str:
    """Least and most mean difference from the real run over replays of several seeds, but for the outermost twentieths."""
    away = [wait_distance(run, replay(run, seed)).difference_s for seed in range(SEEDS)]
    low, high = np.quantile(away, (0.05, 0.95))
    return f"{low:.1f} to {high:.1f}"


def wait_distance(run: RecordedRun, start: IntArray) -> WaitDistance:
    """How far a replay's waits are from those of the real run."""
    real = np.array([-1 if each.start_s is None else each.start_s for each in run.jobs])
    submit = np.array([each.job.submit_s for each in run.jobs])
    both = (real >= 0) & (start >= 0)
    mine, theirs, submit = start[both], real[both], submit[both]
    pairs = np.triu(np.ones((len(mine), len(mine)), dtype=np.bool_), 1)
    order = np.sign(mine[:, None] - mine[None, :]) * np.sign(theirs[:, None] - theirs[None, :])
    away = np.abs(mine - theirs)
    return WaitDistance(
        int(both.sum()),
        float((theirs - submit).mean()),
        float((mine - submit).mean()),
        float(away.mean()),
        float((away <= 3).mean()),
        float((order[pairs] >= 0).mean()),
    )


def main() -> None:
    """Prints two tables. Names of scenarios may be given."""
    seen_rows, logged_rows = [], []
    for folder in recorded_folders():
        name = folder.parent.name
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        run = read_recorded_run(folder)
        seen, logged = (wait_distance(run, start) for start in (replay_seen(run), replay_recorded(run)))
        second = SECOND_RUNS.get(name)
        itself = [f"{second[0]:.1f}", f"{second[1]:.2f}", f"{second[2]:.3f}"] if second else ["-"] * 3
        seen_rows.append([name, str(seen.jobs), f"{seen.real_wait_s:.1f}", *_cells(seen), *itself])
        logged_rows.append(
            [
                name,
                f"{logged.wait_s:.1f}",
                *_cells(logged),
                noise_s(run, replay_recorded),
                noise_s(run, replay_seen),
                itself[0],
            ]
        )
    print("As PBS saw it\n")
    print(
        markdown(
            [*_TITLES[:1], "jobs", "real mean wait, s", *_TITLES[1:], *(f"PBS itself: {each}" for each in _TITLES[1:])],
            seen_rows,
        )
    )
    print("\nFrom the accounting log\n")
    print(
        markdown(
            [
                *_TITLES[:1],
                "mean wait, s",
                *_TITLES[1:],
                "with a second of noise, s",
                "PBS, ends a second off, s",
                "PBS itself, s",
            ],
            logged_rows,
        )
    )


def _cells(one: WaitDistance) -> list[str]:
    return [f"{one.difference_s:.1f}", f"{one.within_3_s:.2f}", f"{one.pair_order:.3f}"]


if __name__ == "__main__":
    main()
