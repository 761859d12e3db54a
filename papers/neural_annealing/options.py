"""Hyper-parameters of the repair operator's training, and how the paper is read where it leaves something open."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from models.allocation.neural.repair_networks import SEEN_NODES, RepairNetworkName
from models.allocation.neural.repairing import LARGEST_JOB, RepairProblem, repair_problem
from simulator.topology.tree import SwitchTree

RepairVariant = Literal["paper", "code"]


class RepairOptions(BaseModel):
    """Defaults: sections V and VI-A of the paper.

    The two variants differ in what an agent sees and in what it is trained on.

    *paper*: four features a node (section V-B1). An episode places the one or two jobs that were removed from an assignment, the
    larger one first (sections V-A and V-B).
    *code*: the five features of the public code. An episode places all jobs of a window of at most two, in the order of the queue.

    How the paper is read where its text is open:

    1. Assignments to be destroyed come from the agent itself, as in its search. The first one of a window is sequential. Each later
       one is what the episode before has repaired (`window_episodes`). Every repair is kept.
    2. Windows come from the paper's workload with sequential placement, in epochs of 100 windows from an empty cluster. A seed of the
       training never gives the windows of a test.
    3. The "normalized identification" of a switch or pod is its number, from 0 on, over how many there are. The fourth feature is
       0 for the last job, where the formula is 0 / 0.
    4. The reward is minus the sum of costs of the placed jobs, where the text has "the inverse".
    5. Rates, gamma, 80 passes and the clip are the defaults of a public PPO that the numbers seem to come from. What the paper does
       not say is as there. Each pass takes all decisions of an update. Returns are scaled to mean 0 and variance 1 within an update.
       The advantage is return minus value. The critic's error has the weight 0.5 and the entropy 0.01. The optimiser is Adam, and
       layers begin as torch makes them.
    6. Tanh stands where Table II prints it: after the first convolution only.
    7. Unstated, and ours: windows and episodes of an update, and how many updates.

    `siblings` is no reading but our remedy. Costs differ much more between windows than between the choices in one, and a critic that
    sees a hundred nodes learns that slowly. Episodes from the same state tell what the choice was worth.
    """

    variant: RepairVariant = Field(default="paper", description="Features and episodes of the paper or of the code")
    network: RepairNetworkName = Field(default="CNN-3", description="Layers of actor and critic, Table II")
    integer: bool = Field(default=False, description="Costs of the public code: whole hops of pairs without order")
    seen_nodes: int = Field(default=SEEN_NODES, ge=14, description="Idle nodes that are seen and chosen from, q")
    largest: int = Field(default=LARGEST_JOB, ge=1, description="Nodes of the largest job, n_max")
    most_removed: int = Field(default=2, ge=1, description="Jobs that are removed at most, n^D")
    window_jobs: int | None = Field(
        default=None, ge=1, description="Jobs in a training window at most. None: any number, or 2 for the code"
    )
    update_windows: int = Field(default=16, ge=1, description="Windows that are played before an update")
    window_episodes: int = Field(default=8, ge=1, description="Episodes on each of them, one after another")
    siblings: int = Field(
        default=1,
        ge=1,
        description="Episodes that begin at the same state. With more than one, the mean of their returns replaces the critic",
    )
    updates: int = Field(default=100, ge=1, description="Updates of the training")
    passes: int = Field(default=80, ge=1, description="Gradient steps of an update, each over all its decisions")
    actor_rate: float = Field(default=3e-4, gt=0, description="Adam learning rate of the actor")
    critic_rate: float = Field(default=1e-3, gt=0, description="Adam learning rate of the critic")
    gamma: float = Field(default=0.99, gt=0, le=1, description="Discount of a decision")
    clip: float = Field(default=0.2, gt=0, description="Clip range of the probability ratio")
    entropy_weight: float = Field(default=0.01, ge=0, description="Weight of the entropy")
    value_weight: float = Field(default=0.5, gt=0, description="Weight of the critic's squared error")
    save_every: int = Field(default=10, ge=1, description="Updates after which an interrupted training goes on")

    def problem(self, tree: SwitchTree) -> RepairProblem:
        """What the agent sees, and what jobs cost, on this tree."""
        return repair_problem(tree, self.variant, self.integer, self.largest)

    @property
    def most_jobs(self) -> int | None:
        """Jobs in a training window at most; None is any number."""
        return self.window_jobs or (2 if self.variant == "code" else None)
