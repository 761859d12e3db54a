"""How the report says things: durations in hours and days, shares, names of schedulers and of sizes."""

from __future__ import annotations

from assets.replaying.running.settings import OWN_SCHEDULERS
from simulator.metrics.metrics import SIZE_CLASSES

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
FEW_JOBS = 100
"""Of fewer jobs, shares and percentiles say little."""
LONG_S = 3 * DAY_S
"""Durations from here on are said in days."""

NAMES_OF_POLICIES = {
    "FCFS": "EASY",
    "EASY-SJBF": "EASY, shortest backfilled first",
    "SJF": "Shortest job first",
    "SAF": "Smallest area first",
    "WFP3": "WFP3",
    "UNICEP": "UNICEP",
    "F1": "F1",
    "key": "Tuned priority key",
    "bounded-key": "Bounded key",
    "LEXP": "Largest expansion factor first",
    "multifactor": "Multifactor priority",
    "SJF, 6 h": "Shortest job first, after 6 h the oldest",
    "SJF, 12 h": "Shortest job first, after 12 h the oldest",
    "SAF, 6 h": "Smallest area first, after 6 h the oldest",
    "SAF, 12 h": "Smallest area first, after 12 h the oldest",
    "fewest processors, 6 h": "Fewest processors first, after 6 h the oldest",
    "fewest processors, 12 h": "Fewest processors first, after 12 h the oldest",
    "searched-key": "Priority key of other logs",
    "learned": "Learned policy",
    **{name: f"{title} as it is configured" for name, title in OWN_SCHEDULERS.items()},
}
"""Policies of replay.period_scores as operators know them."""

NAMES_EXPLAINED = {
    "Orders": "on a described cluster in the place of its own order. Else over a row of processors, with EASY backfilling.",
    "EASY": "first come, first served. A later job may start early if it does not delay the first one that waits. What most centres run.",
    "EASY, shortest backfilled first": "the same, but the shortest of the later jobs is tried first.",
    "Shortest job first": "the waiting job with the shortest time goes first.",
    "Smallest area first": "the waiting job with the least time times processors goes first.",
    "WFP3": "a published formula that favours jobs which have waited long for their length.",
    "UNICEP": "a published formula of wait, time and processors.",
    "F1": "a published formula that was fitted to simulations.",
    "Tuned priority key": "a formula of time and processors whose numbers were tuned on the earlier jobs of this log.",
    "Bounded key": "the shortest go first, but nobody is overtaken for long.",
    "Largest expansion factor first": "whose wait is longest for the time that it asks for goes first.",
    "Multifactor priority": "Slurm's priority of age, fair share and size with its documented weights.",
    "After 6 h, 12 h the oldest": "whoever has waited for so long goes first, in the order of submission.",
    "Fewest processors first": "the waiting job with the fewest processors goes first.",
    "Priority key of other logs": "a formula of time and processors whose numbers were tuned on public logs, with a limit of 26 h.",
    "Random order": "jobs set back by lot, within 1, 4 or 12 h: what an order reaches that knows nothing.",
    "Learned policy": "a neural network that was trained on the earlier jobs of this log.",
}
ORDER_NAMES = {"FCFS": "first come, first served", "SJF": "shortest job first", "SAF": "smallest area first"}
BACKFILL_NAMES = {
    "none": "no backfilling",
    "own": "its own backfilling",
    "any": "backfilling without a reservation",
    "easy": "EASY backfilling",
    "easy-sjbf": "EASY backfilling, shortest first",
    "conservative": "conservative backfilling",
}


def duration_text(seconds: float) -> str:
    """Such as "under 1 min", "12 min", "4.1 h", "3.2 days", and "0 min" for 0."""
    if seconds < MINUTE_S:
        return "under 1 min" if seconds > 0 else "0 min"
    if round(seconds / MINUTE_S) < 60:
        return f"{seconds / MINUTE_S:.0f} min"
    if seconds < LONG_S:
        return f"{seconds / HOUR_S:.1f} h"
    return f"{seconds / DAY_S:,.1f} days"


def instead(ours: float, theirs: float) -> str:
    """Two durations, if possible in one unit, such as "4.1 h instead of 6.0 h", "8.5 h instead of 32.8 days"."""
    shorter, longer = sorted((ours, theirs))
    if duration_text(ours) == duration_text(theirs):
        return f"{duration_text(ours)} in both"
    if shorter >= DAY_S and longer >= LONG_S:
        return f"{ours / DAY_S:,.1f} days instead of {theirs / DAY_S:,.1f} days"
    if shorter >= HOUR_S / 2 and HOUR_S <= longer < LONG_S:
        return f"{ours / HOUR_S:.1f} h instead of {theirs / HOUR_S:.1f} h"
    return f"{duration_text(ours)} instead of {duration_text(theirs)}"


def change_text(ours: float, theirs: float) -> str:
    """How a duration differs from another, such as "-1.9 h (-32 %)", and "none" below half a minute."""
    off = ours - theirs
    if abs(off) < MINUTE_S / 2:
        return "none"
    changed = duration_text(max(abs(off), MINUTE_S))
    sign = "-" if off < 0 else "+"
    if not theirs:
        return f"{sign}{changed}"
    percent = 100 * off / theirs
    return (
        f"{sign}{changed} ({percent:+.0f} %)"
        if abs(percent) < 1000
        else f"{sign}{changed} ({ours / theirs:,.0f} times)"
    )


def share(part: float) -> str:
    """A share of 1 as percent, such as "4.2 %", "37 %", "under 0.1 %"."""
    percent = 100 * part
    if 0 < percent < 0.1:
        return "under 0.1 %"
    if 99 < percent < 100:
        return f"{min(percent, 99.9):.1f} %"
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"


def number_text(number: float) -> str:
    """A measured number with the digits that a reader needs: "27,321,957", "1,221", "16.4", "0.651", "4.2e-05", "0"."""
    if number == 0 or abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.1f}" if abs(number) >= 10 else f"{number:.3f}" if abs(number) >= 0.001 else f"{number:.2g}"


def amount(number: float) -> str:
    """A large number as people say it: "950", "12,400", "3.1 million"."""
    if number >= 1e6:
        return f"{number / 1e6:,.1f} million"
    return f"{number:,.0f}"


def count(number: int, noun: str) -> str:
    """Such as "1 job", "12,000 jobs"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def rule_name(policy: str, estimates: str, on_cluster: bool = False) -> str:
    """A row of replay.period_scores, such as "EASY with predicted times". on_cluster: whether it is in the place of the cluster's own."""
    times = "live estimates" if estimates == "live" else f"{estimates} times"
    name = "First come, first served" if on_cluster and policy == "FCFS" else NAMES_OF_POLICIES.get(policy, policy)
    return f"{name} with {times}"


def configuration_name(policy: str, backfill: str) -> str:
    """A scheduler of replay.configurations, such as "smallest area first, conservative backfilling"."""
    if policy in OWN_SCHEDULERS:
        return f"{OWN_SCHEDULERS[policy]} as it is configured"
    order, _, options = policy.partition(":")
    name = ORDER_NAMES.get(order, "multifactor priority" if order == "multifactor" else order)
    weights = f" ({options.replace(',', ', ')})" if options else ""
    return f"{name}{weights}, {BACKFILL_NAMES.get(backfill, backfill)}"


def size_names(cluster_procs: int) -> dict[str, str]:
    """What the size classes of marts.job_facts are on this cluster, such as "17 to 64 processors". The smallest comes first."""
    small, medium = cluster_procs // 16, cluster_procs // 4
    limits = {"small": (2, small), "medium": (max(small, 1) + 1, medium)}
    names = {"serial": "1 processor"}
    for name, (low, high) in limits.items():
        names[name] = f"{low:,} to {high:,} processors" if high > low else f"{low:,} processors"
    names["large"] = f"over {max(medium, 1):,} processors"
    return {name: names[name] for name in SIZE_CLASSES}


def named(value: str) -> str:
    """A group of marts.job_facts, where "unknown" is what the log does not say."""
    return "not in the log" if value == "unknown" else value


def jobs_of(size: str) -> str:
    """Jobs of one of `size_names`, such as "jobs over 64 processors", "jobs of 1 processor"."""
    return f"jobs {size}" if size.startswith("over") else f"jobs of {size}"


def sentence_list(items: list[str]) -> str:
    """Such as "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
