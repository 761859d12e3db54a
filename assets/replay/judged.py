"""Two saved runs of a whole log: the verdict on the second one, with the first as incumbent."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.progress import progress
from assets.common.trace import Trace, load_trace
from assets.replay.policies import ChosenPolicy
from assets.replay.run import ReplayRun, replay_run
from assets.replay.settings import RunSettings, own_policy_of
from models.judging.chance import ChanceCloud, cloud_around, random_orders
from models.judging.intervals import RatioInterval
from models.judging.judge import beside_cloud, judge
from models.judging.panel import Replayed, scored_after
from models.judging.verdict import DOMINATES, ratios_of
from models.runtime.estimates import Estimates
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.policies.registry import Policy, parse_policy
from warehouse import Warehouse

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
SAME_CLUSTER = ("procs", "load", "cancelled", "drop_wider", "warm_start")
"""Settings that random orders share with both runs: where these differ, a lottery is no rival."""
ASKED = (
    "backfill",
    "inspector",
    "estimates",
    "reserve_by",
    "admit_by",
    "correction",
    "cancelled",
    "drop_wider",
    "load",
    "procs",
)
"""Columns of replay.runs that are settings of a replay, but for the order."""


def verdict_of_runs(
    a: dict[str, Any],
    b: dict[str, Any],
    jobs: pl.DataFrame,
    scored: NDArray[np.bool_] | None = None,
    warehouse: Warehouse | None = None,
) -> dict[str, Any]:
    """The verdict on run B with run A as incumbent, over the second half of the jobs that started in both, or over the scored ones,
    bool (jobs,).

    a, b: rows of replay.runs. jobs: of replay.paired_jobs. warehouse: of the runs, where random orders are to be rivals of B. They are
    replayed where B would dominate.

    The result has why_none where there is no verdict. Else it has word, is_certain, scored_jobs, panel (by measure a, b and ratio, and for
    the lost capacity the difference), payers, random_orders and random_orders_as_good (None where none was replayed), and for the typical
    block the intervals of bounded_slowdown and wait. A run with live estimates is one of many that another start would have given, so that
    B is not certain then.
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
    cloud = None
    if warehouse is not None and judgement.verdict.word == DOMINATES:
        cloud = _random_orders(warehouse, a, b, theirs)
        judgement = judgement if cloud is None else beside_cloud(judgement, cloud)
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
        "random_orders": None if cloud is None else str(cloud),
        "random_orders_as_good": judgement.verdict.share_as_good,
        "typical_block": {
            "bounded_slowdown": _interval(judgement.bounded_slowdown),
            "wait_s": _interval(judgement.wait),
        },
    }


def _random_orders(warehouse: Warehouse, a: dict[str, Any], b: dict[str, Any], theirs: Replayed) -> ChanceCloud | None:
    """What random orders reach beside run A, under its settings. None where they are no rivals of B, or where run A cannot be replayed in
    another order."""
    if any(a[name] != b[name] for name in SAME_CLUSTER) or a["rules"] != "standard" or a["agent_sha256"] is not None:
        return None
    if own_policy_of(a["policy"]) is not None or Estimates.parse(a["estimates"]).is_live or a["warm_start"]:
        return None
    settings = RunSettings.model_validate({name: a[name] for name in ASKED if a[name] is not None})
    trace = load_trace(warehouse, a["source"], a["cancelled"], [])
    first = _in_order(trace, settings, parse_policy("FCFS"))
    submit = first.jobs.submit - first.jobs.submit.min(initial=0)
    if not np.array_equal(submit, theirs.jobs.submit - theirs.jobs.submit.min(initial=0)):
        return None  # some jobs started in one of both only, or the log has changed

    def replay_order(policy: Policy) -> Schedule:
        run = _in_order(trace, settings, policy)
        return Schedule(theirs.jobs.submit + (run.schedule.start - run.jobs.submit), run.schedule.backfilled)

    orders = progress(list(random_orders(len(theirs.jobs))), "random orders")
    return cloud_around(theirs, replay_order, orders, wide_of=a["procs"])


def _in_order(trace: Trace, settings: RunSettings, policy: Policy) -> ReplayRun:
    return replay_run(trace, settings, ChosenPolicy(policy.name, policy))


def _replay(row: dict[str, Any], jobs: pl.DataFrame, wait: str) -> tuple[Jobs, int, Schedule]:
    submit, runtime, procs, waits = (jobs[name].to_numpy() for name in ("submit_s", "runtime_s", "procs", wait))
    longest = np.maximum(runtime, 1)
    begin = min(int(submit.min()), 0)  # a log's clock may begin before 1970
    replayed = Jobs(submit - begin, runtime, procs, longest, longest)
    return replayed, row["procs"], Schedule(submit - begin + waits, np.zeros(len(jobs), dtype=np.bool_))


def _interval(interval: RatioInterval) -> dict[str, Any]:
    return asdict(interval)
