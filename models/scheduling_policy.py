"""The learned scheduling policy: its networks in torch, and its file.

Policy: RLScheduler's kernel network (Zhang et al. 2020, figure 5), 32-16-8 and one output per waiting job, 961
parameters with eight features. The compiled engine runs the same weights (simulator/network.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.network import FEATURES, HIDDEN, NUM_FEATURES, KernelWeights

if TYPE_CHECKING:
    import torch

FORMAT = "tracehouse kernel network 1"


def kernel_network() -> torch.nn.Sequential:
    """(rows, NUM_FEATURES) -> (rows, 1): a score per waiting job. No bias at the output: a softmax ignores it."""
    from torch import nn

    layers: list[nn.Module] = []
    width = NUM_FEATURES
    for hidden in HIDDEN:
        layers += [nn.Linear(width, hidden), nn.ReLU()]
        width = hidden
    return nn.Sequential(*layers, nn.Linear(width, 1, bias=False))


def to_weights(network: torch.nn.Sequential) -> KernelWeights:
    """The network's parameters as the compiled engine reads them: float32, matrices (inputs, outputs)."""
    w1, b1, w2, b2, w3, b3, w4 = (p.detach().numpy().astype(np.float32) for p in network.parameters())
    return KernelWeights(
        np.ascontiguousarray(w1.T), b1, np.ascontiguousarray(w2.T), b2, np.ascontiguousarray(w3.T), b3, w4.reshape(-1)
    )


def policy_to_bytes(weights: KernelWeights, card: dict[str, Any]) -> bytes:
    """Weights and card (trace, goal, seed, scores) as JSON; the same arguments give the same bytes."""
    document = {
        "format": FORMAT,
        "features": list(FEATURES),
        "card": card,
        "weights": {name: getattr(weights, name).tolist() for name in weights._fields},
    }
    return json.dumps(document, indent=1).encode()


def policy_from_bytes(content: bytes) -> tuple[KernelWeights, dict[str, Any]]:
    """(weights, card), the inverse of `policy_to_bytes`. Raises ValueError for anything else."""
    try:
        document = json.loads(content)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"not a policy file ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT or document.get("features") != list(FEATURES):
        raise ValueError(f"not a policy of this tracehouse (expected {FORMAT!r}); train it again")
    weights = (np.array(document["weights"][name], dtype=np.float32) for name in KernelWeights._fields)
    return KernelWeights(*weights), document["card"]


def load_policy(path: Path) -> tuple[KernelWeights, dict[str, Any]]:
    """(weights, card) of a policy file. Raises ValueError naming the file when it is not one of this version."""
    try:
        return policy_from_bytes(path.read_bytes())
    except FileNotFoundError:
        raise ValueError(f"{path}: no such policy file; train one with `tracehouse run`") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
