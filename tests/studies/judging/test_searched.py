"""Tests of studies/judging: search_policies, searched, searched_logs."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tracehouse
from assets.common.trace import Trace
from assets.policies.verdicts import JudgedRule, judged_replays
from models.judging.chance import ChanceCloud
from models.judging.verdict import Ratios
from models.scheduling.search.evolution import Kept, Search, SearchOptions
from models.scheduling.search.learning_logs import LearningLog
from simulator.policies.registry import SEARCHED
from studies.judging import searched, searched_logs
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
from tests.tiny import swf_line
from traces.synthetic.workload import WorkloadOptions, generate_workload

PROCS = 32


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    rows = generate_workload(WorkloadOptions(jobs=600, procs=PROCS, seed=3, offered_load=0.9))
    path: Path = tmp_path_factory.mktemp("logs") / "mine.swf"
    columns = (rows[name].to_list() for name in ("submit_s", "runtime_s", "procs", "requested_walltime_s"))
    path.write_text(
        "".join(
            swf_line(number, submit, 0, runtime, procs, requested, user=number % 9 + 1)
            for number, (submit, runtime, procs, requested) in enumerate(zip(*columns, strict=True), start=1)
        )
    )
    return tracehouse.load_log(path, procs=PROCS).trace()


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
