"""Tests of assets/replaying/tuning: guards, knobs, paced_runs, search, tunable, tuned, usual_knobs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.common.progress import AnyBar, progress_bar
from assets.replaying.configuring.configuration import NothingChanges, edited_cluster
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.run import ReplayRun
from assets.replaying.running.settings import RunSettings
from assets.replaying.tuning.guards import Guards, ScoredRuns, against_base
from assets.replaying.tuning.knobs import Knob, OpenValue, edits_of, knobs_text, read_knobs
from assets.replaying.tuning.paced_runs import paced_under_guards
from assets.replaying.tuning.search import optuna_package
from assets.replaying.tuning.source_replays import formula_of
from assets.replaying.tuning.tunable import Classes, StoredReplays, Tunable
from assets.replaying.tuning.tuned import (
    LIKE_RANDOM_SETTINGS,
    NONE_BETTER,
    TunedSettings,
    tuned_settings,
)
from assets.replaying.tuning.usual_knobs import formula_knobs, usual_knobs
from models.judging.verdict import DEPENDS, DOMINATES, NO_DIFFERENCE, TRADES
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.policies.registry import SEARCHED, parse_policy
from tracehouse.learning.tuning import Tuned
from tracehouse.text.tuning_text import tuned_text
from traces.cluster.accounts import Account, Limit, ServiceQuality
from traces.cluster.description import ClusterDescription, Node, Partition, SchedulerSettings

JOBS = 400
SEED_THAT_DOMINATES = 1
DELAY = Knob("delay={}", (OpenValue(0, 1000),))


def a_tunable(wait_s: Callable[[float, int], np.ndarray], runs: int = 1) -> Tunable:
    """Jobs that wait as a function of the only setting, 500 where it stays, and of the run says."""
    submit = np.arange(JOBS, dtype=np.int64) * 100
    jobs = Jobs(submit, *(np.full(JOBS, each, dtype=np.int64) for each in (50, 1, 60, 60)), user=np.arange(JOBS) % 2)

    def starts(edits: tuple[str, ...], run: int, count: int) -> Schedule:
        value = float(edits[0].partition("=")[2]) if edits else 500.0
        wait = np.broadcast_to(wait_s(value, run), JOBS).astype(np.int64)
        return Schedule((submit + wait)[:count], np.zeros(count, dtype=np.bool_))

    classes = {"user": Classes(("even", "odd"), np.arange(JOBS) % 2)}
    return Tunable("made-up", jobs, 8, classes, starts, lambda edits: edits, runs, "made-up")


def searched(tunable: Tunable, folder: Path | None = None, trials: int = 60, seed: int = 1) -> TunedSettings:
    return tuned_settings(StoredReplays(tunable, folder), (DELAY,), Guards(), trials, seed)


def distance(value: float, run: int = 0) -> np.ndarray:
    """Best at 700."""
    return np.array(600 + 20 * abs(value - 700) + run)


@pytest.mark.parametrize("seed", range(10))
def test_a_better_setting_is_reached(seed: int) -> None:
    tuned = searched(a_tunable(distance), seed=seed)
    assert abs(float(tuned.edits[0].partition("=")[2]) - 700) < 40 and tuned.later is not None
    assert tuned.later.mean_of("wait") < 0.35 and tuned.word in (DOMINATES, LIKE_RANDOM_SETTINGS)
    assert tuned.random is not None and 0 < tuned.random.keep_guards < 1
    as_good = sum(each.keeps and each.ratios[0].wait <= tuned.later.ratios[0].wait for each in tuned.random.compared)
    assert tuned.share_as_good == pytest.approx((1 + as_good) / (1 + len(tuned.random.compared)))
    assert (tuned.word == DOMINATES) == (tuned.share_as_good <= 0.05)


def keeping_pace(tunable: Tunable, wait_s: Callable[[float, int], np.ndarray]) -> Tunable:
    """The same, where users who keep their pace wait as a function says."""

    def run(edits: tuple[str, ...]) -> ReplayRun:
        schedule = a_tunable(wait_s).replay(edits, 0, JOBS)
        rows = pl.DataFrame(
            {"job_index": np.arange(JOBS), "procs": tunable.jobs.procs, "runtime_s": tunable.jobs.runtime}
        )
        made_up = (RunSettings(), None, ChosenPolicy("made-up", None), rows, tunable.jobs, Cluster(8), schedule, {})
        return ReplayRun(*made_up)  # type: ignore[arg-type]

    return replace(tunable, paced=run)


@pytest.mark.parametrize(
    ("paced", "word", "said"),
    [
        (distance, DOMINATES, "change 1 line: dominates"),
        (lambda value, run: np.array(4600), DEPENDS, "depends on users: mean wait 1.3 -> 0.2 h"),
        (lambda value, run: np.array(600 + 20 * abs(value - 500)), DEPENDS, "depends on users: mean wait 1.3 -> 0.2 h"),
    ],
)
def test_the_winner_is_replayed_with_users_who_keep_their_pace(
    paced: Callable[[float, int], np.ndarray], word: str, said: str
) -> None:
    open_alone = searched(a_tunable(distance), seed=SEED_THAT_DOMINATES)
    assert open_alone.word == DOMINATES and open_alone.paced is None
    tuned = searched(keeping_pace(a_tunable(distance), paced), seed=SEED_THAT_DOMINATES)
    assert (tuned.word, tuned.edits, tuned.is_better) == (word, open_alone.edits, word == DOMINATES)
    text = tuned_text(tuned, [], None)
    assert said in text.splitlines()[0] and "later half, keep pace" in text
    assert Tuned(tuned, []).summary["pace_verdict"] == str(tuned.paced.judgement.verdict)  # type: ignore[union-attr]
    assert text.splitlines()[0].endswith("where users keep their pace") == (word != DOMINATES)


def test_a_winner_that_has_no_rule_for_such_users_is_said() -> None:
    def refused(edits: tuple[str, ...]) -> ReplayRun:
        raise ValueError("this order looks at submissions")

    tuned = searched(replace(a_tunable(distance), paced=refused), seed=SEED_THAT_DOMINATES)
    assert tuned.is_better and tuned.paced is None
    assert "not with users who keep their pace: this order looks at submissions" in tuned_text(tuned, [], None)


def test_what_one_class_pays_for_where_users_keep_their_pace_is_a_trade() -> None:
    odd = np.arange(JOBS) % 2 == 1

    def paid(value: float, run: int) -> np.ndarray:
        return np.where(odd, 600 + 500 * (value != 500), 60_000 - 50_000 * (value != 500))

    tunable = keeping_pace(a_tunable(paid), paid)
    assert tunable.paced is not None
    base, ours = (tunable.paced(edits) for edits in ((), ("delay=1",)))
    assert base is not None and ours is not None
    present = ScoredRuns(tunable, (base.schedule,), np.arange(JOBS) >= JOBS // 2)
    words = [
        paced_under_guards(base, ours, present, guards).judgement.verdict.word
        for guards in (Guards(), Guards.of(["user=9", "p95=9"]))
    ]
    assert words == [TRADES, DOMINATES]


def test_where_nothing_is_better_nothing_changes() -> None:
    tuned = searched(a_tunable(lambda value, run: np.array(600 + abs(value - 500))))
    assert tuned.word == NONE_BETTER and not tuned.edits and tuned.kept < tuned.tried == 60


def test_what_the_first_half_alone_likes_is_not_adopted() -> None:
    later = np.arange(JOBS) >= JOBS // 2
    tuned = searched(a_tunable(lambda value, run: np.where(later, 4000 - distance(value) / 10, distance(value))))
    assert tuned.edits and not tuned.is_better and tuned.random is None


def test_what_one_class_pays_for_is_not_adopted() -> None:
    odd, later = np.arange(JOBS) % 2 == 1, np.arange(JOBS) >= JOBS // 2

    def paid(value: float, who: np.ndarray) -> np.ndarray:
        return np.where(who, 1000 + 500 * (value != 500), np.where(odd, 1000, distance(value)))

    assert searched(a_tunable(lambda value, run: paid(value, odd))).word == NONE_BETTER
    tuned = searched(a_tunable(lambda value, run: paid(value, odd & later)))
    assert tuned.word == TRADES and tuned.later is not None and "mean wait of user odd" in tuned.later.broken


def test_a_gain_inside_the_spread_of_the_runs_is_no_difference() -> None:
    def noisy(value: float, run: int) -> np.ndarray:
        return np.array(6000 + (900 * run if run else 0) - (value > 500) * 300)

    assert searched(a_tunable(noisy, runs=3)).word == NO_DIFFERENCE


def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    whole = searched(a_tunable(distance), tmp_path / "whole")
    tunable, made = a_tunable(distance), []

    def killed(edits: tuple[str, ...], run: int, count: int) -> Schedule:
        if len(made) == 30:
            raise KeyboardInterrupt
        made.append(edits)
        return tunable.replay(edits, run, count)

    with pytest.raises(KeyboardInterrupt):
        searched(replace(tunable, replay=killed), tmp_path / "part")
    stored = len(list((tmp_path / "part").iterdir()))
    again = searched(tunable, tmp_path / "part")
    assert stored >= 25 and again.replays == whole.replays - stored
    assert replace(again, replays=0, seconds=0) == replace(whole, replays=0, seconds=0)
    assert searched(tunable, tmp_path / "part").replays == 0


def test_the_time_left_is_not_estimated_by_a_replay_that_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first estimate was a hundred times too long."""
    tunable, made, made_before_bar = a_tunable(distance), [], []

    def counted(edits: tuple[str, ...], run: int, count: int) -> Schedule:
        made.append(edits)
        return tunable.replay(edits, run, count)

    def bar(label: str, total: int) -> AnyBar:
        made_before_bar.append(len(made))
        return progress_bar(label, total)

    monkeypatch.setattr("assets.replaying.tuning.search.progress_bar", bar)
    tuned = searched(replace(tunable, replay=counted), trials=4)
    assert made_before_bar == [1] and tuned.replays == len(made), "it is made once"


def test_a_replay_under_which_jobs_never_start_is_no_candidate() -> None:
    tunable = a_tunable(distance)

    def lost(edits: tuple[str, ...], run: int, count: int) -> Schedule:
        schedule = tunable.replay(edits, run, count)
        return schedule if not edits else replace(schedule, start=np.where(np.arange(count) == 7, -1, schedule.start))

    assert searched(replace(tunable, replay=lost)).word == NONE_BETTER


def test_guards_are_held_against_the_worst_run_of_the_base() -> None:
    tunable = a_tunable(lambda value, run: np.array(1000 + 400 * run + (value - 500)), runs=2)
    scored = np.arange(JOBS) < JOBS - 1
    base = ScoredRuns(tunable, tuple(tunable.replay((), run, JOBS) for run in (0, 1)), scored)
    for value, keeps in ((1000, True), (1100, False)):
        ours = ScoredRuns(tunable, (tunable.replay((f"delay={value}",), 0, JOBS),), scored)
        compared = against_base(ours, base, Guards())
        assert ("mean wait of user even" not in compared.broken) == keeps


def test_guards_are_read() -> None:
    guards = Guards.of(["qos=1.05", "queue=1.2", "p95=1.3", "utilisation=0.98"])
    assert guards.classes == {"user": 1.1, "size": 1.1, "qos": 1.05, "queue": 1.2}
    assert (guards.p95, guards.utilisation) == (1.3, 0.98)
    for text in ("qos", "qos=much", "colour=1.1", "qos=-1", "qos=inf"):
        with pytest.raises(ValueError, match="expected NAME=RATIO"):
            Guards.of([text])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[settings]\nx = \n", "line 2"),
        ("[other]\n'x={}' = [1, 2]\n", r"expected one table \[settings\]"),
        ("[settings]\n\n'bf_interval={}' = [30]\n", r"line 3: 'bf_interval=\{\}': expected \[low, high\]"),
        ("[settings]\n'bf_interval={}' = [300, 30]\n", "line 2: .*300 is not below"),
        ("[settings]\n'bf_interval=30' = [30, 300]\n", r"line 2: .*expected an edit with \{\}"),
        ("[settings]\n'f={}*a+{}*b' = [1, 2]\n", "line 2: .*(expected a list of 2 bounds|low, high)"),
    ],
)
def test_faults_of_a_file_name_the_line(tmp_path: Path, text: str, fault: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=fault):
        read_knobs(file)


def with_scheduler(name: str, values: dict[str, object], *limits: Limit) -> ClusterDescription:
    return ClusterDescription(
        "mine",
        (Node("n1", 8, memory_mib=1000, gpus={"a100": 2}),),
        (Partition("main", is_default=True),),
        accounts=(Account("physics"),),
        qualities=(ServiceQuality("normal", priority=100), ServiceQuality("high", priority=200)),
        limits=limits,
        scheduler=SchedulerSettings(name, "23.02", values),  # type: ignore[arg-type]
    )


WEIGHTS = {"prioritytype": "priority/multifactor", "priorityweightage": 1000, "priorityweightfairshare": 5000}
SLURM = with_scheduler(
    "slurm",
    {"schedulertype": "sched/backfill", "bf_max_job_test": 7000, **WEIGHTS, "priorityweightqos": 50},
    Limit("qos", "normal", "running", "user", "gpu", 2),
    Limit("qos", "normal", "running", "user", "gpu:a100", 2),
    Limit("qos", "normal", "running", "all", "mem", 800),
    Limit("qos", "high", "running", "user", "jobs", 4),
    Limit("account", "physics", "running", "all", "nodes", 1),
    Limit("account", "physics", "running", "all", "jobs", 5),
    Limit("qos", "high", "submitted", "user", "jobs", 1000),
)
PBS = with_scheduler(
    "pbs",
    {"job_sort_formula": "10 * job_priority + 0.5 * eligible_time", "strict_ordering": True, "fair_share": True},
    Limit("cluster", "", "running", "user", "jobs", 4, source="qmgr.txt:3 max_run"),
    Limit("cluster", "", "running", "all", "jobs", 64, source="qmgr.txt:3 max_run"),
    Limit("partition", "main", "running", "user", "cpu", 8, who="ann", source="qmgr.txt:9 max_run_res.ncpus"),
    Limit("partition", "main", "running", "user", "jobs", 3, source="qmgr.txt:9 max_user_run"),
)
ROW = with_scheduler("none", {}, Limit("cluster", "", "running", "user", "jobs", 10))


@pytest.mark.parametrize(
    ("cluster", "knobs", "some"),
    [
        (SLURM, 19, ("PriorityWeightAge={}", "qos.high.Priority={}", "qos.normal.maxtrespu=gres/gpu:a100={}")),
        (PBS, 7, ("job_sort_formula={} * job_priority + {} * eligible_time", "queue.main.max_user_run={}")),
        (ROW, 1, ("limits.1.bound={}",)),
    ],
)
def test_the_usual_knobs_are_edits_that_the_cluster_takes(
    cluster: ClusterDescription, knobs: int, some: tuple[str, ...], tmp_path: Path
) -> None:
    usual = usual_knobs(cluster)
    assert len(usual) == knobs and set(some) <= {knob.template for knob in usual}
    for knob in usual:
        changed = 0
        for end in zip(*(value.ends for value in knob.values), strict=True):
            with suppress(NothingChanges):
                after = edited_cluster(cluster, edits_of((knob,), (tuple(end),)))
                assert len(after.limits) == len(cluster.limits)
                changed += 1
        assert changed, knob
    file = tmp_path / "settings.toml"
    file.write_text(knobs_text(usual))
    assert [knob.template for knob in read_knobs(file)] == [knob.template for knob in usual]
    assert knobs_text(read_knobs(file)) == knobs_text(usual)


def test_a_cluster_without_limits_has_no_knobs() -> None:
    assert usual_knobs(with_scheduler("none", {})) == ()
    past = Limit("cluster", "", "outstanding", "user", "cpu", 900, who="1", begin_s=0, end_s=2_592_000, origin="found")
    assert usual_knobs(replace(ROW, limits=(past,))) == ()  # as it was then: no line changes that
    with pytest.raises(ValueError, match="it has 1 limits"):
        edited_cluster(ROW, ["limits.2.bound=3"])


@pytest.mark.parametrize("name", SEARCHED)
def test_constants_of_an_order_are_knobs(name: str) -> None:
    (knob,) = formula_knobs(formula_of(name))
    assert "14400" in knob.template and len(knob.values) >= 2
    for end in (0, 1):
        edit = knob.edit([value.ends[end] for value in knob.values])
        assert edit is not None and parse_policy(edit)
    with pytest.raises(ValueError, match="expected searched:cautious"):
        formula_of("FCFS")
    with pytest.raises(ValueError, match="no constant"):
        formula_knobs("formula:procs")


def test_without_the_optimiser_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ValueError, match=r"pip install 'tracehouse\[tune\]'"):
        optuna_package()
