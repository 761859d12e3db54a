"""Rules that an expert would name before anything is trained: what a recommendation has to stand beside."""

from __future__ import annotations

from assets.policies.verdicts import JudgedRule

THRESHOLDS_H = (6, 12)


def with_threshold(name: str, key: str, hours: int) -> JudgedRule:
    """An order in which whoever has waited so long goes first, in the order of submission: the usual remedy for starving jobs.

    key: a formula of which the least goes first.
    """
    return JudgedRule(f"{name}, {hours} h", f"formula:(1e12 + wait) if wait > {hours * 3600} else -({key})")


THRESHOLD_RIVALS = (
    *(with_threshold("SJF", "estimate", hours) for hours in THRESHOLDS_H),
    *(with_threshold("SAF", "estimate * procs", hours) for hours in THRESHOLDS_H),
    *(with_threshold("fewest processors", "procs", hours) for hours in THRESHOLDS_H),
)
SEARCHED_KEY = JudgedRule("searched-key", "formula:-(submit + min(0.00234757*estimate**1.70135*procs**1.12346, 94210))")
"""Of `python -m studies guarded_keys`, the key of CTC-SP2, SDSC-SP2, HPC2N and two models together: blind on any other log."""
EXPERT_RIVALS = (
    JudgedRule("LEXP", "LEXP"),
    JudgedRule("multifactor", "multifactor"),
    *THRESHOLD_RIVALS,
    SEARCHED_KEY,
)
"""Of the default leaderboard, beside the heuristics of simulator.policies.registry, with requested times."""
