"""Workloads of small made-up centres: campaigns of few users on a cluster of some nodes, for ten weeks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.jobs.jobs import Jobs, jobs_from_log
from traces.synthetic.centre import Centre, CentreOptions
from traces.synthetic.weeks import job_weeks

IntArray = NDArray[np.int64]

FIRST_DAYS, DAYS = tuple(date(2025, month, 3) for month in range(2, 10)), 70
TIME_ZONES = ("Europe/Stockholm", "America/Chicago", "UTC")
NODES, CORES = (16, 24, 32, 48, 64), 16
USERS, JOBS, LOADS = (24, 60), (2500, 5000), (0.7, 0.95)
"""Least and most."""
WIDEST_SHARE = 0.5
"""Of the cluster. Wider jobs are cut to it."""
LONGEST_S = 48 * 3600
QUEUES = {1: "short", 2: "normal"}
HELD_SHARES = (0.0, 0.0, 0.02, 0.05)
HELD_LN_S, HELD_SIGMA = np.log(7200.0), 1.2
"""Some jobs wait for something that no log shows, such as another job. Spread and median as ln of seconds."""


@dataclass(frozen=True)
class SmallCentre(CentreOptions):
    """Options of one made-up centre, of which the fields of CentreOptions say the seed and the load."""

    first_day: str = "2025-02-03"
    nodes: int = 32
    users: int = 40
    zone: str = "UTC"
    most_jobs: int = 4000

    @property
    def centre(self) -> Centre:
        """The cluster."""
        first = date.fromisoformat(self.first_day)
        last = date.fromordinal(first.toordinal() + DAYS)
        return Centre(self.nodes, CORES, first, last, self.most_jobs, LONGEST_S, self.zone, self.users, 3.0)


@dataclass(frozen=True)
class Workload:
    """Submissions of a log. rows: in order of submission, with the columns of `core.jobs` that limits and gates read, and eligible_s, from
    when on the job may start; what is later than submit_s is in no log. zero_s: UTC second of the log's second 0."""

    rows: pl.DataFrame
    procs: int
    zero_s: int
    time_zone: str

    @cached_property
    def jobs(self) -> Jobs:
        """What the replay of a log takes."""
        return self._jobs(self.rows, "submit_s")

    @cached_property
    def eligible(self) -> tuple[IntArray, Jobs]:
        """The jobs in the order in which they may start, and the place of each of them in `rows`."""
        order = np.argsort(self.rows["eligible_s"].to_numpy(), kind="stable")
        return order, self._jobs(self.rows[order], "eligible_s")

    @property
    def span(self) -> tuple[int, int]:
        """Seconds of the first and of the last submission."""
        return int(self.jobs.submit[0]), int(self.jobs.submit[-1])

    @property
    def later_half(self) -> NDArray[np.bool_]:
        """The jobs that are graded, bool (jobs,)."""
        return np.arange(len(self.jobs)) >= len(self.jobs) // 2

    def _jobs(self, rows: pl.DataFrame, submit: str) -> Jobs:
        columns = (rows[name].to_numpy() for name in (submit, "runtime_s", "procs", "requested_walltime_s"))
        user = rows["user_name"].rank("dense").cast(pl.Int64).to_numpy() - 1
        return jobs_from_log(*columns, user=user)


def planted_workload(seed: int) -> Workload:
    """The submissions of one centre. The same seed gives the same."""
    rng = np.random.default_rng([seed, 0])
    options = SmallCentre(
        model="lemhi",
        seed=seed,
        offered_load=float(rng.uniform(*LOADS)),
        first_day=str(rng.choice([str(day) for day in FIRST_DAYS])),
        nodes=int(rng.choice(NODES)),
        users=int(rng.integers(*USERS)),
        zone=str(rng.choice(TIME_ZONES)),
        most_jobs=int(rng.integers(*JOBS)),
    )
    procs = options.centre.procs
    jobs = pl.concat(job_weeks(options)).filter(pl.col("runtime_s") > 0)
    midnight = datetime.combine(options.centre.first_day, datetime.min.time(), ZoneInfo(options.zone))
    held = rng.random(jobs.height) < rng.choice(HELD_SHARES)
    later = np.where(held, rng.lognormal(HELD_LN_S, HELD_SIGMA, jobs.height), 0).astype(np.int64)
    group = pl.col("group_id").cast(pl.Utf8).str.zfill(2)
    rows = jobs.select(
        pl.int_range(jobs.height).alias("job_index"),
        "submit_s",
        (pl.col("submit_s") + pl.Series(later)).alias("eligible_s"),
        "runtime_s",
        pl.col("procs").clip(1, int(procs * WIDEST_SHARE)),
        "requested_walltime_s",
        pl.format("u{}", pl.col("user_id").cast(pl.Utf8).str.zfill(3)).alias("user_name"),
        pl.format("g{}", group).alias("group_name"),
        pl.format("a{}", group).alias("account"),
        pl.col("queue").replace_strict(QUEUES, default="long", return_dtype=pl.Utf8),
        pl.lit(None, dtype=pl.Utf8).alias("qos"),
    )
    return Workload(rows, procs, int(midnight.astimezone(UTC).timestamp()), options.zone)
