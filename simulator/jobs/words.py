"""The words that choose a rule of the replay, as users write them. docs/reference/semantics.md says what each means.

Every set of words is defined here alone. This module loads no numba, so that the command line can list the words at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

POLICY_WORDS = (
    *(
        "FCFS",
        "LCFS",
        "SJF",
        "LJF",
        "smallest",
        "largest",
        "SAF",
        "LAF",
        "SRF",
        "LRF",
        "F1",
        "F2",
        "F3",
        "F4",
        "inspector-SJF",
    ),
    *(
        "SEXP",
        "LEXP",
        "WFP3",
        "UNICEP",
        "tetris",
        "tetris-star",
        "inspector-SEXP",
        "inspector-LEXP",
        "inspector-multifactor",
    ),
    *("searched:cautious", "searched:balanced", "searched:fast"),
    *("random", "bounded-key", "fairshare", "multifactor"),
)
"""Policies of simulator.policies.registry by name, in its order."""
BACKFILLING = ("none", "any", "easy", "easy-sjbf", "conservative", "selective", "pick")
CORRECTIONS = ("requested", "increments", "doubling")
"""What the estimate of a job becomes when the job runs longer than it."""
RESERVE_BY = ("estimate", "requested")
"""Which time a reservation uses for jobs that run."""
ADMIT_BY = ("estimate", "requested")
"""Which run time decides whether a job behind the blocked head may go first."""
TOGETHER = "looking-ahead"
"""Chooses at periods which jobs start, and their nodes."""
PLACES = ("first", "random", "contiguous", "tree", "ring", "dcas", "scas", "free", TOGETHER)
"""Who chooses the nodes of a job. scas and free place the jobs of a second together."""
SHARING = ("shared", "whole")
"""Whether jobs share nodes."""
RULE_SETS = ("standard", "rlscheduler", "rlscheduler-corrected")
"""Our rules, those of the RLScheduler code, and those of the code with the true wait in WFP3 and UNICEP."""


def one_of(name: str, word: str, words: Collection[str]) -> str:
    """The word. Raises ValueError when it is not among `words`. The message names what the word is for and what is expected."""
    if word not in words:
        raise ValueError(unknown_word(name, word, words))
    return word


def unknown_word(name: str, word: str, words: Iterable[str], others: str = "") -> str:
    """The message for a word that is none of `words`. It has the nearest one, in any case and without options, and all that there are.

    name: what the word is for. others: what else is expected, as it follows the words.
    """
    lower = {one.lower(): one for one in words}
    near = get_close_matches(word.partition(":")[0].strip().lower(), lower, n=1)
    expected = f"xpected one of {', '.join(lower.values())}{others}"
    return f"unknown {name} {word!r}; " + (f"did you mean {lower[near[0]]!r}? E{expected}" if near else f"e{expected}")


def partitions_text(owned: Mapping[str, int]) -> str:
    """Queues and the processors that each owns, for people, such as "debug=16, gpu=64"."""
    return ", ".join(f"{queue}={procs}" for queue, procs in owned.items())
