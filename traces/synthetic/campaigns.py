"""Submissions of a made-up centre: users with habits, who work in campaigns of some days and think between their batches.

Users and batches are after Zakay and Feitelson (2012, 2013), requests after Tsafrir, Etsion and Feitelson (2005): a user repeats few
round values. What a centre's jobs are like is in `traces.synthetic.sites`. Nothing here says when a job starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

FloatArray = npt.NDArray[np.float64]

DAY_S, HOUR_S = 86_400, 3_600
SESSIONS_BY_HOUR = np.array(
    [14, 11, 9, 8, 7, 7, 9, 16, 40, 62, 72, 74, 62, 66, 76, 76, 72, 62, 46, 36, 32, 28, 24, 18], dtype=np.float64
)
"""Sessions by local hour, relative."""
SESSIONS_BY_DAY = np.array([1.0, 1.05, 1.05, 1.0, 0.9, 0.48, 0.44])
"""Sessions by weekday from Monday, relative."""
USER_EXPONENT = 0.75
CAMPAIGN_EVERY_DAYS, CAMPAIGN_LN_DAYS, CAMPAIGN_SIGMA = 12.0, np.log(6.0), 0.6
OUTSIDE_CAMPAIGNS = 0.08
"""Of a user's sessions in a campaign, so many are on a day outside."""
BATCHES_A_SESSION = 2.2
THINK_LN_S, THINK_SIGMA = np.log(1_500.0), 1.1
SERIES_LN_JOBS, SERIES_SIGMA, MOST_SERIES = 0.5, 0.8, 16
SERIES_GAP_S = 40.0
ARRAY_LN_TASKS, ARRAY_SIGMA, LEAST_ARRAY, MOST_ARRAY = np.log(12.0), 0.7, 4, 48
PROGRAM_SIGMA, BATCH_SIGMA, JOB_SIGMA = 0.7, 0.5, 0.22
"""Spreads of ln(run time): of programs of a kind, of batches of a program, of jobs of a batch."""
BROKEN_BATCHES, BROKEN_S = 0.06, 45.0
"""Batches whose jobs fail at once, such as for a wrong path, and the mean time that takes."""
FAILED, CANCELLED, LOST = 0.04, 0.035, 0.006
"""Jobs that fail or are cancelled on the way, and attempts that a broken node ends, which are requeued."""
WITHDRAWN = 0.02
"""Jobs that are cancelled while they wait, as the user has seen a mistake, and sends the right one."""
NEED_SHARE = (1.7, 2.9)
"""Beta parameters of the share of the request that a user expects to use."""
ODD_REQUESTS, ODD_STEP_S = 0.35, 600.0
"""Programs whose users do not take a round value, but what they believe to need, in steps."""
LOAD_ROUNDS, FACTORS = 12, (0.3, 4.0)
LEAST_SCALED = 8
"""Run times of jobs with so many cores are scaled, since those are nearly all of the work."""
WEEK_RANGE = 0.2
"""Between the load of the idlest week and of the busiest, as a part of the mean: people send less where much waits."""


@dataclass(frozen=True)
class JobKind:
    """One sort of work at a centre. share: of the programs. queue: queue or partition. nodes, cores: choices of nodes, and of cores on
    each; a program has one of each. exclusive: whether jobs have their nodes alone. gpus: on each node. memory_gb: on each node, choices.
    median_s: of run times. requests_s: round values that its users type, ascending. arrays: share of its batches."""

    name: str
    share: float
    queue: str
    nodes: tuple[int, ...]
    cores: tuple[int, ...]
    memory_gb: tuple[int, ...]
    median_s: float
    requests_s: tuple[int, ...]
    arrays: float = 0.0
    gpus: tuple[int, ...] = (0,)
    exclusive: bool = False
    quality: str = ""


@dataclass(frozen=True)
class CentreWork:
    """What a centre's jobs are drawn from. first_day: local date of second 0. load: share of the cluster's core seconds that jobs ask
    for and use; run times are scaled to it."""

    kinds: tuple[JobKind, ...]
    users: int
    groups: tuple[str, ...]
    first_day: date
    days: int
    jobs: int
    cores: int
    load: float


def site_submissions(work: CentreWork, seed: int) -> pl.DataFrame:
    """The jobs in order of submission. The same work and seed give the same.

    Columns: submit_s (seconds since local midnight of the first day), requested_s, runtime_s. user, group, program, kind, queue, quality.
    nodes, exclusive. cores, gpus and memory_gb of each node. array (-1 for none) and task. status, as in core.jobs.
    attempt_of: row of the attempt that a broken node ended, -1 for none. withdrawn_s: seconds after which it is cancelled while it waits,
    -1 for none."""
    rng = np.random.default_rng(seed)
    programs = _programs(rng, work)
    batches = _batches(rng, work, programs)
    rows = _jobs(rng, work, programs, batches)
    rows = _scaled(rng, rows, work)
    rows = _with_lost_attempts(rng, rows)
    return rows


def _programs(rng: np.random.Generator, work: CentreWork) -> pl.DataFrame:
    """Each user's programs, each with one shape, one typical run time and one request."""
    activity = np.arange(1, work.users + 1, dtype=np.float64) ** -USER_EXPONENT
    shares = np.array([kind.share for kind in work.kinds])
    # the kinds of all programs are dealt, so that few busy users cannot change what the centre does
    counts = rng.integers(2, 5, work.users)
    user = np.repeat(np.arange(work.users), counts)
    order = np.concatenate([np.arange(count) for count in counts])
    weight = activity[user] * 0.6**order
    place = np.empty(len(user))
    shuffled = rng.permutation(len(user))
    upto = np.cumsum(weight[shuffled])
    place[shuffled] = (upto - weight[shuffled] / 2) / upto[-1]
    kind = np.searchsorted(np.cumsum(shares / shares.sum())[:-1], place, side="right")
    columns: dict[str, npt.NDArray[Any]] = {"user": user, "kind": kind, "weight": weight}
    for name in ("nodes", "cores", "gpus", "memory_gb"):
        columns[name] = np.array([rng.choice(getattr(work.kinds[each], name)) for each in kind])
    median = np.array([work.kinds[each].median_s for each in kind])
    columns["median_s"] = median * np.exp(PROGRAM_SIGMA * rng.standard_normal(len(user)))
    columns["used"] = rng.beta(*NEED_SHARE, len(user))
    columns["odd"] = rng.random(len(user)) < ODD_REQUESTS
    return pl.DataFrame(columns)


def _batches(rng: np.random.Generator, work: CentreWork, programs: pl.DataFrame) -> list[tuple[int, float, int, bool]]:
    """Program, begin (seconds), number of jobs, and whether it is an array, until there are jobs enough."""
    weight, user, kind = (programs[name].to_numpy() for name in ("weight", "user", "kind"))
    calendar = [_campaign_days(rng, work) for _ in range(work.users)]
    habit = rng.normal(0.0, 1.8, work.users)
    by_user = np.bincount(user, weights=weight)
    made: list[tuple[int, float, int, bool]] = []
    total = 0
    while total < work.jobs:
        person = int(rng.choice(work.users, p=by_user / by_user.sum()))
        mine = np.flatnonzero(user == person)
        day = int(rng.choice(work.days, p=calendar[person]))
        hour = (int(rng.choice(24, p=SESSIONS_BY_HOUR / SESSIONS_BY_HOUR.sum())) + rng.random() + habit[person]) % 24.0
        moment = day * DAY_S + hour * HOUR_S
        program = int(rng.choice(mine, p=weight[mine] / weight[mine].sum()))
        for _ in range(int(rng.geometric(1.0 / BATCHES_A_SESSION))):
            is_array = bool(rng.random() < work.kinds[kind[program]].arrays)
            if is_array:
                jobs = int(np.clip(rng.lognormal(ARRAY_LN_TASKS, ARRAY_SIGMA), LEAST_ARRAY, MOST_ARRAY))
            else:
                jobs = int(np.clip(rng.lognormal(SERIES_LN_JOBS, SERIES_SIGMA), 1, MOST_SERIES))
            jobs = min(jobs, work.jobs - total)
            if jobs == 0 or moment >= work.days * DAY_S:
                break
            made.append((program, moment, jobs, is_array))
            total += jobs
            moment += float(rng.lognormal(THINK_LN_S, THINK_SIGMA))
    return made


def _campaign_days(rng: np.random.Generator, work: CentreWork) -> FloatArray:
    """How likely a session of a user is on each day, float (days,), which sums to 1."""
    share = np.full(work.days, OUTSIDE_CAMPAIGNS)
    day = float(rng.exponential(CAMPAIGN_EVERY_DAYS / 2))
    while day < work.days:
        length = max(float(rng.lognormal(CAMPAIGN_LN_DAYS, CAMPAIGN_SIGMA)), 1.0)
        share[int(day) : int(day + length)] = 1.0
        day += length + float(rng.exponential(CAMPAIGN_EVERY_DAYS))
    weekday = (work.first_day.weekday() + np.arange(work.days)) % 7
    share *= SESSIONS_BY_DAY[weekday]
    return share / share.sum()


def _jobs(
    rng: np.random.Generator, work: CentreWork, programs: pl.DataFrame, batches: list[tuple[int, float, int, bool]]
) -> pl.DataFrame:
    """The jobs of all batches with the run times that they would have with time enough."""
    program = np.array([batch[0] for batch in batches])
    length = np.array([batch[2] for batch in batches])
    is_array = np.array([batch[3] for batch in batches])
    of = np.repeat(np.arange(len(batches)), length)
    task = np.arange(len(of)) - np.repeat(np.cumsum(length) - length, length)
    gap = np.where(is_array[of] | (task == 0), 0.0, rng.exponential(SERIES_GAP_S, len(of)))
    passed = np.cumsum(gap)
    passed -= passed[np.cumsum(length) - length][of]
    submit = (np.array([batch[1] for batch in batches])[of] + passed).astype(np.int64)
    median = programs["median_s"].to_numpy()[program]
    typical = median * np.exp(BATCH_SIGMA * rng.standard_normal(len(batches)))
    broken = rng.random(len(batches)) < BROKEN_BATCHES
    ideal = typical[of] * np.exp(JOB_SIGMA * rng.standard_normal(len(of)))
    ideal = np.where(broken[of], 1.0 + rng.exponential(BROKEN_S, len(of)), ideal)
    luck = rng.random(len(of))
    cut = np.where(broken[of], 1.0, np.where(luck < FAILED + CANCELLED, rng.random(len(of)), 1.0))
    status = np.where(
        broken[of] | (luck < FAILED), "failed", np.where(luck < FAILED + CANCELLED, "cancelled", "completed")
    )
    withdrawn = np.where(
        (rng.random(len(of)) < WITHDRAWN) & ~is_array[of], 20 + rng.exponential(240.0, len(of)), -1.0
    ).astype(np.int64)
    rows = programs[program][of].with_columns(
        pl.Series("program", program[of]),
        pl.Series("submit_s", submit),
        pl.Series("ideal_s", ideal),
        pl.Series("cut", cut),
        pl.Series("broken", broken[of]),
        pl.Series("status", status),
        pl.Series("array", np.where(is_array[of], of, -1)),
        pl.Series("task", np.where(is_array[of], task, -1)),
        pl.Series("withdrawn_s", withdrawn),
    )
    return rows.sort("submit_s", maintain_order=True)


def _scaled(rng: np.random.Generator, rows: pl.DataFrame, work: CentreWork) -> pl.DataFrame:
    """The rows with requests, and run times scaled to the load. A job that reaches its request is killed there."""
    area = (rows["nodes"] * rows["cores"]).to_numpy().astype(np.float64)
    area = np.where(rows["withdrawn_s"].to_numpy() >= 0, 0.0, area)
    week = (rows["submit_s"] // (7 * DAY_S)).to_numpy()
    weeks = -(-work.days // 7)
    loads = work.load * (1.0 + WEEK_RANGE * (rng.permutation(weeks) / max(weeks - 1, 1) - 0.5))
    target = loads * work.cores * np.bincount(np.arange(work.days) // 7) * DAY_S
    is_scaled = (rows["nodes"] * rows["cores"] >= LEAST_SCALED).to_numpy() & ~rows["broken"].to_numpy()
    factor = np.ones(weeks)
    requested = runtime = np.zeros(0)
    for _ in range(LOAD_ROUNDS):
        scale = np.where(is_scaled, factor[week], 1.0)
        requested = _requests(rows, work, scale)
        whole = np.minimum(rows["ideal_s"].to_numpy() * scale, requested)
        runtime = np.maximum(np.rint(whole * rows["cut"].to_numpy()), 1.0)
        done = np.bincount(week, weights=runtime * area, minlength=weeks)
        factor = np.clip(factor * target / done, *FACTORS)
    people = rows["user"].to_numpy()
    group = np.array(work.groups)[people % len(work.groups)]
    kinds = [work.kinds[each] for each in rows["kind"]]
    is_late = (runtime >= requested) & (rows["status"] == "completed").to_numpy()
    return rows.select(
        "submit_s",
        pl.format("{}{}", pl.lit("u"), pl.Series("user", people + 1).cast(pl.Utf8).str.zfill(2)).alias("user"),
        pl.Series("group", group),
        pl.format("{}_{}", pl.Series([each.name for each in kinds]), pl.col("program")).alias("program"),
        pl.Series("kind", [each.name for each in kinds]),
        pl.Series("queue", [each.queue for each in kinds]),
        pl.Series("quality", [each.quality for each in kinds]),
        "nodes",
        "cores",
        "gpus",
        "memory_gb",
        pl.Series("exclusive", [each.exclusive for each in kinds]),
        pl.Series("requested_s", requested.astype(np.int64)),
        pl.Series("runtime_s", runtime.astype(np.int64)),
        "array",
        "task",
        pl.Series("status", np.where(is_late, "timeout", rows["status"].to_numpy())),
        pl.lit(-1, dtype=pl.Int64).alias("attempt_of"),
        "withdrawn_s",
    )


def _requests(rows: pl.DataFrame, work: CentreWork, scale: FloatArray) -> FloatArray:
    """The round value of the kind's menu nearest to what a program's user believes to need, seconds, float (jobs,)."""
    need = (rows["median_s"] / rows["used"]).to_numpy() * scale
    kind = rows["kind"].to_numpy()
    requested = np.empty(len(need))
    for place, each in enumerate(work.kinds):
        menu = np.array(each.requests_s, dtype=np.float64)
        mine = kind == place
        requested[mine] = menu[np.searchsorted(np.sqrt(menu[:-1] * menu[1:]), need[mine])]
        own = np.ceil(need / ODD_STEP_S) * ODD_STEP_S
        requested = np.where(mine & rows["odd"].to_numpy(), np.clip(own, menu[0], menu[-1]), requested)
    return requested


def _with_lost_attempts(rng: np.random.Generator, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, and for each job whose node breaks a second one directly behind it, which is the attempt that counts."""
    usual = (rows["array"] < 0) & (rows["withdrawn_s"] < 0) & (rows["runtime_s"] > HOUR_S // 2)
    chance = LOST / max(int(usual.sum()) / rows.height, 0.1)
    lost = np.flatnonzero(usual.to_numpy() & (rng.random(rows.height) < chance))
    take = np.sort(np.concatenate([np.arange(rows.height), lost]))
    is_second = np.r_[False, take[1:] == take[:-1]]
    is_first = np.r_[is_second[1:], False]
    share = rng.random(len(take))
    runtime = rows["runtime_s"].to_numpy()[take]
    return rows[take].with_columns(
        pl.Series("runtime_s", np.where(is_first, np.maximum(runtime * share, 60).astype(np.int64), runtime)),
        pl.Series("status", np.where(is_first, "requeued", rows["status"].to_numpy()[take])),
        pl.Series("attempt_of", np.where(is_second, np.arange(len(take)) - 1, -1)),
    )
