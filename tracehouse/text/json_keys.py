"""The keys that answers of all commands share: one key for one thing, in one unit."""

from __future__ import annotations

SHARED_KEYS = {
    "source": "name of the source",
    "cluster": "name of the cluster, or names",
    "job": "id of a job, as the log has it",
    "user": "user",
    "account": "account",
    "queue": "queue or partition",
    "qos": "QOS",
    "gpu": "GPUs of a job: their number, or number by type such as a100=2",
    "jobs": "number of jobs",
    "procs": "processors",
    "hours": "hours that jobs waited, added up",
    "mean_wait_s": "mean wait, seconds",
    "median_wait_s": "median wait, seconds",
    "p95_wait_s": "95th percentile of wait, seconds",
    "max_wait_s": "longest wait, seconds",
    "wait_s": "wait of one job, seconds",
    "known_waits": "jobs whose wait the log tells",
    "core_hours": "core-hours used",
    "gpu_hours": "GPU-hours used",
    "cause": "what kept jobs waiting, by its name in marts.job_wait_causes",
    "limit": "the limit that kept jobs, in words",
    "share": "part of the whole, 0 to 1",
    "grade": "how far replays can be trusted, A to D; null for none",
    "policy": "order of the queue",
    "backfill": "backfilling",
    "period": "days that jobs were submitted in, in words; null for all",
    "time_zone": "IANA name of the time zone",
    "by": "groups: a list for each kind, such as user or queue, whose rows have the kind as a key",
    "basis": "the rules behind the figures, in words",
    "report": "path of the report",
}
"""By key: what it means in every answer."""
TEXT_KEYS = frozenset(
    (
        "source",
        "user",
        "account",
        "queue",
        "qos",
        "gpu",
        "cause",
        "limit",
        "policy",
        "backfill",
        "period",
        "time_zone",
        "basis",
    )
)
"""Those of SHARED_KEYS that are text or null. Of the others, `cluster` and `job` may be lists, and the rest are numbers or null."""
NUMBER_KEYS = frozenset(
    (
        "hours",
        "mean_wait_s",
        "median_wait_s",
        "p95_wait_s",
        "max_wait_s",
        "wait_s",
        "known_waits",
        "core_hours",
        "gpu_hours",
        "share",
    )
)
"""Those that are numbers or null."""
SHARED = {"average_wait_s": "mean_wait_s"}
"""Metrics of tables and replays that have another name there: answers have both."""
