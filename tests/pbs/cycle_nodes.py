"""Which nodes a job gets in the oracle of PBS's cycle: chunk by chunk, the first node in order with room for as long as the job may run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.pbs.cycle_types import CycleAmounts, CycleJob, CycleNode

NOTHING = CycleAmounts(0, 0, 0)


@dataclass(frozen=True)
class CycleHold:
    """Parts of nodes from begin_s to before end_s: of a job that runs, of a top job, of a reservation. is_exclusive: nobody else may use
    these nodes."""

    begin_s: int
    end_s: int
    nodes: Mapping[str, CycleAmounts]
    is_exclusive: bool = False


def has_room(
    node: CycleNode, needs: CycleAmounts, is_exclusive: bool, span: tuple[int, int], holds: Iterable[CycleHold]
) -> bool:
    """Whether the node can give `needs` in the whole span, beside what the holds have of it."""
    beside = [hold for hold in holds if node.name in hold.nodes and hold.begin_s < span[1] and hold.end_s > span[0]]
    if any(hold.is_exclusive for hold in beside) or (is_exclusive and beside):
        return False
    for moment in {span[0], *(hold.begin_s for hold in beside if hold.begin_s > span[0])}:
        total = needs
        for hold in beside:
            if hold.begin_s <= moment < hold.end_s:
                total = total.plus(hold.nodes[node.name])
        if not total.fits_in(node.has):
            return False
    return needs.fits_in(node.has)


def placed(
    job: CycleJob, span: tuple[int, int], nodes: Sequence[CycleNode], holds: Sequence[CycleHold]
) -> dict[str, CycleAmounts] | None:
    """What the job takes of each node if it runs in this span; None where it does not fit."""
    if job.arrangement == "pack":
        for host in dict.fromkeys(node.host or node.name for node in nodes):
            of_host = [node for node in nodes if (node.host or node.name) == host]
            if taken := _first_fit(job, span, of_host, holds):
                return taken
        return None
    return _first_fit(job, span, nodes, holds)


def _first_fit(
    job: CycleJob, span: tuple[int, int], nodes: Sequence[CycleNode], holds: Sequence[CycleHold]
) -> dict[str, CycleAmounts] | None:
    taken: dict[str, CycleAmounts] = {}
    hosts: set[str] = set()
    for chunk in job.chunks:
        for node in nodes:
            host = node.host or node.name
            if job.arrangement == "scatter" and host in hosts:
                continue
            needs = taken.get(node.name, NOTHING).plus(chunk)
            if has_room(node, needs, job.is_exclusive, span, holds):
                taken[node.name] = needs
                hosts.add(host)
                break
        else:
            return None
    return taken
