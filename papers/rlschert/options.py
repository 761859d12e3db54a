"""Hyper-parameters of RLSchert's training. Every field says what it is."""

from __future__ import annotations

from pydantic import BaseModel, Field

RLSCHERT_NETWORKS = ("facts", "image_mlp", "image_cnn")


class RLSchertOptions(BaseModel):
    """The defaults are ours. They reach the score of the paper's in a small part of the time. PAPER_OPTIONS: Table 4."""

    network: str = Field(
        default="facts",
        pattern="^(facts|image_mlp|image_cnn)$",
        description="facts: shared weights over what a scheduler needs to know. image_mlp, image_cnn: over the state image, as "
        "in the paper",
    )
    algorithm: str = Field(
        default="ppo",
        pattern="^(ppo|pg)$",
        description="ppo: clipped, several passes. pg: the plain policy gradient, one pass",
    )
    iterations: int = Field(
        default=150, ge=1, description="Iterations, each of which samples sequences and then passes over them"
    )
    sequences: int = Field(default=48, ge=1, description="Parallel simulators, one sequence each an iteration")
    pool: int = Field(default=256, ge=1, description="Training sequences, from which they are drawn")
    passes: int = Field(default=4, ge=1, description="Most passes over an iteration's decisions")
    minibatch: int = Field(default=2048, ge=1, description="Decisions in a gradient step")
    rate: float = Field(default=3e-3, gt=0, description="Adam learning rate")
    clip: float = Field(default=0.2, gt=0, description="Clip range of the probability ratio")
    kl_target: float = Field(default=0.01, gt=0, description="Passes stop at 1.5 times this approximate KL divergence")
    gamma: float = Field(
        default=0.99, gt=0, le=1, description="Discount of a unit of time. Actions that take no time are not discounted"
    )
    gae_lambda: float = Field(default=0.99, ge=0, le=1, description="Lambda of the advantages")
    value_weight: float = Field(default=0.25, ge=0, description="Weight of the value loss")
    entropy_weight: float = Field(default=0.02, ge=0, description="Weight of the entropy bonus")
    teacher_weight: float = Field(
        default=0.5, ge=0, description="Weight of the imitation loss at the beginning (equation 11)"
    )
    teacher_iterations: int = Field(default=40, ge=0, description="Iterations in which it falls to zero")
    averaging: float = Field(
        default=0.85,
        ge=0,
        lt=1,
        description="Share of the earlier iterations in the averaged weights that are tried and kept",
    )
    validate_every: int = Field(default=5, ge=1, description="Iterations from one validation to the next")
    max_actions: int = Field(default=3000, ge=100, description="Most actions in a sequence")
    true_lengths: bool = Field(
        default=False, description="Whether rewards divide by the real run time instead of the predicted one"
    )
    goal: str = Field(default="slowdown", pattern="^(slowdown|completion)$", description="What is made small")
    printed_reward: bool = Field(
        default=False,
        description="Whether a running job's reward divides by what it still needs, as equation 9 is printed",
    )
    falling: bool = Field(default=True, description="Whether learning rate and entropy bonus fall to a tenth")
    stop_each: str = Field(
        default="pass",
        pattern="^(pass|minibatch)$",
        description="After what the divergence is compared with its target. minibatch: also while a teacher is imitated",
    )
    largest_gradient: float = Field(default=1.0, ge=0, description="Norm to which gradients are clipped, 0 for any")
    critic_sees_future: bool = Field(
        default=True, description="Whether the value sees how much of a sequence is left, in training"
    )


PAPER_OPTIONS = RLSchertOptions(
    network="image_mlp",
    iterations=250,
    sequences=16,
    pool=16,
    passes=5,
    minibatch=128,
    rate=1e-4,
    gae_lambda=0.95,
    entropy_weight=0.02,
    averaging=0.0,
    printed_reward=True,
    falling=False,
    stop_each="minibatch",
    largest_gradient=0.0,
    critic_sees_future=False,
)
"""Table 4, equation 9 as printed, and algorithm 1, which trains on 16 sequences only. 250 iterations: section 4.3."""
