"""How the published tables are written."""

from __future__ import annotations


def markdown(titles: list[str], lines: list[list[str]]) -> str:
    """A table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [titles, ["---"] * len(titles), *lines])
