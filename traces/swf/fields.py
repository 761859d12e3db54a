"""The 18 fields of the Standard Workload Format, and which values they may have."""

from __future__ import annotations

from traces.common.log import LARGEST_S

FIELDS = (
    "job_number",
    "submit_s",
    "wait_s",
    "runtime_s",
    "allocated_procs",
    "average_cpu_s",
    "used_memory_kb",
    "requested_procs",
    "requested_walltime_s",
    "requested_memory_kb",
    "status",
    "user_id",
    "group_id",
    "executable",
    "queue",
    "partition",
    "preceding_job",
    "think_time_s",
)
"""The 18 fields in their order. Memory is per processor."""


FRACTIONAL = {"average_cpu_s", "used_memory_kb", "requested_memory_kb"}
"""Numbers that stay as they are, with their fractions."""

TIME_FIELDS = {"submit_s", "wait_s", "runtime_s", "requested_walltime_s", "think_time_s"}
"""Times may have fractions in a log, and become whole seconds. All fields that are in neither set are whole numbers."""


MAY_BE_NEGATIVE = {"wait_s", "average_cpu_s", "used_memory_kb", "requested_memory_kb", "preceding_job", "think_time_s"}
"""A negative wait is kept unchanged. The job is sound, only its start is unknown."""


NEVER_UNKNOWN = {"job_number", "submit_s"}


LARGEST_NUMBER = float(LARGEST_S)
"""A larger number in any field is a fault of the log. As seconds it is more than three thousand years."""


NUM_FIELDS = len(FIELDS)


PARTIAL_STATES = (2, 3, 4)
"""States of lines that tell of a part of a job's run. The first means that it goes on, the others that the job completed or failed."""
