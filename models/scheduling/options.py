"""Hyper-parameters of everything that learns to order the queue. Every field says what it is.

A word with a fixed set of values is one `Literal` here. Pydantic and the command line check it where it comes in.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, field_validator, model_validator

LearningMethod = Literal["ppo", "evolution", "imitation"]
"""ppo is RLScheduler's. evolution means evolution strategies. imitation copies a search that sees the future."""
StartingPoint = Literal["saf", "key", "best", "program", "rule", "nothing"]
"""saf is a network that orders by area, smallest first. key is one that has copied the tuned priority key. best is the one of these
two that costs less. program is one that orders as searched:balanced does, and keeps its cap. rule is one that decides as its agent's
rule does. nothing means random weights."""
STARTED_FROM: dict[StartingPoint, str] = {
    "saf": "smallest area first",
    "key": "a copy of the best key",
    "best": "the better of smallest area first and a copy of the best key",
    "program": "searched:balanced",
    "rule": "the agent's rule",
}
"""The name of a policy that has learned nothing yet."""
PolicyRules = Literal["standard", "rlscheduler"]
"""Those of simulator.jobs.words.RULE_SETS that policies can be trained under."""
InputLayout = Literal["plain", "informed", "program", "paper", "picking", "inspecting", "inspector-paper"]
"""What a network reads, as simulator.policies.observation.layout_named defines it. The last three are for agents."""
EpisodeReward = Literal["plain", "relative", "waiting", "improvement"]
"""plain is minus the goal's cost. relative is minus its share above SJF's on the same window. waiting is paid from each choice to the
next: minus what waiting adds to the goal, by SJF's cost. improvement is SchedInspector's.

SchedInspector's is the base's cost minus the own cost, divided by the largest of both and 1."""
AdvantageBaseline = Literal["critic", "siblings"]
"""critic is a value network. siblings are other replays of the same window."""


CRITIC_LAYERS = (32, 16, 8)
"""Units of the critic's hidden layers, as RLScheduler has them."""


class PPOOptions(BaseModel):
    """Hyper-parameters of proximal policy optimisation (Schulman et al. 2017), and of the network that it trains."""

    layout: InputLayout = Field(
        default="plain", description="What the network reads: paper, plain, informed or program"
    )
    epochs: int = Field(default=20, ge=1, description="Epochs of sampling and updating")
    filtered_epochs: int = Field(
        default=0, ge=0, description="First epochs, on windows inside the trajectory filter's range only"
    )
    trajectories: int = Field(default=16, ge=1, description="Windows replayed an epoch")
    siblings: int = Field(
        default=4, ge=1, description="How many of them replay the same window. It divides trajectories"
    )
    reward: EpisodeReward = Field(
        default="relative",
        description="plain: minus the goal. relative: minus its share above SJF's on the same window. waiting: what waiting adds",
    )
    horizon_s: float = Field(
        default=0.0, ge=0, description="Seconds after which the reward waiting counts 1/e, 0 for no discount"
    )
    baseline: AdvantageBaseline = Field(
        default="siblings",
        description="What advantages are compared with: critic (a value network), or siblings (replays of the same window)",
    )
    critic_layers: list[int] = Field(
        default=list(CRITIC_LAYERS),
        description="Units of the critic's hidden layers, such as 64, 32 and 8 in Sgambati et al. 2025",
        exclude_if=lambda layers: (
            tuple(layers) == CRITIC_LAYERS
        ),  # older trainings continue, and older cards stay as they are
    )
    passes: int = Field(default=4, ge=1, description="Most passes over an epoch's decisions")
    minibatch: int = Field(default=4096, ge=0, description="Decisions in a gradient step, 0 for all of the epoch")
    clip: float = Field(default=0.2, gt=0, description="Clip range of the probability ratio")
    kl_limit: float = Field(default=0.03, gt=0, description="Approximate KL at which an epoch's policy steps stop")
    gae_lambda: float = Field(default=0.97, ge=0, le=1, description="Lambda of the critic's advantages. Gamma is 1")
    policy_rate: float = Field(default=1e-2, gt=0, description="Adam learning rate of the policy")
    value_rate: float = Field(default=1e-3, gt=0, description="Adam learning rate of the critic")
    entropy_bonus: float = Field(default=0.0, ge=0, description="Weight of the entropy in the loss")

    @field_validator("critic_layers")
    @classmethod
    def _layers_have_units(cls, layers: list[int]) -> list[int]:
        if not layers or min(layers) < 1:
            raise ValueError(f"critic_layers ({layers}) must be one or more numbers of units, each at least 1")
        return layers

    @model_validator(mode="after")
    def _siblings_fit(self) -> PPOOptions:
        if self.baseline == "siblings" and self.siblings < 2:
            raise ValueError("baseline siblings needs at least 2 siblings: one replay has none to be compared with")
        if self.reward == "waiting" and self.baseline == "siblings":
            raise ValueError(
                "the reward waiting comes on the way, and siblings cannot be compared by it: set baseline to critic"
            )
        if self.trajectories % self.siblings:
            raise ValueError(f"trajectories ({self.trajectories}) must be a multiple of siblings ({self.siblings})")
        return self


PAPER_PPO = PPOOptions(
    layout="paper",
    epochs=100,
    trajectories=100,
    siblings=1,
    reward="plain",
    baseline="critic",
    passes=80,
    minibatch=0,
    kl_limit=0.015,
    policy_rate=3e-4,
)
"""RLScheduler's hyper-parameters: section V-A of the paper, and its code where the paper is silent. There the paper's rate
of 1e-3 is that of the critic."""


PIPELINE_PPO = PPOOptions(epochs=40, filtered_epochs=30, trajectories=32, siblings=8, policy_rate=3e-3)
"""What the pipeline trains with, from random weights, on windows that begin on an empty cluster. `python -m studies learning` shows
other settings."""


AGENT_PPO = PPOOptions(
    layout="picking", reward="waiting", horizon_s=20_000.0, baseline="critic", siblings=1, policy_rate=3e-3
)
"""Of agents that pick or inspect. The cost of a choice shows soon, in the waiting that follows, and not only at the end of a window."""


PAPER_INSPECTOR = PAPER_PPO.model_copy(update={"layout": "inspector-paper", "reward": "improvement"})
"""SchedInspector's hyper-parameters, which are RLScheduler's, with its inputs and its reward."""


class EvolutionOptions(BaseModel):
    """Hyper-parameters of evolution strategies (Salimans et al. 2017)."""

    generations: int = Field(default=40, ge=1, description="Generations")
    pairs: int = Field(default=12, ge=1, description="Antithetic pairs of candidates a generation")
    windows: int = Field(default=8, ge=1, description="Windows that every candidate of a generation replays")
    spread: float = Field(default=0.05, gt=0, description="Standard deviation of the perturbations")
    rate: float = Field(default=0.03, gt=0, description="Adam learning rate, falling to a tenth")
    validate_every: int = Field(default=4, ge=1, description="Generations from one validation to the next")


class ImitationOptions(BaseModel):
    """Hyper-parameters of cloning."""

    passes: int = Field(default=20, ge=1, description="Passes over the recorded choices")
    minibatch: int = Field(default=512, ge=1, description="Choices in a gradient step")
    rate: float = Field(default=3e-3, gt=0, description="Adam learning rate, falling to zero")


class HindsightOptions(BaseModel):
    """How long simulated annealing searches for the best order of a window."""

    orders: int = Field(default=1500, ge=1, description="Orders that are replayed for each window")
    temperature: float = Field(
        default=0.01,
        gt=0,
        description="Rise of the cost, as a share of the first order's, accepted one time in e at first",
    )


class KeySearchOptions(BaseModel):
    """How long to search for the best priority key."""

    random_keys: int = Field(default=200, ge=1, description="Keys drawn at random")
    steps: int = Field(default=200, ge=0, description="Keys that CMA-ES tries after that, from the best of them")
    caps: bool = Field(default=True, description="Whether keys have a cap. The published protocols have none")
    windows: int = Field(default=40, ge=1, description="Windows that every key replays, in published protocols only")


Launcher = Literal["torchrun", "ray"]
"""torchrun starts workers on one machine or inside an allocation, and ray by Ray Train on a Ray cluster."""


class WorkerOptions(BaseModel):
    """How many workers train a policy by PPO, and how (DD-PPO, Wijmans et al. 2019)."""

    workers: int = Field(default=1, ge=1, description="Workers that replay windows and take gradient steps together")
    launcher: Launcher = Field(default="torchrun", description="What starts them: torchrun or ray")
    sync_fraction: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Share of the workers that must have finished an epoch's windows before the others stop theirs, 1 for never",
    )
    backlog_policy: str | None = Field(
        default=None,
        description="Name of the policy whose replay gives windows their backlogs. None takes the learning policy, in every epoch",
    )
    timeout_s: float = Field(
        default=60.0, gt=0, description="Seconds after which a worker that does not answer counts as lost"
    )
    restarts: int = Field(default=3, ge=0, description="How often all workers start again where one was lost")


class PopulationOptions(BaseModel):
    """Population-based training (Jaderberg et al. 2017) of PPO's learning rate, exploration and batch size, by seeded draws."""

    members: int = Field(default=8, ge=2, description="Policies that are trained beside each other")
    interval: int = Field(default=5, ge=1, description="Epochs of a generation, after which members are compared")
    replaced: int = Field(
        default=2, ge=1, description="Worst members that continue from a copy of one of as many best ones"
    )
    drawn: bool = Field(
        default=True,
        description="Draw the first hyper-parameters of each member. If false, all begin with those of ppo",
    )
    exploit: bool = Field(
        default=True, description="Replace the worst members after a generation. If false, it is a random search"
    )

    @model_validator(mode="after")
    def _some_are_kept(self) -> PopulationOptions:
        if 2 * self.replaced > self.members:
            raise ValueError(f"replaced ({self.replaced}) must be at most half of the members ({self.members})")
        return self


class Recipe(BaseModel):
    """How a policy is learned."""

    method: LearningMethod = Field(
        default="ppo",
        description="ppo: as in RLScheduler. evolution: evolution strategies. imitation: of a search that sees the future",
    )
    start: StartingPoint = Field(
        default="saf",
        description="What training starts from: nothing (random weights), key (a network that has copied the tuned priority key), "
        "saf (one that orders by area, smallest first), or best (key or saf, whichever costs less on windows to learn from)",
    )
    cautious: bool = Field(
        default=True,
        description="Keep what training starts from unless the best epoch dominates it beyond chance on jobs kept for this",
    )
    accept_trade: bool = Field(
        default=False,
        description="Also take a policy that trades. It is better on average, and some jobs wait longer, but not twice as long",
    )
    ppo: PPOOptions = PPOOptions()
    evolution: EvolutionOptions = EvolutionOptions()
    imitation: ImitationOptions = ImitationOptions()
    hindsight: HindsightOptions = HindsightOptions()
    key: KeySearchOptions = KeySearchOptions()
    shown_windows: int = Field(
        default=40, ge=1, description="Windows on which the priority key is shown to the network"
    )
    hindsight_windows: int = Field(default=150, ge=1, description="Windows whose best order is searched and imitated")

    @property
    def epochs(self) -> int:
        """Steps of progress that the method reports."""
        return int(getattr(getattr(self, self.method), EPOCH_FIELDS[self.method]))

    def shortest(self) -> Recipe:
        """The same recipe with as little of everything as it can have."""
        changes: dict[str, dict[str, int]] = {
            "ppo": {"epochs": 1, "filtered_epochs": 0, "trajectories": self.ppo.siblings, "passes": 1},
            "evolution": {"generations": 1, "pairs": 1, "windows": 1},
            "imitation": {"passes": 1},
            "hindsight": {"orders": 2},
            "key": {"random_keys": 2, "steps": 0, "windows": 1},
        }
        options = {name: getattr(self, name).model_copy(update=each) for name, each in changes.items()}
        return self.model_copy(update=options | {"shown_windows": 1, "hindsight_windows": 1})

    def with_epochs(self, epochs: int) -> Recipe:
        """The same recipe with another number of epochs, generations or passes."""
        options = getattr(self, self.method).model_copy(update={EPOCH_FIELDS[self.method]: epochs})
        return self.model_copy(update={self.method: options})


EPOCH_FIELDS: dict[LearningMethod, str] = {"ppo": "epochs", "evolution": "generations", "imitation": "passes"}
"""What each method calls its epochs."""
