"""Deep Back-Filling's training: PPO with one update for each episode (Wang, Harwood and Rodriguez, HPCC 2022, section IV-A).

Where the paper is silent: papers/deep_back_filling/options.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models.scheduling.learning.adam import Adam
from models.scheduling.learning.checkpoint import Checkpoint, train_epochs
from models.scheduling.learning.choices import advantages, clipped_choices
from papers.deep_back_filling.episodes import PlacingBatch, placing_inputs
from papers.deep_back_filling.networks import ActorCritic
from papers.deep_back_filling.options import DeepBackFillingOptions
from papers.deep_back_filling.playing import DecisionRecorder, Recorded, play_episodes
from papers.deep_back_filling.protocol import protocol_metrics
from papers.deep_back_filling.trials import (
    CheckpointTest,
    metrics_from_tensors,
    metrics_to_tensors,
    new_network,
    training_jobs,
    try_checkpoint,
    with_longest,
)
from simulator.jobs.jobs import Jobs

VALUED = 512
"""Decisions that the critic values at a time."""


@dataclass(frozen=True)
class UpdateReport:
    """One update of the training. episodes: trained so far. The rest is of the episodes just played, before the update.

    reward: sum of an episode. wait_placed, wait_arrived: seconds. kl: approximate divergence in the last pass. entropy: nats.
    value_error: mean squared error of the critic in the last pass.
    """

    episodes: int
    decisions: int
    reward: float
    wait_placed: float
    wait_arrived: float
    queue: float
    use: float
    invisible: float
    partly_observed: float
    kl: float
    entropy: float
    value_error: float


@dataclass(frozen=True)
class TrainedPlacing:
    """A training of one seed: the networks at its end, its curve, and what every checkpoint was worth.

    options: with the run time that counts as 1.
    """

    network: ActorCritic
    options: DeepBackFillingOptions
    curve: list[UpdateReport]
    tests: list[CheckpointTest]


def train_deep_back_filling(
    jobs: Jobs,
    cluster_procs: int,
    options: DeepBackFillingOptions,
    seed: int,
    checkpoint: Path | None = None,
    on_update: Callable[[UpdateReport], None] = lambda report: None,
    on_test: Callable[[CheckpointTest, ActorCritic | None], None] = lambda test, network: None,
) -> TrainedPlacing:
    """Trains one agent on the first part of the trace, and tests it after every `checkpoint_every` episodes and at the end.

    jobs: the trace, without cancellations. checkpoint: a file that is written on the way. Training goes on from it where it is of the
    same training, and the result is the same as without an interruption. More episodes than before go on from it, too.
    on_update, on_test: called for what the file has, and then for what is new. The network is None for a test that the file has.
    Same arguments and seed, same bytes. Raises ValueError for a trace that is too short, when training diverges, and for a file with
    more episodes than are asked for.
    """
    torch.set_num_threads(1)
    options = with_longest(jobs, options)
    learner = PlacingLearner(jobs, cluster_procs, options, seed)
    trainee = _TestedLearner(learner, partial(try_checkpoint, learner.network, jobs, cluster_procs, options), on_test)
    kept = Checkpoint(checkpoint, _fingerprint(jobs, cluster_procs, options, seed))
    every = options.update_episodes

    def is_kept(update: int) -> bool:
        steps = options.checkpoint_every, options.save_every
        return any(_passes(step, (update - 1) * every, update * every) for step in steps)

    train_epochs(trainee, -(-options.episodes // every), kept, on_update, is_kept)
    if not trainee.tests or trainee.tests[-1].episodes < learner.episodes:
        trainee.test_now()
        kept.keep(trainee.to_state())
    return TrainedPlacing(learner.network, options, trainee.curve, trainee.tests)


class _TestedLearner:
    """A learner that is tested on the way. tests: so far."""

    def __init__(
        self,
        learner: PlacingLearner,
        test: Callable[[int], CheckpointTest],
        on_test: Callable[[CheckpointTest, ActorCritic | None], None],
    ) -> None:
        """test: what the network is worth after so many episodes."""
        self._learner, self._test, self._on_test = learner, test, on_test
        self.curve: list[UpdateReport] = []
        self.tests: list[CheckpointTest] = []

    def begin(self) -> None:
        """Nothing comes before the first update."""

    def run_epoch(self, epoch: int) -> UpdateReport:
        """One update, and a test where it is time for one. Raises ValueError when training diverges."""
        before = self._learner.episodes
        self.curve.append(self._learner.learn())
        if _passes(self._learner.options.checkpoint_every, before, self._learner.episodes):
            self.test_now()
        return self.curve[-1]

    def test_now(self) -> None:
        """Tests the network as it is."""
        self.tests.append(self._test(self._learner.episodes))
        self._on_test(self.tests[-1], self._learner.network)

    def to_state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        curve = [asdict(report) for report in self.curve]
        return {
            "learner": self._learner.to_state(),
            "curve": curve,
            "tests": [_test_to_state(one) for one in self.tests],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`, but the test at the end of a shorter training is left out. Raises ValueError for a state with
        more episodes than are asked for."""
        learner, options = self._learner, self._learner.options
        learner.load_state(state["learner"])
        if learner.episodes >= options.episodes + options.update_episodes:
            raise ValueError(
                f"the checkpoint has {learner.episodes} episodes of this training: ask for as many, or remove it to begin again"
            )
        self.curve = [UpdateReport(**report) for report in state["curve"]]
        for test in map(_test_from_state, state["tests"]):
            before = test.episodes - options.update_episodes
            if test.episodes >= options.episodes or _passes(options.checkpoint_every, before, test.episodes):
                self.tests.append(test)
                self._on_test(test, None)


class PlacingLearner:
    """Networks and optimiser between two updates."""

    def __init__(self, jobs: Jobs, cluster_procs: int, options: DeepBackFillingOptions, seed: int) -> None:
        """jobs: the trace, of which the first part is trained on. options: with the run time that counts as 1."""
        count = training_jobs(len(jobs), options)
        self._jobs, self._procs = jobs.window(0, count), cluster_procs
        self.options, self._seed = options, seed
        torch.manual_seed(seed)
        self.network = new_network(cluster_procs, options)
        self._optimiser = Adam(self.network.parameters(), lr=options.rate)
        rules = options.placing_rules(options.training_later)
        self._batch = PlacingBatch(self._jobs, cluster_procs, options.update_episodes, rules)
        self._recorder = DecisionRecorder(placing_inputs(cluster_procs, options.slots), options.slots + 1)
        self.episodes = 0

    def learn(self) -> UpdateReport:
        """Plays episodes and takes one update. Raises ValueError when training diverges."""
        options, batch = self.options, self._batch
        rng = np.random.default_rng([self._seed, self.episodes])  # so that training can be continued
        first = rng.integers(0, len(self._jobs) - options.training_later + 1, options.update_episodes)
        self._recorder.clear()
        rewards = play_episodes(self.network.actor, batch, first, rng, self._recorder)
        metrics = protocol_metrics(self._jobs, self._procs, first, batch.start, options.placed, options.slots)
        recorded = self._recorder.recorded(options.update_episodes)
        kl, entropy, value_error = self._update(recorded, rng)
        self.episodes += options.update_episodes
        if not np.isfinite(value_error + kl):
            raise ValueError(f"training with seed {self._seed} diverged by episode {self.episodes}: lower rate")
        means = {
            name: float(getattr(metrics, name).mean())
            for name in ("wait_placed", "wait_arrived", "queue", "use", "invisible", "partly_observed")
        }
        decisions, reward = len(recorded.action), float(rewards.mean())
        return UpdateReport(self.episodes, decisions, reward, **means, kl=kl, entropy=entropy, value_error=value_error)

    def _update(self, recorded: Recorded, rng: np.random.Generator) -> tuple[float, float, float]:
        """Clipped steps over the decisions. Returns KL divergence, entropy and value error in the last pass."""
        options, count = self.options, len(recorded.action)
        seen, action = torch.from_numpy(recorded.features), torch.from_numpy(recorded.action)
        with torch.inference_mode():
            values = torch.cat([self.network.critic(part).squeeze(-1) for part in seen.split(VALUED)]).numpy()
            log_probs = torch.log_softmax(torch.from_numpy(recorded.logits), dim=1)
        old = log_probs.gather(1, action[:, None]).squeeze(1).clone()
        gained, target = _advantages_of(recorded, values, options)
        sums = np.zeros(3)
        for _ in range(options.passes):
            order = torch.from_numpy(rng.permutation(count))
            sums[:] = 0.0
            for part in order.split(options.minibatch):
                sums += self._step(seen[part], action[part], old[part], gained[part], target[part])
        kl, entropy, value_error = (sums / count).tolist()
        return kl, entropy, value_error

    def _step(
        self, seen: torch.Tensor, action: torch.Tensor, old: torch.Tensor, gained: torch.Tensor, target: torch.Tensor
    ) -> NDArray[np.float64]:
        """One gradient step. Returns sums of KL divergence, entropy and squared value errors over its decisions."""
        options = self.options
        logits, values = self.network(seen, options.half_precision)
        log_probs = torch.log_softmax(logits, dim=1)
        gain, entropy, kl = clipped_choices(log_probs, action, old, gained, options.clip)
        wrong = ((values - target) ** 2).mean()
        loss = options.value_weight * wrong - gain
        if options.entropy_weight > 0:
            loss = loss - options.entropy_weight * entropy
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        means = torch.stack([kl, entropy, wrong]).detach()
        return len(action) * means.numpy().astype(np.float64)

    def to_state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {
            "network": self.network.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "episodes": self.episodes,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        self.network.load_state_dict(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.episodes = state["episodes"]


def _advantages_of(
    recorded: Recorded, values: NDArray[np.float32], options: DeepBackFillingOptions
) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised advantages, and the discounted rewards that followed, float32 (decisions,)."""
    count = len(values)
    gained, target = np.empty((2, count), dtype=np.float32)
    discount = np.full(count, options.gamma)
    advantages(values, recorded.reward, discount, recorded.first_decision, options.gae_lambda, gained, target)
    gained = (gained - gained.mean()) / (gained.std() + 1e-8)
    return torch.from_numpy(gained), torch.from_numpy(target)


def _passes(every: int, before: int, after: int) -> bool:
    """Whether a multiple of `every` was reached."""
    return after // every > before // every


def _fingerprint(jobs: Jobs, cluster_procs: int, options: DeepBackFillingOptions, seed: int) -> str:
    """Which training this is: a hash of all that it depends on."""
    digest = hashlib.sha256()
    for column in (jobs.submit, jobs.runtime, jobs.procs, jobs.estimate, jobs.limit, jobs.hold, jobs.admit):
        digest.update(column.tobytes())
    settings = options.model_dump(exclude={"save_every", "seeds", "episodes"})
    digest.update(json.dumps(["deep back-filling", cluster_procs, settings, seed], sort_keys=True).encode())
    return digest.hexdigest()


def _test_to_state(test: CheckpointTest) -> dict[str, Any]:
    of_both = {name: metrics_to_tensors(getattr(test, name)) for name in ("likeliest", "drawn")}
    return {"episodes": test.episodes} | of_both


def _test_from_state(state: dict[str, Any]) -> CheckpointTest:
    likeliest, drawn = (metrics_from_tensors(state[name]) for name in ("likeliest", "drawn"))
    return CheckpointTest(state["episodes"], likeliest, drawn)
