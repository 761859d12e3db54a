"""How pages get tables and pictures. Tables are written as a whole, or row by row as they are computed."""

from __future__ import annotations


def markdown(titles: list[str], lines: list[list[str]]) -> str:
    """A table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [titles, ["---"] * len(titles), *lines])


def print_heading(*titles: str) -> None:
    """The first two lines of a table."""
    print(f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|")


def print_cells(*cells: str) -> None:
    """A row, at once."""
    print(f"| {' | '.join(cells)} |", flush=True)
