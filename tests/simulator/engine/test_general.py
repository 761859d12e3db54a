"""The loop as one steps it: why it stops, and that it goes on where it stopped."""

from __future__ import annotations

import numpy as np

from simulator.engine import episode as at
from simulator.engine.episode import Episode, new_episode
from simulator.engine.general import advance
from simulator.engine.replay import replay, rules_of, scoring_of
from simulator.engine.rules import DONE, STUCK, WANT_ESTIMATES, WANT_SCORES
from simulator.jobs.cluster import FOREVER, Cluster, Outages
from simulator.jobs.jobs import Jobs
from simulator.jobs.tasks import tasks_of
from simulator.policies.registry import Policy, parse_policy
from simulator.policies.sampling import no_recorder
from simulator.policies.scoring import ASKED_SCORES
from tests.simulator.busy import PROCS, busy_jobs

n = np.array


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
