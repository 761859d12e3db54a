"""The predicted wait of one job: new ones, and ones that wait already."""

from __future__ import annotations

import numpy as np
import pytest

from models.waits.answers import QueueReplays, new_job_wait, queued_job_wait
from models.waits.history import History, history_of, state_at
from models.waits.neighbours import LEAST_NEIGHBOURS
from tests.models.waits.states import rows_of

REPLAYS = QueueReplays(samples=20, seed=1, policy="FCFS", backfill="easy")


@pytest.fixture(scope="module")
def history() -> History:
    return history_of(rows_of(), 16)


def busy_moment(history: History) -> int:
    """A moment late in the log at which at least five jobs wait."""
    moments = history.submit[150:].tolist()
    return next(moment for moment in moments if len(state_at(history, moment).waiting) >= 5)


def test_a_new_job_is_corrected_by_past_jobs(history: History) -> None:
    moment = busy_moment(history)
    answer = new_job_wait(history, moment, 4, 7200, 2, REPLAYS)
    assert answer.told_by == "calibrated" and answer.neighbours >= LEAST_NEIGHBOURS and answer.waited_s == 0
    assert (np.diff(answer.quantiles) >= 0).all() and (np.diff(answer.replayed) >= 0).all()
    assert answer.state.waiting.number[-1] == -1  # the new job is the last that waits
    assert answer.mean_s > 0 and answer.mean_s != answer.similar_mean_s
    again = new_job_wait(history, moment, 4, 7200, 2, REPLAYS)
    assert (again.quantiles == answer.quantiles).all() and (again.replayed == answer.replayed).all()


def test_early_in_a_log_the_replays_speak(history: History) -> None:
    answer = new_job_wait(history, int(history.submit[2]), 4, 7200, -1, REPLAYS)
    assert answer.told_by == "replay" and (answer.quantiles == answer.replayed).all()


def test_a_job_that_never_fits(history: History) -> None:
    with pytest.raises(ValueError, match="17 processors can never start on a cluster of 16: ask for fewer"):
        new_job_wait(history, int(history.submit[100]), 17, 7200, -1, REPLAYS)


def test_a_job_that_waits_has_waited(history: History) -> None:
    moment = busy_moment(history)
    number = int(state_at(history, moment).waiting.number[0])
    answer = queued_job_wait(history, moment, number, REPLAYS)
    assert answer.waited_s == moment - history.submit[number]
    assert answer.mean_s > answer.waited_s
    assert (answer.replayed >= answer.waited_s).all() and (answer.quantiles >= answer.waited_s).all()
