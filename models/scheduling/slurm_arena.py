"""Where policies are tried on the nodes of a cluster under its own Slurm, in the place of its priority."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from models.judging.chance import CAPS_S, FEW_ORDERS_OF_A_CAP, RandomOrder
from models.judging.panel import Replayed, scored_after
from models.scheduling.arena import Arena, Windows
from simulator.agents.slurm_windows import SlurmTrace
from simulator.agents.trajectories import Trajectories
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.policies.network import KernelWeights
from simulator.policies.registry import Policy, parse_policy
from simulator.slurm.replaying import SlurmReplayer

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
OWN = "slurm"
"""The policy under which Slurm orders the queue itself."""


@dataclass(frozen=True)
class SlurmArena(Arena):
    """A trace on the nodes of its Slurm. replayer: with the requests of the trace's jobs, in their order. There are neither agents nor
    rules of papers, and Slurm backfills."""

    replayer: SlurmReplayer | None = None

    @property
    def ground(self) -> str:
        """As Arena.ground."""
        assert self.replayer is not None
        return f"{self.replayer.description.name} {sha256(repr(self.replayer.description).encode()).hexdigest()}"

    @property
    def on_processors(self) -> Arena:
        """The same jobs on a row of as many processors, under an order with EASY backfilling. It is much faster."""
        return Arena(self.jobs, self.cluster_procs, self.goal, threads=self.threads)

    def starts(self, policy: str | Policy | KernelWeights, windows: Windows) -> IntArray:
        """As Arena.starts. A job that never starts counts as one that does not wait, under all policies alike."""
        if windows.continuous:
            start = super().starts(policy, windows)
        else:
            start = self._trace.starts(self._order_of(policy), windows.first, windows.jobs, windows.backlogs)
        return self._counted(start, windows)

    def _counted(self, start: IntArray, windows: Windows) -> IntArray:
        submit = self.jobs.submit[windows.first[:, None] + np.arange(windows.jobs)]
        return np.where(start == CANCELLED, submit, start)

    def replayed(self, policy: str | Policy | KernelWeights, scored: range) -> Replayed:
        """As Arena.replayed."""
        jobs = self.jobs.window(0, scored.stop)
        history, backfilled = self._trace.history(self._order_of(policy), scored.stop)
        return Replayed(
            jobs, self.cluster_procs, Schedule(history.start, backfilled), scored_after(len(jobs), scored.start)
        )

    def random_orders(self, jobs: int) -> tuple[RandomOrder, ...]:
        """Fewer than on a row of processors, in the place of Slurm's priority."""
        return few_random_orders()

    def with_backlogs(self, policy: str | Policy | KernelWeights, windows: Windows, after: int) -> Windows:
        """As Arena.with_backlogs."""
        return replace(windows, backlogs=self._trace.keep_states(self._order_of(policy), windows.first, after))

    def sample(
        self, weights: KernelWeights, windows: Windows, seed: int | IntArray, teacher: FloatArray | None = None
    ) -> Trajectories:
        """As Arena.sample."""
        place = windows.first, windows.jobs
        sampled = self._trace.sample(self.policy_of(weights), *place, seed, windows.backlogs, teacher)
        return replace(sampled, start=self._counted(sampled.start, windows))

    @property
    def _trace(self) -> SlurmTrace:
        """The jobs, which may be the first ones of the trace alone."""
        assert self.replayer is not None
        return SlurmTrace(self.jobs, self.cluster_procs, self.replayer, self.threads)

    def _order_of(self, policy: str | Policy | KernelWeights) -> Policy | None:
        if isinstance(policy, KernelWeights):
            return self.policy_of(policy)
        if policy == OWN:
            return None
        return parse_policy(policy) if isinstance(policy, str) else policy


def few_random_orders() -> tuple[RandomOrder, ...]:
    """Orders by lot: as few as on a long log, since a replay on nodes takes long."""
    return tuple(RandomOrder(cap_s, seed) for cap_s in CAPS_S for seed in range(FEW_ORDERS_OF_A_CAP))
