"""Which settings the page of `tracehouse app` offers for a source, and the scenario that values of them make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from assets.replaying.own.clusters import own_cluster_of
from assets.replaying.running.loading import catalogue_source
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription
from traces.slurm.configuration.accounts.options import LIMIT_FORMS

AS_TODAY = ""
"""The choice that changes nothing."""
ORDERS_TO_CHOOSE = {
    "FCFS": "first come, first served",
    "SJF": "shortest requested time first",
    "SAF": "smallest area first (time x processors)",
    "WFP3": "who waits long for its length (WFP3)",
    "fairshare:half_life_days=7": "who used least lately (fair share)",
}
BACKFILLING = {
    "none": "nobody may pass a job that waits",
    "easy": "EASY: may not delay the first",
    "conservative": "may delay nobody",
}
WEIGHTS = {
    "priorityweightfairshare": ("PriorityWeightFairshare", "Weight of fair share"),
    "priorityweightage": ("PriorityWeightAge", "Weight of a job's age"),
    "priorityweightjobsize": ("PriorityWeightJobSize", "Weight of a job's size"),
    "priorityweightqos": ("PriorityWeightQOS", "Weight of the QOS"),
    "priorityweightpartition": ("PriorityWeightPartition", "Weight of the partition"),
}
MOST_LIMITS = 8
"""Limits that get a slider, the first of the configuration."""
_DAY_S = 86_400
_SLURM_AMOUNTS = {"nodes": "node", "gpu": "gres/gpu", "cpu": "cpu"}
_PBS_EACH = {"user": "u:PBS_GENERIC", "group": "g:PBS_GENERIC", "project": "p:PBS_GENERIC", "all": "o:PBS_ALL"}
_PBS_LIMITS = ("max_run", "max_run_res.ncpus", "max_run_res.ngpus")


@dataclass(frozen=True)
class Control:
    """One setting. choices: value and words, for a list; a slider has none. low, high, step, now: of a slider, where `now` changes nothing.
    unit: behind the value. changes: of a value, keys of a scenario, with a list of `edits`."""

    name: str
    label: str
    changes: Callable[[Any], dict[str, Any]]
    choices: tuple[tuple[str, str], ...] = ()
    low: int = 0
    high: int = 0
    step: int = 1
    now: int = 0
    unit: str = ""

    def value_of(self, given: object) -> str | int:
        """The value that a browser has sent. Raises ValueError for one that the control cannot have."""
        if self.choices:
            if given in [value for value, _ in self.choices]:
                return str(given)
        elif isinstance(given, int) and not isinstance(given, bool) and self.low <= given <= self.high:
            return given
        raise ValueError(f"{self.label}: {given!r} is no value of it")


def scenario_of(controls: tuple[Control, ...], given: Mapping[str, object]) -> dict[str, Any]:
    """What a scenario of these values changes, by key; empty where all are as today. given: by name of a control, without those that
    are as today. Raises ValueError for a control that the source does not have, and for a value that it cannot have."""
    unknown = given.keys() - {each.name for each in controls}
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))}: no setting of this page")
    scenario: dict[str, Any] = {}
    edits: list[str] = []
    for control in controls:
        value = control.value_of(given[control.name]) if control.name in given else control.now
        if value in (AS_TODAY, control.now):
            continue
        changes = control.changes(value)
        edits += changes.pop("edits", [])
        scenario |= changes
    return scenario | ({"edits": _joined(edits)} if edits else {})


def _joined(edits: list[str]) -> list[str]:
    """Edits of one list, such as cpu and gres/gpu of MaxTRESPU, as one edit: a second one would replace the first."""
    lists: dict[str, str] = {}
    for edit in edits:
        key, _, value = edit.partition("=")
        lists[key] = f"{lists[key]},{value}" if key in lists else value
    return [f"{key}={value}" for key, value in lists.items()]


def controls_of(source: str) -> tuple[Control, ...]:
    """The settings that the page of a source offers. Where its own Slurm or PBS replays they are lines of its configuration. Raises
    CatalogueError where there is no such source."""
    cluster = own_cluster_of(catalogue_source(source))
    load = _percent("load", "Work submitted in the same time", lambda value: {"load": f"{value:+}%"})
    if cluster is None:
        return (
            _choice("policy", "Who goes first", ORDERS_TO_CHOOSE, lambda value: {"policy": value}),
            _choice("backfill", "Who may pass", BACKFILLING, lambda value: {"backfill": value}),
            _percent("procs", "Processors", lambda value: {"procs": f"{value:+}%"}),
            load,
        )
    own = _slurm_controls(cluster) if cluster.scheduler.name == "slurm" else _pbs_controls(cluster)
    return (*own, load)


def _choice(name: str, label: str, words: Mapping[str, str], changes: Callable[[Any], dict[str, Any]]) -> Control:
    return Control(name, label, changes, ((AS_TODAY, "as today"), *words.items()))


def _percent(name: str, label: str, changes: Callable[[Any], dict[str, Any]]) -> Control:
    return Control(name, label, changes, low=-50, high=50, step=5, unit="%")


def _amount(name: str, label: str, now: int, edit: Callable[[int], str], unit: str = "", least: int = 0) -> Control:
    """A slider of one line of the configuration, up to four times what it is."""
    step = max(1, now // 20)
    high = max(now * 4, least + 10 * step)
    low = now - (now - least) // step * step  # so that `now` is on a step
    return Control(name, label, lambda value: {"edits": [edit(value)]}, (), low, high, step, now, unit)


def _slurm_controls(cluster: ClusterDescription) -> Iterator[Control]:
    values = cluster.scheduler.values
    orders = {f"slurm:{order}": words for order, words in ORDERS_TO_CHOOSE.items() if ":" not in order}
    yield _choice("policy", "Who goes first", orders, lambda value: {"policy": value})
    if values.get("prioritytype") == "priority/multifactor":
        for key, (written, label) in WEIGHTS.items():
            now = values.get(key)
            if isinstance(now, int) and now > 0:
                yield _amount(key, label, now, partial("{}={}".format, written))
        half_life = values.get("prioritydecayhalflife", 7 * _DAY_S)
        if isinstance(half_life, int) and half_life >= _DAY_S:
            days = half_life // _DAY_S
            yield _amount(
                "half_life",
                "Half of the use is forgotten after",
                days,
                lambda value: f"PriorityDecayHalfLife={value}-0",
                "days",
                1,
            )
    for key, label, usual, unit in (
        ("bf_max_job_test", "Jobs that backfilling looks at", 500, "jobs"),
        ("bf_interval", "Backfilling looks every", 30, "s"),
    ):
        now = values.get(key, usual)
        if isinstance(now, int) and now > 0 and values.get("schedulertype") != "sched/builtin":
            yield _amount(key, label, now, partial("{}={}".format, key), unit, 1)
    yield _nodes(cluster)
    forms = {
        (form.counts, form.each, form.resource): option for option, form in LIMIT_FORMS.items() if not form.is_least
    }
    for number, limit in enumerate(_limits(cluster, ("qos", "account"), _SLURM_AMOUNTS)):
        of_jobs = limit.resource == "jobs"
        option = forms.get((limit.counts, limit.each, "jobs" if of_jobs else ""))
        if option is not None:
            start = f"{limit.owner}.{limit.owner_name}.{option}=" + (
                "" if of_jobs else f"{_SLURM_AMOUNTS[limit.resource]}="
            )
            yield _amount(f"limit{number}", _limit_label(limit), limit.bound, partial("{}{}".format, start), "", 1)


def _pbs_controls(cluster: ClusterDescription) -> Iterator[Control]:
    values = cluster.scheduler.values
    orders = {f"pbs:{order}": words for order, words in ORDERS_TO_CHOOSE.items() if ":" not in order}
    yield _choice("policy", "Who goes first", orders, lambda value: {"policy": value})
    depth = values.get("backfill_depth", 1)
    if isinstance(depth, int):
        yield _amount(
            "backfill_depth",
            "Jobs that nobody may delay",
            depth,
            lambda value: f"server.backfill_depth={value}",
            "jobs",
        )
    other = (
        ("False", "no: whoever fits may start")
        if values.get("strict_ordering") is True
        else ("True", "yes: others only pass by backfilling")
    )
    yield _choice(
        "strict_ordering", "Strict order", dict([other]), lambda value: {"edits": [f"strict_ordering={value}"]}
    )
    yield _nodes(cluster)
    limits = [
        each for each in _limits(cluster, ("cluster", "partition"), ("cpu", "gpu")) if not each.who and not each.is_soft
    ]
    for number, limit in enumerate(limits):
        attribute = limit.source.rpartition(" ")[2]
        sharing = [
            each
            for each in cluster.limits
            if each.owner_name == limit.owner_name and each.source.endswith(f" {attribute}")
        ]
        if (
            attribute in _PBS_LIMITS and limit.each in _PBS_EACH and len(sharing) == 1
        ):  # the line would change the others, too
            place = f"queue.{limit.owner_name}" if limit.owner == "partition" else "server"
            start = f"{place}.{attribute}=[{_PBS_EACH[limit.each]}="
            yield _amount(f"limit{number}", _limit_label(limit), limit.bound, partial("{}{}]".format, start), "", 1)


def _limits(cluster: ClusterDescription, owners: tuple[str, ...], resources: Collection[str]) -> list[Limit]:
    """The first limits on what may run at a time. resources: those that an edit can write, besides jobs."""
    return [
        each
        for each in cluster.limits
        if each.owner in owners
        and each.counts == "running"
        and not each.is_least
        and each.resource in ("jobs", *resources)
    ][:MOST_LIMITS]


def _limit_label(limit: Limit) -> str:
    amounts = {"jobs": "Jobs", "cpu": "CPUs", "gpu": "GPUs", "nodes": "Nodes"}[limit.resource]
    who = "all" if limit.each == "all" else f"a {limit.each}"
    owner = {"cluster": "the whole cluster", "partition": f"queue {limit.owner_name}", "qos": f"QOS {limit.owner_name}"}
    return f"{amounts} that {who} may have running ({owner.get(limit.owner, f'{limit.owner} {limit.owner_name}')})"


def _nodes(cluster: ClusterDescription) -> Control:
    """More nodes, or fewer, kind by kind."""
    label = f"Nodes (there are {len(cluster.nodes):,})"
    return _percent("nodes", label, lambda value: {"procs": f"{value:+}%"})
