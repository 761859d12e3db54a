"""Actor and critic of Deep Back-Filling, in torch: two dense networks over the same flat observation, and the episodes that they play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from papers.deep_back_filling.episodes import PlacingBatch


class ActorCritic(nn.Module):
    """Two networks that share nothing. (decisions, inputs) -> logits (decisions, actions) and values (decisions,)."""

    def __init__(self, inputs: int, actions: int, hidden: tuple[int, ...]) -> None:
        """hidden: units of each hidden layer; between layers is tanh."""
        super().__init__()
        self.actor = _dense(inputs, hidden, actions)
        self.critic = _dense(inputs, hidden, 1)
        last = self.actor[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():  # nearly equal chances at first
            last.weight *= 0.01
            last.bias.zero_()

    def forward(self, seen: torch.Tensor, half: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values, float32. half: the hidden layers are multiplied in bfloat16, the last ones always in float32."""
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            decided, valued = self.actor[:-1](seen), self.critic[:-1](seen)
        return self.actor[-1](decided.float()), self.critic[-1](valued.float()).squeeze(-1)


def layers_of(actor: nn.Module) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]:
    """Of each layer of an actor the weights (outputs, inputs) and the biases (outputs,)."""
    layers = (layer for layer in actor.modules() if isinstance(layer, nn.Linear))
    return tuple((layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy()) for layer in layers)


def actor_of(layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> nn.Module:
    """The inverse of `layers_of`."""
    units = [weights.shape[0] for weights, _ in layers]
    actor = _dense(layers[0][0].shape[1], tuple(units[:-1]), units[-1])
    with torch.no_grad():
        for layer, (weights, biases) in zip(
            (each for each in actor if isinstance(each, nn.Linear)), layers, strict=True
        ):
            layer.weight.copy_(torch.from_numpy(weights))
            layer.bias.copy_(torch.from_numpy(biases))
    return actor


def _dense(inputs: int, hidden: tuple[int, ...], outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for units in hidden:
        layers += [nn.Linear(inputs, units), nn.Tanh()]
        inputs = units
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))


@dataclass(frozen=True)
class Recorded:
    """Decisions, episode by episode and in the order of time within one."""

    features: NDArray[np.float32]  # (decisions, inputs)
    logits: NDArray[np.float32]  # (decisions, actions), when they were made
    action: NDArray[np.int64]  # (decisions,)
    reward: NDArray[np.float64]  # (decisions,)
    first_decision: NDArray[np.int64]  # (episodes + 1,)


class DecisionRecorder:
    """Keeps decisions in arrays that grow, and that the next episodes overwrite."""

    def __init__(self, inputs: int, actions: int, capacity: int = 4096) -> None:
        """capacity: decisions at first."""
        self._columns: dict[str, NDArray[Any]] = {
            "features": np.empty((capacity, inputs), dtype=np.float32),
            "logits": np.empty((capacity, actions), dtype=np.float32),
            "action": np.empty(capacity, dtype=np.int64),
            "reward": np.empty(capacity),
            "episode": np.empty(capacity, dtype=np.int64),
        }
        self._used = 0

    def clear(self) -> None:
        """Forgets all decisions."""
        self._used = 0

    def add(self, **values: NDArray[Any]) -> None:
        """Decisions of different episodes at the same step: features, logits, action, reward and episode, one row each."""
        used, above = self._used, self._used + len(values["episode"])
        for name, column in self._columns.items():
            if above > len(column):
                grown = np.empty((2 * above, *column.shape[1:]), dtype=column.dtype)
                grown[:used] = column[:used]
                column = self._columns[name] = grown
            column[used:above] = values[name]
        self._used = above

    def recorded(self, episodes: int) -> Recorded:
        """What was kept since the last `clear`, as views where it is one episode. episodes: how many were played."""
        columns = {name: column[: self._used] for name, column in self._columns.items()}
        episode = columns.pop("episode")
        if episodes > 1:
            order = np.argsort(episode, kind="stable")
            columns = {name: column[order] for name, column in columns.items()}
        counts = np.bincount(episode, minlength=episodes)
        return Recorded(**columns, first_decision=np.concatenate([[0], np.cumsum(counts)]))


def play_episodes(
    actor: nn.Module,
    batch: PlacingBatch,
    first: NDArray[np.int64],
    rng: np.random.Generator | None,
    recorder: DecisionRecorder | None = None,
) -> NDArray[np.float64]:
    """Plays an episode from each of these jobs of the trace on. Then `batch.start` has the schedules.

    rng: actions are drawn with it; None takes the likeliest one. Returns the sum of each episode's rewards, float64 (episodes,).
    """
    sight = batch.reset(first)
    actions = np.zeros(len(first), dtype=np.int64)
    rewards = np.zeros(len(first))
    with torch.inference_mode():
        while True:
            episode = np.flatnonzero(sight.asking)
            if len(episode) == 0:
                return rewards
            features = sight.features[episode]
            logits = actor(torch.from_numpy(features)).numpy()
            drawn = logits if rng is None else logits + rng.gumbel(size=logits.shape)
            action = actions[episode] = drawn.argmax(axis=1)
            sight = batch.step(actions)
            reward = sight.reward[episode]
            rewards[episode] += reward
            if recorder is not None:
                recorder.add(features=features, logits=logits, action=action, reward=reward, episode=episode)
