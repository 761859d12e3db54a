"""Synthetic VASP run folders, for examples, tests and load tests. The files look like VASP's, the numbers are drawn.

Nothing here is physics. Times depend on the size of the problem roughly as real ones do (electrons, plane waves, k-points, cores),
so that a predictor has something to find. Names and settings say `synthetic`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

SYNTHETIC_RUNS_VERSION = 1
"""Raise it when the same options give other files."""
ELEMENTS = {"H": 1, "C": 4, "N": 5, "O": 6, "Al": 3, "Si": 4, "Ti": 12, "Fe": 8, "Ni": 10, "Cu": 11, "Zn": 12, "Mo": 12}
"""Valence electrons as a pseudopotential may have them."""


@dataclass(frozen=True)
class SyntheticOptions:
    """runs: how many. seed: of everything drawn. single_share: share of runs with one ionic step. mean_interval_s: mean seconds
    between starts. unfinished: how many of the last runs are left somewhere on their way."""

    runs: int = 60
    seed: int = 1
    single_share: float = 0.7
    mean_interval_s: float = 1800.0
    unfinished: int = 5
    first_start: datetime = datetime(2024, 1, 1)

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ValueError(f"runs must be at least 1, got {self.runs}")
        if not 0 <= self.unfinished <= self.runs:
            raise ValueError(f"unfinished must be between 0 and runs ({self.runs}), got {self.unfinished}")
        if not 0 <= self.single_share <= 1:
            raise ValueError(f"single_share is a share from 0 to 1, got {self.single_share}")


@dataclass(frozen=True)
class SyntheticRun:
    """One run as a whole. loops_s, energies_ev: of the electronic steps of each ionic step. forces_ev_per_a: (ions, 3) of each."""

    name: str
    started: datetime
    elements: tuple[str, ...]
    counts: tuple[int, ...]
    cores: int
    kpoints: int
    encut: float
    nsw: int
    spin: int
    edge_a: float
    loops_s: list[np.ndarray] = field(repr=False)
    energies_ev: list[np.ndarray] = field(repr=False)
    forces_ev_per_a: list[np.ndarray] = field(repr=False)
    setup_s: float = 2.0
    closing_s: float = 1.0
    ionic_overhead: float = 0.08

    @property
    def ions(self) -> int:
        """Ions of all elements."""
        return sum(self.counts)

    @property
    def electrons(self) -> int:
        """Valence electrons of all ions."""
        return sum(ELEMENTS[name] * count for name, count in zip(self.elements, self.counts, strict=True))

    @property
    def elapsed_s(self) -> float:
        """Seconds from the start to the end of the run."""
        inside = sum(float(loops.sum()) * (1 + self.ionic_overhead) for loops in self.loops_s)
        return self.setup_s + inside + self.closing_s


def draw_runs(options: SyntheticOptions) -> list[SyntheticRun]:
    """Runs in the order of their start. The same options give the same runs."""
    rng = np.random.default_rng(options.seed)
    started, runs = options.first_start, []
    for number in range(options.runs):
        started += timedelta(seconds=int(rng.exponential(options.mean_interval_s)))
        runs.append(_draw_run(rng, number, started, bool(rng.random() < options.single_share)))
    return runs


def _draw_run(rng: np.random.Generator, number: int, started: datetime, single: bool) -> SyntheticRun:
    kinds = tuple(rng.choice(list(ELEMENTS), size=rng.integers(1, 4), replace=False).tolist())
    counts = tuple(int(n) for n in rng.integers(1, 13, size=len(kinds)))
    ions = sum(counts)
    electrons = sum(ELEMENTS[name] * count for name, count in zip(kinds, counts, strict=True))
    encut, kpoints = float(rng.choice([300, 400, 520, 700])), int(rng.choice([1, 2, 4, 8, 14, 36]))
    cores, spin = int(rng.choice([4, 8, 16, 32, 64])), int(rng.integers(1, 3))
    edge = (ions * float(rng.uniform(10, 25))) ** (1 / 3)
    waves = 0.1 * edge**3 * (encut / 13.6) ** 1.5 / 6
    work = 2e-9 * spin * kpoints * waves * electrons**1.4 * 8  # one electronic step on one core, seconds
    loop = max(work * 6000 / cores**0.85, 0.02) * float(rng.lognormal(0, 0.2))
    difficulty = float(rng.lognormal(0, 0.25))
    steps = 1 if single else int(np.clip(rng.geometric(1 / 12) + 1, 2, 60))
    loops, energies, forces = [], [], []
    base = -4.0 * electrons
    # the largest force falls to just below EDIFFG at the last step, on a straight line in decades, with noise
    first = float(rng.lognormal(0.3, 0.5))
    largest_forces = first * (0.019 / first) ** (np.arange(steps) / max(steps - 1, 1))
    largest_forces[1:-1] = np.maximum(largest_forces[1:-1] * rng.lognormal(0, 0.15, size=max(steps - 2, 0)), 0.021)
    for ionic in range(steps):
        n = int(np.clip(rng.normal(18, 4) * difficulty, 6, 60)) if ionic == 0 else int(rng.integers(5, 12))
        off = 10 ** np.linspace(1.5 if ionic == 0 else -1, -5.3, n) * rng.lognormal(0, 0.3, size=n)
        energies.append(base + 0.5 * float(largest_forces[ionic]) ** 2 + off)
        loops.append(loop * rng.lognormal(0, 0.06, size=n) * np.where(np.arange(n) < 2, 1.15, 1.0))
        force = rng.normal(0, 1.0, size=(ions, 3))
        force *= largest_forces[ionic] / float(np.sqrt(np.square(force).sum(axis=1).max()))
        forces.append(force)
    return SyntheticRun(
        name=f"synthetic-{number:05d}",
        started=started,
        elements=kinds,
        counts=counts,
        cores=cores,
        kpoints=kpoints,
        encut=encut,
        nsw=0 if single else 99,
        spin=spin,
        edge_a=edge,
        loops_s=loops,
        energies_ev=energies,
        forces_ev_per_a=forces,
        setup_s=2.0 + 0.02 * ions + 2 * loop,
    )


def write_runs(root: Path, options: SyntheticOptions) -> None:
    """Writes a folder per run below `root`."""
    runs = draw_runs(options)
    rng = np.random.default_rng([options.seed, 1])
    for number, run in enumerate(runs):
        left = number >= len(runs) - options.unfinished
        write_run(root / run.name, run, until_s=float(rng.uniform(0.1, 0.95)) * run.elapsed_s if left else None)


def write_run(folder: Path, run: SyntheticRun, until_s: float | None = None) -> None:
    """Writes OUTCAR, OSZICAR, INCAR, KPOINTS and POSCAR. until_s: as they are this long after the start. Default: at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    outcar, oszicar = _outputs(run, until_s)
    (folder / "OUTCAR").write_text(outcar)
    (folder / "OSZICAR").write_text(oszicar)
    (folder / "INCAR").write_text(
        f"SYSTEM = {run.name}\nENCUT = {run.encut:g}\nEDIFF = 1E-05\nISPIN = {run.spin}\nISMEAR = 0 ; SIGMA = 0.05\n"
        + (f"NSW = {run.nsw}\nIBRION = 2 # relax\nEDIFFG = -0.02\n" if run.nsw else "")
    )
    mesh = max(round(run.kpoints ** (1 / 3)), 1)
    (folder / "KPOINTS").write_text(f"synthetic\n0\nGamma\n{mesh} {mesh} {mesh}\n0 0 0\n")
    edge = run.edge_a
    lines = [run.name, "1.0", f"{edge:.6f} 0 0", f"0 {edge:.6f} 0", f"0 0 {edge:.6f}", " ".join(run.elements)]
    lines += [" ".join(map(str, run.counts)), "Direct", *("0.5 0.5 0.5" for _ in range(run.ions))]
    (folder / "POSCAR").write_text("\n".join(lines) + "\n")
    written = run.started.replace(tzinfo=UTC).timestamp() + min(run.elapsed_s, until_s or run.elapsed_s)
    for file in folder.iterdir():
        os.utime(file, (written, written))  # so that nothing shows when they were made


def _outputs(run: SyntheticRun, until_s: float | None) -> tuple[str, str]:
    """(OUTCAR, OSZICAR)."""
    text, printed = [_header(run)], []
    now, last = run.setup_s, until_s if until_s is not None else float("inf")
    for ionic, (loops, energies, forces) in enumerate(
        zip(run.loops_s, run.energies_ev, run.forces_ev_per_a, strict=True), start=1
    ):
        before = 0.0
        if now <= last:
            printed.append(
                "       N       E                     dE             d eps       ncg     rms          rms(c)"
            )
        for step, (seconds, energy) in enumerate(zip(loops, energies, strict=True), start=1):
            now += float(seconds)
            if now > last:
                return "".join(text), "\n".join([*printed, ""])
            change, before = energy - before, energy
            text.append(_electronic(ionic, step, seconds, energy, change))
            residual = min(abs(change), 90.0) + 1e-7
            printed.append(
                f"DAV: {step:3d}    {_fortran(energy, 12, 20)}   {_fortran(change, 5, 12)}   {_fortran(change * 0.9, 5, 12)}"
                f"{64 + step:6d}   {_fortran(residual, 3, 9)}"
            )
        now += float(loops.sum()) * run.ionic_overhead
        if now > last:
            return "".join(text), "\n".join([*printed, ""])
        final = float(energies[-1])
        converged = run.nsw > 0 and ionic == len(run.loops_s)
        text.append(_ionic(forces, float(loops.sum()) * (1 + run.ionic_overhead), final, converged))
        printed.append(
            f"{ionic:4d} F= {_fortran(final, 8, 0)} E0= {_fortran(final, 8, 0)}  d E ={_fortran(final, 6, 0)}"
        )
    if run.elapsed_s <= last:
        text.append(
            "\n\n General timing and accounting informations for this job:\n"
            f"                         Elapsed time (sec):  {run.elapsed_s:12.3f}\n"
        )
    return "".join(text), "\n".join([*printed, ""])


def _header(run: SyntheticRun) -> str:
    potentials = "".join(f"   VRHFIN ={name}: synthetic\n" for name in run.elements)
    return (
        " vasp.6.4.2 20Jul23 (synthetic) complex\n"
        f" executed on            synthetic date {run.started:%Y.%m.%d  %H:%M:%S}\n"
        f" running  {run.cores:4d} mpi-ranks, with    1 threads/rank, on    {max(run.cores // 32, 1)} nodes\n"
        f" distrk:  each k-point on {run.cores:4d} cores,    1 groups\n"
        f" distr:  one band on NCORE=   4 cores, {max(run.cores // 4, 1):4d} groups\n\n"
        f"{potentials}\n Automatic generation of k-mesh.\n\n Dimension of arrays:\n"
        f"   k-points           NKPTS = {run.kpoints:6d}   k-points in BZ     NKDIM = {run.kpoints:6d}   number of bands"
        f"    NBANDS= {run.electrons // 2 + 8:6d}\n"
        f"   number of dos      NEDOS =    301   number of ions     NIONS = {run.ions:6d}\n"
        f"   dimension x,y,z NGX = {_grid(run):5d} NGY = {_grid(run):4d} NGZ = {_grid(run):4d}\n"
        f"   ions per type =             {' '.join(f'{n:3d}' for n in run.counts)}\n"
        f" SYSTEM =  {run.name}\n\n Startparameter for this run:\n"
        "   PREC   = normal    normal or accurate (medium, high low for compatibility)\n"
        "   ISTART =      0    job   : 0-new  1-cont  2-samecut\n"
        "   ICHARG =      2    charge: 1-file 2-atom 10-const\n"
        f"   ISPIN  = {run.spin:6d}    spin polarized calculation?\n"
        "   LNONCOLLINEAR =      F non collinear calculations\n   LSORBIT =      F    spin-orbit coupling\n"
        f"   ENCUT  = {run.encut:6.1f} eV\n"
        "   NELM   =     60;   NELMIN=  2; NELMDL= -5     # of ELM steps\n"
        "   EDIFF  = 0.1E-04   stopping-criterion for ELM\n   LREAL  =      F    real-space projection\n"
        f"   EDIFFG = {'-.2E-01' if run.nsw else '0.1E-03'}   stopping-criterion for IOM\n"
        f"   NSW    = {run.nsw:6d}    number of steps for IOM\n   IBRION = {2 if run.nsw else -1:6d}    ionic relax\n"
        "   ISIF   =      2    stress and relaxation\n   ISYM   =      2    0-nonsym 1-usesym 2-fastsym\n"
        f"   POTIM  = 0.5000    time-step for ionic-motion\n   NELECT = {run.electrons:12.4f}    total number of electrons\n"
        "   ISMEAR =     0;   SIGMA  =   0.05  broadening in eV -4-tet -1-fermi 0-gaus\n"
        "   IALGO  =     38    algorithm\n   GGA     =    --    GGA type\n   LEXCH   =     8    internal setting\n"
        "   LHFCALC =     F    Hartree Fock is set to\n   LEPSILON=     F    determine dielectric tensor\n"
        "   LWAVE  =      F    write WAVECAR\n   LCHARG =      F    write CHGCAR\n\n"
        f"  energy-cutoff  : {run.encut:11.2f}\n  volume of cell : {run.edge_a**3:11.2f}\n\n\n"
    )


def _grid(run: SyntheticRun) -> int:
    return 2 * round(run.edge_a * run.encut**0.5 / 12)


def _electronic(ionic: int, step: int, seconds: float, energy: float, change: float) -> str:
    rule = "-" * 104
    return (
        f"{'-' * 39} Iteration {ionic:6d}({step:4d})  {'-' * 39}\n\n\n"
        f"     EDDAV:  cpu time{seconds:11.4f}: real time{seconds:11.4f}\n"
        f"      LOOP:  cpu time{seconds:11.4f}: real time{seconds:11.4f}\n\n"
        f" eigenvalue-minimisations  :{64 + step:6d}\n"
        f" total energy-change (2. order) :{_fortran(change, 7, 14)}  ({_fortran(change * 0.9, 7, 14)})\n"
        f" number of electron      28.0000000 magnetization\n\n"
        f"  free energy    TOTEN  = {energy:18.8f} eV\n\n{rule}\n\n\n"
    )


def _ionic(forces: np.ndarray, seconds: float, energy: float, converged: bool) -> str:
    rows = "".join(f" {0.5:12.5f} {0.5:12.5f} {0.5:12.5f}    {x:13.6f} {y:13.6f} {z:13.6f}\n" for x, y, z in forces)
    rule = f" {'-' * 83}\n"
    return (
        "--------------- aborting loop because EDIFF is reached ----------------------------------------\n\n"
        f" POSITION                                       TOTAL-FORCE (eV/Angst)\n{rule}{rows}{rule}"
        "    total drift:                                0.000000      0.000000      0.000000\n\n"
        f"  FREE ENERGIE OF THE ION-ELECTRON SYSTEM (eV)\n  free  energy   TOTEN  = {energy:18.6f} eV\n\n"
        + (" reached required accuracy - stopping structural energy minimisation\n" if converged else "")
        + f"     LOOP+:  cpu time{seconds:11.4f}: real time{seconds:11.4f}\n\n"
    )


def _fortran(value: float, digits: int, width: int) -> str:
    """A number as Fortran's E format prints it: 0.1234E+02."""
    if value == 0:
        return f"{0.0:.{digits}f}E+00".rjust(width)
    mantissa, exponent = f"{abs(value):.{digits - 1}E}".split("E")
    shifted = mantissa.replace(".", "")
    return f"{'-' if value < 0 else ''}0.{shifted}E{int(exponent) + 1:+03d}".rjust(width)
