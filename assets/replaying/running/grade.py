"""How far replays of a source can be trusted, by what is asked, as replay/fidelity has it."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import numpy as np
import polars as pl

from assets.replaying.limits.unhonoured import origins_text
from assets.replaying.running.settings import OWN_SCHEDULERS, own_policy_of
from assets.usage.habits import lines_of_rows, submitted_jobs
from models.judging.fidelity import (
    NO_FIGURES,
    NO_REACTION,
    WAIT_FIGURES,
    Reacting,
    capped,
    letter_of,
    promise_of,
    reacting_of,
    reacting_text,
)
from models.judging.machine import Machine, parse_size_over_time
from simulator.jobs.followers import array_ends
from simulator.jobs.words import partitions_text
from traces.catalogue.catalogue import load_catalogue
from traces.common.arrays import arrays_of_jobs
from warehouse import Warehouse, first_row

POOR = ("C", "D")
ALL_GRADED = ("all", "")
"""Part and value of the row of replay.fidelity that is about all graded jobs."""
LIMITS = "limits"
"""In the place of a cluster's own scheduler: the limits that it describes."""
DESCRIBED = 0
"""Jobs on which an order was fitted that is replayed under the limits that a cluster describes: none."""
MUCH_MORE = 0.1
"""The log's share of waited time with room is so much above the replay's where limits are the likely reason of a poor grade."""


MADE_UP = re.compile(r"\b(?:simulat(?:ed|ion|or)|synthetic)\b", re.IGNORECASE)
"""What the header of a log says whose waits no real cluster has seen."""


def why_made_up(warehouse: Warehouse, source: str) -> str | None:
    """Why the waits of a log are no real ones, None where nothing says so. The starts of a bundled site are those of a scheduler, under a
    rule that its configuration lacks, so that a grade means there what it means on a real log."""
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    if declared is not None and declared.generator and "site" not in declared.generator:
        return "the log is generated: no real cluster has seen these jobs"
    with warehouse.read() as connection:
        header = connection.execute(
            "SELECT key, value FROM raw.log_headers WHERE source = ? ORDER BY file, position", [source]
        ).fetchall()
    made_up = [key for key, value in header if MADE_UP.search(value)]
    return (
        f"the log's header says under {made_up[0]!r} that its waits are not those of a real cluster"
        if made_up
        else None
    )


class SourceGrade(NamedTuple):
    """The grade of a source. grade: of its mean wait, None where there is none. Waits are means over the graded jobs, in seconds. policy,
    backfill and procs are of what fits the log best, None without a grade. size_over_time, partitions: of its machine, as
    replay.configurations has them. median, p95: letters of these figures, None where they are not stored. about: which jobs were graded,
    in words, empty for all. reacting: the source's users, who cap all letters. resemblance: the letter of the mean wait without that
    cap: how well the replay resembles the log. is_of_limits: whether it is of replays by an order under the limits that the
    cluster describes."""

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
    median: str | None = None
    p95: str | None = None
    about: str = ""
    reacting: Reacting = NO_REACTION
    resemblance: str | None = None
    is_of_limits: bool = False

    @property
    def letters(self) -> dict[str, str]:
        """The letter of each figure of models.judging.fidelity.WAIT_FIGURES that has one."""
        letters = zip(WAIT_FIGURES, (self.grade, self.median, self.p95), strict=True)
        return {figure: letter for figure, letter in letters if letter is not None}

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
        if self.is_of_limits:
            return f"{self.policy} with backfilling {self.backfill} under the limits of its cluster"
        if self.resemblance == NO_FIGURES:
            return f"{self.policy} with backfilling {self.backfill}, since no order gives it back"
        return f"what fits it best, {self.policy} with backfilling {self.backfill}"

    @property
    def own_scheduler(self) -> str | None:
        """Of the cluster, where that fits best. None where an order does, and without a grade."""
        own = own_policy_of(self.policy or "")
        return None if own is None or self.grade is None else own[0]

    def is_of(self, policy: str) -> bool:
        """Whether it holds for replays under a policy. That of a cluster's own scheduler does not for an order in its place."""
        return is_graded(policy, self.own_scheduler)

    @property
    def of_own_words(self) -> str:
        """Why an order has no grade, where the source's is of the cluster's own scheduler."""
        return of_own_text(self.grade or "", self.own_scheduler or "")

    @property
    def words(self) -> str:
        """The grade in one line, or why there is none."""
        if self.grade is None or self.logged_wait_s is None or self.replayed_wait_s is None:
            return f"no grade: {self.no_grade_because}"
        return (
            f"grade {self.grade}{f' for {self.about}' if self.about else ''}: {promise_of(self.grade, 'mean', self.reacting)} "
            f"(mean wait of the graded jobs {self.logged_wait_s / 3600:.1f} h in the log, "
            f"{self.replayed_wait_s / 3600:.1f} h in the replay of {self._fitted_words}"
            + machine_remark(self.machine)
            + ")"
            + self._other_letters
            + held_back_text(self.grade, self.logged_room_share, self.replayed_room_share)
        )

    @property
    def _other_letters(self) -> str:
        others = (("the median", self.median), ("the 95th percentile", self.p95))
        words = [f"{letter} for {figure}" for figure, letter in others if letter is not None]
        clauses = [" and ".join(words), reacting_text(self.grade or "", self.reacting)]
        return "".join(f"; {clause}" for clause in clauses if clause)


def is_graded(policy: str, own_scheduler: str | None) -> bool:
    """Whether replays under a policy have the grade of their source. own_scheduler: of the cluster, where the grade is of that."""
    return own_scheduler is None or own_policy_of(policy) == (own_scheduler, "")


def of_own_text(letter: str, own_scheduler: str) -> str:
    """Why an order has no grade, where that of the source is of the cluster's own scheduler, or of its LIMITS."""
    if own_scheduler == LIMITS:
        return f"that of the source, {letter}, is of replays under its limits, and one without them has none"
    return f"that of the source, {letter}, is of its own {OWN_SCHEDULERS[own_scheduler]}, and an order in its place has none"


def grade_of(warehouse: Warehouse, source: str, part: tuple[str, str] = ALL_GRADED) -> SourceGrade | None:
    """The grade of a source, or of a part of its jobs, as replay.fidelity has it. None before replay/fidelity has looked at it, and for a
    part that it does not have."""
    with warehouse.read() as connection:
        graded = first_row(
            connection,
            "SELECT grade, no_grade_because, logged_wait_s, replayed_wait_s, logged_room_share, replayed_room_share, "
            "logged_median_wait_s, replayed_median_wait_s, logged_p95_wait_s, replayed_p95_wait_s, rank_correlation, distance "
            "FROM replay.fidelity WHERE source = ? AND part = ? AND value = ?",
            [source, *part],
        )
        fitted = first_row(
            connection,
            "SELECT policy, backfill, procs, size_over_time, partitions, jobs FROM replay.configurations WHERE source = ? AND place = 1",
            [source],
        )
    if graded is None:
        return None
    letter, *of_mean, median, replayed_median, p95, replayed_p95, rank, distance = graded
    *of_fit, fitted_on = fitted or (None,) * 6
    grade = SourceGrade(letter, *of_mean, *of_fit)
    is_of_limits = letter is not None and fitted_on == DESCRIBED and grade.own_scheduler is None
    grade = grade._replace(about=" ".join(part).strip() if part != ALL_GRADED else "", is_of_limits=is_of_limits)
    if letter is None:
        return grade
    letters = {"mean": letter}
    if median is not None:
        mean = (grade.logged_wait_s, grade.replayed_wait_s)
        of_figures = zip(WAIT_FIGURES, (mean, (median, replayed_median), (p95, replayed_p95)), strict=True)
        letters = {figure: letter_of(figure, waits, rank, distance) for figure, waits in of_figures}
    reacting = NO_REACTION if set(letters.values()) == {NO_FIGURES} else reacting_users(warehouse, source)
    best = {figure: capped(each, figure, reacting) for figure, each in letters.items()}
    return grade._replace(
        grade=best["mean"],
        median=best.get("median"),
        p95=best.get("p95"),
        reacting=reacting,
        resemblance=letters["mean"],
    )


def reacting_users(warehouse: Warehouse, source: str) -> Reacting:
    """How the users of a source react."""
    rows = submitted_jobs(warehouse, source)
    submit, end = rows["submit_s"].to_numpy(), array_ends(rows["end_s"].to_numpy(), arrays_of_jobs(rows))
    has_user, line = rows["user"].is_not_null(), np.full(len(rows), -1)
    if has_user.any():
        named, of = rows.filter(has_user), has_user.to_numpy()
        line[of] = lines_of_rows(
            named, submit[of], end[of], named["user"].rank("dense").cast(pl.Int64).to_numpy()
        ).number
    return reacting_of(line, submit, end, rows["gave_up_s"].cast(pl.Int64).fill_null(-1).to_numpy())


def grade_text(warehouse: Warehouse, source: str, policy: str | None = None) -> str | None:
    """The grade of a source in one line, or why it has none. None before replay/fidelity has looked at it. policy: of the replay, where
    it is about one."""
    grade, origins = grade_of(warehouse, source), origins_text(source)
    if grade is not None and policy is not None and not grade.is_of(policy):
        return f"no grade: {grade.of_own_words}"
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
