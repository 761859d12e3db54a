"""Jobs of the pipeline, as the API and the command run them."""

from __future__ import annotations

from typing import Any

from pipelines.terminal import printable


class JobFailed(ValueError):
    """A job ran, and failed. The message says why, for each source."""


def run_or_fail(job: str, names: list[str], config: dict[str, Any] | None = None, partitions: str = "sources") -> None:
    """Runs a job for sources, or for folders of VASP runs (partitions "vasp"). This loads Dagster. Raises JobFailed."""
    from pipelines.running import run_job

    raise_failures(run_job(job, names, config, partitions))


def raise_failures(failures: dict[str, str]) -> None:
    """Raises JobFailed, with every source that failed. failures: why, by source."""
    if len(failures) == 1:
        raise JobFailed(printable(next(iter(failures.values()))))
    if failures:
        listed = "\n".join(f"  {source}: {problem}" for source, problem in failures.items())
        raise JobFailed(f"{len(failures)} sources failed:\n{printable(listed)}")
