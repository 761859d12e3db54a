"""Names of sacct's columns, and what is between them."""

from __future__ import annotations

import pytest

from traces.slurm.fields import SACCT_FIELDS, delimiter_of, field_of


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("JOBID", "jobid"),
        ("time", "timelimit"),
        ("N", "ncpus"),
        ("reqc", "reqcpufreq"),
        ("start", "start"),
        ("", None),
        ("jobs", None),
    ],
)
def test_a_name_stands_for_the_first_field_that_begins_with_it(name: str, field: str | None) -> None:
    assert field_of(name) == field


def test_a_whole_name_is_that_field() -> None:
    assert [field_of(name) for name in SACCT_FIELDS] == list(SACCT_FIELDS)
    assert len(set(SACCT_FIELDS)) == len(SACCT_FIELDS)


@pytest.mark.parametrize(
    "text", ["JobID SubmitTime WaitTime", "jobID,workload_name,submission_time,success", "a;jobid;b;c"]
)
def test_other_tables_with_a_jobid_are_no_sacct(text: str) -> None:
    assert not delimiter_of(text)
