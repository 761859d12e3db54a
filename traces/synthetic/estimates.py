"""Users' estimates of run times: a few round values, the site's maximum first among them, repeated by each user.

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

MINUTE = 60
HOUR = 3_600

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
