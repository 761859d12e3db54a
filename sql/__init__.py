"""Every statement of tracehouse, one per file, read by name: `sql.load("core.jobs")` is the text of `sql/core/jobs.sql`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent


@cache
def load(name: str) -> str:
    """The statement `schema.name`. Raises FileNotFoundError."""
    return (ROOT / Path(*name.split("."))).with_suffix(".sql").read_text()


@cache
def names() -> tuple[str, ...]:
    """All statements, sorted."""
    return tuple(sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in ROOT.rglob("*.sql")))
