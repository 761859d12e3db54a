"""Pieces of VASP's output for tests, as real files of versions 4.6 to 6.5 have them, and what they tell."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from traces.vasp.folders import RunFolder, find_runs
from traces.vasp.outcar import Launch, read_outcar
from traces.vasp.runs import read_folder
from traces.vasp.synthetic import SyntheticOptions, SyntheticRun, draw_runs, write_run
from traces.vasp.tables import ReadFolder

VERSION = " vasp.5.4.4.18Apr17-6-g9f103f2a35 (build Oct  1 2021 12:03:31) gamma-only        \n"
EXECUTED = " executed on             LinuxIFC date 2022.02.03  10:50:43\n"
CORES = " running on   32 total cores\n"
TOP = VERSION + EXECUTED + CORES
"""The least that makes a launch whose cores are known."""

SIZES = """\

 Dimension of arrays:
   k-points           NKPTS =     10   k-points in BZ     NKDIM =     14   number of bands    NBANDS=    200
   number of dos      NEDOS =    301   number of ions     NIONS =     33
   dimension x,y,z NGX =    48 NGY =   50 NGZ =   52
   dimension x,y,z NGXF=    96 NGYF=  100 NGZF=  104
   ions per type =               1  32
 NGX,Y,Z   is equivalent  to a cutoff of   9.76,  9.76,  9.76 a.u.

 I would recommend the setting:
   dimension x,y,z NGX =    44 NGY =   44 NGZ =   44
"""
FREE_TEXT = """\
 SYSTEM =  Fe NELM = 7; ENCUT = 1 ISPIN=1
 POSCAR =  NIONS = 99 NSW = 3
"""
PARAMETERS = """\

 Startparameter for this run:
   NWRITE =      2    write-flag & timer
   PREC   = accura    normal or accurate (medium, high low for compatibility)
   ISTART =      0    job   : 0-new  1-cont  2-samecut
   ICHARG =      2    charge: 1-file 2-atom 10-const
   ISPIN  =      2    spin polarized calculation?
   LNONCOLLINEAR =      F non collinear calculations
   LSORBIT =      F    spin-orbit coupling
   METAGGA=      F    non-selfconsistent MetaGGA calc.

 Electronic Relaxation 1
   ENCUT  =  270.0 eV  19.84 Ry    4.45 a.u.  10.95 10.95 10.95*2*pi/ulx,y,z
   NELM   =    100;   NELMIN=  2; NELMDL= -5     # of ELM steps
   EDIFF  = 0.1E-04   stopping-criterion for ELM
   LREAL  =      T    real-space projection
   LREAL_COMPAT= F    compatible to vasp.4.5.1-3
   GGA_COMPAT  = T    GGA compatible to vasp.4.4-vasp.4.6
 Ionic relaxation
   EDIFFG = -.1E-01   stopping-criterion for IOM
   NSW    =     99    number of steps for IOM
   IBRION =      2    ionic relax: 0-MD 1-quasi-New 2-CG
   ISIF   =      3    stress and relaxation
   ISYM   =      1    0-nonsym 1-usesym 2-fastsym
   POTIM  = 0.5000    time-step for ionic-motion
   NELECT =     364.0000    total number of electrons
   ISMEAR =    -5;   SIGMA  =   0.05  broadening in eV -4-tet -1-fermi 0-gaus
   IALGO  =     68    algorithm
   GGA     =    --    GGA type
   LEXCH   =     8    internal setting for exchange type
   LHFCALC =     F    Hartree Fock is set to
   LEPSILON=     F    determine dielectric tensor

  energy-cutoff  :      270.00
  volume of cell :      364.53
"""
SETTINGS: dict[str, Any] = {
    "NKPTS": 10, "NBANDS": 200, "NIONS": 33, "NGX": 48, "NGY": 50, "NGZ": 52, "PREC": "accura", "ISTART": 0, "ICHARG": 2,
    "ISPIN": 2, "LNONCOLLINEAR": False, "LSORBIT": False, "METAGGA": None, "ENCUT": 270.0, "NELM": 100, "NELMIN": 2,
    "NELMDL": -5, "EDIFF": 1e-5, "LREAL": True, "EDIFFG": -0.01, "NSW": 99, "IBRION": 2, "ISIF": 3, "ISYM": 1, "POTIM": 0.5,
    "NELECT": 364.0, "ISMEAR": -5, "SIGMA": 0.05, "IALGO": 68, "GGA": "--", "LEXCH": 8, "LHFCALC": False, "LEPSILON": False,
    "IVDW": None,
}  # fmt: skip
"""What SIZES, FREE_TEXT and PARAMETERS tell."""

RULE = f" {'-' * 83}\n"
FORCES = " POSITION                                       TOTAL-FORCE (eV/Angst)\n"
REACHED = "------------------------ aborting loop because EDIFF is reached ----------------------------------------\n"
NOT_REACHED = "------------------ aborting loop EDIFF was not reached (unconverged)  ------------------------------\n"
CONVERGED = " reached required accuracy - stopping structural energy minimisation\n"
END = (
    "\n\n General timing and accounting informations for this job:\n ================================================\n"
    "                         Elapsed time (sec):        7.539\n"
)


def loop(seconds: str, name: str = "LOOP") -> str:
    return f"{name + ':':>11}  cpu time{seconds:>11}: real time{seconds:>11}\n"


def iteration(ionic: int | str, step: int | str) -> str:
    return f"{'-' * 39} Iteration {ionic:>6}({step:>4})  {'-' * 39}\n"


def electronic(ionic: int = 1, step: int = 1, seconds: str = "1.5000", energy: float = -10.25) -> str:
    """An electronic step, whole, after the first five: its charge is mixed."""
    return (
        f"{iteration(ionic, step)}\n{loop(seconds)}\n eigenvalue-minimisations  :{190 + step:6d}\n"
        " total energy-change (2. order) :-0.1921446E+02  (-0.1842710E+02)\n"
        " number of electron       8.0000000 magnetization      -0.0000005\n\n"
        f" rms(total) = 0.53271E+00    rms(broyden)= 0.53271E+00\n  free energy    TOTEN  = {energy:18.8f} eV\n\n"
    )


def row(force: str) -> str:
    return f"      0.00000      1.00000      2.00000    {force}\n"


def table(*forces: str, heading: str = FORCES) -> str:
    """A table of forces; each is what stands behind the position."""
    drift = "    total drift:                               -0.000000      0.000000      0.000000\n"
    return heading + RULE + "".join(map(row, forces)) + RULE + drift


def ionic(seconds: str = "4.0000", energy: str = "-10.247667", forces: str = "") -> str:
    total = f"  FREE ENERGIE OF THE ION-ELECTRON SYSTEM (eV)\n  free  energy   TOTEN  = {energy:>18} eV\n\n"
    return forces + total + loop(seconds, "LOOP+")


WHOLE = TOP + electronic(1, 1) + electronic(1, 2) + ionic() + END
"""A small run that has ended."""


def launches(text: str | bytes, free: NDArray[np.bool_] | None = None) -> list[Launch]:
    return read_outcar([text if isinstance(text, bytes) else text.encode()], free)


def launch(text: str | bytes, free: NDArray[np.bool_] | None = None) -> Launch:
    (only,) = launches(text, free)
    return only


def whole_lines(content: bytes, end: int) -> bytes:
    """What a reader is given of a file that ends there."""
    return content[: content.rfind(b"\n", 0, end) + 1]


def assert_begins(part: list[Launch], whole: list[Launch]) -> None:
    """What was read of the beginning of a file is what was read of all of it, as far as it goes."""
    assert len(part) <= len(whole)
    assert part[:-1] == whole[: max(len(part) - 1, 0)]
    for last, same in zip(part[-1:], whole[len(part) - 1 :], strict=False):
        steps = len(last.electronic)
        assert last.electronic[:-1] == same.electronic[: max(steps - 1, 0)]
        if steps:
            told = {name: value for name, value in asdict(last.electronic[-1]).items() if value is not None}
            assert told.items() <= asdict(same.electronic[steps - 1]).items()
            assert last.settings in (
                same.settings,
                same.settings | {"IVDW": None},
            )  # it is printed behind the first steps
        assert last.ionic == same.ionic[: len(last.ionic)]
        heading = ("version", "architecture", "started_at")
        assert [getattr(last, name) for name in heading] == [getattr(same, name) for name in heading]
        assert last.elapsed_s in (None, same.elapsed_s)
        assert last.converged <= same.converged and last.finished <= same.finished


def outcar_of(run: SyntheticRun, folder: Path) -> bytes:
    write_run(folder, run)
    return (folder / "OUTCAR").read_bytes()


def relaxation(seed: int = 1, steps: int = 3) -> SyntheticRun:
    """A synthetic run with several ionic steps, but not many more than `steps`."""
    runs = (run for run in draw_runs(SyntheticOptions(60, seed, single_share=0)) if len(run.loops_s) >= steps)
    return min(runs, key=lambda run: len(run.loops_s))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".zst": lambda content: b"".join(
        zstandard.compress(content[at : at + 20_000]) for at in range(0, len(content), 20_000)
    ),
    ".xz": lambda content: lzma.compress(content, preset=0),
}
"""By the endings of names; .zst in pieces, so that it can be read as far as it goes."""


def written(path: Path, text: str | bytes = WHOLE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def loop_of_links(path: Path) -> None:
    """A file that nobody can read, not even root."""
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


NOW = datetime(2024, 5, 1, 12, 0, 0)


def set_changed(path: Path, seconds_ago: float) -> None:
    """As if the file had been written to so long before NOW."""
    at = (NOW - datetime(1970, 1, 1) - timedelta(seconds=seconds_ago)).total_seconds()
    os.utime(path, (at, at))


def read_runs(root: Path, **options: Any) -> dict[str, ReadFolder]:
    """Everything below a folder, by the names of its folders."""
    return {folder.name: read_folder(folder, **options) for folder in find_runs(root)}


def read_one(root: Path, **options: Any) -> dict[str, Any]:
    """The only launch of the only run, which has no reject."""
    (found,) = read_runs(root, **options).values()
    assert found.rejects.rows() == []
    (only,) = found.runs.iter_rows(named=True)
    return only


def faults(root: Path) -> Iterator[tuple[str, str, str]]:
    for found in read_runs(root).values():
        yield from found.rejects.iter_rows()


def named(root: Path) -> dict[str, RunFolder]:
    return {folder.name: folder for folder in find_runs(root)}
