"""A network of RLSchert's paper in a file: its kind, the cluster it is for, its weights in base64, and a card. Never a pickle."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import numpy as np
import torch

from papers.kept_files import short_floats
from papers.rlschert.networks import new_rlschert_network
from papers.rlschert.training import RLSchertPolicy

NETWORK_FORMAT = "tracehouse rlschert network 1"


def network_to_bytes(policy: RLSchertPolicy, procs: int, card: dict[str, Any]) -> bytes:
    """The content of the file, with weights of eight significant bits. The same network gives the same bytes. procs: of the cluster."""
    weights = {
        name: [list(part.shape), base64.b64encode(short_floats(part.numpy()).astype("<f4").tobytes()).decode()]
        for name, part in policy.network.state_dict().items()
    }
    document = {
        "format": NETWORK_FORMAT,
        "kind": policy.kind,
        "kills": policy.kills,
        "procs": procs,
        "weights": weights,
    }
    return json.dumps(document | {"card": card, "sha256": _digest(document)}, indent=1).encode()


def network_from_bytes(content: bytes) -> tuple[RLSchertPolicy, dict[str, Any]]:
    """The policy and its card. Raises ValueError for what is no such file, or a damaged one."""
    try:
        document = json.loads(content)
        if document["format"] != NETWORK_FORMAT:
            raise ValueError(f"of format {document['format']!r}, expected {NETWORK_FORMAT!r}")
        if document["sha256"] != _digest(document):
            raise ValueError("the weights are not those that were written, their hash differs")
        network = new_rlschert_network(document["kind"], document["procs"], document["kills"])
        weights = {
            name: torch.from_numpy(np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float32).reshape(shape))
            for name, (shape, text) in document["weights"].items()
        }
        network.load_state_dict(weights)
    except (KeyError, TypeError, UnicodeDecodeError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"no network of RLSchert, or a damaged one ({error}): take it from the archive again"
        ) from None
    return RLSchertPolicy(network, document["kind"], document["kills"]), document["card"]


def _digest(document: dict[str, Any]) -> str:
    hashed = json.dumps([document[name] for name in ("kind", "kills", "procs", "weights")], sort_keys=True)
    return hashlib.sha256(hashed.encode()).hexdigest()
