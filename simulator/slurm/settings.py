"""Settings of Slurm that change schedules, as numbers. Names and defaults: Slurm's man page of slurm.conf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traces.cluster.description import SchedulerSettings, Setting

DEFAULTS_OF_2021, DEFAULTS_OF_2023 = (21, 8), (23, 11)
"""Versions from which on settings have other defaults: bf_max_job_test and SelectTypeParameters, then SelectType and PriorityType."""
CONSUMED = ("cr_cpu", "cr_core", "cr_socket", "cr_memory")
"""How words of SelectTypeParameters begin that say what jobs consume."""
NO_END_S = 1 << 40
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


class _Values(NamedTuple):
    """Settings by name, those of SchedulerParameters among them."""

    by_name: Mapping[str, Setting]

    def number(self, name: str, default: int = 0) -> int:
        """A number, NO_END_S for one without end."""
        return _number(self.by_name, name, default)

    def seconds(self, name: str, default: int) -> int:
        """NO_END_S, for a time that is none."""
        value = self.number(name, default)
        return value if value > 0 else NO_END_S

    def has(self, name: str) -> int:
        """1 where it is on."""
        return int(str(self.by_name.get(name, "no")).lower() not in _OFF)


def slurm_settings(scheduler: SchedulerSettings) -> Settings:
    """The settings with Slurm's defaults for what is not set, which depend on its version. Raises ValueError for a value that is no number
    where one is needed."""
    given = dict(scheduler.values)
    for word in str(given.get("schedulerparameters", "")).split(","):
        name, _, value = word.partition("=")
        if name:
            given.setdefault(name.strip().lower(), value or "1")
    values = _Values(given)
    is_old = slurm_version(scheduler) < DEFAULTS_OF_2023
    interval = values.seconds("bf_interval", 30)
    enforced = str(given.get("accountingstorageenforce", "")).lower()
    whole_nodes = int("linear" in str(given.get("selecttype", "linear" if is_old else "cons_tres")))
    return Settings(
        backfills=int("builtin" not in str(given.get("schedulertype", "sched/backfill")) and interval < NO_END_S),
        interval=interval,
        window=values.number("bf_window", 1440) * 60,
        resolution=max(values.number("bf_resolution", 60), 1),
        most_seconds=values.number("bf_max_time", interval),
        full_interval=values.seconds("sched_interval", 60),
        batch_delay=values.number("batch_sched_delay", 3),
        kill_wait=values.number("killwait", 30),
        stops_at_limit=values.has("assoc_limit_stop"),
        safe=int("safe" in enforced or "all" in enforced.split(",")),
        basic=int("multifactor" not in str(given.get("prioritytype", "basic" if is_old else "multifactor"))),
        whole_nodes=whole_nodes,
        requeues=int(requeues_jobs(scheduler)),
        min_age=values.seconds("minjobage", 300),
        plans_once=values.has("bf_one_resv_per_job"),
        least_age=values.number("bf_min_age_reserve"),
        least_priority=values.number("bf_min_prio_reserve"),
        linear_width=values.number("bf_window_linear"),
        continues=values.has("bf_continue"),
        yield_us=max(values.number("bf_yield_interval", 2_000_000), 1),
        sleep_us=values.number("bf_yield_sleep", 500_000),
        counts_memory=int(counts_memory(scheduler, bool(whole_nodes))),
        by_switch=int("topologyplugin" not in given or "tree" in str(given["topologyplugin"])),
        **_depths(values, slurm_version(scheduler)),
    )


def _depths(values: _Values, version: tuple[int, int]) -> dict[str, int]:
    """How many jobs, plans and starts a cycle or a pass looks at."""
    job_tests = values.number("bf_max_job_test", 100 if version < DEFAULTS_OF_2021 else 500)
    return {
        "job_tests": job_tests,
        "table_rows": values.number("bf_node_space_size", job_tests),
        "user_jobs": values.number("bf_max_job_user"),
        "partition_jobs": values.number("bf_max_job_part"),
        "array_plans": values.number("bf_max_job_array_resv", 20),
        "depth": values.number("default_queue_depth", 100),
        "member_jobs": values.number("bf_max_job_assoc"),
        "user_partition_jobs": values.number("bf_max_job_user_part"),
        "cycle_starts": values.number("bf_max_job_start"),
        "pass_starts": values.number("sched_max_job_start"),
        "partition_depth": values.number("partition_job_depth"),
        "partition_plans": values.number("bf_job_part_count_reserve"),
    }


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
        return NO_END_S
    try:
        return int(float(value))
    except ValueError:
        raise ValueError(f"{name}={value}: expected a number") from None
