"""Settings of Slurm that change schedules, as numbers. Names and defaults: Slurm's man page of slurm.conf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traces.cluster.description import SchedulerSettings, Setting

DEFAULTS_OF_2023 = (23, 11)
"""The version from which on SelectType and PriorityType have other defaults."""


class Settings(NamedTuple):
    """Times in seconds. backfills: 0 under sched/builtin. most_seconds: of a backfill cycle. table_rows: of its plan, after which it ends.
    user_jobs, partition_jobs: jobs of a user or a partition that a cycle looks at, 0 for all. array_plans: plans of one array in a cycle.
    depth: jobs that the main scheduler looks at after events. stops_at_limit: 1 where a job over a limit blocks its partition
    (assoc_limit_stop). safe: 1 where jobs start only if a limit on used time lasts to their ends. basic: 1 under priority/basic.
    whole_nodes: 1 under select/linear. requeues: 1 where jobs that lose a node wait again (JobRequeue). min_age: how long records of jobs
    are kept after their ends (MinJobAge)."""

    backfills: int
    interval: int
    window: int
    resolution: int
    most_seconds: int
    job_tests: int
    table_rows: int
    user_jobs: int
    partition_jobs: int
    array_plans: int
    depth: int
    full_interval: int
    batch_delay: int
    kill_wait: int
    stops_at_limit: int
    safe: int
    basic: int
    whole_nodes: int
    requeues: int
    min_age: int


def slurm_settings(scheduler: SchedulerSettings) -> Settings:
    """The settings with Slurm's defaults for what is not set, which depend on its version. Raises ValueError for a value that is no number
    where one is needed."""
    values = dict(scheduler.values)
    for word in str(values.get("schedulerparameters", "")).split(","):
        name, _, value = word.partition("=")
        if name:
            values.setdefault(name.strip().lower(), value or "1")

    def number(name: str, default: int) -> int:
        return _number(values, name, default)

    is_old = slurm_version(scheduler) < DEFAULTS_OF_2023
    interval = number("bf_interval", 30)
    job_tests = number("bf_max_job_test", 500)
    return Settings(
        backfills=int("builtin" not in str(values.get("schedulertype", "sched/backfill"))),
        interval=interval,
        window=number("bf_window", 1440) * 60,
        resolution=max(number("bf_resolution", 60), 1),
        most_seconds=number("bf_max_time", interval),
        job_tests=job_tests,
        table_rows=number("bf_node_space_size", job_tests),
        user_jobs=number("bf_max_job_user", 0),
        partition_jobs=number("bf_max_job_part", 0),
        array_plans=number("bf_max_job_array_resv", 20),
        depth=number("default_queue_depth", 100),
        full_interval=number("sched_interval", 60),
        batch_delay=number("batch_sched_delay", 3),
        kill_wait=number("killwait", 30),
        stops_at_limit=int("assoc_limit_stop" in values),
        safe=int("safe" in str(values.get("accountingstorageenforce", "")).lower()),
        basic=int("multifactor" not in str(values.get("prioritytype", "basic" if is_old else "multifactor"))),
        whole_nodes=int("linear" in str(values.get("selecttype", "linear" if is_old else "cons_tres"))),
        requeues=int(requeues_jobs(scheduler)),
        min_age=number("minjobage", 300),
    )


def slurm_version(scheduler: SchedulerSettings) -> tuple[int, int]:
    """Year and month of a version of Slurm, the newest where none is known."""
    numbers = [int(part) for part in scheduler.version.split(".")[:2] if part.isdigit()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (99, 0)


def requeues_jobs(scheduler: SchedulerSettings) -> bool:
    """Whether jobs may be requeued if they do not say so."""
    return str(scheduler.values.get("jobrequeue", 1)).lower() not in ("0", "false", "no")


def _number(values: Mapping[str, Setting], name: str, default: int) -> int:
    value = str(values.get(name, default)).strip().lower().removesuffix(" sec")
    if value in ("unlimited", "infinite"):
        return 1 << 40
    try:
        return int(float(value))
    except ValueError:
        raise ValueError(f"{name}={value}: expected a number") from None
