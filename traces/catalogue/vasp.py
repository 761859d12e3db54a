"""Folders of VASP runs in the catalogue: the tables [vasp.NAME] beside [sources.NAME]."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from traces.catalogue.checking import Checker
from traces.vasp.synthetic import SyntheticOptions

_GENERATOR = {f.name: f for f in fields(SyntheticOptions) if f.name != "first_start"}


@dataclass(frozen=True)
class VaspSource:
    """One folder with VASP run folders at any depth.

    path: the folder. Synthetic runs have none.
    time_zone: of the cluster's clock, which OUTCAR tells. Without it, it is the catalogue's. accounting: the source whose jobs
    these runs are part of, or "". quiet_s: a run without an end is running while its OUTCAR is younger than this, in seconds.
    description: what people read in the list of sources. generator: options of synthetic runs (`SyntheticOptions`), else empty.
    declared_at: "file:line" of the declaration, for error messages.
    """

    name: str
    path: Path | None
    time_zone: str | None = None
    accounting: str = ""
    quiet_s: int = 900
    description: str = ""
    generator: dict[str, Any] = field(default_factory=dict)
    declared_at: str = ""


def vasp_source(check: Checker, name: str, table: dict[str, Any]) -> VaspSource:
    """The table [vasp.NAME] as a source. Faults are reported through `check`, which names file and line."""
    check.keys(table, {f.name for f in fields(VaspSource)} - {"name", "declared_at"}, name)
    path, generator = check.typed(table, "path", str, name), table.get("generator", {})
    if not isinstance(generator, dict):
        check.fail(name, "generator", "expected a table of generator options")
    if path == "":
        check.fail(name, "path", "`path` is empty: give the folder that the run folders are in")
    if (path is None) == (not generator):
        check.fail(name, None, "give either `path` (a folder of runs) or `generator` (options of synthetic runs)")
    for key in generator:
        if key not in _GENERATOR:
            expected = ", ".join(sorted(_GENERATOR))
            check.fail(name, ("generator", key), f"unknown generator option {key!r}: expected {expected}")
    if generator:
        try:
            SyntheticOptions(**generator)
        except (TypeError, ValueError) as error:
            check.fail(name, "generator", f"bad generator options: {error}")
    quiet = check.typed(table, "quiet_s", int, name)
    if quiet is not None and quiet < 1:
        check.fail(name, "quiet_s", f"quiet_s must be at least 1 second, found {quiet}")
    return VaspSource(
        name,
        (check.path.parent / path).resolve() if path else None,
        check.time_zone(table["time_zone"], name) if "time_zone" in table else "UTC" if generator else None,
        check.typed(table, "accounting", str, name) or "",
        quiet if quiet is not None else 900,
        check.typed(table, "description", str, name) or "",
        generator,
        f"{check.path}:{check.line(name, None)}",
    )
