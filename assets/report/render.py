"""The report of a source, put together from what the warehouse holds."""

from __future__ import annotations

from datetime import datetime

from assets.replay.own.alternatives import alternatives_of
from assets.report.answer import alternatives_section, answer, happened_lines
from assets.report.changes import changes_section
from assets.report.comparison import read_comparison
from assets.report.details import details_section, read_details
from assets.report.happened import happened_section
from assets.report.logged import read_logged
from assets.report.nodes import nodes_section
from assets.report.page import page
from assets.report.period import ReportPeriod, logged_in_period
from assets.report.summary import as_data, summarise, waits_sentences
from assets.report.waiting import causes_of_log, requests_section, waiting_section
from warehouse import Warehouse


def render_report(warehouse: Warehouse, source: str, created: datetime, period: ReportPeriod | None = None) -> str:
    """The page of one source, or of a period of it. The same warehouse gives the same bytes, but for the creation date. Raises ValueError
    where the warehouse has no job of the source, or none that can be replayed."""
    logged = read_logged(warehouse, source) if period is None else logged_in_period(warehouse, source, period)
    comparison = read_comparison(warehouse, source, period)
    causes = causes_of_log(warehouse, source) if period is None else None
    alternatives = alternatives_of(warehouse, source) if period is None else None
    summary = summarise(logged, comparison, alternatives)
    of_whole_log = (
        nodes_section(warehouse, source) if period is None else None,
        waiting_section(causes),
        requests_section(warehouse, source) if period is None else None,
        None if alternatives is None else alternatives_section(alternatives),
    )
    sections = [
        summary.section(),
        happened_section(logged),
        *(each for each in of_whole_log if each is not None),
        changes_section(comparison, logged.extent.cluster_procs),
        details_section(logged, comparison, read_details(warehouse, source)),
    ]
    data = as_data(logged, comparison, summary, created) | answer(logged, comparison, summary, causes, alternatives)
    title, subtitle = source, logged.extent.description
    if period is not None:
        title, subtitle = f"{source}, {period.name}", f"Jobs submitted in {period.words}"
    return page(title, subtitle, created, sections, data)


def first_answer(warehouse: Warehouse, source: str) -> list[tuple[str, str]]:
    """What a log says before anything is replayed, in lines of `happened_lines`. Raises ValueError where there is no job of the source."""
    logged = read_logged(warehouse, source)
    return happened_lines(logged, waits_sentences(logged), causes_of_log(warehouse, source))
