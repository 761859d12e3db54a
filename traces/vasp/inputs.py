"""The input files of a VASP run: INCAR, KPOINTS and POSCAR, as far as they say something that OUTCAR does not, or not yet.

POTCAR is never opened: its contents are licensed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traces.vasp.settings import INTEGERS, REALS, SWITCHES, VASP_SETTINGS, metagga

_METHODS = {"g": "gamma", "m": "monkhorst-pack", "a": "automatic", "l": "line", "c": "explicit", "k": "explicit"}


def read_incar(text: str) -> dict[str, Any]:
    """The parameters of VASP_SETTINGS that an INCAR sets, by name, each as it is first set. Values that have no meaning are left out."""
    values: dict[str, Any] = {}
    for name, word in _statements(text):
        if name in VASP_SETTINGS and name not in values:
            understood = _value(name, word)
            if understood is not None:
                values[name] = understood
    return values


def requests_images(text: str) -> bool:
    """Whether an INCAR sets IMAGES, so that VASP runs each image of a NEB in a folder of its own."""
    return any(name == "IMAGES" and word != "0" for name, word in _statements(text))


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """(name in capitals, first word of the value) of each statement of an INCAR that has a value. Several may share a line."""
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = re.split(r"[#!]", line, maxsplit=1)[0]
        for statement in line.split(";"):
            name, _, value = statement.partition("=")
            if words := value.split():
                yield name.strip().upper(), words[0]


def _value(name: str, word: str) -> Any:
    """What a word of INCAR means as a value of this parameter, or None."""
    if name in SWITCHES:
        letter = word.lstrip(".").upper()[:1]
        if name == "LREAL" and letter in ("A", "O"):  # Auto, On
            return True
        return {"T": True, "F": False}.get(letter)
    if name == "METAGGA":
        return metagga(word)
    if name not in INTEGERS and name not in REALS:
        return word
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d{1,3})?", word):
        return None
    value = float(word.lower().replace("d", "e"))
    if not abs(value) < 1e15:
        return None
    return int(value) if name in INTEGERS else value


def read_kpoints(text: str) -> str | None:
    """How the user requested the k-points: gamma, monkhorst-pack, automatic, line or explicit. None where it is not clear."""
    lines = text.splitlines()
    if len(lines) < 3 or not lines[2].strip():
        return None
    words = lines[1].split()
    if not words or not re.fullmatch(r"-?[0-9]{1,9}", words[0]):
        return None
    method = _METHODS.get(lines[2].strip()[0].lower())
    if int(words[0]) > 0:
        return "line" if method == "line" else "explicit"
    return method if method in ("gamma", "monkhorst-pack", "automatic") else "explicit"


def read_poscar(text: str) -> NDArray[np.bool_] | None:
    """Which components of which ion may move, bool (ions, 3). None where all may, or where it is not clear."""
    lines = text.splitlines()
    try:
        at = 5
        counts = lines[at].split()
        if not counts[0].isdecimal():  # a line of element names, since VASP 5
            at += 1
            counts = lines[at].split()
        ions = 0
        for count in counts:
            if not count.isdecimal():  # a comment behind the numbers
                break
            ions += int(count)
        if not lines[at + 1].strip().lower().startswith("s"):
            return None
        rows = [line.split()[3:6] for line in lines[at + 3 : at + 3 + ions]]
        free = np.array([[flag.strip(".").upper().startswith("T") for flag in row] for row in rows], dtype=np.bool_)
    except (IndexError, ValueError):
        return None
    return free if free.shape == (ions, 3) else None
