"""Advice on the wall time to request: the rank of the bound, whom it looks at, and what it would have killed."""

from __future__ import annotations

import numpy as np
import pytest

from models.waits.walltime_advice import MARGIN, EndedJobs, advise, bound, try_on_history


def jobs_of(runtime: np.ndarray, gap: int = 100_000, executable: int = -1, procs: int = 1) -> EndedJobs:
    """EndedJobs of user 0, one after the other, each of which requests a day."""
    submit = np.arange(len(runtime)) * gap
    same = np.zeros(len(runtime), dtype=np.int64)
    return EndedJobs(submit, submit + runtime, runtime, same + procs, same + 86_400, same, same + executable)


def test_rank_of_the_bound_in_whole_minutes() -> None:
    runtimes = np.arange(1, 40) * 60
    assert bound(runtimes, 0.05) == 38 * 60  # of 39, the ceil(40 * 0.95)-th
    assert bound(runtimes - 1, 0.05) == 38 * 60
    assert bound(runtimes[:19], 0.05) == 19 * 60
    assert bound(runtimes[:18], 0.05) is None


@pytest.mark.parametrize("risk", [0.05, 0.2])
def test_exchangeable_jobs_are_killed_as_often_as_asked(risk: float) -> None:
    runtime = np.ceil(np.random.default_rng(1).lognormal(8, 1, 2500)).clip(max=90_000).astype(np.int64)
    for adapt in (False, True):
        found = try_on_history(jobs_of(runtime), 0, 10**12, risk, False, False, adapt)
        assert found is not None and abs(found.killed - MARGIN * risk) < 0.015
        assert found.requested_share is not None and found.requested_share < 1


def test_advice_looks_at_the_most_alike_jobs_that_ended() -> None:
    short, long = np.full(40, 600), np.full(40, 7200)
    parts = [jobs_of(short, executable=1, procs=4), jobs_of(long, executable=2, procs=4)]
    names = EndedJobs.__dataclass_fields__
    jobs = EndedJobs(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    found = advise(jobs, 0, 4, 1, 10**9, 0.05)
    assert found is not None and (found.walltime_s, found.group, found.jobs) == (
        600, "user, executable and processors", 40
    )  # fmt: skip
    found = advise(jobs, 0, 8, 2, 10**9, 0.05)
    assert found is not None and (found.walltime_s, found.group) == (7200, "user and executable")
    found = advise(jobs, 0, 8, None, 10**9, 0.05)
    assert found is not None and (found.walltime_s, found.group, found.jobs) == (7200, "user", 80)
    assert advise(jobs, 0, None, None, 700_000, 0.05) is None  # 7 of either had ended
    assert advise(jobs, 1, None, None, 10**9, 0.05) is None


def test_jobs_that_grow_are_killed_no_more_often_than_asked() -> None:
    """Every job runs longer than all before it, so that only their request saves them."""
    runtime = np.full(600, 600) + np.arange(600) * 60
    found = try_on_history(jobs_of(runtime), 0, 10**9, 0.05, False, False)
    assert found is not None and 0.02 < found.killed <= 0.05 and found.aimed_risk < 0.05
    uncorrected = try_on_history(jobs_of(runtime), 0, 10**9, 0.05, False, False, adapt=False)
    assert uncorrected is not None and uncorrected.killed > 0.9


def test_jobs_at_their_limit_are_told() -> None:
    jobs = jobs_of(np.concatenate([np.full(30, 600), np.full(10, 86_390)]))
    found = advise(jobs, 0, None, None, 10**9, 0.05)
    assert found is not None and found.at_limit == 10 and found.walltime_s == 86_400
