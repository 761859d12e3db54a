"""Training of policies under the Slurm of a described cluster, and the verdict on them there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assets.common.progress import progress
from assets.common.trace import Trace
from assets.policies.settings import TrainingSettings
from assets.policies.training import PolicyTask, TrainingSetup, arena_of_task
from assets.policies.verdicts import JudgedRules
from assets.replaying.own.clusters import own_cluster
from assets.replaying.own.slurm.way import phases_of_run, slurm_runs
from assets.replaying.running.settings import RunSettings
from models.judging.judge import corrected_for_many, judge
from models.scheduling.learning.training_run import Split
from models.scheduling.slurm_arena import OWN, SlurmArena
from simulator.policies.network import KernelWeights

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


def check_on_slurm(settings: TrainingSettings) -> None:
    """Raises ValueError for settings of a training that Slurm's nodes have no rule for."""
    usual = TrainingSettings()
    for name, why in _REFUSED.items():
        if getattr(settings, name) != getattr(usual, name):
            raise ValueError(f"a training with --cluster {why}: leave --{name} out")
    if settings.method == "imitation":
        raise ValueError("a training with --cluster has no search that sees the future: leave --method imitation out")


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


def judged_on_slurm(setup: TrainingSetup, others: Mapping[str, str | KernelWeights]) -> JudgedRules:
    """The verdicts on orders beside Slurm's own priority, over the jobs after those that training was open to, and what random orders
    reach there. others: further policies by name."""
    arena = setup.arena
    assert isinstance(arena, SlurmArena) and arena.replayer is not None
    scored = range(setup.trained_jobs, len(arena.jobs))
    incumbent = arena.replayed(OWN, scored)
    phases = phases_of_run(arena.replayer.description, 1)
    again = replace(arena, replayer=replace(arena.replayer, phases=phases))
    judgements = {OTHER_PHASE: judge([again.replayed(OWN, scored)], [incumbent])}
    policies: dict[str, str | KernelWeights] = {**{name: name for name in COMPARED_ORDERS}, **others}
    for name, policy in progress(list(policies.items()), "whole replays"):
        judgements[name] = judge([arena.replayed(policy, scored)], [incumbent])
    cloud = arena.chance_cloud(incumbent)
    corrected = corrected_for_many(list(judgements.values()), cloud)
    return JudgedRules(dict(zip(judgements, corrected, strict=True)), cloud)
