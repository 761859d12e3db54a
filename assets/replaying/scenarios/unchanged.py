"""Why a scenario changes nothing, where that can be known, and why there is no verdict on one."""

from __future__ import annotations

import numpy as np
import polars as pl

from assets.replaying.running.run import ReplayRun
from assets.replaying.running.settings import OWN_SCHEDULERS
from simulator.jobs.jobs import Jobs

WITHIN_NOISE = "within the noise of two runs"
"""How `why_like_itself` begins: such a scenario may change something, which its runs are too few to show."""
NOT_KNOWN = "every job starts when it does in the base"
_UNITS = {86_400: "days", 3600: "h", 60: "min", 1: "s"}


def why_unchanged(base: ReplayRun, run: ReplayRun, waits: pl.DataFrame) -> str | None:
    """Why all jobs wait as long as in the base, None where one does not. waits: of assets.replaying.scenarios.pairing.paired_waits."""
    if not waits["wait_s"].equals(waits["base_wait_s"]):
        return None
    if _settings(base) == _settings(run):
        return "its settings are those of the base"
    if not waits["base_wait_s"].max():
        return "no job waits in the base, so nothing can be gained"
    if len(base.jobs) != len(run.jobs):
        return NOT_KNOWN
    if base.settings.round_walltimes != run.settings.round_walltimes and _same(base, run, "limit"):
        return f"all requested times are multiples of {run.settings.round_walltimes} already"
    if base.settings.estimates != run.settings.estimates and _same(base, run, "estimate"):
        return "the estimates of all jobs are those of the base"
    if base.policy.text != run.policy.text:
        return _why_same_order(base, run)
    if most_waiting(base) < 2:
        return "never do two jobs wait at once in the base, so neither their order nor backfilling matters"
    return NOT_KNOWN


def why_no_verdict(base: ReplayRun, run: ReplayRun) -> str | None:
    """Why the two cannot be compared: an order over a row of processors is not held back by what holds jobs back in the base. None where
    they can."""
    if run.settings.is_on_cluster or base.settings.own_scheduler is None:
        return None
    scheduler = base.settings.own_scheduler
    of_cluster = "nodes and shares" if run.settings.cluster else "nodes, limits and shares"
    lacks = f"it has a row of processors, without this {OWN_SCHEDULERS[scheduler]}'s {of_cluster}"
    return f"{lacks}; give {scheduler}:POLICY for an order on them"


def why_like_itself(base: ReplayRun, run: ReplayRun) -> str | None:
    """Why a scenario cannot be told from the base where a scheduler is not deterministic: the runs of both meet. It says which change would
    have been seen. None where they do not meet, and where neither has more than one run."""
    ours, theirs = sorted(run.mean_waits_s), sorted(base.mean_waits_s)
    scheduler = base.settings.own_scheduler
    if scheduler is None or max(len(ours), len(theirs)) < 2 or ours[0] > theirs[-1] or theirs[0] > ours[-1]:
        return None
    here, there = (f"{_hours(each[0])} to {_hours(each[-1])} h" for each in (ours, theirs))
    means = f"mean waits of all jobs are {here}, those of the base {there}"
    least = (ours[-1] - ours[0] + theirs[-1] - theirs[0]) / 2 / max(float(np.mean(theirs)), 1.0)
    return (
        f"{WITHIN_NOISE}: {means}, since {OWN_SCHEDULERS[scheduler]} differs as much from itself. A change of {100 * least:.1f} % or more "
        "would have been seen"
    )


def _hours(wait_s: float) -> str:
    hours = wait_s / 3600
    return f"{hours:,.2f}" if hours >= 1 else f"{hours:.3g}"


def unchanged_words(because: str) -> str:
    """What people read of a reason of `why_unchanged` or `why_like_itself`."""
    return because if because.startswith(WITHIN_NOISE) else f"changes nothing: {because}"


def _settings(run: ReplayRun) -> tuple[object, ...]:
    return run.settings.model_dump() | {"policy": run.policy.text}, run.policy.sha256, run.policy.agent_sha256


def _same(base: ReplayRun, run: ReplayRun, name: str) -> bool:
    return np.array_equal(getattr(base.jobs, name), getattr(run.jobs, name))


def _why_same_order(base: ReplayRun, run: ReplayRun) -> str:
    policy, jobs = run.policy.policy, run.jobs
    if most_waiting(base) < 2:
        return "never do two jobs wait at once in the base, so their order does not matter"
    if policy is None or policy.fixed is None or policy.agent is not None:
        return NOT_KNOWN
    scores = policy.fixed(jobs, run.cluster.procs)
    if not np.array_equal(np.argsort(scores, kind="stable"), np.arange(len(jobs))):
        return NOT_KNOWN
    why = f"{run.policy.text} orders the jobs as they were submitted"
    keys = np.asarray(scores, dtype=np.float64) - (jobs.submit - jobs.origin)
    if policy.name.startswith("bounded-key") and np.ptp(keys) < 1e-3:
        return f"{why}, since {_requests(jobs)} meet its cap of {_length(int(keys[0]))}"
    if len(np.unique(jobs.estimate)) == 1:
        return f"{why}, since {_requests(jobs)} are equal"
    return why


def _requests(jobs: Jobs) -> str:
    """The estimates of all jobs, such as "all requests of 125 days"."""
    shortest, longest = int(jobs.estimate.min()), int(jobs.estimate.max())
    return f"all requests of {_length(shortest)}" + ("" if shortest == longest else f" to {_length(longest)}")


def _length(seconds: int) -> str:
    unit = next((unit for unit in _UNITS if seconds % unit == 0 and (unit < 86_400 or seconds > unit)), 1)
    return f"{seconds // unit:,} {_UNITS[unit]}"


def most_waiting(run: ReplayRun) -> int:
    """The most jobs that wait at once. Jobs that start at a second no longer wait then."""
    start, submit = run.schedule.start[run.schedule.started], run.jobs.submit[run.schedule.started]
    waited = start > submit
    times = np.concatenate([start[waited], submit[waited]])
    changes = np.repeat([-1, 1], int(waited.sum()))
    order = np.lexsort((changes, times))
    return int(np.cumsum(changes[order]).max(initial=0))
