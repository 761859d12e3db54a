"""A queue at one moment: sums and pseudonyms."""

from __future__ import annotations

from traces.common.pseudonyms import pseudonym_of
from traces.common.queue import HELD, WAITING, QueueJob, QueueJobFault, snapshot_of, whole_seconds

JOB = QueueJob("1", WAITING, "", 3, 4, 60, 100, None, user_name="ada", group_name=None, job_name="solve")
KEPT = QueueJob("2", HELD, "held", 2, 4, 60, 100, None)


def test_what_was_read_is_the_sum_of_what_became_of_it() -> None:
    snapshot = snapshot_of("q.json", None, [JOB, KEPT, None, QueueJobFault("job 9: expected more", 5)])
    assert snapshot.read == 3 + 2 + 1 + 5 and snapshot.count(HELD) == 2
    assert snapshot.faults == (("q.json: job 9: expected more", 5),)


def test_names_become_the_pseudonyms_of_the_log() -> None:
    key = b"k" * 32
    (job,) = snapshot_of("q.json", None, [JOB]).with_pseudonyms(("user", "group"), key).jobs
    assert (job.user_name, job.group_name, job.job_name) == (pseudonym_of(key, "user", "ada"), None, "solve")


def test_numbers_that_are_no_seconds() -> None:
    assert [whole_seconds(value) for value in (5, 5.9, 0, -1, True, "5", None, 1e12)] == [5, 5, *[None] * 6]
