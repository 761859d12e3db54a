"""Folders of VASP runs: which of them are runs, what is read of each, and that whatever cannot be read is reported."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests.traces.vasp.vasp_lines import (
    CORES,
    PACKERS,
    TOP,
    WHOLE,
    electronic,
    named,
    outcar_of,
    read_one,
    read_runs,
    relaxation,
    written,
)
from traces.vasp.synthetic import write_run

# What is read.


def test_a_synthetic_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = relaxation()
    write_run(tmp_path / "run", run)
    found = read_runs(tmp_path)["run"]
    row = found.runs.row(0, named=True)
    expected = {
        "folder": "run", "outcar": "OUTCAR", "launch": 1, "job_folder": "run", "image": None, "state": "finished",
        "state_reason": None, "converged": True, "started_at": run.started, "job_id": None, "version": "vasp.6.4.2",
        "architecture": "synthetic", "cores": run.cores, "threads": 1, "kpar": 1, "ncore": 4, "elements": " ".join(run.elements),
        "element_types": len(run.elements), "kpoints_method": "gamma", "nsw": 99, "ispin": run.spin, "nkpts": run.kpoints,
        "nions": run.ions, "nelect": run.electrons, "encut": run.encut, "ediff": 1e-5, "ediffg": -0.02, "ibrion": 2,
        "prec": "normal", "electronic_steps": sum(map(len, run.loops_s)), "ionic_steps": len(run.loops_s), "ivdw": None,
        "residuals_told": sum(map(len, run.loops_s)), "outcar_bytes": (tmp_path / "run" / "OUTCAR").stat().st_size,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["elapsed_s"] == pytest.approx(run.elapsed_s, abs=1e-3)
    assert row["volume_a3"] == pytest.approx(run.edge_a**3, abs=0.01)
    inside = sum(float(loops.sum()) for loops in run.loops_s) * (1 + run.ionic_overhead)
    assert row["loops_s"] == pytest.approx(inside, abs=1e-3)
    steps = [(ionic, k) for ionic, loops in enumerate(run.loops_s, start=1) for k in range(1, len(loops) + 1)]
    assert found.electronic.select("ionic_step", "step").rows() == steps
    assert found.electronic["position"].to_list() == list(range(1, len(steps) + 1))
    seconds = [float(value) for loops in run.loops_s for value in loops]
    assert found.electronic["seconds"].to_list() == pytest.approx(seconds, abs=1e-4)
    energies = [float(value) for values in run.energies_ev for value in values]
    assert found.electronic["energy_ev"].to_list() == pytest.approx(energies, abs=1e-7)
    assert set(found.electronic["algorithm"]) == {"DAV"} and found.electronic["residual"].null_count() == 0
    forces = [float((values**2).sum(axis=1).max() ** 0.5) for values in run.forces_ev_per_a]
    assert found.ionic["largest_force_ev_per_a"].to_list() == pytest.approx(forces, abs=1e-5)
    assert found.ionic["electronic_steps"].to_list() == [len(loops) for loops in run.loops_s]


def test_what_outcar_does_not_tell_comes_from_the_inputs(tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR")
    written(tmp_path / "INCAR", "IVDW = 12\nNSW = 7\nSYSTEM = x\n")
    written(tmp_path / "KPOINTS", "k\n0\nMonkhorst\n4 4 4\n0 0 0\n")
    row = read_one(tmp_path)
    assert (row["ivdw"], row["nsw"], row["kpoints_method"], row["cores"]) == (12, 7, "monkhorst-pack", 32)


def test_what_outcar_tells_is_in_force(tmp_path: Path) -> None:
    write_run(tmp_path, relaxation())
    written(tmp_path / "INCAR", "NSW = 1\nENCUT = 1\n")
    row = read_one(tmp_path)
    assert row["nsw"] == 99 and row["encut"] == relaxation().encut


def test_forces_on_fixed_ions_do_not_count(tmp_path: Path) -> None:
    run = relaxation()
    write_run(tmp_path, run)
    lines = (tmp_path / "POSCAR").read_text().splitlines()
    flags = ["0.5 0.5 0.5 T T T", *["0.5 0.5 0.5 F F F"] * (run.ions - 1)]
    written(tmp_path / "POSCAR", "\n".join([*lines[:7], "Selective dynamics", "Direct", *flags]) + "\n")
    (read,) = read_runs(tmp_path).values()
    forces = [float((values[0] ** 2).sum() ** 0.5) for values in run.forces_ev_per_a]
    assert read.ionic["largest_force_ev_per_a"].to_list() == pytest.approx(forces, abs=1e-5)


def test_the_oszicar_of_another_run(tmp_path: Path) -> None:
    write_run(tmp_path / "a", relaxation(1))
    write_run(tmp_path / "b", relaxation(2))
    (tmp_path / "b" / "OSZICAR").replace(tmp_path / "a" / "OSZICAR")
    read = read_runs(tmp_path)["a"]
    assert read.runs["residuals_told"].to_list() == [0] and read.rejects.is_empty()
    assert read.electronic["residual"].null_count() == read.electronic.height


@pytest.mark.parametrize("name", ["vasp.out", "slurm-12.out", "relax.o12", "stdout", "vasp_log", "vasp.log"])
def test_standard_output_tells_what_oszicar_does(name: str, tmp_path: Path) -> None:
    write_run(tmp_path, relaxation())
    whole = read_one(tmp_path)
    printed = (tmp_path / "OSZICAR").read_text()
    (tmp_path / "OSZICAR").unlink()
    written(tmp_path / name, " running on   32 total cores\n" + printed)
    assert read_one(tmp_path)["residuals_told"] == whole["residuals_told"] > 20


# Where runs are.


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_outcars(suffix: str, tmp_path: Path) -> None:
    write_run(tmp_path, relaxation())
    plain = read_one(tmp_path)
    content = PACKERS[suffix]((tmp_path / "OUTCAR").read_bytes())
    (tmp_path / "OUTCAR").unlink()
    path = written(tmp_path / f"OUTCAR{suffix}", content)
    packed = read_one(tmp_path)
    other = {"outcar": path.name, "outcar_bytes": len(content), "changed_at": packed["changed_at"]}
    assert packed == plain | other


def test_relaxations_one_after_another(tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR.relax1", outcar_of(relaxation(1), tmp_path / "one"))
    written(tmp_path / "OUTCAR.relax2.gz", gzip.compress(outcar_of(relaxation(2), tmp_path / "two")))
    (tmp_path / "two" / "OSZICAR").replace(tmp_path / "OSZICAR")
    for file, at in (("OUTCAR.relax1", 1000), ("OUTCAR.relax2.gz", 2000)):
        os.utime(tmp_path / file, (at, at))
    read = read_runs(tmp_path)["."]
    assert read.runs["outcar"].to_list() == ["OUTCAR.relax1", "OUTCAR.relax2.gz"]
    assert read.runs["ionic_steps"].to_list() == [len(relaxation(seed).loops_s) for seed in (1, 2)]
    told = read.runs["residuals_told"].to_list()
    assert told[0] == 0 and told[1] == read.runs["electronic_steps"][1], "OSZICAR is the second one's"


def test_a_restart_in_the_same_file(tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR", TOP + electronic() + WHOLE)
    (read,) = read_runs(tmp_path).values()
    columns = ["launch", "state", "state_reason", "electronic_steps", "ionic_steps"]
    assert read.runs.select(columns).rows() == [
        (1, "cut_off", "started again in the same file", 1, 0),
        (2, "finished", None, 2, 1),
    ]
    assert read.electronic.select("launch", "position").rows() == [(1, 1), (2, 1), (2, 2)]


def test_the_launch_that_came_next_is_named_by_its_time(tmp_path: Path) -> None:
    """Of three that were cut off before the last one; OUTCAR.10 comes before OUTCAR.2 by name."""
    for name, time in (("OUTCAR.1", "10:50:43"), ("OUTCAR.10", "12:00:00"), ("OUTCAR.2", "11:00:00")):
        written(tmp_path / name, TOP.replace("10:50:43", time) + electronic())
    for name in ("OUTCAR", "OUTCAR.same"):
        written(tmp_path / name, WHOLE.replace("10:50:43", "12:30:00"))
    (read,) = read_runs(tmp_path).values()
    assert dict(read.runs.select("outcar", "state_reason").iter_rows()) == {
        "OUTCAR.1": "started again in OUTCAR.2",
        "OUTCAR.2": "started again in OUTCAR.10",
        "OUTCAR.10": "started again in OUTCAR",
        "OUTCAR": None,
        "OUTCAR.same": None,
    }


# NEB.


def a_neb(root: Path) -> Path:
    """Two images between two end points that are not run."""
    for image in ("00", "01", "02", "03"):
        written(root / image / "POSCAR", "image\n1.0\n")
        if image in ("01", "02"):
            written(
                root / image / "OUTCAR",
                WHOLE.replace(CORES, CORES + " each image running on   16 cores\n"),
            )
    written(root / "INCAR", "IMAGES = 2\nIVDW = 11\n")
    written(root / "KPOINTS", "k\n0\nGamma\n4 4 4\n")
    return root


@pytest.mark.parametrize("name", ["neb", "deep/er/neb", "."])
def test_images_of_a_neb(name: str, tmp_path: Path) -> None:
    a_neb(tmp_path / name)
    found = read_runs(tmp_path)
    assert list(found) == [(Path(name) / image).as_posix() for image in ("01", "02")]
    for image, read in enumerate(found.values(), start=1):
        row = read.runs.row(0, named=True)
        assert (row["job_folder"], row["image"], row["image_cores"], row["cores"]) == (name, image, 16, 32)
        assert (row["ivdw"], row["kpoints_method"]) == (11, "gamma")
        assert read.rejects.is_empty()


@pytest.mark.parametrize(
    ("incar", "image"),
    [
        ("IBRION = 3; POTIM = 0 ; images = 2 ; SPRING = -5\n", 1),
        ("POTIM = 0; \\\n IMAGES = 2\n", 1),
        ("POTIM = 0 # ; IMAGES = 2\n", None),
        ("SYSTEM = IMAGES = 2\n", None),
        ("IMAGES = 0\n", None),
    ],
)
def test_images_is_a_statement_like_any_other(incar: str, image: int | None, tmp_path: Path) -> None:
    written(a_neb(tmp_path) / "INCAR", incar)
    assert read_runs(tmp_path)["01"].runs["image"].to_list() == [image]


@pytest.mark.parametrize(("incar", "functional"), [("R2SCAN", "R2SCAN"), ("SCAN", "R2SCA"), ("--", "R2SCA")])
def test_a_functional_that_vasp_cut_to_five_letters(incar: str, functional: str, tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR", WHOLE.replace(CORES, CORES + " METAGGA = R2SCA    LMAXTAU =  6    LMIXTAU =  T\n"))
    written(tmp_path / "INCAR", f"METAGGA = {incar}\n")
    assert read_runs(tmp_path)["."].runs["metagga"].to_list() == [functional]


def test_an_image_may_have_inputs_of_its_own(tmp_path: Path) -> None:
    written(a_neb(tmp_path) / "01" / "KPOINTS", "k\n0\nMonkhorst\n4 4 4\n")
    assert read_runs(tmp_path)["01"].runs["kpoints_method"].to_list() == ["monkhorst-pack"]


def test_how_a_neb_ended_is_told_beside_its_images(tmp_path: Path) -> None:
    """The batch job is the folder above, and so is its output."""
    root = a_neb(tmp_path)
    written(root / "01" / "OUTCAR", TOP + electronic())
    written(
        root / "slurm-77.out", "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2024-01-15 DUE TO TIME LIMIT ***\n"
    )
    found = [read.runs.select("state", "job_id").row(0) for read in read_runs(tmp_path).values()]
    assert found == [("timed_out", "77"), ("finished", "77")]


def test_the_stamp_of_an_image_knows_the_inputs_above(tmp_path: Path) -> None:
    root = a_neb(tmp_path)
    before = named(tmp_path)["01"].stamp
    written(root / "INCAR", "IMAGES = 2\nIVDW = 12\nNSW = 5\n")
    assert named(tmp_path)["01"].stamp != before
