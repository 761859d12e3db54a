"""Rows of RLSchert's experiment, as they are in the warehouse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from papers.rlschert.cluster import SlotOutcome
from papers.rlschert.plan import RLSchertPlan, Scheduler
from papers.rlschert.trials import TrainedScheduler, Trials, compare_schedulers
from papers.rlschert.view import HEURISTICS, WHOLE_QUEUE_HEURISTICS

SHOWN_SEQUENCES = 4
"""Sequences whose jobs are kept one by one."""
_CURVE_COLUMNS = ("iteration", "sampled", "validation", "decisions", "entropy", "teacher_weight")


@dataclass(frozen=True)
class RLSchertTables:
    """Rows of the tables experiments.rlschert (results) and experiments.rlschert_comparisons, _curves, _jobs and _holes."""

    results: pl.DataFrame
    comparisons: pl.DataFrame
    curves: pl.DataFrame
    jobs: pl.DataFrame
    holes: pl.DataFrame


def make_tables(plan: RLSchertPlan, trained: Sequence[TrainedScheduler], groups: Iterable[Trials]) -> RLSchertTables:
    """All rows. It reads the groups one by one, so that their outcomes need not fit into memory together."""
    results: list[dict[str, Any]] = []
    comparisons: list[dict[str, Any]] = []
    jobs: list[pl.DataFrame] = []
    holes: list[pl.DataFrame] = []
    for trials in groups:
        results += _result_rows(trials)
        if trials.part == "test" and trials.experiment != "networks":
            comparisons += _comparison_rows(trials)
        if trials.part == "test" and trials.experiment == "main":
            for (name, kill, seed), outcome in trials.outcomes.items():
                if seed in plan.seeds[:1] or name in HEURISTICS + WHOLE_QUEUE_HEURISTICS:
                    jobs.append(_job_rows(outcome, name, kill))
                    holes.append(_hole_rows(outcome, name, kill, plan.procs))
    floats = dict.fromkeys(("slowdown", "completion", "setting"), pl.Float64)
    intervals = dict.fromkeys(("difference_low", "difference_high", "setting"), pl.Float64)
    curves = [row for one in trained for row in _curve_rows(one)]
    of_curves = dict.fromkeys(("experiment", "policy", "kill"), pl.String) | dict.fromkeys(_CURVE_COLUMNS, pl.Float64)
    return RLSchertTables(
        pl.DataFrame(results, schema_overrides=floats, infer_schema_length=None),
        pl.DataFrame(comparisons, schema_overrides=intervals, infer_schema_length=None),
        pl.DataFrame(curves, schema_overrides={"validation": pl.Float64}, infer_schema_length=None)
        if curves
        else pl.DataFrame(schema=of_curves),
        pl.concat(jobs),
        pl.concat(holes),
    )


def _result_rows(trials: Trials) -> list[dict[str, Any]]:
    rows = []
    for (name, kill, seed), outcome in trials.outcomes.items():
        slowdown, completion = outcome.slowdowns(), outcome.completions()
        for k in range(len(slowdown)):
            rows.append(
                {
                    "experiment": trials.experiment,
                    "setting": float(trials.setting),
                    "part": trials.part,
                    "policy": name,
                    "kill": kill,
                    "seed": seed,
                    "sequence": k,
                    "holes": float(outcome.holes[k]),
                    "kills": int(outcome.kills[k].sum()),
                    "slowdown": _or_none(slowdown[k]),
                    "completion": _or_none(completion[k]),
                }
            )
    return rows


def _comparison_rows(trials: Trials) -> list[dict[str, Any]]:
    return [
        {
            "experiment": trials.experiment,
            "setting": float(trials.setting),
            "policy": _named(one.scheduler),
            "rival": _named(one.rival),
            "cost": one.cost,
            "difference": one.difference,
            "difference_low": one.low,
            "difference_high": one.high,
        }
        for one in compare_schedulers(trials)
    ]


def _curve_rows(trained: TrainedScheduler) -> list[dict[str, Any]]:
    scheduler = {"experiment": trained.experiment, "policy": trained.name, "kill": trained.kill, "seed": trained.seed}
    rows = []
    for report in trained.curve:
        row = asdict(report)
        if row["validation"] is not None:
            row["validation"] = _or_none(row["validation"])
        rows.append(scheduler | {name: row[name] for name in _CURVE_COLUMNS})
    return rows


def _job_rows(outcome: SlotOutcome, policy: str, kill: str) -> pl.DataFrame:
    shown = slice(0, SHOWN_SEQUENCES)
    jobs, (sequences, count) = outcome.sequences, outcome.finish[shown].shape
    columns = {
        "arrive": jobs.arrive,
        "length": jobs.length,
        "procs": jobs.procs,
        "first_prediction": jobs.first,
        "finish": outcome.finish,
        "wait": outcome.waits(),
        "kills": outcome.kills,
        "killed_after": outcome.killed_after,
    }
    keys: dict[str, Any] = {
        "policy": [policy] * (sequences * count),
        "kill": [kill] * (sequences * count),
        "sequence": np.repeat(np.arange(sequences), count),
        "job": np.tile(np.arange(count), sequences),
    }
    return pl.DataFrame(keys | {name: column[shown].ravel() for name, column in columns.items()})


def _hole_rows(outcome: SlotOutcome, policy: str, kill: str, procs: int) -> pl.DataFrame:
    """Free processors so far, by unit of time, as the mean of the sequences."""
    last = outcome.finish.max(axis=1)
    units = np.arange(int(min(last.max(), outcome.busy.shape[1])))
    free = np.where(units[None] < last[:, None], procs - outcome.busy[:, : len(units)], 0)
    return pl.DataFrame({"unit": units, "holes": free.cumsum(axis=1).mean(axis=0)}).select(
        pl.lit(policy).alias("policy"), pl.lit(kill).alias("kill"), "unit", "holes"
    )


def _named(scheduler: Scheduler) -> str:
    name, kill = scheduler
    return {"none": name, "stopping": f"{name}, stopping rule"}.get(kill, f"{name}, {kill} killing")


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
