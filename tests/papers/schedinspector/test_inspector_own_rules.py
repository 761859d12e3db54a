"""SchedInspector's own protocol: which windows teach, choose and test."""

from __future__ import annotations

from papers.schedinspector.inspector import own_split


def test_later_jobs_test() -> None:
    split = own_split(10_000)
    assert (split.learn.scored.stop, split.choose.scored.start, split.judge.scored.start) == (4000, 4000, 5000)
    assert (split.learn.jobs, split.choose.jobs, split.judge.jobs) == (128, 256, 256)
    assert (len(split.choose), len(split.judge), split.trained_jobs) == (20, 100, 5000)
    assert not split.judge.continuous and split.after is None


def test_short_logs_have_shorter_windows() -> None:
    split = own_split(300)
    assert (split.learn.jobs, split.choose.jobs, split.judge.jobs) == (60, 15, 75)
