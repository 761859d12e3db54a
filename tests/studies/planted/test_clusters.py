"""Replays of clusters with rules."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from models.judging.machine import SizeOverTime
from studies.planted.clusters import PBS, PlantedCluster, rule_words, starts_on
from tests.studies.planted.examples import FOUR_RUNNING, PROCS, small_planted, small_workload
from traces.cluster.reservations import AdvanceReservation, Gate

ZERO_S = small_workload().zero_s


def most_running(start: np.ndarray, of: np.ndarray) -> int:
    moments = np.concatenate([start[of], (start + small_workload().jobs.runtime)[of]])
    change = np.repeat([1, -1], of.sum())
    order = np.lexsort((change, moments))
    return int(np.cumsum(change[order]).max())


@pytest.mark.parametrize("engine", ["orders", PBS])
def test_a_limit_holds_for_every_user(engine: str) -> None:
    workload = small_workload()
    start = starts_on(PlantedCluster(PROCS, limits=(FOUR_RUNNING,), engine=engine), workload, is_true=True)
    users = workload.rows["user_name"].to_numpy()
    assert max(most_running(start, users == user) for user in np.unique(users)) == FOUR_RUNNING.bound


@pytest.mark.parametrize(
    "rule",
    [
        {"gates": (Gate((0, 1, 2, 3, 4), 480, 1080, 3600),)},
        {"reservations": (AdvanceReservation("m", ZERO_S + 100_000, ZERO_S + 140_000, repeats="weekly"),)},
        {"sizes": SizeOverTime((32, PROCS), (500_000,))},
        {"partitions": (("long", 32), ("normal", 16), ("short", 16))},
        {"policy": "fairshare:half_life_days=3"},
        {"backfill": "conservative"},
    ],
)
def test_other_rules_move_starts(rule: dict) -> None:  # type: ignore[type-arg]
    workload, cluster = small_workload(), PlantedCluster(PROCS, **rule)
    start = starts_on(cluster, workload, is_true=True)
    assert (start >= workload.jobs.submit).all()
    assert (start != starts_on(PlantedCluster(PROCS), workload, is_true=True)).any()
    plain = set(rule) & {"policy", "backfill"}
    assert len(list(rule_words(cluster))) == (0 if plain else 1)


def test_held_jobs_start_no_earlier_than_they_may_and_no_log_shows_why() -> None:
    workload = small_workload()
    later = pl.col("submit_s") + 50_000 * (pl.col("job_index") % 40 == 0).cast(pl.Int64)
    late = replace(workload, rows=workload.rows.with_columns(eligible_s=later))
    start, shown = (starts_on(PlantedCluster(PROCS), late, is_true) for is_true in (True, False))
    assert (start >= late.rows["eligible_s"].to_numpy()).all()
    assert (shown == starts_on(PlantedCluster(PROCS), workload, True)).all() and (start != shown).any()


def test_a_job_that_never_starts_is_an_error() -> None:
    assert small_planted().cluster.description.num_cpus == PROCS
    with pytest.raises(ValueError):
        starts_on(PlantedCluster(PROCS, partitions=(("long", 8),)), small_workload(), True)
