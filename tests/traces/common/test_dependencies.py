"""Tests of traces/common: arrays, dependencies."""

from __future__ import annotations

import polars as pl
import pytest

from traces.common.arrays import arrays_of_jobs
from traces.common.dependencies import MOST_NAMED_JOBS, Named, named_jobs


def named(*jobs: tuple[str, str | None], submit: list[int] | None = None) -> dict[int, Named]:
    """jobs: ids and dependencies."""
    columns = {"job_id": [job for job, _ in jobs], "dependency": [waits for _, waits in jobs]}
    rows = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Utf8))
    return named_jobs(
        rows.with_columns(
            submit_s=pl.Series(submit or range(len(jobs))), user_name=pl.lit("ann"), executable=pl.lit("run")
        )
    )


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        ("afterok:1", (("afterok", 0),)),
        ("after:1:2,afterany:3_7", (("after", 0), ("after", 1), ("afterany", 3))),
        ("afternotok:3", (("afternotok", 2), ("afternotok", 3))),  # an array stands for its tasks
        ("afterok:1.pbs@pbs", (("afterok", 0),)),
        ("afterany:4[].pbs@pbs", (("afterany", 4),)),
        ("afterany:4[2].pbs@pbs", (("afterany", 4),)),
        ("singleton", tuple(("afterany", k) for k in range(5))),
        ("afterok:1,singleton", (("afterok", 0), *(("afterany", k) for k in range(5)))),
        ("afterok:9", None),  # not in the log
        ("afterok:1:9", None),
        ("afterok:1?afterok:2", None),  # any of them
        ("after:1+5", None),  # minutes after its start
        ("on:2", None),
        ("expand:1", None),
        ("afterok", None),
        ("afterok:8", None),  # itself
        (None, None),
    ],
)
def test_jobs_that_a_job_names(waits: str | None, expected: Named | None) -> None:
    jobs = (("1.pbs", None), ("2", None), ("3_6", None), ("3_7", None), ("4[2].pbs", None), ("8", waits))
    assert named(*jobs, submit=[0, 1, 2, 2, 4, 5]) == ({} if expected is None else {5: expected})


def test_an_id_is_of_the_last_job_that_had_it() -> None:
    jobs = (("1", None), ("2_0", None), ("2_1", None), ("1", None), ("2_0", None), ("3", "afterok:1:2"), ("1", None))
    assert named(*jobs, submit=[0, 1, 1, 5, 6, 7, 9]) == {5: (("afterok", 3), ("afterok", 4))}


def test_tasks_wait_for_the_task_of_their_number() -> None:
    jobs = (("1_0", None), ("1_1", None), ("2_0", "aftercorr:1"), ("2_1", "aftercorr:1"))
    assert named(*jobs) == {2: (("aftercorr", 0),), 3: (("aftercorr", 1),)}


def test_a_singleton_waits_for_those_since_the_last_one() -> None:
    jobs = (("1", "singleton"), ("2", None), ("3", "singleton"), ("4", None), ("5", "singleton"))
    assert named(*jobs) == {2: (("afterany", 0), ("afterany", 1)), 4: (("afterany", 2), ("afterany", 3))}


def test_who_names_too_many_names_none() -> None:
    tasks = [(f"1_{k}", None) for k in range(MOST_NAMED_JOBS + 1)]
    waits, submit = ("2", "afterok:1"), [0] * (MOST_NAMED_JOBS + 2)
    assert len(named(*tasks[1:], waits, submit=submit[1:])[MOST_NAMED_JOBS]) == MOST_NAMED_JOBS
    assert not named(*tasks, waits, submit=submit)


def test_tasks_of_one_id_and_submission_are_an_array() -> None:
    ids = ["1", "2_1", "2_[2]", "2_1", "3[1].pbs", "3[2].pbs", "4.pbs", "5[].pbs", None]
    rows = pl.DataFrame({"job_id": ids, "submit_s": [0, 5, 5, 900, 7, 7, 7, 8, 9]})
    assert arrays_of_jobs(rows).tolist() == [-1, 1, 1, 2, 3, 3, -1, -1, -1]
    assert arrays_of_jobs(rows[:1]).tolist() == [-1]
