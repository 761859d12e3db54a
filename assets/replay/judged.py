"""Two saved runs of a whole log: the verdict on the second one, with the first as incumbent."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.judging.intervals import RatioInterval
from models.judging.judge import judge
from models.judging.panel import Replayed, scored_after
from models.judging.verdict import ratios_of
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule

MEASURES = {
    "bounded_slowdown": "bounded_slowdown",
    "wait_s": "wait",
    "p95_wait_s": "p95_wait",
    "p99_wait_s": "p99_wait",
    "max_wait_s": "max_wait",
    "area_wait_s": "area_wait",
    "wide_wait_s": "wide_wait",
}
"""Fields of a panel, and the ratio that each has."""


def verdict_of_runs(
    a: dict[str, Any], b: dict[str, Any], jobs: pl.DataFrame, scored: NDArray[np.bool_] | None = None
) -> dict[str, Any]:
    """The verdict on run B with run A as incumbent, over the second half of the jobs that started in both, or over the scored ones,
    bool (jobs,).

    a, b: rows of replay.runs. jobs: of replay.paired_jobs. The result has why_none where there is no verdict. Else it has word,
    is_certain, scored_jobs, panel (by measure a, b and ratio; for the lost capacity the difference), payers, and for the typical
    block the intervals of bounded_slowdown and wait. A run with live estimates is one of many that another start would have
    given, so that B is not certain then.
    """
    if a["window_first"] is not None:
        return {
            "why_none": "a window begins on an empty cluster or with the queue of another policy, and starving takes weeks to "
            "show: compare whole traces"
        }
    if a["outages"] or b["outages"]:
        return {"why_none": "there are outages, and what they took from the scored half is not stored"}
    if len(jobs) < 2:
        return {"why_none": "there are too few jobs"}
    scored = scored_after(len(jobs), len(jobs) // 2) if scored is None else scored
    ours, theirs = (Replayed(*_replay(row, jobs, name), scored) for row, name in ((b, "wait_b_s"), (a, "wait_a_s")))
    judgement = judge([ours], [theirs], wide_of=a["procs"])
    panels = {"a": judgement.incumbents[0], "b": judgement.panels[0]}
    ratios = ratios_of(panels["b"], panels["a"])
    is_live = any(row["estimates"].startswith("live") for row in (a, b))
    return {
        "word": judgement.verdict.word,
        "is_certain": judgement.verdict.is_certain and not is_live,
        "scored_jobs": int(scored.sum()),
        "panel": {
            name: {side: getattr(panel, name) for side, panel in panels.items()} | {"ratio": getattr(ratios, ratio)}
            for name, ratio in MEASURES.items()
        }
        | {
            "lost_capacity": {side: panel.lost_capacity for side, panel in panels.items()}
            | {"difference": ratios.lost_capacity}
        },
        "payers": list(judgement.verdict.payers),
        "typical_block": {
            "bounded_slowdown": _interval(judgement.bounded_slowdown),
            "wait_s": _interval(judgement.wait),
        },
    }


def _replay(row: dict[str, Any], jobs: pl.DataFrame, wait: str) -> tuple[Jobs, int, Schedule]:
    submit, runtime, procs, waits = (jobs[name].to_numpy() for name in ("submit_s", "runtime_s", "procs", wait))
    longest = np.maximum(runtime, 1)
    begin = min(int(submit.min()), 0)  # a log's clock may begin before 1970
    replayed = Jobs(submit - begin, runtime, procs, longest, longest)
    return replayed, row["procs"], Schedule(submit - begin + waits, np.zeros(len(jobs), dtype=np.bool_))


def _interval(interval: RatioInterval) -> dict[str, Any]:
    return asdict(interval)
