"""What the files of a VASP run say, as rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any
from zoneinfo import ZoneInfo

from traces.common.blocks import LogStream
from traces.common.log import LogError, refuse_other_than_file
from traces.vasp.folders import READ_FILES, RunFolder
from traces.vasp.inputs import read_incar, read_kpoints, read_poscar
from traces.vasp.oszicar import PrintedStep, add_residuals, ending, job_id_of, read_oszicar
from traces.vasp.outcar import Launch, cut_before_table, read_outcar
from traces.vasp.settings import VASP_SETTINGS
from traces.vasp.tables import LAUNCH_KEY, ReadFolder

VASP_READER_VERSION = "4"
"""Raise it when the same files give other rows: each folder is then read again."""
_NO_HEAD = "its head is missing: the steps behind it were read, and what only the head tells is unknown"
_NO_MIDDLE = "lines are missing in the middle of it: the steps that are left were read"
_LARGEST_PRINTED = 64 << 20
_SAME_END = timedelta(seconds=60)
"""An output that tells of the end was written no longer before the OUTCAR's last change."""
_TAIL = 64 << 10
_COPIED_SETTINGS = (
    "cores",
    "nodes",
    "threads",
    "kpar",
    "ncore",
    "image_cores",
    "element_types",
    "volume_a3",
    "hubbard_u",
)


def read_folder(
    folder: RunFolder, time_zone: str = "UTC", now: datetime | None = None, quiet_s: int = 900
) -> ReadFolder:
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
    outcars = {name: _launches(folder.path / name, free) for name in folder.outcars}
    begun = [(one.started_at, name) for name, (launches, *_) in outcars.items() for one in launches if one.started_at]
    for name, (launches, fault, size, changed) in outcars.items():
        faults = [_NO_HEAD] * any(one.headless for one in launches) + [_NO_MIDDLE] * any(
            o.interrupted for o in launches
        )
        rejects += [(folder.name, name, reason) for reason in (fault, *faults) if reason]
        for number, launch in enumerate(launches, start=1):
            last = number == len(launches) and name == newest
            residuals = next((n for steps in printed if (n := add_residuals(launch, steps))), 0) if last else 0
            key = (folder.name, name, number)
            # an output that is older than the OUTCAR is of an earlier job
            words = last_words[1] if last and last_words and last_words[0] >= changed - _SAME_END else None
            written = changed if name == newest else None
            again = _started_again(launch, name, number == len(launches), begun)
            state, reason = _state(launch, words, again, written, now, quiet_s)
            row = _run_row(key, folder, launch, incar, kpoints, time_zone)
            row |= {"state": state, "state_reason": reason, "changed_at": changed, "job_id": job_id if last else None}
            runs.append(row | {"residuals_told": residuals, "outcar_bytes": size})
            electronic += [(*key, at, *vars(step).values()) for at, step in enumerate(launch.electronic, start=1)]
            ionic += [(*key, at, *vars(step).values()) for at, step in enumerate(launch.ionic, start=1)]
    return ReadFolder(runs, electronic, ionic, rejects)


def _launches(path: Path, free: Any) -> tuple[list[Launch], str, int, datetime]:
    """(launches, what is wrong with the file or "", its size, its last change in UTC)."""
    stream = LogStream(path, cut_before_table, open_file=_open_run_file)
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
            "OUTCAR is empty"
            if stream.size_bytes == 0
            else "not an OUTCAR: no line tells where it was `executed on`, or how long a step took"
        )
    elif launches and fault:
        fault = f"{fault}; what stands before the damage was read"
    return launches, fault, stream.size_bytes, changed


def _open_run_file(path: Path) -> IO[bytes]:
    """Which links are followed is a rule of its own: `traces.vasp.folders`."""
    refuse_other_than_file(path, path.stat().st_mode)
    return path.open("rb")


def _run_row(
    key: tuple[str, str, int],
    folder: RunFolder,
    launch: Launch,
    incar: dict[str, Any],
    kpoints: str | None,
    time_zone: str,
) -> dict[str, Any]:
    settings = launch.settings
    row: dict[str, Any] = dict(zip(LAUNCH_KEY, key, strict=True))
    for name in VASP_SETTINGS:
        value = settings.get(name)
        row[name.lower()] = incar.get(name) if value is None else value
    functional = incar.get("METAGGA")
    if functional and functional.startswith(row["metagga"]):  # VASP 5 and 6.1 print five letters of it
        row["metagga"] = functional
    row |= {name: settings.get(name) for name in _COPIED_SETTINGS}
    started = launch.started_at
    if started is not None:
        try:
            started = started.replace(tzinfo=ZoneInfo(time_zone)).astimezone(ZoneInfo("UTC")).replace(tzinfo=None)
        except OverflowError:  # the first or the last year of all
            started = None
    above, _, _ = folder.name.rpartition("/")
    return row | {
        "job_folder": (above or ".") if folder.image is not None else folder.name,
        "image": folder.image,
        "version": launch.version,
        "architecture": launch.architecture,
        "started_at": started,
        "elapsed_s": launch.elapsed_s,
        "loops_s": sum(step.seconds or 0.0 for step in launch.ionic) + launch.outside_s,
        "converged": launch.converged,
        "missing": " and ".join(["head"] * launch.headless + ["middle"] * launch.interrupted) or None,
        "elements": " ".join(settings.get("elements") or []) or None,
        "kpoints_method": kpoints or ("automatic" if settings.get("automatic_mesh") else None),
        "electronic_steps": len(launch.electronic),
        "ionic_steps": len(launch.ionic),
    }


def _started_again(launch: Launch, name: str, last: bool, begun: list[tuple[datetime, str]]) -> str | None:
    """Where the run was started again next after this launch, or None. begun: when launches of the folder began, in which file.

    Of two that began in the same second, the first by name."""
    if not last:
        return "started again in the same file"
    later = [(at, other) for at, other in begun if launch.started_at and at > launch.started_at and other != name]
    return f"started again in {min(later)[1]}" if later else None


def _state(
    launch: Launch,
    words: tuple[str, str] | None,
    again: str | None,
    written: datetime | None,
    now: datetime | None,
    quiet_s: int,
) -> tuple[str, str | None]:
    """(how it ended, the reason). again: as `_started_again` says. written: last change of the file that VASP writes to, None
    for a file beside it."""
    if launch.finished:
        return "finished", None
    if again is not None:
        return "cut_off", again
    if words is not None:
        return words
    if now is not None and written is not None and now - written <= timedelta(seconds=quiet_s):
        return "running", None
    return "cut_off", None


def _printed(
    folder: RunFolder, rejects: list[tuple[str, str, str]]
) -> tuple[list[list[PrintedStep]], tuple[datetime, tuple[str, str]] | None, str | None]:
    """(electronic steps of OSZICAR and of each output, when and how the run ended, number of its batch job).

    Where there are several outputs, the last two come from the newest.
    """
    steps: list[list[PrintedStep]] = []
    outputs: list[tuple[int, list[int], tuple[str, str] | None, str | None]] = []
    for path in sorted(folder.others, key=lambda path: path.name != "OSZICAR"):
        if path.name in READ_FILES[1:]:
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
            # of two written at once, the later job
            numbers = [int(number) for number in re.findall(r"\d{1,15}", path.name)]
            outputs.append((status.st_mtime_ns, numbers, ending(tail), job_id_of(path.name, tail)))
    if not outputs:
        return steps, None, None
    # standard output and standard error of one job are two files: words of either, from the newest with a number on
    outputs.sort(key=lambda output: output[:2], reverse=True)
    job_id = next((output[3] for output in outputs if output[3]), None)
    for written_ns, _, words, of_job in outputs:
        if words and of_job in (job_id, None):
            return steps, (datetime(1970, 1, 1) + timedelta(microseconds=written_ns // 1000), words), job_id
    return steps, None, job_id


def _text(folder: RunFolder, name: str, rejects: list[tuple[str, str, str]]) -> str | None:
    """An input file of the run, or of the job that the image belongs to."""
    here = [path for path in folder.others if path.name == name]
    for path in sorted(here, key=lambda path: path.parent != folder.path):
        try:
            with path.open("rb") as file:
                return file.read(_LARGEST_PRINTED).decode("utf-8", "backslashreplace")
        except OSError as error:
            rejects.append((folder.name, name, f"cannot be read ({error.strerror}); check its permissions"))
    return None


def _newest(folder: RunFolder) -> str:
    """The OUTCAR that OSZICAR belongs to: the plain one, else the one that was written to last."""
    plain = [name for name in folder.outcars if name in ("OUTCAR", "OUTCAR.gz", "OUTCAR.zst", "OUTCAR.xz")]
    return plain[0] if plain else max(folder.outcars, key=lambda name: _changed(folder.path / name), default="")


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
