"""OUTCAR, VASP's main output, versions 4.6 to 6.5: the input of a run, its electronic and ionic steps with their times, its end.

A file is read block by block. The reader searches for a few words, and analyses only the lines around them. So whatever else is
in it (foreign messages, NUL bytes, tables) costs little and does no harm. A file may hold several launches one after another
(a restart that was appended), may be growing, and may begin and end anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traces.vasp.settings import IVDW_LINE, fortran_count, fortran_real, read_settings

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
    b"IVDW",
)
"""What lines worth reading contain. `bytes.find` goes through a file many times faster than a regular expression."""

_VERSION = re.compile(rb"(?:^|\s)(vasp\.\d+\.\d\S*)")
_EXECUTED = re.compile(rb"^\s*executed on\s+(.+?)\s+date\s+(\d{4})\.(\d\d)\.(\d\d)\s+(\d\d):(\d\d):(\d\d)")
_ITERATION = re.compile(rb"^\s*-+ Iteration\s*([\d*]*)\(\s*([\d*]+)\)\s*-+")
_LOOP = re.compile(rb"^\s*(LOOP\+?):\s+(?:cpu|VPU) time\s*(\*+|-?\d+\.\d+)\s*:\s+(?:real|CPU) time\s*(\*+|-?\d+\.\d+)")
_NUMBER = rb"([+-]?\d*\.\d+(?:[ED][+-]?\d+|[+-]\d{3})?|\*+|NaN|[+-]?Infinity)"
_CHANGE = re.compile(rb"^\s*total energy-change \(2\. order\)\s*:\s*" + _NUMBER + rb"\s*\(\s*" + _NUMBER)
_NCG = re.compile(rb"^\s*eigenvalue-minimisations\s*:\s*(\d+)")
_RMS = re.compile(rb"rms\(total\)\s*=\s*" + _NUMBER)
_TOTEN = re.compile(rb"TOTEN\s*=\s*" + _NUMBER + rb"\s*eV")
_EDIFF = re.compile(rb"aborting loop (because EDIFF is reached|EDIFF was not reached)")
_ELAPSED = re.compile(rb"^\s*Elapsed time \(sec\):\s*(\d+\.\d{3}(?!\d)|\*+)")
_OF_A_LAUNCH = {
    b"Iteration": _ITERATION,
    b"LOOP": _LOOP,
    b"TOTAL-FORCE": re.compile(rb"TOTAL-FORCE \(eV"),
    b"free  energy   TOTEN": _TOTEN,
    b"EDIFF ": _EDIFF,
    b"Elapsed time": _ELAPSED,
}
"""Lines that only a launch has. They show one whose head is missing, before any other or behind the end of one."""
_LONGEST_HEADER = 16 << 20
"""Bytes that are kept of what comes before them."""


@dataclass
class ElectronicStep:
    """One LOOP line and what belongs to it. None where the file does not say it (yet)."""

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
    """One LOOP+ line and what belongs to it. overflowed: the field was full of `*`, and `seconds` is the sum of the LOOPs."""

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

    settings: by the names of VASP_SETTINGS (None where the file does not say) and `elements`, `volume_a3`, `cores`, `nodes`,
    `threads`, `kpar`, `ncore`, `image_cores`. started_at: of the cluster's clock, without zone. finished: it wrote its closing
    account. elapsed_s: as it says there. converged: ions are where EDIFFG wants them. outside_s: seconds of the electronic steps
    that are in no ionic step. headless: the line that begins it is missing. interrupted: its steps are not numbered one after
    another, so that lines between them are missing.
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
    outside_s: float = 0.0
    headless: bool = False
    interrupted: bool = False


def read_outcar(blocks: Iterable[bytes], free: NDArray[np.bool_] | None = None) -> list[Launch]:
    """The launches of an OUTCAR, in the order of the file. Empty where the content is not an OUTCAR.

    Where lines are missing, at the beginning or anywhere, the other steps are kept, and the launch says so.

    blocks: whole lines each, cut by `cut_before_table`. free: which components of which ion may move, bool (ions, 3), so
    that forces on fixed ones do not count, as they do not for VASP. Default: all.
    """
    reader = _Reader(free)
    for block in blocks:
        reader.read(block)
    reader.end()
    return [one for one in reader.launches if not one.headless or one.electronic or one.ionic or one.finished]


def cut_before_table(content: bytes) -> int:
    """How many bytes are whole lines, without an unfinished table of forces."""
    end = content.rfind(b"\n") + 1
    table = content.rfind(b"TOTAL-FORCE", 0, end)
    if table >= 0 and content.find(b"total drift", table, end) < 0 and end - table < 8 << 20:
        return content.rfind(b"\n", 0, table) + 1
    return end


class _Reader:
    def __init__(self, free: NDArray[np.bool_] | None) -> None:
        self.launches: list[Launch] = []
        self._free = free
        self._before = b""  # what comes before the first launch, which may be the rest of a header
        self._header: list[bytes] | None = None
        self._version: str | None = None
        self._over = False  # whether the last launch has said how long it took, which is its last line
        self._fresh_launch(None)

    def _fresh_launch(self, next_ionic: int | None) -> None:
        """next_ionic: number that the first ionic step must have."""
        self._number: tuple[int | None, int | None] = (None, None)
        self._iterating = False  # whether an iteration began after the last ionic step
        self._timed = False  # whether its time is known
        self._next_ionic = next_ionic  # the ionic step that continues, or comes next
        self._open = False  # whether more lines may follow about the last electronic step
        self._fresh_ionic()

    def _fresh_ionic(self) -> None:
        self._ionic_energy: float | None = None
        self._force: tuple[float | None, float | None] = (None, None)
        self._reached: bool | None = None
        self._whole = True  # whether no electronic step of it is missing
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
                line = _without_hole(line, word)
            if (self._over or not self.launches) and word in _OF_A_LAUNCH and _OF_A_LAUNCH[word].search(line):
                self._end_header(block[header_from:begin])
                self._headless_launch(self._before + block[:begin] if not self.launches else b"")
            if word == b"vasp.":
                version = _VERSION.search(line)  # anywhere: a restart may follow half a line
                if version:
                    self._version = version[1].decode("ascii", "replace")
            elif word == b"executed on":
                executed = _EXECUTED.match(line)
                if executed:
                    self._end_header(block[header_from:begin])
                    self._launch(executed)
                    header_from = begin
            elif not self.launches:
                continue
            elif word == b"Iteration":
                number = _ITERATION.match(line)
                if number:
                    self._end_header(block[header_from:begin])
                    self._iteration(number[1], fortran_count(number[2]))
            else:
                self._line(word, line, block, end)
        if self._header is not None:
            self._header.append(block[header_from:])
        elif not self.launches:
            self._before += block[: max(_LONGEST_HEADER - len(self._before), 0)]

    def _launch(self, executed: re.Match[bytes]) -> None:
        year, month, day, hour, minute, second = (int(part) for part in executed.groups()[1:])
        try:
            at = datetime(year, month, day, hour, minute, second)
        except ValueError:
            at = None
        self._outside()
        self.launches.append(Launch(self._version, executed[1].decode("ascii", "replace"), at))
        self._version, self._header, self._over = None, [], False
        self._fresh_launch(1)

    def _headless_launch(self, header: bytes) -> None:
        self._outside()
        settings = read_settings(header[:_LONGEST_HEADER], begins_whole=False)
        self.launches.append(Launch(self._version, settings=settings, headless=True))
        self._version, self._before, self._over = None, b"", False
        self._fresh_launch(None)

    def _end_header(self, rest: bytes = b"") -> None:
        """The lines before the first iteration are complete now."""
        if self._header is not None:
            self.launches[-1].settings = read_settings(b"".join([*self._header, rest]))
            self._header = None

    def end(self) -> None:
        """There are no more blocks."""
        self._end_header()
        self._outside()

    def _outside(self) -> None:
        """Counts the electronic steps since the last ionic one as outside of ionic steps, since their end is missing so far."""
        if self.launches:
            launch = self.launches[-1]
            launch.outside_s += sum(step.seconds or 0.0 for step in launch.electronic[self._steps_before :])
            self._steps_before = len(launch.electronic)

    def _iteration(self, ionic: bytes, step: int | None) -> None:
        """An electronic step begins. VASP counts them from 1 in each ionic step. But linear response begins with 1 again, at any
        number of an ionic step, and nuclear magnetic resonance prints none."""
        number = fortran_count(ionic) if ionic else self._number[0] or 1
        if ionic and number is not None:
            same = number == self._number[0]
            before = self._number[1] if same else None
            follows = step in (None, 1) or (self._iterating and before is not None and step == before + 1)
            unended = self._iterating and not same and _only_moves(self.launches[-1].settings)
            skips = unended or (not self._iterating and number > (self._next_ionic or number))
            if self._next_ionic is not None and (skips or not follows):
                self.launches[-1].interrupted = True
                if same:
                    self._whole = False
                else:  # the end of the step before it is missing, and with it all that belonged to that step
                    self._outside()
                    self._fresh_ionic()
            self._next_ionic = number
        self._number, self._open, self._iterating, self._timed = (number, step), False, True, False

    def _line(self, word: bytes, line: bytes, block: bytes, end: int) -> None:
        launch = self.launches[-1]
        last = launch.electronic[-1] if self._open else None
        if word == b"LOOP":
            loop = _LOOP.match(line)
            if loop is not None and _is_whole(loop[2], loop[3]):
                self._time(launch, loop)
        elif word == b"TOTAL-FORCE":
            if b"(ML)" not in line:  # the values of a learned force field are next to the computed ones
                # where the header was cut through, its last number may be a part of one
                ions = None if launch.interrupted else launch.settings.get("NIONS")
                self._force = _forces(block, end, self._free, ions)
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
                launch.finished, launch.elapsed_s, self._over = True, _seconds(elapsed[1]), True
        elif word == b"IVDW":
            correction = IVDW_LINE.match(line)
            if correction and launch.settings.get("IVDW") is None:
                launch.settings["IVDW"] = fortran_count(correction[1])
        elif last is not None:
            _tell(last, word, line)

    def _time(self, launch: Launch, loop: re.Match[bytes]) -> None:
        """The end of an electronic step (LOOP), or of an ionic one (LOOP+)."""
        seconds = _seconds(loop[3])
        if loop[1] != b"LOOP":
            self._ionic_step(launch, seconds, loop[3].startswith(b"*"))
            return
        if self._timed or not self._iterating:  # the line with its number is missing
            launch.interrupted |= bool(launch.electronic or launch.ionic or not launch.headless)
            self._number, self._whole = (self._number[0] if not self._timed else None, None), False
        launch.electronic.append(ElectronicStep(*self._number, seconds))
        self._open = self._timed = True

    def _ionic_step(self, launch: Launch, seconds: float | None, overflowed: bool) -> None:
        steps = launch.electronic[self._steps_before :]
        if overflowed:
            loops_s = [step.seconds for step in steps if step.seconds is not None]
            seconds = sum(loops_s) if loops_s and len(loops_s) == len(steps) and self._whole else None
        launch.ionic.append(
            IonicStep(self._number[0], len(steps), seconds, overflowed, self._ionic_energy, *self._force, self._reached)
        )
        self._fresh_ionic()
        # a step without iterations, by a learned force field alone, has no known number
        self._number, self._open, self._iterating, self._timed = (None, None), False, False, False
        self._next_ionic = self._next_ionic + 1 if self._next_ionic is not None else None


def _only_moves(settings: dict[str, Any]) -> bool:
    """Whether ions move and nothing else is done, so that each ionic step has an end of its own."""
    return settings.get("IBRION") in (0, 1, 2, 3) and not settings.get("LEPSILON")


def _without_hole(line: bytes, word: bytes) -> bytes:
    """A line without the NUL bytes of a block that was never written. What comes before them may be half a line."""
    if word in (b"vasp.", b"executed on"):
        return line.replace(b"\0", b"")
    return line.strip(b"\0").rpartition(b"\0")[2]


def _is_whole(*numbers: bytes) -> bool:
    """Whether all numbers of a line have the same number of digits behind the point, except for those of stars."""
    return len({len(number.partition(b".")[2]) for number in numbers if not number.startswith(b"*")}) < 2


def _tell(step: ElectronicStep, word: bytes, line: bytes) -> None:
    """Takes what a line behind LOOP says of the step."""
    if word == b"energy-change":
        change = _CHANGE.match(line)
        if change and step.energy_change_ev is None:
            step.energy_change_ev, step.band_energy_change_ev = fortran_real(change[1]), fortran_real(change[2])
    elif word == b"minimisations  ":
        count = _NCG.match(line)
        step.minimisations = fortran_count(count[1]) if count else None
    elif word == b"rms(total)":
        residual = _RMS.search(line)
        step.charge_residual = fortran_real(residual[1]) if residual else None
    elif word == b"free energy    TOTEN":
        total = _TOTEN.search(line)
        if total and step.energy_ev is None:
            step.energy_ev = fortran_real(total[1])


def _forces(
    block: bytes, end: int, free: NDArray[np.bool_] | None, ions: int | None
) -> tuple[float | None, float | None]:
    """(largest force on an ion, root of the mean square), eV/A, of the table whose heading ends at `end`."""
    begin = block.find(b"---\n", end)
    last = block.find(b"\n ---", begin + 4)
    if begin < 0 or last < 0:
        return None, None
    lines = block[begin + 4 : last]
    try:
        values = np.array(lines.split(), dtype=np.float64)
        rows = values.reshape(lines.count(b"\n") + 1, 6 if b"FORCE-w/o" not in block[end - 80 : end] else 9)[:, 3:6]
    except ValueError:  # columns touch each other, or are full of stars
        return None, None
    if ions not in (None, len(rows)):  # lines of it are missing
        return None, None
    if free is not None and free.shape == rows.shape:
        rows = np.where(free, rows, 0.0)
    if not np.isfinite(rows).all():
        return None, None
    squares = (rows**2).sum(axis=1)
    return float(np.sqrt(squares.max())), float(np.sqrt(squares.mean()))


def _seconds(text: bytes) -> float | None:
    """None for a field that overflowed, and for a clock that was set back."""
    value = fortran_real(text)
    return value if value is not None and value >= 0 else None
