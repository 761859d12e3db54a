"""The reader of OUTCAR: every form of a line that versions 4.6 to 6.5 write, and what must not be mistaken for one."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from tests.traces.vasp.vasp_lines import (
    CONVERGED,
    CORES,
    EXECUTED,
    FORCES,
    FREE_TEXT,
    NOT_REACHED,
    PARAMETERS,
    REACHED,
    RULE,
    SETTINGS,
    SIZES,
    TOP,
    VERSION,
    electronic,
    ionic,
    iteration,
    launch,
    launches,
    loop,
    row,
    table,
)
from traces.vasp.outcar import IonicStep
from traces.vasp.settings import fortran_real

NO_CORES = {"cores": None, "threads": 1, "nodes": None, "kpar": None, "ncore": None, "image_cores": None}

# The first lines.

HEADINGS = {
    "4.6": (" running on    8 nodes\n distr:  one band on    2 nodes,    4 groups\n", {"cores": 8, "ncore": 2}),
    "serial": (" serial version\n", {"cores": 1}),
    "5.2": (" running on    8 nodes\n distr:  one band on    8 nodes,    1 groups\n", {"cores": 8, "ncore": 8}),
    "5.3": (
        " running on    2 total cores\n distrk:  each k-point on    2 cores,    1 groups\n"
        " distr:  one band on NCORES_PER_BAND=   1 cores,    2 groups\n",
        {"cores": 2, "kpar": 1, "ncore": 1},
    ),
    "5.4": (
        " running on  512 total cores\n distrk:  each k-point on  128 cores,    4 groups\n"
        " distr:  one band on NCORES_PER_BAND=  64 cores,    2 groups\n",
        {"cores": 512, "kpar": 4, "ncore": 64},
    ),
    "5.4, a NEB": (
        " running on    6 total cores\n each image running on    2 cores\n"
        " distrk:  each k-point on    2 cores,    1 groups\n distr:  one band on NCORES_PER_BAND=   1 cores,    2 groups\n",
        {"cores": 6, "image_cores": 2, "kpar": 1, "ncore": 1},
    ),
    "6.1": (
        " running 2048 mpi-ranks, with    1 threads/rank\n distrk:  each k-point on 2048 cores,    1 groups\n"
        " distr:  one band on NCORE=  64 cores,   32 groups\n",
        {"cores": 2048, "kpar": 1, "ncore": 64},
    ),
    "6.4": (
        " running   64 mpi-ranks, with    4 threads/rank, on    2 nodes\n"
        " distrk:  each k-point on   32 cores,    2 groups\n distr:  one band on NCORE=   1 cores,   32 groups\n",
        {"cores": 256, "threads": 4, "nodes": 2, "kpar": 2, "ncore": 1},
    ),
    "6.x without OpenMP": (" running  128 mpi-ranks, on    1 nodes\n", {"cores": 128, "nodes": 1}),
    "no blanks": (" running on32768 total cores\n distrk:  each k-point on32768 cores,    1 groups\n",
                  {"cores": 32768, "kpar": 1}),
    "too many": (" running on **** nodes\n distr:  one band on **** nodes,    1 groups\n", {}),
    "none": ("", {}),
}  # fmt: skip


@pytest.mark.parametrize("form", HEADINGS)
def test_how_a_run_was_spread(form: str) -> None:
    text, told = HEADINGS[form]
    found = launch(VERSION + EXECUTED + text + electronic()).settings
    assert {name: found[name] for name in NO_CORES} == NO_CORES | told


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (" vasp.4.6.34 5Dec07 complex \n", "vasp.4.6.34"),
        (" vasp.5.2.12 11Nov11 complex                                                    \n", "vasp.5.2.12"),
        (" vasp.5.3.5 31Mar14 (build Feb 06 2017 10:50:37) complex                        \n", "vasp.5.3.5"),
        (VERSION, "vasp.5.4.4.18Apr17-6-g9f103f2a35"),
        ("vasp.6.5.0 17Dec24 (build Jan 28 2025 09:55:30) gamma-only\n", "vasp.6.5.0"),
        ("", None),
    ],
)
def test_versions(line: str, version: str | None) -> None:
    assert launch(line + "  \n" + EXECUTED + SIZES + PARAMETERS + electronic()).version == version


@pytest.mark.parametrize(
    ("line", "architecture", "started_at"),
    [
        (" executed on             LinuxIFC date 2013.10.07  22:01:28", "LinuxIFC", datetime(2013, 10, 7, 22, 1, 28)),
        (" executed on          ARA Cluster date 2013.10.07  22:01:28", "ARA Cluster", datetime(2013, 10, 7, 22, 1, 28)),
        (" executed on GCCN.7.5_CrayMPICH8. date 2013.10.07 22:01:28", "GCCN.7.5_CrayMPICH8.", datetime(2013, 10, 7, 22, 1, 28)),
        (" executed on       a date of mine date 2013.10.07  22:01:28", "a date of mine", datetime(2013, 10, 7, 22, 1, 28)),
        (" executed on             LinuxIFC date 2013.13.07  22:01:28", "LinuxIFC", None),
    ],
)  # fmt: skip
def test_where_and_when(line: str, architecture: str, started_at: datetime | None) -> None:
    found = launch(VERSION + line + "\n" + CORES)
    assert (found.architecture, found.started_at) == (architecture, started_at)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        VERSION,
        "executed on a whim\n",
        "\0" * 5000,
        SIZES + PARAMETERS,
        iteration(1, 1),
        table("  0.0  2.0  0.0"),
    ],
)
def test_what_is_no_outcar(text: str) -> None:
    assert launches(text) == []


def test_a_launch_that_did_nothing() -> None:
    found = launch(TOP)
    assert (found.electronic, found.ionic, found.converged, found.finished, found.elapsed_s) == (
        [],
        [],
        False,
        False,
        None,
    )
    assert found.settings["cores"] == 32 and found.settings["NELM"] is None and found.settings["elements"] == []


# Settings.


def test_settings() -> None:
    found = launch(TOP + SIZES + FREE_TEXT + PARAMETERS + electronic()).settings
    assert {name: found[name] for name in SETTINGS} == SETTINGS
    assert (found["volume_a3"], found["element_types"], found["hubbard_u"], found["automatic_mesh"]) == (
        364.53,
        2,
        False,
        False,
    )


def test_the_echo_of_incar_does_not_count() -> None:
    echo = " INCAR:\n   SYSTEM = TiO2\n   ENCUT = 750\n   NELM = 10       max.\n"
    found = launch(TOP + echo + SIZES + FREE_TEXT + PARAMETERS + electronic()).settings
    assert {name: found[name] for name in SETTINGS} == SETTINGS


def test_what_is_printed_later_does_not_count() -> None:
    later = "   NELM   =      1;   IVDW = 11\n"
    found = launch(TOP + SIZES + PARAMETERS + later + electronic() + later + PARAMETERS).settings
    assert {name: found[name] for name in SETTINGS} == SETTINGS


def test_a_correction_is_known_when_vasp_has_computed_it() -> None:
    """As VASP 5.4 prints it between the electronic steps and LOOP+. IVDW_NL is another parameter."""
    begin = TOP + SIZES + PARAMETERS.replace(" Ionic", "   IVDW_NL    =     1    kernel type\n Ionic") + electronic()
    assert launch(begin).settings["IVDW"] is None
    assert launch(begin + "  IVDW =  21\n" + loop("3.0", "LOOP+") + "  IVDW =  12\n").settings["IVDW"] == 21


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("NBANDS", "   number of bands    NBANDS=******\n"),
        ("NELECT", "   NELECT = ************    total number of electrons\n"),
        ("ENCUT", "   ENCUT  = ****** eV\n"),
        ("NELM", "   NELM   =    ***;   NELMIN=  2\n"),
        ("EDIFF", "   EDIFF  = NaN\n"),
        ("SIGMA", "   SIGMA  = Infinity\n"),
    ],
)
def test_a_field_that_overflowed_is_unknown(name: str, text: str) -> None:
    assert launch(TOP + " Startparameter for this run:\n" + text + electronic()).settings[name] is None


def test_a_field_that_overflowed_is_not_filled_from_further_down() -> None:
    """Where the grid in use overflowed, the recommended one, which is printed below it, does not take its place."""
    assert launch(TOP + SIZES.replace("NGX =    48", "NGX = *****") + electronic()).settings["NGX"] is None


def test_a_setting_without_value_takes_none_from_the_next_line() -> None:
    text = " Startparameter for this run:\n   GGA     =\n   LEXCH   =     8    internal setting\n"
    found = launch(TOP + text + electronic()).settings
    assert (found["GGA"], found["LEXCH"]) == (None, 8)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.1D-03", 1e-4), ("0.123-105", 0.123e-105), ("-.123+105", -0.123e105), ("0.1E-04", 1e-5), ("-.1E-01", -0.01),
     ("10.", 10.0), ("0.1D+400", None), ("0.1+999", None), ("******", None), ("NaN", None), ("-Infinity", None), ("", None),
     ("F", None)],
)  # fmt: skip
def test_fortran_numbers(text: str, value: float | None) -> None:
    assert fortran_real(text.encode()) == value


def test_fortran_numbers_in_settings() -> None:
    text = " Startparameter for this run:\n   EDIFF  = 0.1D-03   stop\n   EDIFFG = 0.123-105   stop\n"
    found = launch(TOP + text + electronic()).settings
    assert (found["EDIFF"], found["EDIFFG"]) == (1e-4, pytest.approx(1.23e-106))


def test_elements() -> None:
    text = "   VRHFIN =H: ultrasoft test\n   VRHFIN =Cd : s2 d10\n   VRHFIN =Fe:  d7 s1\n   VRHFIN =H: ultrasoft test\n"
    assert launch(TOP + text + electronic()).settings["elements"] == ["H", "Cd", "Fe"]
    text = " POTCAR:   PAW_GGA Ti_sv 07Sep2000\n POTCAR:   PAW_GGA O 05Jan2001\n POTCAR:   PAW_GGA Ti_sv 07Sep2000\n"
    assert launch(TOP + text + electronic()).settings["elements"] == ["Ti", "O"]


# Electronic steps.


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("      LOOP:  cpu time     25.3356: real time     25.4739", 25.4739),
        ("      LOOP:  cpu time  331.26: real time  331.24", 331.24),
        ("      LOOP:  VPU time   18.48: CPU time   18.49", 18.49),
        ("      LOOP:  cpu time      0.0000: real time      0.0000", 0.0),
        ("      LOOP:  cpu time34866.3104: real time34877.3112", 34877.3112),
        ("      LOOP:  cpu time**********: real time34877.3112", 34877.3112),
        ("      LOOP:  cpu time34866.3104: real time**********", None),
        ("      LOOP:  cpu time   -1.0000: real time   -0.5000", None),
        ("      LOOP:  cpu time-1034.5000: real time-1034.5000", None),
    ],
)
def test_the_time_of_a_step(line: str, seconds: float | None) -> None:
    (step,) = launch(TOP + iteration(3, 7) + line + "\n").electronic
    assert (step.ionic_step, step.step, step.seconds) == (3, 7, seconds)


def test_every_value_of_a_step() -> None:
    (step,) = launch(TOP + electronic(2, 9)).electronic
    assert (step.ionic_step, step.step, step.seconds, step.energy_ev) == (2, 9, 1.5, -10.25)
    assert (step.energy_change_ev, step.band_energy_change_ev) == (-19.21446, -18.4271)
    assert (step.minimisations, step.charge_residual, step.residual, step.algorithm) == (199, 0.53271, None, None)


def test_values_that_overflowed() -> None:
    text = electronic()
    for field in ("-0.1921446E+02", "(-0.1842710E+02", "   191", " 0.53271E+00  ", f"{-10.25:18.8f}"):
        assert field in text
        text = text.replace(field, ("(" if field[0] == "(" else "") + "*" * 14, 1)
    (step,) = launch(TOP + text).electronic
    assert step.seconds == 1.5
    assert (step.energy_ev, step.energy_change_ev, step.band_energy_change_ev) == (None, None, None)
    assert (step.minimisations, step.charge_residual) == (None, None)


def test_very_small_changes_and_numbers_that_are_none() -> None:
    text = electronic().replace("-0.1921446E+02", "-0.1921446-104").replace("-0.1842710E+02", " 0.1842710D-07")
    (step,) = launch(TOP + text.replace(f"{-10.25:18.8f}", "               NaN")).electronic
    assert step.energy_change_ev == pytest.approx(-1.921446e-105) and step.band_energy_change_ev == pytest.approx(
        1.84271e-8
    )
    assert step.energy_ev is None


def test_a_run_that_was_told_to_write_nothing() -> None:
    """NWRITE = 0."""
    text = "".join(iteration(1, step) + loop(f"{step}.0000") for step in (1, 2, 3)) + loop("7.0000", "LOOP+")
    found = launch(TOP + text)
    assert [(step.step, step.seconds, step.energy_ev) for step in found.electronic] == [
        (1, 1.0, None),
        (2, 2.0, None),
        (3, 3.0, None),
    ]
    assert found.ionic == [IonicStep(1, 3, 7.0, False)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("--------------------------------------- Iteration      1(   1)", (1, 1)),
        ("----------------------------------------- Iteration    1(   8)", (1, 8)),
        ("--------------------------------------- Iteration 123456(1234)", (123456, 1234)),
        ("--------------------------------------- Iteration1234567(1234)", (1234567, 1234)),
        ("--------------------------------------- Iteration      2(****)", (2, None)),
        ("----------------------------------------- Iteration     (   3)", (1, 3)),
    ],
)
def test_the_number_of_a_step(text: str, number: tuple[int, int | None]) -> None:
    (step,) = launch(TOP + f"{text}  {'-' * 39}\n" + loop("1.0000")).electronic
    assert (step.ionic_step, step.step) == number


def test_an_ionic_number_of_stars_is_not_the_one_before() -> None:
    """Four digits are not enough for a long molecular dynamics run of version 5.2."""
    text = electronic(9999) + ionic() + electronic().replace("Iteration      1(", "Iteration   ****(") + ionic()
    found = launch(TOP + text)
    assert [step.ionic_step for step in found.electronic][1] in (None, 10000)
    assert [step.ionic_step for step in found.ionic][1] in (None, 10000)


def test_numbers_of_linear_response_repeat() -> None:
    text = electronic(1, 1) + ionic() + electronic(2, 1) + electronic(1, 1) + electronic(1, 2)
    assert [(step.ionic_step, step.step) for step in launch(TOP + text).electronic] == [(1, 1), (2, 1), (1, 1), (1, 2)]


def test_steps_of_nmr_have_no_ionic_number() -> None:
    text = electronic(1, 1) + electronic(1, 1).replace("      1(", "      (")
    assert [(step.ionic_step, step.step) for step in launch(TOP + text).electronic] == [(1, 1), (1, 1)]


def test_a_step_without_time_spoils_no_other() -> None:
    """A message in the line with the time: the step is lost, and the one before it keeps its values."""
    lost = electronic(1, 2, energy=-99).replace(loop("1.5000"), "      LOOP:  cpu tsrun: error: n12: task 3: Killed\n")
    lost = lost.replace("0.53271E+00", "0.99999E+00")
    found = launch(TOP + electronic(1, 1) + lost + electronic(1, 3))
    assert found.electronic == launch(TOP + electronic(1, 1) + electronic(1, 3)).electronic


# Ionic steps.


@pytest.mark.parametrize(
    ("line", "seconds", "overflowed"),
    [
        ("     LOOP+:  cpu time    143.1204: real time    143.2300", 143.23, False),
        ("     LOOP+:  VPU time  281.83: CPU time  281.84", 281.84, False),
        ("     LOOP+:  cpu time34866.3104: real time34877.3112", 34877.3112, False),
        ("     LOOP+:  cpu time**********: real time**********", 160000.5, True),
        ("     LOOP+:  cpu time    -43.1204: real time   -143.2300", None, False),
    ],
)
def test_the_time_of_an_ionic_step(line: str, seconds: float | None, overflowed: bool) -> None:
    steps = electronic(1, 1, "80000.2500") + electronic(1, 2, "80000.2500")
    assert launch(TOP + steps + line + "\n").ionic == [IonicStep(1, 2, seconds, overflowed)]


def test_stars_only_are_no_time() -> None:
    """Where LOOP overflowed as LOOP+ did, nothing tells how long it was; it was not nothing."""
    (step,) = launch(TOP + electronic(1, 1, "*" * 10) + loop("*" * 10, "LOOP+")).ionic
    assert step.overflowed and step.seconds is None


def test_an_ionic_step_and_the_next() -> None:
    forces = table("    3.000000      4.000000      0.000000", "    0.000000      0.000000     -1.000000")
    text = (
        electronic(1, 1)
        + electronic(1, 2)
        + REACHED
        + ionic(forces=forces)
        + electronic(2, 1)
        + NOT_REACHED
        + ionic("2.0000")
    )
    found = launch(TOP + text)
    assert found.ionic == [
        IonicStep(1, 2, 4.0, False, -10.247667, 5.0, pytest.approx(13**0.5), True),
        IonicStep(2, 1, 2.0, False, -10.247667, None, None, False),
    ]


def test_energy_before_the_forces_as_in_version_5_2() -> None:
    text = (
        "  free  energy   TOTEN  =      -107.750539 eV\n"
        + table("  0.0  2.0  0.0")
        + CONVERGED
        + loop("1283.26", "LOOP+")
    )
    (step,) = launch(TOP + electronic() + text).ionic
    assert (step.energy_ev, step.largest_force_ev_per_a) == (-107.750539, 2.0)


def test_forces_beside_those_without_van_der_waals() -> None:
    heading = f"{FORCES[:-1]},                                   FORCE-w/o vdW (eV/Angst)\n"
    forces = table("  3.0  4.0  0.0   90.0   0.0   0.0", "  0.0  0.0  1.0    0.0   NaN  80.0", heading=heading)
    (step,) = launch(TOP + electronic() + ionic(forces=forces)).ionic
    assert (step.largest_force_ev_per_a, step.rms_force_ev_per_a) == (5.0, pytest.approx(13**0.5))


@pytest.mark.parametrize(
    "forces",
    [
        ("-1234.567890-1234.567890-1234.567890",),
        ("  1.0  2.0  3.0", "*************  0.000000  0.000000"),
        ("  NaN  0.000000  0.000000", "  1.0  2.0  3.0"),
        ("  Infinity  0.0  0.0",),
        ("  1.0  2.0",),
        ("  1.0  2.0  3.0\nsrun: error: n12: task 3: Killed",),
        (),
    ],
)
def test_forces_that_cannot_be_read(forces: tuple[str, ...]) -> None:
    found = launch(
        TOP + electronic() + ionic(forces=table(*forces)) + electronic(2) + ionic(forces=table("  0.0  2.0  0.0"))
    )
    assert [(step.largest_force_ev_per_a, step.rms_force_ev_per_a) for step in found.ionic] == [
        (None, None),
        (2.0, 2.0),
    ]


def test_an_unfinished_table_tells_nothing() -> None:
    text = (
        TOP
        + electronic()
        + FORCES
        + RULE
        + row("  1.0  2.0  3.0")
        + TOP
        + electronic()
        + ionic(forces=table("  0.0  2.0  0.0"))
    )
    first, second = launches(text)
    assert first.ionic == [] and second.ionic[0].largest_force_ev_per_a == 2.0
    assert launches(TOP + electronic() + FORCES + RULE + row("  1.0  2.0  3.0"))[0].ionic == []


def test_forces_on_fixed_ions_do_not_count() -> None:
    forces = table("  9.0  9.0  9.0", "  3.0  9.0  4.0", "  0.0  0.0  1.0")
    free = np.array([[False] * 3, [True, False, True], [True] * 3])
    (step,) = launch(TOP + electronic() + ionic(forces=forces), free).ionic
    assert (step.largest_force_ev_per_a, step.rms_force_ev_per_a) == (5.0, pytest.approx((26 / 3) ** 0.5))
    (step,) = launch(TOP + electronic() + ionic(forces=forces), free[:2]).ionic  # of another POSCAR
    assert step.largest_force_ev_per_a == pytest.approx(243**0.5)


def test_forces_of_a_force_field_do_not_replace_the_computed_ones() -> None:
    """Machine learning on the fly writes both tables for a step that it computes; the energy is the computed one too."""
    learned = table("  0.0  7.0  0.0", heading=f" {FORCES[:-1]} (ML)\n")
    computed = table("  0.0  2.0  0.0") + "  free  energy   TOTEN  =      -24.12737148 eV\n"
    learned += "  free  energy ML TOTEN  =       -24.12729692 eV\n"
    (step,) = launch(TOP + electronic() + computed + learned + loop("0.7244", "LOOP+")).ionic
    assert (step.energy_ev, step.largest_force_ev_per_a) == (-24.12737148, 2.0)


def test_a_step_of_a_force_field_has_no_number_of_another() -> None:
    """It has no electronic steps, and its number is not printed."""
    found = launch(
        TOP + electronic(3) + ionic() + loop("0.0017", "LOOP+") + loop("0.0137", "LOOP+") + electronic(6) + ionic()
    )
    assert [(step.ionic_step, step.electronic_steps) for step in found.ionic] == [(3, 1), (None, 0), (None, 0), (6, 1)]
