"""The words that choose a rule of the replay, as users write them. docs/reference/semantics.md says what each means.

Every set of words is defined here alone. This module loads no numba, so that the command line can list the words at once.

Amounts as users write them. Lengths of time: `4h`, `30min`, `1h30min`, `4:00:00`, `2-12:00:00` or seconds. Shares: `10%` or `0.1`.
"""

from __future__ import annotations

import re
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
KEEP_TIMES, KEEP_PACE = "keep times", "keep pace"
USER_WORDS = (KEEP_TIMES, KEEP_PACE)
"""What users do when the schedule changes: they submit at the log's times, or some time after their last job has ended."""
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


# --- amounts


UNITS_S = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
MOST_SECONDS = 10**9

_PART = r"(\d+(?:\.\d+)?)\s*(min|[smhd])"
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d+):(\d+)|(\d+):(\d+)")


def parse_duration(text: str, what: str = "length of time") -> int:
    """Whole seconds of a length of time. what: what it is the length of, for the message.

    Units are s, min (or m), h and d, and parts may follow one another. A number alone is seconds. H:M:S, D-H:M:S and M:S are wall
    times as PBS and Slurm write them. Raises ValueError with examples for any other text, and for more than MOST_SECONDS.
    """
    total = _seconds(text.strip().lower())
    if total is None or total > MOST_SECONDS:
        raise ValueError(f"{what} {text!r}: expected a length of time such as 4h, 30min, 2d or 4:00:00, or seconds")
    return round(total)


def parse_share(text: str) -> float:
    """A share as a number: 0.1 for `10%`, `10 %` and `0.1`. Raises ValueError for other texts."""
    written = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", text.strip())
    if written is None:
        raise ValueError(f"share {text!r}: expected a share such as 10% or 0.1")
    return float(written[1]) / (100 if written[2] else 1)


def _seconds(text: str) -> float | None:
    if re.fullmatch(r"\d{1,12}", text):
        return int(text)
    if re.fullmatch(rf"(?:{_PART}\s*)+", text):
        return sum(float(number) * UNITS_S[unit] for number, unit in re.findall(_PART, text))
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        return None
    days, hours, minutes, seconds, short_minutes, short_seconds = (int(part or 0) for part in clock.groups())
    return 86_400 * days + 3600 * hours + 60 * (minutes + short_minutes) + seconds + short_seconds
