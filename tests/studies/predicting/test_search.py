"""Tests of studies/predicting: search.

Replays as they should be, choices that never look at what they are judged on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from models.judging.judge import judge
from models.judging.panel import Replayed, scored_after
from models.judging.verdict import DOMINATES, TRADES, PolicyVerdict, Ratios, ratios_of
from models.runtime.live import LiveSettings, replay_live
from simulator.engine.replay import replay
from simulator.jobs.jobs import jobs_from_log
from simulator.metrics.metrics import bounded_slowdown
from studies.predicting import search


@pytest.fixture(scope="module")
def log() -> search.SearchLog:
    """400 jobs of ten users whose jobs last about as long as their last ones, on 16 processors, with bad requests."""
    rng = np.random.default_rng(3)
    jobs = 400
    user = rng.integers(0, 10, jobs)
    runtime = np.maximum(1, (np.exp(rng.normal(5, 2, 10))[user] * np.exp(rng.normal(0, 0.3, jobs))).astype(np.int64))
    submit = np.sort(rng.integers(0, 30 * 86_400, jobs))
    procs = rng.choice([1, 2, 4, 8], jobs)
    submit = submit * int((runtime * procs).sum()) // (16 * 30 * 86_400)  # as much work as there is time
    requested = runtime * rng.integers(1, 20, jobs)
    rows = pl.DataFrame(
        {"user_name": user.astype(str), "requested_walltime_s": requested, "requested_procs": procs}
    ).with_columns(executable=pl.lit(None, dtype=pl.Utf8))
    return search.SearchLog(submit, runtime, procs, requested, rows, 16)


def outcome_of(log: search.SearchLog, configuration: search.Configuration) -> search.ReplayOutcome:
    """Of all jobs of a log."""
    return search.replay_configuration(log, configuration).outcome


def test_rivals_are_what_their_names_say(log: search.SearchLog) -> None:
    for name, order, backfill, estimates in (
        ("EASY", "FCFS", "easy", "requested"),
        ("EASY-SJBF", "FCFS", "easy-sjbf", "requested"),
        ("SJF, clairvoyant", "SJF", "easy", "actual"),
        ("SAF, requested", "SAF", "easy", "requested"),
    ):
        jobs = jobs_from_log(log.submit, log.runtime, log.procs, log.requested, estimates)
        wait = replay(jobs, 16, order, backfill).start - log.submit
        found = outcome_of(log, search.PREDICTION_RIVALS[name])
        assert found.bounded_slowdown == pytest.approx(bounded_slowdown(wait, log.runtime).mean())
        assert found.wait_s == pytest.approx(wait.mean())
        assert found.p99_wait_s == pytest.approx(np.percentile(wait, 99))
        assert found.underestimated_share == 0.0
        if order == "FCFS":
            assert found.delayed_share == 0.0  # requests are never too short here


def test_predictions_help_where_users_repeat_themselves(log: search.SearchLog) -> None:
    easy = outcome_of(log, search.EASY)
    ordered = outcome_of(log, search.Configuration("formula:-(submit + 10*estimate)", "easy"))
    assert ordered.bounded_slowdown < easy.bounded_slowdown
    assert ordered.underestimated_share > 0.0


def test_every_configuration_differs_and_replays(log: search.SearchLog) -> None:
    configurations = [
        *search.backfilling_configurations(),
        *search.ordering_configurations(),
        *search.PREDICTION_RIVALS.values(),
    ]
    assert len({str(c) for c in configurations}) == len(configurations) - 1  # EASY++ is tried, too
    assert all(c.order == "FCFS" for c in search.backfilling_configurations())
    few = log._replace(
        **{name: getattr(log, name)[:80] for name in ("submit", "runtime", "procs", "requested", "rows")}
    )
    for configuration in configurations:
        assert outcome_of(few, configuration).bounded_slowdown >= 1.0


def test_predictions_made_at_submission(log: search.SearchLog) -> None:
    """Exact predictions are clairvoyance; conservative backfilling takes them, too."""
    exact = log.rows.with_columns(
        pl.Series(log.runtime).cast(pl.Float64).alias(name)
        for name in ("predicted_runtime_s", "runtime_p75_s", "runtime_p90_s")
    )
    known = log._replace(rows=exact)
    found = outcome_of(known, search.Configuration("FCFS", "easy-sjbf", "predicted", reserve_by="estimate"))
    assert found == outcome_of(log, search.PREDICTION_RIVALS["EASY-SJBF, clairvoyant"])
    planned = search.Configuration(
        "FCFS", "conservative", "predicted:p90", reserve_by="estimate", correction="doubling"
    )
    jobs = jobs_from_log(log.submit, log.runtime, log.procs, log.requested, "actual")
    wait = replay(jobs, 16, "FCFS", "conservative").start - log.submit
    assert outcome_of(known, planned).wait_s == pytest.approx(wait.mean())


STARVING = search.Configuration("formula:-(submit + 1000*estimate*procs)", "easy")
SHORT_FIRST = search.Configuration("formula:-(submit + estimate)", "easy", "actual")


@pytest.fixture(scope="module")
def with_wide_jobs() -> search.SearchLog:
    """400 jobs on 16 processors, of which few need 12 and most 1 or 2, with a fifth of the processor time free."""
    rng = np.random.default_rng(3)
    jobs, span = 400, 30 * 86_400
    user = rng.integers(0, 10, jobs)
    procs = rng.choice([1, 2, 12], jobs, p=[0.5, 0.44, 0.06])
    runtime = np.maximum(1, (np.exp(rng.normal(5, 2, 10))[user] * np.exp(rng.normal(0, 0.3, jobs))).astype(np.int64))
    submit = np.sort(rng.integers(0, span, jobs)) * (int((runtime * procs).sum()) / 0.8 / (16 * span))
    requested = runtime * rng.integers(1, 20, jobs)
    rows = pl.DataFrame(
        {"user_name": user.astype(str), "requested_walltime_s": requested, "requested_procs": procs}
    ).with_columns(executable=pl.lit(None, dtype=pl.Utf8))
    return search.SearchLog(submit.astype(np.int64), runtime, procs, requested, rows, 16)


def test_the_least_slowdown_is_not_chosen_where_wide_jobs_pay(with_wide_jobs: search.SearchLog) -> None:
    part = search.ChoosingPart.of(with_wide_jobs)
    tried = [part.tried(each) for each in (search.EASY, STARVING, SHORT_FIRST)]
    easy, starving, short = tried
    slowdowns = [use.verdict.ratios[0].bounded_slowdown for use in tried]
    assert slowdowns[1] == min(slowdowns)
    assert starving.verdict.ratios[0].guards["wide_wait"] > 2 and not starving.dominates
    assert short.dominates
    assert short.value == pytest.approx(short.verdict.rank_value), "no guard is broken"
    assert (easy.value, easy.dominates) == (0.0, False)


def test_the_choosing_part_scores_after_a_fifth_of_its_jobs(with_wide_jobs: search.SearchLog) -> None:
    """In one replay from its first job on, beside EASY."""
    use = search.ChoosingPart.of(with_wide_jobs).tried(STARVING)
    panels = [
        search.replay_configuration(with_wide_jobs, each, 80).replayed.panel() for each in (STARVING, search.EASY)
    ]
    assert use.verdict.ratios == (ratios_of(*panels),)


def use_of(*ratios: Ratios) -> search.TriedUse:
    """A configuration of which only the ratios matter."""
    return search.TriedUse(search.EASY, PolicyVerdict(TRADES, False, ratios, ()))


def test_a_use_dominates_by_the_limits_of_the_search() -> None:
    good = Ratios(0.5, 0.8, 1.0, 1.05, 0.9, None, 3.0, 0.0)
    assert use_of(good, good).dominates
    for worse in (
        replace(good, bounded_slowdown=1.01),
        replace(good, wait=1.0),
        replace(good, p99_wait=1.06),
        replace(good, wide_wait=1.2),
        replace(good, lost_capacity=0.02),
    ):
        assert not use_of(good, worse).dominates
    much = replace(good, bounded_slowdown=0.01, wide_wait=1.2)
    assert use_of(much).value < use_of(good).value


def test_held_out_jobs_are_judged_inside_one_replay_of_the_whole_log(with_wide_jobs: search.SearchLog) -> None:
    log, cut = with_wide_jobs, 250
    jobs = jobs_from_log(log.submit, log.runtime, log.procs, log.requested, "requested")
    scored = scored_after(400, cut)
    ours, easy = (Replayed(jobs, 16, replay(jobs, 16, *rule), scored) for rule in (("SAF", "easy"), ("FCFS", "easy")))
    held_out = search.HeldOutPart(log, cut, (0, 97))
    replayed, judgement = held_out.judged(search.PREDICTION_RIVALS["SAF, requested"])
    assert judgement == judge([ours], [easy])
    assert np.array_equal(replayed.replayed.schedule.start, ours.schedule.start)
    assert replayed.outcome.bounded_slowdown == pytest.approx(ours.panel().bounded_slowdown)
    alone = outcome_of(log.part(slice(cut, None)), search.PREDICTION_RIVALS["SAF, requested"])
    assert alone.wait_s != pytest.approx(replayed.outcome.wait_s), "from an empty cluster nobody has starved yet"


def test_live_estimates_are_judged_from_every_start(with_wide_jobs: search.SearchLog) -> None:
    log, cut, configuration = with_wide_jobs, 250, search.Configuration(factor=0.5)
    ours, easy = [], []
    for shift in (0, 97):
        part = log.part(slice(shift, None))
        jobs, scored = part.jobs("live"), scored_after(400 - shift, cut - shift)
        live = replay_live(jobs, part.rows, 16, "FCFS", "easy-sjbf", settings=LiveSettings("mean", 0.5))
        ours.append(Replayed(jobs, 16, live.schedule, scored))
        easy.append(Replayed(jobs, 16, replay(part.jobs("requested"), 16, "FCFS", "easy"), scored))
    held_out = search.HeldOutPart(log, cut, (0, 97, 300))
    assert held_out.judged(configuration)[1] == judge(ours, easy)
    assert len(held_out.judged(search.EASY)[1].panels) == 1
    assert held_out.judged(SHORT_FIRST)[1].verdict.word == DOMINATES
