"""The learned scheduling policy: its networks in torch, and its file.

Policy: RLScheduler's kernel network (Zhang et al. 2020, figure 5), 32-16-8 and one output per waiting job, 961
parameters with eight features. The compiled engine runs the same weights (simulator/network.py).
"""

from __future__ import annotations

import hashlib
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


def save_policy(weights: KernelWeights, card: dict[str, Any], path: Path) -> str:
    """Writes weights and card (trace, goal, seed, scores) as JSON; returns the file's SHA-256."""
    document = {
        "format": FORMAT,
        "features": list(FEATURES),
        "card": card,
        "weights": {name: getattr(weights, name).tolist() for name in weights._fields},
    }
    content = json.dumps(document, indent=1).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(content)
    temporary.replace(path)
    return hashlib.sha256(content).hexdigest()


def load_policy(path: Path) -> tuple[KernelWeights, dict[str, Any]]:
    """(weights, card) of a policy file. Raises ValueError naming the file when it is not one of this version."""
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError:
        raise ValueError(f"{path}: no such policy file; train one with `tracehouse run`") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: not a policy file ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT or document.get("features") != list(FEATURES):
        raise ValueError(f"{path}: not a policy of this tracehouse (expected {FORMAT!r}); train it again")
    weights = KernelWeights(*(np.array(document["weights"][name], dtype=np.float32) for name in KernelWeights._fields))
    return weights, document["card"]
