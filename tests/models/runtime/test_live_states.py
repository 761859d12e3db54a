"""Live replays that were cut anywhere go on as if they had not been: what was learned is part of their state."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

from models.runtime.live import LiveSettings, StoppableLiveReplay, replay_live
from simulator.jobs.jobs import jobs_from_log
from simulator.jobs.words import ADMIT_BY, CORRECTIONS
from tests.models.runtime.live_oracle import BACKFILLS, PROCS, random_log

RULES = list(
    product(("FCFS", "SJF", "SAF", "fairshare", "bounded-key:cap_hours=0.01"), BACKFILLS, CORRECTIONS, ADMIT_BY)
)


@pytest.mark.parametrize("statistic", ["mean", "last_two", "p80", "slowdown"])
def test_a_live_replay_goes_on_as_if_it_had_not_been_cut(statistic: str) -> None:
    cuts = 0
    for seed, (policy, backfill, correction, admit_by) in enumerate(RULES):
        log = random_log(seed, jobs=60)
        settings = LiveSettings(statistic, admit_by=admit_by, reserve_by="estimate" if seed % 3 else "requested")
        arguments = (log.jobs("requested"), log.rows(), PROCS, policy, backfill, correction, settings)
        expected = replay_live(*arguments)
        end = int((expected.schedule.start + log.runtime).max())
        first, second = StoppableLiveReplay(*arguments), StoppableLiveReplay(*arguments)
        for time in np.sort(np.random.default_rng(seed).integers(1, end, 4)).tolist():
            if first.run(until=time):
                break
            kept = first.keep()
            second.take_up(kept)
            assert second.run()
            here = np.concatenate([kept.state.queue, np.flatnonzero(log.submit >= time)])
            for column in ("start", "backfilled"):
                ours, theirs = (getattr(each.schedule, column)[here] for each in (second.outcome, expected))
                assert ours.tolist() == theirs.tolist()
            assert second.outcome.estimate[here].tolist() == expected.estimate[here].tolist()
            assert second.outcome.promised[here].tolist() == expected.promised[here].tolist()
            cuts += 1
        assert first.run()
        assert first.outcome.schedule.start.tolist() == expected.schedule.start.tolist()
    assert cuts > 150


def test_what_was_learned_is_needed() -> None:
    """A state without what was learned gives other starts: the test above could fail."""
    log = random_log(3, jobs=60)
    arguments = (log.jobs("requested"), log.rows(), PROCS, "SJF", "easy", "requested", LiveSettings("mean"))
    first, second = StoppableLiveReplay(*arguments), StoppableLiveReplay(*arguments)
    first.run(until=int(log.submit[30]))
    kept = first.keep()
    assert len(kept.ended) > 5
    second.take_up(kept._replace(ended=kept.ended[:0], heard=np.full(len(kept.heard), -1)))
    second.run()
    first.run()
    assert (second.outcome.schedule.start[30:] != first.outcome.schedule.start[30:]).any()


def test_news_before_the_cut_reach_jobs_that_wait() -> None:
    """Four processors. Ann's first job ends at 10, but no waiting job fits, so that nobody renews estimates before the cut at 30.
    Carl's job comes at 60: only then is Ann's second job (12 s now, 250 s before) shorter than Bob's, and becomes the head."""
    columns = (
        np.array([0, 0, 1, 1, 2, 60]),
        np.array([10, 100, 10, 10, 3, 5]),
        np.array([1, 2, 4, 4, 1, 1]),
        np.array([1000, 1000, 1000, 200, 10, 10]),
    )
    rows = pl.DataFrame({
        "user_name": ["ann", "bob", "ann", "bob", "dan", "carl"], "executable": ["x"] * 6, "requested_procs": columns[2],
        "requested_walltime_s": columns[3],
    })  # fmt: skip
    arguments = (jobs_from_log(*columns, "requested"), rows, 4, "SJF", "easy", "requested", LiveSettings("mean"))
    uncut, first, second = (StoppableLiveReplay(*arguments) for _ in range(3))
    assert uncut.run() and not first.run(until=30)
    second.take_up(first.keep())
    assert second.run()
    assert uncut.outcome.schedule.start.tolist() == [0, 0, 100, 110, 2, 60]
    assert uncut.outcome.promised[2] > 0
    assert second.outcome.promised[2:4].tolist() == uncut.outcome.promised[2:4].tolist()
