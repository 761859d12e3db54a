"""The readers of INCAR, KPOINTS and POSCAR, which people write by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.vasp.inputs import read_incar, read_kpoints, read_poscar
from traces.vasp.settings import INTEGERS, REALS, SWITCHES, VASP_SETTINGS

# INCAR.

INCAR = """\
SYSTEM = Rhodium NELM = 7 # a comment with NSW = 9
  ISTART = 0      0-new 1-cont 2-samecut job
nsw=99;IBRION =2 ; Isif = 3
ENCUT = 520 eV  ! default of the POTCAR: ENCUT = 300
 EDIFF = 1.0E-7
EDIFFG = -.1D-01
SIGMA = 0.2d0
PREC = Accurate   *
LREAL = .TRUE. * projection in real space
LHFCALC = .F.
MAGMOM = 5*0.6 \\
  3*1.0
ISPIN \\
  = \\
  2
# ISMEAR = 1
! POTIM = 0.5
ALGO = Fast
LEXCH =
just words
"""


def test_a_whole_incar() -> None:
    assert read_incar(INCAR) == {
        "ISTART": 0, "NSW": 99, "IBRION": 2, "ISIF": 3, "ENCUT": 520.0, "EDIFF": 1e-7, "EDIFFG": -0.01, "SIGMA": 0.2,
        "PREC": "Accurate", "LREAL": True, "LHFCALC": False, "ISPIN": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("\n\n#\n!\n;;;\n=\n= 5\n", {}),
        ("NSW = 5 # 6", {"NSW": 5}),
        ("NSW = 5! 6", {"NSW": 5}),
        ("NSW = 5; NELM = 6 # ; ISPIN = 2", {"NSW": 5, "NELM": 6}),
        ("#NSW = 5; NELM = 6", {}),
        ("nSw=5;;nelm\t=\t6;", {"NSW": 5, "NELM": 6}),
        ("NSW 5", {}),
        ("NSW = ", {}),
        ("NSW = # 5", {}),
        ("MYNSW = 5", {}),
        ("NSW = \\\n5", {"NSW": 5}),
        ("MAGMOM = 1 \\\n NSW = 5", {}),
        ("NSW = 5\r\nNELM = 6\r\n", {"NSW": 5, "NELM": 6}),
        ("MAGMOM = 1 \\\r\n NSW = 5\r\nNELM = 6\r\n", {"NELM": 6}),
        ("ISYM = -1", {"ISYM": -1}),
        ("NELMDL = -5.", {"NELMDL": -5}),
        ("METAGGA = SCAN ; GGA = PE", {"METAGGA": "SCAN", "GGA": "PE"}),
        ("IVDW = 12", {"IVDW": 12}),
    ],
)
def test_statements(text: str, found: dict[str, Any]) -> None:
    assert read_incar(text) == found


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (".TRUE.", True), (".true.", True), ("T", True), (".T.", True), ("true", True), ("True", True), ("Auto", True),
        ("A", True), ("On", True), ("O", True), (".FALSE.", False), ("F", False), (".F.", False), ("false", False),
    ],
)  # fmt: skip
def test_switches(word: str, value: bool) -> None:
    assert read_incar(f"LREAL = {word}") == {"LREAL": value}


@pytest.mark.parametrize(
    "text",
    [
        "NSW = many", "NSW = nan", "NSW = inf", "NSW = -1e400", "NSW = 1e30", "NSW = 99999999999999999999", "NELM = 0x10",
        "NELM = 1_0", "ENCUT = high", "ENCUT = 520eV", "ENCUT = nan", "ENCUT = inf", "EDIFF = 1E-4E-5", "EDIFF = .",
        "LHFCALC = maybe", "LHFCALC = 1", "LREAL = ?", "ISPIN = $SPIN",
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_left_out(text: str) -> None:
    assert read_incar(text) == {}
    assert read_incar(f"{text}\nNBANDS = 8") == {"NBANDS": 8}


ODD_WORDS = ["1e400", "-", "1" * 30, "nan", ".", "..", "\\", "=", ";", "²", "٣", "\x85", "0d0"]
VALUES = st.text(max_size=12) | st.sampled_from(ODD_WORDS)
NAMES = st.sampled_from([*VASP_SETTINGS, "SYSTEM"])
STATEMENTS = st.lists(st.tuples(NAMES, st.sampled_from(["=", " = ", " "]), VALUES), max_size=6)


@settings(deadline=None)
@given(STATEMENTS, st.sampled_from(["\n", ";", "\\\n", "\r\n"]))
def test_any_incar_gives_values_of_the_right_kind(statements: list[tuple[str, str, str]], between: str) -> None:
    found = read_incar(between.join("".join(parts) for parts in statements))
    assert set(found) <= set(VASP_SETTINGS)
    for name, value in found.items():
        if name in INTEGERS:
            assert type(value) is int and abs(value) < 1 << 63
        elif name in REALS:
            assert type(value) is float and np.isfinite(value)
        else:
            assert type(value) is (bool if name in SWITCHES else str)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_incar(text)
    assert read_kpoints(text) is None or isinstance(read_kpoints(text), str)
    assert read_poscar(text) is None or read_poscar(text).shape[1] == 3


# KPOINTS.


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("Automatic mesh\n0\nGamma\n4 4 4\n0 0 0\n", "gamma"),
        ("Automatic mesh\n 0 ! points\ngamma\n4 4 4\n", "gamma"),
        ("k\n0\nG\n1 1 1\n", "gamma"),
        ("k\n0\nMonkhorst-Pack\n4 4 4\n", "monkhorst-pack"),
        ("k\n0\n  m\n4 4 4\n", "monkhorst-pack"),
        ("k\n0\nAuto\n 20\n", "automatic"),
        ("k\n0\nCartesian\n0.25 0 0\n", "explicit"),
        ("k\n0\nReciprocal\n0.25 0 0\n", "explicit"),
        ("k along high symmetry lines\n 10 ! intersections\nLine-mode\nrec\n0 0 0\n", "line"),
        ("k\n40\nline\ncart\n", "line"),
        ("Explicit k-points\n4\nCartesian\n0 0 0 1.\n", "explicit"),
        ("k\n4\nReciprocal\n0 0 0 1.\n", "explicit"),
        ("k\n4\n0 0 0 1.\n", "explicit"),
        ("k\r\n0\r\nGamma\r\n4 4 4\r\n", "gamma"),
        ("", None),
        ("k", None),
        ("k\n0\n", None),
        ("k\n0\n   \n4 4 4\n", None),
        ("k\n\nGamma\n", None),
        ("k\nzero\nGamma\n", None),
        ("k\n-\nGamma\n", None),
        ("k\n--4\nGamma\n", None),
        ("k\n²\nGamma\n", None),
    ],
)
def test_kpoints(text: str, method: str | None) -> None:
    assert read_kpoints(text) == method


@settings(deadline=None)
@given(st.text(), st.text(alphabet="0123456789-+. ²٣x", max_size=6), st.text(max_size=8))
def test_any_kpoints(title: str, number: str, method: str) -> None:
    read_kpoints(f"{title}\n{number}\n{method}\n")


# POSCAR.

CELL = "cubic\n1.0\n5 0 0\n0 5 0\n0 0 5\n"
FLAGS = "0.0 0.0 0.0 T T F\n0.5 0.5 0.5 F F F\n0.1 0.2 0.3 .TRUE. .FALSE. t\n"
FREE = [[True, True, False], [False, False, False], [True, False, True]]


@pytest.mark.parametrize("elements", ["", "Fe O\n", "  Fe_pv   O   # version 5\n"])
@pytest.mark.parametrize("counts", ["1 2\n", "  1   2   ! iron, oxygen\n"])
@pytest.mark.parametrize("word", ["Selective dynamics\n", "s\n", " sel\n", "S\r\n"])
def test_selective_dynamics(elements: str, counts: str, word: str) -> None:
    free = read_poscar(CELL + elements + counts + word + "Direct\n" + FLAGS)
    assert free is not None
    assert free.tolist() == FREE


def test_what_stands_behind_the_ions_does_not_count() -> None:
    velocities = "\n0.0 0.0 0.0\n0.0 0.0 0.0\n0.0 0.0 0.0\n"
    labelled = FLAGS.replace("F F F", "F F F Fe1")
    free = read_poscar(CELL + "Fe O\n1 2\nSelective\nDirect\n" + labelled + velocities)
    assert free is not None and free.tolist() == FREE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cubic\n",
        CELL,
        CELL + "Fe O\n",
        CELL + "\n\n",
        CELL + "Fe O\n1 2\n",
        CELL + "Fe O\n1 2\nDirect\n0 0 0\n0 0 0\n0 0 0\n",
        CELL + "1 2\nCartesian\n" + FLAGS,
        CELL + "Fe O\n1 2\nSelective\nDirect\n" + FLAGS[:40],
        CELL + "Fe O\n1 2\nSelective\nDirect\n" + FLAGS.replace("F F F", "F F"),
        CELL + "Fe O\n1 2\nSelective\nDirect\n" + FLAGS.replace("F F F", ""),
        CELL + "Fe O\n1 3\nSelective\nDirect\n" + FLAGS,
        CELL + "Fe O\n0 0\nSelective\nDirect\n" + FLAGS,
        CELL + "Fe O\nx y\nSelective\nDirect\n" + FLAGS,
        CELL + "Fe O\n² 1\nSelective\nDirect\n" + FLAGS,
        CELL + "Fe O\n99999999999999999999 1\nSelective\nDirect\n" + FLAGS,
    ],
)
def test_a_poscar_without_selective_dynamics_or_sense(text: str) -> None:
    assert read_poscar(text) is None


def test_a_poscar_cut_anywhere() -> None:
    text = CELL + "Fe O\n1 2\nSelective\nDirect\n" + FLAGS
    for end in range(len(text)):
        free = read_poscar(text[:end])
        assert free is None or free.shape == (3, 3)


@settings(deadline=None)
@given(st.lists(st.text(alphabet="0123456789TFsS. D²x\n", max_size=10), max_size=14))
def test_any_poscar(lines: list[str]) -> None:
    read_poscar("\n".join(lines))
