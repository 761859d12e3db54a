"""The jobs of a replay: at another load, without queues, with rounded requests."""

from __future__ import annotations

import polars as pl
import pytest

from assets.common.trace import Trace, load_trace
from assets.replay.changes.jobs_of_replay import changed_rows, queues_of
from assets.replay.replayers import check_settings, choose_policy
from assets.replay.run import replay_run
from assets.replay.settings import RunSettings, check_saved_settings
from tests.tiny import busy_log, in_queues, warehouse_of


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """120 jobs, by turns of the queues 1 and 2, every tenth of 7."""
    warehouse = warehouse_of(tmp_path_factory.mktemp("queues"), in_queues(busy_log(120)))
    return load_trace(warehouse, "mine", labels=["queue"])


def settings(**values: object) -> RunSettings:
    return check_settings(RunSettings(**values))  # type: ignore[arg-type]


def test_without_changes_the_rows_are_those_of_the_log(trace: Trace) -> None:
    assert changed_rows(trace, settings()).equals(trace.rows)


def test_jobs_of_a_queue_are_left_out(trace: Trace) -> None:
    assert queues_of(trace.rows)[-1] == "7"
    rows = changed_rows(trace, settings(without_queue=["7"]))
    assert rows.height == 108 and set(rows["queue"]) == {"1", "2"}
    assert changed_rows(trace, settings(without_queue=["7", "1"]))["queue"].unique().to_list() == ["2"]
    run = replay_run(trace, settings(without_queue=["7"]), choose_policy(settings(), None, "mine"))
    assert (run.counts["jobs"], run.counts["jobs_of_queues_left_out"]) == (108, 12)


def test_a_job_without_a_queue_stays(trace: Trace) -> None:
    some = pl.when(pl.col("job_index") > 9).then("queue")
    from_first = changed_rows(_with(trace, trace.rows.with_columns(queue=some)), settings(without_queue=["7"]))
    assert from_first["queue"].null_count() == 10


def test_queues_that_are_none(trace: Trace) -> None:
    with pytest.raises(ValueError, match=r"without_queue 'long': mine has no job of this queue: the queues are .*, 7$"):
        changed_rows(trace, settings(without_queue=["long"]))
    with pytest.raises(ValueError, match="no job of mine is left"):
        changed_rows(trace, settings(without_queue=["1", "2", "7"]))
    nowhere = _with(trace, trace.rows.with_columns(queue=pl.lit(None, pl.Utf8)))
    with pytest.raises(ValueError, match="its jobs have no queue"):
        changed_rows(nowhere, settings(without_queue=["1"]))


def test_requests_are_rounded_up(trace: Trace) -> None:
    logged = trace.rows["requested_walltime_s"].to_list()
    rounded = changed_rows(trace, settings(round_walltimes="4h"))["requested_walltime_s"].to_list()
    assert rounded == [-(-request // 14_400) * 14_400 for request in logged] != logged
    both = changed_rows(trace, settings(walltime_factor=1.5, round_walltimes="4h"))["requested_walltime_s"].to_list()
    assert both == [-(-round(1.5 * request) // 14_400) * 14_400 for request in logged] != rounded
    none = _with(trace, trace.rows.with_columns(requested_walltime_s=pl.lit(-1, pl.Int64)))
    changed = changed_rows(none, settings(walltime_factor=2.0, round_walltimes="4h"))
    assert set(changed["requested_walltime_s"]) == {-1}
    for text in ("x", "0"):
        with pytest.raises(ValueError, match=f"round_walltimes {text!r}"):
            settings(round_walltimes=text)


def test_a_period_is_one_of_the_log_under_another_load(trace: Trace) -> None:
    run = replay_run(trace, settings(load=2.0), choose_policy(settings(), None, "mine"))
    assert run.rows["submit_s"].to_list() != run.logged_rows["submit_s"].to_list() == trace.rows["submit_s"].to_list()


def test_such_runs_are_not_saved() -> None:
    for values in ({"without_queue": ["7"]}, {"round_walltimes": "4h"}, {"walltime_factor": 2.0}):
        with pytest.raises(ValueError, match="are not saved, since a saved run does not record these"):
            check_saved_settings(settings(**values))


def _with(trace: Trace, rows: pl.DataFrame) -> Trace:
    return Trace(**{name: getattr(trace, name) for name in Trace.__dataclass_fields__} | {"rows": rows})
