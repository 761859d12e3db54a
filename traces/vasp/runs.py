"""Folders of VASP runs: which of them are runs, and what each tells, as tables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from traces.common.blocks import LogStream
from traces.common.log import LogError
from traces.vasp.inputs import read_incar, read_kpoints, read_poscar
from traces.vasp.oszicar import PrintedStep, add_residuals, ending, job_id_of, read_oszicar
from traces.vasp.outcar import INTEGERS, REALS, SETTINGS, SWITCHES, Launch, cut_before_table, read_outcar

VERSION = "1"
"""Of the reader: folders that another one has read are read again."""
_OUTCAR = re.compile(r"OUTCAR(?:\.(?!bz2$)[A-Za-z0-9_\-]+)*$")
_PRINTED = re.compile(r"(?:slurm-[\d_]+\.out|.*\.[oe]\d+|.*\.(?:out|err)|vasp[._]?log|std_?(?:out|err).*)$", re.I)
_READ = ("OSZICAR", "INCAR", "KPOINTS", "POSCAR")
_IMAGES = re.compile(rb"^[ \t]*IMAGES[ \t]*=", re.M | re.I)
_OF_VASP = ("OUTCAR", "OSZICAR", "INCAR", "KPOINTS", "POSCAR", "CONTCAR", "XDATCAR", "vasprun.xml")
_LARGEST_PRINTED = 64 << 20
_SAME_END = timedelta(seconds=60)
"""An output that tells of the end was written no longer before the OUTCAR's last change."""
_TAIL = 64 << 10
_SETTING_TYPES: dict[str, Any] = dict.fromkeys(INTEGERS, pl.Int64) | dict.fromkeys(REALS, pl.Float64)
_SETTING_TYPES |= dict.fromkeys(SWITCHES, pl.Boolean)

RUN_SCHEMA: dict[str, Any] = {
    "folder": pl.String, "outcar": pl.String, "launch": pl.Int64, "job_folder": pl.String, "image": pl.Int64,
    "state": pl.String, "state_reason": pl.String, "converged": pl.Boolean, "started_at": pl.Datetime("us"),
    "elapsed_s": pl.Float64, "loops_s": pl.Float64, "changed_at": pl.Datetime("us"), "job_id": pl.String,
    "version": pl.String, "architecture": pl.String, "cores": pl.Int64, "nodes": pl.Int64, "threads": pl.Int64,
    "kpar": pl.Int64, "ncore": pl.Int64, "image_cores": pl.Int64, "elements": pl.String, "element_types": pl.Int64,
    "volume_a3": pl.Float64, "kpoints_method": pl.String, "hubbard_u": pl.Boolean,
    **{name.lower(): _SETTING_TYPES.get(name, pl.String) for name in SETTINGS},
    "electronic_steps": pl.Int64, "ionic_steps": pl.Int64, "residuals_told": pl.Int64, "outcar_bytes": pl.Int64,
}  # fmt: skip
"""One row per launch; see sql/tables/raw/vasp_runs.sql for units."""
_KEY = {"folder": pl.String, "outcar": pl.String, "launch": pl.Int64}
ELECTRONIC_SCHEMA: dict[str, Any] = _KEY | {
    "position": pl.Int64, "ionic_step": pl.Int64, "step": pl.Int64, "seconds": pl.Float64, "energy_ev": pl.Float64,
    "energy_change_ev": pl.Float64, "band_energy_change_ev": pl.Float64, "minimisations": pl.Int64, "residual": pl.Float64,
    "charge_residual": pl.Float64, "algorithm": pl.String,
}  # fmt: skip
IONIC_SCHEMA: dict[str, Any] = _KEY | {
    "position": pl.Int64, "ionic_step": pl.Int64, "electronic_steps": pl.Int64, "seconds": pl.Float64,
    "overflowed": pl.Boolean, "energy_ev": pl.Float64, "largest_force_ev_per_a": pl.Float64,
    "rms_force_ev_per_a": pl.Float64, "electronically_converged": pl.Boolean,
}  # fmt: skip
REJECT_SCHEMA: dict[str, Any] = {"folder": pl.String, "file": pl.String, "reason": pl.String}


@dataclass(frozen=True)
class Folder:
    """One folder below the root of a source that is, or should be, a run.

    name: below the root, "." for the root itself; what is not UTF-8 in it appears as \\xNN. outcars: names of its OUTCARs;
    others: whatever else is read, below this folder or, for an image, the one above. stamp: changes when one of these files
    does; changed_s: when one last did, Unix seconds. image: number of a NEB image, whose job is the folder above.
    faults: (file or "", why it is no run or no part of one).
    """

    path: Path
    name: str
    outcars: tuple[str, ...] = ()
    others: tuple[Path, ...] = ()
    stamp: str = ""
    changed_s: float = 0.0
    image: int | None = None
    faults: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ReadFolder:
    """Rows of a folder, as RUN_SCHEMA, ELECTRONIC_SCHEMA, IONIC_SCHEMA and REJECT_SCHEMA have their columns."""

    run_rows: list[dict[str, Any]]
    electronic_rows: list[tuple[Any, ...]]
    ionic_rows: list[tuple[Any, ...]]
    reject_rows: list[tuple[str, str, str]]

    @property
    def runs(self) -> pl.DataFrame:
        return tables_of([self])[0]

    @property
    def electronic(self) -> pl.DataFrame:
        return tables_of([self])[1]

    @property
    def ionic(self) -> pl.DataFrame:
        return tables_of([self])[2]

    @property
    def rejects(self) -> pl.DataFrame:
        return tables_of([self])[3]


def tables_of(folders: list[ReadFolder]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """(runs, electronic, ionic, rejects) of many folders at once: making a frame takes longer than reading a small run."""
    return (
        pl.DataFrame([row for read in folders for row in read.run_rows], schema=RUN_SCHEMA),
        pl.DataFrame([row for read in folders for row in read.electronic_rows], schema=ELECTRONIC_SCHEMA, orient="row"),
        pl.DataFrame([row for read in folders for row in read.ionic_rows], schema=IONIC_SCHEMA, orient="row"),
        pl.DataFrame([row for read in folders for row in read.reject_rows], schema=REJECT_SCHEMA, orient="row"),
    )


def find_runs(root: Path) -> Iterator[Folder]:
    """Every folder below `root` that has files of VASP, or nothing at all, in the order of their names.

    A folder that has only folders, or files of something else, is neither a run nor a reject. Raises LogError when there is
    no such folder.
    """
    if not root.is_dir():
        raise LogError(f"{root}: no such folder; give the folder that the VASP runs are in, or one above it")
    unreadable: list[tuple[Path, OSError]] = []
    visited: set[tuple[int, int]] = set()

    def denied(error: OSError) -> None:
        unreadable.append((Path(error.filename), error))

    for where, below, files in os.walk(root, onerror=denied, followlinks=True):
        path = Path(where)
        try:
            status = path.stat()
            if (status.st_dev, status.st_ino) in visited:  # a link back to where we have been
                below.clear()
                continue
            visited.add((status.st_dev, status.st_ino))
            below.sort()
            found = _folder(root, path, below, files)
        except OSError as error:
            unreadable.append((path, error))
            continue
        if found is not None:
            yield found
    for path, reason in unreadable:
        fault = f"cannot be read ({reason.strerror}); check its permissions"
        yield Folder(path, _name(root, path), faults=(("", fault),))


def _folder(root: Path, path: Path, below: list[str], files: list[str]) -> Folder | None:
    name = _name(root, path)
    outcars = tuple(sorted(file for file in files if _OUTCAR.match(file)))
    odd = sorted(file for file in files if file.startswith("OUTCAR") and file not in outcars)
    faults = [
        (file, "a name that is not read: expected OUTCAR or OUTCAR.something, plain or packed as .gz, .zst or .xz")
        for file in odd
    ]
    image = int(path.name) if re.fullmatch(r"\d\d", path.name) and _is_neb(path.parent) else None
    if outcars:
        others = [path / file for file in files if file in _READ or _PRINTED.match(file)]
        if image is not None:
            with os.scandir(path.parent) as above:
                others += [Path(e.path) for e in above if e.name in _READ[1:] or _PRINTED.match(e.name)]
        read = sorted(other for other in others if other.is_file() or not other.exists())  # no pipes
        stamp, changed_s = _stamp([*(path / file for file in outcars), *read])
        return Folder(path, name, outcars, tuple(read), stamp, changed_s, image, tuple(faults))
    if faults:
        return Folder(path, name, faults=tuple(faults))
    if image is not None:
        return None  # an end point of a NEB: VASP does not run it
    if any(file.startswith(_OF_VASP) for file in files):
        if _is_neb(path):
            return None  # its images lie in folders of their own
        return Folder(path, name, faults=(("", "no OUTCAR: not started, or removed"),))
    if not below and not files:
        return Folder(path, name, faults=(("", "an empty folder"),))
    return None


def _is_neb(path: Path) -> bool:
    """Whether the INCAR in a folder asks for images."""
    try:
        incar = path / "INCAR"
        return incar.is_file() and _IMAGES.search(incar.read_bytes()) is not None
    except OSError:
        return False


def read_folder(folder: Folder, time_zone: str = "UTC", now: datetime | None = None, quiet_s: int = 900) -> ReadFolder:
    """Everything that the files of a run tell. What cannot be read is a reject; the rest of the folder is kept.

    time_zone: of the cluster's clock, which OUTCAR tells. now: UTC, without zone; a run without an end whose OUTCAR was
    written to in the last `quiet_s` seconds before it is running.
    """
    rejects = [(folder.name, file, reason) for file, reason in folder.faults]
    runs, electronic, ionic = [], [], []
    poscar = _text(folder, "POSCAR", rejects)
    free = read_poscar(poscar) if poscar else None
    incar = read_incar(_text(folder, "INCAR", rejects) or "")
    kpoints = read_kpoints(_text(folder, "KPOINTS", rejects) or "")
    printed, last_words, job_id = _printed(folder, rejects)
    newest = _newest(folder)
    for name in folder.outcars:
        launches, fault, size, changed = _launches(folder.path / name, free)
        if fault:
            rejects.append((folder.name, name, fault))
        for number, launch in enumerate(launches, start=1):
            last = number == len(launches) and name == newest
            told = next((n for steps in printed if (n := add_residuals(launch, steps))), 0) if last else 0
            key = (folder.name, name, number)
            # an output that is older than the OUTCAR is of an earlier job
            words = last_words[1] if last and last_words and last_words[0] >= changed - _SAME_END else None
            state, reason = _state(launch, words, number == len(launches), changed, now, quiet_s)
            row = _run_row(key, folder, launch, incar, kpoints, time_zone)
            row |= {
                "state": state, "state_reason": reason, "changed_at": changed, "residuals_told": told, "outcar_bytes": size,
                "job_id": job_id if last else None,
            }  # fmt: skip
            runs.append(row)
            electronic += [(*key, at, *vars(step).values()) for at, step in enumerate(launch.electronic, start=1)]
            ionic += [(*key, at, *vars(step).values()) for at, step in enumerate(launch.ionic, start=1)]
    return ReadFolder(runs, electronic, ionic, rejects)


def _launches(path: Path, free: Any) -> tuple[list[Launch], str, int, datetime]:
    """(launches, what is wrong with the file or "", its size, its last change in UTC)."""
    stream = LogStream(path, cut_before_table)
    fault = ""

    def whole_lines() -> Iterator[bytes]:
        nonlocal fault
        try:
            for block in stream:
                # half a line at the end of a file that is being written tells nothing, or something wrong
                yield block.content[: block.content.rfind(b"\n") + 1] if not block.too_long else b""
        except LogError as error:
            fault = str(error).removeprefix(f"{path}: ")

    launches = read_outcar(whole_lines(), free)
    changed = datetime(1970, 1, 1) + timedelta(microseconds=stream.modified_ns // 1000)
    if not launches and not fault:
        fault = (
            "OUTCAR is empty" if stream.size_bytes == 0 else "not an OUTCAR: no line tells where it was `executed on`"
        )
    elif launches and fault:
        fault = f"{fault}; what stands before the damage was read"
    return launches, fault, stream.size_bytes, changed


def _run_row(
    key: tuple[str, str, int],
    folder: Folder,
    launch: Launch,
    incar: dict[str, Any],
    kpoints: str | None,
    time_zone: str,
) -> dict[str, Any]:
    settings = launch.settings
    row: dict[str, Any] = dict(zip(_KEY, key, strict=True))
    for name in SETTINGS:
        value = settings.get(name)
        row[name.lower()] = incar.get(name) if value is None else value
    for name in (
        "cores",
        "nodes",
        "threads",
        "kpar",
        "ncore",
        "image_cores",
        "element_types",
        "volume_a3",
        "hubbard_u",
    ):
        row[name] = settings.get(name)
    started = launch.started_at
    if started is not None:
        try:
            started = started.replace(tzinfo=ZoneInfo(time_zone)).astimezone(ZoneInfo("UTC")).replace(tzinfo=None)
        except OverflowError:  # the first or the last year of all
            started = None
    trailing = launch.electronic[sum(step.electronic_steps for step in launch.ionic) :]
    above, _, _ = folder.name.rpartition("/")
    return row | {
        "job_folder": (above or ".") if folder.image is not None else folder.name,
        "image": folder.image,
        "version": launch.version,
        "architecture": launch.architecture,
        "started_at": started,
        "elapsed_s": launch.elapsed_s,
        "loops_s": sum(step.seconds or 0.0 for step in launch.ionic) + sum(step.seconds or 0.0 for step in trailing),
        "converged": launch.converged,
        "elements": " ".join(settings.get("elements") or []) or None,
        "kpoints_method": kpoints or ("automatic" if settings.get("automatic_mesh") else None),
        "electronic_steps": len(launch.electronic),
        "ionic_steps": len(launch.ionic),
    }


def _state(
    launch: Launch, words: tuple[str, str] | None, last: bool, changed: datetime, now: datetime | None, quiet_s: int
) -> tuple[str, str | None]:
    if launch.finished:
        return "finished", None
    if not last:
        return "cut_off", "started again in the same file"
    if words is not None:
        return words
    if now is not None and now - changed <= timedelta(seconds=quiet_s):
        return "running", None
    return "cut_off", None


def _printed(
    folder: Folder, rejects: list[tuple[str, str, str]]
) -> tuple[list[list[PrintedStep]], tuple[datetime, tuple[str, str]] | None, str | None]:
    """(electronic steps as OSZICAR and each output tell them, when and how the run ended, number of its batch job). Of several
    outputs the newest tells the last two."""
    steps: list[list[PrintedStep]] = []
    told: list[tuple[int, list[int], tuple[str, str] | None, str | None]] = []
    for path in sorted(folder.others, key=lambda path: path.name != "OSZICAR"):
        if path.name in _READ[1:]:
            continue
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                content = file.read(_LARGEST_PRINTED)
                if status.st_size > len(content):
                    file.seek(max(status.st_size - _TAIL, 0))
                tail = file.read(_TAIL) if status.st_size > len(content) else content[-_TAIL:]
        except OSError as error:
            rejects.append((folder.name, path.name, f"cannot be read ({error.strerror}); check its permissions"))
            continue
        steps.append(read_oszicar(content[: content.rfind(b"\n") + 1]))
        if path.name != "OSZICAR":
            numbers = [
                int(number) for number in re.findall(r"\d{1,15}", path.name)
            ]  # of two written at once, the later job
            told.append((status.st_mtime_ns, numbers, ending(tail), job_id_of(path.name, tail)))
    if not told:
        return steps, None, None
    # standard output and standard error of one job are two files: words of either, from the newest with a number on
    told.sort(key=lambda found: found[:2], reverse=True)
    job_id = next((found[3] for found in told if found[3]), None)
    for written_ns, _, words, of_job in told:
        if words and of_job in (job_id, None):
            return steps, (datetime(1970, 1, 1) + timedelta(microseconds=written_ns // 1000), words), job_id
    return steps, None, job_id


def _text(folder: Folder, name: str, rejects: list[tuple[str, str, str]]) -> str | None:
    """An input file of the run, or of the job that the image belongs to."""
    here = [path for path in folder.others if path.name == name]
    for path in sorted(here, key=lambda path: path.parent != folder.path):
        try:
            with path.open("rb") as file:
                return file.read(_LARGEST_PRINTED).decode("utf-8", "backslashreplace")
        except OSError as error:
            rejects.append((folder.name, name, f"cannot be read ({error.strerror}); check its permissions"))
    return None


def _newest(folder: Folder) -> str:
    """The OUTCAR that OSZICAR belongs to: the plain one, else the one that was written to last."""
    plain = [name for name in folder.outcars if name in ("OUTCAR", "OUTCAR.gz", "OUTCAR.zst", "OUTCAR.xz")]
    return plain[0] if plain else max(folder.outcars, key=lambda name: _changed(folder.path / name), default="")


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _stamp(files: list[Path]) -> tuple[str, float]:
    """(names, sizes and times, the newest time)."""
    parts, newest = [], 0
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        parts.append(f"{file.name}:{status.st_size}:{status.st_mtime_ns}")
        newest = max(newest, status.st_mtime_ns)
    return " ".join(parts), newest / 1e9


def _name(root: Path, path: Path) -> str:
    return os.fsencode(path.relative_to(root).as_posix()).decode("utf-8", "backslashreplace")
