"""The agents of a replay: who picks what is backfilled, and who inspects picks, as a user names them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.what_if.settings import RunSettings
from models.scheduling.policy_file import load_agent
from simulator.policies.agents import Agent, agent_text, parse_inspecting


@dataclass(frozen=True)
class ChosenAgent:
    """agent: what the simulator takes. sha256: of the file of a learned one, else None. trained_jobs: replayable jobs of this source
    before this position were open to its training."""

    agent: Agent
    sha256: str | None = None
    trained_jobs: int = 0


def choose_agent(settings: RunSettings, source: str | None) -> ChosenAgent | None:
    """The agents of the settings, None for none. source: in the catalogue, None for a bare log.

    Raises ValueError, with the remedy, for a file of another kind, and for two learned agents.
    """
    picks, inspector = settings.backfill_file, settings.inspector
    if not picks and inspector is None:
        return None
    files, digests, seen = [], [], 0
    agent = Agent()
    if picks:
        learned, card = _read(Path(picks), "pick", "--backfill")
        agent = learned
        files.append(picks)
        digests.append(hashlib.sha256(Path(picks).read_bytes()).hexdigest())
        seen = max(seen, _trained_jobs(card, source))
    if inspector is not None and inspector.endswith(".json"):
        learned, card = _read(Path(inspector), "inspect", "--inspector")
        files.append(inspector)
        if len(files) > 1:
            raise ValueError(
                f"{files[0]} and {files[1]}: one learned agent decides in a replay; replace one of them by a rule, such as "
                "--backfill easy or --inspector unfit"
            )
        agent = replace(agent, inspecting=learned.inspecting, weights=learned.weights)
        digests.append(hashlib.sha256(Path(inspector).read_bytes()).hexdigest())
        seen = max(seen, _trained_jobs(card, source))
    elif inspector is not None:
        agent = replace(agent, inspecting=parse_inspecting(inspector))
    return ChosenAgent(agent, digests[0] if digests else None, seen)


def _read(path: Path, kind: str, option: str) -> tuple[Agent, dict[str, Any]]:
    """A learned agent and its card. Raises ValueError where it decides something else than the option is for."""
    agent, card = load_agent(path)
    if not agent_text(agent).startswith(kind):
        other = "--inspector" if option == "--backfill" else "--backfill"
        raise ValueError(f"{path}: this agent decides something else: give it to {other}")
    return agent, card


def _trained_jobs(card: dict[str, Any], source: str | None) -> int:
    return card.get("trained_jobs", 0) if source is not None and card.get("source") == source else 0
