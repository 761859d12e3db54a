"""The agents of a replay: who picks what is backfilled, and who inspects picks, as a user names them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.policies.registry import IN_WORDS, champion_agent
from assets.what_if.settings import CHAMPION, RunSettings
from models.scheduling.policy_file import load_agent
from simulator.policies.agents import Agent, agent_text, parse_inspecting
from warehouse import Warehouse

LEARNS = {"--backfill": "backfilling", "--inspector": "inspector"}
"""What the champion of each option learned."""


@dataclass(frozen=True)
class ChosenAgent:
    """agent: what the simulator takes. sha256: of the file of a learned one, else None. trained_jobs: replayable jobs of this source
    before this position were open to its training."""

    agent: Agent
    sha256: str | None = None
    trained_jobs: int = 0


def choose_agent(settings: RunSettings, source: str | None, warehouse: Warehouse | None = None) -> ChosenAgent | None:
    """The agents of the settings, None for none.

    settings: as assets.what_if.settings.check_settings returns them. source: in the catalogue, None for a bare log. warehouse: holds
    the source's champions. Raises ValueError, with the remedy, for a file of another kind, where no champion is kept, and for two
    learned agents.
    """
    picks = settings.backfill if settings.backfill_file or settings.backfill == CHAMPION else None
    inspector = settings.inspector
    if picks is None and inspector is None:
        return None
    inspects = inspector if inspector is not None and (inspector == CHAMPION or inspector.endswith(".json")) else None
    if picks is not None and inspects is not None:
        raise ValueError(
            f"--backfill {picks} and --inspector {inspects}: one learned agent decides in a replay. Replace one of them by a rule, "
            "such as --backfill easy or --inspector unfit"
        )
    chosen = ChosenAgent(Agent())
    if picks is not None:
        chosen = _learned(picks, "--backfill", source, warehouse)
    if inspects is not None:
        chosen = _learned(inspects, "--inspector", source, warehouse)
    elif inspector is not None:
        chosen = replace(chosen, agent=replace(chosen.agent, inspecting=parse_inspecting(inspector)))
    return chosen


def _learned(text: str, option: str, source: str | None, warehouse: Warehouse | None) -> ChosenAgent:
    """The agent of a file, or the source's champion."""
    if text == CHAMPION:
        return _champion(option, source, warehouse)
    path = Path(text)
    agent, card = _read(path, option)
    return ChosenAgent(agent, hashlib.sha256(path.read_bytes()).hexdigest(), _trained_jobs(card, source))


def _champion(option: str, source: str | None, warehouse: Warehouse | None) -> ChosenAgent:
    learns = LEARNS[option]
    if source is None or warehouse is None:
        raise ValueError(
            f"{option} learned: a log has no learned agent of its own: give an agent's file ({option} FILE.json), or add the log with "
            f"`tracehouse ingest LOG --name NAME` and train with `tracehouse train NAME --learn {learns}`"
        )
    champion = champion_agent(warehouse, source, learns)
    if champion is None:
        raise ValueError(
            f"{option} learned: no {IN_WORDS[learns]} has been trained for source {source!r}: train one with `tracehouse train "
            f"{source} --learn {learns}`, or give an agent's file ({option} FILE.json)"
        )
    return ChosenAgent(champion.agent, champion.row["sha256"], champion.row["trained_jobs"])


def _read(path: Path, option: str) -> tuple[Agent, dict[str, Any]]:
    """A learned agent and its card. Raises ValueError where it decides something else than the option is for."""
    agent, card = load_agent(path)
    if not agent_text(agent).startswith("pick" if option == "--backfill" else "inspect"):
        other = "--inspector" if option == "--backfill" else "--backfill"
        raise ValueError(f"{path}: this agent decides something else: give it to {other}")
    return agent, card


def _trained_jobs(card: dict[str, Any], source: str | None) -> int:
    return card.get("trained_jobs", 0) if source is not None and card.get("source") == source else 0
