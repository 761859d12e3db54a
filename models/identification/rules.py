"""A rule that a log shows, with the evidence for it and a sentence that an operator can confirm or deny."""

from __future__ import annotations

from dataclasses import dataclass

from traces.cluster.description import Gate

RUNNING_JOBS, RUNNING_CPU, OUTSTANDING_CPU = "running jobs", "running cpu", "outstanding cpu"
HOURS, BOUNDARY, SIZE, ORDER, BACKFILL, CYCLE = "hours", "boundary", "size", "order", "backfill", "cycle"
"""Kinds of rules. The first three are limits: on running jobs, on their processors, on the processor-seconds that they may still use.
HOURS is a gate. BOUNDARY is a time of day past which no job may run, or a time in which none may. SIZE is the cluster's processors. ORDER
is who comes first, BACKFILL who may go past a job that does not fit. CYCLE is how often the scheduler looks."""
LIMIT_KINDS = (RUNNING_JOBS, RUNNING_CPU, OUTSTANDING_CPU)


@dataclass(frozen=True)
class Evidence:
    """What in the log speaks for a rule.

    holders: users (accounts, groups, queues) who could have had more at some time. kept: those of them who practically never had.
    starts: starts while more jobs of the holder waited. broken: those of them that the rule forbids. explained: share of the time in which
    jobs waited beside room for them, and in which the rule is why. Of a cycle, starts are the pauses between starts, and kept those that
    last one cycle.
    """

    holders: int = 0
    kept: int = 0
    starts: int = 0
    broken: int = 0
    explained: float = 0.0


@dataclass(frozen=True)
class Bound:
    """One bound of a rule whose bounds differ by holder or change. since_s: second of the log's clock. value: None for no limit."""

    holder: str
    since_s: int
    value: int | None


@dataclass(frozen=True)
class Edge:
    """A minute of some days past which no job may run. days: 0 is Monday. minutes: for how long, 0 for a moment."""

    days: tuple[int, ...]
    minute: int
    timezone: str
    minutes: int = 0


@dataclass(frozen=True)
class IdentifiedRule:
    """One rule. kind: one of the kinds above. scope: whose jobs it counts together, of user, account, group, queue and all. holder: the
    only one whom it is about, "" for each of the scope.

    value: the bound of a limit (jobs, processors or processor-seconds), processors of SIZE, seconds of CYCLE, else 0. bounds: instead of it
    where bounds differ by holder or change; with a value, of those that are excepted from it. word: the policy of ORDER, and the rule of
    BACKFILL. gate: of HOURS. edges: of BOUNDARY. queue: the only queue whose jobs it is about, "" for all. origin: "found" or "declared".
    """

    kind: str
    scope: str
    value: int = 0
    holder: str = ""
    queue: str = ""
    word: str = ""
    gate: Gate | None = None
    edges: tuple[Edge, ...] = ()
    bounds: tuple[Bound, ...] = ()
    origin: str = "found"
    evidence: Evidence = Evidence()
    sentence: str = ""


@dataclass(frozen=True)
class RejectedRule:
    """A candidate that is not among the rules, and why."""

    rule: IdentifiedRule
    because: str


# --- sentences


DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
AMOUNT_NAMES = {
    RUNNING_JOBS: "running jobs",
    RUNNING_CPU: "running processors",
    OUTSTANDING_CPU: "outstanding processor-hours",
}
BACKFILL_SENTENCES = {
    "none": "No job goes past one that does not fit",
    "any": "Any job that fits may go past one that does not",
    "easy-sjbf": "Of the jobs that may go past one that does not fit, the shortest goes first",
}


def sentence_of(rule: IdentifiedRule) -> str:
    """The rule, and how often the log shows it."""
    if rule.kind in LIMIT_KINDS:
        return _limit(rule)
    if rule.kind == HOURS and rule.gate is not None:
        seen = rule.evidence
        return f"{gate_words(rule.gate)}: {seen.broken:,} did, where {seen.starts:,} were to be expected."
    if rule.kind == BOUNDARY:
        words, seen = " and ".join(edge_words(edge) for edge in rule.edges), rule.evidence
        past = "" if rule.edges[0].minutes else "past "
        return f"No job runs {past}{words}: {seen.broken:,} did, where {seen.starts:,} were to be expected."
    if rule.kind == ORDER:
        return f"Jobs start in the order of {rule.word}."
    if rule.kind == BACKFILL:
        return f"{BACKFILL_SENTENCES[rule.word]}."
    if rule.kind == CYCLE:
        seen = rule.evidence
        return f"Jobs start every {rule.value:,} s only: {seen.kept:,} of {seen.starts:,} pauses between starts last as long."
    sizes = ", then ".join(f"{bound.value:,}" for bound in rule.bounds if bound.value is not None)
    return f"The cluster has {sizes} processors."


def _limit(rule: IdentifiedRule) -> str:
    whose = {"all": "All jobs together", "queue": "Each queue"}.get(rule.scope, f"Each {rule.scope}")
    if rule.holder:
        whose = f"{rule.scope.capitalize()} {rule.holder}"
    where = f" in queue {rule.queue}" if rule.queue else ""
    if rule.bounds and not rule.value:
        holders = {bound.holder for bound in rule.bounds}
        changes = any(bound.since_s != rule.bounds[0].since_s for bound in rule.bounds)
        how = ", which changes from month to month" if changes else ""
        values = sorted(bound.value for bound in rule.bounds if bound.value is not None)
        median = amount_words(rule.kind, values[len(values) // 2]).split()[0]
        own = f"{whose} has a limit of its own on {AMOUNT_NAMES[rule.kind]}{where}{how}"
        return f"{own}: seen for {len(holders):,}, with {median} in the middle."
    seen, most = rule.evidence, amount_words(rule.kind, rule.value)
    excepted = [f"{each.holder} {amount_words(rule.kind, each.value or 0).split()[0]}" for each in rule.bounds]
    most += f" ({', '.join(excepted)})" if excepted else ""
    return f"{whose} has at most {most}{where}: seen for {seen.kept:,} of {seen.holders:,} that could have had more."


def amount_words(kind: str, value: int) -> str:
    """Such as "10 running jobs"."""
    number = f"{value / 3600:,.0f}" if kind == OUTSTANDING_CPU else f"{value:,}"
    return f"{number} {AMOUNT_NAMES[kind]}"


def gate_words(gate: Gate) -> str:
    """Such as "No job over 4 h starts from 07:00 to 18:00 on Monday to Friday"."""
    who = "No job"
    if gate.over_time_s is not None:
        who += f" over {gate.over_time_s / 3600:g} h"
    if gate.over_cpus is not None:
        who += f" over {gate.over_cpus:,} processors"
    if gate.partition:
        who += f" of queue {gate.partition}"
    hours = f"from {clock_words(gate.begin_minute)} to {clock_words(gate.end_minute)}"
    return f"{who} starts {hours} on {days_words(gate.days)} ({gate.timezone})"


def edge_words(edge: Edge) -> str:
    """Such as "08:00 on Monday to Friday"."""
    if edge.minutes:
        until = clock_words((edge.minute + edge.minutes) % 1440)
        return f"from {clock_words(edge.minute)} to {until} on {days_words(edge.days)} ({edge.timezone})"
    return f"{clock_words(edge.minute)} on {days_words(edge.days)} ({edge.timezone})"


def clock_words(minute: int) -> str:
    """Such as 07:30."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def days_words(days: tuple[int, ...]) -> str:
    """Such as "Monday to Friday"."""
    if len(days) == 7:
        return "all days"
    names = [DAY_NAMES[day] for day in days]
    return (
        f"{names[0]} to {names[-1]}" if len(days) > 2 and days[-1] - days[0] == len(days) - 1 else " and ".join(names)
    )
