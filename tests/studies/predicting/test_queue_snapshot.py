"""The benchmark's snapshots: moments at which somebody waits, and numbers as squeue writes them."""

from __future__ import annotations

from models.waits.history import history_of, state_at
from studies.predicting.queue_snapshot import _number, queue_moments
from tests.models.waits.states import rows_of
from traces.slurm.queue import slurm_number


def test_moments_have_a_queue() -> None:
    history = history_of(rows_of(900), 16)
    moments = queue_moments(history, 5)
    assert 0 < len(moments) <= 5 and moments[0] >= history.submit[len(history) // 2]
    assert all(len(state_at(history, moment).waiting) for moment in moments)


def test_numbers_read_back() -> None:
    assert slurm_number(_number(90)) == 90
