"""Tests of studies/searching: evolution, learning_logs, programs."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from models.judging.panel import Replayed, payers_between
from models.judging.verdict import ratios_of
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import SEARCHED
from studies.searching.evolution import (
    CLASS_LIMIT,
    FAILED_OUTCOME,
    LIMIT_MARGIN,
    LIMIT_PENALTY,
    Kept,
    Search,
    SearchOptions,
    log_value,
)
from studies.searching.learning_logs import LearningLog, ProgramOutcome, perturbed_copies, with_submissions
from studies.searching.programs import (
    ATTRIBUTES,
    CONSTANT,
    MOST_PARTS,
    POWER,
    STATIC,
    Program,
    crossed,
    mutated,
    nodes_of,
    pbs_formula,
    random_program,
    replace_node,
    shorter_terms,
    term_text,
)
from tests.models.scheduling.conftest import PROCS

SIZE = Program(("*", (POWER, ("request",), 0.5), (POWER, ("width",), -0.25)), 40_000.0, 43_200.0)
NO_CHANGE = ProgramOutcome(*(1.0,) * len(ProgramOutcome._fields))


# programs


def test_a_program_is_a_formula_that_can_be_read() -> None:
    assert SIZE.setback == "min(40000*(estimate/14400)**0.5*(procs/cluster)**(-0.25), 43200)"
    assert SIZE.formula == f"formula:-(submit + {SIZE.setback})"
    waits = Program(("/", ("request",), ("*", ("waited",), ("share",))), 3600.0, 7200.0)
    assert waits.formula == "formula:wait - min(3600*(estimate/14400)/((1 + wait/3600)*(1 + user_share)), 7200)"
    assert SIZE.is_static and not waits.is_static


def test_the_order_is_the_same_with_the_wait_written_out(jobs: Jobs) -> None:
    ours = replay(jobs, PROCS, SIZE.policy, "easy")
    waits = replay(jobs, PROCS, f"formula:wait - {SIZE.setback}", "easy")
    assert np.array_equal(ours.start, waits.start)


def test_no_job_goes_before_one_that_came_earlier_by_more_than_the_cap(jobs: Jobs) -> None:
    """Without backfilling jobs start in the order of the queue."""
    cap_s = 5000.0
    start = replay(jobs, PROCS, Program(SIZE.term, 4e3, cap_s).policy, "none").start
    order = np.argsort(start, kind="stable")
    latest = np.maximum.accumulate(jobs.submit[order])
    assert (latest - jobs.submit[order]).max() <= cap_s
    assert (np.diff(jobs.submit[order]) < 0).any(), "the order is not that of submission"


def test_what_the_operators_bind(jobs: Jobs) -> None:
    """The text means what the tree says, whatever stands in whatever."""
    values = {"request": 2.0, "width": 0.25, "scaled_width": 0.5, "waited": 3.0, "share": 1.5}
    facts = {"estimate": 28_800, "procs": 4, "cluster": 16, "wait": 7200, "user_share": 0.5}
    facts["procs"] = facts["cluster"] * values["width"]
    values["scaled_width"] = facts["procs"] / math.sqrt(facts["cluster"])

    def value_of(term: tuple) -> float:
        match term[0]:
            case "constant":
                return term[1]
            case "**":
                return value_of(term[1]) ** term[2]
            case "+":
                return value_of(term[1]) + value_of(term[2])
            case "*":
                return value_of(term[1]) * value_of(term[2])
            case "/":
                return value_of(term[1]) / value_of(term[2])
            case "min":
                return min(value_of(term[1]), value_of(term[2]))
        return values[term[0]]

    rng = np.random.default_rng(4)
    programs = [random_program(rng, tuple(ATTRIBUTES)) for _ in range(20)]
    for _ in range(300):
        parent = programs[int(rng.integers(len(programs)))]
        program = mutated(crossed(parent, programs[0], rng), rng, tuple(ATTRIBUTES))
        programs.append(program)
        text = term_text(program.term)
        assert eval(text, {"sqrt": math.sqrt, "min": min}, facts) == pytest.approx(value_of(program.term)), text
        longest = max(MOST_PARTS, sum(1 for _ in nodes_of(parent.term)))
        assert sum(1 for _ in nodes_of(program.term)) <= longest and program.attributes
    assert len({program.formula for program in programs}) > 150


def test_parts_are_replaced_where_they_are() -> None:
    term = ("+", ("*", ("request",), ("width",)), (POWER, ("width",), 2.0))
    for place, part in enumerate(nodes_of(term)):
        changed = replace_node(term, place, (CONSTANT, 7.0))
        assert list(nodes_of(changed))[place] == (CONSTANT, 7.0)
        assert replace_node(term, place, part) == term


def test_constants_are_set_where_they_were_read() -> None:
    term = ("+", ("*", (CONSTANT, 3.0), (POWER, ("min", (CONSTANT, 2.0), ("request",)), 1.5)), (POWER, ("width",), 2.0))
    program = Program(term, 5000.0, 9000.0)
    assert program.with_constants(program.constants) == program
    changed = program.with_constants(program.constants + np.array([1, 0, 0, 0, 0.25, 0]))
    assert changed.seconds == 50_000 and changed.cap_s == 9000 and changed.term[1][2][2] == 1.75
    far = program.with_constants(np.full(6, 99.0))
    assert math.isfinite(far.seconds) and all(node[2] <= 4 for node in nodes_of(far.term) if node[0] == POWER)


@pytest.mark.parametrize("formula", SEARCHED.values())
def test_pbs_orders_alike(formula: str, jobs: Jobs) -> None:
    text = pbs_formula(formula, PROCS)
    assert text.startswith("eligible_time - min(") and not {"estimate", "procs", "cluster", "submit"} & set(
        text.split()
    )
    assert np.array_equal(
        replay(jobs, PROCS, formula, "easy").start, replay(jobs, PROCS, f"formula:{text}", "easy").start
    )


def test_pbs_has_no_share_of_a_user() -> None:
    with pytest.raises(ValueError, match="choose a program without user_share"):
        Program(("share",), 3600.0, 7200.0).pbs_formula(64)


# learning_logs


def test_an_outcome_is_what_a_judgement_says(jobs: Jobs) -> None:
    log = LearningLog("mine", jobs, PROCS)
    scored = np.arange(len(jobs)) >= len(jobs) // 5
    ours, theirs = (Replayed(jobs, PROCS, replay(jobs, PROCS, rule, "easy"), scored) for rule in ("SJF", "FCFS"))
    outcome, ratios, paid = log.outcome("SJF"), ratios_of(ours.panel(), theirs.panel()), payers_between(ours, theirs)
    expected = (
        ratios.bounded_slowdown,
        ratios.wait,
        ratios.p99_wait,
        ratios.max_wait,
        ratios.area_wait,
        ratios.wide_wait,
    )
    assert outcome[:6] == pytest.approx(expected, rel=5e-3), "the percentile here is that of a job"
    assert outcome.worst_class == pytest.approx(paid.worst_ratio)
    assert outcome.users == pytest.approx(1 + (paid.users_worse - paid.users_better) / paid.users)
    assert log.outcome("FCFS") == NO_CHANGE
    later = LearningLog("mine", jobs, PROCS, first_scored=500)
    assert later.outcome("SJF") != outcome


def test_copies_differ_as_another_month_would(jobs: Jobs) -> None:
    log = LearningLog("mine", jobs, PROCS)
    copies = {copy.name: copy.jobs for copy in perturbed_copies(log, 3)}
    again = {copy.name: copy.jobs for copy in perturbed_copies(log, 3)}
    assert all(np.array_equal(copies[name].submit, again[name].submit) for name in copies)
    span = {name: copy.submit[-1] - copy.submit[0] for name, copy in copies.items()}
    whole = jobs.submit[-1] - jobs.submit[0]
    assert span["mine, more load"] * 1.1 == pytest.approx(whole, rel=1e-3)
    assert span["mine, less load"] * 0.9 == pytest.approx(whole, rel=1e-3)
    assert len(copies["mine, later start"]) == len(jobs) - len(jobs) // 9
    exchanged = copies["mine, exchanged requests"]
    changed = (exchanged.estimate != jobs.estimate).mean()
    assert 0.1 < changed < 0.25 and (exchanged.estimate >= exchanged.runtime).all()
    moved = copies["mine, moved"]
    assert sorted(moved.runtime) == sorted(jobs.runtime) and (moved.submit[1:] >= moved.submit[:-1]).all()


def test_jobs_keep_their_own_columns_where_their_order_changes(jobs: Jobs) -> None:
    reversed_jobs = with_submissions(jobs, jobs.submit[-1] - jobs.submit)
    assert np.array_equal(
        np.sort(reversed_jobs.runtime * 64 + reversed_jobs.procs), np.sort(jobs.runtime * 64 + jobs.procs)
    )
    assert all(a <= b for a, b in pairwise(reversed_jobs.submit))


# evolution


def outcome_of(**changes: float) -> ProgramOutcome:
    return NO_CHANGE._replace(slowdown=0.5, wait=0.8, **changes)


def test_whoever_pays_costs() -> None:
    gain = (math.log(0.5) + math.log(0.8)) / 2
    within = math.exp(LIMIT_MARGIN * math.log(1.1))
    assert log_value([outcome_of(p99=within, longest=0.5)], 1.1) == pytest.approx(gain)
    for name in ("p99", "longest", "work", "wide", "users"):
        assert log_value([outcome_of(**{name: within * 1.2})], 1.1) == pytest.approx(
            gain + LIMIT_PENALTY * math.log(1.2)
        )
    worst = 1 + CLASS_LIMIT * 0.1
    assert log_value([outcome_of(worst_class=worst)], 1.1) == pytest.approx(gain)
    assert log_value([outcome_of(worst_class=2 * worst)], 1.1) == pytest.approx(gain + LIMIT_PENALTY * math.log(2))
    mean = log_value([outcome_of(longest=within**3), outcome_of(longest=1 / within)], 1.1)
    assert mean == pytest.approx(gain), "one copy makes up for another"


def test_the_worst_log_counts_as_much_as_the_mean(jobs: Jobs) -> None:
    logs = [LearningLog(name, jobs, PROCS) for name in ("a", "b", "a, copy")]
    search = Search([logs], {"any": 1.1}, SearchOptions(), Kept(logs))
    search.kept.outcomes = {
        (SIZE.formula, "a"): outcome_of(),
        (SIZE.formula, "b"): NO_CHANGE,
        (SIZE.formula, "a, copy"): outcome_of(),
    }
    gain = (math.log(0.5) + math.log(0.8)) / 2
    assert search.value(SIZE, 1.1, 1) == pytest.approx((gain / 2 + 0) / 2, abs=0.01)


def small_search(jobs: Jobs, file: Path | None = None) -> Search:
    log = LearningLog("mine", jobs, PROCS)
    rungs = [[log], perturbed_copies(log, 1)[:2]]
    options = SearchOptions(generations=6, children=12, parents=6, tune_every=2, tuning=8)
    return Search(rungs, {"strict": 1.05, "loose": 1.5}, options, Kept([*rungs[0], *rungs[1]], file))


def test_a_search_finds_programs_that_gain_and_goes_on_where_it_stopped(jobs: Jobs, tmp_path: Path) -> None:
    file = tmp_path / "kept" / "search.jsonl"
    first, lines = small_search(jobs, file), []
    best = first.run(3, [SIZE], lines.append)
    assert len(lines) == 6 and f"{first.kept.replays:,} replays" in lines[-1]
    assert first.value(best["loose"][0], 1.5, 2) <= first.value(SIZE, 1.5, 2)
    assert first.value(best["loose"][0], 1.5, 2) < 0
    assert all(first.value(a, 1.05, 2) <= first.value(b, 1.05, 2) for a, b in pairwise(best["strict"]))
    again = small_search(jobs, file)
    assert again.run(3, [SIZE])["loose"][0] == best["loose"][0] and again.kept.replays == 0
    cut = file.read_text()
    file.write_text(cut[: len(cut) // 2])
    resumed = small_search(jobs, file)
    assert resumed.run(3, [SIZE])["loose"][0] == best["loose"][0]
    assert 0 < resumed.kept.replays < first.kept.replays
    assert small_search(jobs).run(4)["loose"][0] != best["loose"][0], "another seed is another search"


def test_what_is_published_is_short_and_keeps_the_limit(jobs: Jobs) -> None:
    search = small_search(jobs)
    idle = Program(
        ("*", ("min", SIZE.term, ("*", SIZE.term, (CONSTANT, 9.0))), (CONSTANT, 1.0)), SIZE.seconds, SIZE.cap_s
    )
    short = search.shortened(idle, 1.5)
    assert short.formula == search.shortened(SIZE, 1.5).formula, "the same order with fewer parts"
    assert len(list(nodes_of(short.term))) <= len(list(nodes_of(SIZE.term))) < len(list(nodes_of(idle.term)))
    worse = Program(("request",), 9e3, 4e5)
    search.kept.outcomes |= {
        (worse.formula, log.name): outcome_of(longest=3.0) for rung in search.rungs for log in rung
    }
    search.kept.outcomes |= {(SIZE.formula, log.name): outcome_of() for rung in search.rungs for log in rung}
    assert search.keeps(SIZE, 1.05) and not search.keeps(worse, 1.5)


def test_shorter_terms_still_read_something() -> None:
    term = ("+", (CONSTANT, 2.0), (POWER, ("width",), 2.0))
    assert shorter_terms(term) == [(POWER, ("width",), 2.0), ("+", (CONSTANT, 2.0), ("width",))]


def test_a_file_of_other_logs_is_refused(jobs: Jobs, tmp_path: Path) -> None:
    file = tmp_path / "search.jsonl"
    Kept([LearningLog("other", jobs, PROCS)], file)
    with pytest.raises(ValueError, match=r"search.jsonl: line 1: this search was of other logs"):
        small_search(jobs, file)


def test_a_damaged_line_is_named(jobs: Jobs, tmp_path: Path) -> None:
    log, file = LearningLog("mine", jobs, PROCS), tmp_path / "search.jsonl"
    Kept([log], file).outcome(SIZE, log)
    with file.open("a") as lines:
        lines.write("damaged\n" + json.dumps([SIZE.formula, "mine", [1.0] * 8]) + "\n")
    with pytest.raises(ValueError, match=r"search.jsonl: line 3: expected formula, log and ratios"):
        Kept([log], file)


def test_a_formula_that_overflows_is_the_worst(jobs: Jobs) -> None:
    log = LearningLog("mine", jobs, PROCS)
    term: tuple = ("request",)
    for _ in range(6):
        term = (POWER, term, 4.0)
    assert (
        Kept([log]).outcome(Program(("*", (POWER, (CONSTANT, 1e4), 4.0), ("/", (CONSTANT, 1e4), term)), 3e6, 4e5), log)
        == FAILED_OUTCOME
    )


def test_static_attributes_are_attributes() -> None:
    assert set(STATIC) < set(ATTRIBUTES)
