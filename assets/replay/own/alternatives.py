"""What other settings, and other orders, would do on the nodes of a source's own scheduler: one replay each, next to random ones.

These are the questions that everybody asks first. `tracehouse what-if` answers others, with several runs of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.common.trace import Trace, load_trace
from assets.ingest.site_logs import mean_wait_s, ruled_cluster
from assets.replay.changes.configuration import edited_cluster
from assets.replay.own.clusters import own_cluster_of_log
from assets.replay.policies import ChosenPolicy
from assets.replay.run import ReplayRun, replay_run
from assets.replay.settings import REQUEST_LABELS, RunSettings
from models.judging.chance import CAPS_S, RandomOrder
from models.judging.fidelity import change_error
from models.judging.judge import Judgement, corrected_for_many, judge
from models.judging.panel import Replayed
from models.judging.verdict import DOMINATES, TRADES
from simulator.policies.registry import parse_policy
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.sources import Source
from traces.cluster.description import ClusterDescription
from traces.synthetic.campaigns import site_submissions
from traces.synthetic.sites import SiteOptions
from warehouse import Warehouse

LONGEST_LOG = 20_000
"""Jobs of a log whose alternatives the report waits for."""
RANDOM_SETTINGS, RANDOM_TIMES = 8, 10.0
"""Random settings, and the factor by which each of their numbers is at most changed, up or down."""
FIXED_ORDERS = {
    "FCFS": "First come, first served",
    "SJF": "Shortest job first",
    "SAF": "Smallest area first",
    "F1": "F1",
    "smallest": "Fewest processors first",
    "LJF": "Longest job first",
}
"""Orders that are fixed at submission, which both schedulers can have in place of their own."""
SLURM_CHANGES = {
    "fair share counts for nothing": ("PriorityWeightFairshare=0",),
    "age counts ten times as much": ("PriorityWeightAge={PriorityWeightAge}",),
    "small jobs first": ("PriorityFavorSmall=YES", "PriorityWeightJobSize={PriorityWeightJobSize}"),
    "backfilling looks at all jobs": ("bf_max_job_test=5000", "bf_interval=30"),
}
"""By name, edits of slurm.conf. In braces a weight that is to be ten times what it is."""
PBS_CHANGES = {
    "longest waiting first": ("job_sort_formula=eligible_time",),
    "short requests first": ("job_sort_formula={formula} - walltime / 300",),
    "starts of 100 jobs kept free": ("server.backfill_depth=100",),
    "small jobs first": ("job_sort_formula={formula} - ncpus",),
}
SETTING, ORDER, RANDOM_SETTING, RANDOM_ORDER = "setting", "order", "random setting", "random order"
_NUMBER = re.compile(r"(?<![\w.])\d+\.?\d*(?![\w.])")


class Alternative(NamedTuple):
    """kind: SETTING, ORDER, RANDOM_SETTING or RANDOM_ORDER. edits: of the configuration. judgement: with the present settings as
    incumbent, over the later half of the jobs."""

    name: str
    kind: str
    edits: tuple[str, ...]
    judgement: Judgement

    @property
    def wait_s(self) -> float:
        """Mean over the later half of the jobs."""
        return self.judgement.panels[0].wait_s

    @property
    def word(self) -> str:
        """Of the verdict."""
        return self.judgement.verdict.word


@dataclass(frozen=True)
class KnownTruth:
    """What a change does on a bundled cluster with its hidden rule, which only the generator has. before_s, after_s: mean waits of the
    later jobs. error: the factor by which the predicted change is off."""

    before_s: float
    after_s: float
    error: float


@dataclass(frozen=True)
class Alternatives:
    """scheduler: "slurm" or "pbs". jobs: of the later half, which count. present_s: their mean wait in a replay of the present settings.
    truth: of the best setting, None for a log whose truth nobody has."""

    scheduler: str
    jobs: int
    present_s: float
    tried: tuple[Alternative, ...]
    truth: KnownTruth | None = None

    def of(self, kind: str) -> list[Alternative]:
        """Those of a kind, least mean wait first."""
        return sorted((each for each in self.tried if each.kind == kind), key=lambda each: each.wait_s)

    @property
    def best_setting(self) -> Alternative | None:
        """The one that dominates with the least wait, else the one that trades with the least, else None."""
        for word in (DOMINATES, TRADES):
            for each in self.of(SETTING):
                if each.word == word:
                    return each
        return None

    def as_good(self, best: Alternative, kind: str) -> int:
        """How many random ones of a kind have no longer mean wait and no larger slowdown than this one."""
        ours = best.judgement.verdict.ratios[0]
        theirs = [each.judgement.verdict.ratios[0] for each in self.of(kind)]
        return sum(each.wait <= ours.wait and each.bounded_slowdown <= ours.bounded_slowdown for each in theirs)


def alternatives_of(warehouse: Warehouse, source: str) -> Alternatives | None:
    """What the usual changes would do. None for a log that is too long, and for a source whose own scheduler does not replay."""
    cluster = own_cluster_of_log(warehouse, source)
    if cluster is None:
        return None
    trace = load_trace(warehouse, source, labels=REQUEST_LABELS)
    if not 1 < trace.rows.height <= LONGEST_LOG:
        return None
    replays = _Replays(trace, cluster.scheduler.name)
    base = replays.run(())
    names = [(name, SETTING, edits) for name, edits in usual_changes(cluster)]
    names += [(f"random {k}", RANDOM_SETTING, edits) for k, edits in enumerate(random_settings(cluster))]
    runs = [(name, kind, edits, run) for name, kind, edits in names if (run := replays.run_if_possible(edits))]
    runs += [(words, ORDER, (), replays.run((), order)) for order, words in FIXED_ORDERS.items()]
    runs += [(str(cap), RANDOM_ORDER, (), replays.run((), RandomOrder(cap, 0))) for cap in CAPS_S]
    counted = replays.counted(base, [run for *_, run in runs])
    judged = [judge([_replayed(run, counted)], [_replayed(base, counted)]) for *_, run in runs]
    several = [k for k, (_, kind, *_) in enumerate(runs) if kind in (SETTING, ORDER)]
    for k, each in zip(several, corrected_for_many([judged[k] for k in several]), strict=True):
        judged[k] = each
    tried = [Alternative(*run[:3], each) for run, each in zip(runs, judged, strict=True)]
    made = Alternatives(cluster.scheduler.name, int(counted.sum()), judged[0].incumbents[0].wait_s, tuple(tried))
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    if made.best_setting is None or declared is None or "site" not in declared.generator:
        return made
    return replace(made, truth=known_truth(declared, made.present_s, made.best_setting))


def known_truth(source: Source, replayed_s: float, best: Alternative) -> KnownTruth:
    """What a change does under the hidden rule of a bundled cluster. replayed_s: mean wait of the later jobs as the replay has it."""
    options = SiteOptions(**source.generator)
    jobs, ruled = site_submissions(options.bundled.work, options.seed), ruled_cluster(options.bundled)
    changed = edited_cluster(ruled, best.edits, options.bundled.time_zone)
    before, after = (mean_wait_s(options.bundled, cluster, jobs) for cluster in (ruled, changed))
    return KnownTruth(before, after, change_error((before, after), (replayed_s, best.wait_s)))


def usual_changes(cluster: ClusterDescription) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names and edits of what is asked first of a cluster of Slurm or PBS."""
    values = cluster.scheduler.values
    for name, edits in (SLURM_CHANGES if cluster.scheduler.name == "slurm" else PBS_CHANGES).items():
        formula = str(values.get("job_sort_formula", "")).strip('"')
        more = {each: 10 * int(weight) for each, weight in _weights(cluster).items() if weight}
        try:
            yield name, tuple(edit.format(formula=formula, **more) for edit in edits)
        except KeyError:
            continue  # a weight that counts for nothing now


def random_settings(cluster: ClusterDescription) -> Iterator[tuple[str, ...]]:
    """Edits that change all weights of Slurm, or the numbers of PBS's formula and its backfilling depth, by chance."""
    drawn = np.random.default_rng(0)
    values = cluster.scheduler.values

    def changed(number: float) -> int:
        return max(round(number * RANDOM_TIMES ** drawn.uniform(-1, 1)), 1)

    for _ in range(RANDOM_SETTINGS):
        if cluster.scheduler.name == "slurm":
            yield tuple(f"{name}={changed(weight)}" for name, weight in _weights(cluster).items() if weight)
            continue
        depth = f"server.backfill_depth={changed(float(str(values.get('backfill_depth', 1))))}"
        formula = str(values.get("job_sort_formula", "")).strip('"')
        if _NUMBER.search(formula):
            formula = _NUMBER.sub(lambda match: str(changed(float(match[0]))), formula)
            yield f"job_sort_formula={formula}", depth
        else:
            yield (depth,)


def _weights(cluster: ClusterDescription) -> dict[str, int]:
    names = ("PriorityWeightAge", "PriorityWeightFairshare", "PriorityWeightJobSize", "PriorityWeightPartition")
    return {name: int(str(cluster.scheduler.values.get(name.lower(), 0))) for name in names}


@dataclass(frozen=True)
class _Replays:
    """Replays of all jobs of a trace, one run each."""

    trace: Trace
    scheduler: str

    def run(self, edits: Sequence[str], order: str | RandomOrder = "") -> ReplayRun:
        """order: in place of the scheduler's own, "" for that."""
        policy = order.policy if isinstance(order, RandomOrder) else parse_policy(order) if order else None
        text = self.scheduler if policy is None else f"{self.scheduler}:{order if isinstance(order, str) else 'FCFS'}"
        settings = RunSettings(policy=text, edits=list(edits), drop_wider=True)
        return replay_run(self.trace, settings, ChosenPolicy(text, policy), own_runs=1)

    def run_if_possible(self, edits: Sequence[str]) -> ReplayRun | None:
        """None for edits that the cluster does not take, or that change nothing of it."""
        try:
            return self.run(edits)
        except ValueError:
            return None

    def counted(self, base: ReplayRun, runs: Sequence[ReplayRun]) -> NDArray[np.bool_]:
        """Which jobs count: those of the later half that start in every replay, bool (jobs,)."""
        started = np.logical_and.reduce([each.schedule.started for each in (base, *runs)])
        return started & (np.arange(len(base.jobs)) >= len(base.jobs) // 2)


def _replayed(run: ReplayRun, counted: NDArray[np.bool_]) -> Replayed:
    return Replayed(run.jobs, run.cluster, run.schedule, counted)
