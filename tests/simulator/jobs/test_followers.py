"""Who follows whom, and the order in which jobs come. `simulator/jobs/followers.py`, and the columns of `simulator/jobs/jobs.py`."""

import numpy as np
import pytest

from simulator.jobs.coming import call_followers
from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB, WITHIN_S, chain_of, followers_of, order_of_coming
from simulator.jobs.jobs import NEVER, Jobs


def followers_by_hand(submit, end, user):
    """From docs/reference/semantics/followers.md alone."""
    after, think = [], []
    for job, second in enumerate(submit):
        before = [k for k in range(job) if user[k] == user[job] and 0 <= end[k] <= second]
        last = max(before, key=lambda k: (end[k], k), default=None)
        if last is None or second - end[last] > WITHIN_S:
            after.append(NO_JOB)
            think.append(0)
        else:
            after.append(last)
            think.append(second - end[last])
    return after, think


def test_a_job_follows_the_last_end_of_its_user_within_twenty_minutes():
    random = np.random.default_rng(4)
    for _ in range(200):
        count = int(random.integers(0, 40))
        submit = np.sort(random.integers(0, 6000, count))
        end = submit + random.integers(0, 2000, count) // 100 * 100
        end[random.random(count) < 0.1] = -1
        user = random.integers(0, 3, count)
        after, think = followers_of(submit, end, user)
        assert (after.tolist(), think.tolist()) == followers_by_hand(submit, end, user)


def test_followers_come_in_the_order_of_their_seconds_and_places():
    submit = np.array([0, 5, 20, 20, 30])
    after, think = np.array([NO_JOB, NO_JOB, 0, 0, NO_JOB]), np.array([0, 0, 8, 18, 0])
    chain = chain_of(after, think)
    order, coming = order_of_coming(submit, after)
    assert order[coming:].tolist() == [0, 1, 4]
    coming = call_followers(chain, order, coming + 2, submit, 0, 12)  # 0 and 1 have come, and 0 leaves
    assert order[coming:].tolist() == [2, 3, 4]
    assert submit.tolist() == [0, 5, 20, 30, 30]
    assert call_followers(chain, order, coming, submit, 1, 13) == coming
    assert not len(chain_of(np.full(3, NO_JOB), np.zeros(3, dtype=np.int64)).first)


def test_places_behind_jobs_that_run_are_moved():
    chain = chain_of(np.array([NO_JOB, 0]), np.array([0, 7]), offset=2)
    assert chain.first.tolist() == [NO_JOB, NO_JOB, 3, NO_JOB]
    assert chain.think.tolist() == [0, 0, 0, 7]


def some_jobs(**given):
    column = np.array([10, 20, 30])
    return Jobs(column, column, np.ones(3), column, column, **given)


def test_a_part_of_the_jobs_keeps_whom_it_has_and_forgets_whom_it_has_not():
    jobs = some_jobs(after=[NO_JOB, 0, 1], think=[0, 3, 4])
    assert jobs.is_closed and not jobs.without_followers().is_closed
    assert jobs.window(1, 2).after.tolist() == [NO_JOB, 0]
    assert jobs.only(np.array([0, 2])).after.tolist() == [NO_JOB, NO_JOB]


def test_replayed_submissions_are_in_any_order_and_cancellations_move_with_them():
    jobs = some_jobs(after=[NO_JOB, 0, NO_JOB], think=[0, 3, 0], cancel=[NEVER, 25, 40])
    replayed = jobs.submitted_at(np.array([10, 50, NEVER_SUBMITTED]))
    assert replayed.submit.tolist() == [10, 50, 30]
    assert replayed.cancel.tolist() == [NEVER, 55, 30], "what never comes waits at no time"


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"after": [NO_JOB, 1, 0]}, "must follow an earlier one: broken by job at index 1"),
        ({"think": [0, -1, 0]}, "think times must not be negative: broken by job at index 1"),
    ],
)
def test_who_follows_a_later_job_is_refused(given, fault):
    with pytest.raises(ValueError, match=fault):
        some_jobs(**given)
