"""The loop as one steps it: why it stops, and that it goes on where it stopped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from simulator.engine import episode as at
from simulator.engine.episode import DONE, STUCK, WANT_ESTIMATES, WANT_SCORES, Episode, new_episode
from simulator.engine.general import advance
from simulator.engine.replay import StoppableReplay, replay, rules_of, scoring_of
from simulator.jobs.cluster import FOREVER, Cluster, Outages
from simulator.jobs.jobs import Jobs
from simulator.jobs.tasks import tasks_of
from simulator.policies.agents import NO_INSPECTING, Agent, Question, parse_inspecting
from simulator.policies.registry import Policy, assisted, parse_policy
from simulator.policies.sampling import no_recorder
from simulator.policies.scoring import ASKED_SCORES
from tests.shared import size
from tests.simulator.busy import PROCS, busy_jobs
from tests.simulator.oracle_picks import oracle_inspected
from tests.simulator.oracle_policies import POLICIES
from tests.simulator.oracle_types import Workload
from tests.simulator.oracle_workloads import workloads

n = np.array
WORKLOADS = size(250, 4000)


def test_scores_from_outside_are_those_of_the_policy() -> None:
    jobs = busy_jobs(200)
    tasks, rules = tasks_of(jobs, Cluster(PROCS)), rules_of("easy", "requested", PROCS)
    scoring = scoring_of(Policy("asked", ASKED_SCORES), jobs, tasks, PROCS)
    episode = new_episode(tasks, PROCS, 0, plans=False, inputs=0)
    passes = 0
    while (why := advance(tasks, rules, scoring, episode, no_recorder(), 0)) == WANT_SCORES:
        queued = episode.counters[at.QUEUED]
        episode.score[:queued] = jobs.estimate[episode.queue[:queued]]
        passes += 1
    assert why == DONE
    assert passes > 100
    assert np.array_equal(episode.start, replay(jobs, PROCS, "SJF").start)


def stepped(jobs: Jobs, cluster: Cluster) -> tuple[list[int], Episode]:
    """Why the engine stopped each time, with live estimates that nobody changes."""
    tasks = tasks_of(jobs, cluster)
    rules = rules_of("easy", "requested", cluster.procs)._replace(live=True)
    scoring = scoring_of(parse_policy("FCFS"), jobs, tasks, cluster.procs)
    episode = new_episode(tasks, cluster.procs, 0, plans=False, inputs=0, live=True)
    why = [int(advance(tasks, rules, scoring, episode, no_recorder(), 0))]
    while why[-1] == WANT_ESTIMATES:
        why.append(int(advance(tasks, rules, scoring, episode, no_recorder(), 0)))
    return why, episode


def test_estimates_are_asked_for_before_every_pass_that_could_start_a_job() -> None:
    jobs = Jobs(n([0, 1, 2]), n([10, 5, 5]), n([4, 2, 2]), n([10, 5, 5]), n([10, 5, 5]))
    why, episode = stepped(jobs, Cluster(4))
    assert why == [WANT_ESTIMATES, WANT_ESTIMATES, DONE]
    assert episode.start.tolist() == [0, 10, 10]
    assert episode.ended[: episode.counters[at.ENDED]].tolist() == [0]


def test_an_outage_without_end_leaves_a_job_stuck() -> None:
    jobs = Jobs(n([0]), n([10]), n([4]), n([10]), n([10]))
    why, _ = stepped(jobs, Cluster(4, outages=Outages(n([0]), n([FOREVER]), n([1]), n([0]))))
    assert why[-1] == STUCK


def accepts(now: int, job: int, would_start: bool) -> bool:
    return bool(np.random.default_rng([now % 1_000_003, job, int(would_start)]).random() < 0.5)


def accepted(question: Question) -> int:
    return int(accepts(question.now, int(question.jobs[0]), bool(question.candidates[0])))


def inspected(policy: str, rule: str) -> Policy:
    return assisted(policy, Agent(inspecting=parse_inspecting(rule)))


@settings(deadline=None, max_examples=WORKLOADS)
@given(
    workload=workloads(),
    policy=st.sampled_from(POLICIES),
    backfill=st.sampled_from(["none", "any", "easy", "easy-sjbf"]),
    rule=st.sampled_from(["asked", "unfit", "reject"]),
    limits=st.sampled_from([(72, 600), (2, 5), (1, 1), (0, 600)]),
)
def test_the_oracle_inspects_the_same(
    workload: Workload, policy: str, backfill: str, rule: str, limits: tuple[int, int]
) -> None:
    verdicts = {"asked": accepts, "unfit": lambda now, job, would_start: would_start, "reject": lambda *_: False}
    inspecting = parse_inspecting("accept" if rule == "asked" else rule)
    inspecting = inspecting._replace(rejections=limits[0], interval_s=limits[1])
    agent = Agent(inspecting=inspecting)
    chosen = assisted(policy, agent.asked(accepted) if rule == "asked" else agent)
    try:
        expected = oracle_inspected(workload, policy, backfill, verdicts[rule], *limits)
    except ValueError:
        with pytest.raises(ValueError, match="never"):
            replay(workload.as_jobs(), workload.as_cluster(), chosen, backfill)
        reject()
    if expected.ambiguous_order:
        reject()
    schedule = replay(workload.as_jobs(), workload.as_cluster(), chosen, backfill)
    assert schedule.start.tolist() == expected.start
    assert schedule.backfilled.tolist() == expected.backfilled


@pytest.mark.parametrize("policy", ["FCFS", "SAF", "WFP3", "tetris", "fairshare"])
@pytest.mark.parametrize("backfill", ["none", "any", "easy", "easy-sjbf"])
def test_to_accept_all_changes_nothing(policy: str, backfill: str) -> None:
    jobs = busy_jobs(800)
    ours, base = replay(jobs, PROCS, inspected(policy, "accept"), backfill), replay(jobs, PROCS, policy, backfill)
    assert ours.start.tolist() == base.start.tolist()
    assert ours.backfilled.tolist() == base.backfilled.tolist()


@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_every_job_starts_though_all_are_rejected(backfill: str) -> None:
    jobs = busy_jobs(200)
    rejecting = replay(jobs, PROCS, inspected("FCFS", "reject"), backfill)
    assert (rejecting.start >= jobs.submit).all()
    assert rejecting.start.mean() > replay(jobs, PROCS, "FCFS", backfill).start.mean() + 3600


def test_rejected_time_is_what_has_passed() -> None:
    jobs = busy_jobs(300)
    replayed = StoppableReplay(jobs, PROCS, inspected("FCFS", "reject"), "easy")
    replayed.run()
    assert replayed._engine is not None
    episode = replayed._engine.episode
    assert episode.rejected.max() == 72
    assert 0 < episode.rejected_s.sum() < 600 * episode.rejected.sum(), "an event often comes before 600 s are over"
    assert (episode.rejected_s <= replayed.schedule.start - jobs.submit).all()


def test_a_kept_state_knows_what_was_rejected() -> None:
    jobs = busy_jobs(400)
    policy = assisted("SAF", Agent(inspecting=NO_INSPECTING._replace(by=1)).asked(accepted))
    whole = replay(jobs, PROCS, policy)
    for cut in (60, 150, 333):
        stopped, later = StoppableReplay(jobs, PROCS, policy), StoppableReplay(jobs, PROCS, policy)
        stopped.run(until=int(jobs.submit[cut]) + 1)
        later.take_up(stopped.keep())
        later.run()
        after = stopped.schedule.start < 0
        assert after.any()
        assert later.schedule.start[after].tolist() == whole.start[after].tolist()


def test_reservations_are_not_inspected() -> None:
    with pytest.raises(ValueError, match="no picks that could be inspected"):
        replay(busy_jobs(20), PROCS, inspected("FCFS", "accept"), "conservative")
