"""Agents beside the policy. They pick the jobs that start past others, or accept what the policy has picked.

An agent is a rule, a kernel network, or the caller of the engine. Rules: docs/reference/semantics.md, "Picked backfilling" and "Inspected
picks".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.words import unknown_word
from simulator.policies.network import VISIBLE_JOBS, KernelWeights
from simulator.policies.sampling import TAKE_BEST

NO_ONE = 0
FIRST, OLDEST, SHORTEST, NARROWEST, SMALLEST = range(1, 6)
"""Rules that pick: the first by slot, the first submission, the shortest estimate, the fewest processors, the smallest area."""
ACCEPT, UNFIT, REJECT = range(1, 4)
"""Rules that inspect: accept all, reject exactly what does not fit, reject all."""
ASKED, NETWORK = 8, 9

PICKING_RULES = {"first": FIRST, "oldest": OLDEST, "shortest": SHORTEST, "narrowest": NARROWEST, "smallest": SMALLEST}
INSPECTING_RULES = {"accept": ACCEPT, "unfit": UNFIT, "reject": REJECT}
EVERY_SLOT = 1 << 62
MOST_SLOTS = VISIBLE_JOBS - 1
"""What a network can choose from, besides picking none."""
REJECTIONS, INTERVAL_S = 72, 600
"""SchedInspector's: how often a job is rejected at most, and after how many seconds the scheduler decides again."""


class Picking(NamedTuple):
    """Who picks which waiting jobs start past others, and from which of them."""

    by: int  # NO_ONE, one of PICKING_RULES, ASKED or NETWORK
    whole: bool  # all that starts is picked, and no job is a head
    front: int  # slots at the front of the queue
    back: int  # slots at its end
    guarded: bool  # nothing may delay the blocked head, but for the slack
    slack_s: int
    slack_share: float  # of the head's estimate
    must: bool  # "none" is not allowed where two jobs may be picked
    keep_free: int  # processors that jobs longer than keep_over_s leave free
    keep_over_s: int
    every_event: bool  # asks after every event, and jobs of one second arrive one by one
    sample: int  # how a network picks, see simulator/policies/network.py


class Inspecting(NamedTuple):
    """Who accepts or rejects what the policy picks."""

    by: int  # NO_ONE, one of INSPECTING_RULES, ASKED or NETWORK
    rejections: int  # most of one job
    interval_s: int  # after which the scheduler decides again
    sample: int  # as in Picking


NO_PICKING = Picking(NO_ONE, False, EVERY_SLOT, 0, True, 0, 0.0, False, 0, 3600, False, TAKE_BEST)
NO_INSPECTING = Inspecting(NO_ONE, REJECTIONS, INTERVAL_S, TAKE_BEST)


class Question(NamedTuple):
    """What an agent written in Python has to answer.

    The answer is the slot that starts, or -1 for none. For an inspected job it is 1 to accept it, or 0."""

    now: int  # seconds
    free: int  # processors
    jobs: NDArray[np.int64]  # (slots,), positions among the jobs of the replay
    candidates: NDArray[np.bool_]  # (slots,), whether each may be picked; of an inspected job, whether it would start


@dataclass(frozen=True)
class Agent:
    """What decides beside the policy of a replay. weights: of the network that picks or inspects, None without one. answer: the
    function that decides, where ASKED."""

    picking: Picking = NO_PICKING
    inspecting: Inspecting = NO_INSPECTING
    weights: KernelWeights | None = field(default=None, repr=False)
    answer: Callable[[Question], int] | None = field(default=None, repr=False)

    def asked(self, answer: Callable[[Question], int] | None = None) -> Agent:
        """A copy of the agent in which this function decides, or the caller of the engine."""
        picking, inspecting = self.picking, self.inspecting
        picking = picking._replace(by=ASKED) if picking.by else picking
        inspecting = inspecting._replace(by=ASKED) if inspecting.by else inspecting
        return Agent(picking, inspecting, None, answer)

    def learned(self, weights: KernelWeights) -> Agent:
        """A copy of the agent in which this network decides. Raises ValueError where the network cannot see as many jobs."""
        picking, inspecting = self.picking, self.inspecting
        if picking.by and picking.front + picking.back > MOST_SLOTS:
            raise ValueError(
                f"a network picks from at most {MOST_SLOTS} jobs: set window=H-T with as many, as window=64-63"
            )
        return Agent(
            picking._replace(by=NETWORK) if picking.by else picking,
            inspecting._replace(by=NETWORK) if inspecting.by else inspecting,
            weights,
        )

    def sampling(self, sample: int) -> Agent:
        """A copy of the agent in which choices are made in this way (simulator/policies/network.py)."""
        picking, inspecting = self.picking._replace(sample=sample), self.inspecting._replace(sample=sample)
        return replace(self, picking=picking, inspecting=inspecting)


def parse_picking(text: str) -> Picking:
    """The rule that a text such as `pick:by=shortest,window=10-10` means. `pick` alone is EASY backfilling.

    Raises ValueError that names the option and what is expected.
    """
    head, _, tail = text.partition(":")
    if head.strip().lower() != "pick":
        raise ValueError(f"unknown way to pick {text!r}, expected pick:OPTIONS")
    words = {"from": "behind", "window": "all", "guard": "", "by": "first"}
    numbers = {"slack_s": 0.0, "slack_share": 0.0, "must": 0.0, "keep_free": 0.0, "keep_over_s": 3600.0}
    for part in filter(None, (part.strip() for part in tail.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name in words:
            words[name] = value.lower()
        elif name in numbers:
            numbers[name] = _number(text, name, value)
        else:
            raise ValueError(f"{text!r}: {unknown_word('option', name, (*words, *numbers))}")
    whole = _word(text, "from", words["from"], ("behind", "all")) == "all"
    guard = _word(text, "guard", words["guard"] or ("none" if whole else "reservation"), ("none", "reservation"))
    if whole and guard != "none":
        raise ValueError(f"{text!r}: with from=all there is no head that a guard could protect: leave guard out")
    if guard == "none" and (numbers["slack_s"] or numbers["slack_share"]):
        raise ValueError(f"{text!r}: slack is what a guard allows: leave it out, or set guard=reservation")
    by = PICKING_RULES[_word(text, "by", words["by"], tuple(PICKING_RULES))]
    front, back = _window(text, words["window"])
    slack_s, keep_free, keep_over_s = (int(numbers[name]) for name in ("slack_s", "keep_free", "keep_over_s"))
    of_head, must = numbers["slack_share"], numbers["must"] != 0.0
    guarded = guard == "reservation"
    return Picking(by, whole, front, back, guarded, slack_s, of_head, must, keep_free, keep_over_s, False, TAKE_BEST)


def picking_text(picking: Picking) -> str:
    """The inverse of `parse_picking`. Options with their default value are left out."""
    names = {number: name for name, number in PICKING_RULES.items()}
    parts = [f"by={names[picking.by]}"] if picking.by in names else []
    parts += ["from=all"] if picking.whole else []
    parts += [] if picking.front == EVERY_SLOT else [f"window={picking.front}-{picking.back}"]
    parts += [] if picking.guarded or picking.whole else ["guard=none"]
    parts += [f"slack_s={picking.slack_s}"] if picking.slack_s else []
    parts += [f"slack_share={picking.slack_share:g}"] if picking.slack_share else []
    parts += ["must=1"] if picking.must else []
    parts += [f"keep_free={picking.keep_free}"] if picking.keep_free else []
    parts += [f"keep_over_s={picking.keep_over_s}"] if picking.keep_free and picking.keep_over_s != 3600 else []
    return "pick:" + ",".join(parts) if parts else "pick"


def parse_agent(text: str) -> Agent:
    """The agent of `pick:OPTIONS` or `inspect:RULE`, which decides by its rule. Raises ValueError that says what is expected."""
    head, _, tail = text.partition(":")
    if head.strip().lower() == "pick":
        return Agent(parse_picking(text))
    if head.strip().lower() == "inspect":
        return Agent(inspecting=parse_inspecting(tail or "accept"))
    raise ValueError(f"unknown agent {text!r}; expected pick:OPTIONS or inspect:RULE")


def agent_text(agent: Agent) -> str:
    """The inverse of `parse_agent`. For a learned agent, and one that is a function, it does not say who decides."""
    if agent.picking.by:
        return picking_text(agent.picking)
    names = {number: name for name, number in INSPECTING_RULES.items()}
    return f"inspect:{names.get(agent.inspecting.by, 'accept')}"


def parse_inspecting(text: str) -> Inspecting:
    """The rule of that name. Raises ValueError that says which there are."""
    name = text.strip().lower()
    if name not in INSPECTING_RULES:
        raise ValueError(unknown_word("inspector", text, INSPECTING_RULES, ", or the file of a learned one"))
    return NO_INSPECTING._replace(by=INSPECTING_RULES[name])


def _number(text: str, name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    whole = name != "slack_share"
    if not 0.0 <= number < 1e15 or (whole and number != int(number)):
        raise ValueError(f"{text!r}: {name} must be a {'whole ' if whole else ''}number from 0 on, got {value!r}")
    return number


def _word(text: str, name: str, word: str, words: tuple[str, ...]) -> str:
    if word not in words:
        raise ValueError(f"{text!r}: {name} must be one of {', '.join(words)}, got {word!r}")
    return word


def _window(text: str, window: str) -> tuple[int, int]:
    """Slots at the front and at the end."""
    if window == "all":
        return EVERY_SLOT, 0
    front, _, back = window.partition("-")
    if not (front.isdigit() and back.isdigit()) or int(front) + int(back) == 0:
        raise ValueError(
            f"{text!r}: window must be all, or H-T with at least one slot in all, as 10-10, got {window!r}"
        )
    return int(front), int(back)
