"""A trained repair operator as a file: weights, what they see, and a card that says where they come from.

The file is one JSON document. `weights` has the actor's matrices and biases, layer after layer as Table II prints them, each as its
shape and its float32 numbers, little end first, in base64. `sha256` is over all that decides. Reading it executes no code.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from models.allocation.neural.repair_networks import (
    REPAIR_NETWORKS,
    LayerArrays,
    RepairNetworkName,
    layer_arrays,
    repair_layers,
)
from models.allocation.neural.repairing import FEATURES, RepairView

REPAIR_FORMAT = "tracehouse repair network 1"
_DECIDES = ("network", "view", "seen_nodes", "largest", "weights")


@dataclass(frozen=True)
class RepairPolicy:
    """A repair operator. network: of Table II. view: what it sees of a node. seen_nodes: of how many. largest: size that counts as 1.

    weights: matrix and biases of each layer, float32.
    """

    network: RepairNetworkName
    view: RepairView
    seen_nodes: int
    largest: int
    weights: tuple[NDArray[np.float32], ...]

    @classmethod
    def of_actor(
        cls, actor: nn.Sequential, network: RepairNetworkName, view: RepairView, seen_nodes: int, largest: int
    ) -> RepairPolicy:
        """The policy of a torch network, whose weights are copied."""
        weights = tuple(part.detach().numpy().copy() for part in actor.parameters())
        return cls(network, view, seen_nodes, largest, weights)

    def softened(self, factor: float) -> RepairPolicy:
        """The same network with its logits times a factor: below 1, draws are nearer to equal chances."""
        last = tuple(part * np.float32(factor) for part in self.weights[-2:])
        return replace(self, weights=(*self.weights[:-2], *last))

    def layers(self) -> LayerArrays:
        """For compiled code. Raises ValueError for weights of another network."""
        features = FEATURES[self.view]
        actor = repair_layers(self.network, features, self.seen_nodes, self.seen_nodes)
        parts = list(actor.parameters())
        shapes, expected = [part.shape for part in self.weights], [tuple(part.shape) for part in parts]
        if shapes != expected:
            raise ValueError(
                f"{self.network} over {features} features of {self.seen_nodes} nodes has weights of the shapes {expected}, "
                f"not {shapes}: name the network, the view and the seen nodes that were trained, or train again"
            )
        with torch.no_grad():
            for part, weights in zip(parts, self.weights, strict=True):
                part.copy_(torch.from_numpy(weights))
        return layer_arrays(actor, features, self.seen_nodes)


def repair_to_bytes(policy: RepairPolicy, card: dict[str, Any]) -> bytes:
    """Policy and card (tree, options, seed, costs) as a file. The same arguments give the same bytes."""
    document = {
        "format": REPAIR_FORMAT,
        "network": policy.network,
        "view": policy.view,
        "seen_nodes": policy.seen_nodes,
        "largest": policy.largest,
        "weights": [
            [list(part.shape), base64.b64encode(part.astype("<f4").tobytes()).decode()] for part in policy.weights
        ],
    }
    return json.dumps(document | {"card": card, "sha256": _digest(document)}, indent=1).encode()


def repair_from_bytes(content: bytes) -> tuple[RepairPolicy, dict[str, Any]]:
    """(policy, card), the inverse of `repair_to_bytes`. Raises ValueError that says what is wrong for anything else."""
    try:
        document = json.loads(content)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not a repair network, or one that is cut short ({error})") from None
    if not isinstance(document, dict) or not str(document.get("format", "")).startswith("tracehouse repair network"):
        raise ValueError(f"not a repair network (expected the format {REPAIR_FORMAT!r})")
    if document["format"] != REPAIR_FORMAT:
        raise ValueError(f"a network of another tracehouse ({document['format']!r}): train it again")
    try:
        if document["sha256"] != _digest(document):
            raise ValueError("its hash differs from what was written")
        if document["network"] not in REPAIR_NETWORKS or document["view"] not in FEATURES:
            raise ValueError(f"no network {document['network']!r} with the view {document['view']!r}")
        weights = tuple(
            np.frombuffer(base64.b64decode(numbers), dtype="<f4").reshape(shape).astype(np.float32)
            for shape, numbers in document["weights"]
        )
        if not all(np.isfinite(part).all() for part in weights):
            raise ValueError("weights that are no numbers")
        policy = RepairPolicy(
            document["network"], document["view"], document["seen_nodes"], document["largest"], weights
        )
        card = document["card"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"damaged ({error}): copy the file again, or train it again") from None
    policy.layers()
    return policy, card


def load_repair_policy(path: Path) -> tuple[RepairPolicy, dict[str, Any]]:
    """(policy, card) of a file. Raises ValueError naming the file when it is not one of this version."""
    try:
        return repair_from_bytes(path.read_bytes())
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; train a repair network first") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error})") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _digest(document: dict[str, Any]) -> str:
    hashed = json.dumps([document[name] for name in _DECIDES], sort_keys=True)
    return hashlib.sha256(hashed.encode()).hexdigest()
