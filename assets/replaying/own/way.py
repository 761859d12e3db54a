"""The way to replay that follows the cluster's own scheduler: its nodes, queues, limits, priorities and passes.

`slurm` and `pbs` are the schedulers as they are configured. `slurm:POLICY` and `pbs:POLICY` put an order of ours in place of their own;
everything else stays theirs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.trace import Trace
from assets.replaying.configuring.sizes import AskedProcs
from assets.replaying.own.clusters import own_cluster
from assets.replaying.running.policies import ChosenPolicy, order_policy
from assets.replaying.running.settings import OWN_SCHEDULERS, RunSettings, own_policy_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.followers import NEVER_SUBMITTED
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.replayer import Outcome
from simulator.slurm.variants.orders import is_fixed_order
from traces.cluster.description import ClusterDescription
from traces.cluster.resizing import ClusterSizes
from warehouse import Warehouse

IntArray = NDArray[np.int64]

RUNS = 5
"""Runs that differ in what no configuration says alone."""
MOST_JOBS_OF_ALL_RUNS = 100_000
"""Jobs of all these runs: of a longer log fewer are made, and at least one."""

ORDERS_THAT_CHANGE = ("slurm",)
"""Schedulers in which an order may change while jobs wait, such as one of a network."""


@dataclass(frozen=True)
class OwnRuns(ABC):
    """Several runs of the same scheduler, of which the first one counts. The others say how far it is from being the only one.

    runs: how many, or the numbers of those that are made. left_out: how many jobs were changed, by why."""

    runs: int | range
    left_out: Mapping[str, int]
    honours: ClassVar[frozenset[str]] = frozenset({"policy", "cluster", "edits", "estimates", "users"})

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Replays all jobs in each of the runs. Raises as the scheduler's replayer does."""
        numbers = self.runs if isinstance(self.runs, range) else range(self.runs)
        outcomes = [self.run(jobs, cluster, number) for number in numbers]
        submit = outcomes[0].submit
        if submit is not None:
            outcomes = [outcomes[0], *(_as_submitted(each, submit) for each in outcomes[1:])]
        counts = {"jobs_never_started": outcomes[0].counts["never started"], **self.left_out}
        if homeless := outcomes[0].counts.get("running without room", 0):
            counts["running_jobs_without_room"] = homeless
        return replace(outcomes[0], counts=counts, others=tuple(each.schedule for each in outcomes[1:]))

    @abstractmethod
    def run(self, jobs: Jobs, cluster: Cluster, number: int) -> Outcome:
        """One of the runs, the first of which has number 0."""


def _as_submitted(outcome: Outcome, submit: IntArray) -> Outcome:
    """The outcome of a further run in which users keep their pace, moved to the submissions of the first run: waits are its own."""
    assert outcome.submit is not None
    begun = outcome.schedule.started & (submit != NEVER_SUBMITTED)
    start = np.where(begun, submit + outcome.schedule.start - outcome.submit, CANCELLED)
    return replace(outcome, schedule=replace(outcome.schedule, start=start))


def own_order(settings: RunSettings, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """The scheduler's own order, or another in its place. Arguments and errors as those of `choose_policy`."""
    own = own_policy_of(settings.policy)
    assert own is not None
    scheduler, order = own
    if not order:
        return ChosenPolicy(scheduler, None)
    chosen = order_policy(settings.model_copy(update={"policy": order}), warehouse, source)
    policy, title = chosen.policy, OWN_SCHEDULERS[scheduler]
    if policy is None or (scheduler not in ORDERS_THAT_CHANGE and not is_fixed_order(policy)):
        raise ValueError(
            f"--policy {settings.policy}: on {title}'s nodes an order must be known at submission, such as {scheduler}:SAF or "
            f'{scheduler}:bounded-key; scores that change while a job waits go with --cluster "", over a row of processors'
        )
    return replace(chosen, text=f"{scheduler}:{chosen.text}")


def sized_cluster(trace: Trace, rows: pl.DataFrame, settings: RunSettings) -> ClusterDescription:
    """`own_cluster` of the settings, with the machines that come or go for the processors that they ask for. Arguments and errors as it
    has them."""
    sizes = ClusterSizes(own_cluster(trace, rows, settings))
    return sizes.cluster if settings.procs is None else sizes.resized(sizes.nearest(settings.procs))


def machines_more(sizes: ClusterSizes, size: AskedProcs | None, before: int = 0) -> int:
    """How many machines more than described a cluster is to have, or fewer. size: that is asked for, None for what is there. before: how
    many there are more already, to which a change of the size is one.

    Raises ValueError where nothing is left, and for a size of nodes, which the cluster has already."""
    if size is None:
        return before
    if size.node_procs is not None:
        raise ValueError("procs_per_node: the cluster says how large its nodes are: leave it out")
    if size.in_nodes:
        return size.count(sizes.machines + before) - sizes.machines
    return sizes.nearest(size.of(sizes.procs(before)))


def size_words(trace: Trace, rows: pl.DataFrame, settings: RunSettings) -> str:
    """Which nodes come or go for the processors that settings ask for, "" for none. Arguments and errors as those of `own_cluster`."""
    if settings.procs is None:
        return ""
    sizes = ClusterSizes(own_cluster(trace, rows, settings))
    return sizes.words(sizes.nearest(settings.procs))


def number_of_own_runs(jobs: int) -> int:
    """How many runs a log of so many jobs gets."""
    return max(1, min(RUNS, MOST_JOBS_OF_ALL_RUNS // max(jobs, 1)))
