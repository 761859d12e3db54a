"""What is searched where no file lists it: the knobs that a cluster's scheduler has, within an order of magnitude of what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, islice

from assets.replaying.tuning.knobs import OPEN, Knob, OpenValue
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription
from traces.slurm.configuration.accounts.options import LIMIT_FORMS

_WEIGHTS = ("Age", "Fairshare", "JobSize", "Partition", "QOS")
_TIMES = 10
"""Weights and constants are searched from a tenth of what they are to ten times that."""
_LIMIT_TIMES = 4
MOST_LIMITS = 12
"""Limits of more owners are searched where a file lists them."""
UNITS = ("14400", "3600")
"""Numbers of a formula that only say in which unit a time is."""
_BACKFILL = {
    "bf_interval": (15, 300),
    "bf_max_job_test": (50, 5000),
    "bf_max_job_user": (5, 1000),
    "bf_resolution": (60, 900),
    "bf_window": (1440, 20160),
}
_DAYS = {"PriorityDecayHalfLife": (1, 56), "PriorityMaxAge": (1, 28)}
_NUMBER = re.compile(r"(?<![\w.])\d+\.?\d*(?![\w.])")
_PBS_WORDS = {"strict_ordering": ("True", "False"), "by_queue": ("True", "False")}
_PBS_ATTRIBUTE = re.compile(r"max_(run|user_run|running|run_res|user_res)(_soft)?(\.(?!walltime)\w+)?")
_PBS_EACH = {"all": "o", "user": "u", "project": "p"}
_TRES = {"nodes": "node", "gpu": "gres/gpu"}


def usual_knobs(cluster: ClusterDescription) -> tuple[Knob, ...]:
    """The knobs of a cluster, none where it has no limit on what runs."""
    kinds = {"slurm": _slurm_knobs, "pbs": _pbs_knobs}
    return tuple(kinds.get(cluster.scheduler.name, _row_knobs)(cluster))


def formula_knobs(formula: str) -> tuple[Knob, ...]:
    """The constants of a formula as one knob, but for units. Raises ValueError where it has none."""
    values = [_around(float(number), _TIMES) for number in _NUMBER.findall(formula) if _is_constant(number)]
    if not values:
        raise ValueError(f"{formula}: the formula has no constant that could be adapted")
    return (Knob(_with_open_numbers(formula), tuple(values)),)


def _with_open_numbers(formula: str) -> str:
    return _NUMBER.sub(lambda match: OPEN if _is_constant(match[0]) else match[0], formula)


def _is_constant(number: str) -> bool:
    return float(number) > 0 and number not in UNITS


def _around(number: float, times: int) -> OpenValue:
    if float(number).is_integer():
        low, high = max(number // times, 1), max(number * times, 2)
        return OpenValue(low, high)
    return OpenValue(number / times, number * times)


def _slurm_knobs(cluster: ClusterDescription) -> Iterator[Knob]:
    values = cluster.scheduler.values
    if values.get("prioritytype") == "priority/multifactor":
        weights = {name: int(values.get(f"priorityweight{name.lower()}", 0)) for name in _WEIGHTS}
        for name, weight in weights.items():
            if weight:
                yield Knob(f"PriorityWeight{name}={OPEN}", (_around(weight, _TIMES),))
        for name, bounds in _DAYS.items():
            if weights["Fairshare" if name.endswith("HalfLife") else "Age"]:
                yield Knob(f"{name}={OPEN}-0", (OpenValue(*bounds),))
        if weights["QOS"]:
            yield from _priorities(cluster)
    if values.get("schedulertype", "sched/backfill") == "sched/backfill":
        for word, (low, high) in _BACKFILL.items():
            now = int(values.get(word, low))
            yield Knob(f"{word}={OPEN}", (OpenValue(min(low, max(now, 1)), max(high, now)),))
        yield Knob(f"bf_continue={OPEN}", (OpenValue(words=("yes", "no")),))
    limits = (knob for limit in cluster.limits if (knob := _slurm_limit(limit)) is not None)
    yield from islice(limits, MOST_LIMITS)


def _priorities(cluster: ClusterDescription) -> Iterator[Knob]:
    """Priorities of a QOS, of those that somebody can have."""
    most = max((each.priority for each in cluster.qualities), default=0)
    for quality in cluster.qualities if most else ():
        yield Knob(f"qos.{quality.name}.Priority={OPEN}", (OpenValue(0, 2 * most),))


def _slurm_limit(limit: Limit) -> Knob | None:
    """A limit of a QOS or an account on what runs, None for another one."""
    if limit.owner not in ("qos", "account") or limit.counts != "running" or limit.is_least or not limit.bound:
        return None
    is_jobs = limit.resource == "jobs"
    wanted = (limit.counts, limit.each, "jobs" if is_jobs else "")
    names = [name for name, form in LIMIT_FORMS.items() if (form.counts, form.each, form.resource) == wanted]
    name = next((each for each in names if each.endswith(("pu", "pa")) == (limit.each != "all")), None)
    kind, _, of = limit.resource.partition(":")
    if name is None or kind not in ("jobs", "cpu", "mem", "nodes", "gpu"):
        return None
    tres = _TRES.get(kind, kind) + (f":{of}" if of else "")
    value = OPEN if is_jobs else f"{tres}={OPEN}{'M' if kind == 'mem' else ''}"
    return Knob(f"{limit.owner}.{limit.owner_name}.{name}={value}", (_around(limit.bound, _LIMIT_TIMES),))


def _pbs_knobs(cluster: ClusterDescription) -> Iterator[Knob]:
    values = cluster.scheduler.values
    formula = str(values.get("job_sort_formula", ""))
    if formula and _NUMBER.search(formula):
        yield from formula_knobs(f"job_sort_formula={formula}")
    yield Knob(f"server.backfill_depth={OPEN}", (OpenValue(1, max(100, int(values.get("backfill_depth", 1)))),))
    for key, words in _PBS_WORDS.items():
        if key in values:
            yield Knob(f"{key}={OPEN}", (OpenValue(words=words),))
    if values.get("fair_share") is True:
        yield Knob(f"fairshare_decay_time={OPEN}:00:00", (OpenValue(1, 24 * 28),))
    settable = [limit for limit in cluster.limits if limit.each in _PBS_EACH and limit.bound]
    counted = [limit for limit in settable if _PBS_ATTRIBUTE.fullmatch(_attribute(limit))]
    groups = groupby(sorted(counted, key=_pbs_place), _pbs_place)
    yield from islice((_pbs_limit(place, list(limits)) for place, limits in groups), MOST_LIMITS)


def _attribute(limit: Limit) -> str:
    return limit.source.rpartition(" ")[2]


def _pbs_place(limit: Limit) -> tuple[str, str, str]:
    return limit.owner, limit.owner_name, _attribute(limit)


def _pbs_limit(place: tuple[str, str, str], limits: list[Limit]) -> Knob:
    """One attribute with all its limits, which an edit replaces as a whole."""
    owner, name, attribute = place
    key = f"server.{attribute}" if owner == "cluster" else f"queue.{name}.{attribute}"
    unit = "mb" if attribute.endswith(".mem") else ""
    values = tuple(_around(limit.bound, _LIMIT_TIMES) for limit in limits)
    if not attribute.startswith(("max_run.", "max_run_")) and attribute != "max_run":
        return Knob(f"{key}={OPEN}{unit}", values[:1])
    whom = [
        f"[{_PBS_EACH[limit.each]}:{'PBS_ALL' if limit.each == 'all' else limit.who or 'PBS_GENERIC'}={OPEN}{unit}]"
        for limit in limits
    ]
    return Knob(f"{key}={','.join(whom)}", values)


def _row_knobs(cluster: ClusterDescription) -> Iterator[Knob]:
    for number, limit in enumerate(cluster.limits, 1):
        is_over = limit.begin_s is not None or limit.end_s is not None  # as it was then, which no edit changes now
        if limit.counts in ("running", "outstanding") and limit.bound and not limit.is_least and not is_over:
            yield Knob(f"limits.{number}.bound={OPEN}", (_around(limit.bound, _LIMIT_TIMES),))
