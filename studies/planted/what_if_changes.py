"""Settings that a real scheduler really had, asked as a what-if question: `python -m studies what_if_changes`.

Two recorded runs of the same jobs differ in settings. The jobs and the configuration of the first, and the configuration files of the
second, give the change that `tracehouse what-if --change` predicts, for all jobs and for each user, account, partition, QOS and size. The
real change is that between the two runs. A group counts where it is beyond the noise: twice the standard deviation of the difference,
by the spread of our replays over their phases, or as far as two real runs of the same scenarios are from each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.replaying.configuring.configuration import edited_cluster
from studies.pbs.free_replays import replay_recorded
from studies.pbs.recorded_runs import read_recorded_run
from studies.planted.golden_pairs import PBS_RUNS, PBS_SECOND_S, SLURM_RUNS
from studies.slurm.decisions import SHARED
from studies.slurm.free_runs import phases_of, replay_golden
from studies.slurm.golden_cluster import CONFIGURATION
from studies.slurm.golden_runs import read_golden_run
from traces.cluster.description import ClusterDescription
from traces.cluster.differing import changed_values

FloatArray = NDArray[np.float64]
PHASES = 10
"""Replays of each question."""
LEAST_JOBS = 10
"""Jobs of a group that counts."""
WITHIN = 0.3
"""How far the size of a predicted change may be off."""
REAL_REPEATS = {
    "S1-backfill": (2257, 2484, 2485),
    "S1-bfcont": (2127, 2166),
    "S1-builtin": (3206, 3234),
    "S9-interval": (2662, 2700),
    "S9-jobtest": (2857, 2850, 3052, 2948),
    "S9-window": (2361, 2438),
    "P1": (32.8, 32.0),
    "P2": (17.0, 17.7),
    "P3": (19.8, 19.5),
}
"""Mean waits of real runs of each scenario, seconds, by the references of slurm-scheduler and pbs-scheduler, and by slurm_repeats."""
SETTINGS = {
    "S1-backfill": "usual backfilling",
    "S1-bfcont": "goes on over new events (`bf_continue`)",
    "S1-builtin": "no backfilling",
    "S9-interval": "backfilling each five minutes",
    "S9-jobtest": "backfilling looks at five jobs",
    "S9-window": "plans twenty minutes ahead",
    "P1": "strict order",
    "P2": "no strict order",
    "P3": "a formula",
}
"""What each run has that the others have not."""
PBS_FILES = ("qmgr.txt", "qmgr_sched.txt", "sched_config", "resource_group", "pbsnodes.txt.gz")
SCHEMA_OF_CHANGES = {
    "scheduler": pl.Utf8,
    "before": pl.Utf8,
    "after": pl.Utf8,
    "settings": pl.Int64,
    "change": pl.Utf8,
    "kind": pl.Utf8,
    "group": pl.Utf8,
    "jobs": pl.Int64,
    "real_before_s": pl.Float64,
    "replayed_before_s": pl.Float64,
    "real_s": pl.Float64,
    "predicted_s": pl.Float64,
    "noise_s": pl.Float64,
}


@dataclass(frozen=True)
class RecordedSide:
    """One recorded run. groups: by kind, the group of each job. real: waits, seconds, NaN for a job that never started. replays: the waits
    under a cluster in each phase, (phases, jobs), with the first cycle of backfilling so many seconds after the first job. files: its
    configuration. first_cycle_s: when that cycle came in the run, which depends on when its controller was started, and on no setting."""

    name: str
    cluster: ClusterDescription
    groups: Mapping[str, NDArray[np.str_]]
    real: FloatArray
    replays: Callable[[ClusterDescription, int], FloatArray]
    files: Sequence[Path]
    first_cycle_s: int = 1


def slurm_side(name: str) -> RecordedSide:
    """A recorded run of Slurm."""
    folder = SHARED / "golden" / "slurm" / name / "run1"
    run = read_golden_run(folder)
    submit = np.array([job.request.submit_s for job in run.jobs], dtype=np.float64)
    nodes = np.array([max(job.request.min_nodes, 1) for job in run.jobs])

    def replays(cluster: ClusterDescription, first_cycle_s: int) -> FloatArray:
        asked = replace(run, cluster=cluster)
        phases = [replace(phases_of(run, seed), cycle_s=first_cycle_s) for seed in range(PHASES)]
        starts = np.stack([replay_golden(asked, each) for each in phases])
        return np.where(starts >= 0, starts - submit, np.nan)

    groups = {
        "user": [job.request.user for job in run.jobs],
        "account": [job.request.account for job in run.jobs],
        "partition": [job.partition for job in run.jobs],
        "QOS": [job.request.qos for job in run.jobs],
        "size": _sizes(nodes),
    }
    real = np.array([np.nan if job.start_s is None else job.start_s for job in run.jobs]) - submit
    cycles = [event.cycle.time - submit.min() for event in run.events if event.cycle is not None]
    first_cycle_s = next((max(1, math.ceil(after)) for after in cycles if after >= 0), 1)
    files = [path for each in CONFIGURATION if (path := folder / f"{each}.gz").exists()]
    named = {kind: np.array(names) for kind, names in groups.items()}
    return RecordedSide(name, run.cluster, named, real, replays, files, first_cycle_s)


def pbs_side(name: str) -> RecordedSide:
    """A recorded run of OpenPBS, whose second stands for a minute."""
    folder = SHARED / "golden" / "pbs" / name / "run1"
    run = read_recorded_run(folder)
    submit = np.array([each.job.submit_s for each in run.jobs], dtype=np.float64)

    def replays(cluster: ClusterDescription, _first_cycle_s: int) -> FloatArray:
        asked = replace(run, cluster=cluster)
        starts = np.stack([replay_recorded(asked, seed) for seed in range(PHASES)])
        return np.where(starts >= 0, starts - submit, np.nan) * PBS_SECOND_S

    groups = {
        "user": [each.job.user for each in run.jobs],
        "queue": [each.job.queue for each in run.jobs],
        "size": _sizes(np.array([each.job.amount("ncpus") for each in run.jobs])),
    }
    real = np.array([np.nan if each.start_s is None else each.start_s for each in run.jobs]) - submit
    files = [path for each in PBS_FILES if (path := folder / each).exists()]
    return RecordedSide(
        name, run.cluster, {k: np.array(v) for k, v in groups.items()}, real * PBS_SECOND_S, replays, files
    )


def _sizes(amounts: NDArray[np.int64]) -> list[str]:
    """Three classes of about the same number of jobs, where there are so many sizes."""
    low, high = np.quantile(amounts, (1 / 3, 2 / 3))
    return ["small" if each <= low else "medium" if each <= high else "large" for each in amounts.tolist()]


def what_if_changes(sides: Sequence[RecordedSide], scheduler: str) -> pl.DataFrame:
    """A row for each ordered pair of runs and each group of LEAST_JOBS, with the columns of SCHEMA_OF_CHANGES. Waits are means."""
    rows = [row for before, after in itertools.permutations(sides, 2) for row in _rows(before, after, scheduler)]
    return pl.DataFrame(rows, schema=SCHEMA_OF_CHANGES, orient="row")


def _rows(before: RecordedSide, after: RecordedSide, scheduler: str) -> Iterator[tuple[object, ...]]:
    cluster = edited_cluster(before.cluster, [str(path) for path in after.files])
    changes = changed_values(before.cluster, cluster)
    now, then = before.replays(before.cluster, before.first_cycle_s), before.replays(cluster, after.first_cycle_s)
    both = ~(np.isnan(before.real) | np.isnan(after.real) | np.isnan(now).any(axis=0) | np.isnan(then).any(axis=0))
    everybody = {"all": np.full(len(both), "all")}
    for kind, names in {**everybody, **before.groups}.items():
        for name in np.unique(names) if kind == "all" or len(np.unique(names)) > 1 else ():
            mine = both & (names == name)
            if mine.sum() < LEAST_JOBS:
                continue
            real = before.real[mine].mean(), after.real[mine].mean()
            means = now[:, mine].mean(axis=1), then[:, mine].mean(axis=1)
            noise = max(
                2 * float(np.sqrt(means[0].var(ddof=1) + means[1].var(ddof=1))),
                float(np.hypot(*(wait * _repeats(side) for wait, side in zip(real, (before, after), strict=True)))),
            )
            yield (
                *(scheduler, before.name, after.name, len(changes), "; ".join(map(str, changes)), kind, str(name)),
                *(
                    int(mine.sum()),
                    real[0],
                    means[0].mean(),
                    real[1] - real[0],
                    means[1].mean() - means[0].mean(),
                    noise,
                ),
            )


def _repeats(side: RecordedSide) -> float:
    """How far the mean waits of the real runs of a scenario are from each other, as a share."""
    waits = REAL_REPEATS[side.name]
    return max(waits) / min(waits) - 1


def judged_changes(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that are beyond the noise, with has_sign (the predicted change has the right one), is_close (its size is within WITHIN of
    the real one) and is_close_with_noise (or off by no more than the noise)."""
    off = (pl.col("predicted_s") - pl.col("real_s")).abs()
    return rows.filter(pl.col("real_s").abs() > pl.col("noise_s")).with_columns(
        has_sign=pl.col("predicted_s") * pl.col("real_s") > 0,
        is_close=off <= WITHIN * pl.col("real_s").abs(),
        is_close_with_noise=off <= pl.max_horizontal(WITHIN * pl.col("real_s").abs(), pl.col("noise_s")),
    )


def _cells(judged: pl.DataFrame) -> str:
    count = judged.height
    shares = (f"{int(judged[name].sum())} of {count}" for name in ("has_sign", "is_close", "is_close_with_noise"))
    return " | ".join(shares)


def main() -> None:
    """Prints a table of pairs that differ in one setting, and one of all."""
    tables = [
        what_if_changes([slurm_side(name) for name in SLURM_RUNS], "Slurm"),
        what_if_changes([pbs_side(name) for name in PBS_RUNS], "OpenPBS"),
    ]
    print_tables(pl.concat(tables))


def print_tables(rows: pl.DataFrame) -> None:
    """Prints the tables. rows: with the columns of SCHEMA_OF_CHANGES."""
    print("pairs\n")
    print(
        "| from | to | changed | mean wait, s | real change, s | predicted, s | groups | sign | within 30 % | or noise |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for (before, after), of_pair in rows.filter(settings=1).group_by("before", "after", maintain_order=True):
        whole, judged = of_pair.row(by_predicate=pl.col("kind") == "all", named=True), judged_changes(of_pair)
        print(
            f"| {before} | {after} | {whole['change']} | {whole['real_before_s']:.0f} | {whole['real_s']:+.0f} | "
            f"{whole['predicted_s']:+.0f} | {of_pair.height} | {_cells(judged)} |"
        )
    print("\nall\n")
    print("| scheduler | pairs | groups | changed | sign | within 30 % | or noise |\n|" + " --- |" * 7)
    for (scheduler, alone), some in rows.with_columns(one=pl.col("settings") == 1).group_by(
        "scheduler", "one", maintain_order=True
    ):
        pairs = some.select("before", "after").n_unique()
        which = "one setting" if alone else "several settings"
        judged = judged_changes(some)
        print(f"| {scheduler}, {which} | {pairs} | {some.height} | {judged.height} | {_cells(judged)} |")
    print("\nby setting\n")
    print(
        "| run | setting | mean wait, s | replayed, s | off | pairs | changed | sign | within 30 % | or noise |\n|"
        + " --- |" * 10
    )
    for name, setting in SETTINGS.items():
        some = rows.filter((pl.col("before") == name) | (pl.col("after") == name))
        own, judged = some.filter(pl.col("before") == name, pl.col("kind") == "all"), judged_changes(some)
        real, ours = own["real_before_s"][0], own["replayed_before_s"][0]
        pairs = some.select("before", "after").n_unique()
        off = f"{100 * (ours / real - 1):+.0f} %"
        print(
            f"| {name} | {setting} | {real:.0f} | {ours:.0f} | {off} | {pairs} | {judged.height} | {_cells(judged)} |"
        )


if __name__ == "__main__":
    main()
