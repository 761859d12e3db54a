"""A trained scheduling policy as a file: its weights, what they read, and a card that says what it was trained on and for."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from simulator.policies.agents import Agent, parse_agent
from simulator.policies.network import KernelWeights
from simulator.policies.observation import Layout, blank_network, layout_of

FORMAT = "tracehouse kernel network 2"
PLACING_KIND = "tracehouse placing network"
"""How the format of an agent that decides all starts begins (papers/deep_back_filling/placing_file.py)."""
_HASHED = ("facts", "signals", "weights")
WANTED_AGENT = (
    "this policy orders the queue: give it to --policy. An agent is trained with `tracehouse train --learn backfilling`, or "
    "--learn inspector"
)
WANTED_POLICY = (
    "this is an agent, which picks what is backfilled or inspects picks: give it to --backfill or --inspector"
)


def policy_to_bytes(weights: KernelWeights, card: dict[str, Any], agent: str | None = None) -> bytes:
    """Weights and card (trace, range, goal, seeds, scores) as JSON. The same arguments give the same bytes.

    agent: what the network decides, as simulator.policies.agents.parse_agent reads it. None for the order of the queue.
    """
    layout = layout_of(weights)
    document = {
        "format": FORMAT,
        **({} if agent is None else {"agent": agent}),
        "facts": list(layout.facts),
        "signals": list(layout.signals),
        "weights": {name: getattr(weights, name).tolist() for name in weights._fields[2:]},
    }
    return json.dumps(document | {"card": card, "sha256": _digest(document)}, indent=1).encode()


def is_placing_file(path: Path) -> bool:
    """Whether a file says of itself that it holds an agent that decides all starts. False for one that cannot be read."""
    try:
        with path.open("rb") as file:
            return PLACING_KIND.encode() in file.read(200)
    except OSError:
        return False


def policy_from_bytes(content: bytes) -> tuple[KernelWeights, dict[str, Any]]:
    """(weights, card), the inverse of `policy_to_bytes`. Raises ValueError that says what is wrong for anything else."""
    try:
        document = json.loads(content)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not a policy file, or one that is cut short ({error})") from None
    if isinstance(document, dict) and str(document.get("format", "")).startswith(PLACING_KIND):
        raise ValueError("this is an agent of Deep Back-Filling, which decides all starts: give it to --backfill")
    if isinstance(document, dict) and str(document.get("format", "")).startswith("tracehouse rlschert"):
        raise ValueError(
            "this is a network of RLSchert, which reads a plan image of 16 processors. No replay of a log has one: `python -m "
            "papers.rlschert.study networks` lets it schedule its own sequences of jobs"
        )
    if not isinstance(document, dict) or not str(document.get("format", "")).startswith("tracehouse kernel network"):
        raise ValueError(f"not a policy file (expected the format {FORMAT!r})")
    if document["format"] != FORMAT:
        raise ValueError(
            f"a policy of another tracehouse ({document['format']!r}, expected {FORMAT!r}): train it again"
        )
    try:
        layout = Layout(tuple(document["facts"]), tuple(document["signals"]))
        blank = blank_network(layout)
        weights = [np.array(document["weights"][name], dtype=np.float32) for name in KernelWeights._fields[2:]]
        card, written_digest = document["card"], document["sha256"]
        if not isinstance(card, dict) or not isinstance(card.get("trained_jobs", 0), int):
            raise ValueError("its card cannot be read")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"a policy for another observation layout, or damaged ({error}): train it again") from None
    for name, array, expected in zip(KernelWeights._fields[2:], weights, blank[2:], strict=True):
        if array.shape != expected.shape or not np.isfinite(array).all():
            raise ValueError(
                f"a policy for another observation layout, or damaged: {name} has the shape {array.shape}, the inputs "
                f"{', '.join(layout.inputs)} need {expected.shape}"
            )
    if written_digest != _digest(document):
        raise ValueError(
            "damaged: the weights are not those that were written (their hash differs): copy the file again"
        )
    return KernelWeights(blank.facts, blank.signals, *weights), card


def agent_from_bytes(content: bytes) -> tuple[Agent, dict[str, Any]]:
    """(agent, card) of a learned agent's file. Raises ValueError that says what is wrong for anything else."""
    weights, card = policy_from_bytes(content)
    try:
        return parse_agent(json.loads(content)["agent"]).learned(weights), card
    except (KeyError, ValueError) as error:
        raise ValueError(f"no agent that tracehouse knows ({error}): train it again") from None


def load_agent(path: Path) -> tuple[Agent, dict[str, Any]]:
    """(agent, card) of the file of a learned agent. Raises ValueError naming the file when it is none."""
    load_policy(path, of_agent=True)
    try:
        return agent_from_bytes(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def load_policy(path: Path, of_agent: bool = False) -> tuple[KernelWeights, dict[str, Any]]:
    """(weights, card) of a policy file. Raises ValueError naming the file when it is not one of this version.

    of_agent: the file must be an agent's, not that of a policy that orders the queue.
    """
    try:
        content = path.read_bytes()
        read = policy_from_bytes(content)
        if ("agent" in json.loads(content)) != of_agent:
            raise ValueError(WANTED_AGENT if of_agent else WANTED_POLICY)
        return read
    except FileNotFoundError:
        raise ValueError(f"{path}: no such policy file. Train one with `tracehouse train`") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error})") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _digest(document: dict[str, Any]) -> str:
    names = (*_HASHED, "agent") if "agent" in document else _HASHED
    hashed = json.dumps([document[name] for name in names], sort_keys=True)
    return hashlib.sha256(hashed.encode()).hexdigest()
