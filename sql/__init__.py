"""Every statement of tracehouse, one per file, read by name: `sql.load("core.jobs")` is the text of `tables/core/jobs.sql`.

`tables/` and `views/` make what is in the warehouse, `queries/` read and fill it, `checks/` must return no row. A line
`{{ name }}` of a statement is replaced by the lines of `fragments/name.sql`, which several statements share. `migrations/` brings the
tables of older warehouses up to date.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent
STATEMENT_KINDS = ("tables", "views", "queries", "checks")


@cache
def load(name: str) -> str:
    """The statement `schema.name`, or `checks.name`. Raises FileNotFoundError."""
    if name not in _files():
        raise FileNotFoundError(f"no statement {name!r} below {ROOT}")
    return re.sub(r"^\{\{ (\w+) \}\}\n", _fragment, _files()[name].read_text(), flags=re.MULTILINE)


@cache
def names(kind: str | None = None) -> tuple[str, ...]:
    """All statements, or those of one of STATEMENT_KINDS, sorted."""
    return tuple(sorted(name for name, file in _files().items() if kind in (None, file.relative_to(ROOT).parts[0])))


@cache
def migrations() -> dict[int, str]:
    """Statements that lead to a version of the tables from the one before, by number, ascending: `migrations/<number>_<what>.sql`."""
    return {int(file.name[:3]): file.read_text() for file in sorted((ROOT / "migrations").glob("*.sql"))}


def _fragment(line: re.Match[str]) -> str:
    return (ROOT / "fragments" / f"{line.group(1)}.sql").read_text()


@cache
def _files() -> dict[str, Path]:
    files: dict[str, Path] = {}
    for file in sorted(ROOT.rglob("*.sql")):
        kind, *place = file.relative_to(ROOT).with_suffix("").parts
        if kind in ("fragments", "migrations"):
            continue
        name = ".".join([kind, *place] if kind == "checks" else place)
        assert name not in files, f"{file} and {files[name]} have one name"
        files[name] = file
    return files
