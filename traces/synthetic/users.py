"""Users and their sessions: which user submits which job, in bursts of similar jobs with pauses between them.

After N. Zakay and D. G. Feitelson, "On identifying user session boundaries in parallel workload logs" (2012) and
"Workload resampling for performance evaluation of parallel job schedulers" (2013). A user's work comes in batches of
nearly the same job, a think time separates batches, and a few users submit most of the jobs.

Nothing here moves an arrival. The arrival process keeps its daily cycle, and users are laid over it. Nor are sizes or
run times invented here. Batches are cut from the jobs of the workload model, and deciding who owns which batch is only
a matching. So sizes and run times stay distributed as the model has them.

Users' estimates of run times: a few round values, the site's maximum first among them, repeated by each user.

After D. Tsafrir, Y. Etsion and D. G. Feitelson, "Modeling user runtime estimates", Job Scheduling Strategies for
Parallel Processing, 2005. Their findings are kept, their sampling procedure is not: here a user owns a short menu of
values and requests, for a whole batch of similar jobs, the one nearest to what the batch seems to need.

A scheduler sees the effects: few distinct values, many jobs at the maximum, and a spread ratio of run time to estimate. The ratio
spreads over `(0, 1]`. It has a peak near 0 (short jobs under the maximum) and one at 1 (jobs killed at their estimate).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ACTIVITY_EXPONENT = 1.1  # activity of the k-th busiest user is proportional to k ** -1.1 (Zipf)
BATCH_LN_MEAN, BATCH_LN_SIGMA, MAX_BATCH_JOBS = 1.1, 0.9, 40  # rounded down: mean about 4 jobs
RUN_TIME_SIGMA = 0.35  # spread of ln(run time) between jobs of one batch
USER_TASTE = 0.7  # correlation of a user's habits with the length of the batches the user owns
OPEN_SESSIONS = 5  # users at work at the same time
SAME_SESSION_PROB = 0.7  # the session that submitted last submits next
MEAN_THINK_TIME_S = 3_600.0  # pause between two batches of a user
JOBS_PER_EXECUTABLE = 120  # a busy user owns more programs


def batch_lengths(rng: np.random.Generator, jobs: int) -> IntArray:
    """Jobs in each batch, shape (batches,), heavy-tailed from 1 to 40, adding up to exactly `jobs`."""
    lengths: list[int] = []
    left = jobs
    while left > 0:
        for drawn in rng.lognormal(BATCH_LN_MEAN, BATCH_LN_SIGMA, 1 + left // 4):
            length = min(max(int(drawn), 1), MAX_BATCH_JOBS, left)
            lengths.append(length)
            left -= length
            if left == 0:
                break
    return np.array(lengths, dtype=np.int64)


def cut_batches(
    rng: np.random.Generator, sizes: IntArray, run_times_s: IntArray, lengths: IntArray
) -> tuple[IntArray, FloatArray]:
    """Processors and mean run time in seconds of each batch, both shape (batches,), made of the jobs given.

    sizes and run_times_s, shape (jobs,), are independent jobs of a workload model. lengths add up to jobs. Jobs are sorted
    by run time and each batch is a stretch of neighbours, which keeps the total run time exactly. Run times are so
    heavy-tailed that drawing one per batch would leave their mean to a few lucky batches. The size is that of one
    member, so that size and run time stay correlated.
    """
    by_run_time = np.argsort(run_times_s, kind="stable")
    starts = np.cumsum(lengths) - lengths
    member = by_run_time[starts + rng.integers(0, lengths)]
    return sizes[member], np.add.reduceat(run_times_s[by_run_time], starts) / lengths


def user_activity(rng: np.random.Generator, users: int) -> FloatArray:
    """Share of the work that each user submits, shape (users,), in no particular order. It sums to one, and is Zipf-distributed."""
    activity = np.arange(1, users + 1, dtype=np.float64) ** -ACTIVITY_EXPONENT
    return rng.permutation(activity / activity.sum())


def assign_users(rng: np.random.Generator, batch_run_times_s: FloatArray, activity: FloatArray) -> IntArray:
    """Owner of each batch, shape (batches,), numbered from 0.

    Busy users own more batches (in proportion to `activity`, shape (users,)), and users differ in taste: some run long
    jobs, others short ones. Each draws a score for every batch it is to own, the scores are sorted, and the longest batch
    goes to the highest score.
    """
    batches = len(batch_run_times_s)
    owners = rng.choice(len(activity), batches, p=activity)
    taste = rng.standard_normal(len(activity))
    scores = USER_TASTE * taste[owners] + np.sqrt(1.0 - USER_TASTE**2) * rng.standard_normal(batches)
    user_of_batch = np.empty(batches, dtype=np.int64)
    user_of_batch[np.argsort(batch_run_times_s, kind="stable")] = owners[np.argsort(scores, kind="stable")]
    return user_of_batch


def assign_executables(batch_run_times_s: FloatArray, user_of_batch: IntArray, lengths: IntArray) -> IntArray:
    """Program of each batch, shape (batches,), numbered from 1. No two users share one.

    A user's batches, ordered by run time, are cut into as many equal parts as the user owns programs, so that a program
    has a typical run time.
    """
    executable = np.zeros(len(user_of_batch), dtype=np.int64)
    first = 1
    for user in np.unique(user_of_batch):
        mine = np.flatnonzero(user_of_batch == user)
        mine = mine[np.argsort(batch_run_times_s[mine], kind="stable")]
        programs = min(len(mine), 1 + int(lengths[mine].sum()) // JOBS_PER_EXECUTABLE)
        executable[mine] = first + np.arange(len(mine)) * programs // len(mine)
        first += programs
    return executable


def job_run_times(rng: np.random.Generator, batch_run_times_s: FloatArray, batches: IntArray) -> IntArray:
    """Run time of each job, shape (jobs,), whole seconds from 1: its batch's, times lognormal noise of mean one."""
    noise = rng.lognormal(-(RUN_TIME_SIGMA**2) / 2.0, RUN_TIME_SIGMA, len(batches))
    return np.maximum(np.rint(batch_run_times_s[batches] * noise), 1).astype(np.int64)


def submission_order(
    rng: np.random.Generator, arrivals_s: FloatArray, user_of_batch: IntArray, lengths: IntArray
) -> IntArray:
    """Batch of each arrival, shape (jobs,): batch `b` occurs exactly `lengths[b]` times.

    arrivals_s, shape (jobs,), ascends and has lengths.sum() entries. A handful of sessions is open at any time, each one
    batch of one user. The session that submitted last tends to submit again. When a batch is done its user thinks, and
    another user who is not at work begins the next batch, chosen by the work that they have left.
    """
    jobs = len(arrivals_s)
    stays = rng.random(jobs) < SAME_SESSION_PROB
    turns = rng.random(jobs)
    waiting = _WaitingUsers(rng, user_of_batch, lengths)
    jobs_left = lengths.tolist()
    order = np.empty(jobs, dtype=np.int64)
    open_batches: list[int] = []  # the last entry submitted last
    for job, now in enumerate(arrivals_s.tolist()):
        while len(open_batches) < OPEN_SESSIONS and (batch := waiting.next_batch(now, not open_batches)) is not None:
            open_batches.insert(0, batch)
        if not stays[job]:
            turn = int(turns[job] * len(open_batches))
            open_batches.append(open_batches.pop(turn))
        batch = open_batches[-1]
        order[job] = batch
        jobs_left[batch] -= 1
        if jobs_left[batch] == 0:
            open_batches.pop()
            waiting.finish(batch, now)
    return order


class _WaitingUsers:
    """Users that are not at work, each with batches left to submit."""

    def __init__(self, rng: np.random.Generator, user_of_batch: IntArray, lengths: IntArray) -> None:
        self._rng = rng
        self._user_of_batch = user_of_batch
        self._lengths = lengths
        users = int(user_of_batch.max()) + 1
        self._batches: list[list[int]] = [[] for _ in range(users)]
        for batch in rng.permutation(len(user_of_batch)).tolist():
            self._batches[user_of_batch[batch]].append(batch)
        # Jobs in batches not begun, so that it falls to zero exactly when nothing is left to begin.
        self._work_left = np.bincount(user_of_batch, weights=lengths, minlength=users)
        self._back_at = np.zeros(users)  # end of the think time, infinite while at work

    def next_batch(self, now: float, must_begin: bool) -> int | None:
        """A batch of a user who has thought enough, or None. `must_begin` cuts the shortest think time short."""
        weights = np.where(self._back_at <= now, self._work_left, 0.0)
        total = weights.sum()
        if total > 0.0:
            user = int(np.searchsorted(np.cumsum(weights), self._rng.random() * total, side="right"))
        elif must_begin:
            user = int(np.argmin(np.where(self._work_left > 0.0, self._back_at, np.inf)))
        else:
            return None
        batch = self._batches[user].pop()
        self._work_left[user] -= self._lengths[batch]
        self._back_at[user] = np.inf
        return batch

    def finish(self, batch: int, now: float) -> None:
        """The user of `batch` leaves, and thinks before the next one."""
        self._back_at[self._user_of_batch[batch]] = now + self._rng.exponential(MEAN_THINK_TIME_S)


# --- estimates


MINUTE = 60

# Round values people type, with how often they type them. Whole hours and half days are the most frequent.
ROUND_ESTIMATES_S = MINUTE * np.array(
    [5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 360, 480, 600, 720, 1080, 1440, 2160]
)
ROUND_POPULARITY = np.array([4, 5, 5, 3, 6, 2, 9, 2, 7, 4, 6, 3, 6, 5, 4, 8, 4, 8, 3], dtype=np.float64)

MENU_SIZE = 8  # round values a user knows, besides the site's maximum
ODD_VALUE_PROB = 0.7  # share of users with one value of their own, no round number
MAXIMUM_PROB = 0.20  # share of batches that ask for the maximum without thinking
SMALLEST_USED_SHARE = 0.02  # the least part of a request that a thinking user's batch uses
LEAST_PATIENCE = 0.9  # no request is below this part of a batch's mean run time, because most jobs must survive


class AssignedEstimates(NamedTuple):
    """Requested and resulting run times, both shape (jobs,), whole seconds."""

    requested_walltime_s: IntArray
    run_times_s: IntArray


def assign_estimates(
    rng: np.random.Generator, run_times_s: IntArray, users: IntArray, batches: IntArray, max_walltime_s: int
) -> AssignedEstimates:
    """One requested walltime per batch, and the run times as the resource manager's clock leaves them.

    run_times_s, users and batches have shape (jobs,). Users and batches are numbered from 0, and a batch belongs to one
    user. A job that would run longer than its request is killed at it, and its run time becomes the request. So every returned
    run time is at least 1 and at most its request, and no request exceeds max_walltime_s.

    Raises ValueError when max_walltime_s is below 60 or the arrays differ in length.
    """
    if max_walltime_s < MINUTE:
        raise ValueError(f"max_walltime_s is {max_walltime_s}: a site's maximum must be at least {MINUTE} seconds")
    if not len(run_times_s) == len(users) == len(batches):
        raise ValueError(
            f"run_times_s, users and batches have {len(run_times_s)}, {len(users)} and {len(batches)} entries: "
            "pass one of each per job"
        )
    if len(run_times_s) == 0:
        return AssignedEstimates(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    batch_count = int(batches.max()) + 1
    batch_user = np.zeros(batch_count, dtype=np.int64)
    batch_user[batches] = users
    typical_s = _batch_means(run_times_s, batches, batch_count)

    needed_s = _believed_needs(rng, typical_s, max_walltime_s)
    batch_estimate_s = np.empty(batch_count, dtype=np.int64)
    for user, menu in enumerate(user_menus(rng, int(users.max()) + 1, max_walltime_s)):
        mine = np.flatnonzero(batch_user == user)
        batch_estimate_s[mine] = _from_menu(menu, needed_s[mine], typical_s[mine])
    _make_maximum_most_popular(rng, batch_estimate_s, np.bincount(batches, minlength=batch_count), max_walltime_s)

    requested = batch_estimate_s[batches]
    return AssignedEstimates(requested, np.clip(run_times_s, 1, requested))


def user_menus(
    rng: np.random.Generator,
    users: int,
    max_walltime_s: int,
    round_s: IntArray = ROUND_ESTIMATES_S,
    round_popularity: FloatArray = ROUND_POPULARITY,
) -> list[IntArray]:
    """The values each user ever requests, ascending. The last is always the site's maximum.

    round_s, round_popularity: the round values in seconds, and how often they are typed, both shape (values,).
    """
    fits = max_walltime_s > round_s
    values, popularity = round_s[fits], round_popularity[fits]
    menus = []
    for _ in range(users):
        menu = [max_walltime_s]
        if len(values):
            count = min(MENU_SIZE, len(values))
            menu.extend(rng.choice(values, count, replace=False, p=popularity / popularity.sum()))
        if rng.random() < ODD_VALUE_PROB and max_walltime_s > 10 * MINUTE:
            # Minutes spread evenly on the logarithm, as the round values are.
            ln_minutes = rng.uniform(np.log(5), np.log(max_walltime_s / MINUTE))
            menu.append(MINUTE * int(np.exp(ln_minutes)))
        menus.append(np.unique(np.array(menu, dtype=np.int64)))
    return menus


def _batch_means(run_times_s: IntArray, batches: IntArray, batch_count: int) -> FloatArray:
    """Mean run time of each batch, shape (batch_count,), 0 where a batch has no job."""
    totals = np.bincount(batches, weights=run_times_s, minlength=batch_count)
    return totals / np.maximum(np.bincount(batches, minlength=batch_count), 1)


def _believed_needs(rng: np.random.Generator, typical_s: FloatArray, max_walltime_s: int) -> FloatArray:
    """What each batch's user expects it to need, before rounding, shape (batches,), as typical_s.

    The used share of this need is uniform, which is the model's central finding. Some users do not think and take the
    maximum.
    maximum.
    """
    used_share = rng.uniform(SMALLEST_USED_SHARE, 1.0, len(typical_s))
    thoughtless = rng.random(len(typical_s)) < MAXIMUM_PROB
    return np.where(thoughtless, float(max_walltime_s), typical_s / used_share)


def _from_menu(menu: IntArray, needed_s: FloatArray, typical_s: FloatArray) -> IntArray:
    """The menu's value nearest to each need on the logarithm, or the first that most jobs of the batch survive.

    Rounding to the nearest keeps the ratio of run time to request near uniform. Rounding up would halve it.
    """
    borders = np.sqrt(menu[:-1].astype(np.float64) * menu[1:])
    nearest = np.searchsorted(borders, needed_s)
    survivable = np.searchsorted(menu, LEAST_PATIENCE * typical_s)
    return menu[np.minimum(np.maximum(nearest, survivable), len(menu) - 1)]


def _make_maximum_most_popular(
    rng: np.random.Generator, batch_estimate_s: IntArray, batch_jobs: IntArray, max_walltime_s: int
) -> None:
    """Raise requests to the maximum, in place, until no value covers more jobs than the maximum does.

    In logs the maximum is the most frequent. Where very short jobs crowd the smallest values it would not be by itself. So some of
    their users also become thoughtless: batches are taken at random from whichever value leads.
    """
    values = np.unique(np.append(batch_estimate_s, max_walltime_s))
    jobs_at = {int(value): int(batch_jobs[batch_estimate_s == value].sum()) for value in values}
    members = {
        int(value): rng.permutation(np.flatnonzero((batch_estimate_s == value) & (batch_jobs > 0))).tolist()
        for value in values
    }
    while (leader := max(jobs_at, key=lambda value: (jobs_at[value], value))) != max_walltime_s:
        batch = members[leader].pop()
        batch_estimate_s[batch] = max_walltime_s
        jobs_at[leader] -= int(batch_jobs[batch])
        jobs_at[max_walltime_s] += int(batch_jobs[batch])
