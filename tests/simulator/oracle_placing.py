"""A slow placement of schedules on a tree of switches, written from docs/reference/semantics.md, "Placement", and nothing else.

`oracle_place` is for rules that leave no choice, `check_placement` for every rule. Beside it: `oracle_machine` (units,
hops, and the seconds at which anything begins or ends), `oracle_rules_of_placing` (the units of one job, and of a group),
`oracle_periods` and `oracle_switches` (what changes starts). All times are whole seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.simulator.oracle import CANCELLED
from tests.simulator.oracle_machine import Held, Machine, Wanted, walk
from tests.simulator.oracle_rules_of_placing import (
    ONE_BY_ONE,
    Units,
    arc,
    cost_of_group,
    dcas,
    groups,
    is_scattered,
    place_window,
    scas_optimum,
)
from tests.simulator.oracle_types import Workload

LEAVES_NO_CHOICE = (*ONE_BY_ONE, "dcas")
LEAVES_A_CHOICE = ("random", "scas", "free")


@dataclass
class Placement:
    """Who holds which units. Lists are by order in the log; cancelled jobs have none, and 0 of everything.

    units: sorted. running: units of the jobs of a warm start, by their place in the workload. held: what outages hold,
    at every second at which anything begins or ends. scattered: no block held the job (rule `contiguous` alone).
    """

    units: list[list[int]]
    running: list[list[int]]
    held: list[Held]
    scattered: list[bool]
    pair_hops: list[int] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    pods: list[int] = field(default_factory=list)

    def measure(self, machine: Machine) -> Placement:
        """Fill in pair hops, leaves and pods of every job."""
        self.pair_hops = [machine.pair_hops(units) for units in self.units]
        self.leaves = [machine.switches(units, 0) for units in self.units]
        self.pods = [machine.switches(units, 1) for units in self.units]
        return self


def oracle_place(machine: Machine, workload: Workload, start: Sequence[int], rule: str) -> Placement:
    """Return who holds which units, under a rule that leaves no choice.

    workload: with whole nodes that of `in_whole_nodes`. start: start times in s by order in the log, CANCELLED for jobs
    that left the queue.
    """
    scattered = [False] * len(workload.jobs)

    def give(t: int, q: Units, window: Wanted) -> dict[int, Units]:
        given = place_window(machine, rule, q, window)
        for at, (key, count) in enumerate(window):
            before = [unit for earlier, _ in window[:at] for unit in given[earlier]]
            if rule == "contiguous" and key >= 0:
                scattered[key] = is_scattered([unit for unit in q if unit not in before], count)
        return given

    given, held = walk(machine, workload, start, give)
    units = [given.get(job.order, []) for job in workload.jobs]
    running = [given[-1 - number] for number in range(len(workload.running))]
    return Placement(units, running, held, scattered).measure(machine)


def check_placement(
    machine: Machine, workload: Workload, start: Sequence[int], rule: str, placement: Placement
) -> None:
    """Raise AssertionError, with the second and the job, unless the rule allows these units of the jobs.

    Checked: every job has as many units as it asks for, that are idle beside the other jobs and what outages take, and no
    unit twice; whoever leaves the queue has none; and what the rule asks of a window. Of `placement`, `units` and
    `running` are read; `held` too, where it is not empty.
    """
    for job in workload.jobs:
        assert start[job.order] != CANCELLED or not placement.units[job.order], (
            f"job {job.order} never starts and has units"
        )

    def give(t: int, q: Units, window: Wanted) -> dict[int, Units]:
        given = {key: placement.units[key] if key >= 0 else placement.running[-1 - key] for key, _ in window}
        for key, count in window:
            assert len(set(given[key])) == len(given[key]) == count, f"at {t} job {key} has not {count} units"
            assert set(given[key]) <= set(q), f"at {t} job {key} gets units that are not idle: {given[key]}"
        assert len({unit for units in given.values() for unit in units}) == sum(count for _, count in window), (
            f"at {t} two jobs get a unit"
        )
        _check_window(machine, rule, q, window, given)
        return given

    _, held = walk(machine, workload, start, give)
    assert not placement.held or placement.held == held, "outages hold other units"


def _check_window(machine: Machine, rule: str, q: Units, window: Wanted, given: dict[int, Units]) -> None:
    """Check what the rule asks of a window, beyond units that are idle."""
    if rule in LEAVES_NO_CHOICE:
        expected = place_window(machine, rule, q, window)
        assert {key: sorted(units) for key, units in given.items()} == expected, f"{rule} gives {expected}"
    if rule not in ("scas", "free"):
        return
    for group in groups(window):
        units, counts = [given[key] for key, _ in group], [count for _, count in group]
        if rule == "scas":
            _check_scas(machine, q, counts, units)
        else:
            cost, at_first = cost_of_group(machine, units), cost_of_group(machine, dcas(machine, q, counts))
            assert cost <= at_first, f"a search from {at_first} ends at {cost}"
        q = [unit for unit in q if not any(unit in taken for taken in units)]


def _check_scas(machine: Machine, q: Units, counts: Sequence[int], units: Sequence[Units]) -> None:
    """Check that every job of a group has consecutive entries of the ring, and that no other entries cost less."""
    for count, taken in zip(counts, units, strict=True):
        starts = [at for at in range(len(q)) if set(arc(q, at, count)) == set(taken)]
        assert starts, f"{taken} are no consecutive entries of {q}"
    cost, least = cost_of_group(machine, units), scas_optimum(machine, q, counts)
    assert cost == least, f"the group costs {cost}, the least is {least}"
