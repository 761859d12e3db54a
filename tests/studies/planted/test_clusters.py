"""Tests of studies/planted: bundled, clusters, identified, planting.

Rules that matter, planted into generated clusters.

Replays of clusters with rules.

Workloads of made-up centres.

What the product makes of a planted log, in the form of planted rules, and under changes.

The score of identified rules.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from models.identification.replaying import RuledCluster
from models.identification.rules import BACKFILL, HOURS, ORDER, RUNNING_JOBS, SIZE, Bound, IdentifiedRule
from models.judging.machine import SizeOverTime
from studies.planted import bundled
from studies.planted.bundled import (
    TrueEffect,
    bundled_options,
    calibration_rows,
    changes_of,
    effect_rows,
    mean_wait_s,
    statistics,
)
from studies.planted.clusters import CORES, PBS, PlantedCluster, planted_workload, rule_words, starts_on
from studies.planted.effects import BACKFILLING, MORE, RAISED, ClusterChange
from studies.planted.effects import ORDER as ANOTHER_ORDER
from studies.planted.identified import changed_cluster, cluster_of, identified, log_of, recovery_of, signatures
from studies.planted.planting import (
    CLASSES,
    CLUSTERS,
    KINDS,
    LEAST_CHANGED,
    LIMIT,
    NONE,
    RESERVED,
    SHARES,
    SIZES,
    PlantedLog,
    planted_log,
)
from studies.planted.planting import HOURS as PLANTED_HOURS
from tests.studies.planted.examples import FOUR_RUNNING, PROCS, small_planted, small_workload
from traces.catalogue.clusters import bundled_cluster
from traces.cluster.accounts import Limit
from traces.cluster.description import AdvanceReservation, Gate
from traces.synthetic.campaigns import site_submissions
from traces.synthetic.sites import LARCH, SITES


def test_the_catalogue_has_both_clusters() -> None:
    assert [each.site for each in bundled_options()] == list(SITES)


def test_statistics_of_two_jobs() -> None:
    jobs = pl.DataFrame(
        {
            "submit_time": ["2026-03-02 15:00:00", "2026-03-08 15:00:00"],  # Monday and Sunday
            "wait_s": [0, 7200],
            "runtime_s": [3600, 1800],
            "procs": [1, 3],
            "requested_walltime_s": [3600, 3600],
            "user_name": ["a", "b"],
            "status": ["completed", "failed"],
        }
    ).with_columns(pl.col("submit_time").str.to_datetime())
    made = statistics(jobs, 10, "UTC")
    assert made["mean wait, h"] == 1.0 and made["at weekends"] == 0.5 and made["jobs on one processor"] == 0.5
    assert made["load"] == pytest.approx((3600 + 5400) / (10 * 6 * 86_400))
    assert made["median share of the request used"] == 0.75 and made["ended otherwise than well"] == 0.5
    assert "load" not in statistics(jobs, None, "UTC")


def test_a_statistic_outside_the_range_is_said_to_be_so() -> None:
    rows = calibration_rows({"birch": {"load": 0.8, "strange": 5.0}}, {"a": {"load": 0.7}, "b": {"load": 0.9}})
    assert rows == [["load", "0.800", "0.700", "0.900", "yes"], ["strange", "5.0", "", "", ""]]
    assert calibration_rows({"x": {"load": 0.1}}, {"a": {"load": 0.7}})[0][-1] == "no: not explained"


@pytest.mark.parametrize("site", SITES.values(), ids=list(SITES))
def test_changes_change_what_jobs_wait(site) -> None:
    work = replace(site.work, jobs=1500, days=7, load=0.9)
    jobs, cluster = site_submissions(work, 2), bundled_cluster(site.name).description
    waits = [mean_wait_s(site, bundled.changed_cluster(cluster, change), jobs) for change in changes_of(site).values()]
    assert len(set(waits)) == 3
    assert waits[0] < mean_wait_s(site, cluster, jobs)  # more nodes


def test_an_effect_off_by_a_factor_keeps_no_promise() -> None:
    right = TrueEffect("right", 3600.0, 1800.0, 3600.0, 1800.0)
    wrong = TrueEffect("wrong", 3600.0, 1800.0, 3600.0, 9000.0)
    rows = list(effect_rows([right, wrong]))
    assert right.error == 1.0 and rows[0][-1] == "A" and rows[1][-1] == "none" and LARCH.limit is not None


# --- planting


def test_there_are_as_many_as_the_issue_asks_for_and_each_kind_has_its_share() -> None:
    assert CLUSTERS == 200 and sum(count for kind, *_, count in KINDS if kind == NONE) == 40


@pytest.mark.parametrize("number", [3, 45, 120, 150, 170, 182, 190, 198])
def test_a_planted_rule_matters_in_both_halves_and_the_log_is_that_of_its_seed(number: int) -> None:
    planted = planted_log(number)
    assert isinstance(planted, PlantedLog) and planted.number == number
    start = starts_on(planted.cluster, planted.workload, is_true=True)
    assert (start == planted.start).all() and (start >= planted.workload.jobs.submit).all()
    if planted.kind == NONE:
        assert not list(rule_words(planted.cluster)) and planted.cluster == planted.bare
        return
    moved = np.abs(start - starts_on(planted.bare, planted.workload, is_true=True)) > 60
    half = planted.workload.later_half
    assert min(moved[half].mean(), moved[~half].mean()) >= LEAST_CHANGED and moved[half].mean() == planted.changed


def test_a_smaller_series_has_the_same_kinds() -> None:
    few = [planted_log(number, series=3, of=5) for number in (0, 4)]
    assert few[0].kind == NONE and few[1].kind != NONE
    with pytest.raises(ValueError, match="fewer planted clusters"):
        planted_log(5, of=5)


# --- clusters


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


# --- workloads


def test_a_workload_is_that_of_its_seed_and_fits_its_cluster() -> None:
    workload, again = planted_workload(5), planted_workload(5)
    assert workload.rows.equals(again.rows) and not workload.rows.equals(planted_workload(6).rows)
    rows, jobs = workload.rows, workload.jobs
    assert 2500 <= len(jobs) <= 5000 and workload.procs % CORES == 0 and rows["procs"].max() <= workload.procs / 2
    assert (np.diff(jobs.submit) >= 0).all() and jobs.runtime.min() > 0
    load = float((jobs.runtime * jobs.procs).sum()) / workload.procs / (workload.span[1] - workload.span[0])
    assert 0.4 < load < 1 and set(rows["queue"]) == {"short", "normal", "long"}


def test_jobs_that_wait_for_something_else_may_start_later() -> None:
    held = [planted_workload(seed) for seed in range(6)]
    later = [float((each.rows["eligible_s"] > each.rows["submit_s"]).mean()) for each in held]
    assert min(later) == 0.0 and 0.01 < max(later) < 0.08
    for workload in held:
        order, jobs = workload.eligible
        assert (workload.rows["eligible_s"].to_numpy()[order] == jobs.submit).all()


# --- identified


FOUR = IdentifiedRule(RUNNING_JOBS, "user", 4)
OWN = IdentifiedRule(RUNNING_JOBS, "queue", bounds=(Bound("long", 0, 2), Bound("short", 0, None)))
CLOSED = IdentifiedRule(HOURS, "all", gate=Gate((0,), 480, 1080))
GROWN = IdentifiedRule(SIZE, "all", bounds=(Bound("", 0, 32), Bound("", 900, PROCS)))
SAF = IdentifiedRule(ORDER, "all", word="SAF")


def test_the_limit_of_a_small_log_is_found_and_its_replays_are_those_of_the_hidden_cluster() -> None:
    planted = small_planted()
    identification, predictor = identified(planted)
    cluster = cluster_of(identification, planted.workload)
    score = recovery_of(planted, cluster)
    assert score.kind and score.value and not score.surplus
    waits = predictor(None)
    assert waits is not None and np.array_equal(waits, planted.start - planted.workload.jobs.submit)
    raised = predictor(ClusterChange(RAISED, LIMIT))
    assert raised is not None and raised.mean() < waits.mean()


def test_changes_are_made_on_what_was_identified() -> None:
    cluster = RuledCluster(PROCS, (FOUR, OWN, CLOSED, GROWN, SAF))
    more = changed_cluster(cluster, ClusterChange(MORE))
    assert more.procs == 80 and [bound.value for bound in more.rules[3].bounds] == [48, 80]
    relaxed = changed_cluster(cluster, ClusterChange(RAISED, LIMIT)).rules
    assert relaxed[0].value == 6 and [bound.value for bound in relaxed[1].bounds] == [3, None] and CLOSED in relaxed
    assert CLOSED not in changed_cluster(cluster, ClusterChange(RAISED, PLANTED_HOURS)).rules
    ordered = changed_cluster(cluster, ClusterChange(ANOTHER_ORDER, "FCFS"))
    assert ordered.order == "FCFS" and SAF not in ordered.rules
    assert (
        IdentifiedRule(BACKFILL, "all", word="any") in changed_cluster(cluster, ClusterChange(BACKFILLING, "any")).rules
    )
    assert changed_cluster(cluster, ClusterChange(MORE)).waits(log_of(small_planted())) is not None


# --- recovery


PLAIN = PlantedCluster(PROCS)
THREE_DAYS = replace(PLAIN, policy="fairshare:half_life_days=3")
GATE = Gate((0, 1, 2, 3, 4), 480, 1080, 3600)
WEEKLY = AdvanceReservation("m", 100_000, 140_000, repeats="weekly")
NEXT_WEEK = replace(WEEKLY, begin_s=100_000 + 7 * 86_400, end_s=141_000 + 7 * 86_400)
SECOND = replace(WEEKLY, end_s=100_001)
OF_ALICE = replace(FOUR_RUNNING, who="u001", bound=2)
LONG = Limit("partition", "long", "running", "all", "cpu", 48)


def limited(*limits: Limit) -> PlantedCluster:
    return PlantedCluster(PROCS, limits=limits)


def grown(procs: int, end_s: int) -> PlantedCluster:
    return replace(PLAIN, sizes=SizeOverTime((procs, PROCS), (end_s,)))


@pytest.mark.parametrize(
    ("kind", "hidden", "identified", "score"),
    [
        (LIMIT, limited(FOUR_RUNNING), limited(FOUR_RUNNING), (True, True, 0)),
        (LIMIT, limited(FOUR_RUNNING), limited(replace(FOUR_RUNNING, bound=6)), (True, False, 0)),
        (LIMIT, limited(FOUR_RUNNING), limited(replace(FOUR_RUNNING, each="account")), (False, False, 1)),
        (LIMIT, limited(FOUR_RUNNING, OF_ALICE), limited(FOUR_RUNNING), (True, False, 0)),
        (LIMIT, limited(FOUR_RUNNING, OF_ALICE), limited(FOUR_RUNNING, OF_ALICE), (True, True, 0)),
        (LIMIT, limited(LONG), limited(replace(LONG, owner_name="short")), (True, False, 0)),
        (LIMIT, limited(FOUR_RUNNING), PLAIN, (False, False, 0)),
        (NONE, PLAIN, PLAIN, (True, True, 0)),
        (NONE, PLAIN, limited(FOUR_RUNNING), (False, False, 1)),
        (NONE, PLAIN, replace(PLAIN, policy="fairshare"), (True, True, 0)),
        (NONE, THREE_DAYS, replace(THREE_DAYS, gates=(GATE,)), (False, False, 1)),
        (PLANTED_HOURS, replace(PLAIN, gates=(GATE,)), replace(PLAIN, gates=(replace(GATE, begin_minute=500),)), (True, True, 0)),
        (PLANTED_HOURS, replace(PLAIN, gates=(GATE,)), replace(PLAIN, gates=(replace(GATE, end_minute=900),)), (True, False, 0)),
        (PLANTED_HOURS, replace(PLAIN, gates=(GATE,)), replace(PLAIN, gates=(replace(GATE, over_time_s=60_000),)), (True, False, 0)),
        (SHARES, THREE_DAYS, replace(PLAIN, policy="multifactor:half_life_days=3"), (True, True, 0)),
        (SHARES, THREE_DAYS, replace(PLAIN, policy="fairshare:half_life_days=7"), (True, False, 0)),
        (RESERVED, replace(PLAIN, reservations=(WEEKLY,)), replace(PLAIN, gates=(Gate((1,), 227, 890),)), (True, False, 0)),
        (RESERVED, replace(PLAIN, reservations=(WEEKLY,)), replace(PLAIN, reservations=(NEXT_WEEK,)), (True, True, 0)),
        (RESERVED, replace(PLAIN, reservations=(WEEKLY,)), replace(PLAIN, reservations=(SECOND,)), (True, False, 0)),
        (RESERVED, replace(PLAIN, reservations=(WEEKLY,)), replace(PLAIN, gates=(GATE,)), (False, False, 1)),
        (CLASSES, replace(PLAIN, partitions=(("long", 48), ("short", 16))), limited(LONG), (True, True, 0)),
        (SIZES, grown(32, 900_000), grown(30, 901_000), (True, True, 0)),
        (SIZES, grown(32, 900_000), grown(30, 500_000), (True, False, 0)),
    ],
)  # fmt: skip
def test_scores(kind: str, hidden: PlantedCluster, identified: PlantedCluster, score: tuple[bool, bool, int]) -> None:
    planted = replace(small_planted(), kind=kind, cluster=hidden)
    result = recovery_of(planted, identified)
    assert (result.kind, result.value, len(result.surplus)) == score


def test_groups_are_accounts_here() -> None:
    by_group = limited(replace(FOUR_RUNNING, each="group"))
    assert signatures(by_group) == signatures(limited(replace(FOUR_RUNNING, each="account")))
