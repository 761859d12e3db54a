"""The report of a source, from the warehouse of a finished run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assets.report.render import render_report
from tests.assets.report.conftest import CREATED
from tests.assets.report.test_page import assert_asks_no_host
from tests.pipelines.command_line import use_home
from tests.tiny import SOURCE, Home, busy_log, warehouse_of
from warehouse import Warehouse

SECTIONS = ("Summary", "What happened", "What would change", "Details")


@pytest.fixture(scope="module")
def page(finished: Home) -> str:
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, finished.folder)
        return render_report(Warehouse(finished.database), SOURCE, CREATED)


def section(page: str, name: str) -> str:
    match = re.search(rf'<section id="{name}">.*?</section>', page, re.DOTALL)
    assert match is not None
    return match.group()


def test_the_sections_come_in_the_order_of_what_people_ask(page: str) -> None:
    places = [page.index(f"<h2>{title}</h2>") for title in SECTIONS]
    assert places == sorted(places) and page.count("<h2>") == len(SECTIONS)
    assert "Created on 24 November 2026 at 04:05 UTC" in page
    assert_asks_no_host(page)


def test_the_same_warehouse_gives_the_same_page_but_for_its_date(page: str, finished: Home) -> None:
    written = (finished.folder / "warehouse" / "data" / "reports" / f"{SOURCE}.html").read_text()
    assert undated(page) == undated(written)


def undated(page: str) -> str:
    """A page without the date of its creation, which is in its text and in its summary for programs."""
    text = re.sub(r'id="created">[^<]*<', "<", page)
    return re.sub(r'"created":"[^"]*"', "", text)


def test_a_generated_log_has_no_grade_and_the_reason(page: str) -> None:
    summary = section(page, "summary")
    assert "No recommendation: there is no grade." in summary
    assert "the log is generated: no real cluster has seen these jobs" in summary
    changes = section(page, "what-would-change")
    assert "The log, whose waits no real cluster has seen" in changes and "What this log does not tell" in changes
    assert "Nothing was learned" in changes or "Learned policy" in changes


def test_the_table_has_the_scores_of_the_warehouse(page: str, finished: Home) -> None:
    """The mean waits of all schedulers, in the details, are those of replay.period_scores."""
    rows = re.findall(
        r'<tr[^>]*><td class="text">([^<]*)</td><td class="number" data-label="mean wait">([\d.]+) (days|h|min)</td>',
        section(page, "details").replace("\u00a0", " "),
    )
    shown = {name: float(number) * {"days": 86_400, "h": 3600, "min": 60}[unit] for name, number, unit in rows}
    with Warehouse(finished.database).read() as connection:
        mean = dict(
            connection.execute(
                "SELECT estimates, average_wait_s FROM replay.period_scores WHERE policy = 'FCFS'"
            ).fetchall()
        )
    assert shown["EASY with requested times"] == pytest.approx(mean["requested"], rel=0.05)
    same = next((name for name in shown if "EASY with predicted times" in name), None)
    assert same is not None and shown[same] == pytest.approx(mean["predicted"], rel=0.05)


def test_rows_and_charts(page: str) -> None:
    for body in re.findall(r"<tbody>(.*?)</tbody>", page, re.DOTALL):
        labels = re.findall(r"<tr[^>]*><td[^>]*>(.*?)</td>", body)
        assert all(label.strip() for label in labels) and len({*labels}) == len(labels)
    assert page.count("<figure>") >= 4
    assert not re.search(r">\s*(nan|None|inf|null)\s*<", page)
    assert len(page) < 1_500_000, "it can be mailed"
    assert not re.search(r"\d seconds?\b", section(page, "what-happened")), "hours and days, not seconds"


def test_a_source_that_was_only_read_has_a_report(tmp_path: Path) -> None:
    page = render_report(warehouse_of(tmp_path, busy_log(300, days=40)), "mine", CREATED)
    assert "No recommendation yet." in page and "No scheduler was evaluated on this log yet" in page
    assert 'id="chart-backlog-600"' in page
