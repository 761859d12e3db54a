"""Settings that the head of an OUTCAR tells, whole or in part."""

from __future__ import annotations

import pytest

from tests.traces.vasp.vasp_lines import CORES, PARAMETERS, SETTINGS, SIZES, TOP
from traces.vasp.settings import fortran_count, read_settings

ELEMENTS = "   VRHFIN =Fe:  d7 s1\n   VRHFIN =O: s2p4\n"


def test_a_whole_head() -> None:
    found = read_settings((TOP + ELEMENTS + SIZES + PARAMETERS).encode())
    assert {name: found[name] for name in SETTINGS} == SETTINGS
    assert (found["cores"], found["elements"], found["hubbard_u"]) == (32, ["Fe", "O"], False)


@pytest.mark.parametrize("begins_whole", [True, False])
def test_some_elements_are_missing(begins_whole: bool) -> None:
    """The others alone would be another system."""
    text = (ELEMENTS[ELEMENTS.index("RHFIN") :] + SIZES).encode()
    found = read_settings(text, begins_whole)
    assert (found["elements"], found["element_types"]) == ([], 2)


@pytest.mark.parametrize(
    ("first", "second", "elements"),
    [
        (" POTCAR:    PAW_PBE Xe 07Sep2000\n   VRHFIN =X: s2p6\n", " POTCAR:    PAW_PBE O 08Apr2002\n", ["Xe", "O"]),
        ("   VRHFIN =r: 4s4p5s4d\n   TITEL  = PAW_PBE Zr_sv 04Jan2005\n", "   TITEL  = US O_s\n", ["Zr", "O"]),
        ("   TITEL  = PAW_PBE H1.25 07Sep2000\n", "   TITEL  = PAW Er_3 06Sep2000\n", ["H", "Er"]),
        ("   VRHFIN =Fe: d7\n   TITEL  = made here\n", "   VRHFIN =O: s2p4\n   TITEL  = made here\n", ["Fe", "O"]),
        ("   VRHFIN =X: s2p6\n", "   VRHFIN =O: s2p4\n", []),
    ],
)
def test_elements_are_named_by_the_potential_where_vrhfin_lies(first: str, second: str, elements: list[str]) -> None:
    found = read_settings((TOP + first + second + SIZES + PARAMETERS).encode())
    assert (found["elements"], found["element_types"]) == (elements, 2)


@pytest.mark.parametrize(
    ("lines", "functional"),
    [
        ("", None),
        (" METAGGA = R2SCA    LMAXTAU =  6    LMIXTAU =  T\n", "R2SCA"),
        (" INCAR:\n   METAGGA = R2scan\n\n", "R2SCAN"),
        (" INCAR:\n   METAGGA = None\n\n", None),
        (" INCAR:\n   METAGGA = --\n\n", None),
    ],
)
def test_a_meta_gga_is_not_the_switch_of_the_same_name(lines: str, functional: str | None) -> None:
    assert "METAGGA=      F    non-selfconsistent" in PARAMETERS
    assert read_settings((TOP + lines + SIZES + PARAMETERS).encode())["METAGGA"] == functional


def test_what_is_not_there_is_unknown() -> None:
    found = read_settings(b"   volume of cell :      364.53\n", begins_whole=False)
    assert {value for name, value in found.items() if name not in ("elements", "automatic_mesh")} == {None}
    assert read_settings(b"")["threads"] == 1 and read_settings(CORES.encode(), False)["threads"] == 1


def test_numbers_of_too_many_digits_are_none() -> None:
    assert (fortran_count(b"12"), fortran_count(b"**"), fortran_count(b"9" * 16)) == (12, None, None)
