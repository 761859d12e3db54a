"""`--rules rlscheduler`: the way to replay by the rules of the RLScheduler code, one of those of assets/replaying/running/replayers.py."""

from __future__ import annotations

from assets.replaying.running.policies import ChosenPolicy, is_policy_file, policy_from_file
from assets.replaying.running.replayers import ONE_OF_THEM, Asked, Way
from assets.replaying.running.settings import RunSettings
from papers.compiled import RULES_HASH
from papers.rlscheduler.inspecting import INSPECTOR_BASES, policy_of_base
from papers.rlscheduler.rules import RLSchedulerReplayer
from papers.rlscheduler.scores import POLICIES
from simulator.jobs.words import unknown_word
from simulator.policies.registry import parse_policy
from warehouse import Warehouse


def rlscheduler_policy(settings: RunSettings, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """A policy of the RLScheduler code, or of SchedInspector's, which has its rules, or a trained one. Arguments and errors as those of
    assets.replaying.running.replayers.choose_policy."""
    text = settings.policy.strip()
    if is_policy_file(text):
        return policy_from_file(text, None if warehouse is None else source)
    usual = {name.lower(): name for name in (*POLICIES, *map(policy_of_base, INSPECTOR_BASES))}
    name = usual.get(text.lower())
    if name is None:
        raise ValueError(
            unknown_word("policy of the RLScheduler rules", text, usual.values())
            + ", or a policy file (.json), or replay with --rules standard"
        )
    return ChosenPolicy(name, None if name in POLICIES else parse_policy(name))


def _replayer(asked: Asked) -> RLSchedulerReplayer:
    rules = asked.settings.backfill == "easy", asked.settings.rules == "rlscheduler"
    return RLSchedulerReplayer(asked.policy.policy or asked.policy.text, *rules, asked.trace.procs_per_node)


WAY = Way(
    RLSchedulerReplayer,
    _replayer,
    {
        "": "the RLScheduler rules have no --{part} (that code takes requests as logged, on a cluster that is whole and empty): leave "
        "it out, or replay with --rules standard",
        "nodes": "the RLScheduler rules know no nodes below switches: leave --topology out, or replay with --rules standard",
        "partitions": ONE_OF_THEM.format(part="rules"),
    },
    rlscheduler_policy,
    RULES_HASH,
)
