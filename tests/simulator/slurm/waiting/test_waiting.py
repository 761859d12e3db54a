"""Tests of simulator/slurm/waiting: ahead, following, held, kept, looking, missing, words.

By which factor a job is ahead.

Which resource a job lacks.

Every cause has its words.

Schedules that are given, and what kept their jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import NOT_GIVEN, Request
from simulator.jobs.cluster import FOREVER
from simulator.limits.rules import gate_changes
from simulator.slurm.clockwork import LAST_PERIOD
from simulator.slurm.replaying import Phases, new_replay
from simulator.slurm.waiting.ahead import AGE, EARLIER, JOB_SIZE, MOST_FIRST, OTHER, QOS, leading_factor, nobody_ahead
from simulator.slurm.waiting.following import GivenSchedule, KeptWaits, follow_schedule
from simulator.slurm.waiting.kept import ARRAY_LIMIT, BEGIN_TIME, CLOSED_HOURS, DEPENDENCY, HELD, LICENCES, NUM_KEPT
from simulator.slurm.waiting.missing import CORES, FRAGMENTS, GPUS, MEMORY, missing_resource
from simulator.slurm.waiting.words import CAUSE_WORDS, CAUSES
from tests.simulator.busy import SITE, columns_of, engine_of, with_reservation
from tests.simulator.slurm.closed_cases import drawn_case
from traces.cluster.description import Absence, ClusterDescription, Gate, SchedulerSettings

ONE = Request(0, limit_s=600, tasks=1, qos="normal")


@pytest.mark.parametrize(
    ("first", "weights", "factor"),
    [
        (ONE, {}, EARLIER),
        (replace(ONE, qos="few"), {"qos": 10, "age": 10}, QOS),
        (replace(ONE, tasks=16, min_nodes=4, max_nodes=4), {"qos": 10, "jobsize": 10}, JOB_SIZE),
        (replace(ONE, submit_s=-86_400), {"age": 100, "jobsize": 1}, AGE),
        (replace(ONE, nice=-50), {"age": 100}, OTHER),
        (replace(ONE, priority=7), {"age": 100}, OTHER),
    ],
)
def test_it_is_the_factor_with_the_largest_lead(first: Request, weights: dict[str, int], factor: int) -> None:
    values = {f"priorityweight{name}": weight for name, weight in weights.items()}
    values["prioritymaxage"] = 86_400
    site = replace(
        SITE, scheduler=SchedulerSettings("slurm", "22.05", {"prioritytype": "priority/multifactor"} | values)
    )
    arrays, columns = cluster_arrays(site), columns_of([first, ONE], site)
    replay = new_replay(site, arrays, columns, np.full(2, 60), Phases())
    replay.eligible[:] = columns.submit + 86_400
    replay.clock[LAST_PERIOD] = 86_400
    assert leading_factor(replay, nobody_ahead(2, 1), 0, 1) == factor


# --- missing


SMALL = Request(0, limit_s=600, tasks=1)


@pytest.mark.parametrize(
    ("asked", "free", "missing"),
    [
        (replace(SMALL, memory_mib=600), {"memory": 500}, MEMORY),
        (replace(SMALL, gpus={"": 2}), {"gpus": 1}, GPUS),
        (replace(SMALL, gpus={"": 1}), {"gpus": 0, "cpus": 0}, GPUS),
        (replace(SMALL, tasks=3, min_nodes=1, max_nodes=1), {"cpus": 2}, FRAGMENTS),
        (replace(SMALL, tasks=9), {"cpus": 2}, CORES),
    ],
)
def test_it_is_the_one_without_which_the_job_would_fit(asked: Request, free: dict[str, int], missing: int) -> None:
    engine = engine_of([asked])
    engine.scratch.allowed[:] = True
    for name, left in free.items():
        getattr(engine.free, name)[:] = left
    assert missing_resource(engine, 0, 0) == missing


# --- words


def test_every_cause_has_a_name_words_and_reasons_of_squeue() -> None:
    assert set(range(NUM_KEPT)) == set(CAUSES)
    assert len(CAUSE_WORDS) == len(set(CAUSE_WORDS.values())) == NUM_KEPT
    assert [code for code, cause in CAUSES.items() if not cause.reasons] == [CLOSED_HOURS]


# --- following


Times = tuple[int, int]
FULL = Request(0, limit_s=3600, min_nodes=4, max_nodes=4, tasks=16)
FOLLOWED = Request(0, limit_s=3600, tasks=1)


def kept_of(
    asked: Sequence[Request],
    times: Sequence[Times],
    site: ClusterDescription = SITE,
    nodes: Sequence[Sequence[int]] | None = None,
    moments: Sequence[int] = (),
) -> KeptWaits:
    """times: start and end of each job, -1 for a start that never came."""
    columns = columns_of(asked, site)
    start, end = np.array(times, dtype=np.int64).T
    rows = [list(each) for each in nodes] if nodes else [[] for _ in asked]
    given = GivenSchedule(
        start=start,
        end=end,
        left=np.where(start >= 0, start, end),
        partition=columns.partitions[:, 0].copy(),
        first=np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64),
        node=np.array([node for each in rows for node in each], dtype=np.int64),
    )
    hours = [gate_changes(gate, 0, 0, 10_000) for gate in site.gates]
    return follow_schedule(site, cluster_arrays(site), columns, given, np.array(moments, dtype=np.int64), hours)


def seconds_of(kept: KeptWaits, job: int) -> dict[str, int]:
    """Seconds by cause."""
    row = kept.waits.seconds[job]
    return {cause.name: int(row[code]) for code, cause in CAUSES.items() if row[code]}


def test_the_first_lacks_cores_and_the_second_is_behind_it_until_it_starts() -> None:
    kept = kept_of([FULL, FULL, FOLLOWED], [(0, 1000), (1000, 2000), (2000, 2100)])
    assert seconds_of(kept, 1) == {"cores": 1000}
    assert seconds_of(kept, 2) == {"behind_earlier": 1000, "cores": 1000}
    assert kept.waits.longest[2].tolist() == [1, 1000]


@pytest.mark.parametrize(
    ("asked", "nodes", "cause"),
    [
        ([replace(FOLLOWED, memory_mib=900), replace(FOLLOWED, memory_mib=900)], [[0], [0]], "memory"),
        ([replace(FOLLOWED, gpus={"": 2}, partitions=("gpu",))] * 3, [[2], [3], [2]], "gpus"),
        ([replace(FOLLOWED, tasks=3, min_nodes=1, max_nodes=1)] * 5, [[0], [1], [2], [3], [0]], "fragments"),
        ([FOLLOWED, replace(FULL, tasks=4, partitions=("whole",))], [[0], [0, 1, 2, 3]], "whole_nodes"),
    ],
)
def test_the_resource_that_is_missing_is_named(asked: list[Request], nodes: list[list[int]], cause: str) -> None:
    # all but the last run from the first second on, and the last one cannot start beside them
    if cause == "memory":
        asked = [replace(one, min_nodes=4, max_nodes=4, tasks=4) for one in asked]
        nodes = [[0, 1, 2, 3]] * 2
    times = [(0, 500)] * (len(asked) - 1) + [(500, 600)]
    assert seconds_of(kept_of(asked, times, nodes=nodes), len(asked) - 1) == {cause: 500}


def test_limits_are_named_with_their_slot() -> None:
    few = replace(FOLLOWED, qos="few")
    kept = kept_of([few, few], [(0, 300), (300, 400)])
    assert seconds_of(kept, 1) == {"limit": 300}
    limits = kept.replay.engine.limits
    assert limits.bound[kept.waits.slot[1]] == 1


def test_reservations_absences_dependencies_holds_and_times() -> None:
    reserved = kept_of([replace(FOLLOWED, limit_s=900)], [(1200, 1300)], with_reservation())
    assert seconds_of(reserved, 0) == {"reservation": 1200}
    away = tuple(replace(node, absences=(Absence(0, 700, "drain"),)) for node in SITE.nodes)
    assert seconds_of(kept_of([FOLLOWED], [(700, 800)], replace(SITE, nodes=away)), 0) == {"nodes_away": 700}
    asked = [
        FOLLOWED,
        replace(FOLLOWED, dependencies=(("afterany", 0),)),
        replace(FOLLOWED, begin_s=400),
        replace(FOLLOWED, held=True),
    ]
    kept = kept_of(asked, [(0, 250), (250, 300), (400, 500), (-1, 600)])
    assert [seconds_of(kept, job) for job in range(1, 4)] == [{"dependency": 250}, {"begin_time": 400}, {"held": 600}]


def test_what_fits_waits_for_the_pace_and_then_for_nobody_knows_what() -> None:
    kept = kept_of([FOLLOWED], [(1000, 1001)])
    assert seconds_of(kept, 0) == {"pace": kept.patience_s, "unknown": 1000 - kept.patience_s}


def test_the_factor_that_is_furthest_ahead_is_named() -> None:
    values = {
        "prioritytype": "priority/multifactor",
        "priorityweightqos": 1000,
        "priorityweightage": 10,
        "bf_window": 60,
    }
    site = replace(SITE, scheduler=SchedulerSettings("slurm", "22.05", values), limits=())
    better = replace(FULL, qos="few", submit_s=5)
    kept = kept_of([FULL, FULL, better], [(0, 100), (200, 300), (100, 200)], site)
    assert seconds_of(kept, 1) == {"cores": 5 + 100, "behind_qos": 95}


def test_moments_have_what_keeps_each_job_then() -> None:
    kept = kept_of([FULL, FOLLOWED], [(0, 100), (100, 120)], moments=[50, 110])
    names = [[CAUSES[int(code)].name if code >= 0 else None for code in row] for row in kept.at_moments]
    assert names == [[None, "cores"], [None, None]]


def test_causes_add_up_to_the_wait_whatever_the_schedule() -> None:
    random = np.random.default_rng(3)
    asked, times, nodes = [], [], []
    for _ in range(300):
        submit = int(random.integers(0, 20_000))
        start = submit + int(random.integers(0, 3_000))
        never = random.random() < 0.1
        asked.append(
            Request(
                submit,
                limit_s=int(random.integers(60, 3_600)),
                tasks=int(random.integers(1, 9)),
                memory_mib=int(random.integers(0, 900)),
                gpus={"": 1} if random.random() < 0.2 else {},
                qos="few" if random.random() < 0.3 else "normal",
                user="u" if random.random() < 0.5 else "v",
                account="",
                partitions=("all", "gpu") if random.random() < 0.2 else ("all",),
            )
        )
        times.append((-1 if never else start, start + int(random.integers(0, 2_000))))
        nodes.append([] if never or random.random() < 0.5 else [int(random.integers(0, 4))])
    site = with_reservation("a", "b", begin_s=5_000, end_s=9_000)
    kept = kept_of(asked, times, site, nodes)
    left = np.array([end if start < 0 else start for start, end in times])
    submit = np.array([one.submit_s for one in asked])
    assert kept.waits.seconds.sum(axis=1).tolist() == (left - submit).tolist()
    assert (kept.waits.seconds >= 0).all()
    assert left.max() < FOREVER and (kept.waits.kept == NOT_GIVEN).all()


def test_gates_hold_the_jobs_they_name_and_not_those_behind_them() -> None:
    # second 0 is a Thursday, 0 h UTC: long jobs of partition all do not start before 1 h
    gate = Gate((3,), 0, 60, over_time_s=3600, partition="all")
    long, short = replace(FOLLOWED, limit_s=7200), replace(FOLLOWED, limit_s=3600)
    elsewhere = replace(long, partitions=("gpu",))
    times = [(3700, 3800), (0, 100), (20, 120)]
    kept = kept_of([long, short, elsewhere], times, replace(SITE, gates=(gate,)), moments=[3599, 3601])
    assert seconds_of(kept, 0)["closed_hours"] == 3600
    assert sum(seconds_of(kept, 0).values()) == 3700
    assert set(seconds_of(kept, 2)) == {"pace"} and not seconds_of(kept, 1)
    assert CAUSES[int(kept.at_moments[0, 0])].name == "closed_hours"
    assert CAUSES[int(kept.at_moments[1, 0])].name != "closed_hours"
    over = replace(SITE, gates=(Gate((3,), 0, 60, over_cpus=4),))
    assert "closed_hours" in seconds_of(kept_of([FULL, FOLLOWED], [(3700, 3800), (3700, 3800)], over), 0)
    assert "closed_hours" not in seconds_of(kept_of([FULL, FOLLOWED], [(3700, 3800), (3700, 3800)], over), 1)


# looking, held, ahead: what is not looked at again


def test_those_ahead_that_fit_take_room_from_those_behind() -> None:
    half = replace(FULL, tasks=8, min_nodes=2, max_nodes=2)
    kept = kept_of([half, half, half, half], [(20, 1000), (20, 1000), (1000, 2000), (1000, 2000)])
    assert seconds_of(kept, 1) == {"pace": 20}
    assert seconds_of(kept, 2) == {"cores": 1000}
    assert seconds_of(kept, 3) == {"behind_earlier": 1000}


def test_tasks_of_an_array_take_room_from_those_behind() -> None:
    tasks = [replace(FOLLOWED, tasks=4, min_nodes=1, max_nodes=1, array=1, array_task=task) for task in range(6)]
    kept = kept_of(tasks, [(20, 1000)] * 4 + [(1000, 2000)] * 2)
    assert seconds_of(kept, 3) == {"pace": 20}
    assert seconds_of(kept, 5)["cores"] == 1000 - seconds_of(kept, 5).get("pace", 0) and "unknown" not in seconds_of(
        kept, 5
    )


def test_a_job_that_fits_and_never_starts_takes_nothing_from_others() -> None:
    half = replace(FULL, tasks=8, min_nodes=2, max_nodes=2)
    asked = [half, half, half, *[replace(FOLLOWED, submit_s=second) for second in range(500, 3000, 100)]]
    times = [(5000, 6000), (5000, 6000), (5000, 6000), *((second, second + 1) for second in range(500, 3000, 100))]
    kept = kept_of(asked, times)
    assert set(seconds_of(kept, 2)) >= {"unknown"} and seconds_of(kept, 0)["unknown"] > 4000


def test_a_job_whose_limit_is_let_go_is_judged_again() -> None:
    asked = [*[replace(ONE, qos="few", tasks=1)] * 2, replace(ONE, tasks=15, min_nodes=4, max_nodes=4)]
    kept = kept_of(
        [replace(FULL, submit_s=100) if k == 2 else one for k, one in enumerate(asked)],
        [(0, 100), (300, 400), (100, 300)],
    )
    assert seconds_of(kept, 1) == {"limit": 100, "cores": 200}


def test_a_job_that_one_look_comes_to_and_the_next_one_does_not_is_behind() -> None:
    asked = [FOLLOWED, replace(FOLLOWED, submit_s=5), replace(FULL, submit_s=15, priority=1 << 40)]
    kept = kept_of(asked, [(0, 1000), (1100, 1200), (1000, 1100)])
    assert seconds_of(kept, 1) == {"pace": 10, "behind_other": 985, "cores": 100}


def test_the_factor_is_that_of_the_partition_of_the_job_that_waits() -> None:
    asked = [FULL, replace(FULL, submit_s=10, partitions=("all", "whole")), replace(FOLLOWED, submit_s=20)]
    kept = kept_of(asked, [(0, 500), (500, 900), (900, 950)])
    assert seconds_of(kept, 2) == {"behind_earlier": 480, "cores": 400}


def test_a_job_is_judged_by_what_has_started_in_its_second() -> None:
    asked = [replace(ONE, qos="few", submit_s=second) for second in (0, 10, 100)]  # one job of `few` at a time
    assert seconds_of(kept_of(asked, [(0, 100), (100, 200), (200, 300)]), 2) == {"limit": 100}


def test_as_many_jobs_ahead_as_one_likes() -> None:
    count = 3 * MOST_FIRST // 2
    asked = [replace(FULL, submit_s=0)] * count
    kept = kept_of(asked, [(10 * k, 10 * k + 10) for k in range(count)])
    for job in (0, 5, count - 1):
        assert seconds_of(kept, job).get("behind_earlier", 0) == max(10 * job - 10, 0)
    assert kept.waits.longest[-1, 1] == 10 and kept.waits.longest[5].tolist() == [1, 10]


@pytest.mark.parametrize("seed", range(12))
def test_what_keeps_a_job_before_nodes_is_the_same_if_all_are_judged_at_every_second(seed: int) -> None:
    case = drawn_case(seed)
    jobs = case.jobs.without_followers()
    outcome = replace(case.replayer, policy=None).replay(jobs, case.cluster)
    start = np.where(outcome.schedule.start >= 0, outcome.schedule.start, NOT_GIVEN)
    requests = case.replayer.requests._replace(submit=jobs.submit, limit=np.maximum(jobs.limit, 1))
    end = np.where(start >= 0, start + jobs.runtime, jobs.submit + 5000)
    given = GivenSchedule(
        start, end, np.where(start >= 0, start, end), requests.partitions[:, 0].copy(),
        np.zeros(len(jobs) + 1, dtype=np.int64), np.zeros(0, dtype=np.int64),
    )  # fmt: skip
    site = replace(case.site, gates=(Gate(tuple(range(7)), 0, 60, over_time_s=10**9),))
    every_second = [np.arange(int(jobs.submit.min()), int(given.left.max()) + 1)]
    seconds = [
        follow_schedule(site, case.replayer.arrays, requests, given, hours=hours).waits.seconds
        for hours in ((), every_second)
    ]
    before_nodes = [DEPENDENCY, BEGIN_TIME, HELD, ARRAY_LIMIT, LICENCES]
    assert (seconds[0].sum(axis=1) == np.maximum(given.left - jobs.submit, 0)).all()
    assert (seconds[0].sum(axis=1) == seconds[1].sum(axis=1)).all()
    assert (seconds[0][:, before_nodes] == seconds[1][:, before_nodes]).all()
