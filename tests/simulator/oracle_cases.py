"""Cases worked out by hand: the event loop, EASY backfilling and its variants. Any engine must reproduce them.

A job is (submit, run time, processors) with an exact estimate, or (submit, run time, processors, estimate, limit).
J0, J1, ... are the jobs in log order; `a..b` means running from a to b; `shadow time` is that of the blocked head.
All times are in s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.simulator.oracle_types import Job, Outage, RunningJob, Workload

NEVER_STARTS = -1

Row = Sequence[int]


class Case(NamedTuple):
    """One hand-worked replay: `starts` (s) is what it must give, and what else is not None.

    users: the jobs' users, otherwise all 0. cancel: cancellation (s) by index of the job. running: the warm start, as
    (start, run time, processors[, estimate, limit]), all of user `running_user`. outages: (start, end, processors[,
    announced]). heads: the first blocked heads as (t, index, shadow time, extra processors). reservations: all
    of them as (t, index, start).
    """

    name: str
    procs: int
    jobs: Sequence[Row]
    starts: list[int]
    policy: str = "FCFS"
    backfill: str = "easy"
    correction: str = "requested"
    origin: int = 0
    users: Sequence[int] = ()
    cancel: Mapping[int, int] = {}
    running: Sequence[Row] = ()
    running_user: int = 0
    outages: Sequence[Sequence[int | None]] = ()
    backfilled: list[bool] | None = None
    heads: list[tuple[int, int, int, int]] | None = None
    reservations: list[tuple[int, int, int]] | None = None

    @property
    def workload(self) -> Workload:
        """The case as the oracle takes it."""
        jobs = [
            Job(order, *in_full(row), self.users[order] if self.users else 0, self.cancel.get(order))
            for order, row in enumerate(self.jobs)
        ]
        running = [
            RunningJob(Job(-1 - number, *in_full(row), self.running_user), row[0])
            for number, row in enumerate(self.running)
        ]
        outages = [Outage(*row) if len(row) == 4 else Outage(*row, row[0]) for row in self.outages]
        return Workload(jobs, self.procs, self.origin, running, outages)


def in_full(row: Row) -> Row:
    """Return the row with estimate and limit; the exact estimate of a run time of zero is 1 s."""
    return row if len(row) == 5 else (*row, max(1, row[1]), max(1, row[1]))


# J0 (3 of 4 processors) is believed to end at 10, runs to 100 and may run to 200. J1 needs all 4. J2 (20 s) fits, and
# may start only where the shadow time is 20 s away.
EXPIRING = [(0, 100, 3, 10, 200), (1, 5, 4), (1, 20, 1)]

EVENT_LOOP = [
    Case("jobs that fit start at submission", 4, [(3, 10, 2), (4, 10, 2)], [3, 4]),
    # J0 0..10 leaves 1 free. J1 needs 4 and is the head; J2 would fit at 1 but stands behind it.
    Case(
        "without backfilling the pass ends at the head", 4, [(0, 10, 3), (1, 5, 4), (1, 2, 1)], [0, 10, 15],
        backfill="none", backfilled=[False, False, False],
    ),
    Case("EASY looks behind the head", 4, [(0, 10, 3), (1, 5, 4), (1, 2, 1)], [0, 10, 1]),
    # J0 0..10 holds everything; J1 is submitted in the second in which J0 ends, and starts at once.
    Case("completions come before submissions", 2, [(0, 10, 2), (10, 5, 2)], [0, 10]),
    # At 10 J0 ends and J2 arrives. SJF must see J1 (9 s) and J2 (1 s) together: J2 10..11, then J1.
    Case("submissions come before the pass", 2, [(0, 10, 2), (5, 9, 2), (10, 1, 2)], [0, 11, 10], "SJF"),
    # Both arrive at 0; SJF takes the later row first.
    Case("all submissions come before the pass", 1, [(0, 10, 1), (0, 1, 1)], [1, 0], "SJF"),
    # SJF: at 10 J0 and J1 end. The order is J2 (5 s, 3 of 4), J3 (6 s, 2 of 4): J2 10..15 leaves 1 and J3 waits.
    # A pass between the two completions would find J2 blocked with 2 free.
    Case(
        "all completions come before the pass", 4, [(0, 10, 2), (0, 10, 2), (1, 5, 3), (1, 6, 2)], [0, 0, 10, 15],
        "SJF",
        heads=[(1, 2, 10, 1), (10, 3, 15, 2)],
    ),
    # SJF: at 1 J1 (8 s) is the head. J2 (2 s, same width) arrives at 5 and overtakes it: 10..12, then J1.
    Case("the head is not committed", 2, [(0, 10, 2), (1, 8, 2), (5, 2, 2)], [0, 12, 10], "SJF", "none"),
    # SJF, all 3 s, one at a time: submitted at 1, 1 and 2.
    Case("ties by submit time, then log", 1, [(0, 10, 1), (1, 3, 1), (1, 3, 1), (2, 3, 1)], [0, 10, 13, 16], "SJF"),
    # J0 holds 2 of 3 processors during the pass at 0, believed until 1: head J1 (2), shadow time 1, extra 1 for J2.
    # The second pass at 0 finds J0 gone, and J1 starts.
    Case(
        "a run time of zero holds its processors during the pass", 3, [(0, 0, 2), (0, 5, 2), (0, 100, 1)], [0, 0, 0],
        backfilled=[False, False, True], heads=[(0, 1, 1, 1)],
    ),
    Case("run times of zero follow each other in one second", 1, [(7, 0, 1), (7, 0, 1), (7, 5, 1)], [7, 7, 7]),
]  # fmt: skip

EASY = [
    # J0 0..10 leaves 1; head J1 needs all 4: shadow time 10, extra 0. J2: 1 + 9 = 10 is in time.
    Case(
        "ending exactly at the shadow time is in time", 4, [(0, 10, 3), (1, 5, 4), (1, 9, 1)], [0, 10, 1],
        backfilled=[False, False, True],
    ),
    Case("ending a second after it is not", 4, [(0, 10, 3), (1, 5, 4), (1, 10, 1)], [0, 10, 15]),
    # J0 (1) ends at 5, J1 (2) at 8, J2 (1) at 20; 0 free. Head J3 needs 3: free 1 at 5, 3 at 8.
    Case(
        "the shadow time is the first estimated end that suffices", 4,
        [(0, 5, 1), (0, 8, 2), (0, 20, 1), (1, 4, 3)], [0, 0, 0, 8], heads=[(1, 3, 8, 0)],
    ),
    # J0 and J1 0..10 leave 1 of 5. Head J2 needs 3: J0 alone would do (1 + 2), but J1 ends then as well:
    # free 5 at 10, extra 5 - 3 = 2. J3 (100 s) ends after 10 and takes 1 of the extra 2.
    Case(
        "ties at the shadow time count towards the extra processors", 5,
        [(0, 10, 2), (0, 10, 2), (1, 5, 3), (1, 100, 1)], [0, 0, 10, 1],
        backfilled=[False, False, False, True], heads=[(1, 2, 10, 2)],
    ),
    # J0 0..10 leaves 2 of 8. Head J1 needs 7: shadow time 10, extra 1. J2 (20 s) takes the extra one: 1..21.
    # J3 (20 s) finds a processor free but no extra one. J4 (5 s) ends by 10: 1..6.
    # At 6: 1 free; free at 10 is 7, extra 0, so J3 still waits. J1 10..20 on 7. J3 at 20.
    Case(
        "extra processors are used up", 8,
        [(0, 10, 6), (1, 10, 7), (1, 20, 1), (1, 20, 1), (1, 5, 1)], [0, 10, 1, 20, 1],
    ),
    # As above, but J2 (5 s) meets both conditions, so the extra processor is left for J3 (20 s).
    Case(
        "ending in time uses no extra processors", 8,
        [(0, 10, 6), (1, 10, 7), (1, 5, 1), (1, 20, 1)], [0, 10, 1, 1],
    ),
    # All at 0: J0 (2, 10 s) and J1 (2, 5 s) start and leave 1 of 5. Head J2 (4): free 3 at 5, 5 at 10: extra 1 for J3.
    Case(
        "jobs started in the same pass count as running", 5,
        [(0, 10, 2), (0, 5, 2), (0, 3, 4), (0, 20, 1)], [0, 0, 10, 0], heads=[(0, 2, 10, 1)],
    ),
    # J0 0..10 leaves 1 of 4. SAF's order at 1: head J1 (area 4), J3 (5), J2 (6): J3 takes the free processor, 1..6.
    # At 6 J2 (6 s) would end at 12 > 10 and waits. J1 10..11, J2 11.
    Case(
        "the rest of the queue is visited in policy order", 4,
        [(0, 10, 3), (1, 1, 4), (1, 6, 1), (1, 5, 1)], [0, 10, 11, 1], "SAF",
    ),
    # FCFS visits J2 first: 1..7. At 7 J3 (5 s) would end at 12 > 10.
    Case("in submit order under FCFS", 4, [(0, 10, 3), (1, 1, 4), (1, 6, 1), (1, 5, 1)], [0, 10, 1, 11]),
    # Nothing is kept for J1: J3 starts when J2 ends, and is in its way until 12.
    Case(
        "any lets everybody pass", 4, [(0, 10, 3), (1, 1, 4), (1, 6, 1), (1, 5, 1)], [0, 12, 1, 7], backfill="any",
        backfilled=[False, False, True, True],
    ),
    # Shortest first takes J3, whatever the policy.
    Case(
        "easy-sjbf visits the shortest estimate first", 4,
        [(0, 10, 3), (1, 1, 4), (1, 6, 1), (1, 5, 1)], [0, 10, 11, 1], backfill="easy-sjbf",
    ),
    # J1 ends at 3, when LCFS has the queue J4 (head), J3, J2. One of J2 and J3 (5 s) runs 3..8, before the head 10..15.
    Case(
        "easy visits in the policy's order", 4,
        [(0, 10, 3), (0, 3, 1), (1, 5, 1), (2, 5, 1), (3, 5, 4)], [0, 0, 15, 3, 10], "LCFS",
    ),
    Case(
        "easy-sjbf has its own order, ties by submit time", 4,
        [(0, 10, 3), (0, 3, 1), (1, 5, 1), (2, 5, 1), (3, 5, 4)], [0, 0, 3, 15, 10], "LCFS", "easy-sjbf",
    ),
    # J2 runs 3 s but is estimated at 30: it would end after the shadow time 10, so it waits for J1 10..15.
    Case("backfilling believes estimates", 4, [(0, 10, 3), (1, 5, 4), (1, 3, 1, 30, 30)], [0, 10, 15]),
    # J0 is estimated at 40 and ends at 10: at 1 the shadow time is 40, J2 (1 + 30) is in time. J2 ends at 4.
    Case("of running jobs too", 4, [(0, 10, 3, 40, 40), (1, 5, 4), (1, 3, 1, 30, 30)], [0, 10, 1]),
    # J2 is estimated at 9 (1 + 9 = 10 is in time) but runs 29 s: 1..30. J1 has to wait for it.
    Case("an underestimated job delays the head", 4, [(0, 10, 3), (1, 5, 4), (1, 29, 1, 9, 60)], [0, 30, 1]),
    # 4 processors: J0 (2) 0..20, J1 (2) 0..10; head J2 (4): shadow time 20, extra 0. At 10 J1 ends and J3 (1, 10 s)
    # and J4 (1, 11 s) arrive: 10 + 10 = 20 is in time, 10 + 11 is not. J2 20..25, J4 25.
    Case(
        "an arrival and a completion in one pass", 4,
        [(0, 20, 2), (0, 10, 2), (1, 5, 4), (10, 10, 1), (10, 11, 1)], [0, 0, 20, 10, 25],
    ),
]  # fmt: skip

# Probes of EXPIRING's kind: J0 runs to 1000, limit 5000; J1 is the head; the others only cause passes.
PROBED = [(0, 1000, 3, 10, 5000), (1, 5, 4), (15, 1, 4), (70, 1, 4), (371, 1, 4)]
CUT_SHORT = [(0, 690, 3, 10, 700), (1, 5, 4), (641, 1, 4)]

CORRECTIONS = [
    # At 1: shadow time 10, so J2 waits. J3's arrival at 15 is the next pass: J0's estimate has expired, its end is 200
    # now; J2 15..35. J3 finds no free processor until 35.
    Case(
        "an expired estimate is corrected to the limit", 4, [*EXPIRING, (15, 1, 1)], [0, 100, 15, 35],
        heads=[(1, 1, 10, 0), (15, 1, 200, 0), (35, 1, 200, 0)],
    ),
    # The same with J3 at 10 = J0's estimated end: "not later than t", so expired. J2 10..30, J3 30.
    Case("it expires in the second in which it ends", 4, [*EXPIRING, (10, 1, 1)], [0, 100, 10, 30]),
    # At 9 it has not: shadow time 10, J3 (1 s) 9..10. That ending at 10 is a pass, where J2 goes as above.
    Case("not a second earlier", 4, [*EXPIRING, (9, 1, 1)], [0, 100, 10, 9]),
    # J0's estimate expires at 10, but that is no event: J2 waits until J0 ends at 100, then J1 100..105.
    Case("no pass runs when an estimate expires", 4, EXPIRING, [0, 100, 105]),
    # 6 processors, 1 free: J0 (2) estimated 10, limit 50, runs 40; J1 (3) 0..60. Head J2 needs 5.
    # At 20: J0's end is 50, J1's 60: free 3 at 50, 6 at 60: shadow time 60, extra 1. J3 (500 s) takes it: 20..520.
    # At 40 J0 ends: 2 free; free 5 at 60, extra 0. J2 60..65.
    Case(
        "only expired estimates are corrected", 6,
        [(0, 40, 2, 10, 50), (0, 60, 3), (1, 5, 5), (20, 500, 1)], [0, 0, 60, 20],
        heads=[(1, 2, 60, 1), (20, 2, 60, 1), (40, 2, 60, 0)],
    ),
    # 10 + 60 = 70 has expired at 70, 70 + 300 = 370 at 371: 370 + 900 = 1270.
    Case(
        "increments", 4, PROBED, [0, 1000, 1005, 1006, 1007], correction="increments",
        heads=[(1, 1, 10, 0), (15, 1, 70, 0), (70, 1, 370, 0), (371, 1, 1270, 0)],
    ),
    # 20; then, passing 40 by, 80; then, passing 160 and 320 by, 640.
    Case(
        "doubling, as often as needed", 4, PROBED, [0, 1000, 1005, 1006, 1007], correction="doubling",
        heads=[(1, 1, 10, 0), (15, 1, 20, 0), (70, 1, 80, 0), (371, 1, 640, 0)],
    ),
    # Not 1270, and not 1280.
    Case(
        "increments end at the limit", 4, CUT_SHORT, [0, 690, 695], correction="increments",
        heads=[(1, 1, 10, 0), (641, 1, 700, 0)],
    ),
    Case(
        "doubling ends at the limit", 4, CUT_SHORT, [0, 690, 695], correction="doubling",
        heads=[(1, 1, 10, 0), (641, 1, 700, 0)],
    ),
]  # fmt: skip

CASES = [*EVENT_LOOP, *EASY, *CORRECTIONS]
