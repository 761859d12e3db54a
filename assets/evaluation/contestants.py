"""The policies that are compared, and their scores on windows and on the whole test period."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from assets.common.progress import progress
from assets.common.trace import Trace
from assets.policies.registry import learned_policies
from assets.policies.verdicts import BOUNDED_KEY, JudgedRule, judged_replays
from models.judging.judge import Judgement, Replayed
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import SEMANTICS, metrics
from simulator.policies.network import KernelWeights
from simulator.policies.registry import RIVAL_HEURISTICS
from warehouse import Warehouse, first_row

EVALUATED_ESTIMATES = ("requested", "predicted")
BACKFILL = "easy"
LEAST_EVALUATION_WINDOWS = 8
"""A short trace is cut into shorter windows rather than fewer: an interval over two or three windows says nothing."""
PERIOD_FLOATS = ("wide_wait_s", "wide_wait_ratio")
"""Columns of replay.period_scores that are NULL in every row where no job is wide."""
LEAST_WINDOW_JOBS = 32
"""But not shorter than this: a handful of jobs hardly queue."""


def evaluation_windows(jobs: int, test_position: int, window_jobs: int, most: int) -> np.ndarray:
    """First positions of at most `most` windows that do not overlap, int64 (windows,).

    They spread over the jobs from `test_position` on, of which there must be at least `window_jobs`.
    """
    fitting = (jobs - test_position) // window_jobs
    return np.linspace(test_position, jobs - window_jobs, min(most, fitting)).astype(np.int64)


@dataclass(frozen=True)
class Contestant:
    """A policy to be compared. A heuristic has no seed and no weights.

    text: as simulator.policies.registry.parse_policy takes it. in_windows, in_period: in which of the two comparisons it takes
    part.
    """

    policy: str
    text: str
    seed: int | None = None
    weights: KernelWeights | None = None
    in_windows: bool = True
    in_period: bool = True


def contestants_of(warehouse: Warehouse, source: str, test_position: int) -> list[Contestant]:
    """Heuristics, the priority key, and the learned policies: each seed in windows, the champion on the whole period.

    Raises ValueError where policies or key learned from jobs of the test part.
    """
    learned = learned_policies(warehouse, source)
    if any(policy.trained_jobs > test_position for policy in learned):
        raise ValueError(
            f"source {source!r}: the policies were trained on jobs that are now in the test part: materialize "
            "policies/trajectory_filter, policies/priority_key and policies/scheduling_policy again"
        )
    with warehouse.read() as connection:
        key = first_row(
            connection, "SELECT formula, trained_jobs FROM policies.priority_keys WHERE source = ?", [source]
        )
    if key is None or key[1] > test_position:
        raise ValueError(
            f"source {source!r} has no priority key of this split: materialize policies/priority_key again"
        )
    return [
        *(Contestant(name, name) for name in RIVAL_HEURISTICS),
        Contestant("key", key[0]),
        *(
            Contestant("learned", "learned", policy.seed, policy.weights, policy.newest, policy.champion)
            for policy in learned
        ),
    ]


def scores_of(trace: Trace, jobs: Jobs, entry: Contestant, estimates: str) -> tuple[dict[str, Any], Schedule]:
    """Columns of replay.window_scores, and the schedule. jobs: some of the trace."""
    schedule = replay(jobs, trace.cluster_procs, entry.text, BACKFILL, entry.weights)
    columns = {
        "policy": entry.policy,
        "seed": entry.seed,
        "backfill": BACKFILL,
        "estimates": estimates,
        "jobs": len(jobs),
        **metrics(jobs, schedule, trace.cluster_procs),
        "semantics": SEMANTICS,
    }
    return columns, schedule


def window_scores(trace: Trace, contestants: list[Contestant], first: np.ndarray, length: int) -> pl.DataFrame:
    """Rows of replay.window_scores. first: position of each window's first job, (windows,); length: jobs in each."""
    rows = []
    for estimates in EVALUATED_ESTIMATES:
        jobs = trace.jobs(estimates)
        for number, position in enumerate(progress(first.tolist(), f"windows, {estimates} times")):
            window = jobs.window(position, length)
            for entry in (entry for entry in contestants if entry.in_windows):
                columns, _ = scores_of(trace, window, entry, estimates)
                rows.append({"window_number": number, "first_position": position} | columns)
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("seed").cast(pl.Int64))


def period_rules(contestants: list[Contestant]) -> list[tuple[JudgedRule, int | None]]:
    """What is judged on the whole log, with training seeds: the contestants, rules that anybody can have with the same estimates,
    and the bounded key."""
    rules = [
        (JudgedRule(entry.policy, entry.text, BACKFILL, estimates, weights=entry.weights), entry.seed)
        for estimates in EVALUATED_ESTIMATES
        for entry in contestants
        if entry.in_period
    ]
    shortest = [(JudgedRule("EASY-SJBF", "FCFS", "easy-sjbf", estimates), None) for estimates in EVALUATED_ESTIMATES]
    return [*rules, *shortest, (BOUNDED_KEY, None)]


def period_replays(
    trace: Trace, contestants: list[Contestant], test_position: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of replay.period_scores and of replay.schedules: the whole log is replayed, and jobs from `test_position` on are scored."""
    rules = period_rules(contestants)
    judged = judged_replays(trace, [rule for rule, _ in rules], test_position)
    scores, schedules = [], []
    for (rule, seed), (replayed, judgement) in zip(rules, judged, strict=True):
        facts = {"policy": rule.name, "backfill": rule.backfill, "estimates": rule.estimates}
        scores.append(facts | {"seed": seed} | _period_scores(replayed, judgement))
        schedules.append(_scored_schedule(trace, replayed, test_position).with_columns(**_literals(facts)))
    rows = pl.DataFrame(scores, infer_schema_length=None)
    rows = rows.with_columns(pl.col("seed").cast(pl.Int64), pl.col(*PERIOD_FLOATS).cast(pl.Float64))
    return rows, pl.concat(schedules)


def _period_scores(replayed: Replayed, judgement: Judgement) -> dict[str, Any]:
    """Columns of replay.period_scores, besides what tells which policy it is."""
    ratios = judgement.verdict.ratios[0]
    return {
        "jobs": int(replayed.scored.sum()),
        **metrics(replayed.jobs, replayed.schedule, replayed.cluster, replayed.scored),
        "wide_wait_s": judgement.panels[0].wide_wait_s,
        "verdict": str(judgement.verdict),
        "payers": "; ".join(judgement.verdict.payers),
        "bounded_slowdown_ratio": ratios.bounded_slowdown,
        "wait_ratio": ratios.wait,
        "p99_wait_ratio": ratios.p99_wait,
        "area_wait_ratio": ratios.area_wait,
        "wide_wait_ratio": ratios.wide_wait,
        "lost_capacity_change": ratios.lost_capacity,
        "semantics": SEMANTICS,
    }


def _scored_schedule(trace: Trace, replayed: Replayed, test_position: int) -> pl.DataFrame:
    """Rows of replay.schedules, besides what tells which policy it is."""
    period = slice(test_position, None)
    start = replayed.schedule.start[period]
    start_time = pl.lit(trace.clock_zero) + pl.duration(seconds=pl.lit(pl.Series(start)))
    return trace.rows[test_position:].select(
        "job_index",
        "procs",
        start_time=start_time,
        end_time=start_time + pl.duration(seconds=pl.col("runtime_s")),
        wait_s=pl.Series(start - replayed.jobs.submit[period]),
        backfilled=pl.Series(replayed.schedule.backfilled[period]),
    )


def _literals(facts: dict[str, str]) -> dict[str, pl.Expr]:
    return {name: pl.lit(text) for name, text in facts.items()}
