"""Every statement of tracehouse, one per file, read by name: `sql.load("core.jobs")` is the text of `tables/core/jobs.sql`.

`tables/` and `views/` make what stands in the warehouse, `queries/` read and fill it, `checks/` must give no row.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent
KINDS = ("tables", "views", "queries", "checks")


def load(name: str) -> str:
    """The statement `schema.name`, or `checks.name`. Raises FileNotFoundError."""
    if name not in _files():
        raise FileNotFoundError(f"no statement {name!r} below {ROOT}")
    return _files()[name].read_text()


def names(kind: str | None = None) -> tuple[str, ...]:
    """All statements, or those of one of KINDS, sorted."""
    return tuple(sorted(name for name, file in _files().items() if kind in (None, file.relative_to(ROOT).parts[0])))


@cache
def _files() -> dict[str, Path]:
    files: dict[str, Path] = {}
    for file in sorted(ROOT.rglob("*.sql")):
        kind, *place = file.relative_to(ROOT).with_suffix("").parts
        name = ".".join([kind, *place] if kind == "checks" else place)
        assert name not in files, f"{file} and {files[name]} have one name"
        files[name] = file
    return files
