"""The report of a source, put together from what the warehouse holds."""

from __future__ import annotations

from datetime import datetime

from assets.report.changes import changes_section
from assets.report.comparison import read_comparison
from assets.report.details import details_section, read_details
from assets.report.happened import happened_section
from assets.report.logged import read_logged
from assets.report.nodes import nodes_section
from assets.report.page import page
from assets.report.period import ReportPeriod, logged_in_period
from assets.report.summary import as_data, summarise
from assets.report.waiting import requests_section, waiting_section
from warehouse import Warehouse


def render_report(warehouse: Warehouse, source: str, created: datetime, period: ReportPeriod | None = None) -> str:
    """The page of one source, or of a period of it. The same warehouse gives the same bytes, but for the creation date. Raises ValueError
    where the warehouse has no job of the source, or none that can be replayed."""
    logged = read_logged(warehouse, source) if period is None else logged_in_period(warehouse, source, period)
    comparison = read_comparison(warehouse, source, period)
    summary = summarise(logged, comparison)
    nodes = nodes_section(warehouse, source) if period is None else None
    waiting = waiting_section(warehouse, source) if period is None else None
    requests = requests_section(warehouse, source) if period is None else None
    sections = [
        summary.section(),
        happened_section(logged),
        *([nodes] if nodes is not None else []),
        *(each for each in (waiting, requests) if each is not None),
        changes_section(comparison, logged.extent.cluster_procs),
        details_section(logged, comparison, read_details(warehouse, source)),
    ]
    title, subtitle = source, logged.extent.description
    if period is not None:
        title, subtitle = f"{source}, {period.name}", f"Jobs submitted in {period.words}"
    return page(title, subtitle, created, sections, as_data(logged, comparison, summary, created))
