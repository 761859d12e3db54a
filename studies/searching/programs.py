"""The space of programs: `wait - min(seconds * term, cap)`, highest first, where the term is a small expression without a minus.

A job's term says how far it is set back, and the cap bounds that for every job: no job goes before one in the queue that was submitted
earlier by more than the cap. Terms are made of positive parts by +, *, /, min, and powers, so that no division by zero and no negative
setback can arise. All of it exists in PBS Professional's `job_sort_formula`, but for `user_share`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simulator.policies.registry import Policy, parse_policy

FloatArray = NDArray[np.float64]
Term = tuple  # ("request",), (CONSTANT, value), (POWER, term, exponent), or (operator, term, term)

CONSTANT, POWER = "constant", "**"
OPERATORS = ("*", "/", "+", "min")
ATTRIBUTES = {
    "request": "(estimate/14400)",
    "width": "(procs/cluster)",
    "scaled_width": "(procs/sqrt(cluster))",
    "waited": "(1 + wait/3600)",
    "share": "(1 + user_share)",
}
"""What a term reads, by name: the requested time in units of 4 h, the processors, the wait and the user's share of recent use."""
STATIC = ("request", "width", "scaled_width")
"""Attributes that stay the same while a job waits. Orders of these alone are replayed ten times as fast."""
PBS_WORDS = {"estimate": "walltime", "procs": "ncpus", "wait": "eligible_time"}
MOST_PARTS = 13
LOG_SECONDS, LOG_CAP_S = (2.0, 6.5), (3.5, 5.6)
"""Ranges of log10 of the seconds, and of the cap, from 53 minutes to 4.6 days."""
MOST_EXPONENT = 4.0
CONSTANT_DIGITS = 3
"""Constants have so many significant digits, in the search as in the formula that is published."""


@dataclass(frozen=True)
class Program:
    """wait - min(seconds * term, cap_s), highest first. seconds, cap_s: with CONSTANT_DIGITS digits."""

    term: Term
    seconds: float
    cap_s: float

    @cached_property
    def attributes(self) -> frozenset[str]:
        """What the term reads."""
        return frozenset(node[0] for node in nodes_of(self.term) if node[0] in ATTRIBUTES)

    @property
    def is_static(self) -> bool:
        """Whether the order of two jobs stays the same while they wait."""
        return self.attributes <= set(STATIC)

    @property
    def setback(self) -> str:
        """The text of what is subtracted from the wait."""
        return f"min({self.seconds:.0f}*{term_text(self.term)}, {self.cap_s:.0f})"

    @property
    def formula(self) -> str:
        """As `tracehouse replay --policy` takes it. With a setback that does not change, submit times order as waits do."""
        return f"formula:-(submit + {self.setback})" if self.is_static else f"formula:wait - {self.setback}"

    @property
    def policy(self) -> Policy:
        """In the form that the engine takes."""
        return parse_policy(self.formula)

    def pbs_formula(self, cluster_procs: int) -> str:
        """The text of PBS's `job_sort_formula` on a cluster of so many processors. Raises ValueError where PBS has no such term."""
        return pbs_formula(self.formula, cluster_procs)

    @property
    def constants(self) -> FloatArray:
        """log10 of seconds and cap, then of the term's constants, and its exponents as they are: (2 + constants,)."""
        inner = [math.log10(node[1]) if node[0] == CONSTANT else node[2] for node in _tuned(self.term)]
        return np.array([math.log10(self.seconds), math.log10(self.cap_s), *inner])

    def with_constants(self, constants: FloatArray) -> Program:
        """The same program with other constants, kept in their ranges and rounded. constants: as in `constants`."""
        values = iter(constants[2:].tolist())

        def rebuilt(term: Term) -> Term:
            if term[0] == CONSTANT:
                return (CONSTANT, _rounded(10 ** float(np.clip(next(values), -4, 4))))
            if term[0] == POWER:
                return (POWER, rebuilt(term[1]), _exponent(next(values)))
            return (term[0], *(rebuilt(child) for child in term[1:]))

        seconds, cap_s = (
            _rounded(10 ** float(np.clip(value, *limits)))
            for value, limits in zip(constants[:2], (LOG_SECONDS, LOG_CAP_S), strict=True)
        )
        return Program(rebuilt(self.term), seconds, cap_s)


def pbs_formula(formula: str, cluster_procs: int) -> str:
    """A formula of a program as PBS's `job_sort_formula` on so many processors. Raises ValueError where PBS has no such term."""
    if "user_share" in formula:
        raise ValueError("PBS has no share of a user as these formulas count it: choose a program without user_share")
    text = formula.removeprefix("formula:").replace("-(submit + ", "wait - ")
    if formula.startswith("formula:-("):
        text = text.removesuffix(")")
    for ours, theirs in PBS_WORDS.items():
        text = text.replace(ours, theirs)
    return text.replace("sqrt(cluster)", f"{math.sqrt(cluster_procs):.2f}").replace("cluster", str(cluster_procs))


def random_program(rng: np.random.Generator, attributes: tuple[str, ...]) -> Program:
    """A product of powers of one to three attributes, at times with one operator more."""
    names = rng.choice(attributes, size=min(int(rng.integers(1, 4)), len(attributes)), replace=False)
    term: Term = ()
    for name in names:
        factor = (POWER, (str(name),), _exponent(rng.normal(0.6 if name == "request" else 0.0, 0.7)))
        term = ("*", term, factor) if term else factor
    if rng.random() < 0.4:
        term = (str(rng.choice(OPERATORS)), term, _random_term(rng, attributes, 2))
    seconds, cap_s = (_rounded(10 ** rng.uniform(*limits)) for limits in (LOG_SECONDS, LOG_CAP_S))
    return Program(term, seconds, cap_s)


def mutated(program: Program, rng: np.random.Generator, attributes: tuple[str, ...]) -> Program:
    """A child: other constants, or a part of the term that is replaced, wrapped or dropped."""
    kind = rng.random()
    if kind < 0.45:
        constants = program.constants
        spread = rng.choice((0.05, 0.2, 0.5)) * (rng.random(len(constants)) < max(0.4, 1.5 / len(constants)))
        return program.with_constants(constants + spread * rng.normal(size=len(constants)))
    places = list(nodes_of(program.term))
    place = int(rng.integers(len(places)))
    node = places[place]
    if kind < 0.65:
        new = _random_term(rng, attributes, 2)
    elif kind < 0.85:
        new = (str(rng.choice(OPERATORS)), node, _random_term(rng, attributes, 1))
    elif kind < 0.93 and node[0] != POWER:
        new = (POWER, node, _exponent(rng.normal(1.0, 0.7)))
    else:
        children = [child for child in node[1:] if isinstance(child, tuple)]
        new = children[int(rng.integers(len(children)))] if children else _random_term(rng, attributes, 1)
    return _kept_small(program, replace_node(program.term, place, new))


def crossed(program: Program, other: Program, rng: np.random.Generator) -> Program:
    """A child: one part of the term is a part of the other's term, and seconds and cap are of one of the two."""
    donors, places = list(nodes_of(other.term)), list(nodes_of(program.term))
    term = replace_node(program.term, int(rng.integers(len(places))), donors[int(rng.integers(len(donors)))])
    child = _kept_small(program, term)
    return replace(child, cap_s=other.cap_s) if rng.random() < 0.5 else child


def nodes_of(term: Term) -> Iterator[Term]:
    """The parts of a term, itself first."""
    yield term
    for child in term[1:]:
        if isinstance(child, tuple):
            yield from nodes_of(child)


def replace_node(term: Term, place: int, new: Term) -> Term:
    """The term with its part number `place`, in the order of `nodes_of`, replaced."""
    if place == 0:
        return new
    children, before = [], 1
    for child in term[1:]:
        if isinstance(child, tuple):
            size = sum(1 for _ in nodes_of(child))
            child = replace_node(child, place - before, new) if before <= place < before + size else child
            before += size
        children.append(child)
    return (term[0], *children)


def shorter_terms(term: Term) -> list[Term]:
    """The terms that are left where one part is replaced by one of its own parts, and where that still reads something."""
    shorter = []
    for place, node in enumerate(nodes_of(term)):
        shorter += [replace_node(term, place, child) for child in node[1:] if isinstance(child, tuple)]
    return [each for each in shorter if any(node[0] in ATTRIBUTES for node in nodes_of(each))]


def term_text(term: Term) -> str:
    """The term as formulas write it."""
    kind = term[0]
    if kind in ATTRIBUTES:
        return ATTRIBUTES[kind]
    if kind == CONSTANT:
        return f"{term[1]:g}"
    if kind == POWER:
        base = term_text(term[1])
        base = base if term[1][0] in (*ATTRIBUTES, CONSTANT) else f"({base})"
        return f"{base}**{term[2]:g}" if term[2] >= 0 else f"{base}**({term[2]:g})"
    left, right = (term_text(child) for child in term[1:])
    if kind == "min":
        return f"min({left}, {right})"
    if kind == "+":
        return f"({left} + {right})"
    right = f"({right})" if term[2][0] in ("*", "/") and kind == "/" else right
    return f"{left}{kind}{right}"


def _random_term(rng: np.random.Generator, attributes: tuple[str, ...], depth: int) -> Term:
    draw = rng.random()
    if depth and draw < 0.35:
        return (str(rng.choice(OPERATORS)), *(_random_term(rng, attributes, depth - 1) for _ in range(2)))
    if depth and draw < 0.65:
        return (POWER, (str(rng.choice(attributes)),), _exponent(rng.normal(0.5, 0.8)))
    if draw < 0.85:
        return (str(rng.choice(attributes)),)
    return (CONSTANT, _rounded(10 ** rng.normal(0, 0.7)))


def _kept_small(program: Program, term: Term) -> Program:
    """The program with this term, or as it was where the term is too long or reads nothing."""
    nodes = list(nodes_of(term))
    if len(nodes) > MOST_PARTS or not any(node[0] in ATTRIBUTES for node in nodes):
        return program
    return replace(program, term=term)


def _tuned(term: Term) -> Iterator[Term]:
    """The parts of a term that have a constant, in the order in which `with_constants` sets them."""
    if term[0] == POWER:
        yield from _tuned(term[1])
        yield term
    elif term[0] == CONSTANT:
        yield term
    else:
        for child in term[1:]:
            yield from _tuned(child)


def _exponent(value: float) -> float:
    return round(float(np.clip(value, -MOST_EXPONENT, MOST_EXPONENT)), 2)


def _rounded(value: float) -> float:
    return float(f"{value:.{CONSTANT_DIGITS}g}")
