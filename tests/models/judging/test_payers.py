"""Who pays: counts of jobs, users and classes, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from models.judging.payers import paid_by


def test_jobs_users_and_the_worst_class_are_counted() -> None:
    """Two users with enough jobs and one with too few, serial jobs that lose and wide ones that gain."""
    user = np.repeat([0, 1, 2], [60, 60, 5])
    procs = np.repeat([1, 40, 40], [60, 60, 5])
    runtime = np.full(125, 9 * 3600)
    theirs = np.full(125, 10_000)
    ours = np.concatenate([np.full(60, 15_000), np.full(60, 5_000), np.full(5, 50_000)])
    paid = paid_by(np.stack([ours, theirs]), user, procs, runtime, 100)
    assert (paid.later, paid.earlier) == (65 / 125, 60 / 125)
    assert (paid.users, paid.users_worse, paid.users_better) == (2, 1, 1)
    assert (paid.worst_class, paid.worst_jobs) == ("serial, over 8 h", 60)
    assert paid.worst_ratio == pytest.approx(15_060 / 10_060)
    assert "52.0% of the jobs start over an hour later, 48.0% earlier; of 2 users 1 wait longer, 1 less" in str(paid)


def test_a_user_whose_wait_hardly_changes_neither_pays_nor_gains() -> None:
    waits = np.stack([np.full(40, 130), np.full(40, 100)])
    paid = paid_by(waits, np.zeros(40, np.int64), np.ones(40, np.int64), np.full(40, 60), 100)
    assert (paid.users, paid.users_worse, paid.worst_class) == (1, 0, "")
