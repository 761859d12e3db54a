"""Hyper-parameters of Deep Back-Filling in the mode of the paper, and how its text is read where it leaves something open."""

from __future__ import annotations

from pydantic import BaseModel, Field, model_validator

from papers.deep_back_filling.episodes import PlacingRules
from papers.deep_back_filling.protocol import LATER_JOBS, PLACED_JOBS, START_EPISODES


class DeepBackFillingOptions(BaseModel):
    """Defaults: section IV-A of the paper, and where that is silent what PPO usually has. The window is that of Fig. 3.

    How the paper is read where its text is open:

    1. The number of a core is the *remaining* time of its job by estimate, over the longest run time. The formula has the time that
       has passed, the sentence below it the time that remains; what has passed tells no release. The scale is printed as 1 / (r_max s)
       and read as s / r_max. Waits are divided by 12 h and cut there, because the longest wait cannot be known while it is needed.
    2. Use, and whether a job fits, count processors, where the formulas count jobs. A job ends at submission + wait + run time.
    3. The paper's "SJF" takes the job with the fewest cores. We run that rule and the shortest job first. Its slowdown of 73.3 is
       RLScheduler's cell of shortest jobs first, with that code's backfilling. Slowdowns have a bound of 10 s. Rivals backfill by
       EASY here; papers/rlscheduler/rules.py has the other way.
    4. With no more jobs than the window has slots, each job has one slot: slots at the end take only jobs that have none at the
       front. The others are zero, and invalid actions.
    5. The reward of letting time go on is that of the state before the clock moves, whatever time passes then. The maxima in it are of
       the episode so far. 0 / 0 is 0.
    6. The agent is asked also where nothing fits or nobody waits, and all actions are allowed. Jobs of one second arrive one by one.
    7. Waits are reported of the placed jobs and of the arrived jobs. An episode begins early enough that `later` jobs are left.
    8. The paper says both that waits in the reward prevent starving and that big jobs starve. So the share of wide jobs placed, and
       the 99th percentile and the longest of the waits are reported.
    9. Unstated, and ours: lambda 0.95, four passes, Adam, tanh, no entropy bonus, two networks that share nothing, five seeds.
       Advantages are normalised over an update. The critic learns the discounted rewards that followed, and nothing follows an
       episode's end. Layers are initialised as torch does, with the last one of the actor made small. Policies are tried with the
       likeliest action and with drawn ones.

    Two more are open. The paper trains 100,000 episodes, and `episodes` is what two cores can do. It tests on the jobs that it trains
    on; by default we do not (`cut`). Rows that share weights, and facts about the whole queue, belong to our own mode, not to this one.
    """

    front: int = Field(default=20, ge=0, description="Slots at the front of the queue, the paper's M_h")
    back: int = Field(default=0, ge=0, description="Slots at the end of the queue, newest first, the paper's M_t")
    use_weight: float = Field(default=1 / 3, ge=0, le=1, description="w1 of the reward: idle processors (equation 2)")
    queue_weight: float = Field(default=1 / 3, ge=0, le=1, description="w2 of the reward: length of the queue")
    wait_weight: float = Field(default=1 / 3, ge=0, le=1, description="w3 of the reward: summed waits of the queue")
    hidden: tuple[int, ...] = Field(
        default=(1024, 512, 256), min_length=1, description="Units of the hidden layers of actor and critic"
    )
    gamma: float = Field(default=0.99, gt=0, le=1, description="Discount of a decision")
    gae_lambda: float = Field(default=0.95, ge=0, le=1, description="Lambda of the advantages")
    passes: int = Field(default=4, ge=1, description="Passes over the decisions of an update")
    minibatch: int = Field(default=128, ge=1, description="Decisions in a gradient step")
    rate: float = Field(default=3e-4, gt=0, description="Adam learning rate")
    clip: float = Field(default=0.2, gt=0, description="Clip range of the probability ratio")
    entropy_weight: float = Field(default=0.0, ge=0, description="Weight of an entropy bonus")
    value_weight: float = Field(default=0.5, gt=0, description="Weight of the critic's squared error")
    half_precision: bool = Field(
        default=False,
        description="Whether gradient steps multiply the hidden layers in bfloat16: half the time on processors that can do so. "
        "Episodes are played in float32 either way",
    )
    placed: int = Field(default=PLACED_JOBS, ge=1, description="Jobs placed that end an episode")
    later: int = Field(default=LATER_JOBS, ge=1, description="Jobs of the trace that a test episode may come to see")
    training_later: int = Field(
        default=2500,
        ge=1,
        description="The same of a training episode: once they have arrived nothing does any more. Random agents with eight slots at "
        "the front came to see 2,000 on Lublin-1",
    )
    longest_s: int | None = Field(
        default=None, ge=1, description="Run time that counts as 1, seconds; none is the longest estimate of the trace"
    )
    cut: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="Share of the trace that is trained on. Tests begin behind it. With 1 they are on the same jobs, as in the paper",
    )
    episodes: int = Field(default=5000, ge=1, description="Training episodes; the paper has 100,000")
    update_episodes: int = Field(default=1, ge=1, description="Episodes played before an update; the paper has 1")
    checkpoint_every: int = Field(
        default=5000, ge=1, description="Training episodes from one tested policy to the next"
    )
    save_every: int = Field(default=100, ge=1, description="Training episodes after which an interrupted run goes on")
    test_episodes: int = Field(default=START_EPISODES, ge=1, description="Episodes that each checkpoint is tested on")
    seeds: tuple[int, ...] = Field(default=(1, 2, 3, 4, 5), min_length=1, description="Trainings, one for each seed")

    @model_validator(mode="after")
    def _fits_together(self) -> DeepBackFillingOptions:
        if self.front + self.back < 1:
            raise ValueError("front + back must be at least 1: the agent needs a slot")
        if self.placed > min(self.later, self.training_later):
            raise ValueError(f"placed ({self.placed}) must not be above later and training_later")
        return self

    @property
    def slots(self) -> int:
        """Visible jobs, the paper's M."""
        return self.front + self.back

    def placing_rules(self, later: int) -> PlacingRules:
        """The episodes that these options describe, on one thread. later: jobs that an episode may come to see."""
        weights = (self.use_weight, self.queue_weight, self.wait_weight)
        return PlacingRules(self.front, self.back, self.placed, later, weights, self.longest_s, threads=1)
