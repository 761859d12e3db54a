"""OSZICAR and VASP's standard output, which has the same lines. They have residuals, which OUTCAR has not, and how a run ended."""

from __future__ import annotations

import re
from dataclasses import dataclass

from traces.vasp.outcar import ElectronicStep, Launch
from traces.vasp.settings import fortran_real

_NUMBER = rb"(?:[+-]?\d*+\.\d++(?:[ED][+-]\d{2}|[+-]\d{3})|\*++|NaN|[+-]?Infinity)"
_LINE = re.compile(
    rb"^[ \t\0]*+(?:([A-Z]{2,4})[ \t]*+:[ \t]*+(\d++|\*++)[ \t]++(@)[ \t]*+(@)[ \t]*+(@)[ \t]*+(\d++(?![.\d])|\*++)"
    rb"[ \t]*+(@)?[ \t]*+(@)?[ \t\r]*+$"
    rb"|(\d++|\*++)[ \t]++(?:T=[ \t]*+(?:[\d.*]++|NaN)[ \t]++E=[ \t]*+@[ \t]++)?F=[ \t]*+(@)[ \t]++E0=)".replace(
        b"@", _NUMBER
    ),
    re.M,
)
"""An electronic or an ionic step. Exponents have two digits. A third one takes the place of the E, and columns touch. Where two
columns of stars touch, their border is unknown, and such a line counts as no step. (Possessive, so that odd lines cost no time.)"""

_ENDINGS = (
    ("timed_out", re.compile(rb"DUE TO TIME LIMIT|walltime \S+ exceeded limit|job killed: walltime", re.I)),
    ("out_of_memory", re.compile(rb"oom-kill|out of memory|OOM Killed|cannot allocate memory", re.I)),
    ("cancelled", re.compile(rb"CANCELLED AT|qdel|job deleted|got a signal 15|signal 15 \(Terminated\)", re.I)),
    (
        "failed",
        re.compile(
            rb"VERY BAD NEWS|I REFUSE TO CONTINUE|ZBRENT: fatal|EDDDAV|ERROR FEXCP|internal error"
            rb"|forrtl: severe|segmentation fault|SIGSEGV|MPI_ABORT|ABNORMAL TERMINATION"
        ),
    ),
)
"""What the system, or VASP itself, writes when a run ends too early. The first match counts."""
_JOB_ID = re.compile(rb"(?:JOB|job|Job)\s+(\d{2,})\b")
_FILE_JOB_ID = re.compile(r"^slurm-(\d+)(?:_\d+)?\.out$|\.[oe](\d+)$")


@dataclass(frozen=True)
class PrintedStep:
    """One line of an electronic step. None where the field is full of `*`, missing, or not a number."""

    ionic_step: int
    step: int | None
    algorithm: str
    energy_ev: float | None
    energy_change_ev: float | None
    minimisations: int | None
    residual: float | None
    charge_residual: float | None


def read_oszicar(content: bytes) -> list[PrintedStep]:
    """The electronic steps in an OSZICAR or a standard output. Other lines in it are skipped."""
    steps, ionic = [], 1
    for line in _LINE.finditer(content):
        kind, step, energy, change, _, count, residual, charge, number, _ = line.groups()
        if kind is None:
            ionic = (int(number) if number.isdigit() else ionic) + 1
            continue
        numbers = _number(energy), _number(change), _whole(count), _number(residual), _number(charge)
        steps.append(PrintedStep(ionic, _whole(step), kind.decode(), *numbers))
    return steps


def add_residuals(launch: Launch, printed: list[PrintedStep]) -> int:
    """Adds to the steps of a launch what only OSZICAR has. Returns how many of them it had.

    A step is the same where ionic and electronic number agree and, as far as both have it, the change of the energy. Where
    fewer than nine steps of ten agree, it is the OSZICAR of another run (a restart overwrites it), and is not used.
    """
    printed_step = {(step.ionic_step, step.step): step for step in printed}
    pairs = [(step, printed_step.get((step.ionic_step or 0, step.step))) for step in launch.electronic]
    both = [(step, other) for step, other in pairs if other is not None]
    same = [(step, other) for step, other in both if _is_same(step, other)]
    if 10 * len({(s.ionic_step, s.step) for s, _ in same}) < 9 * len({(s.ionic_step, s.step) for s, _ in both}):
        return 0
    for step, other in same:
        step.algorithm, step.residual = other.algorithm, other.residual
        if step.charge_residual is None:
            step.charge_residual = other.charge_residual
        if step.energy_ev is None:
            step.energy_ev = other.energy_ev
        if step.minimisations is None:
            step.minimisations = other.minimisations
    return len(same)


def ending(text: bytes) -> tuple[str, str] | None:
    """How a run ended and the line that says so, from the last part of an output, or None where it does not say."""
    for state, pattern in _ENDINGS:
        words = pattern.search(text)
        if words:
            begin, end = text.rfind(b"\n", 0, words.start()) + 1, text.find(b"\n", words.end())
            line = text[begin : end if end >= 0 else len(text)]
            return state, line.replace(b"\0", b"").decode("utf-8", "backslashreplace").strip()[:300]
    return None


def job_id_of(file_name: str, text: bytes) -> str | None:
    """The batch system's job number, from the name of an output file (slurm-123.out, run.o123) or from a message in it."""
    name = _FILE_JOB_ID.search(file_name)
    if name:
        return name[1] or name[2]
    message = _JOB_ID.search(text)
    return message[1].decode() if message else None


def _is_same(step: ElectronicStep, printed: PrintedStep) -> bool:
    """Whether both have the same change of the energy. Where there is none, whether they have the same energy, as far as known.

    Linear response prints energies without changes, under numbers that the ionic steps have had.
    """
    one, other, share = step.energy_change_ev, printed.energy_change_ev, 2e-4
    if one is None or other is None:
        one, other, share = step.energy_ev, printed.energy_ev, 1e-5
    if one is None or other is None:
        return True
    return abs(one - other) <= share * max(abs(one), abs(other)) + 1e-12


def _whole(text: bytes) -> int | None:
    return int(text) if text.isdigit() and len(text) <= 15 else None


def _number(text: bytes | None) -> float | None:
    return None if text is None else fortran_real(text)
