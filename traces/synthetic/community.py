"""The users of a generated log of years, their programs, and what a program's jobs are like. All of it is guessed.

Users come and go. A few of them submit most of the work, as in `traces.synthetic.users`. Each owns programs, and a program has a
typical size and a typical run time, so that a user's history tells something of the user's next job.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from traces.synthetic.centre import Centre
from traces.synthetic.users import ROUND_ESTIMATES_S, ROUND_POPULARITY, user_activity, user_menus
from traces.synthetic.workload import USERS_PER_GROUP

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SERIAL, PART_OF_NODE, ONE_NODE, SEVERAL_NODES = range(4)
CLASS_SHARES = np.array([0.34, 0.20, 0.22, 0.24])
"""Share of the batches of each class. Small jobs come in larger batches, and have a larger share of the jobs."""
CLASS_LN_RUN_TIME = np.log([1_200.0, 1_500.0, 1_800.0, 2_400.0])
"""Median of a class's run times, ln of seconds."""
PROGRAM_SIGMA = 1.4
"""Spread of the programs of a class around its median, as ln(run time), like the two in `traces.synthetic.weeks`."""
PART_SIZES = np.array([2, 4, 6, 8, 12, 16, 18, 20, 24, 32])
PART_POPULARITY = np.array([5.0, 8, 2, 8, 5, 7, 3, 2, 4, 3])
NODES_EXPONENT = 1.05
"""P(a program takes at least n nodes) falls as n ** -1.05, from 2 nodes on."""
ROUND_NODES = np.array(
    [
        2,
        3,
        4,
        5,
        6,
        8,
        10,
        12,
        15,
        16,
        20,
        24,
        25,
        30,
        32,
        40,
        48,
        50,
        64,
        75,
        80,
        96,
        100,
        128,
        150,
        200,
        256,
        300,
        400,
        512,
    ]
)
ROUND_NODES_SHARE = 0.75
PROGRAMS_A_USER = 6
MEAN_STAY_WEEKS = 100.0
LONG_REQUESTS_S = 3_600 * np.array([48, 72, 96, 120])
LONG_POPULARITY = np.array([6.0, 6, 2, 2])


class Community(NamedTuple):
    """Programs and their users; a column has one entry a program, or a user where that is said.

    weight: how much the program is used, relative. user: its owner, from 0. size_class: one of the four above. procs: cores of
    its typical job. ln_run_time: ln of the median run time in seconds. first_week, last_week: shape (users,), between which the
    user is there. menus: requested times in seconds that the user chooses from, ascending, shape (users, choices). group: of
    each user, from 1, shape (users,).
    """

    weight: FloatArray
    user: IntArray
    size_class: IntArray
    procs: IntArray
    ln_run_time: FloatArray
    first_week: FloatArray
    last_week: FloatArray
    menus: IntArray
    group: IntArray

    def active(self, week: int) -> FloatArray:
        """Probability of each program that a batch of this week is one of it, shape (programs,)."""
        there = (self.first_week <= week) & (week < self.last_week)
        weight = self.weight * there[self.user]
        total = weight.sum()
        return weight / total if total > 0 else self.weight / self.weight.sum()


def new_community(rng: np.random.Generator, centre: Centre) -> Community:
    """Users and programs for the whole time of a log.

    centre: the cluster, whose nodes, users and weeks count.
    """
    users, programs = centre.users, centre.users * PROGRAMS_A_USER
    user = np.repeat(np.arange(users), PROGRAMS_A_USER)
    rank = np.tile(np.arange(1, PROGRAMS_A_USER + 1), users)
    weight = user_activity(rng, users)[user] / rank
    size_class = np.searchsorted(np.cumsum(CLASS_SHARES)[:-1], dealt(rng, weight), side="right")
    normal = np.sort(rng.standard_normal(programs))
    ln_run_time = np.empty(programs)
    for kind in range(len(CLASS_SHARES)):
        mine = size_class == kind
        place = dealt(rng, weight[mine]) * (programs - 1)
        ln_run_time[mine] = CLASS_LN_RUN_TIME[kind] + PROGRAM_SIGMA * np.interp(place, np.arange(programs), normal)
    ln_run_time[size_class >= ONE_NODE] += np.log(centre.whole_node_scale)
    first_week = rng.uniform(-MEAN_STAY_WEEKS, centre.weeks, users)
    return Community(
        weight,
        user,
        size_class,
        _program_procs(rng, size_class, weight, centre),
        ln_run_time,
        first_week,
        first_week + rng.exponential(MEAN_STAY_WEEKS, users),
        _menus(rng, centre),
        rng.integers(1, 2 + (users - 1) // USERS_PER_GROUP, users),
    )


def dealt(rng: np.random.Generator, weight: FloatArray) -> FloatArray:
    """Numbers from 0 to 1, spread evenly over the weight, shape (programs,), as weight.

    A program that is used much has a middling number, and those near 0 and 1 are used little. Else the one program that is used
    most would decide what the jobs of a log are like.
    """
    order = rng.permutation(len(weight))
    upto = np.cumsum(weight[order])
    place = np.empty(len(weight))
    place[order] = (upto - weight[order] / 2.0) / upto[-1]
    return place


def _program_procs(rng: np.random.Generator, size_class: IntArray, weight: FloatArray, centre: Centre) -> IntArray:
    """Cores of each program's typical job, shape (programs,): parts of a node below one, else whole nodes up to half of them."""
    programs = len(size_class)
    fits = centre.cores_per_node > PART_SIZES
    popularity = PART_POPULARITY[fits] / PART_POPULARITY[fits].sum()
    part = rng.choice(PART_SIZES[fits], programs, p=popularity)
    most = centre.nodes // 2
    smallest = (2.0 / most) ** NODES_EXPONENT
    share = np.ones(programs)
    several = size_class == SEVERAL_NODES
    share[several] = smallest + (1.0 - smallest) * dealt(rng, weight[several])
    nodes = np.floor(2.0 * share ** (-1.0 / NODES_EXPONENT)).astype(np.int64)
    usual = ROUND_NODES[np.searchsorted(np.sqrt(ROUND_NODES[:-1] * ROUND_NODES[1:]), nodes)]
    nodes = np.minimum(np.where(rng.random(programs) < ROUND_NODES_SHARE, usual, nodes), most)
    choices = [np.ones(programs, dtype=np.int64), part, np.full(programs, centre.cores_per_node)]
    return np.select([size_class == kind for kind in range(SEVERAL_NODES)], choices, nodes * centre.cores_per_node)


def _menus(rng: np.random.Generator, centre: Centre) -> IntArray:
    """`user_menus`, with values of several days, as one array. Shorter menus repeat their last value, the maximum."""
    values = np.concatenate([ROUND_ESTIMATES_S, LONG_REQUESTS_S])
    popularity = np.concatenate([ROUND_POPULARITY, LONG_POPULARITY])
    menus = user_menus(rng, centre.users, centre.max_walltime_s, values, popularity)
    width = max(map(len, menus))
    return np.array([np.pad(menu, (0, width - len(menu)), mode="edge") for menu in menus])
