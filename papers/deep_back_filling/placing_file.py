"""An agent of Deep Back-Filling in the mode of the paper, as a file: the actor's weights, what its state is made for, and a card.

It is JSON with the weights in base64, never a pickle. The networks of our own mode have files of another kind
(models/scheduling/policy_file.py).
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from models.scheduling.policy_file import PLACING_KIND
from papers.deep_back_filling.episodes import PlacingBatch, PlacingRules, placing_inputs
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.replayer import Outcome

if TYPE_CHECKING:
    from torch import nn

PLACING_FORMAT = f"{PLACING_KIND} 1"
_NUMBERS = ("cluster_procs", "front", "back", "longest_s")
Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True)
class PlacingAgent:
    """A trained actor, which decides all starts, and what its state is made for.

    cluster_procs: cores in the state. front, back: slots at the front of the queue and at its end. longest_s: the run time that counts
    as 1, seconds. layers: of each the weights (outputs, inputs) and the biases (outputs,). card: what it was trained on.
    """

    cluster_procs: int
    front: int
    back: int
    longest_s: int
    layers: tuple[Layer, ...] = field(repr=False)
    card: dict[str, Any] = field(default_factory=dict)
    honours: ClassVar = frozenset({"backfill", "agent", "estimates", "nodes"})

    @property
    def made_for(self) -> str:
        """In words, for messages."""
        window = f"the first {self.front} and the last {self.back} waiting jobs"
        return f"a cluster of {self.cluster_procs} processors and a window of {window}"

    def rules(self, jobs: int) -> PlacingRules:
        """An episode over so many jobs, which is over when all are placed."""
        return PlacingRules(self.front, self.back, jobs, jobs, longest_s=self.longest_s, threads=1)

    def actor(self) -> nn.Module:
        """The network: (decisions, inputs) -> (decisions, actions)."""
        from papers.deep_back_filling.networks import actor_of

        return actor_of(self.layers)

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """One episode from the first job on, until all jobs are placed, by the likeliest action every time.

        jobs: without cancellations. Raises ValueError as papers.deep_back_filling.episodes.PlacingBatch does.
        """
        import torch

        from papers.deep_back_filling.networks import play_episodes

        torch.set_num_threads(1)  # so that the same agent decides alike wherever it runs
        batch = PlacingBatch(jobs, cluster.procs, 1, self.rules(len(jobs)))
        play_episodes(self.actor(), batch, np.zeros(1, dtype=np.int64), None)
        return Outcome(Schedule(batch.start[0].copy(), batch.backfilled[0].copy()))


def placing_to_bytes(agent: PlacingAgent) -> bytes:
    """The content of the file; the same agent gives the same bytes."""
    layers = [
        {"shape": list(weights.shape), "weights": _text(weights), "biases": _text(biases)}
        for weights, biases in agent.layers
    ]
    document = {"format": PLACING_FORMAT} | {name: getattr(agent, name) for name in _NUMBERS} | {"layers": layers}
    return json.dumps(document | {"card": agent.card, "sha256": _digest(document)}, indent=1).encode()


def load_placing(path: Path) -> PlacingAgent:
    """The inverse of `placing_to_bytes`. Raises ValueError that names the file and says what is wrong with it."""
    try:
        return placing_from_bytes(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error})") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: not an agent's file, or one that is cut short ({error})") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: no agent that places jobs, or damaged ({error}): train it again") from None


def placing_from_bytes(content: bytes) -> PlacingAgent:
    """The inverse of `placing_to_bytes`. Raises KeyError, TypeError or ValueError for other content."""
    return _agent_of(json.loads(content))


def _agent_of(document: dict[str, Any]) -> PlacingAgent:
    if document["format"] != PLACING_FORMAT:
        raise ValueError(f"of another tracehouse: {document['format']!r}, expected {PLACING_FORMAT!r}")
    if document["sha256"] != _digest(document):
        raise ValueError("the weights are not those that were written, their hash differs")
    numbers = {name: int(document[name]) for name in _NUMBERS}
    layers = []
    for layer in document["layers"]:
        outputs, inputs = layer["shape"]
        layers.append((_array(layer["weights"]).reshape(outputs, inputs), _array(layer["biases"]).reshape(outputs)))
    agent = PlacingAgent(**numbers, layers=tuple(layers), card=document["card"])
    sizes = [layers[0][0].shape[1], *(weights.shape[0] for weights, _ in layers)]
    expected = placing_inputs(agent.cluster_procs, agent.front + agent.back), agent.front + agent.back + 1
    chained = all(weights.shape[1] == size for (weights, _), size in zip(layers, sizes, strict=False))
    if not chained or (sizes[0], sizes[-1]) != expected:
        raise ValueError(
            f"its layers have {sizes} units, and {agent.made_for} needs {expected[0]} inputs and {expected[1]} outputs"
        )
    return agent


def _text(array: NDArray[np.float32]) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()


def _array(text: str) -> NDArray[np.float32]:
    array = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").astype(np.float32)
    if not np.isfinite(array).all():
        raise ValueError("a weight is not a number")
    return array


def _digest(document: dict[str, Any]) -> str:
    hashed = json.dumps([document[name] for name in (*_NUMBERS, "layers")], sort_keys=True)
    return hashlib.sha256(hashed.encode()).hexdigest()
