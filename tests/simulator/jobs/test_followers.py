"""Who follows whom, and the order in which jobs come. `simulator/jobs/followers.py`, and the columns of `simulator/jobs/jobs.py`."""

import numpy as np
import pytest

from simulator.jobs import followers
from simulator.jobs.coming import call_followers
from simulator.jobs.followers import (
    LATER_S,
    NEVER_SUBMITTED,
    NO_JOB,
    WITHIN_S,
    array_ends,
    chain_of,
    follow_lines,
    followers_of,
    longest_think,
    order_of_coming,
)
from simulator.jobs.jobs import NEVER, Jobs
from tests.simulator.jobs.people import log_of_people


def followers_by_hand(submit, end, user, within_s=WITHIN_S):
    """From docs/reference/semantics/followers.md alone."""
    after, think = [], []
    for job, second in enumerate(submit):
        before = [k for k in range(job) if user[k] == user[job] and 0 <= end[k] <= second]
        last = max(before, key=lambda k: (end[k], k), default=None)
        if last is None or second - end[last] > within_s:
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


BOUNDS = [60, 120, 240, 480, 960, 1920, 3840, 7680, 15360]


def gains_by_hand(submit, end, line, jobs):
    """Of some jobs of a log, by bound. From docs/reference/semantics/followers.md alone."""

    def bound_of(ends):
        after, think = followers_by_hand(submit, ends, line, BOUNDS[-1])
        return [
            min(bound for bound in BOUNDS if bound >= t) if a != NO_JOB else None
            for a, t in zip(after, think, strict=True)
        ]

    jobs = [job for job in jobs if submit[job] >= submit[0] + LATER_S]
    near, a_day_later = bound_of(end), bound_of([second + LATER_S if second >= 0 else second for second in end])
    chance = dict.fromkeys([*BOUNDS, None], 1.0)
    for _ in range(50):
        count = {bound: sum(chance[near[job]] for job in jobs if a_day_later[job] == bound) for bound in BOUNDS}
        came = {bound: sum(near[job] == bound for job in jobs) for bound in BOUNDS}
        chance |= {bound: min(count[bound] / came[bound], 1) for bound in BOUNDS if came[bound]}
    return [sum(came[each] - 3 * count[each] for each in BOUNDS if each <= bound) for bound in BOUNDS]


def longest_think_by_hand(submit, end, line):
    """From docs/reference/semantics/followers.md alone."""
    if submit[-1] - submit[0] < 7 * LATER_S:
        return WITHIN_S
    gains = gains_by_hand(submit, end, line, range(len(submit)))
    return BOUNDS[gains.index(max(gains))] if max(gains) > 0 else -1


def lines_by_hand(submit, end, user, account, executable):
    """The line of each job, with its kind. From docs/reference/semantics/followers.md alone."""
    kinds = {"user": list(user), "account": list(zip(user, account, strict=True))}
    kinds["executable"] = list(zip(user, executable, strict=True))
    chosen = {}
    for one in set(user):
        chosen[one] = "user"
        if submit[-1] - submit[0] < 7 * LATER_S:
            continue
        jobs = [job for job in range(len(submit)) if user[job] == one]
        gain = {kind: max(gains_by_hand(submit, end, line, jobs)) for kind, line in kinds.items()}
        best = "executable" if gain["executable"] > gain["account"] else "account"
        base = max(gain["user"], 0)
        if gain[best] > base + max(20, base / 10):
            chosen[one] = best
    return [(chosen[one], kinds[chosen[one]][job]) for job, one in enumerate(user)]


def log_of_chains(random, days, share, longest_s):
    """Jobs of three users by day, of which a share follows the user's last one within some seconds."""
    date = np.sort(random.integers(0, days, 120) * LATER_S + random.integers(8 * 3600, 18 * 3600, 120))
    user = random.integers(0, 3, 120)
    ended, submit, end = [0, 0, 0], [], []
    for job in range(120):
        follows = random.random() < share
        submit.append(ended[user[job]] + random.integers(0, longest_s) if follows else date[job])
        end.append(submit[-1] + random.integers(60, 3600))
        ended[user[job]] = end[-1]
    order = np.argsort(submit, kind="stable")
    return np.array(submit)[order], np.array(end)[order], user[order]


def test_the_longest_think_time_is_that_of_the_log():
    random = np.random.default_rng(6)
    found = set()
    for case in range(12):
        submit, end, user = log_of_chains(random, 3 + 6 * (case % 3), case % 4 / 4, 300 + 2000 * (case % 2))
        end[random.random(len(end)) < 0.1] = -1
        found.add(longest := longest_think(submit, end, user))
        assert longest == longest_think_by_hand(submit.tolist(), end.tolist(), user.tolist())
    assert {-1, WITHIN_S} < found and len(found) > 3
    assert longest_think(*np.zeros((3, 0), dtype=np.int64)) == WITHIN_S


def right_by(submit, end, line, after):
    """The share of the true predecessors that are found."""
    found = followers_of(submit, end, line, longest_think(submit, end, line))[0]
    return ((found == after) & (after != NO_JOB)).sum() / (after != NO_JOB).sum()


def test_who_submits_by_a_portal_follows_by_account():
    submit, end, person, after = log_of_people(1)
    portal, nothing = np.zeros_like(person), np.zeros_like(person)
    line, kind = follow_lines(submit, end, portal, person, nothing)
    assert (kind == 1).all() and len(np.unique(line)) == 20
    assert right_by(submit, end, portal, after) < 0.5 and right_by(submit, end, line, after) > 0.95


def test_campaigns_of_a_user_follow_by_executable():
    submit, end, person, after = log_of_people(2)
    user, program, nothing = person // 10, person % 10, np.zeros_like(person)
    line, kind = follow_lines(submit, end, user, nothing, program)
    assert (kind == 2).all() and len(np.unique(line)) == 20
    assert right_by(submit, end, user, after) < 0.7 and right_by(submit, end, line, after) > 0.95


def test_plain_users_follow_by_user_whatever_their_accounts_and_programs():
    random, others, users = np.random.default_rng(3), 0, 0
    for seed in range(8):
        submit, end, person, after = log_of_people(seed, share=0.6)
        account, program = random.integers(0, 2, len(submit)), random.integers(0, 5, len(submit))
        named_once = np.arange(len(submit))
        assert not follow_lines(submit, end, person, np.zeros_like(person), named_once).kind.any()
        line, kind = follow_lines(submit, end, person, account, program)
        others, users = others + len(np.unique(person[kind > 0])), users + 20
        assert right_by(submit, end, line, after) >= right_by(submit, end, person, after) - 0.01
    assert others <= users // 50


def test_names_of_one_job_each_are_no_lines_where_nobody_follows():
    submit, end, _, _ = log_of_people(1, days=12)
    portal = np.zeros_like(submit)
    assert longest_think(submit, end, portal) == -1
    assert not follow_lines(submit, end, portal, portal, np.arange(len(submit))).kind.any()


@pytest.mark.parametrize(
    ("gains", "kind"),
    [
        *(((-50, 20, 0), 0), ((-50, 21, 0), 1), ((100, 120, 120), 0), ((100, 121, 121), 1), ((100, 121, 122), 2)),
        *(((400, 440, 0), 0), ((400, 0, 441), 2)),
    ],
)
def test_a_part_must_gain_twenty_jobs_and_a_tenth_more_than_the_user(gains, kind, monkeypatch):
    of_lines = iter(gains)
    monkeypatch.setattr(followers, "_gains", lambda *_: np.array([[-99, next(of_lines), -99]]))
    submit = np.arange(8) * LATER_S
    assert follow_lines(submit, submit, *np.zeros((3, 8), dtype=np.int64)).kind.tolist() == [kind] * 8


def test_lines_are_those_of_the_page():
    random = np.random.default_rng(8)
    seen = set()
    for case in range(8):
        submit, end, person, _ = log_of_people(case, 7, 40, share=(0.3, 0.5, 1.0)[case % 3], days=10)
        end[random.random(len(end)) < 0.05] = -1
        if case == 7:
            submit, end = submit // 30, end // 30  # a log of a day
        user = np.where(person < 5, 0, person)
        account, program = (
            (person + (random.random(len(person)) < 0.2)) % 5,
            person * (random.random(len(person)) < 0.9),
        )
        account, program = (program, account) if case // 3 else (account, program)
        by_hand = lines_by_hand(*(each.tolist() for each in (submit, end, user, account, program)))
        line, kind = follow_lines(submit, end, user, account, program)
        assert [("user", "account", "executable")[each] for each in kind] == [name for name, _ in by_hand]
        assert len(set(zip(line.tolist(), by_hand, strict=True))) == len(set(line.tolist())) == len(set(by_hand))
        seen |= set(kind.tolist())
    assert seen == {0, 1, 2}
    assert not len(follow_lines(*np.zeros((5, 0), dtype=np.int64)).number)


def test_where_nobody_waits_for_an_end_nobody_follows():
    random = np.random.default_rng(7)
    submit, end, user = log_of_chains(random, 60, 0.0, 300)
    assert longest_think(submit, end, user) == -1
    assert (followers_of(submit, end, user, -1)[0] == NO_JOB).all()


def test_followers_come_in_the_order_of_their_seconds_and_places():
    submit = np.array([0, 5, 20, 20, 30])
    after, think = np.array([NO_JOB, NO_JOB, 0, 0, NO_JOB]), np.array([0, 0, 8, 18, 0])
    chain = chain_of(after, think, np.full(5, NO_JOB))
    order, coming = order_of_coming(submit, after)
    assert order[coming:].tolist() == [0, 1, 4]
    coming = call_followers(chain, order, coming + 2, submit, 0, 12)  # 0 and 1 have come, and 0 leaves
    assert order[coming:].tolist() == [2, 3, 4]
    assert submit.tolist() == [0, 5, 20, 30, 30]
    assert call_followers(chain, order, coming, submit, 1, 13) == coming
    assert not len(chain_of(np.full(3, NO_JOB), np.zeros(3, dtype=np.int64), np.full(3, NO_JOB)).first)


def test_followers_of_an_array_await_all_its_tasks():
    after, array = np.array([NO_JOB, NO_JOB, NO_JOB, 2, 3, 1]), np.array([4, NO_JOB, 4, NO_JOB, NO_JOB, NO_JOB])
    submit = np.array([0, 1, 2, 9, 9, 9])
    chain = chain_of(after, np.array([0, 0, 0, 5, 5, 5]), array)
    order, coming = order_of_coming(submit, after)
    coming = call_followers(chain, order, coming + 3, submit, 2, 20)
    assert coming == len(order), "another task has not left"
    coming = call_followers(chain, order, coming, submit, 0, 30)
    assert order[coming:].tolist() == [3] and submit[3] == 35
    assert order[call_followers(chain, order, coming, submit, 1, 31) :].tolist() == [3, 5]


def test_arrays_end_with_their_last_task():
    end, array = np.array([5, 9, 9, 3, -1, 7]), np.array([1, 1, 1, 2, 2, NO_JOB])
    assert array_ends(end, array).tolist() == [-1, -1, 9, -1, -1, 7]
    assert array_ends(end, np.full(6, NO_JOB)).tolist() == end.tolist()


def test_places_behind_jobs_that_run_are_moved():
    chain = chain_of(np.array([NO_JOB, 0]), np.array([0, 7]), np.full(2, NO_JOB), offset=2)
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
