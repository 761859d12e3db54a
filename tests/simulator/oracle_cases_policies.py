"""Cases worked out by hand: conservative and selective backfilling, outages, warm starts, cancellations.

Their form is `oracle_cases.Case`. `[a, b)` is a reservation or an outage.

Cases worked out by hand: the order of every policy (form: `oracle_cases.Case`).

Mostly J0 holds the whole cluster while the others arrive, and each of the others is wider than half of the cluster, so
that they run one after another in the policy's order.
"""

from __future__ import annotations

from tests.simulator.oracle_cases import EXPIRING, NEVER_STARTS, Case

# J0 leaves 2 of 4 until 10. J1 (3) can start at 10, J2 (4) at 20. J3 (1, 40 s) fits into what EASY calls extra.
THREE_BEHIND = [(0, 10, 2), (1, 10, 3), (2, 10, 4), (3, 40, 1)]

CONSERVATIVE = [
    Case(
        "EASY lets a job delay all but the head", 4, THREE_BEHIND, [0, 10, 43, 3],
        backfilled=[False, False, False, True],
    ),
    # J3 would take one of J2's processors in [20, 30).
    Case(
        "conservative lets nobody be delayed", 4, THREE_BEHIND, [0, 10, 20, 30], backfill="conservative",
        reservations=[(0, 0, 0), (1, 1, 10), (2, 2, 20), (3, 3, 30)],
    ),
    # With 17 s J3 is through when J2 begins.
    Case(
        "a gap that is long enough is filled", 4, [*THREE_BEHIND[:3], (3, 17, 1)], [0, 10, 20, 3],
        backfill="conservative",
        backfilled=[False, False, False, True],
    ),
    # J0 ends 5 s early: J1 and J2, reserved at 10 and 15, move up one after the other.
    Case(
        "the plan is compressed when a job ends early", 4, [(0, 5, 4, 10, 10), (1, 5, 4), (2, 5, 4)], [0, 5, 10],
        backfill="conservative", reservations=[(0, 0, 0), (1, 1, 10), (2, 2, 15), (5, 1, 5), (5, 2, 10)],
    ),
    # J1 [10, 20), J2 [20, 28). At 4, in SJF's order, J2 (8 s) finds [4, 10) too short before J1 and stays at 20; then
    # J1 moves to [4, 14). When it ends, on time, nothing is compressed.
    Case(
        "compression goes through the queue once", 1, [(0, 4, 1, 10, 10), (1, 10, 1), (2, 8, 1)], [0, 4, 20], "SJF",
        "conservative", reservations=[(0, 0, 0), (1, 1, 10), (2, 2, 20), (4, 2, 20), (4, 1, 4)],
    ),
    # J1 has [10, 19) before J2 arrives, and keeps it although SJF prefers J2.
    Case("a reservation is kept", 1, [(0, 10, 1), (1, 9, 1), (2, 5, 1)], [0, 10, 19], "SJF", "conservative"),
    Case(
        "one second's arrivals go by the policy", 1, [(0, 10, 1), (1, 9, 1), (1, 5, 1)], [0, 15, 10],
        "SJF", "conservative",
    ),
    # The start of J1's reservation is an event. J0's estimate has expired and is now 40: J1 gets 40. J0 ends at 30.
    Case(
        "a corrected estimate makes a new plan", 1, [(0, 30, 1, 10, 40), (1, 5, 1)], [0, 30], backfill="conservative",
        reservations=[(0, 0, 0), (1, 1, 10), (10, 1, 40), (30, 1, 30)],
    ),
    # The new plan at 10 puts J2 (5 s) before J1 (9 s), which compression at 30 keeps.
    Case(
        "a new plan is in queue order", 1, [(0, 30, 1, 10, 40), (1, 9, 1), (2, 5, 1)], [0, 35, 30],
        "SJF", "conservative",
        reservations=[(0, 0, 0), (1, 1, 10), (2, 2, 19), (10, 2, 40), (10, 1, 45), (30, 2, 30), (30, 1, 35)],
    ),
    # At 10 the new plan puts J2, submitted in that second, before J1 too.
    Case(
        "a new plan includes who arrives with it", 1, [(0, 30, 1, 10, 40), (1, 9, 1), (10, 5, 1)], [0, 35, 30], "SJF",
        "conservative", reservations=[(0, 0, 0), (1, 1, 10), (10, 2, 40), (10, 1, 45), (30, 2, 30), (30, 1, 35)],
    ),
    # Corrected to 20 the plan moves step by step: J1 from 10 to 20, and at 20 to 40.
    Case(
        "with doubling, again and again", 1, [(0, 30, 1, 10, 50), (1, 5, 1)], [0, 30],
        "FCFS", "conservative", "doubling",
        reservations=[(0, 0, 0), (1, 1, 10), (10, 1, 20), (20, 1, 40), (30, 1, 30)],
    ),
    # A run time of zero ends before its estimate of 1 s: J1 moves from 1 to 0 in the second pass.
    Case(
        "a run time of zero ends early", 1, [(0, 0, 1), (0, 5, 1)], [0, 0], backfill="conservative",
        reservations=[(0, 0, 0), (0, 1, 1), (0, 1, 0)],
    ),
]  # fmt: skip

# J1's expansion factor (w + 5) / 5 is 2 from 6 on. J2 ends at 5.
SELECTED = [(0, 10, 3), (1, 5, 4), (2, 3, 1)]

SELECTIVE = [
    # At 5 nobody is protected: J3 starts, and J1 waits for it.
    Case(
        "selective promises nothing at first", 4, [*SELECTED, (5, 20, 1)], [0, 25, 2, 5], backfill="selective",
        backfilled=[False, False, True, True],
    ),
    # At 6 J1 is protected, at 10.
    Case(
        "selective protects who has waited", 4, [*SELECTED, (6, 20, 1)], [0, 10, 2, 15], backfill="selective",
        reservations=[(6, 1, 10)],
    ),
    Case("its threshold can be set", 4, [*SELECTED, (6, 20, 1)], [0, 26, 2, 6], backfill="selective:threshold=2.5"),
    Case(
        "threshold 1 is conservative", 4, THREE_BEHIND, [0, 10, 20, 30], backfill="SELECTIVE:threshold=1",
        reservations=[(0, 0, 0), (1, 1, 10), (2, 2, 20), (3, 3, 30)],
    ),
    # J1 passes the threshold at 6, but no pass runs until J3 arrives at 8.
    Case(
        "passing the threshold is no event", 4, [*SELECTED, (8, 20, 1)], [0, 10, 2, 15], backfill="selective",
        reservations=[(8, 1, 10)],
    ),
]  # fmt: skip

OUTAGES = [
    Case("an outage takes free processors and its end is an event", 4, [(6, 5, 4)], [20], outages=[(5, 20, 2)]),
    Case("one outage after another leaves no gap", 4, [(1, 5, 1)], [20], outages=[(0, 10, 4), (10, 20, 4)]),
    # J0 is not killed: the outage gets its processors at 10. Then 2 are left: J1 10..15, J2 15.
    Case("an outage waits for running jobs", 4, [(0, 10, 4), (6, 5, 2), (6, 5, 1)], [0, 10, 15], outages=[(5, 30, 2)]),
    # At 10 4 - 3 - 2 = -1 are free, at 20 1.
    Case(
        "no job starts while processors are owed", 4, [(0, 10, 2), (0, 20, 2), (6, 5, 1)], [0, 0, 20],
        outages=[(5, 30, 3)],
    ),
    # 3 + 3 of 4 are missing in [5, 10): -2 free. J0 could start at 10, on 1.
    Case("outages add up", 4, [(6, 5, 1)], [10], outages=[(0, 10, 3), (5, 20, 3)]),
    # At 6 0 are free, 1 at 10, 4 at 30: shadow time 30, extra 2. J2 ends at 30.
    # J3 finds no processor free until then.
    Case(
        "the end of an outage under way is known", 4, [(0, 10, 1), (6, 5, 2), (7, 20, 1), (8, 40, 1)], [0, 30, 10, 30],
        outages=[(5, 30, 3)], heads=[(6, 1, 30, 2)],
    ),
    Case("an outage for good", 4, [(6, 5, 1), (6, 5, 1)], [6, 11], outages=[(5, None, 3)]),
    # 10 s fit before the outage, 11 s do not.
    Case("an announced outage is planned around", 4, [(0, 10, 4)], [0], outages=[(10, 20, 4, 0)]),
    Case("the job that would run into it waits", 4, [(0, 11, 4)], [20], outages=[(10, 20, 4, -5)]),
    Case("it is the estimate that counts", 4, [(0, 5, 4, 11, 11)], [20], outages=[(10, 20, 4, 0)], backfill="none"),
    # J0 starts before the announcement at 5 and keeps its processors until 11.
    Case("it is news before its announcement", 4, [(0, 11, 4), (4, 5, 1)], [0, 20], outages=[(10, 20, 4, 5)]),
    # Beside a narrow outage 2 of 4 are left.
    Case(
        "jobs run beside an outage", 4, [(0, 15, 3), (0, 15, 2)], [20, 0], outages=[(10, 20, 2, 0)],
        heads=[(0, 0, 20, 1)],
    ),
    Case(
        "without backfilling the job that waits for the outage is the head", 4, [(0, 11, 4), (1, 9, 2)], [20, 31],
        outages=[(10, 20, 4, 0)], backfill="none",
    ),
    Case("EASY fills the time before the outage", 4, [(0, 11, 4), (1, 9, 2)], [20, 1], outages=[(10, 20, 4, 0)]),
    # Head J1 (3, 10 s) does not fit into [5, 10): its shadow time is 20. J2 (1, 25 s) fits beside outage and head;
    # J3 (1) does not until J0 ends at 5, nor in [10, 20) with J2, and the head needs 3 of 4 after that.
    Case(
        "the head's reservation is taken out of the plan", 4,
        [(0, 5, 2), (1, 10, 3), (1, 25, 1), (1, 25, 2)], [0, 20, 1, 30],
        outages=[(10, 20, 2, 0)], heads=[(1, 1, 20, 1), (5, 1, 20, 0)],
    ),
    # J0's estimate expired at 10; a pass at 15 sees 200 instead, and J2 (20 s) may start.
    Case("an announcement is an event", 4, EXPIRING, [0, 100, 15], outages=[(1000, 1010, 1, 15)]),
    # Known at 5: J1 [10, 20) meets [15, 25) and gets 25. J2 had 20, and gets [10, 15).
    Case(
        "an announcement makes a new plan", 2, [(0, 10, 2), (1, 10, 2), (2, 5, 1)], [0, 25, 10],
        backfill="conservative",
        outages=[(15, 25, 1, 5)], reservations=[(0, 0, 0), (1, 1, 10), (2, 2, 20), (5, 1, 25), (5, 2, 10)],
    ),
    Case(
        "a failure makes a new plan", 2, [(0, 10, 2), (1, 10, 2)], [0, 12], backfill="conservative",
        outages=[(5, 12, 1)], reservations=[(0, 0, 0), (1, 1, 10), (5, 1, 12)],
    ),
    # Reserved at 10, beside the outage that has been known since 0; neither its start nor its end changes the plan.
    Case(
        "a known outage keeps the plan", 2, [(0, 10, 2), (1, 10, 1), (2, 10, 2)], [0, 10, 25], backfill="conservative",
        outages=[(15, 25, 1, 0)], reservations=[(0, 0, 0), (1, 1, 10), (2, 2, 25)],
    ),
]  # fmt: skip

WARM_STARTS = [
    # The warm start ends at 10. J0 waits for it, J1 ends in time.
    Case(
        "a warm start holds its processors", 4, [(0, 5, 2), (0, 10, 1)], [10, 0], running=[(-5, 15, 3)],
        heads=[(0, 0, 10, 2)],
    ),
    # Believed until -5 + 20 = 15.
    Case(
        "with its estimate", 4, [(0, 5, 2), (0, 10, 1)], [10, 0], running=[(-5, 15, 3, 20, 20)],
        heads=[(0, 0, 15, 2)],
    ),
    # Its estimate ended at -30: -50 + 100 = 50.
    Case("with its corrected estimate", 4, [(0, 5, 2)], [10], running=[(-50, 60, 3, 20, 100)], heads=[(0, 0, 50, 2)]),
    # -30, -10, then -50 + 80 = 30.
    Case(
        "corrected as ever", 4, [(0, 5, 2)], [10], running=[(-50, 60, 3, 20, 100)], correction="doubling",
        heads=[(0, 0, 30, 2)],
    ),
    Case(
        "in the plan", 4, [(0, 5, 2)], [10], running=[(-5, 15, 3, 20, 20)], backfill="conservative",
        reservations=[(0, 0, 15), (10, 0, 10)],
    ),
]  # fmt: skip

BLOCKED = [(0, 100, 3), (1, 5, 4), (2, 5, 1)]

CANCELLATIONS = [
    # J0 ends at 10, in the second in which J1 is cancelled; J2 takes its place.
    Case(
        "cancelled in the second of a start", 2, [(0, 10, 2), (1, 5, 2), (2, 5, 2)], [0, NEVER_STARTS, 10],
        cancel={1: 10},
    ),
    Case("cancelled too late", 2, [(0, 10, 2), (1, 5, 2), (2, 5, 2)], [0, 10, 15], cancel={1: 11}),
    Case("a cancellation is an event", 4, BLOCKED, [0, NEVER_STARTS, 7], cancel={1: 7}, backfill="none"),
    Case("cancelled when submitted", 4, [(3, 5, 1), (3, 5, 1)], [NEVER_STARTS, 3], cancel={0: 3}),
    # J0's cancellation at 15 comes too late, and causes no pass that would see its corrected estimate.
    Case("the cancellation of a job that runs is no event", 4, EXPIRING, [0, 100, 105], cancel={0: 15}),
    # J2 had [20, 30) behind J1 [10, 20).
    Case(
        "a cancellation compresses the plan", 1, [(0, 10, 1), (1, 10, 1), (2, 10, 1)], [0, NEVER_STARTS, 10],
        backfill="conservative", cancel={1: 5}, reservations=[(0, 0, 0), (1, 1, 10), (2, 2, 20), (5, 2, 10)],
    ),
    # J1 is not protected when it leaves at 3: no reservation is free, so J2's is not touched.
    Case(
        "a job without a reservation leaves no gap", 1, [(0, 9, 1), (1, 9, 1), (1, 1, 1), (3, 9, 1)],
        [0, NEVER_STARTS, 9, 10], backfill="selective", cancel={1: 3}, reservations=[(3, 2, 9)],
    ),
]  # fmt: skip


# --- oracle cases policies


# e 6 s x 3 processors = 18 against 5 s x 4 = 20; run times differ from estimates.
AREAS = [(0, 10, 4), (1, 2, 3, 6, 6), (1, 5, 4, 5, 5)]
LENGTHS = [(0, 100, 10), (1, 5, 6), (2, 7, 6), (2, 6, 6), (3, 6, 6)]
WIDTHS = [(0, 100, 10), (1, 5, 7), (2, 5, 6), (3, 5, 8), (3, 5, 7)]
# At 100 the expansion factors are J1 (50 + 10) / 10 = 6, J2 (10 + 5) / 5 = 3, J3 (100 + 100) / 100 = 2.
WAITED = [(0, 100, 10), (0, 100, 6), (50, 10, 6), (90, 5, 6)]
# 10 + 10 + 10 processors: the first two leave 4 of 10 free.
PACKING = [(0, 100, 10), (1, 5, 3), (2, 5, 6), (3, 5, 5)]
# With everything free a = p / 10. Means 0.55 and 6 s: J1 0.55 / 6 * 10 - 0.6 = 0.32, J2 0.55 / 6 * 2 - 0.5 = -0.32.
LONG_AND_SHORT = [(0, 100, 10), (1, 10, 6), (2, 2, 5)]


def f_case(policy: str, first: int, estimate: int, procs: int) -> Case:
    """J1 (submitted 10 s after the origin) has the estimate, J2 (11 s after) 1 s: which goes first."""
    starts = {1: [5, 105, 105 + estimate], 2: [5, 106, 105]}[first]
    jobs = [(5, 100, 10), (10, estimate, procs), (11, 1, procs)]
    return Case(f"{policy}: J1 of {estimate} s, J{first} first", 10, jobs, starts, policy, "none")


ORDERS = [
    Case("SJF", 4, AREAS, [0, 15, 10], "SJF", "none"),
    Case("SAF", 4, AREAS, [0, 10, 12], "saf", "none"),
    # J2 and J3 were submitted in the same second: log order.
    Case("LCFS", 10, LENGTHS, [0, 119, 106, 113, 100], "LCFS", "none"),
    Case("LJF", 10, LENGTHS, [0, 119, 100, 107, 113], "LJF", "none"),
    Case("smallest", 10, WIDTHS, [0, 105, 100, 115, 110], "smallest", "none"),
    Case("largest", 10, WIDTHS, [0, 105, 115, 100, 110], "LARGEST", "none"),
    # J1 100..200; then J2 has (150 + 10) / 10 = 16 and J3 (110 + 5) / 5 = 23.
    Case("SEXP", 10, WAITED, [0, 100, 200, 210], "sexp", "none"),
    # J2 100..110; then J1 has (110 + 100) / 100 = 2.1 and J3 (20 + 5) / 5 = 5.
    Case("LEXP", 10, WAITED, [0, 115, 100, 110], "lexp", "none"),
    # At 10: J1 (s 2, e 4, p 3): -(8/4)^3 * 3 = -24; J2 (s 4, e 3, p 4): -(6/3)^3 * 4 = -32; J3 (s 9, e 1, p 2): -2.
    # J2 10..13. At 13: J1: -(11/4)^3 * 3 = -62.4; J3: -(4/1)^3 * 2 = -128. J3 13..14; J1 does not fit beside it: 14.
    Case("WFP3", 4, [(0, 10, 4), (2, 4, 3), (4, 3, 4), (9, 1, 2)], [0, 14, 10, 13], "WFP3", "none"),
    # At 10: J1 (s 1, e 3, p 4): -9 / (2 * 3) = -1.5; J2 (s 2, e 2, p 3): -8 / (1.585 * 2) = -2.52;
    # J3 (s 9, e 50, p 1) is serial and has waited: first. J3 10..60 and J2 10..12 start, J1 needs all: 60.
    Case("UNICEP", 4, [(0, 10, 4), (1, 3, 4), (2, 2, 3), (9, 50, 1)], [0, 60, 10, 10], "UNICEP", "none"),
    # Both arrive at 0 and score 0, so log order decides, whatever their size.
    Case("WFP3 without a wait", 2, [(0, 9, 2), (0, 1, 1)], [0, 9], "WFP3", "none"),
    Case("UNICEP without a wait", 2, [(0, 9, 2), (0, 1, 1)], [0, 9], "UNICEP", "none"),
    # 870 log10(12) - 870 log10(11) = 938.9 - 906.0 = 32.9. J1: log10(1000) * 20 = 60; J2: log10(1) * 20 = 0: first.
    Case("F1", 20, [(10, 15, 20), (11, 1000, 20), (12, 1, 20)], [10, 26, 25], "F1"),
    # With J1 of 10 s, log10(10) * 20 = 20 < 32.9: J1 first.
    Case("F1, nearer", 20, [(10, 15, 20), (11, 10, 20), (12, 1, 20)], [10, 25, 35], "F1"),
    # The same 1000 s later. From origin 1000 it is the same; from origin 0 the submit terms differ by only
    # 870 log10(1012 / 1011) = 0.37 < 20: J2 first.
    Case(
        "F1 from an origin", 20, [(1010, 15, 20), (1011, 10, 20), (1012, 1, 20)], [1010, 1025, 1035], "F1",
        origin=1000,
    ),
    Case("F1 from 0", 20, [(1010, 15, 20), (1011, 10, 20), (1012, 1, 20)], [1010, 1026, 1025], "F1"),
    # log10(11) - log10(10) = 0.041393.
    # F2: 25600 * 0.041393 = 1059.7, against 6 * sqrt(40000) - 6 = 1194 and 6 * sqrt(30000) - 6 = 1033.
    f_case("F2", first=2, estimate=40_000, procs=6),
    f_case("F2", first=1, estimate=30_000, procs=6),
    # F3: 6860000 * 0.041393 = 283955, against 6 * 50000 - 6 and 6 * 47000 - 6 = 281994.
    f_case("F3", first=2, estimate=50_000, procs=6),
    f_case("F3", first=1, estimate=47_000, procs=6),
    # F4: 530000 * 0.041393 = 21938, against sqrt(9) * 7400 - 3 = 22197 and sqrt(9) * 7300 - 3 = 21897.
    f_case("F4", first=2, estimate=7400, procs=9),
    f_case("F4", first=1, estimate=7300, procs=9),
]  # fmt: skip

PACKING_ORDERS = [
    # J2 (6) goes first and leaves 4: then only J1 (3) fits, and is before J3 (5) in the new order.
    Case("tetris", 10, PACKING, [0, 100, 100, 105], "tetris", "none"),
    # Without looking at what is free J3 would be the head.
    Case("largest is not tetris", 10, PACKING, [0, 105, 100, 105], "largest", "none"),
    # At 1 and 2 one processor is free, and those who do not fit all score 1: J1, submitted first, is the head.
    # At 9 everybody fits, and the widest packs best: J2.
    Case(
        "tetris ranks only those who fit", 4, [(0, 9, 3), (1, 5, 2), (2, 5, 4)], [0, 14, 9], "tetris",
        heads=[(1, 1, 9, 2), (2, 1, 9, 2), (9, 1, 14, 2)],
    ),
    Case("tetris-star prefers short jobs", 10, LONG_AND_SHORT, [0, 102, 100], "tetris-star", "none"),
    Case("tetris does not", 10, LONG_AND_SHORT, [0, 100, 110], "tetris", "none"),
    # The first pass at 100 sees a = 0.3, 0.6, 0.5 and e = 5: J2. Then 4 are free: only J1 fits.
    Case("tetris-star orders again after a start", 10, PACKING, [0, 100, 100, 105], "tetris-star", "none"),
    # default_rng(1) begins 0.512, 0.950, 0.144, 0.949; default_rng(2) 0.262, 0.298, 0.814, 0.092.
    Case("random", 10, WIDTHS[:4], [0, 110, 100, 105], "random", "none"),
    Case("random with a seed", 10, WIDTHS[:4], [0, 105, 110, 100], "random:seed=2", "none"),
]  # fmt: skip

USERS = [
    # At 100 user 0 has used 1000 processor-seconds and user 1 nothing: J2.
    Case("fairshare", 10, [(0, 100, 10), (1, 5, 10), (2, 5, 10)], [0, 105, 100], "fairshare", "none", users=[0, 0, 1]),
    # At 150 user 0 used 1000 processor-seconds in 0..100, user 1 500 in 100..150.
    Case(
        "fairshare with a long memory", 10, [(0, 100, 10), (100, 50, 10), (120, 5, 10), (121, 5, 10)],
        [0, 100, 155, 150], "fairshare:half_life_days=7", "none", users=[0, 1, 0, 1],
    ),
    # A half-life of 8.64 s: user 0's use has halved almost 6 times: 10 * 8.64 / ln 2 * 2^-5.8 = 2, user 1's 122.
    Case(
        "fairshare with a short memory", 10, [(0, 100, 10), (100, 50, 10), (120, 5, 10), (121, 5, 10)],
        [0, 100, 150, 155], "fairshare:half_life_days=0.0001", "none", users=[0, 1, 0, 1],
    ),
    # At 10 the warm start has used 2 * 10 since the first event, not 2 * 1010; J0 8 * 10. User 1 first.
    Case(
        "use counts from the first event", 10, [(0, 10, 8), (1, 5, 10), (2, 5, 10)], [0, 15, 10], "fairshare", "none",
        users=[0, 0, 1], running=[(-1000, 1010, 2)], running_user=1,
    ),
    # 4 * 10 for the warm start's user 1 against 3 * 10: user 0 first, although submitted last.
    Case(
        "a warm start has used the cluster", 10, [(0, 10, 3), (1, 5, 10), (2, 5, 10)], [0, 15, 10], "fairshare", "none",
        users=[0, 1, 0], running=[(-1, 11, 4)], running_user=1,
    ),
    # J2's user has used nothing: 10000 * 2^0 against 10000 * 2^(-1 * 2).
    Case(
        "multifactor", 10, [(0, 100, 10), (1, 5, 10), (2, 5, 6)], [0, 105, 100], "multifactor", "none",
        users=[0, 0, 1],
    ),
    # At 10 user 0 has used 40 of 100, and there are 3 users, one of them in the warm start alone:
    # J1 1000 * 2^(-0.4 * 3) + 1000 * 1 = 1435, J2 1000 + 1000 * 0.5 = 1500. With 2 users J1 would have 1574.
    Case(
        "users of the warm start count", 10, [(0, 10, 4), (1, 5, 10), (2, 5, 5)], [0, 15, 10],
        "multifactor:age=0,fairshare=1000,size=1000", "none", users=[0, 0, 2], running=[(-5, 15, 6)], running_user=1,
    ),
    Case(
        "multifactor by age", 10, WIDTHS, [0, 100, 105, 110, 115], "multifactor:fairshare=0,size=0", "none",
    ),
    # J1 and J4 (7 processors) tie: submit time.
    Case("multifactor by size", 10, WIDTHS, [0, 105, 115, 100, 110], "multifactor:age=0,fairshare=0", "none"),
    # Both are older than 0.0001 days = 8.64 s, so age no longer counts and the wider job goes first.
    Case(
        "age has a ceiling", 10, [(0, 100, 10), (1, 5, 6), (90, 5, 7)], [0, 105, 100],
        "multifactor:max_age_days=0.0001,fairshare=0", "none",
    ),
]  # fmt: skip

CASES = [*CONSERVATIVE, *SELECTIVE, *OUTAGES, *WARM_STARTS, *CANCELLATIONS, *ORDERS, *PACKING_ORDERS, *USERS]
