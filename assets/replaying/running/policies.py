"""Who decides in a replay, as a user names them: the policy, who picks what is backfilled, who inspects picks, or an agent alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.policies.registry import IN_WORDS, champion_agent, learned_policies
from assets.replaying.running.settings import CHAMPION, RunSettings, own_policy_of
from models.scheduling.policy_file import load_agent, load_policy
from simulator.engine.replay import SELECTIVE_OPTIONS, rules_of
from simulator.policies.agents import Agent, agent_text, parse_inspecting, parse_picking, picking_text
from simulator.policies.plugins import plugin_file
from simulator.policies.registry import Policy, assisted, parse_options, parse_policy
from simulator.replayer import Replayer
from warehouse import Warehouse

LEARNS = {"--backfill": "backfilling", "--inspector": "inspector"}
"""What the champion of each option learned."""


@dataclass(frozen=True)
class ChosenPolicy:
    """text: as the user wrote it, names in their usual case. policy: in the form that the simulator takes, None for the RLScheduler
    rules, which take `text`. sha256: of the file of a plug-in or a learned policy, else None. trained_jobs: replayable jobs of
    this trace before this position were open to its training, or to that of an agent. agent_sha256: of the file of a learned agent.
    alone: the agent that decides all starts by itself, None where the policy decides."""

    text: str
    policy: Policy | None
    sha256: str | None = None
    trained_jobs: int = 0
    agent_sha256: str | None = None
    alone: Replayer | None = None

    @property
    def portable_text(self) -> str:
        """The text without the folder of a file, as it is stored: rows hold no path of the machine."""
        own = own_policy_of(self.text)
        scheduler, order = (f"{own[0]}:", own[1]) if own is not None and own[1] else ("", self.text)
        head, colon, function = order.partition(":")
        if head.endswith((".py", ".json")):
            return scheduler + Path(head).name + colon + function
        return self.text


@dataclass(frozen=True)
class ChosenAgent:
    """agent: what the simulator takes. sha256: of the file of a learned one, else None. trained_jobs: replayable jobs of this source
    before this position were open to its training."""

    agent: Agent
    sha256: str | None = None
    trained_jobs: int = 0


def order_policy(settings: RunSettings, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """The policy that orders the queue, with the agents beside it. Arguments and errors as those of
    assets.replaying.running.replayers.choose_policy."""
    chosen = _order(settings.policy.strip(), warehouse, source)
    agent = choose_agent(settings, None if warehouse is None else source, warehouse)
    if agent is None or chosen.policy is None:
        return chosen
    return replace(
        chosen,
        policy=assisted(chosen.policy, agent.agent),
        trained_jobs=max(chosen.trained_jobs, agent.trained_jobs),
        agent_sha256=agent.sha256,
    )


def _order(text: str, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """The policy alone."""
    if text.lower() == CHAMPION:
        return _champion_policy(warehouse, source)
    if is_policy_file(text):
        return policy_from_file(text, None if warehouse is None else source)
    try:
        policy = parse_policy(text)
    except ValueError as error:
        if str(error).startswith("unknown policy"):
            raise ValueError(f"{error}, or a policy file (.json)") from None
        raise
    file, _, function = text.partition(":")
    if file.endswith(".py"):
        return ChosenPolicy(f"{file}:{function}", policy, sha256_of(plugin_file(Path(file))))
    return ChosenPolicy(policy.name, policy)


def is_policy_file(text: str) -> bool:
    """Whether a policy is the file of a trained one."""
    return text.lower().endswith(".json") and not text.lower().startswith("formula:")


def policy_from_file(text: str, source: str | None) -> ChosenPolicy:
    """The trained policy of a file. source: in the catalogue, None for a bare log."""
    weights, card = load_policy(Path(text))
    return ChosenPolicy(text, parse_policy("learned", weights), sha256_of(Path(text)), _trained_jobs(card, source))


def _champion_policy(warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    if warehouse is None:
        raise ValueError(
            f"{source}: a log has no learned policy of its own: give a policy file (--policy FILE.json), or add the log "
            f"with `tracehouse ingest {source} --name NAME` and train with `tracehouse run NAME`"
        )
    champion = next(policy for policy in learned_policies(warehouse, source) if policy.champion)
    return ChosenPolicy(CHAMPION, parse_policy("learned", champion.weights), champion.sha256, champion.trained_jobs)


def choose_agent(settings: RunSettings, source: str | None, warehouse: Warehouse | None = None) -> ChosenAgent | None:
    """The agents of the settings, None for none.

    settings: as assets.replaying.running.settings.check_settings returns them. source: in the catalogue, None for a bare log.
    warehouse: holds the source's champions. Raises ValueError, with the remedy, for a file of another kind, where no champion is kept,
    and for two learned agents.
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
    return ChosenAgent(agent, sha256_of(path), _trained_jobs(card, source))


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


def sha256_of(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def usual_backfill(text: str) -> str:
    """A backfilling rule in its usual form, with the options that are not usual, or CHAMPION. Raises ValueError for other texts."""
    if text.strip().lower() == CHAMPION:
        return CHAMPION
    rules_of(text, "requested", 1)
    head, _, tail = text.lower().partition(":")
    if head == "pick":
        return picking_text(parse_picking(text.lower()))
    if head != "selective":
        return head
    return f"selective:threshold={parse_options(text, tail, SELECTIVE_OPTIONS)['threshold']:g}"
