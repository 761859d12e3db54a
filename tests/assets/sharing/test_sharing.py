"""Tests of assets/sharing: formats, metrics_text."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assets.sharing.formats import format_of
from assets.sharing.metrics_text import Gauge, exposition_text, metrics_text
from tests.assets.sharing.exposition import Samples, read_exposition
from tests.tiny import SOURCE, Home, busy_log, in_queues, swf_line, warehouse_of
from warehouse import Warehouse

# formats: The name of a file tells its format.


@pytest.mark.parametrize(
    ("name", "file_format"),
    [("a.swf", "swf"), ("a.SWF.GZ", "swf"), ("a.b.parquet", "parquet"), ("a.csv", "evalys")],
)
def test_names_tell_formats(name: str, file_format: str) -> None:
    assert format_of(Path(name)) == file_format


def test_other_names_tell_none() -> None:
    for name in ("a.json", "a.csv.gz", "parquet", "swf"):
        with pytest.raises(ValueError, match=r"its name tells no format: let it end in \.swf"):
            format_of(Path(name))


# metrics_text: Results for Prometheus: the format, and the values beside the tables that they come from.


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"tracehouse_{name}", frozenset(labels.items())]


def test_labels_and_meanings_are_escaped() -> None:
    odd = 'a "b"\\c\nd'
    text = exposition_text(
        [Gauge("tracehouse_x", "one\\two\nthree", [({"source": odd, "queue": "ü,{}"}, 1.5)]), Gauge("y", "none", [])]
    )
    assert text.splitlines()[0] == r"# HELP tracehouse_x one\\two\nthree"
    assert read_exposition(text) == {("tracehouse_x", frozenset({("source", odd), ("queue", "ü,{}")})): 1.5}
    assert "y" not in text.split()


def test_waits_of_the_last_complete_month_by_hand(tmp_path: Path) -> None:
    """Four jobs in January, of which one waits two hours, and one in February, which is not over."""
    log = "; UnixStartTime: 1767225600\n; TimeZoneString: UTC\n; MaxProcs: 4\n"
    for number, wait in enumerate((0, 60, 3600, 7200)):
        log += swf_line(number + 1, 86_400 * number, wait, 43_200, 2)
    warehouse = warehouse_of(tmp_path, log + swf_line(5, 86_400 * 40, 9999, 10, 4) + "1 2\n")
    samples = read_exposition(metrics_text(warehouse, []))
    assert value(samples, "month_start_timestamp_seconds", source="mine") == 1767225600
    assert (
        value(samples, "month_jobs", source="mine") == value(samples, "queue_month_jobs", source="mine", queue="1") == 4
    )
    assert value(samples, "month_wait_mean_seconds", source="mine") == (60 + 3600 + 7200) / 4
    assert value(samples, "month_wait_median_seconds", source="mine") == 1830
    assert value(samples, "month_wait_p95_seconds", source="mine") == pytest.approx(3600 + 0.85 * 3600)
    assert value(samples, "month_started_within_1h_ratio", source="mine") == 0.75
    assert value(samples, "month_covered_ratio", source="mine") == 1
    assert value(samples, "rejected_lines", source="mine") == 1 and value(samples, "jobs", source="mine") == 5
    assert value(samples, "newest_submission_timestamp_seconds", source="mine") == 1767225600 + 40 * 86_400
    assert not any("model" in name or "grade" in name for name, _ in samples)


def test_grades_are_numbers(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(20))
    for grade, number in {"A": 1, "B": 2, "C": 3, "D": 4}.items():
        with warehouse.write() as connection:
            connection.execute("DELETE FROM replay.fidelity")
            for part, given in (("all", grade), ("size", "D")):
                connection.execute(
                    "INSERT INTO replay.fidelity (source, part, value, jobs, grade) VALUES ('mine', ?, '', 20, ?)",
                    [part, given],
                )
        assert value(read_exposition(metrics_text(warehouse, [])), "fidelity_grade", source="mine") == number


def test_a_log_without_dates_has_no_month(tmp_path: Path) -> None:
    log = "".join(line for line in busy_log(50).splitlines(keepends=True) if "UnixStartTime" not in line)
    samples = read_exposition(metrics_text(warehouse_of(tmp_path, log), ["mine"]))
    assert value(samples, "jobs", source="mine") == 50
    assert not any("month" in name or "newest" in name for name, _ in samples)


def test_odd_queues_stay_apart(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, in_queues(busy_log(100)))
    with warehouse.write() as connection:
        connection.execute("""UPDATE core.jobs SET queue = 'lo"ng\\' || chr(10) WHERE queue = '7'""")
    samples = read_exposition(metrics_text(warehouse, []))
    queues = [dict(labels)["queue"] for name, labels in samples if name == "tracehouse_queue_month_jobs"]
    assert sorted(queues) == ["1", "2", 'lo"ng\\\n']


def test_a_source_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'other' is not in the warehouse yet"):
        metrics_text(warehouse_of(tmp_path, busy_log(10)), ["mine", "other"])


def test_values_are_those_of_the_tables(finished: Home) -> None:
    samples = read_exposition(metrics_text(Warehouse(finished.database), [SOURCE]))
    with Warehouse(finished.database).read() as connection:

        def one(query: str) -> float:
            return pl.DataFrame(connection.sql(query).pl()).item()

        # the log is of one month
        assert value(samples, "month_jobs", source=SOURCE) == one("SELECT sum(jobs) FROM marts.waits_by_queue")
        assert value(samples, "runtime_model_error_seconds", source=SOURCE) == one(
            "SELECT mean_absolute_error_s FROM predictions.champions"
        )
        assert value(samples, "runtime_model_drift_ratio", source=SOURCE) == one(
            "SELECT value FROM predictions.model_drift WHERE measure = 'error'"
        )
        grade = one("SELECT coalesce(any_value(grade), '') FROM replay.fidelity WHERE part = 'all'")
        assert samples.get(("tracehouse_fidelity_grade", frozenset({("source", SOURCE)}))) == (
            "ABCD".index(str(grade)) + 1 if grade else None
        )
        begin = value(samples, "month_start_timestamp_seconds", source=SOURCE)
        assert value(samples, "month_utilisation_ratio", source=SOURCE) == pytest.approx(
            one(
                "SELECT avg(mean_procs) / 64 FROM core.capacity "
                f"WHERE epoch(date_trunc('month', day)) = {begin} AND source = '{SOURCE}'"
            )
        )
