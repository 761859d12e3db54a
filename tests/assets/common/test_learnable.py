"""Whether anything can be learned from a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.learnable import LEAST_JOBS, nothing_to_learn
from tests.tiny import swf_line, warehouse_of


@pytest.mark.parametrize(
    ("jobs", "runtime_s", "says"),
    [
        (LEAST_JOBS - 1, 60, "299 jobs with a known run time are too few to learn from, at least 300 are needed"),
        (LEAST_JOBS, 90_000, "no job had ended when half of its 300 jobs had been submitted"),
        (LEAST_JOBS, 60, None),
    ],
)
def test_there_must_be_jobs_that_have_ended_in_time(
    jobs: int, runtime_s: int, says: str | None, tmp_path: Path
) -> None:
    log = "".join(swf_line(number, 60 * number, 0, runtime_s, 1, 100_000) for number in range(jobs))
    warehouse = warehouse_of(tmp_path, log)
    why = nothing_to_learn(warehouse, "mine", LEAST_JOBS)
    assert (why is None) if says is None else (why is not None and says in why)
    assert nothing_to_learn(warehouse, "mine", 1) is None, "what needs no model goes on"


def test_without_starts_a_job_counts_from_its_submission(tmp_path: Path) -> None:
    log = "".join(swf_line(number, 60 * number, -1, 60, 1, 600) for number in range(LEAST_JOBS))
    assert nothing_to_learn(warehouse_of(tmp_path, log), "mine", LEAST_JOBS) is None
