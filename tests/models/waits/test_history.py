"""Who ran and who waited at a moment of a log."""

from __future__ import annotations

import polars as pl

from models.waits.history import history_of, state_at
from tests.models.waits.states import rows_of


def test_states_are_those_of_the_log() -> None:
    rows = rows_of()
    history = history_of(rows, 16)
    for moment in (history.submit[50], history.submit[200] + 7, history.latest_end[-1]):
        state = state_at(history, int(moment))
        submitted = rows.filter(pl.col("submit_s") <= moment)
        runs = submitted.filter(
            pl.col("start_s") <= moment, pl.col("start_s") + pl.col("runtime_s") > moment, pl.col("cancel_s").is_null()
        )
        waits = submitted.filter(pl.coalesce("start_s", "cancel_s") > moment)
        assert history.job_index[state.running.number].tolist() == runs["job_index"].to_list()
        assert history.job_index[state.waiting.number].tolist() == waits["job_index"].to_list()
        assert state.busy_procs == runs["procs"].sum() <= 16
