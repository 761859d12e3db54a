"""Training of policies under the Slurm of a described cluster, and the verdict on them there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assets.common.storage import open_warehouse
from assets.common.trace import Trace
from assets.policies.settings import TrainingSettings
from assets.policies.training import PolicyTask, TrainingSetup, arena_of_task
from assets.policies.verdicts import JudgedRule, JudgedRules
from assets.replaying.judged_orders import JudgedOrders
from assets.replaying.own.clusters import own_cluster
from assets.replaying.own.slurm.way import phases_of_run, slurm_runs
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.settings import RunSettings
from models.scheduling.learning.training_run import Split
from models.scheduling.slurm_arena import OWN, SlurmArena

FEW_WINDOWS = 100
"""Windows to learn from: a replay on nodes takes long, and the trajectory filter replays all of them."""
COMPARED_ORDERS = ("SJF", "SAF", "F1", "WFP3")
"""Orders in the place of Slurm's priority that a trained one is compared with."""
OTHER_PHASE = "other phase"
"""Slurm's own priority once more, with another phase of its cycles: how far Slurm is from itself."""
_REFUSED = {
    "learn": "learns an order of the queue alone",
    "backfill": "has its own backfilling",
    "estimates": "uses requested times",
    "rules": "has its own rules",
    "paper": "is not in that paper",
    "workers": "is replayed by one process for each seed",
    "population": "is replayed by one process for each seed",
}


def run_settings_on_slurm(cluster: str) -> RunSettings:
    """What the replays of a training are asked for."""
    return RunSettings(policy=OWN, cluster=cluster)


def refused_on_slurm(settings: TrainingSettings) -> str | None:
    """What Slurm's nodes have no rule for, and the remedy. None where they have one for all."""
    usual = TrainingSettings()
    for name, why in _REFUSED.items():
        if getattr(settings, name) != getattr(usual, name):
            return f"{why}: leave --{name} out"
    if settings.method == "imitation":
        return "has no search that sees the future: leave --method imitation out"
    return None


def slurm_arena(trace: Trace, task: PolicyTask) -> SlurmArena:
    """The trace on the nodes of the task's cluster. trace: with REQUEST_LABELS. Raises ValueError, with the remedy, where there is no such
    Slurm, and for jobs that it cannot have had."""
    assert task.cluster is not None
    cluster = own_cluster(trace, trace.rows, run_settings_on_slurm(task.cluster))
    widest = int(trace.rows["procs"].max())  # type: ignore[arg-type]
    if widest > cluster.num_cpus:
        raise ValueError(
            f"{trace.source}: a job needs {widest} processors, and the nodes of cluster {cluster.name} have {cluster.num_cpus}: correct "
            f"clusters/{cluster.name}.toml (`tracehouse cluster check`)"
        )
    replayer = slurm_runs(cluster, trace, trace.rows, None).replayer
    plain = arena_of_task(trace, task)
    phases = phases_of_run(cluster, 0)
    return SlurmArena(plain.jobs, cluster.num_cpus, plain.goal, replayer=replace(replayer, phases=phases))


def setup_on_slurm(trace: Trace, task: PolicyTask, split: Split) -> TrainingSetup:
    """The setup of a training on the nodes of the task's cluster. Raises ValueError as `slurm_arena` does."""
    few = replace(split, learn=split.learn.thinned(FEW_WINDOWS))
    return TrainingSetup.on_split(trace, task, few, slurm_arena(trace, task))


def judged_on_slurm(setup: TrainingSetup, ours: Sequence[JudgedRule]) -> JudgedRules:
    """The verdicts on orders beside Slurm's own priority, over the jobs after those that training was open to, and what random orders
    reach there. ours: judged besides COMPARED_ORDERS."""
    cluster = setup.task.cluster or ""
    settings = run_settings_on_slurm(cluster)
    policy = choose_policy(settings, open_warehouse(), setup.trace.source)
    orders = JudgedOrders(settings, policy, setup.trace, setup.trained_jobs, cluster, own_runs=2)
    rules = [*(JudgedRule(name, name) for name in COMPARED_ORDERS), *ours]
    return orders.judged_rules(rules, {OTHER_PHASE: orders.other_phase()})
