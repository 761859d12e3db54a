"""Tests of simulator/slurm/submission, and of whole replays in which jobs follow others (docs/reference/semantics/followers.md)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.agents.slurm_windows import SlurmTrace
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.jobs.cluster import Cluster, HeldNodes, RunningJobs
from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB, followers_of
from simulator.jobs.jobs import NEVER, Jobs
from simulator.replayer import Outcome
from simulator.slurm.replaying import Phases, SlurmReplayer
from simulator.slurm.variants.warm import WarmStart
from studies.slurm.free_runs import golden_replay, phases_of
from studies.slurm.golden_runs import read_golden_run
from tests.shared import shared_file
from tests.simulator.busy import SITE, columns_of
from tests.simulator.slurm.closed_cases import Case, check_case, check_same, drawn_case, impatient, leaves_at_ends
from traces.cluster.accounts import Limit, ServiceQuality
from traces.cluster.description import Absence, ClusterDescription

CUT, ALL = range(60), range(60, 3000)
"""Cases of `make test`, and of `make test-all`."""
WHOLE = {"limit_s": 300, "min_nodes": 4, "max_nodes": 4, "exclusive": True}


def closed_replay(
    asked: list[Request],
    runtime: list[int],
    follows: dict[int, tuple[int, int]],
    site: ClusterDescription = SITE,
    patience: dict[int, int] | None = None,
) -> Outcome:
    """follows: of some jobs the one that they follow, and the think time. patience: of some jobs, seconds."""
    after, think = np.full(len(asked), NO_JOB), np.zeros(len(asked), dtype=np.int64)
    for job, (other, seconds) in follows.items():
        after[job], think[job] = other, seconds
    submit = np.array([one.submit_s for one in asked])
    limit = np.array([one.limit_s for one in asked])
    cancel = np.full(len(asked), NEVER)
    for job, seconds in (patience or {}).items():
        cancel[job] = submit[job] + seconds
    jobs = Jobs(submit, np.array(runtime), np.ones_like(submit), limit, limit, after=after, think=think, cancel=cancel)
    return SlurmReplayer(site, cluster_arrays(site), columns_of(asked, site), Phases(20, 59)).replay(jobs, Cluster(16))


def test_a_job_is_submitted_some_time_after_the_other_one_has_ended() -> None:
    asked = [Request(0, **WHOLE), Request(1, **WHOLE), Request(2, **WHOLE), Request(3, limit_s=60, tasks=17)]
    asked += [Request(4, limit_s=60, tasks=1), Request(5, limit_s=60, tasks=1)]
    outcome = closed_replay(asked, [100, 50, 50, 9, 9, 9], {2: (0, 7), 4: (3, 1), 5: (4, 1)})
    assert outcome.submit is not None and outcome.submit.tolist() == [0, 1, 107, 3, NEVER_SUBMITTED, NEVER_SUBMITTED]
    start = outcome.schedule.start.tolist()
    assert start[:2] == [0, 100] and 150 <= start[2] < 180 and start[3:] == [-1, -1, -1]
    assert outcome.counts == {"never started": 1, "never submitted": 2}
    assert closed_replay(asked, [100, 50, 50, 9, 9, 9], {}).submit is None


def test_under_basic_priority_a_job_is_behind_those_that_were_submitted_before() -> None:
    asked = [Request(second, **WHOLE) for second in (0, 1, 2, 3)]
    outcome = closed_replay(asked, [100, 100, 100, 100], {1: (0, 0), 2: (0, 50)})
    assert outcome.submit is not None and outcome.submit.tolist() == [0, 100, 150, 3]
    assert np.argsort(outcome.schedule.start).tolist() == [0, 3, 1, 2]


def preempting(mode: str, **more: int) -> ClusterDescription:
    values = {**SITE.scheduler.values, "preempttype": "preempt/qos", "preemptmode": mode}
    qualities = (ServiceQuality("normal", **more), ServiceQuality("few", 10, preempts=("normal",)))  # type: ignore[arg-type]
    return replace(SITE, qualities=qualities, scheduler=replace(SITE.scheduler, values=values))


def losing_a_node(requeues: bool) -> ClusterDescription:
    values = {**SITE.scheduler.values, "jobrequeue": requeues}
    nodes = (replace(SITE.nodes[0], absences=(Absence(100, 300),)), *SITE.nodes[1:])
    return replace(SITE, nodes=nodes, scheduler=replace(SITE.scheduler, values=values))


ONE_AT_A_TIME = replace(SITE, limits=(Limit("user", "x/u", "submitted", "user", "jobs", 1),))
LEAVING = {
    "requeued": (preempting("requeue"), {"qos": "few", **WHOLE}, 239 + 200),
    "cancelled": (preempting("cancel", grace_s=30), {"qos": "few", **WHOLE}, 130),
    "its node is lost": (losing_a_node(False), {"limit_s": 60, "tasks": 1}, 100),
    "its node is lost, and it waits again": (losing_a_node(True), {"limit_s": 60, "tasks": 1}, 239 + 200),
}


@pytest.mark.parametrize("case", LEAVING)
def test_a_job_that_runs_again_has_not_left(case: str) -> None:
    """The first job takes node a, or all nodes, and something happens to it at 100."""
    site, other, left = LEAVING[case]
    first = Request(
        0, limit_s=900, **({"tasks": 1} if "node" in case else {k: WHOLE[k] for k in WHOLE if k != "limit_s"})
    )
    asked = [first, Request(1, limit_s=60, tasks=1), Request(100, **other)]
    outcome = closed_replay(asked, [200, 9, 50], {1: (0, 11)}, site)
    assert outcome.submit is not None and outcome.submit.tolist() == [0, left + 11, 100]


def test_a_job_that_is_refused_has_left() -> None:
    asked = [Request(second, limit_s=60, tasks=1) for second in (0, 5, 6)]
    outcome = closed_replay(asked, [30, 30, 30], {2: (1, 25)}, ONE_AT_A_TIME)
    assert outcome.submit is not None and outcome.submit.tolist() == [0, 5, 30]
    assert outcome.schedule.start.tolist() == [0, -1, 30] and outcome.counts["refused"] == 1


def test_a_job_whose_user_gives_up_has_left_and_counts_for_no_limit() -> None:
    """The second job would take all nodes at 100. Its user waits for 40 s, and submits the third one 7 s later. The last one is let in then
    by a limit of one job at a time, and had been refused before."""
    asked = [Request(0, **WHOLE), Request(1, **WHOLE), Request(2, **WHOLE)]
    outcome = closed_replay(asked, [100, 50, 50], {2: (1, 7)}, patience={1: 40, 2: 53})
    assert outcome.submit is not None and outcome.submit.tolist() == [0, 1, 48]
    assert outcome.schedule.start.tolist() == [0, -1, 100] and outcome.counts == {"never started": 0}
    outcome = closed_replay(asked, [100, 50, 50], {2: (1, 7)}, patience={1: 40, 2: 52})
    assert outcome.schedule.start.tolist() == [0, -1, -1], "in the second of its start it is too late"

    asked = [Request(0, **WHOLE, user="v"), Request(1, limit_s=60, tasks=1), Request(30, limit_s=60, tasks=1)]
    for seconds, refused in ((28, 0), (30, 1)):
        outcome = closed_replay(asked, [100, 9, 9], {}, ONE_AT_A_TIME, patience={1: seconds})
        assert outcome.schedule.start.tolist() == [0, -1, -1 if refused else 100]
        assert outcome.counts.get("refused", 0) == refused


def test_backfill_runs_again_when_a_user_gives_up() -> None:
    """Two nodes are free. The second job has a plan for all of them at 900. The third is too long to go before it, until it leaves."""
    asked = [Request(0, limit_s=900, min_nodes=2, max_nodes=2, exclusive=True), Request(1, **WHOLE)]
    asked.append(Request(2, limit_s=2000, min_nodes=2, max_nodes=2, exclusive=True))
    starts = [closed_replay(asked, [900, 9, 9], {}, patience=each).schedule.start.tolist() for each in ({}, {1: 299})]
    assert starts[0][1] == 900 and starts[0][2] > 900
    assert starts[1][1] == -1 and 300 <= starts[1][2] <= 330


def test_a_job_that_has_run_is_not_given_up() -> None:
    """The first one is preempted at 100, and waits again until 439."""
    asked = [Request(0, limit_s=900, tasks=1), Request(100, qos="few", **WHOLE)]
    outcome = closed_replay(asked, [200, 50], {}, preempting("requeue"), patience={0: 150})
    assert outcome.counts == {"never started": 0, "preempted": 1} and outcome.schedule.start.tolist() == [239, 100]


def test_what_depends_on_a_job_that_was_given_up() -> None:
    asked = [Request(0, **WHOLE), Request(1, **WHOLE), Request(2, limit_s=60, tasks=1, dependencies=(("afterany", 1),))]
    asked.append(Request(3, limit_s=60, tasks=1, dependencies=(("afterok", 1),)))
    outcome = closed_replay(asked, [100, 50, 9, 9], {}, patience={1: 40})
    assert outcome.schedule.start.tolist() == [0, -1, 100, -1] and outcome.counts == {"never started": 1}


def test_jobs_that_follow_one_that_waits_when_a_replay_begins() -> None:
    """A running job has all nodes until 150."""
    running = RunningJobs(*(np.array([value]) for value in (50, 100, 16, 600, 600, 0)))
    warm = WarmStart(columns_of([Request(50, **WHOLE)]), HeldNodes(np.array([0, 4]), np.arange(4), np.full(4, 4)))
    asked = [Request(second, **WHOLE) for second in (60, 100, 110)]
    fifty, limit = np.full(3, 50), np.full(3, 300)
    after, think = np.array([NO_JOB, NO_JOB, 0]), np.array([0, 0, 3])
    jobs = Jobs(np.array([60, 100, 110]), fifty, np.full(3, 16), limit, limit, after=after, think=think)
    replayer = SlurmReplayer(SITE, cluster_arrays(SITE), columns_of(asked), Phases(20, 59), warm=warm)
    outcome = replayer.replay(jobs, Cluster(16, running, waiting=1))
    assert outcome.schedule.start.tolist() == [150, 200, 250]
    assert outcome.submit is not None and outcome.submit.tolist() == [60, 100, 203]


def test_windows_of_a_trace_are_of_jobs_that_come_at_their_own_times() -> None:
    case = drawn_case(1)
    with pytest.raises(ValueError, match="without followers"):
        SlurmTrace(case.jobs, 16, case.replayer)
    assert SlurmTrace(case.jobs.without_followers(), 16, case.replayer).threads is None


# Random clusters and jobs.


def check_some(seeds: range) -> None:
    followed = gave_up = 0
    for seed in seeds:
        case = drawn_case(seed)
        check_case(case)
        gave_up += check_impatient(impatient(case, seed))
        if leaves_at_ends(case.site):
            followed += check_same(case)
    assert followed > 3 * len(seeds) and gave_up > len(seeds)


def check_impatient(case: Case) -> int:
    """Returns how many are given up."""
    outcome = check_case(case)
    if leaves_at_ends(case.site):
        check_same(case)
    never = outcome.counts["never started"] + outcome.counts.get("never submitted", 0)
    return int((~outcome.schedule.started).sum()) - never


def test_some_closed_replays_are_open_ones_at_their_submissions() -> None:
    check_some(CUT)


def test_three_thousand_closed_replays_are_open_ones_at_their_submissions() -> None:
    check_some(ALL)


@pytest.mark.parametrize("scenario", ["S2", "S5", "S8"])
def test_a_recorded_run_has_its_submissions_where_users_keep_their_pace(scenario: str) -> None:
    run = read_golden_run(shared_file("golden", "slurm", scenario, "run1"))
    replayer, jobs = golden_replay(run, phases_of(run, 0))
    cluster = Cluster(run.cluster.num_cpus)
    as_it_was = replayer.replay(jobs, cluster).schedule.start
    end = np.where(as_it_was < 0, -1, as_it_was + jobs.runtime)
    after, think = followers_of(jobs.submit, end, replayer.requests.user)
    closed = replayer.replay(replace(jobs, after=after, think=think), cluster)
    assert (after != NO_JOB).sum() > 10
    assert closed.submit is not None and (closed.submit == jobs.submit).all()
    assert (closed.schedule.start == as_it_was).all()
