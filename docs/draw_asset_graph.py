"""Draws docs/images/asset-graph.svg: the groups of the asset graph, from the definitions that Dagster loads.

    .venv/bin/python -m docs.draw_asset_graph

A box is a group with its assets. Each row reads the rows above it. Arrows that follow from others are
left out: `ingest` leads to `policies` through `predictions`. A test draws the picture again and compares it with the file.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import dagster as dg

PICTURE = Path(__file__).parent / "images" / "asset-graph.svg"
ABOUT = {
    "ingest": "logs into one row per job",
    "operations": "what really happened, and what to distrust",
    "predictions": "run times and waits, as in operation",
    "vasp": "VASP runs, and what they still need",
    "what_if": "replays with settings of yours",
    "policies": "orders of the queue that are tuned or learned",
    "evaluation": "policies on later jobs, with a verdict",
    "experiments": "tables of papers, computed again",
    "report": "a page for those who decide",
}
"""What a group is about. A group that is not here has no such line."""
LINE, TITLE, PAD = 19, 26, 12
WIDTH, GAP_X, GAP_Y, MARGIN = 222, 24, 46, 16
LETTERS = 32
"""So many letters of the line below a title are as wide as a box."""
HEAD, BEND = 7, 12
"""The length of an arrow's head, and the radius of a corner."""


@dataclass(frozen=True)
class Box:
    """A group in the picture: its place in pixels, and the lines in it."""

    name: str
    about: list[str]
    assets: list[str]
    row: int
    x: int = 0
    y: int = 0

    @property
    def height(self) -> int:
        return 2 * PAD + TITLE + LINE * (len(self.about) + len(self.assets))

    @property
    def foot(self) -> int:
        return self.y + self.height

    @property
    def middle(self) -> int:
        return self.x + WIDTH // 2


def groups_of(definitions: dg.Definitions) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """The assets of each group by name, and the groups that each group reads."""
    graph = definitions.resolve_asset_graph()
    nodes = [graph.get(key) for key in sorted(graph.get_all_asset_keys())]
    assets: dict[str, list[str]] = {}
    parents: dict[str, set[str]] = {}
    for node in nodes:
        assets.setdefault(node.group_name, []).append(node.key.path[-1])
        read = {graph.get(key).group_name for key in node.parent_keys}
        parents.setdefault(node.group_name, set()).update(read - {node.group_name})
    return assets, parents


def rows_of(parents: Mapping[str, set[str]]) -> dict[str, int]:
    """The row of each group: one below the last row that it reads."""
    rows: dict[str, int] = {}
    while len(rows) < len(parents):
        ready = [name for name in sorted(parents) if name not in rows and parents[name] <= rows.keys()]
        if not ready:
            raise ValueError(f"groups that read each other: {', '.join(sorted(parents.keys() - rows.keys()))}")
        rows |= {name: max((rows[parent] + 1 for parent in parents[name]), default=0) for name in ready}
    return rows


def needed_arrows(parents: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """(from, to) of every arrow that does not follow from others."""

    def before(name: str) -> set[str]:
        return parents[name].union(*(before(parent) for parent in parents[name]))

    return [
        (parent, name)
        for name in sorted(parents)
        for parent in sorted(parents[name])
        if not any(parent in before(other) for other in parents[name] - {parent})
    ]


def boxes_of(assets: Mapping[str, list[str]], parents: Mapping[str, set[str]]) -> dict[str, Box]:
    """The groups with their places: rows from top to foot, and each row in the middle of the width."""
    rows = rows_of(parents)
    order = [name for name in ABOUT if name in assets] + sorted(assets.keys() - ABOUT.keys())
    boxes = [Box(name, textwrap.wrap(ABOUT.get(name, ""), LETTERS), assets[name], rows[name]) for name in order]
    by_row = [[box for box in boxes if box.row == row] for row in range(max(rows.values()) + 1)]
    widest = max(len(row) for row in by_row)
    placed, y = {}, MARGIN
    for row in by_row:
        x = MARGIN + (widest - len(row)) * (WIDTH + GAP_X) // 2
        placed |= {box.name: replace(box, x=x + place * (WIDTH + GAP_X), y=y) for place, box in enumerate(row)}
        y += max(box.height for box in row) + GAP_Y
    return placed


def drawn_box(box: Box) -> list[str]:
    """The rectangle of a group and its lines of text."""
    lines = [
        f'<rect class="box" x="{box.x}" y="{box.y}" width="{WIDTH}" height="{box.height}" rx="6"/>',
        f'<text class="title" x="{box.x + PAD}" y="{box.y + PAD + 15}">{html.escape(box.name)}</text>',
    ]
    y = box.y + PAD + TITLE + 9
    for kind, texts in (("about", box.about), ("asset", box.assets)):
        for text in texts:
            lines.append(f'<text class="{kind}" x="{box.x + PAD}" y="{y}">{html.escape(text)}</text>')
            y += LINE
    return lines


def drawn_arrow(start: Box, end: Box) -> str:
    """A curve to the box below. One that passes a row goes straight down beside it, and comes to its goal from the side."""
    if end.row == start.row + 1:
        goal = end.y - HEAD
        half = (start.foot + goal) // 2
        way = f"M{start.middle} {start.foot}C{start.middle} {half} {end.middle} {half} {end.middle} {goal}"
    else:
        level, right = end.y + end.height // 2, start.middle < end.x
        bend, goal = (BEND, end.x - HEAD) if right else (-BEND, end.x + WIDTH + HEAD)
        corner = f"Q{start.middle} {level} {start.middle + bend} {level}"
        way = f"M{start.middle} {start.foot}V{level - BEND}{corner}H{goal}"
    return f'<path class="arrow" d="{way}"/>'


def draw(definitions: dg.Definitions) -> str:
    """The picture as SVG."""
    assets, parents = groups_of(definitions)
    boxes = boxes_of(assets, parents)
    width = max(box.x for box in boxes.values()) + WIDTH + MARGIN
    height = max(box.foot for box in boxes.values()) + MARGIN
    style = (
        ".box{fill:#f2f6fb;stroke:#7a94b0}.title{font:bold 16px sans-serif;fill:#1d2b3a}"
        ".about{font:13px sans-serif;fill:#50606f}.asset{font:13px monospace;fill:#1d4f7c}"
        ".arrow{fill:none;stroke:#7a94b0;stroke-width:2;marker-end:url(#head)}"
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>The groups of the asset graph</title><style>{style}</style>",
        '<defs><marker id="head" markerWidth="4" markerHeight="4" refX="0" refY="2" orient="auto">'
        '<path d="M0 0L4 2L0 4z" fill="#7a94b0"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *(drawn_arrow(boxes[start], boxes[end]) for start, end in needed_arrows(parents)),
        *(line for box in boxes.values() for line in drawn_box(box)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    from pipelines.definitions import build_definitions

    PICTURE.write_text(draw(build_definitions()))
    print(PICTURE)


if __name__ == "__main__":
    main()
