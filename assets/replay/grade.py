"""How far replays of a source can be trusted, as replay/fidelity has it."""

from __future__ import annotations

import json
from typing import NamedTuple

from assets.replay.limits.origins import origins_text
from assets.replay.settings import OWN_SCHEDULERS, own_policy_of
from models.judging.fidelity import MEANING
from models.judging.machine import Machine
from models.judging.size_over_time import parse_size_over_time
from simulator.jobs.words import partitions_text
from warehouse import Warehouse, first_row

POOR = ("C", "D")
MUCH_MORE = 0.1
"""The log's share of waited time with room is so much above the replay's where limits are the likely reason of a poor grade."""


class SourceGrade(NamedTuple):
    """The grade of a source. grade: None where there is none. Waits are means over the graded jobs, in seconds. policy, backfill and
    procs are of what fits the log best, None without a grade. size_over_time, partitions: of its machine, as replay.configurations
    has them."""

    grade: str | None
    no_grade_because: str | None
    logged_wait_s: float | None
    replayed_wait_s: float | None
    logged_room_share: float | None
    replayed_room_share: float | None
    policy: str | None
    backfill: str | None
    procs: int | None
    size_over_time: str | None = None
    partitions: str | None = None

    @property
    def machine(self) -> Machine | None:
        """Of what fits best, None without a grade."""
        sizes = parse_size_over_time(self.size_over_time) if self.size_over_time else None
        return (
            None
            if self.procs is None
            else Machine(self.procs, sizes, tuple(json.loads(self.partitions or "{}").items()))
        )

    @property
    def _fitted_words(self) -> str:
        if self.own_scheduler is not None:
            return f"the cluster's own scheduler, {OWN_SCHEDULERS[self.own_scheduler]}"
        return f"what fits it best, {self.policy} with backfilling {self.backfill}"

    @property
    def own_scheduler(self) -> str | None:
        """Of the cluster, where that fits best. None where an order does, and without a grade."""
        own = own_policy_of(self.policy or "")
        return None if own is None else own[0]

    @property
    def words(self) -> str:
        """The grade in one line, or why there is none."""
        if self.grade is None or self.logged_wait_s is None or self.replayed_wait_s is None:
            return f"no grade: {self.no_grade_because}"
        return (
            f"grade {self.grade}: {MEANING[self.grade]} (mean wait {self.logged_wait_s / 3600:.1f} h in the log, "
            f"{self.replayed_wait_s / 3600:.1f} h in the replay of {self._fitted_words}"
            + machine_remark(self.machine)
            + ")"
            + held_back_text(self.grade, self.logged_room_share, self.replayed_room_share)
        )


def grade_of(warehouse: Warehouse, source: str) -> SourceGrade | None:
    """The grade of a source, None before replay/fidelity has looked at it."""
    with warehouse.read() as connection:
        graded = first_row(
            connection,
            "SELECT grade, no_grade_because, logged_wait_s, replayed_wait_s, logged_room_share, replayed_room_share "
            "FROM replay.fidelity WHERE source = ? AND part = 'all'",
            [source],
        )
        fitted = first_row(
            connection,
            "SELECT policy, backfill, procs, size_over_time, partitions FROM replay.configurations WHERE source = ? AND place = 1",
            [source],
        )
    return None if graded is None else SourceGrade(*graded, *(fitted or (None, None, None)))


def grade_text(warehouse: Warehouse, source: str) -> str | None:
    """The grade of a source in one line, or why it has none. None before replay/fidelity has looked at it."""
    grade, origins = grade_of(warehouse, source), origins_text(source)
    return None if grade is None else f"{grade.words}; {origins}" if origins else grade.words


def machine_remark(machine: Machine | None) -> str:
    """What is unusual about a machine, to be put behind its scheduler; empty where nothing is."""
    if machine is None:
        return ""
    changes = ", on a cluster whose size changes" if machine.size_over_time is not None else ""
    owners = (
        f", with queues that own processors ({partitions_text(dict(machine.partitions))})" if machine.partitions else ""
    )
    return changes + owners


def held_back_text(grade: str, logged_room: float | None, replayed_room: float | None) -> str:
    """Where a poor grade comes from, as far as the log shows it; empty where it does not. Shares of the waited time with room: those of
    replay.fidelity."""
    if grade not in POOR or logged_room is None or logged_room - (replayed_room or 0.0) < MUCH_MORE:
        return ""
    return (
        f". For {logged_room:.0%} of the waited time enough processors for the waiting job were idle ({replayed_room or 0.0:.0%} in the "
        "replay): something that the log does not tell held jobs back"
    )
