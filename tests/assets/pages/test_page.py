"""Tests of assets/pages: index, page, scenario_page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from assets.common.storage import report_path
from assets.pages import index
from assets.pages.details import learning_note
from assets.pages.look import charts
from assets.pages.look.drawing import WIDTHS
from assets.pages.page import (
    SUMMARY_ID,
    Bullets,
    Callout,
    Chart,
    Heading,
    Section,
    Table,
    TermList,
    page,
    summary_of_page,
)
from assets.pages.period import period_of
from assets.pages.render import render_report
from assets.pages.scenario_page import scenario_page
from assets.policies.held_out import read_seen
from assets.replaying.own.alternatives import CANDIDATE, Alternative, Alternatives, store_alternatives
from assets.replaying.running.scored_part import PartOptions
from tests.assets.pages.conftest import CREATED, SOURCE
from tests.assets.replaying.scenarios.examples import SIX, busy_home, results_of
from tests.pipelines.command_line import use_home
from tests.tiny import SOURCE as TINY_SOURCE
from tests.tiny import Home, busy_log, warehouse_of
from traces.catalogue.sources import NAME
from warehouse import Warehouse

# index: The index page lists every report with its summary, also one of an older release.

SUMMARY = {
    "created": "2026-11-23T10:00:00+00:00", "submitted": "2026-01-01 to 2026-02-01", "jobs": 1200, "mean_wait": "4.1 h",
    "within_1_h": "70 %", "grade": "B", "headline": "Adopt EASY with predicted times.",
}  # fmt: skip


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_home(monkeypatch, tmp_path)
    folder = report_path("a").parent
    folder.mkdir(parents=True)
    report_path("a b").write_text(page("a b", "", CREATED, [], SUMMARY))
    report_path("old").write_text("<html>of an older release</html>")
    return folder


def test_every_report_has_a_row_and_a_link(reports: Path) -> None:
    written = index.write_index(CREATED)
    text = written.read_text()
    assert written == reports / "_index.html" and "Created on 24 November 2026 at 04:05 UTC" in text
    assert '<a href="a%20b.html">a b</a>' in text and '<a href="old.html">old</a>' in text
    for cell in (
        "2026-01-01 to 2026-02-01",
        "1,200",
        "4.1\u00a0h",
        "70\u00a0%",
        "B",
        "Adopt EASY with predicted times.",
        "23\u00a0Nov\u00a02026",
    ):
        assert f">{cell}</td>" in text
    assert "<code>tracehouse report old</code> writes it again" in text
    assert "_index" not in text and index.write_index(CREATED).read_text() == text, "it does not list itself"
    assert_asks_no_host(text)


def test_without_reports_it_says_so() -> None:
    assert "There is no report yet." in index.render_index({}, CREATED)


def test_no_source_can_have_its_name(reports: Path) -> None:
    assert not NAME.fullmatch(index.index_path().stem)


def test_summaries_are_read_from_reports(reports: Path) -> None:
    assert index.read_summary("a b") == SUMMARY
    assert index.read_summary("old") is None and index.read_summary("nosuch") is None


# page: The page of the report: one file that needs nothing else, and the same bytes for the same content.


def drawing(name: str = "waits") -> Chart:
    return Chart(name, "Waits", charts.bars(["1"], {"log": [1.0]}, "processors", "hours"))


def made(*blocks: object) -> str:
    return page("x & y", "<log>", CREATED, [Section("Who waits", blocks), Section("Details", [])], {"a": "</script>"})  # type: ignore[arg-type]


def assert_asks_no_host(text: str) -> None:
    """No address of another host stands where a browser would load something from, and no script runs."""
    assert not re.search(r"""(?:src|href|action|data|poster)\s*=\s*["']?\s*(?:https?:)?//""", text)
    assert not re.search(r"""(?:url\(|@import|fetch\(|XMLHttpRequest)\s*["']?\s*(?:https?:)?//""", text)
    assert "<link" not in text and "<iframe" not in text and "<img" not in text
    assert "<script>" not in text and "default-src 'none'" in text, "the browser itself refuses to load anything"


def test_a_page_escapes_what_it_shows_and_links_its_sections() -> None:
    table = Table("Waits <of> all", ("queue", "jobs"), [["a<b", "1,234"]], marked=["a<b"], links={"a<b": 'a"b.html'})
    text = made(
        "All <of> them.", Heading("<h>"), Bullets(["<i>"]), Callout("<b>", "<c>"), TermList([("<k>", "<v>")]), table
    )
    assert "<h1>x &amp; y</h1>" in text and "&lt;log&gt;" in text and "<p>All &lt;of&gt; them.</p>" in text
    for letter in "hibckv":
        assert f"&lt;{letter}&gt;" in text
    assert '<a href="#who-waits">' in text and '<section id="who-waits">' in text
    assert (
        '<tr class=marked><td class="text"><a href="a%22b.html">a&lt;b</a></td><td class="number" data-label="jobs">1,234</td></tr>'
        in text
    )


def test_the_creation_date_is_on_the_page() -> None:
    assert "Created on 24 November 2026 at 04:05 UTC" in made()


def test_charts_are_drawn_in_the_page_which_stays_small() -> None:
    text = made(drawing(), drawing("use"))
    assert text.count("<svg") == 2 * len(WIDTHS) and len(text) < 40_000
    assert_asks_no_host(text)


def test_on_a_wide_page_two_small_blocks_stand_beside_each_other() -> None:
    small, large = (
        Table(name, ("who", *"abcdefg"[:columns]), [["x", *"1234567"[:columns]]])
        for name, columns in (("s", 4), ("l", 7))
    )
    assert made(small, drawing()).count('<div class="pair">') == 1
    for pair in ((large, drawing()), (small, "text"), (small, Chart("w", "W", drawing().figure, whole=True))):
        assert '<div class="pair">' not in made(*pair)


def test_the_same_content_gives_the_same_bytes() -> None:
    assert made(drawing()) == made(drawing())


def test_a_chart_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match="the chart 'waits' shows nothing"):
        Chart("waits", "Waits", charts.bars([], {"log": []}, "processors", "hours"))
    with pytest.raises(ValueError, match="two charts of a page have one name"):
        made(drawing(), drawing())


@pytest.mark.parametrize("labels", [["a", "a"], ["a", " "]])
def test_rows_without_a_label_of_their_own_are_refused(labels: list[str]) -> None:
    with pytest.raises(ValueError, match="rows without a label of their own"):
        Table("t", ("queue", "jobs"), [[label, "1"] for label in labels])


def test_the_summary_can_be_read_from_the_page() -> None:
    text = made()
    assert summary_of_page(text) == {"a": "</script>"} and text.count("</script>") == 1
    assert summary_of_page("<html>") is None
    assert text.index(SUMMARY_ID) < text.index("<body>")


def test_a_name_of_a_log_ends_no_element() -> None:
    odd = '</title></svg><script>alert(1)</script>"'
    text = made(
        Chart("waits", odd, charts.bars([odd], {odd: [1.0], "b": [1.0]}, odd, odd)),
        Table("t", (odd, odd), [[odd, odd]]),
    )
    assert "<script>" not in text and odd not in text


# render: The report of a source, from the warehouse of a finished run.

SECTIONS = (
    *("Summary", "What happened", "What too long requests cost", "What would change"),
    *("How a policy was learned", "Details"),
)


@pytest.fixture(scope="module")
def page_of_render(finished: Home) -> str:
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, finished.folder)
        return render_report(Warehouse(finished.database), TINY_SOURCE, CREATED)


def section(page: str, name: str) -> str:
    match = re.search(rf'<section id="{name}">.*?</section>', page, re.DOTALL)
    assert match is not None
    return match.group()


def test_the_sections_come_in_the_order_of_what_people_ask(page_of_render: str) -> None:
    places = [page_of_render.index(f"<h2>{title}</h2>") for title in SECTIONS]
    assert places == sorted(places) and page_of_render.count("<h2>") == len(SECTIONS)
    assert "Created on 24 November 2026 at 04:05 UTC" in page_of_render
    assert_asks_no_host(page_of_render)


def test_the_same_warehouse_gives_the_same_page_but_for_its_date(page_of_render: str, finished: Home) -> None:
    written = (finished.folder / "warehouse" / "data" / "reports" / f"{TINY_SOURCE}.html").read_text()
    assert undated(page_of_render) == undated(written)


def test_a_period_has_the_advice_of_the_clusters_own_scheduler(
    graded: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_home(monkeypatch, tmp_path)
    lot = Alternative("small jobs first", CANDIDATE, (), 7200.0, 1.0)
    store_alternatives(SOURCE, Alternatives("slurm", 300, 3600.0, 3600.0, (lot,)))
    march = period_of(graded, SOURCE, PartOptions(period="2026-03"))
    page = render_report(graded, SOURCE, CREATED, march)
    summary = section(page, "summary")
    assert "Keep the settings." in summary and "This is of the whole log, not of this time alone, which " in summary
    assert "Baseline: Slurm as it is configured." in summary and "What other settings would do" in page


def undated(page: str) -> str:
    """A page without the date of its creation, which is in its text and in its summary for programs."""
    text = re.sub(r'id="created">[^<]*<', "<", page)
    return re.sub(r'"created":"[^"]*"', "", text)


def test_a_generated_log_has_no_grade_and_the_reason(page_of_render: str) -> None:
    summary = section(page_of_render, "summary")
    assert "No recommendation: there is no grade." in summary
    assert "the log is generated: no real cluster has seen these jobs" in summary
    changes = section(page_of_render, "what-would-change")
    assert "The log, whose waits no real cluster has seen" in changes and "What this log does not tell" in changes


def test_the_curve_of_the_training_stands_beside_heuristics_and_the_steady_state(
    page_of_render: str, finished: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_home(monkeypatch, finished.folder)
    seen = read_seen(Warehouse(finished.database), TINY_SOURCE)
    assert seen is not None
    learning = section(page_of_render, "how-a-policy-was-learned")
    for rows in (seen.fixed, {f"learned, seed {seed}": costs for seed, costs in seen.learned.items()}):
        for name, costs in rows.items():
            assert re.search(rf">{name}</td><td[^>]*>{costs.mean():.2f}<", learning)
    assert 'id="chart-learning-1160"' in learning and f"({seen.best_fixed})" in learning
    note = learning_note(Warehouse(finished.database), TINY_SOURCE)
    assert note is not None and "In a replay of the whole log, which decides: " in note
    assert f"Seeds better than FCFS: {len(seen.better_than_fcfs)} of {len(seen.learned)}." in note
    assert summary_of_page(page_of_render)["note"] == note  # type: ignore[index]


def test_the_table_has_the_scores_of_the_warehouse(page_of_render: str, finished: Home) -> None:
    """The mean waits of all schedulers, in the details, are those of replay.period_scores."""
    rows = re.findall(
        r'<tr[^>]*><td class="text">([^<]*)</td><td class="number" data-label="mean wait">([\d.]+) (days|h|min)</td>',
        section(page_of_render, "details").replace("\u00a0", " "),
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


def test_rows_and_charts(page_of_render: str) -> None:
    for body in re.findall(r"<tbody>(.*?)</tbody>", page_of_render, re.DOTALL):
        labels = re.findall(r"<tr[^>]*><td[^>]*>(.*?)</td>", body)
        assert all(label.strip() for label in labels) and len({*labels}) == len(labels)
    assert page_of_render.count("<figure>") >= 4
    assert not re.search(r">\s*(nan|None|inf|null)\s*<", page_of_render)
    assert len(page_of_render) < 1_500_000, "it can be mailed"
    assert not re.search(r"\d seconds?\b", section(page_of_render, "what-happened")), "hours and days, not seconds"


def test_a_source_that_was_only_read_has_a_report(tmp_path: Path) -> None:
    page = render_report(warehouse_of(tmp_path, busy_log(300, days=40)), "mine", CREATED)
    assert "No recommendation yet." in page and "No scheduler was evaluated on this log yet" in page
    assert 'id="chart-backlog-600"' in page


# scenario_page: The page of what-if results: whole, self-contained, with names that cannot break it.

VOID = {"meta", "br"}


class Tags(HTMLParser):
    """Checks that every tag that opens closes, and keeps the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return busy_home(monkeypatch, tmp_path)


def test_a_page_has_every_scenario_and_loads_nothing(busy: Path) -> None:
    results = results_of(SIX)
    text = scenario_page(results)
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    for name in SIX:
        assert tags.text.count(name) >= 3  # waits, changes, fates
    assert "no order was fitted to the log yet" in tags.text
    assert "40 jobs of the base" in tags.text
    assert not re.search(r"(?:src|href)=|https?://|@import", text)
    assert scenario_page(results) == text


def test_names_are_escaped(busy: Path) -> None:
    text = scenario_page(results_of({"<b>& more": {"procs": 20}}))
    assert "<b>" not in text and "&lt;b&gt;&amp; more" in text
