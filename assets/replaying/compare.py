"""Two saved runs over the same jobs: what differs, for whom, and which one is worth adopting.

Two saved runs of a whole log: the verdict on the second one, with the first as incumbent.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sql
from assets.common.progress import progress
from assets.common.trace import Trace, load_clock, load_extent, load_trace
from assets.replaying.compare_paced import paced_verdict, settings_of_row
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.scored_part import PartOptions, part_of
from assets.replaying.running.settings import OWN_SCHEDULERS, RunSettings, own_policy_of
from assets.replaying.scenarios.paced import Paced
from models.judging.chance import ChanceCloud, cloud_around, random_orders
from models.judging.intervals import RatioInterval
from models.judging.judge import beside_cloud, judge
from models.judging.panel import Replayed, scored_after
from models.judging.verdict import DEPENDS, DOMINATES, ratios_of, verdict_text
from models.runtime.estimates import Estimates
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import METRICS, SIZE_CLASSES, bounded_slowdown, size_classes
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


def verdict_of_runs(
    a: dict[str, Any],
    b: dict[str, Any],
    jobs: pl.DataFrame,
    scored: NDArray[np.bool_] | None = None,
    warehouse: Warehouse | None = None,
    run: ReplayRun | None = None,
) -> dict[str, Any]:
    """The verdict on run B with run A as incumbent, over the second half of the jobs that started in both, or over the scored ones,
    bool (jobs,).

    a, b: rows of replay.runs. jobs: of replay.paired_jobs. warehouse: of the runs, where random orders are to be rivals of B. They are
    replayed where B would dominate. run: A, where it is of this process.

    The result has why_none where there is no verdict. Else it has word, is_certain, scored_jobs, panel (by measure a, b and ratio, and for
    the lost capacity the difference), payers, random_orders and random_orders_as_good (None where none was replayed), and for the typical
    block the intervals of bounded_slowdown and wait. A run with live estimates is one of many that another start would have given, so that
    B is not certain then.
    """
    if why_none := _why_none(a, b, len(jobs)):
        return {"why_none": why_none}
    scored = scored_after(len(jobs), len(jobs) // 2) if scored is None else scored
    ours, theirs = (Replayed(*_replay(row, jobs, name), scored) for row, name in ((b, "wait_b_s"), (a, "wait_a_s")))
    judgement = judge([ours], [theirs], wide_of=a["procs"])
    cloud = None
    if warehouse is not None and judgement.verdict.word == DOMINATES:
        cloud = _random_orders(warehouse, a, b, theirs, run)
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
            | {"difference": panels["b"].lost_capacity - panels["a"].lost_capacity}
        },
        "payers": list(judgement.verdict.payers),
        "random_orders": None if cloud is None else str(cloud),
        "random_orders_as_good": judgement.verdict.share_as_good,
        "typical_block": {
            "bounded_slowdown": _interval(judgement.bounded_slowdown),
            "wait_s": _interval(judgement.wait),
        },
    }


def _why_none(a: dict[str, Any], b: dict[str, Any], jobs: int) -> str:
    """Why two runs have no verdict, "" where they may have one. jobs: how many started in both."""
    if a["window_first"] is not None:
        begins = "a window begins on an empty cluster or with the queue of another policy"
        return f"{begins}, and starving takes weeks to show: compare whole traces"
    own = [own_policy_of(row["policy"]) for row in (a, b)]
    if own.count(None) == 1:
        (scheduler,) = {each[0] for each in own if each is not None}
        has = f"one run has the nodes, limits and shares of the cluster's own {OWN_SCHEDULERS[scheduler]}"
        return f"{has}, and the other a row of processors: replay it with --policy {scheduler}:POLICY"
    if a["outages"] or b["outages"]:
        return "there are outages, and what they took from the scored half is not stored"
    return "there are too few jobs" if jobs < 2 else ""


def _random_orders(
    warehouse: Warehouse, a: dict[str, Any], b: dict[str, Any], theirs: Replayed, run: ReplayRun | None
) -> ChanceCloud | None:
    """What random orders reach beside run A, under its settings. None where they are no rivals of B, or where run A cannot be replayed in
    another order."""
    if any(a[name] != b[name] for name in SAME_CLUSTER) or a["rules"] != "standard" or a["agent_sha256"] is not None:
        return None
    if own_policy_of(a["policy"]) is not None or Estimates.parse(a["estimates"]).is_live or a["warm_start"]:
        return None
    settings = settings_of_row(a) if run is None else run.settings
    trace = load_trace(warehouse, a["source"], a["cancelled"], []) if run is None else run.trace
    first = _in_order(trace, settings, parse_policy("FCFS"))
    ours, saved = first.jobs.submit, theirs.jobs.submit  # from the begin of the log, and in UTC
    if not np.array_equal(ours - ours[0], saved - saved[0]):
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


# --- compare


PAIRED = ("average_wait_s", "average_turnaround_s", "average_bounded_slowdown")
"""Metrics that are means over jobs, so that their difference is a mean of differences job by job."""

COMPARED_SETTINGS = (
    "policy",
    "policy_sha256",
    "backfill",
    "inspector",
    "agent_sha256",
    "estimates",
    "reserve_by",
    "admit_by",
    "correction",
    "rules",
    "warm_start",
    "outages",
    "cancelled",
    "drop_wider",
    "procs",
    "load",
    "engine",
)


def compare_runs(
    warehouse: Warehouse,
    source: str,
    run_a: str,
    run_b: str,
    part: PartOptions | None = None,
    runs: tuple[ReplayRun, ReplayRun] | None = None,
) -> dict[str, Any]:
    """How run B of a source differs from run A over the same jobs. All differences are B minus A. part: which jobs are compared, None
    for all. runs: A and B, where they are of this process.

    settings: by name, the pair of values that differ. metrics: for each of METRICS a, b and difference. paired: the means of
    PAIRED over the jobs that started in both, for all jobs and by size class of run A's cluster. Each has the shares of jobs
    that wait less (better), as long (equal) and longer (worse) under B. verdict: see `verdict_of_runs`. It has further keys where users
    keep their pace: following_share, pace_change_share, pace_verdict, times_verdict, and pace_ratio or pace_difference in its panel, or
    not_paced_because. Where the verdict is another one then, its word is "depends on users". For a part of the jobs there are no metrics,
    and scored says which part it is.

    Raises ValueError for unknown runs and for runs that were not over the same jobs.
    """
    a, b = _rows(warehouse, source, run_a, run_b)
    _check_comparable(source, a, b)
    with warehouse.read() as connection:
        parameters = {"source": source, "run_a": run_a, "run_b": run_b}
        jobs = connection.sql(sql.load("replay.paired_jobs"), params=parameters).pl()
    if jobs.is_empty():
        raise ValueError(f"no job started in both {run_a!r} and {run_b!r}: nothing to compare")
    scored = None
    if part is not None and not part.is_all:
        clock = load_clock(warehouse, source)
        zero = int(clock.zero.replace(tzinfo=UTC).timestamp())
        complete = load_extent(warehouse, source)[1]
        scored = part_of(jobs.with_columns(pl.col("submit_s") - zero), clock, part, complete)
    compared = jobs if scored is None else jobs.filter(pl.Series(scored.mask))
    mask = scored_after(len(jobs), len(jobs) // 2) if scored is None else scored.mask
    verdict = verdict_of_runs(a, b, jobs, mask, warehouse, None if runs is None else runs[0])
    if "word" in verdict:
        text = verdict_text(verdict["word"], verdict["is_certain"])
        verdict = _with_pace(verdict, *paced_verdict(warehouse, (a, b), jobs.filter(pl.Series(mask)), text, runs))
    metrics = {name: {"a": a[name], "b": b[name], "difference": b[name] - a[name]} for name in METRICS}
    return {
        "source": source,
        "run_a": run_a,
        "run_b": run_b,
        "settings": {name: [a[name], b[name]] for name in COMPARED_SETTINGS if a[name] != b[name]},
        "jobs": a["jobs"],
        "paired_jobs": len(compared),
        **({"metrics": metrics} if scored is None else {"scored": scored.words}),
        "paired": _paired_by_class(compared, a["procs"]),
        "verdict": verdict,
        "semantics": a["semantics"],
    }


def _with_pace(verdict: dict[str, Any], columns: dict[str, Any], paced: Paced | None) -> dict[str, Any]:
    """A verdict with what it is where users keep their pace. columns, paced: of `paced_verdict`."""
    if paced is None:
        return verdict | columns
    if columns.pop("verdict", None) == DEPENDS:
        verdict |= {"word": DEPENDS, "is_certain": False}
    (ratios,) = paced.judgement.verdict.ratios
    panel = {
        name: row | {"pace_ratio": getattr(ratios, MEASURES[name])}
        for name, row in verdict["panel"].items()
        if name in MEASURES
    }
    lost = verdict["panel"]["lost_capacity"] | {"pace_difference": ratios.lost_capacity}
    return verdict | columns | {"panel": panel | {"lost_capacity": lost}}


def _paired_by_class(jobs: pl.DataFrame, cluster_procs: int) -> list[dict[str, Any]]:
    """The rows `paired` of compare_runs, all jobs first. jobs: of replay.paired_jobs."""
    runtime, procs = jobs["runtime_s"].to_numpy(), jobs["procs"].to_numpy()
    wait_a, wait_b = jobs["wait_a_s"].to_numpy(), jobs["wait_b_s"].to_numpy()
    values = {  # by metric: per job, under A and under B
        "average_wait_s": (wait_a.astype(np.float64), wait_b.astype(np.float64)),
        "average_turnaround_s": ((wait_a + runtime).astype(np.float64), (wait_b + runtime).astype(np.float64)),
        "average_bounded_slowdown": (bounded_slowdown(wait_a, runtime), bounded_slowdown(wait_b, runtime)),
    }
    paired = []
    for label, members in _classes(procs, cluster_procs):
        row: dict[str, Any] = {"jobs_of": label, "jobs": int(members.sum())}
        for name in PAIRED:
            under_a, under_b = (side[members] for side in values[name])
            means = {"a": float(under_a.mean()), "b": float(under_b.mean())}
            row[name] = means | {"difference": float((under_b - under_a).mean())}
        change = np.sign((wait_b - wait_a)[members])
        row |= {"better_share": float((change < 0).mean()), "equal_share": float((change == 0).mean())}
        paired.append(row | {"worse_share": float((change > 0).mean())})
    return paired


def saved_runs(warehouse: Warehouse, source: str) -> list[str]:
    """Names of the saved runs of a source, sorted."""
    with warehouse.read() as connection:
        rows = connection.execute("SELECT run FROM replay.runs WHERE source = ? ORDER BY run", [source]).fetchall()
    return [row[0] for row in rows]


def policies_of_runs(warehouse: Warehouse, source: str, run_a: str, run_b: str) -> dict[str, str]:
    """By saved run, the policy that it replayed."""
    rows = zip((run_a, run_b), _rows(warehouse, source, run_a, run_b), strict=True)
    return {run: row["policy"] for run, row in rows}


def _rows(warehouse: Warehouse, source: str, run_a: str, run_b: str) -> tuple[dict[str, Any], dict[str, Any]]:
    names = saved_runs(warehouse, source)
    if not names:
        raise ValueError(
            f"source {source!r} has no saved runs yet: `tracehouse run {source}` saves some, `tracehouse replay "
            f"{source} ... --save NAME` one of yours"
        )
    for run in (run_a, run_b):
        if run not in names:
            raise ValueError(
                f"source {source!r} has no saved run {run!r}. It has {', '.join(names)}. Save one with `tracehouse replay "
                f"{source} ... --save {run}`"
            )
    with warehouse.read() as connection:
        rows = connection.sql("SELECT * FROM replay.runs WHERE source = $source", params={"source": source}).pl()
    return rows.row(by_predicate=pl.col("run") == run_a, named=True), rows.row(
        by_predicate=pl.col("run") == run_b, named=True
    )


def _check_comparable(source: str, a: dict[str, Any], b: dict[str, Any]) -> None:
    windows = [
        "the whole trace" if row["window_first"] is None else f"window {row['window_first']}:{row['window_jobs']}"
        for row in (a, b)
    ]
    names = f"{a['run']!r} and {b['run']!r}"
    again = f"save one of them again with `tracehouse replay {source} ... --save NAME`"
    if windows[0] != windows[1]:
        raise ValueError(f"{names} replay different jobs, {windows[0]} and {windows[1]}: {again} over the same window")
    if a["trace_sha256"] != b["trace_sha256"]:
        differing = [name for name in ("rules", "cancelled", "drop_wider", "procs", "load") if a[name] != b[name]]
        why = (
            f"their settings differ in {', '.join(f'{name} ({a[name]}, {b[name]})' for name in differing)}"
            if differing
            else "the log, or what was left out of it, has changed between them"
        )
        raise ValueError(
            f"{names} were not run over the same jobs (trace_sha256 {a['trace_sha256'][:12]} and "
            f"{b['trace_sha256'][:12]}), because {why}: {again}"
        )
    if a["semantics"] != b["semantics"]:
        raise ValueError(
            f"{names} were saved under different rules (semantics {a['semantics']} and {b['semantics']}): {again}"
        )


def _classes(procs: np.ndarray, cluster_procs: int) -> list[tuple[str, np.ndarray]]:
    """("all" or a size class, its jobs as bool (jobs,)), the classes of marts.job_facts, those without jobs left out."""
    size = size_classes(procs, cluster_procs)
    classes = [(name, size == k) for k, name in enumerate(SIZE_CLASSES)]
    return [("all", np.ones(len(procs), dtype=np.bool_)), *((name, jobs) for name, jobs in classes if jobs.any())]
