"""Tests of studies/judging: coverage, identified, search_policies, searched, searched_logs.

The study of coverage: resamples by running sums are those by jobs, and targets those of blocks that are cut by hand.

The product finds the rules of real logs alone.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from assets.common.trace import Trace
from assets.policies.verdicts import JudgedRule, judged_replays
from assets.replaying.limits.identified import logged_jobs, rules_of_trace
from models.identification.rules import BOUNDARY, CYCLE, RUNNING_JOBS
from models.judging.chance import ChanceCloud
from models.judging.intervals import cut_into_blocks
from models.judging.verdict import Ratios
from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from simulator.jobs.jobs import jobs_from_log
from simulator.policies.registry import SEARCHED
from studies.judging import searched, searched_logs
from studies.judging.coverage import (
    BLOCK_COUNTS,
    HOP_COST,
    LOGS,
    RIVALS,
    RIVALS_OF_TREE,
    MeanSeries,
    PercentileSeries,
    draw_runs,
    hop_costs,
    outcome,
    percentile_coverage,
    rivals_of,
    synthetic,
)
from studies.judging.identified import SEARCHED_LOGS, best_rows, letter_rows, micro_rows, rows_of_rules
from studies.judging.limited import trace_of
from studies.judging.search_policies import LIMITS, STARTS, learned_table
from studies.judging.searched import (
    as_pbs,
    cap_of,
    cloud_within,
    gain_of,
    in_hindsight,
    moved_copy,
    on_moved_copies,
    summary,
    table_of_log,
    together,
)
from studies.judging.searched_logs import GENERATED, generated_jobs, learning_rungs
from studies.searching.evolution import Kept, Search, SearchOptions
from studies.searching.learning_logs import LearningLog
from tests.shared import shared_file
from tests.studies.judging.conftest import PROCS

JOBS = 700
RANDOM = np.random.default_rng(1)
VALUES = RANDOM.lognormal(size=(3, JOBS))
WEIGHTS = RANDOM.lognormal(size=JOBS)
WIDE = RANDOM.random(JOBS) < 0.3


@pytest.mark.parametrize("counted", [np.ones(JOBS, dtype=np.bool_), WIDE])
def test_resamples_by_running_sums_are_those_of_the_jobs(counted: np.ndarray) -> None:
    means = MeanSeries(VALUES, WEIGHTS, counted, 0.0)
    percentiles = PercentileSeries(VALUES, 0.0)
    random = np.random.default_rng(2)
    for _ in range(20):
        runs = draw_runs(random, JOBS, 100.0)
        assert runs.length.sum() == JOBS and (runs.length > 0).all()
        jobs = np.concatenate([np.arange(a, a + n) for a, n in zip(runs.start, runs.length, strict=True)]) % JOBS
        of_means, of_percentiles = means.block_means(runs, BLOCK_COUNTS), percentiles.block_means(runs, BLOCK_COUNTS)
        for k, count in enumerate(BLOCK_COUNTS):
            blocks = cut_into_blocks(counted[jobs], count)
            np.testing.assert_allclose(of_means[k], blocks.means(VALUES[:, jobs], WEIGHTS[jobs]))
            every = cut_into_blocks(np.ones(JOBS, dtype=np.bool_), count)
            np.testing.assert_allclose(of_percentiles[k], every.percentiles(VALUES[:, jobs], 99))


def test_originals_are_the_blocks_at_every_position() -> None:
    originals = MeanSeries(VALUES, WEIGHTS, WIDE, 0.0).originals(10)
    wide = np.flatnonzero(WIDE)
    size = len(wide) // 10
    assert originals.shape == (3, len(wide))
    for first in (0, 17, len(wide) - 3):
        jobs = np.take(wide, range(first, first + size), mode="wrap")
        expected = (VALUES[:, jobs] @ WEIGHTS[jobs]) / WEIGHTS[jobs].sum()
        np.testing.assert_allclose(originals[:, first], expected)
    p99s = PercentileSeries(VALUES, 0.0).originals(10)
    np.testing.assert_allclose(p99s[:, 0], np.percentile(VALUES[:, :70], 99, axis=1))


def test_too_few_jobs_that_count_are_refused() -> None:
    few = np.zeros(JOBS, dtype=np.bool_)
    few[0] = True
    with pytest.raises(ValueError, match="too few for 8 blocks"):
        MeanSeries(VALUES, WEIGHTS, few, 0.0).block_means(draw_runs(np.random.default_rng(1), JOBS, 100.0), (8,))


def test_mean_lengths_of_runs() -> None:
    random = np.random.default_rng(1)
    lengths = np.concatenate([draw_runs(random, 100_000, 500.0).length for _ in range(20)])
    assert lengths.mean() == pytest.approx(500, rel=0.1)


@pytest.mark.parametrize("name", ["normal", "lognormal", "AR(1) .5", "bursts"])
def test_synthetic_series_have_the_mean_that_they_say(name: str) -> None:
    series, mean = synthetic(name, 20_000, 40)
    assert series.shape == (20_000, 40)
    assert series.mean() == pytest.approx(mean, abs=0.015)
    assert series[:, 0].mean() == pytest.approx(mean, abs=0.05)  # from the first block on
    quartiles = np.percentile(series, [25, 75], axis=0)
    assert quartiles[:, 0] == pytest.approx(quartiles[:, -1], abs=0.06)


def test_the_old_interval_is_that_of_windows_that_share_no_job() -> None:
    series, mean = synthetic("lognormal", 60, 16)
    windows = Windows(np.arange(16) * 100, 100)
    old = [paired_difference(row, np.zeros(16), windows, 1) for row in series]
    holds = np.mean([d.low <= mean <= d.high for d in old if d.low is not None and d.high is not None])
    assert percentile_coverage(series, mean) == pytest.approx(holds, abs=0.05)


def test_hop_costs_are_those_of_best_fit_and_its_rivals() -> None:
    """First fit costs more than best fit on average, and waiting for a leaf less."""
    random = np.random.default_rng(4)
    runtime = random.integers(100, 4000, 250)
    jobs = jobs_from_log(np.cumsum(random.integers(0, 300, 250)), runtime, random.integers(1, 40, 250), 2 * runtime)
    costs = hop_costs("KTH-SP2", jobs)
    assert costs.shape == (1 + len(RIVALS_OF_TREE), 250) and LOGS["KTH-SP2"].tree == "16x8x1"
    means = dict(zip(("tree", *RIVALS_OF_TREE), costs.mean(axis=1), strict=True))
    assert means["first"] > means["tree"] > means["tree, 1@4h"]
    assert rivals_of(HOP_COST) == RIVALS_OF_TREE and rivals_of("mean wait") == tuple(RIVALS)


def test_an_outcome_counts_what_holds() -> None:
    series, _ = synthetic("normal", 2000, 16)
    right, high, low = (outcome("x", series, target, 0.0) for target in (0.0, 3.0, -3.0))
    assert 0.94 < right.holds < 0.98 and right.own == pytest.approx(right.holds, abs=0.01)
    assert right.cases + round(2000 * right.none) == 2000 and right.unjoined == round(2000 * right.none) + right.joined
    assert (high.holds, high.too_low) == (0.0, 1.0) and (low.holds, low.too_low) == (0.0, 0.0)
    assert right.joined_hold == right.joined > 0
    assert np.isnan(outcome("x", series[:40], 0.0, 0.0).holds)


# --- identified


@pytest.mark.parametrize(
    ("name", "kinds", "least_rank"),
    [
        ("IU Mason", [RUNNING_JOBS, CYCLE], 0.85),
        ("KTH-SP2", [BOUNDARY], 0.4),
        pytest.param("CTC-SP2", None, 0.4, marks=pytest.mark.thorough),
        pytest.param("HPC2N", None, 0.55, marks=pytest.mark.thorough),
    ],
)
def test_rules_explain_the_second_half(name: str, kinds: list[str] | None, least_rank: float, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (log,) = (each for each in SEARCHED_LOGS if each.name == name)
    shared_file("traces", *log.file.split("/"))
    trace = trace_of(log, tmp_path)
    identification = rules_of_trace(trace, None, None, 400)
    after = identification.after
    if kinds is not None:
        assert [rule.kind for rule in identification.rules] == kinds
    assert after.rank_correlation is not None and after.rank_correlation >= least_rank
    if name in ("IU Mason", "HPC2N"):
        assert after.replayed_wait_s == pytest.approx(after.logged_wait_s, rel=0.3)
    if name == "HPC2N":
        assert after.replayed_p95_wait_s == pytest.approx(after.logged_p95_wait_s, rel=0.2)
        assert identification.beside is not None and (identification.beside.rank_correlation or 0) >= 0.65
    assert next(rows_of_rules(name, identification))[1] == "no rules"
    if name == "IU Mason":
        jobs = logged_jobs(trace)
        waits = identification.cluster.waits(jobs)
        assert waits is not None
        rows = list(letter_rows(name, jobs, waits, identification.procs))
        assert rows[0][1] == "all" and int(rows[0][2].replace(",", "")) == after.jobs
        letters = {row[1]: row[5:] for row in rows}
        assert letters["users with more than 1,000 jobs"] == ["B", "D", "B"]
        assert [row[1:4] for row in best_rows(rows)] == [["B", "D", "B"]]


def test_a_real_run_of_slurm_has_b_for_its_mean_wait() -> None:
    rows = list(micro_rows(shared_file("traces", "clusters", "ub-micro", "etc", "slurm.conf").parents[1]))
    assert rows[0][:3] == ["UB micro", "all", "500"] and rows[0][5] == "B"
    assert {row[1] for row in rows} >= {"user user1", "nodes any"}


def test_the_best_letter_names_its_parts() -> None:
    rows = [
        ["log", "all", "9", "1.00", "1.00", "C", "D", "D"],
        ["log", "queue gpu", "4", "1.00", "1.00", "A", "C", "D"],
    ]
    assert list(best_rows(rows)) == [["log", "A", "C", "D", "mean: queue gpu"]]


# --- searched


@pytest.fixture
def logs(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """All logs are that one."""
    for module in (searched, searched_logs):
        monkeypatch.setattr(module, "whole_trace", lambda name: trace)
        monkeypatch.setattr(module, "LOGS", dict.fromkeys(searched_logs.LOGS, ("", PROCS)))


def test_no_second_half_is_learned_from(trace: Trace, logs: None) -> None:
    rungs = learning_rungs()
    half = trace.rows["submit_s"].to_list()[trace.rows.height // 2]
    real = [log for rung in rungs for log in rung if not log.name.startswith("generated")]
    assert len(real) == 18
    assert all(log.jobs.submit.max() <= half for log in real if ", m" not in log.name and ", less" not in log.name)
    assert all(len(log.jobs) <= trace.rows.height // 2 for log in real)


def test_generated_users_ask_for_too_much() -> None:
    for options in GENERATED:
        jobs = generated_jobs(options)
        assert np.median(jobs.estimate / np.maximum(jobs.runtime, 1)) > 1.5
        assert len(set(jobs.user.tolist())) > 20


def test_points_of_the_frontier_are_ordered() -> None:
    assert [f"searched:{name}" for name in LIMITS] == list(SEARCHED)
    assert all(a < b for a, b in pairwise(LIMITS.values()))
    assert cap_of("formula:wait - min(3*(estimate/14400), 7200)") == 7200
    assert all(3600 <= cap_of(formula) <= 5 * 86_400 for formula in SEARCHED.values())


def test_the_table_of_a_log_has_all_policies_and_the_lottery(trace: Trace, logs: None) -> None:
    rules = [*(JudgedRule(name, name) for name in SEARCHED), JudgedRule("WFP3", "WFP3")]
    judged = {rule.name: each for rule, (_, each) in zip(rules, judged_replays(trace, rules, 300), strict=True)}
    caps = {name: cap_of(formula) for name, formula in SEARCHED.items()}
    clouds = {cap_s: cloud_within("KTH-SP2", cap_s, 5) for cap_s in (searched.RIVALS_CAP_S, *caps.values())}
    lines = table_of_log(judged, clouds, caps).splitlines()
    assert len(lines) == 2 + len(rules) + len(clouds) and len({line.count("|") for line in lines}) == 1
    ratios = judged["WFP3"].verdict.ratios[0]
    assert (
        f"| WFP3 | {ratios.bounded_slowdown:.2f} | {ratios.wait:.2f} | {ratios.p99_wait:.2f} |"
        in lines[2 + len(SEARCHED)]
    )
    assert lines[-1].startswith("| 5 random orders within ")
    cells = summary("mine", "WFP3", judged["WFP3"], clouds[searched.RIVALS_CAP_S])
    guards = {"p99": ratios.p99_wait, "longest": ratios.max_wait, "by work": ratios.area_wait, "wide": ratios.wide_wait}
    worst = max(guards, key=lambda name: guards[name] or 0.0)
    assert cells[2:5] == [f"{ratios.bounded_slowdown:.2f}", f"{ratios.wait:.2f}", f"{guards[worst]:.2f} ({worst})"]


def ratios(slowdown: float, wait: float) -> Ratios:
    return Ratios(slowdown, wait, 1.0, 1.0, 1.0, None, 1.0, 0.0)


def test_one_test_over_all_logs() -> None:
    """The random order that is as good on one log is not on the other."""
    gains = {"mine": {"KTH-SP2": gain_of(ratios(0.5, 0.8)), "HPC2N": gain_of(ratios(0.5, 0.8))}}
    lottery = {60: {"KTH-SP2": [math.log(0.6), 0.0], "HPC2N": [0.0, math.log(0.6)]}}
    line = together(gains, lottery, {"mine": 60}).splitlines()[2]
    assert line == f"| mine | {math.sqrt(0.4):.3f} | {math.sqrt(0.4):.3f} | 2 | {math.sqrt(0.6):.3f} | 33.3% |"
    as_good = {60: {"KTH-SP2": [math.log(0.6), 0.0], "HPC2N": [math.log(0.6), 0.0]}}
    assert "66.7%" in together(gains, as_good, {"mine": 60})


def test_the_share_of_random_orders_is_of_the_policys_own_cap(logs: None) -> None:
    cloud = cloud_within("KTH-SP2", 3600, 3)
    assert isinstance(cloud, ChanceCloud) and {order.cap_s for order in cloud.orders} == {3600}


def test_hindsight_is_at_least_as_good_within_the_limits(
    trace: Trace, logs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searched, "HINDSIGHT", SearchOptions(generations=2, children=6, parents=3, tuning=0))
    gains = {name: dict.fromkeys(searched.LEARNED_FROM, 0.0) for name in SEARCHED}
    lines = in_hindsight(gains).splitlines()[2:]
    assert len(lines) == len(SEARCHED) * len(searched.LEARNED_FROM)
    assert all(float(line.split("|")[4]) <= 1.01 for line in lines), "FCFS itself is nearly in the space"


def test_moved_copies_are_other_courses_of_events(logs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched, "COPIES", 3)
    lines = on_moved_copies([JudgedRule("FCFS"), JudgedRule("SJF", "SJF")]).splitlines()[2:]
    assert len(lines) == 6 and "| FCFS | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) | 1.00 |" in lines[0]
    outcomes = [moved_copy("KTH-SP2", seed).outcome("SJF") for seed in (1, 2, 3)]
    assert len(set(outcomes)) == 3
    assert f"({min(each.wait for each in outcomes):.2f} to {max(each.wait for each in outcomes):.2f})" in lines[1]


def test_pbs_has_every_point() -> None:
    text = as_pbs(512)
    assert text.count("eligible_time - min(") == len(SEARCHED) and "walltime" in text


def test_what_was_learned_is_printed(trace: Trace, logs: None) -> None:
    log = LearningLog("mine", searched_logs.requested_jobs("KTH-SP2"), PROCS)
    search = Search([[log], []], LIMITS, SearchOptions(), Kept([log]))
    lines = learned_table(search, list(STARTS), 1.1).splitlines()
    assert len(lines) == 2 + len(STARTS) and "| mine |" in lines[2]
