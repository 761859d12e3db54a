"""Settings of Slurm that change schedules, as numbers. Names and defaults: Slurm's man page of slurm.conf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traces.cluster.description import SchedulerSettings, Setting

DEFAULTS_OF_2021, DEFAULTS_OF_2023 = (21, 8), (23, 11)
"""Versions from which on settings have other defaults: bf_max_job_test and SelectTypeParameters, then SelectType and PriorityType."""
CONSUMED = ("cr_cpu", "cr_core", "cr_socket", "cr_memory")
"""How words of SelectTypeParameters begin that say what jobs consume."""
NEVER = 1 << 40
"""Seconds until what does not happen."""
_OFF = ("no", "0", "false")


class Settings(NamedTuple):
    """Times in seconds. backfills: 0 under sched/builtin. most_seconds: of a backfill cycle. table_rows: of its plan, after which it ends.
    user_jobs, partition_jobs: jobs of a user or a partition that a cycle looks at, 0 for all. array_plans: plans of one array in a cycle.
    depth: jobs that the main scheduler looks at after events. stops_at_limit: 1 where a job over a limit blocks its partition
    (assoc_limit_stop). safe: 1 where jobs start only if a limit on used time lasts to their ends. basic: 1 under priority/basic.
    whole_nodes: 1 under select/linear. requeues: 1 where jobs that lose a node wait again (JobRequeue). min_age: how long records of jobs
    are kept after their ends (MinJobAge).

    member_jobs, user_partition_jobs: as user_jobs, of an association, and of a user in one partition. cycle_starts, pass_starts: jobs
    that a cycle or the main scheduler starts at a time, 0 for all. partition_depth: jobs of a partition that the main scheduler looks at,
    0 for all. partition_plans: jobs of a partition that are planned, 0 for all. plans_once: 1 where a job has one plan in all its
    partitions. least_age, least_priority: of jobs that keep others from starting. linear_width: seconds by which a batch of ends grows,
    0 where it doubles. continues: 1 under bf_continue. yield_us, sleep_us: microseconds after which, and for which, a cycle lets go of
    its locks. counts_memory: 1 where memory is what jobs consume. by_switch: 1 where nodes are chosen by switches."""

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
    member_jobs: int
    user_partition_jobs: int
    cycle_starts: int
    pass_starts: int
    partition_depth: int
    partition_plans: int
    plans_once: int
    least_age: int
    least_priority: int
    linear_width: int
    continues: int
    yield_us: int
    sleep_us: int
    counts_memory: int
    by_switch: int


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

    def seconds(name: str, default: int) -> int:
        """Never, for a time that is none."""
        value = number(name, default)
        return value if value > 0 else NEVER

    def has(name: str) -> int:
        return int(str(values.get(name, "no")).lower() not in _OFF)

    version = slurm_version(scheduler)
    is_old = version < DEFAULTS_OF_2023
    interval = seconds("bf_interval", 30)
    enforced = str(values.get("accountingstorageenforce", "")).lower()
    job_tests = number("bf_max_job_test", 100 if version < DEFAULTS_OF_2021 else 500)
    whole_nodes = int("linear" in str(values.get("selecttype", "linear" if is_old else "cons_tres")))
    return Settings(
        backfills=int("builtin" not in str(values.get("schedulertype", "sched/backfill")) and interval < NEVER),
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
        full_interval=seconds("sched_interval", 60),
        batch_delay=number("batch_sched_delay", 3),
        kill_wait=number("killwait", 30),
        stops_at_limit=has("assoc_limit_stop"),
        safe=int("safe" in enforced or "all" in enforced.split(",")),
        basic=int("multifactor" not in str(values.get("prioritytype", "basic" if is_old else "multifactor"))),
        whole_nodes=whole_nodes,
        requeues=int(requeues_jobs(scheduler)),
        min_age=seconds("minjobage", 300),
        member_jobs=number("bf_max_job_assoc", 0),
        user_partition_jobs=number("bf_max_job_user_part", 0),
        cycle_starts=number("bf_max_job_start", 0),
        pass_starts=number("sched_max_job_start", 0),
        partition_depth=number("partition_job_depth", 0),
        partition_plans=number("bf_job_part_count_reserve", 0),
        plans_once=has("bf_one_resv_per_job"),
        least_age=number("bf_min_age_reserve", 0),
        least_priority=number("bf_min_prio_reserve", 0),
        linear_width=number("bf_window_linear", 0),
        continues=has("bf_continue"),
        yield_us=max(number("bf_yield_interval", 2_000_000), 1),
        sleep_us=number("bf_yield_sleep", 500_000),
        counts_memory=int(counts_memory(scheduler, bool(whole_nodes))),
        by_switch=int("topologyplugin" not in values or "tree" in str(values["topologyplugin"])),
    )


def counts_memory(scheduler: SchedulerSettings, is_linear: bool) -> bool:
    """Whether jobs wait for memory. By default they do from version 21.08 on, unless under select/linear (is_linear)."""
    words = consumed_words(scheduler)
    if words:
        return any(word.endswith("_memory") for word in words)
    return not is_linear and slurm_version(scheduler) >= DEFAULTS_OF_2021


def consumed_words(scheduler: SchedulerSettings) -> list[str]:
    """The words of SelectTypeParameters that say what jobs consume, in lower case."""
    words = str(scheduler.values.get("selecttypeparameters", "")).lower().split(",")
    return [word.strip() for word in words if word.strip().startswith(CONSUMED) and "dist" not in word]


def jobs_within(settings: Settings, test_us: int) -> int:
    """Jobs that a cycle tests in its longest time, of which it sleeps after each interval. test_us: microseconds for one job."""
    spell_us, most_us = settings.yield_us + settings.sleep_us, settings.most_seconds * 1_000_000
    awake_us = most_us // spell_us * settings.yield_us + min(most_us % spell_us, settings.yield_us)
    return awake_us // test_us


def slurm_version(scheduler: SchedulerSettings) -> tuple[int, int]:
    """Year and month of a version of Slurm, the newest where none is known."""
    numbers = [int(part) for part in scheduler.version.split(".")[:2] if part.isdigit()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (99, 0)


def requeues_jobs(scheduler: SchedulerSettings) -> bool:
    """Whether jobs may be requeued if they do not say so."""
    return str(scheduler.values.get("jobrequeue", 1)).lower() not in _OFF


def enforces_limits(scheduler: SchedulerSettings) -> bool:
    """Whether limits of QOS and associations hold (AccountingStorageEnforce), which they do where nothing is said."""
    words = str(scheduler.values.get("accountingstorageenforce", "limits")).lower().split(",")
    return bool({"limits", "safe", "all"} & set(words))


def _number(values: Mapping[str, Setting], name: str, default: int) -> int:
    value = str(values.get(name, default)).strip().lower().removesuffix(" sec")
    if value in ("unlimited", "infinite"):
        return NEVER
    try:
        return int(float(value))
    except ValueError:
        raise ValueError(f"{name}={value}: expected a number") from None
