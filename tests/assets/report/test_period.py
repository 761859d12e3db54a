"""Reports of a period: what happened then, and how schedulers would have served these jobs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from assets.common.trace import load_trace
from assets.replay.scored_part import PartOptions
from assets.report.comparison import read_comparison
from assets.report.logged import read_logged
from assets.report.period import ReportPeriod, jobs_of_period, logged_in_period, period_of
from assets.report.render import render_report
from tests.tiny import swf_line, warehouse_of
from warehouse import Warehouse

CREATED = datetime(2026, 11, 25, tzinfo=UTC)


def of(warehouse: Warehouse, **asked: str) -> ReportPeriod:
    return period_of(warehouse, "mine", PartOptions(**asked))


def test_a_period_has_words_and_a_name_for_a_file(graded: Warehouse) -> None:
    march = of(graded, period="2026-03")
    assert march.name == "2026-03" and march.words.startswith(
        "the month 2026-03, Sun 2026-03-01 00:00 to Wed 2026-04-01 00:00"
    )
    assert of(graded, period="last-month").words.startswith("the last complete month, 2026-03")
    between = of(graded, begin="2026-02-03T12:30", end="2026-02-05")
    assert between.name == "from-2026-02-03T12-30_to-2026-02-05" and between.begin < between.end
    with pytest.raises(
        ValueError, match=r"no job was submitted in this time .*jobs were submitted from Thu 2026-01-01"
    ):
        of(graded, begin="2027-01-01", end="2027-02-01")
    with pytest.raises(ValueError, match="'gone' is not in the warehouse"):
        period_of(graded, "gone", PartOptions(period="2026-03"))


def test_what_happened_is_of_its_jobs(graded: Warehouse) -> None:
    march, rows = of(graded, period="2026-03"), load_trace(graded, "mine").rows
    inside = rows["submit_s"].is_between(march.begin, march.end, closed="left").to_numpy()
    waits = (rows["start_s"] - rows["submit_s"]).to_numpy()[inside]
    with jobs_of_period(graded, "mine", march) as part:
        logged = read_logged(part, "mine")
    assert logged.extent.jobs == inside.sum() and logged.extent.submitted.endswith("Mar 2026")
    assert logged.all_waits is not None and logged.all_waits["mean_s"] == pytest.approx(waits.mean())
    assert read_logged(graded, "mine").extent.jobs == 600  # the warehouse itself is as it was


def test_waits_are_of_its_jobs_and_verdicts_of_all(graded: Warehouse) -> None:
    march, whole = of(graded, period="2026-03"), read_comparison(graded, "mine")
    compared = read_comparison(graded, "mine", march)
    rows = load_trace(graded, "mine").rows[360:]
    inside = rows["submit_s"].is_between(march.begin, march.end, closed="left").to_numpy()
    waits = (rows["start_s"] - rows["submit_s"]).to_numpy()[inside]
    assert 0 < inside.sum() < 240 and compared.logged is not None
    assert compared.logged.mean_s == pytest.approx(waits.mean()) and compared.logged.longest_s == np.max(waits)
    assert {row.jobs for row in (compared.logged, *compared.tried)} == {inside.sum()} == {compared.scored}
    verdicts = [{row.name: (row.verdict, row.rank) for row in each.tried} for each in (compared, whole)]
    shared = verdicts[0].keys() & verdicts[1].keys()
    assert len(shared) >= 3 and all(verdicts[0][name][0] == verdicts[1][name][0] for name in shared)
    page = render_report(graded, "mine", CREATED, march)
    assert (
        "mine, 2026-03</h1>" in page
        and "Jobs submitted in the month 2026-03, Sun 2026-03-01" in page
        and f"The rows are about {inside.sum()} jobs of this time" in page
    )
    assert "Verdicts are of all jobs that no training has seen" in page
    assert "The verdict is of all evaluated jobs, not of this time alone." in page


def test_a_time_before_the_evaluated_jobs_has_no_comparison(graded: Warehouse) -> None:
    january = of(graded, period="2026-01")
    compared = read_comparison(graded, "mine", january)
    assert compared.why_none is not None and compared.baseline is None
    assert "none of them is of this time. `tracehouse what-if FILE --source mine --period PERIOD`" in compared.why_none
    assert "What happened" in render_report(graded, "mine", CREATED, january)


def test_jobs_of_before_still_run_and_wait(tmp_path: Path) -> None:
    """A cluster that is always full: so it is in each period, too, though most of its jobs began earlier."""
    lines = [swf_line(k, 21_600 * (k - 1), 0, 86_400, 1, 86_400) for k in range(1, 401)]  # four at a time
    warehouse = warehouse_of(tmp_path, "; UnixStartTime: 1767225600\n; MaxProcs: 4\n" + "".join(lines))
    week = period_of(warehouse, "mine", PartOptions(period="last-7-days"))
    logged = logged_in_period(warehouse, "mine", week)
    assert logged.extent.jobs == 28 and logged.utilisation == pytest.approx(1.0, abs=0.02)
    page = render_report(warehouse, "mine", CREATED, week)
    assert "This time has 28 jobs" in page and "begins to have all jobs" not in page
    first = period_of(warehouse, "mine", PartOptions(end="2026-01-08"))
    assert logged_in_period(warehouse, "mine", first).utilisation == pytest.approx(1.0, abs=0.1)
