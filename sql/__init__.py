"""Every statement of tracehouse, read by name: `sql.load("core.jobs")` is what stands below the line `-- [jobs]` of `tables/core.sql`.

`tables/` and `views/` make what is in the warehouse, with a file for each schema. `queries/` read and fill it, and a schema with many has
a folder there. `checks/` must return no row. A line `{{ name }}` of a statement is replaced by the lines of that name in `fragments.sql`,
which several statements, or other fragments, share. `migrations/` brings the tables of older warehouses up to date.
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
    if name not in _statements():
        raise FileNotFoundError(f"no statement {name!r} below {ROOT}")
    return _filled(_statements()[name][1])


@cache
def names(kind: str | None = None) -> tuple[str, ...]:
    """All statements, or those of one of STATEMENT_KINDS, sorted."""
    return tuple(sorted(name for name, (own_kind, _) in _statements().items() if kind in (None, own_kind)))


@cache
def migrations() -> dict[int, str]:
    """Statements that lead to a version of the tables from the one before, by number, ascending: `migrations/<number>_<what>.sql`."""
    return {int(file.name[:3]): file.read_text() for file in sorted((ROOT / "migrations").glob("*.sql"))}


def _filled(text: str) -> str:
    fragments = _named_parts(ROOT / "fragments.sql")
    return re.sub(r"^\{\{ (\w+) \}\}\n", lambda line: _filled(fragments[line[1]]), text, flags=re.MULTILINE)


@cache
def _statements() -> dict[str, tuple[str, str]]:
    """Name of a statement -> its kind and its text."""
    statements: dict[str, tuple[str, str]] = {}
    for file in sorted(file for kind in STATEMENT_KINDS for file in (ROOT / kind).rglob("*.sql")):
        kind, first, *_ = file.relative_to(ROOT).with_suffix("").parts
        schema = kind if kind == "checks" else first
        for name, text in _named_parts(file).items():
            assert f"{schema}.{name}" not in statements, f"two statements have the name {schema}.{name}"
            statements[f"{schema}.{name}"] = kind, text
    return statements


@cache
def _named_parts(file: Path) -> dict[str, str]:
    """By name, what stands below a line `-- [name]` up to the next."""
    _, *parts = re.split(r"^-- \[(\w+)\]\n", file.read_text(), flags=re.MULTILINE)
    return {name: text.rstrip("\n") + "\n" for name, text in zip(parts[::2], parts[1::2], strict=True)}
