"""The source catalogue: which traces there are, where, in which format, on how many processors.

Three places, later ones win: `sources.toml` of the project, the catalogue named by `TRACEHOUSE_SOURCES` (by default
`sources.local.toml` beside it, which `tracehouse ingest` writes), and files dropped into `inbox/`.
"""

from __future__ import annotations

import fcntl
import os
import re
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from traces.pseudonyms import DEFAULT, KINDS
from traces.vasp_catalogue import VaspSource, vasp_source

PROJECT = Path(__file__).resolve().parents[1]
FORMATS = ("swf", "pbs", "slurm")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")


class CatalogueError(Exception):
    """A catalogue that cannot be used; the message names the file, the line and the remedy."""


@dataclass(frozen=True)
class Source:
    """One named trace.

    format: "swf", "pbs" or "slurm".
    path: the log file, or a directory of log files; None for a generated source.
    procs: processors of the cluster; None takes the SWF header's MaxProcs, or else the peak of processors in use.
    nodes, gpus, node_memory_gb: of the cluster; None leaves it to the jobs to tell (core.clusters).
    time_zone: of the cluster, for the calendar and the names of written files; None takes the SWF header's
        TimeZoneString, or else the catalogue's. Always given for a generated source.
    drop_wider: reject jobs wider than the cluster (counted) instead of failing.
    columns: of a Slurm log without a header line, as sacct calls them, between commas.
    pseudonyms: kinds of names (traces.pseudonyms.KINDS) that are replaced in PBS and Slurm logs; all, unless the catalogue
        says otherwise.
    generator: options of `traces.workload.WorkloadOptions` for a generated source, else empty.
    declared_at: "file:line" of the declaration, for error messages.
    """

    name: str
    format: str
    path: Path | None
    procs: int | None = None
    time_zone: str | None = None
    description: str = ""
    drop_wider: bool = False
    columns: str = ""
    pseudonyms: tuple[str, ...] = ()
    nodes: int | None = None
    gpus: int | None = None
    node_memory_gb: int | None = None
    generator: dict[str, Any] = field(default_factory=dict)
    declared_at: str = ""


@dataclass(frozen=True)
class Catalogue:
    """sources: traces, by name; vasp: folders of VASP runs, by name."""

    sources: dict[str, Source]
    time_zone: str = "UTC"
    nightly_cron: str = "0 3 * * *"
    vasp: dict[str, VaspSource] = field(default_factory=dict)

    def source(self, name: str) -> Source:
        if name not in self.sources:
            known = ", ".join(self.sources) or "none"
            raise CatalogueError(
                f"unknown source {name!r}; known sources: {known}. Add it with `tracehouse ingest PATH --name {name}`, "
                "or to the catalogue named by TRACEHOUSE_SOURCES"
            )
        return self.sources[name]

    def vasp_source(self, name: str) -> VaspSource:
        if name not in self.vasp:
            known = ", ".join(self.vasp) or "none"
            raise CatalogueError(
                f"unknown folder of VASP runs {name!r}; known: {known}. Add it with `tracehouse vasp ingest PATH --name {name}`, "
                f"or as [vasp.{name}] to the catalogue named by TRACEHOUSE_SOURCES"
            )
        return self.vasp[name]


def home() -> Path:
    """Root of everything written (warehouse/data, inbox, sources.local.toml): TRACEHOUSE_HOME or the project itself."""
    return Path(os.environ.get("TRACEHOUSE_HOME") or PROJECT).resolve()


def local_catalogue_path() -> Path:
    """The second catalogue: TRACEHOUSE_SOURCES, or sources.local.toml in `home()`."""
    given = os.environ.get("TRACEHOUSE_SOURCES")
    return Path(given).resolve() if given else home() / "sources.local.toml"


def pseudonym_key_path() -> Path:
    """The key of all pseudonyms. Keep a copy of it, away from the warehouse."""
    return home() / "pseudonym.key"


def inbox() -> Path:
    return home() / "inbox"


def load_catalogue() -> Catalogue:
    """All sources. Raises CatalogueError with file, line and remedy."""
    main = _read_catalogue(PROJECT / "sources.toml")
    local = local_catalogue_path()
    if local.exists():
        main = _merge(main, _read_catalogue(local, main))
    elif os.environ.get("TRACEHOUSE_SOURCES"):
        raise CatalogueError(f"{local}: no such catalogue; TRACEHOUSE_SOURCES must name an existing TOML file")
    whole = _merge(main, Catalogue(_inbox_sources(main), main.time_zone, main.nightly_cron))
    for found in whole.vasp.values():
        if found.accounting and found.accounting not in whole.sources:
            known = ", ".join(whole.sources) or "none"
            raise CatalogueError(
                f"{found.declared_at}: [vasp.{found.name}] accounting = {found.accounting!r} is no source; known: {known}"
            )
    return whole


def inbox_name(path: Path) -> str:
    """Source name of a file in the inbox: its name without .swf, .log, .txt, .psv, .gz, .zst, .xz, odd characters made dashes."""
    stem = re.sub(r"(\.(swf|log|txt|psv|gz|zst|xz))+$", "", path.name)
    return re.sub(r"[^A-Za-z0-9_.\-]+", "-", stem).strip("-._") or "unnamed"


def add_source(
    name: str, log: Path, log_format: str, procs: int | None, time_zone: str | None, keep_names: bool = False
) -> str:
    """Declares a source in the second catalogue; returns the declaration it replaces there, or "".

    Raises CatalogueError for a bad name or time zone, or a name that `sources.toml` already has.
    """
    if not NAME.fullmatch(name):
        raise CatalogueError(f"bad source name {name!r}: use letters, digits, dots, dashes and underscores")
    bundled = _read_catalogue(PROJECT / "sources.toml")
    if name in bundled.sources:
        raise CatalogueError(
            f"source {name!r} is already in {bundled.sources[name].declared_at}; choose another --name"
        )
    if time_zone is not None and time_zone not in available_timezones():
        raise CatalogueError(f'unknown time zone {time_zone!r}; expected an IANA name such as "Europe/Berlin"')
    entry = [f"[sources.{_quoted(name)}]", f"format = {_toml_string(log_format)}"]
    entry.append(f"path = {_toml_string(str(log.resolve()))}")
    if procs is not None:
        entry.append(f"procs = {procs}")
    if time_zone is not None:
        entry.append(f"time_zone = {_toml_string(time_zone)}")
    if keep_names:
        entry.append("pseudonyms = []")
    return _edit_declaration("sources", name, "\n".join(entry) + "\n", bundled)


def add_vasp_source(name: str, folder: Path, time_zone: str | None, accounting: str | None) -> str:
    """Declares a folder of VASP runs in the second catalogue; returns the declaration it replaces there, or "".

    Raises CatalogueError for a bad name, time zone or accounting source, or a name that `sources.toml` already has.
    """
    if not NAME.fullmatch(name):
        raise CatalogueError(f"bad source name {name!r}: use letters, digits, dots, dashes and underscores")
    bundled = _read_catalogue(PROJECT / "sources.toml")
    if name in bundled.vasp:
        raise CatalogueError(f"{name!r} is already in {bundled.vasp[name].declared_at}; choose another --name")
    if accounting is not None:
        load_catalogue().source(accounting)
    local = local_catalogue_path()
    known = _read_catalogue(local, bundled).vasp.get(name) if local.exists() else None
    entry = [f"[vasp.{_quoted(name)}]", f"path = {_toml_string(str(folder.resolve()))}"]
    if known is not None:  # what is not given again stays
        time_zone, accounting = time_zone or known.time_zone, accounting or known.accounting or None
        entry += [f"quiet_s = {known.quiet_s}", f"description = {_toml_string(known.description)}"]
    entry += [f"time_zone = {_toml_string(time_zone)}"] if time_zone is not None else []
    entry += [f"accounting = {_toml_string(accounting)}"] if accounting is not None else []
    return _edit_declaration("vasp", name, "\n".join(entry) + "\n", bundled)


def remove_source(name: str, put_back: str, section: str = "sources") -> None:
    """Takes a source out of the second catalogue, or puts back the declaration that adding it has replaced."""
    _edit_declaration(section, name, put_back, _read_catalogue(PROJECT / "sources.toml"))


def _edit_declaration(section: str, name: str, new: str, bundled: Catalogue) -> str:
    """Replaces the declaration of one source in the second catalogue; everything else in the file stays as it is."""
    path = local_catalogue_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two `tracehouse ingest` at once must not lose each other's entry
        text = path.read_text() if path.exists() else "# Sources added by `tracehouse ingest`; edit freely.\n"
        lines = text.splitlines(keepends=True)
        table = rf"\[\s*{section}\s*\.\s*[\"']?{re.escape(name)}[\"']?\s*"
        first = next((i for i, line in enumerate(lines) if re.match(rf"\s*{table}\]", line)), len(lines))
        last = first
        for i in range(first, len(lines)):
            if i > first and re.match(r"\s*\[", lines[i]) and not re.match(rf"\s*{table}\.", lines[i]):
                break
            if lines[i].strip() and not lines[i].lstrip().startswith("#"):
                last = i + 1  # comments and blank lines after the last entry belong to what follows
        old = "".join(lines[first:last])
        if not new and first > 0 and last == len(lines) and not lines[first - 1].strip():
            first -= 1  # the blank line that came with it
        gap = "\n" if new and first == len(lines) else ""
        changed = "".join([*lines[:first], gap, new, *lines[last:]])
        _parse_catalogue(path, changed, bundled)  # never write what could not be read back
        temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        temporary.write_text(changed)
        temporary.replace(path)
    return old


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
    return Catalogue(first.sources | second.sources, second.time_zone, second.nightly_cron, first.vasp | second.vasp)


def _inbox_sources(known: Catalogue) -> dict[str, Source]:
    """Sources of the inbox by name; a name that is taken gives way to the file's full name."""
    declared = {source.path for source in known.sources.values()}
    found: dict[str, Source] = {}
    for path in sorted(inbox().iterdir()) if inbox().is_dir() else []:
        if path.name.startswith(".") or path.name.endswith(".part") or path.resolve() in declared:
            continue
        names = (inbox_name(path), re.sub(r"[^A-Za-z0-9_.\-]+", "-", path.name), f"inbox-{inbox_name(path)}")
        name = next((name for name in names if name not in known.sources and name not in found), None)
        if name is None:
            raise CatalogueError(f"{path}: no free name for this source; rename the file")
        found[name] = Source(
            name, "auto", path, description="found in the inbox", pseudonyms=DEFAULT, declared_at=str(path)
        )
    return found


def _read_catalogue(path: Path, defaults: Catalogue | None = None) -> Catalogue:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path}: cannot be read as a UTF-8 text file ({error})") from None
    return _parse_catalogue(path, text, defaults)


def _parse_catalogue(path: Path, text: str, defaults: Catalogue | None) -> Catalogue:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(f"{path}: not valid TOML: {error}") from None
    check = Checker(path, text)
    check.keys(document, {"time_zone", "nightly_cron", "sources", "vasp"}, None)
    time_zone = check.time_zone(document.get("time_zone", defaults.time_zone if defaults else "UTC"), None)
    cron = check.typed(document, "nightly_cron", str, None)
    if cron is None:
        cron = defaults.nightly_cron if defaults else "0 3 * * *"
    if not is_cron(cron):
        check.fail(None, "nightly_cron", f'expected five cron fields such as "0 3 * * *", found {cron!r}')
    sources = {name: check.source(name, table, time_zone) for name, table in check.tables(document)}
    of_vasp = Checker(path, text, "vasp")
    vasp = {name: vasp_source(of_vasp, name, table) for name, table in of_vasp.tables(document)}
    return Catalogue(sources, time_zone, cron, vasp)


class Checker:
    """Turns the TOML tables [section.NAME] into sources, or fails with the file, the line, what was expected and what to do."""

    def __init__(self, path: Path, text: str, section: str = "sources") -> None:
        self.path = path
        self.section = section
        self.lines = _lines_of(text)

    def tables(self, document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """(name, table) of each table of the section."""
        tables = document.get(self.section, {})
        if not isinstance(tables, dict):
            self.fail(None, self.section, f"expected tables like [{self.section}.NAME]")
        for name, table in tables.items():
            if not NAME.fullmatch(name):
                self.fail(name, None, f"bad source name {name!r}: use letters, digits, dots, dashes and underscores")
            if not isinstance(table, dict):
                self.fail(name, None, f"expected a table [{self.section}.{name}]")
        return list(tables.items())

    def source(self, name: str, table: dict[str, Any], time_zone: str) -> Source:
        allowed = {f.name for f in fields(Source)} - {"name", "declared_at"}
        self.keys(table, allowed, name)
        log_format = self.typed(table, "format", str, name)
        if log_format is None:
            self.fail(name, None, f"`format` is missing; expected one of {', '.join(FORMATS)}")
        if log_format not in FORMATS:
            self.fail(name, "format", f"unknown format {log_format!r}; expected one of {', '.join(FORMATS)}")
        log_path, generator = self.typed(table, "path", str, name), table.get("generator", {})
        if not isinstance(generator, dict):
            self.fail(name, "generator", "expected a table of generator options")
        if log_path == "":
            self.fail(name, "path", "`path` is empty; give the log file or the folder of log files")
        if (log_path is None) == (not generator):
            self.fail(name, None, "give either `path` (a log) or `generator` (options of a synthetic log)")
        procs = self.typed(table, "procs", int, name)
        if procs is not None and procs < 1:
            self.fail(name, "procs", f"a cluster has at least 1 processor, found {procs}")
        cluster = {key: self.typed(table, key, int, name) for key in ("nodes", "gpus", "node_memory_gb")}
        for key, amount in cluster.items():
            if amount is not None and amount < 1:
                self.fail(name, key, f"{key} must be at least 1, found {amount}; leave it out where there are none")
        if generator:
            if procs is None:
                self.fail(name, "generator", "a generated source needs `procs`, the processors of its cluster")
            self.generator(name, generator, procs or 1)
        return Source(
            name,
            log_format or "",
            (self.path.parent / log_path).resolve() if log_path else None,
            procs,
            self.time_zone(table["time_zone"], name) if "time_zone" in table else time_zone if generator else None,
            self.typed(table, "description", str, name) or "",
            bool(self.typed(table, "drop_wider", bool, name)),
            self.typed(table, "columns", str, name) or "",
            self.pseudonyms(name, table) if log_path else (),
            **cluster,
            generator=generator,
            declared_at=f"{self.path}:{self.line(name, None)}",
        )

    def pseudonyms(self, name: str, table: dict[str, Any]) -> tuple[str, ...]:
        kinds = table.get("pseudonyms", list(DEFAULT))
        if not isinstance(kinds, list) or not all(kind in KINDS for kind in kinds):
            self.fail(
                name, "pseudonyms", f"expected a list of {', '.join(KINDS)} ([] keeps all names), found {kinds!r}"
            )
        return tuple(kinds)

    def generator(self, name: str, options: dict[str, Any], procs: int) -> None:
        from traces.workload import WorkloadOptions

        declared = [f for f in fields(WorkloadOptions) if f.name != "procs"]
        known = {f.name for f in declared}
        for key in options:
            if key not in known:
                self.fail(
                    name, ("generator", key), f"unknown generator option {key!r}; expected {', '.join(sorted(known))}"
                )
        missing = [f.name for f in declared if f.default is MISSING and f.name not in options]
        if missing:
            self.fail(name, "generator", f"generator options are missing: {', '.join(missing)}")
        try:
            WorkloadOptions(procs=procs, **options)
        except ValueError as error:
            self.fail(name, "generator", f"bad generator options: {error}")

    def keys(self, table: dict[str, Any], allowed: set[str], source: str | None) -> None:
        for key in table:
            if key not in allowed:
                self.fail(source, key, f"unknown key {key!r}; expected one of {', '.join(sorted(allowed))}")

    def typed(self, table: dict[str, Any], key: str, kind: type, source: str | None) -> Any:
        value = table.get(key)
        if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            self.fail(source, key, f"{key} must be a {kind.__name__}, found {value!r}")
        return value

    def time_zone(self, value: Any, source: str | None) -> str:
        try:
            ZoneInfo(value)
        except Exception:  # zoneinfo raises ValueError, OSError or its own error, by the kind of nonsense
            self.fail(
                source, "time_zone", f'unknown time zone {value!r}; expected an IANA name such as "Europe/Berlin"'
            )
        return str(value)

    def fail(self, source: str | None, key: str | tuple[str, ...] | None, problem: str) -> None:
        where = f" [{self.section}.{source}]" if source else ""
        raise CatalogueError(f"{self.path}:{self.line(source, key)}:{where} {problem}")

    def line(self, source: str | None, key: str | tuple[str, ...] | None) -> int:
        """The line of the key within the source, else that of the source, else 1."""
        table = (self.section, source) if source is not None else ()
        keys = (key,) if isinstance(key, str) else key or ()
        return next((self.lines[path] for path in ((*table, *keys), table) if path in self.lines), 1)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_\-]+", name) else f'"{name}"'


def _toml_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Path of every table and key of a TOML text -> the line where it first appears; values are not looked into, but
    for inline tables of one line."""
    found: dict[tuple[str, ...], int] = {}
    no_table: tuple[str, ...] = ()
    table = no_table
    statement, first = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        if not statement:
            first = number
        statement += line + "\n"
        try:
            parsed = tomllib.loads(statement)  # a table header, or key = value, which may go on over several lines
        except tomllib.TOMLDecodeError:
            continue
        statement = ""
        paths = _paths(parsed)
        if line.lstrip().startswith("["):
            table = paths[-1] if paths else ()
            paths, prefix = [table[:i] for i in range(1, len(table) + 1)], no_table
        else:
            prefix = table
        for path in paths:
            found.setdefault((*prefix, *path), first)
    return found


def _paths(value: Any) -> list[tuple[str, ...]]:
    if isinstance(value, list):  # [[an array of tables]]
        value = value[0] if value else {}
    if not isinstance(value, dict):
        return []
    return [path for key, inner in value.items() for path in [(key,), *((key, *rest) for rest in _paths(inner))]]
