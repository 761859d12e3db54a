"""Local times in the hour that a clock shows twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.slurm.slurm_lines import document, job_line, one_job, unix

TWICE = [
    # clocks were put back from 3 to 2 o'clock on 27 October; 02:30 was at 00:30 and at 01:30 in UTC
    ("01:00:00", "01:30:00", "02:30:00", "01:00:00", "23:00:00", "23:30:00", "00:30:00"),
    ("01:00:00", "01:30:00", "02:30:00", "02:00:00", "23:00:00", "23:30:00", "01:30:00"),
    ("01:00:00", "02:30:00", "03:30:00", "02:00:00", "23:00:00", "00:30:00", "02:30:00"),
    ("01:00:00", "02:30:00", "03:30:00", "01:00:00", "23:00:00", "01:30:00", "02:30:00"),
    ("02:50:00", "02:10:00", "02:20:00", "00:10:00", "00:50:00", "01:10:00", "01:20:00"),  # rejected before
    ("02:10:00", "02:50:00", "02:20:00", "00:30:00", "00:10:00", "00:50:00", "01:20:00"),
]
"""Local Submit, Start, End, and Elapsed; and the three times in UTC."""


@pytest.mark.parametrize("times", TWICE)
def test_elapsed_says_which_of_two_hours_it_was(tmp_path: Path, times: tuple[str, ...]) -> None:
    submit, start, end, elapsed, *utc = times
    local = {"Submit": submit, "Eligible": submit, "Start": start, "End": end}
    line = job_line(**{name: f"2024-10-27T{time}" for name, time in local.items()}, Elapsed=elapsed)
    record = one_job(tmp_path, document(line), time_zone="Europe/Berlin")
    days = ["2024-10-26" if time.startswith("23") else "2024-10-27" for time in utc]
    expected = [unix(f"{day}T{time}") for day, time in zip(days, utc, strict=True)]
    assert [record[f"{name}_s"] for name in ("submit", "start", "end")] == expected
    assert record["eligible_s"] == expected[0]
