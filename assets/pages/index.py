"""The index page over the reports of all sources, and the summaries that the reports carry."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from assets.common.storage import report_path, write_whole
from assets.pages.page import HEAD_BYTES, Section, Table, page, summary_of_page
from warehouse import file_lock

INDEX_COLUMNS = ("recommendation", "grade", "jobs", "mean wait", "started within 1 h", "submitted", "report of")


def index_path() -> Path:
    """Where the index page is written. No source can have this name."""
    return report_path("_index")


def read_summary(source: str) -> dict[str, Any] | None:
    """What the report of a source says in short (assets.pages.summary.as_data); None where there is no report, or one of an older
    release."""
    try:
        with report_path(source).open("rb") as file:
            return summary_of_page(file.read(HEAD_BYTES).decode(errors="replace"))
    except FileNotFoundError:
        return None


def write_index(created: datetime) -> Path:
    """Writes the index page over all reports that there are. Runs that end at the same moment wait for each other."""
    index = index_path()
    index.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(index.with_name(".index.lock")):
        names = sorted(path.stem for path in index.parent.glob("*.html") if path != index)
        write_whole(index, render_index({name: read_summary(name) for name in names}, created).encode())
    return index


def render_index(summaries: dict[str, dict[str, Any] | None], created: datetime) -> str:
    """The page. summaries: by source; None for a report without one."""
    rows = [_row(name, summary) for name, summary in sorted(summaries.items())]
    links = {name: f"{name}.html" for name in summaries}
    caption = "Waits are those of the log. The grade says how far what-if answers can be trusted: A is best, D says not at all."
    blocks = (
        [Table(caption, ("source", *INDEX_COLUMNS), rows, text_columns=[1, 6], links=links)]
        if rows
        else ["There is no report yet."]
    )
    return page(
        "All sources",
        "Reports of what happened on each cluster, and of what would change",
        created,
        [Section("Sources", blocks)],
    )


def _row(name: str, summary: dict[str, Any] | None) -> list[str]:
    if summary is None:
        return [
            name,
            f"of an older release: `tracehouse report {name.partition('@')[0]}` writes it again",
            *[""] * (len(INDEX_COLUMNS) - 1),
        ]
    day = datetime.fromisoformat(summary["created"])
    return [
        name,
        summary["headline"],
        summary["grade"],
        f"{summary['jobs']:,}",
        summary["mean_wait"],
        summary["within_1_h"],
        summary["submitted"],
        f"{day:%-d %b %Y}",
    ]
