"""OUTCAR, VASP's main output, versions 4.6 to 6.5: what a run was told, its electronic and ionic steps with their times, its end.

A file is read block by block; a few words are looked for, and only the lines around them are taken apart. So whatever else stands
in it (foreign messages, NUL bytes, tables) costs little and does no harm. A file may hold several launches one after another
(a restart that was appended), may be growing, and may end anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORDS = (
    b"vasp.",
    b"executed on",
    b"Iteration",
    b"LOOP",
    b"minimisations  ",
    b"energy-change",
    b"rms(total)",
    b"free energy    TOTEN",
    b"free  energy   TOTEN",
    b"TOTAL-FORCE",
    b"EDIFF ",
    b"reached required",
    b"Elapsed time",
    b"General timing",
)
"""What lines worth reading contain; `bytes.find` goes through a file many times faster than a regular expression."""

_VERSION = re.compile(rb"(?:^|\s)(vasp\.\d+\.\d\S*)")
_EXECUTED = re.compile(rb"^\s*executed on\s+(.+?)\s+date\s+(\d{4})\.(\d\d)\.(\d\d)\s+(\d\d):(\d\d):(\d\d)")
_ITERATION = re.compile(rb"^\s*-+ Iteration\s*([\d*]*)\(\s*([\d*]+)\)\s*-+")
_LOOP = re.compile(rb"^\s*(LOOP\+?):\s+(?:cpu|VPU) time\s*(\*+|-?\d+\.\d+)\s*:\s+(?:real|CPU) time\s*(\*+|-?\d+\.\d+)")
_NUMBER = rb"([+-]?\d*\.\d+(?:[ED][+-]?\d+|[+-]\d{3})?|\*+|NaN|[+-]?Infinity)"
_CHANGE = re.compile(rb"^\s*total energy-change \(2\. order\)\s*:\s*" + _NUMBER + rb"\s*\(\s*" + _NUMBER)
_NCG = re.compile(rb"^\s*eigenvalue-minimisations\s*:\s*(\d+)")
_RMS = re.compile(rb"rms\(total\)\s*=\s*" + _NUMBER)
_TOTEN = re.compile(rb"TOTEN\s*=\s*" + _NUMBER)
_EDIFF = re.compile(rb"aborting loop (because EDIFF is reached|EDIFF was not reached)")
_ELAPSED = re.compile(rb"^\s*Elapsed time \(sec\):\s*([\d.]+|\*+)")
_TOTAL_CORES = re.compile(rb"^\s*running on\s*(\d+)\s+(?:total cores|nodes)", re.M)
_RANKS = re.compile(rb"^\s*running\s*(\d+) mpi-ranks(?:, with\s*(\d+) threads/rank)?(?:, on\s*(\d+) nodes)?", re.M)
_KPAR = re.compile(rb"^\s*distrk:\s+each k-point on\s*(\d+) cores,\s*(\d+) groups", re.M)
_NCORE = re.compile(
    rb"^\s*distr:\s+one band on\s*(?:NCORES?(?:_PER_BAND)?=)?\s*(\d+) (?:cores|nodes),\s*(\d+) groups", re.M
)
_IMAGE = re.compile(rb"^\s*each image running on\s*(\d+)", re.M)
_SETTING = re.compile(rb"([A-Z][A-Z0-9_]*)[ \t]*=[ \t]*([^\s;=]+)")
_ELEMENT = re.compile(rb"VRHFIN\s*=\s*([A-Z][a-z]?)\s*:")
_POTENTIAL = re.compile(rb"^\s*POTCAR:\s+\S+\s+([A-Z][a-z]?)(?![a-z])", re.M)
_IONS_PER_TYPE = re.compile(rb"ions per type =([ \d]+)")
_VOLUME = re.compile(rb"volume of cell\s*:\s*([\d.]+)")

INTEGERS = (
    "NSW",
    "NELM",
    "NELMIN",
    "NELMDL",
    "ISPIN",
    "IALGO",
    "ISTART",
    "ICHARG",
    "ISYM",
    "ISMEAR",
    "IBRION",
    "ISIF",
    "NKPTS",
    "NBANDS",
    "NIONS",
    "NGX",
    "NGY",
    "NGZ",
    "LEXCH",
    "IVDW",
)
REALS = ("NELECT", "ENCUT", "EDIFF", "EDIFFG", "SIGMA", "POTIM")
SWITCHES = ("LREAL", "LHFCALC", "LSORBIT", "LNONCOLLINEAR", "LEPSILON", "LWAVE", "LCHARG")
WORDS = ("PREC", "GGA", "METAGGA")
VASP_SETTINGS = (*INTEGERS, *REALS, *SWITCHES, *WORDS)
"""Input parameters of a launch, as VASP calls them; OUTCAR tells the value in force, defaults included."""


@dataclass
class ElectronicStep:
    """One LOOP line and what belongs to it; None where the file does not tell (yet)."""

    ionic_step: int | None
    step: int | None
    seconds: float | None
    energy_ev: float | None = None
    energy_change_ev: float | None = None
    band_energy_change_ev: float | None = None
    minimisations: int | None = None
    residual: float | None = None
    charge_residual: float | None = None
    algorithm: str | None = None


@dataclass
class IonicStep:
    """One LOOP+ line and what belongs to it. overflowed: the field was full of `*`, `seconds` is the sum of the LOOPs."""

    ionic_step: int | None
    electronic_steps: int
    seconds: float | None
    overflowed: bool
    energy_ev: float | None = None
    largest_force_ev_per_a: float | None = None
    rms_force_ev_per_a: float | None = None
    electronically_converged: bool | None = None


@dataclass
class Launch:
    """One start of VASP.

    settings: by the names of VASP_SETTINGS (None where the file does not tell) and `elements`, `volume_a3`, `cores`, `nodes`,
    `threads`, `kpar`, `ncore`, `image_cores`. started_at: of the cluster's clock, without zone. finished: it wrote its closing
    account; elapsed_s: as told there. converged: ions are where EDIFFG wants them.
    """

    version: str | None = None
    architecture: str | None = None
    started_at: datetime | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    electronic: list[ElectronicStep] = field(default_factory=list)
    ionic: list[IonicStep] = field(default_factory=list)
    converged: bool = False
    finished: bool = False
    elapsed_s: float | None = None


def read_outcar(blocks: Iterable[bytes], free: NDArray[np.bool_] | None = None) -> list[Launch]:
    """The launches of an OUTCAR, in the order of the file; empty where the content is no OUTCAR.

    blocks: whole lines each, cut by `cut_before_table`. free: which components of which ion may move, bool (ions, 3), so
    that forces on fixed ones do not count, as they do not for VASP; all, where nobody tells.
    """
    reader = _Reader(free)
    for block in blocks:
        reader.read(block)
    reader.end_header()
    return reader.launches


def cut_before_table(content: bytes) -> int:
    """How many bytes are whole lines, and no unfinished table of forces."""
    end = content.rfind(b"\n") + 1
    table = content.rfind(b"TOTAL-FORCE", 0, end)
    if table >= 0 and content.find(b"total drift", table, end) < 0 and end - table < 8 << 20:
        return content.rfind(b"\n", 0, table) + 1
    return end


class _Reader:
    def __init__(self, free: NDArray[np.bool_] | None) -> None:
        self.launches: list[Launch] = []
        self._free = free
        self._header: list[bytes] | None = None
        self._version: str | None = None
        self._number: tuple[int | None, int | None] = (None, None)
        self._open = False  # whether the last electronic step may still be told more of
        self._fresh_ionic()

    def _fresh_ionic(self) -> None:
        self._ionic_energy: float | None = None
        self._force: tuple[float | None, float | None] = (None, None)
        self._reached: bool | None = None
        self._steps_before = len(self.launches[-1].electronic) if self.launches else 0

    def read(self, block: bytes) -> None:
        places = []
        for word in _WORDS:
            at = block.find(word)
            while at >= 0:
                places.append((at, word))
                at = block.find(word, at + len(word))
        places.sort()
        header_from = 0
        for at, word in places:
            begin = block.rfind(b"\n", 0, at) + 1
            end = block.find(b"\n", at)
            line = block[begin : end if end >= 0 else len(block)]
            if b"\0" in line:  # a hole in the file
                line = line.replace(b"\0", b"")
            if word == b"vasp.":
                version = _VERSION.search(line)  # anywhere: a restart may follow half a line
                if version:
                    self._version = version[1].decode("ascii", "replace")
            elif word == b"executed on":
                executed = _EXECUTED.match(line)
                if executed:
                    self.end_header(block[header_from:begin])
                    self._launch(executed)
                    header_from = begin
            elif not self.launches:
                continue
            elif word == b"Iteration":
                number = _ITERATION.match(line)
                if number:
                    self.end_header(block[header_from:begin])
                    ionic = _count(number[1]) if number[1] else self._number[0] or 1
                    self._number, self._open = (ionic, _count(number[2])), False
            else:
                self._line(word, line, block, end)
        if self._header is not None:
            self._header.append(block[header_from:])

    def _launch(self, executed: re.Match[bytes]) -> None:
        year, month, day, hour, minute, second = (int(part) for part in executed.groups()[1:])
        try:
            at = datetime(year, month, day, hour, minute, second)
        except ValueError:
            at = None
        self.launches.append(Launch(self._version, executed[1].decode("ascii", "replace"), at))
        self._version, self._header, self._number, self._open = None, [], (None, None), False
        self._fresh_ionic()

    def end_header(self, rest: bytes = b"") -> None:
        """What stands before the first iteration is whole now."""
        if self._header is not None:
            self.launches[-1].settings = _settings(b"".join([*self._header, rest]))
            self._header = None

    def _line(self, word: bytes, line: bytes, block: bytes, end: int) -> None:
        launch = self.launches[-1]
        last = launch.electronic[-1] if self._open else None
        if word == b"LOOP":
            loop = _LOOP.match(line)
            if loop is None:
                return
            if loop[1] == b"LOOP":
                launch.electronic.append(ElectronicStep(*self._number, _seconds(loop[3])))
                self._open = True
            else:
                self._ionic_step(launch, _seconds(loop[3]), loop[3].startswith(b"*"))
        elif word == b"TOTAL-FORCE":
            if b"(ML)" not in line:  # what a learned force field says stands beside what was computed
                self._force = _forces(block, end, self._free)
        elif word == b"EDIFF ":
            reached = _EDIFF.search(line)
            if reached:
                self._reached = reached[1].startswith(b"because")
        elif word == b"free  energy   TOTEN":
            total = _TOTEN.search(line)
            self._ionic_energy = fortran_real(total[1]) if total else None
        elif word == b"reached required":
            launch.converged = True
        elif word == b"General timing":
            launch.finished = True
        elif word == b"Elapsed time":
            elapsed = _ELAPSED.match(line)
            if elapsed:
                launch.finished, launch.elapsed_s = True, _seconds(elapsed[1])
        elif last is None:
            return
        elif word == b"energy-change":
            change = _CHANGE.match(line)
            if change and last.energy_change_ev is None:
                last.energy_change_ev, last.band_energy_change_ev = fortran_real(change[1]), fortran_real(change[2])
        elif word == b"minimisations  ":
            count = _NCG.match(line)
            last.minimisations = _count(count[1]) if count else None
        elif word == b"rms(total)":
            residual = _RMS.search(line)
            last.charge_residual = fortran_real(residual[1]) if residual else None
        elif word == b"free energy    TOTEN":
            total = _TOTEN.search(line)
            if total and last.energy_ev is None:
                last.energy_ev = fortran_real(total[1])

    def _ionic_step(self, launch: Launch, seconds: float | None, overflowed: bool) -> None:
        steps = launch.electronic[self._steps_before :]
        if overflowed:
            loops_s = [step.seconds for step in steps if step.seconds is not None]
            seconds = sum(loops_s) if loops_s and len(loops_s) == len(steps) else None
        launch.ionic.append(
            IonicStep(self._number[0], len(steps), seconds, overflowed, self._ionic_energy, *self._force, self._reached)
        )
        self._fresh_ionic()
        # the number of a step that no iteration tells of, by a learned force field alone, is not known
        self._number, self._open = (None, None), False


def _settings(header: bytes) -> dict[str, Any]:
    """What the lines before the first iteration tell."""
    settings: dict[str, Any] = dict.fromkeys(VASP_SETTINGS)
    sizes = header.find(b"Dimension of arrays")
    parameters = header.find(b"Startparameter for this run")
    if sizes >= 0:
        system = header.find(b"SYSTEM =", sizes)  # what follows is free text
        _take(settings, header[sizes : system if system >= 0 else parameters if parameters >= 0 else len(header)])
    if parameters >= 0:
        last = header.find(b"energy-cutoff  :", parameters)
        _take(settings, header[parameters : last if last >= 0 else len(header)])
    top = header[:4096]
    cores, ranks = _TOTAL_CORES.search(top), _RANKS.search(top)
    threads = (_count(ranks[2]) or 1) if ranks and ranks[2] else 1
    kpar, ncore, image = _KPAR.search(top), _NCORE.search(top), _IMAGE.search(top)
    volume = _VOLUME.search(header, max(parameters, 0))
    serial = 1 if b"serial version" in top else None
    processes = _count(ranks[1]) if ranks else _count(cores[1]) if cores else serial
    settings["cores"] = processes * threads if processes is not None else None
    settings["threads"] = threads
    settings["nodes"] = _count(ranks[3]) if ranks and ranks[3] else None
    settings["kpar"] = _count(kpar[2]) if kpar else None
    settings["ncore"] = _count(ncore[1]) if ncore else None
    settings["image_cores"] = _count(image[1]) if image else None
    names = _ELEMENT.findall(header) or _POTENTIAL.findall(header)
    settings["elements"] = [name.decode() for name in dict.fromkeys(names)]
    per_type = _IONS_PER_TYPE.search(header)
    settings["element_types"] = len(per_type[1].split()) if per_type else len(settings["elements"]) or None
    settings["volume_a3"] = fortran_real(volume[1]) if volume else None
    settings["automatic_mesh"] = b"Automatic generation of k-mesh" in header
    settings["hubbard_u"] = b"LDA+U is selected" in header
    return settings


def _take(settings: dict[str, Any], text: bytes) -> None:
    """The first value of each setting; a field that overflowed or makes no sense stays None."""
    seen = set()
    for name_, value in _SETTING.findall(text):
        name = name_.decode()
        if name not in settings or settings[name] is not None or name in seen:
            continue
        seen.add(name)
        if name in INTEGERS:
            settings[name] = _count(value)
        elif name in REALS:
            settings[name] = fortran_real(value)
        elif name in SWITCHES:
            settings[name] = value.strip(b".").upper().startswith(b"T")
        else:
            settings[name] = value.decode("ascii", "replace")


def _forces(block: bytes, end: int, free: NDArray[np.bool_] | None) -> tuple[float | None, float | None]:
    """(largest force on an ion, root of the mean square), eV/A, of the table whose heading ends at `end`."""
    begin = block.find(b"---\n", end)
    last = block.find(b"\n ---", begin + 4)
    if begin < 0 or last < 0:
        return None, None
    lines = block[begin + 4 : last]
    try:
        values = np.array(lines.split(), dtype=np.float64)
        rows = values.reshape(lines.count(b"\n") + 1, 6 if b"FORCE-w/o" not in block[end - 80 : end] else 9)[:, 3:6]
    except ValueError:  # columns run into each other, or are full of stars
        return None, None
    if free is not None and free.shape == rows.shape:
        rows = np.where(free, rows, 0.0)
    if not np.isfinite(rows).all():
        return None, None
    squares = (rows**2).sum(axis=1)
    return float(np.sqrt(squares.max())), float(np.sqrt(squares.mean()))


def _count(text: bytes) -> int | None:
    """None for stars, and for more digits than any count of VASP's has."""
    try:
        return int(text) if len(text) <= 15 else None
    except ValueError:
        return None


def fortran_real(text: bytes) -> float | None:
    """A Fortran number, or None: its exponent may be a D, or have lost the letter to a third digit; NaN is none."""
    text = re.sub(rb"(?<=\d)([+-]\d{3})$", rb"E\1", text.replace(b"D", b"E"))
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _seconds(text: bytes) -> float | None:
    """None for a field that overflowed, and for a clock that was set back."""
    value = fortran_real(text)
    return value if value is not None and value >= 0 else None
