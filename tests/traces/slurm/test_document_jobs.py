"""A job of JSON in the words of sacct; `test_document` compares whole records."""

from __future__ import annotations

from typing import Any

import pytest

from traces.slurm.document_jobs import DOCUMENT_COLUMNS, job_lines
from traces.slurm.fields import field_of


def words_of(job: dict[str, Any]) -> dict[str, str]:
    first, *_ = job_lines(job)
    return {name: word for name, word in zip(DOCUMENT_COLUMNS, first, strict=True) if word}


def test_columns_are_those_of_sacct() -> None:
    assert [field_of(name) for name in DOCUMENT_COLUMNS] == [name.lower() for name in DOCUMENT_COLUMNS]


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"state": {"current": ["COMPLETED", "REQUEUED"]}}, {"State": "REQUEUED"}),
        ({"time": {"limit": {"set": True, "infinite": True, "number": 0}}}, {}),
        ({"priority": {"set": True, "infinite": False, "number": 5}}, {"Priority": "5"}),
        ({"tres": {"allocated": "cpu=4,mem=1G"}}, {"AllocTRES": "cpu=4,mem=1G"}),
        ({"job_id": -1, "nodes": None, "time": "odd", "steps": "odd"}, {}),
    ],
)
def test_odd_values(job: dict[str, Any], words: dict[str, str]) -> None:
    found = words_of(job)
    never = {"Submit": "Unknown", "Eligible": "Unknown", "Start": "Unknown", "End": "Unknown", "Suspended": "00:0"}
    assert found == never | words


def test_steps_have_lines_of_their_own() -> None:
    steps = [{"step": {"id": "7.batch"}}, {"step": {"id": {"job_id": 7, "step_id": 0}}}, {}]
    assert [line[0] for line in job_lines({"job_id": 7, "steps": steps})] == ["7", "7.batch", "7.0", "7.2"]
