"""Tests of assets/usage: habits. The logs are counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.usage.habits import habits, habits_of, jobs_that_follow, sessions_and_batches
from simulator.jobs.followers import NO_JOB
from tests.tiny import swf_line, warehouse_of

MONDAY_HALF_PAST_FIVE = 1767587400
"""In Berlin."""
MINUTES = [
    ("ann", 0, 10), ("ben", 0, None), ("ann", 1, 30), ("ann", 12, 13), ("ann", 14, 200), ("ben", 19, None), ("ben", 40, None),
    ("ann", 45, 46), ("ann", 120, 121), (None, 121, 122),
]  # fmt: skip
"""Users, submissions and ends."""


def log() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "submit_s": [MONDAY_HALF_PAST_FIVE + 60 * submit for _, submit, _ in MINUTES],
            "end_s": [-1 if end is None else MONDAY_HALF_PAST_FIVE + 60 * end for *_, end in MINUTES],
            "user": [user for user, *_ in MINUTES],
            "account": None,
            "executable": None,
            "dependency": None,
            "job_id": [str(job) for job in range(len(MINUTES))],
            "core_hours": [1.0 if user == "ann" else 5.0 for user, *_ in MINUTES],
            "gave_up_s": [None] * len(MINUTES),
        }
    )


def test_users_wait_for_whole_arrays() -> None:
    """The last task ends in second 3000. Before that Ann's job of second 1100 follows none, and the next one comes 100 s after it. Ben's
    task has not left, so nobody follows his array. Cat's job names hers."""
    jobs = [
        *(("1_1", "ann", 0, 1_000, None), ("1_2", "ann", 0, 3_000, None), ("2", "ann", 1_100, 1_200, None)),
        *(
            ("3[1].pbs", "ben", 1_300, 1_400, None),
            ("3[2].pbs", "ben", 1_300, None, None),
            ("4.pbs", "ben", 1_500, 1_600, None),
        ),
        *(("5", "cat", 1_600, 1_700, None), ("6", "ann", 3_100, 3_200, None), ("7", "cat", 9_000, 9_100, "afterok:5")),
    ]
    columns = list(zip(*jobs, strict=True))
    rows = pl.DataFrame(
        dict(zip(("job_id", "user", "submit_s", "end_s", "dependency"), columns, strict=True))
    ).with_columns(pl.col("end_s").fill_null(-1), account=None, executable=None, core_hours=1.0, gave_up_s=None)
    followed, _ = jobs_that_follow(rows)
    assert followed["follows"].to_list() == [None] * 7 + [1, 6]
    assert followed["think_s"].to_list()[7:] == [100, 7_300]
    found = habits_of(rows, None)
    assert (found.depending, found.by_name, found.following, found.think_s[2]) == (1, 1, 2, 100)
    named = rows.with_columns(
        pl.col("dependency").fill_null(pl.when(pl.col("job_id") == "6").then(pl.lit("afterok:1_1")))
    )
    assert jobs_that_follow(named)[0]["is_by_name"].to_list()[7:] == [True, True], "who names a task follows its array"


def test_who_follows_how_soon_and_in_which_sessions() -> None:
    """Ann's jobs of minutes 12, 14 and 45 follow those that ended in minutes 10, 13 and 30. The last of them waited for none of its batch,
    which began in minute 14, and her job of minute 120 comes too late. Ben comes again after 19 minutes, and then after 21."""
    found = habits_of(log(), "Europe/Berlin")
    assert (found.jobs, found.unnamed, found.following) == (9, 1, 3)
    assert found.think_s == pytest.approx([72, 90, 120, 510, 744])  # of 60, 120 and 900
    assert found.soon == pytest.approx([1 / 9, 2 / 9, 3 / 9])
    assert (found.sessions, found.batches) == (4, 6)
    by_user = found.by_user.rows()
    assert by_user == [
        ("ben", "user", 3, 15.0, 0, 0.0, None, 2, 2, 0, None),
        ("ann", "user", 6, 6.0, 3, 0.5, 120.0, 2, 4, 0, None),
    ]
    assert found.lines == {"user": 2, "account": 0, "executable": 0} and found.longest_think_s == 1200
    assert (found.gave_up, found.gave_up_s) == (0, ())


def test_who_cancels_jobs_that_still_wait(tmp_path: Path) -> None:
    """Of five jobs of user 1, two are cancelled while they wait, after 100 s and 300 s. One is cancelled when it runs, and one fails."""
    jobs = [(100, 0, 5), (300, 0, 5), (50, 20, 5), (50, 0, 0), (10, 500, 1)]
    lines = [swf_line(k, 600 * k, wait, ran, 1, 600, status=status) for k, (wait, ran, status) in enumerate(jobs)]
    lines.append(swf_line(9, 9_000, 0, 100, 1, 200, user=2))
    found = habits(warehouse_of(tmp_path, "".join(lines)), "mine")
    assert found.gave_up == 2 and found.gave_up_s == (150, 200, 250)
    assert found.by_user.select("gave_up", "median_gave_up_s").rows() == [(2, 200.0), (0, None)]


def test_hours_and_days_are_those_of_the_cluster() -> None:
    """Six jobs come before six in the morning, of which two follow others."""
    found = habits_of(log(), "Europe/Berlin")
    assert found.by_hour is not None and found.by_day is not None
    assert found.by_hour["jobs"].to_list()[5:8] == [6, 2, 1] and found.by_hour["following"].to_list()[5:8] == [2, 1, 0]
    assert found.by_day["jobs"].to_list() == [9, 0, 0, 0, 0, 0, 0] and found.by_day["share"].sum() == 1
    assert found.night_share == pytest.approx(6 / 9) and found.night_share_following == pytest.approx(2 / 3)
    pacific = habits_of(log(), "America/Los_Angeles")
    assert pacific.by_day is not None and pacific.by_day["jobs"].to_list()[6] == 9  # it is Sunday evening there
    assert habits_of(log(), None).by_hour is None and habits_of(log(), None).night_share is None


def test_a_batch_ends_where_a_job_waits_for_one_of_it() -> None:
    """Three jobs come together, two after the first one has ended, and one after one of these two."""
    submit = np.array([0, 1, 2, 50, 60, 90])
    after = np.array([NO_JOB, NO_JOB, NO_JOB, 0, 0, 3])
    runs = sessions_and_batches(submit, np.zeros(6, dtype=np.int64), after)
    assert runs.session.tolist() == [0] * 6 and runs.batch.tolist() == [0, 0, 0, 1, 1, 2]


def test_a_session_may_begin_while_jobs_of_the_last_one_run() -> None:
    """The second job follows nobody and comes late, so that what the third one follows is of the session before."""
    runs = sessions_and_batches(np.array([0, 5_000, 5_100]), np.zeros(3, dtype=np.int64), np.array([NO_JOB, NO_JOB, 0]))
    assert runs.session.tolist() == [0, 1, 1] and runs.batch.tolist() == [0, 1, 1]


def test_a_log_without_users_or_dates(tmp_path: Path) -> None:
    lines = [swf_line(k, 600 * k, 0, 100, 1, 200, user=user) for user in (-1,) for k in range(4)]
    found = habits(warehouse_of(tmp_path, "".join(lines)), "mine")
    assert (found.jobs, found.unnamed, found.sessions, found.by_user.height) == (0, 4, 0, 0)
    assert found.think_s == found.soon == () and found.by_hour is None and found.time_zone is None
    with pytest.raises(ValueError, match="load it with `tracehouse run"):
        habits(warehouse_of(tmp_path / "other", "".join(lines)), "yours")
