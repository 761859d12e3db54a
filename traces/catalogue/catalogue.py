"""The source catalogue: which traces there are, where, in which format, on how many processors.

There are three places, and later ones win: `sources.toml` of the project, the catalogue named by `TRACEHOUSE_SOURCES` (by default
`sources.local.toml` beside it, which `tracehouse ingest` writes), and files dropped into `inbox/`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from traces.catalogue.checking import Checker
from traces.catalogue.logs import declared_log
from traces.catalogue.places import PROJECT, inbox, local_catalogue_path
from traces.catalogue.sources import CatalogueError, Source
from traces.common.pseudonyms import DEFAULT_KINDS
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


@dataclass(frozen=True)
class Readers:
    """copy: the read-only copy of the warehouse. metrics: the text file for Prometheus. None for what is not to be written."""

    copy: Path | None = None
    metrics: Path | None = None


def declared_readers(check: Checker, document: dict[str, Any], defaults: Readers) -> Readers:
    """What the table says, and the defaults where it says nothing. Paths are relative to the catalogue's folder."""
    table = check.typed(document, "readers", dict, None) or {}
    of_table = Checker(check.path, check.text, "readers")
    of_table.keys(table, {"copy", "metrics"}, None)
    paths = {
        name: (check.path.parent / Path(text).expanduser()).resolve()
        for name in ("copy", "metrics")
        if (text := of_table.typed(table, name, str, None)) is not None
    }
    return Readers(paths.get("copy", defaults.copy), paths.get("metrics", defaults.metrics))


@dataclass(frozen=True)
class Catalogue:
    """sources: traces, by name. vasp: folders of VASP runs, by name. time_zone: of schedules. names_time_zone: whether the second catalogue
    sets it, and it is not only tracehouse's own. readers: what is written for other tools after each run."""

    sources: dict[str, Source]
    time_zone: str = "UTC"
    nightly_cron: str = "0 3 * * *"
    vasp: dict[str, VaspSource] = field(default_factory=dict)
    names_time_zone: bool = False
    readers: Readers = field(default_factory=Readers)

    def source(self, name: str) -> Source:
        """The source of this name. Raises CatalogueError, which lists the existing names."""
        if name not in self.sources:
            names = ", ".join(self.sources) or "none"
            raise CatalogueError(
                f"unknown source {name!r}{_meant(name, self.sources)} known sources: {names}. Add it with `tracehouse ingest PATH "
                f"--name {name}`, or to the catalogue named by TRACEHOUSE_SOURCES"
            )
        return self.sources[name]

    def given_zone(self, entry: Source | VaspSource) -> str | None:
        """The time zone that a catalogue gives a log, or a folder of runs: its own, or that of the file. The zone in `sources.toml` is for
        entries there alone. None where nobody has given one."""
        is_bundled = entry.declared_at.startswith(f"{PROJECT / 'sources.toml'}:")
        return entry.time_zone or (self.time_zone if self.names_time_zone or is_bundled else None)

    def vasp_source(self, name: str) -> VaspSource:
        """The folder of VASP runs of this name. Raises CatalogueError, which lists the existing names."""
        if name not in self.vasp:
            names = ", ".join(self.vasp) or "none"
            raise CatalogueError(
                f"unknown folder of VASP runs {name!r}{_meant(name, self.vasp)} known: {names}. Add it with `tracehouse "
                f"vasp ingest PATH --name {name}`, or as [vasp.{name}] to the catalogue named by TRACEHOUSE_SOURCES"
            )
        return self.vasp[name]


def _meant(name: str, names: Iterable[str]) -> str:
    """What follows an unknown name: a semicolon, and a question about the nearest name if one is near."""
    usual = {each.lower(): each for each in names}
    near = [usual[each] for each in get_close_matches(name.lower(), usual, n=1)]
    return f"; did you mean {near[0]!r}?" if near else ";"


def load_catalogue(may_be_missing: bool = False) -> Catalogue:
    """All sources. may_be_missing: whether the second catalogue may be missing although the environment names it. Raises
    CatalogueError with file, line and remedy."""
    main = read_catalogue(PROJECT / "sources.toml")
    local = local_catalogue_path()
    if local.exists():
        main = _merge(main, read_catalogue(local, main))
    elif os.environ.get("TRACEHOUSE_SOURCES") and not may_be_missing:
        raise CatalogueError(f"{local}: no such catalogue. TRACEHOUSE_SOURCES must name an existing TOML file")
    whole = replace(main, sources=main.sources | _inbox_sources(main))
    for vasp in whole.vasp.values():
        if vasp.accounting and vasp.accounting not in whole.sources:
            names = ", ".join(whole.sources) or "none"
            raise CatalogueError(
                f"{vasp.declared_at}: [vasp.{vasp.name}] accounting = {vasp.accounting!r} is not a source. Known: {names}"
            )
    return whole


def inbox_name(path: Path) -> str:
    """Source name of a file in the inbox: its name without .swf, .log, .txt, .psv, .gz, .zst, .xz, and with dashes for odd characters."""
    stem = re.sub(r"(?i)(\.(swf|log|txt|psv|gz|zst|xz))+$", "", path.name)
    return re.sub(r"[^A-Za-z0-9_.\-]+", "-", stem).strip("-._") or "unnamed"


def is_cron(text: str) -> bool:
    """Whether text is five cron fields: minute, hour, day of month, month, day of week."""
    for i, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat")):
        text = re.sub(rf"(?i)\b{name}\b", str(i), text)
    ranges = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
    parts = text.split()
    return len(parts) == 5 and all(
        re.fullmatch(r"(\*|\d+(-\d+)?)(/[1-9]\d*)?", item)
        and all(low <= int(number) <= high for number in re.findall(r"\d+", item.partition("/")[0]))
        for part, (low, high) in zip(parts, ranges, strict=True)
        for item in part.split(",")
    )


def _merge(first: Catalogue, second: Catalogue) -> Catalogue:
    sources, vasp = first.sources | second.sources, first.vasp | second.vasp
    names_time_zone = first.names_time_zone or second.names_time_zone
    return Catalogue(sources, second.time_zone, second.nightly_cron, vasp, names_time_zone, second.readers)


def _inbox_sources(declared: Catalogue) -> dict[str, Source]:
    """Sources of the inbox by name. Where a name is taken, the file's full name is used."""
    paths = {source.path for source in declared.sources.values()}
    sources: dict[str, Source] = {}
    for path in sorted(inbox().iterdir()) if inbox().is_dir() else []:
        if path.name.startswith(".") or path.name.endswith(".part") or path.resolve() in paths:
            continue
        names = (inbox_name(path), re.sub(r"[^A-Za-z0-9_.\-]+", "-", path.name), f"inbox-{inbox_name(path)}")
        name = next((name for name in names if name not in declared.sources and name not in sources), None)
        if name is None:
            raise CatalogueError(f"{path}: no free name for this source: rename the file")
        sources[name] = Source(
            name, "auto", path, description="found in the inbox", pseudonyms=DEFAULT_KINDS, declared_at=str(path)
        )
    return sources


def read_catalogue(path: Path, defaults: Catalogue | None = None) -> Catalogue:
    """The sources of one file, see `parse_catalogue`. It also raises CatalogueError when the file cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path}: cannot be read as a UTF-8 text file ({error})") from None
    return parse_catalogue(path, text, defaults)


def parse_catalogue(path: Path, text: str, defaults: Catalogue | None) -> Catalogue:
    """The sources that the text of a file declares.

    path: of the file, for messages. Paths in the text are relative to its folder. defaults: the catalogue whose time zone and
    nightly time hold where the text has none. Raises CatalogueError with file, line and remedy.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(f"{path}: not valid TOML: {error}") from None
    except RecursionError:
        raise CatalogueError(f"{path}: not a catalogue: brackets are nested too deep. Correct it") from None
    check = Checker(path, text)
    check.keys(document, {"time_zone", "nightly_cron", "sources", "vasp", "readers"}, None)
    time_zone = check.time_zone(document.get("time_zone", defaults.time_zone if defaults else "UTC"), None)
    cron = check.typed(document, "nightly_cron", str, None)
    if cron is None:
        cron = defaults.nightly_cron if defaults else "0 3 * * *"
    if not is_cron(cron):
        check.fail(None, "nightly_cron", f'expected five cron fields such as "0 3 * * *", found {cron!r}')
    sources = {name: declared_log(check, name, table, time_zone) for name, table in check.tables(document)}
    of_vasp = Checker(path, text, "vasp")
    vasp = {name: vasp_source(of_vasp, name, table) for name, table in of_vasp.tables(document)}
    readers = declared_readers(check, document, defaults.readers if defaults else Readers())
    return Catalogue(sources, time_zone, cron, vasp, defaults is not None and "time_zone" in document, readers)
