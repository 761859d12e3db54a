"""What a page of the report has: sections of tables, charts and sentences, which look/page.html shows as one file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from assets.pages.look.drawing import Figure
from assets.pages.look.templates import fill

SUMMARY_ID = "summary-as-data"
"""Element of a report that holds the summary as JSON: the index page and the command line read it."""
HEAD_BYTES = 200_000
"""Within so many first bytes of a report that element ends."""

MOST_IN_CELLS = 4
"""Tables with more columns become a list of cards on a phone, so that nothing is out of sight."""
MOST_IN_HALF = 6
"""Tables with more columns take the whole width of a desk."""


@dataclass(frozen=True)
class Table:
    """Rows of text. Its first column labels the rows: no label is empty or there twice. Raises ValueError otherwise.

    text_columns: indices of further columns that hold words. marked: labels of rows that stand out. links: pages beside this one that
    labels lead to.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: Sequence[int] = ()
    marked: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    kind: ClassVar = "table"

    def __post_init__(self) -> None:
        labels = [row[0].strip() for row in self.rows]
        if not all(labels) or len({*labels}) < len(labels) or any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"the table {self.caption!r} has rows without a label of their own: {labels}")

    def kind_of(self, column: int) -> str:
        """Whether a column holds words or numbers."""
        return "text" if column == 0 or column in self.text_columns else "number"

    @property
    def classes(self) -> str:
        """Styles of the whole table."""
        columns = len(self.columns)
        used = {"links": self.links, "cards": columns > MOST_IN_CELLS, "four": columns == MOST_IN_CELLS + 1}
        return " ".join(name for name, is_used in used.items() if is_used)

    @property
    def is_narrow(self) -> bool:
        """Whether half a desk is enough."""
        return len(self.columns) <= MOST_IN_HALF


def unique_labels(rows: list[list[str]]) -> list[list[str]]:
    """The rows, of which those with a label that is empty or there already get one of their own."""
    seen: set[str] = set()
    for row in rows:
        label = row[0].strip() or "(no name)"
        row[0] = label if label not in seen else f"{label} ({len(seen) + 1})"
        seen.add(row[0])
    return rows


@dataclass(frozen=True)
class Chart:
    """A figure under a name that is unique on the page. caption: what it shows. whole: whether it takes the whole width of a desk. Raises
    ValueError for a figure without a value."""

    name: str
    caption: str
    figure: Figure
    height: int = 300
    whole: bool = False
    kind: ClassVar = "chart"

    def __post_init__(self) -> None:
        if self.figure.is_empty:
            raise ValueError(f"the chart {self.name!r} shows nothing")

    @property
    def is_narrow(self) -> bool:
        """Whether half a desk is enough."""
        return not self.whole


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: str
    kind: ClassVar = "heading"
    is_narrow: ClassVar = False


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]
    kind: ClassVar = "bullets"
    is_narrow: ClassVar = True


@dataclass(frozen=True)
class Callout:
    """A box that stands out: a headline and sentences."""

    headline: str
    text: str
    kind: ClassVar = "callout"
    is_narrow: ClassVar = True


@dataclass(frozen=True)
class TermList:
    """Pairs of a term and what it is."""

    pairs: Sequence[tuple[str, str]]
    kind: ClassVar = "terms"
    is_narrow: ClassVar = False


Block = str | Table | Chart | Heading | Bullets | Callout | TermList
"""A paragraph, or one of the above."""


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it."""

    title: str
    blocks: Sequence[Block]

    @property
    def anchor(self) -> str:
        """What links to it name."""
        return "".join(c if c.isalnum() else "-" for c in self.title.lower()).strip("-")

    def rows(self) -> Iterator[Sequence[Block]]:
        """The blocks. Two that follow each other and need half of a desk only stand beside each other."""
        k = 0
        while k < len(self.blocks):
            row = self.blocks[k : k + 2]
            if len(row) < 2 or any(isinstance(block, str) or not block.is_narrow for block in row):
                row = row[:1]
            yield row
            k += len(row)


def page(
    title: str, subtitle: str, created: datetime, sections: Sequence[Section], data: dict[str, Any] | None = None
) -> str:
    """The whole document. The same arguments give the same bytes. data: the summary for programs, under SUMMARY_ID."""
    charts = [block.name for section in sections for block in section.blocks if isinstance(block, Chart)]
    if len({*charts}) < len(charts):
        raise ValueError("two charts of a page have one name")
    return fill(
        "page.html",
        title=title,
        subtitle=subtitle,
        created=created,
        sections=sections,
        data=data,
        summary_id=SUMMARY_ID,
    )


def summary_of_page(head: str) -> dict[str, Any] | None:
    """What `page` was given as `data`, from the beginning of its text. None where it has none."""
    match = re.search(rf'<script type="application/json" id="{SUMMARY_ID}">(.*?)</script>', head, re.DOTALL)
    return json.loads(match.group(1)) if match else None
