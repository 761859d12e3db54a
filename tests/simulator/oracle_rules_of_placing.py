"""The rules of placement, as docs/reference/semantics.md has them: the units of one job, and of a group of a window.

Q is the idle units in ascending order. Nothing here is quick; everything looks at all units, starts and pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from tests.simulator.oracle_machine import Machine

GROUP = 8
"""Jobs of a window that are placed together at most."""

Units = list[int]


def first(machine: Machine, q: Units, count: int) -> Units:
    """Return the first units of Q."""
    return q[:count]


def blocks(q: Units) -> list[Units]:
    """Return the longest runs of idle units with consecutive numbers, in ascending order."""
    runs: list[Units] = []
    for unit in q:
        if runs and runs[-1][-1] == unit - 1:
            runs[-1].append(unit)
        else:
            runs.append([unit])
    return runs


def is_scattered(q: Units, count: int) -> bool:
    """Say whether no block holds the job."""
    return all(len(block) < count for block in blocks(q))


def contiguous(machine: Machine, q: Units, count: int) -> Units:
    """Return the first units of the smallest block that holds the job; without one, the first of Q."""
    holding = [block for block in blocks(q) if len(block) >= count]
    if not holding:
        return q[:count]
    return min(holding, key=lambda block: (len(block), block[0]))[:count]


def tree(machine: Machine, q: Units, count: int) -> Units:
    """Return the units of Slurm's best fit: the lowest switch with room, the tightest of those, then leaf by leaf."""
    for level in range(len(machine.hops)):
        below: dict[int, Units] = {}
        for unit in q:
            below.setdefault(machine.above[unit][level], []).append(unit)
        roomy = [switch for switch in below if len(below[switch]) >= count]
        if roomy:
            switch = min(roomy, key=lambda switch: (len(below[switch]), switch))
            return _leaf_by_leaf(machine, below[switch], count)
    raise ValueError(f"{count} units wanted, {len(q)} idle")


def _leaf_by_leaf(machine: Machine, q: Units, count: int) -> Units:
    """Return `count` of the idle units `q` below one switch: the tightest leaf that holds the rest, else the fullest."""
    taken: Units = []
    while len(taken) < count:
        rest = count - len(taken)
        leaves: dict[int, Units] = {}
        for unit in q:
            if unit not in taken:
                leaves.setdefault(machine.above[unit][0], []).append(unit)
        enough = [leaf for leaf in leaves if len(leaves[leaf]) >= rest]
        if enough:
            leaf = min(enough, key=lambda leaf: (len(leaves[leaf]), leaf))
        else:
            leaf = min(leaves, key=lambda leaf: (-len(leaves[leaf]), leaf))
        taken += leaves[leaf][:rest]
    return taken


def arc(q: Units, start: int, count: int) -> Units:
    """Return `count` consecutive entries of the ring from the entry with index `start` on."""
    return [q[(start + step) % len(q)] for step in range(count)]


def ring(machine: Machine, q: Units, count: int) -> Units:
    """Return the consecutive entries of the ring with the least pair hops, of equal ones the first start."""
    return min((arc(q, start, count) for start in range(len(q))), key=machine.pair_hops)


ONE_BY_ONE: dict[str, Callable[[Machine, Units, int], Units]] = {
    "first": first,
    "contiguous": contiguous,
    "tree": tree,
    "ring": ring,
}


def dcas(machine: Machine, q: Units, counts: Sequence[int]) -> list[Units]:
    """Return the units of a group: the widest job first, of equal ones the first submitted, each as `ring` has it."""
    units: list[Units] = [[] for _ in counts]
    for at in sorted(range(len(counts)), key=lambda at: (-counts[at], at)):
        units[at] = ring(machine, q, counts[at])
        q = [unit for unit in q if unit not in units[at]]
    return units


def groups(window: Sequence[tuple[int, int]]) -> list[Sequence[tuple[int, int]]]:
    """Return the window in groups of at most 8, in submit order."""
    return [window[at : at + GROUP] for at in range(0, len(window), GROUP)]


def place_window(machine: Machine, rule: str, q: Units, window: Sequence[tuple[int, int]]) -> dict[int, Units]:
    """Return the units (sorted) by key of the job, for a rule that leaves no choice."""
    given: dict[int, Units] = {}
    for group in groups(window) if rule == "dcas" else [[one] for one in window]:
        left = [unit for unit in q if not any(unit in units for units in given.values())]
        counts = [count for _, count in group]
        placed = dcas(machine, left, counts) if rule == "dcas" else [ONE_BY_ONE[rule](machine, left, counts[0])]
        given |= {key: sorted(units) for (key, _), units in zip(group, placed, strict=True)}
    return given


def cost_of_group(machine: Machine, units: Sequence[Units]) -> Fraction:
    """Return the sum of the costs of the jobs of a group."""
    return sum((machine.cost(one) for one in units), Fraction(0))


def scas_optimum(machine: Machine, q: Units, counts: Sequence[int]) -> Fraction:
    """Return the least sum of costs in which every job has consecutive entries of the same ring.

    The first job begins somewhere. The other jobs lie in what then is a line: each entry of it is skipped or begins one
    of the jobs that are left.
    """

    @cache
    def cost(start: int, count: int) -> Fraction:
        return machine.cost(arc(q, start % len(q), count))

    def line(begin: int, length: int) -> Fraction | None:
        @cache
        def best(at: int, left: tuple[int, ...]) -> Fraction | None:
            if not left:
                return Fraction(0)
            if at + sum(left) > length:
                return None
            options = [best(at + 1, left)]
            for number, count in enumerate(left):
                if count not in left[:number]:  # jobs of one width are interchangeable
                    rest = best(at + count, left[:number] + left[number + 1 :])
                    options.append(None if rest is None else cost(begin + at, count) + rest)
            return min((option for option in options if option is not None), default=None)

        return best(0, tuple(sorted(counts[1:])))

    totals = []
    for start in range(len(q)):
        rest = line(start + counts[0], len(q) - counts[0])
        if rest is not None:
            totals.append(cost(start, counts[0]) + rest)
    return min(totals)
