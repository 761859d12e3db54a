"""Tests of papers/rlschert: rules, trials, view, workload."""

from __future__ import annotations

import numpy as np
import pytest

from papers.rlschert.cluster import Setting, SlotCluster, run_heuristic_on, take_sequences
from papers.rlschert.rules import ACTIONS, KILLABLE, LONGEST, SLOTS, WAIT, WIDEST, Sequences
from papers.rlschert.tables import make_tables
from papers.rlschert.trials import STOPPED_HEURISTICS, Trials, compare_schedulers, try_everything
from papers.rlschert.view import HEURISTICS, WHOLE_QUEUE_HEURISTICS
from papers.rlschert.workload import PAPER_ERRORS, Errors, Workload, draw_sequences
from papers.rlschert.workload import Sequences as SequencesOfWorkload
from tests.papers.rlschert.examples import PLAN, tiny_plan
from tests.simulator.oracle_rlschert import OracleCluster, pick_saf, pick_sjf, pick_tetris, run, run_whole_queue

# rules: The compiled cluster of RLSchert against the slow one, action by action, and its heuristics.

WORKLOAD = Workload(jobs=60, job_rate=0.8)


def oracle_of(sequences: Sequences, e: int, setting: Setting) -> OracleCluster:
    return OracleCluster(
        sequences.arrive[e].tolist(), sequences.length[e].tolist(), sequences.procs[e].tolist(),
        sequences.first[e].tolist(), sequences.remaining[e].tolist(), cluster_procs=setting.procs,
        with_remaining=setting.with_remaining, kill_by_rule=setting.kill_by_rule, reward=setting.goal,
        true_lengths=setting.true_lengths, stop_within=setting.stop_within, stop_ratio=setting.stop_ratio,
        preemption_cost=setting.preemption_cost, printed_reward=setting.printed_reward,
    )  # fmt: skip


STOPPING = {12: (0, 3.0), 16: (5, 3.0), 24: (20, 1.5)}
"""By the size of the cluster, so that each is tried: none, the default, and one that stops more."""


@pytest.mark.parametrize("goal", ["slowdown", "completion"])
@pytest.mark.parametrize("with_remaining", [True, False])
@pytest.mark.parametrize("kill_by_rule", [True, False])
@pytest.mark.parametrize("procs", [12, 16, 24])
@pytest.mark.parametrize("preemption_cost", [0, 4])
def test_the_same_after_every_action(
    goal: str, with_remaining: bool, kill_by_rule: bool, procs: int, preemption_cost: int
) -> None:
    """Random actions, among them ones that do nothing, until all jobs are done."""
    within, ratio = STOPPING[procs]
    setting = Setting(
        procs,
        with_remaining,
        kill_by_rule,
        goal,
        procs == 12,
        within,
        ratio,
        preemption_cost,
        printed_reward=procs == 24,
    )
    sequences = draw_sequences(WORKLOAD, 2, seed=procs)
    rng = np.random.default_rng(procs)
    for e in range(2):
        cluster, oracle = (
            SlotCluster(take_sequences(sequences, np.array([e])), setting),
            oracle_of(sequences, e, setting),
        )
        cluster.begin()
        state = cluster.state
        while not cluster.over[0]:
            chances = np.r_[np.full(SLOTS, 1.0), np.full(KILLABLE, 0.02), 2.0]
            action = int(rng.choice(ACTIONS, p=chances / chances.sum()))
            ended = len(oracle.rewards)
            reward = cluster.step(np.array([action]))[0]
            if action < SLOTS:
                oracle.select(action)
            elif action < WAIT:
                oracle.kill(action - SLOTS)
            else:
                oracle.wait()
            assert reward == pytest.approx(sum(oracle.rewards[ended:]))
            slots = [None if j < 0 else int(j) for j in state.slots[0]]
            assert slots == oracle.visible
            head, count = int(state.head[0]), int(state.waiting[0])
            ring = [int(state.backlog[0, (head + k) % len(oracle.estimate)]) for k in range(count)]
            assert ring == oracle.backlog
            assert state.ready[0, : state.num_ready[0]].tolist() == oracle.ready
            assert state.running[0, : state.num_running[0]].tolist() == oracle.running
            assert state.free[0].tolist() == oracle.free
            assert state.estimate[0].tolist() == oracle.estimate
        assert oracle.over
        outcome = cluster.outcome()
        assert outcome.slowdowns()[0] == pytest.approx(oracle.slowdown())
        assert outcome.completions()[0] == pytest.approx(oracle.completion())
        assert outcome.holes[0] == oracle.holes()
        assert outcome.kills[0].tolist() == [job.kills for job in oracle.jobs]


# trials: Trials of trained schedulers beside the heuristics, and their comparison.


def test_every_scheduler_is_tried_in_every_group(groups: list[Trials]) -> None:
    assert [(group.experiment, group.part) for group in groups] == [
        ("main", "training"),
        ("main", "test"),
        ("load", "test"),
        ("resources", "test"),
        ("preemption", "test"),
        ("predictable", "test"),
        ("mixed", "test"),
        ("completion", "test"),
    ]
    heuristics = 2 * len(HEURISTICS + WHOLE_QUEUE_HEURISTICS) + len(STOPPED_HEURISTICS)
    assert all(
        len(group.outcomes) == heuristics + 5 * (1 if group.experiment == "completion" else 2) for group in groups
    )


def test_a_group_holds_the_sequences_that_it_says(groups: list[Trials]) -> None:
    by_name = {(group.experiment, group.part): group for group in groups}
    saf = by_name["main", "test"].outcomes["SAF", "none", 1]
    assert np.array_equal(saf.finish, run_heuristic_on(PLAN.test(), Setting(with_remaining=False), "SAF").finish)
    assert np.array_equal(
        by_name["resources", "test"].outcomes["SAF", "none", 1].sequences.length, saf.sequences.length
    )
    seen = by_name["main", "training"].outcomes["SAF", "none", 1].sequences
    assert np.array_equal(seen.length, PLAN.pool().length)


def test_each_step_of_the_ladder_is_compared(groups: list[Trials]) -> None:
    comparisons = compare_schedulers(groups[1])
    pairs = [(one.scheduler, one.rival) for one in comparisons]
    assert pairs[:3] == [
        (("RLSchert", "learned"), ("RLSchert", "rule")),
        (("RLSchert", "rule"), ("RLSchert", "none")),
        (("RLSchert", "none"), ("DeepRM", "none")),
    ]
    assert pairs[3][0] == ("DeepRM", "none") and pairs[3][1][0] in HEURISTICS
    assert pairs[3][1][1] in ("none", "rule")
    whole, stopped = ("SJF, whole queue", "none"), ("SJF, whole queue", "stopping")
    assert {rival for _, rival in pairs[4:8]} <= {("SAF", "none")}
    assert {(("RLSchert", "learned"), whole), (("RLSchert", "learned"), stopped), (stopped, whole)} <= set(pairs)
    slowdowns = [
        outcome.slowdowns() for key, outcome in groups[1].outcomes.items() if key[:2] == ("RLSchert", "learned")
    ]
    assert comparisons[0].cost == pytest.approx(np.mean(slowdowns))
    for one in comparisons:
        assert one.low is not None and one.high is not None and one.low <= one.difference <= one.high


def test_rivals_of_the_whole_queue_and_of_the_stopping_rule(groups: list[Trials]) -> None:
    by_name = {(group.experiment, group.part): group.outcomes for group in groups}
    main, costly = by_name["main", "test"], by_name["preemption", "test"]
    setting = Setting(stop_within=5, preemption_cost=2)
    expected = run_heuristic_on(PLAN.test(), setting, "SJF, whole queue")
    assert np.array_equal(costly["SJF, whole queue", "stopping", 1].finish, expected.finish)
    for name in ("SJF", "SJF, whole queue"):  # who kills nothing pays nothing
        assert np.array_equal(main[name, "none", 1].finish, costly[name, "none", 1].finish)


def test_heuristics_alone_where_there_is_no_seed() -> None:
    plan = tiny_plan(seeds=())
    alone = list(try_everything(plan, []))
    pairs = [(one.scheduler, one.rival) for one in compare_schedulers(alone[1])]
    assert (("SJF, whole queue", "stopping"), ("SJF, whole queue", "none")) in pairs
    tables = make_tables(plan, [], alone)
    assert tables.curves.height == 0 and tables.curves.filter(experiment="main").height == 0
    assert set(tables.results["seed"]) == {1}


# view: What schedulers see of RLSchert's cluster, and what the heuristics pick, against the slow cluster.


@pytest.mark.parametrize(("name", "pick"), [("SJF", pick_sjf), ("SAF", pick_saf), ("Tetris", pick_tetris)])
@pytest.mark.parametrize("kill_by_rule", [True, False])
def test_heuristics_pick_the_same(name: str, pick, kill_by_rule: bool) -> None:
    setting = Setting(with_remaining=False, kill_by_rule=kill_by_rule)
    sequences = draw_sequences(Workload(jobs=80), 3, seed=5)
    found = run_heuristic_on(sequences, setting, name)
    for e in range(3):
        oracle = oracle_of(sequences, e, setting)
        run(oracle, pick)
        assert found.finish[e].tolist() == [oracle.finish[j] for j in range(80)]


@pytest.mark.parametrize(("name", "wide"), [("SJF, whole queue", 0), ("SAF, whole queue", 1)])
@pytest.mark.parametrize("preemption_cost", [0, 3])
@pytest.mark.parametrize("stop_within", [0, 5])
def test_whole_queue_heuristics_pick_the_same(name: str, wide: int, stop_within: int, preemption_cost: int) -> None:
    setting = Setting(kill_by_rule=True, stop_within=stop_within, preemption_cost=preemption_cost)
    sequences = draw_sequences(Workload(jobs=80), 3, seed=5)
    outcome = run_heuristic_on(sequences, setting, name)
    for e in range(3):
        oracle = run_whole_queue(
            oracle_of(sequences, e, setting), lambda procs, estimate: estimate * (procs if wide else 1)
        )
        assert outcome.finish[e].tolist() == [oracle.finish[j] for j in range(80)]
    assert outcome.kills.sum() > 0


def test_the_whole_queue_is_worth_much_and_stopping_more() -> None:
    """The page's figures: 9.56, 3.20 and 2.15."""
    sequences = draw_sequences(Workload(), 16, seed=3)

    def slowdown(name: str, **rules: int) -> float:
        return float(run_heuristic_on(sequences, Setting(**rules), name).slowdowns().mean())

    costs = (slowdown("SJF"), slowdown("SJF, whole queue"), slowdown("SJF, whole queue", stop_within=5))
    assert costs == pytest.approx((9.56, 3.20, 2.15), abs=0.005)


@pytest.mark.parametrize("preemption_cost", [0, 6])
def test_every_heuristic_ends_and_oversubscribes_nothing(preemption_cost: int) -> None:
    sequences = draw_sequences(Workload(jobs=100), 4, seed=9)
    setting = Setting(procs=16, with_remaining=False, stop_within=5, preemption_cost=preemption_cost)
    for name in HEURISTICS + WHOLE_QUEUE_HEURISTICS:
        found = run_heuristic_on(sequences, setting, name)
        restart = np.where(found.kills > 0, preemption_cost, 0)
        assert (found.finish - found.start == sequences.length + restart).all() and found.over.all()
        assert found.kills.sum() > 0 and found.kills.max() <= 3
        assert found.busy.max() <= 16
        assert (found.slowdowns() >= 1).all()


def test_random_depends_on_its_seed_alone() -> None:
    sequences = draw_sequences(Workload(jobs=50), 2, seed=3)
    runs = [run_heuristic_on(sequences, Setting(), "Random", seed=seed).finish for seed in (1, 1, 2)]
    assert (runs[0] == runs[1]).all() and (runs[0] != runs[2]).any()


def test_an_unknown_heuristic() -> None:
    with pytest.raises(ValueError, match="unknown heuristic 'FCFS': expected one of Random; SJF"):
        run_heuristic_on(draw_sequences(Workload(jobs=10), 1, 1), Setting(), "FCFS")


def test_what_a_learner_is_offered() -> None:
    """Never to wait for nothing, nor to kill what has just started; a job at most three times."""
    sequences = draw_sequences(Workload(jobs=40), 1, seed=2)
    cluster = SlotCluster(sequences, Setting())
    cluster.begin()
    state, rng = cluster.state, np.random.default_rng(1)
    for _ in range(5000):
        if cluster.over[0]:
            break
        offered = np.flatnonzero(cluster.mask[0])
        assert len(offered)
        idle = state.num_running[0] == 0 and state.num_ready[0] == 0
        assert cluster.mask[0, WAIT] == (not (idle and (state.slots[0] >= 0).any()))
        for k in range(min(KILLABLE, state.num_running[0])):
            j = state.running[0, state.num_running[0] - 1 - k]
            may = state.now[0] > state.start[0, j] and state.kills[0, j] < 3
            assert cluster.mask[0, SLOTS + k] == may
        cluster.step(np.array([rng.choice(offered)]))
    assert cluster.over[0]
    assert state.kills.max() == 3


def test_the_image_shows_the_plan() -> None:
    sequences = draw_sequences(Workload(jobs=30), 1, seed=4)
    cluster = SlotCluster(sequences, Setting(procs=16), images=True)
    cluster.begin()
    for _ in range(60):
        cluster.step(np.array([0 if cluster.mask[0, 0] else WAIT]))
    image = cluster.seen[0]
    assert image.shape == (120, 72)  # of section 4.1.3
    assert ((image[:, :16] > 0).sum(axis=1) == 16 - cluster.state.free[0]).all()
    state = cluster.state
    running = [state.running[0, k] for k in range(state.num_running[0])]
    colours = set(image[0, :16].tolist()) - {0.0}
    assert len(colours) == len(running) and min(colours) >= 0.5  # each running job has one of its own
    rows = image[:, 66:71].any(axis=1)
    assert rows.sum() == min(len(running), KILLABLE) and rows[: rows.sum()].all()
    assert image[0, 66] == pytest.approx(sequences.procs[0, running[-1]] / 10)  # the latest start first
    assert image[:, 71].sum() == min(state.since[0], 120)
    for w, j in enumerate(cluster.state.slots[0]):
        area = image[:, 16 + 10 * w : 26 + 10 * w].sum()
        assert area == (0 if j < 0 else cluster.state.estimate[0, j] * sequences.procs[0, j])


# workload: RLSchert's synthetic jobs, and how their predictions err.


def measured_errors(sequences: SequencesOfWorkload) -> tuple[float, float]:
    """MAPE before the run, and while running (mean over each job's units after the first, then over jobs that have any), as the
    drawn predictions have them, shares."""
    length = sequences.length[:, :, None]
    before = np.abs(sequences.first - sequences.length) / sequences.length
    units = np.arange(LONGEST)
    runs = (units >= 1) & (units < length)
    error = np.where(runs, np.abs(units + sequences.remaining - length) / length, 0.0).sum(axis=2)
    count = runs.sum(axis=2)
    return float(before.mean()), float((error[count > 0] / count[count > 0]).mean())


def test_jobs_are_as_the_paper_tells() -> None:
    drawn = draw_sequences(Workload(), 100, seed=1)
    assert drawn.length.mean() == pytest.approx(10, rel=0.06)
    assert drawn.procs.mean() == pytest.approx(3, rel=0.03)
    assert drawn.length.min() >= 1 and drawn.length.max() <= LONGEST
    assert drawn.procs.min() >= 1 and drawn.procs.max() <= WIDEST
    assert (np.diff(drawn.arrive, axis=1) >= 1).all()
    assert np.diff(drawn.arrive, axis=1).mean() == pytest.approx(1 / 0.7, rel=0.03)
    assert drawn.remaining.shape == (100, 200, LONGEST) and drawn.remaining.min() >= 1


@pytest.mark.parametrize(("share", "kind"), [(1.0, 0), (0.0, 1)])
def test_predictions_err_as_asked(share: float, kind: int) -> None:
    """Jobs of one kind; short ones lose errors of less than half a unit, so that the others have a little more."""
    drawn = draw_sequences(Workload(single_share=share), 100, seed=1)
    before, running = measured_errors(drawn)
    assert before == pytest.approx(PAPER_ERRORS.before[kind], rel=0.06)
    assert running == pytest.approx(PAPER_ERRORS.running[kind], rel=0.2)


def test_predictions_get_better_while_a_job_runs() -> None:
    drawn = draw_sequences(Workload(single_share=0.0, mean_length=40), 60, seed=1)
    error = []
    for share in (0.1, 0.5, 0.9):
        t = np.floor(share * drawn.length).astype(np.int64)
        total = t + np.take_along_axis(drawn.remaining, t[:, :, None], axis=2)[:, :, 0]
        error.append((np.abs(total - drawn.length) / drawn.length).mean())
    assert error[0] > error[1] > error[2]


def test_perfect_predictions() -> None:
    exact = Workload(errors=Errors((0, 0), (0, 0), (0, 0)))
    drawn = draw_sequences(exact, 3, seed=1)
    assert (drawn.first == drawn.length).all()
    left = drawn.length[:, :, None] - np.arange(LONGEST)
    assert (drawn.remaining == np.maximum(left, 1)).all()


def test_jobs_whose_steps_cannot_be_read_keep_their_first_prediction() -> None:
    drawn = draw_sequences(Workload(predictable_share=0.0), 3, seed=1)
    assert (drawn.remaining == np.maximum(drawn.first[:, :, None] - np.arange(LONGEST), 1)).all()
    half = draw_sequences(Workload(predictable_share=0.5, other_error=1.212), 40, seed=1)
    kept = (half.remaining == np.maximum(half.first[:, :, None] - np.arange(LONGEST), 1)).all(axis=2)
    assert 0.45 < kept.mean() < 0.75
    assert measured_errors(half)[0] > 1.3 * measured_errors(draw_sequences(Workload(), 40, seed=1))[0]


def test_jobs_of_real_runs() -> None:
    drawn = draw_sequences(Workload(observed=((5, 2, True), (50, 9, False))), 5, seed=1)
    assert set(zip(drawn.length.ravel().tolist(), drawn.procs.ravel().tolist(), strict=True)) == {(5, 2), (50, 9)}


def test_the_same_seed_gives_the_same_jobs() -> None:
    one, same, other = (draw_sequences(Workload(jobs=20), 2, seed=seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert (one.length != other.length).any()


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"job_rate": 0.0}, "job_rate is a share from 0 to 1, got 0.0"),
        ({"single_share": 1.5}, "single_share is a share"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"mean_procs": 11.0}, "mean_procs 1 to 10"),
    ],
)
def test_workloads_that_make_no_sense(told: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Workload(**told)  # type: ignore[arg-type]


def test_errors_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="before: errors are shares from 0 to 3"):
        Errors((-0.1, 0.2), (0.1, 0.1), (0.1, 0.1))
    with pytest.raises(ValueError, match="at_end must not be larger"):
        Errors((0.1, 0.2), (0.1, 0.1), (0.2, 0.1))
