"""The reader on 657 real runs, of which an index tells what is in them; they lie beside the repository."""

from __future__ import annotations

import csv
import gzip
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.shared import shared_file, size
from tests.traces.vasp.vasp_lines import assert_begins, whole_lines
from traces.vasp.folders import find_runs
from traces.vasp.oszicar import add_residuals, read_oszicar
from traces.vasp.outcar import read_outcar
from traces.vasp.runs import read_folder
from traces.vasp.tables import ReadFolder


def index() -> dict[str, dict[str, str]]:
    with shared_file("traces", "vasp", "INDEX.tsv").open() as lines:
        return {row["run"]: row for row in csv.DictReader(lines, delimiter="\t")}


@pytest.fixture(scope="module")
def found() -> dict[str, ReadFolder]:
    return {folder.name: read_folder(folder) for folder in find_runs(shared_file("traces", "vasp"))}


def outcar(run: str) -> bytes:
    with gzip.open(shared_file("traces", "vasp", run, "OUTCAR.gz")) as file:
        return file.read()


def with_oszicar() -> list[str]:
    return [run for run, row in index().items() if "OSZICAR" in row["inputs"]]


def test_every_run_is_read_and_none_rejected(found: dict[str, ReadFolder]) -> None:
    assert len(found) == 657 and set(found) == set(index())
    assert [read.rejects.rows() for read in found.values() if not read.rejects.is_empty()] == []
    assert {read.runs.height for read in found.values()} == {1}


def test_runs_are_as_the_index_tells(found: dict[str, ReadFolder]) -> None:
    for run, row in index().items():
        read: dict[str, Any] = found[run].runs.row(0, named=True)
        assert read["version"] == row["vasp_version"], run
        assert read["cores"] == int(row["cores"] or 1), run  # where the index has none, a serial version ran
        assert read["electronic_steps"] == found[run].electronic.height == int(row["loop_lines"]), run
        assert read["ionic_steps"] == found[run].ionic.height == int(row["loop_plus_lines"]), run
        assert read["elapsed_s"] == (float(row["elapsed_s"]) if row["elapsed_s"] else None), run
        assert read["state"] == ("finished" if row["elapsed_s"] else "cut_off"), run


def test_functionals_and_corrections_are_as_vasp_says(found: dict[str, ReadFolder]) -> None:
    """The line `METAGGA= F` of 477 runs is another parameter."""
    rows = {run: read.runs.select("metagga", "ivdw").row(0) for run, read in found.items()}
    assert {run: name for run, (name, _) in rows.items() if name} == {
        "emmet-43a4b28948": "R2SCAN",
        "pymatgen-test-files-077ead42c5": "R2SCA",
    }
    said = {run: set(re.findall(rb"(?m)^ *IVDW *= *(\d+)", outcar(run))) for run in found}
    assert {run: {b"%d" % number} for run, (_, number) in rows.items() if number is not None} == {
        run: numbers for run, numbers in said.items() if numbers
    }


@pytest.mark.parametrize(
    ("case", "row"),
    [
        ("vasp-metagga", {"metagga": "R2SCAN", "ivdw": 12}),
        ("vasp-vrhfin-xe", {"elements": "Xe O"}),
        ("vasp-vrhfin-zr", {"elements": "Zr O"}),
        ("vasp-images-semicolon", {"image": 1, "job_folder": "vasp-images-semicolon"}),
    ],
)
def test_what_people_reported(case: str, row: dict[str, Any]) -> None:
    root = shared_file("cases", case)
    reads = [read_folder(each) for each in find_runs(root.parent) if (root.parent / each.name).is_relative_to(root)]
    assert [read.rejects.rows() for read in reads if not read.rejects.is_empty()] == []
    (run,) = [read.runs.row(0, named=True) for read in reads]
    assert {name: run[name] for name in row} == row


def test_no_time_is_missing(found: dict[str, ReadFolder]) -> None:
    for run, read in found.items():
        row = read.runs.row(0, named=True)
        assert None not in [
            row[name] for name in ("started_at", "nelect", "nbands", "nkpts", "nions", "encut", "elements")
        ], run
        assert read.electronic["seconds"].null_count() == read.ionic["seconds"].null_count() == 0, run
        assert read.ionic["electronic_steps"].sum() <= read.electronic.height, run
        if row["elapsed_s"] is not None:
            assert 0 < row["loops_s"] <= row["elapsed_s"] * 1.02 + 0.1, run


def test_every_tenth_run_cut_anywhere() -> None:
    rng = random.Random(20)
    for run in list(index())[::10]:
        content = outcar(run)
        whole = read_outcar([content])
        for end in rng.sample(range(len(content)), size(10, 100)):
            part = whole_lines(content, end)
            launches = read_outcar([part])
            assert_begins(launches, whole)
            assert sum(len(launch.electronic) for launch in launches) == len(re.findall(rb"(?m)^ *LOOP: ", part))
            assert sum(len(launch.ionic) for launch in launches) == len(re.findall(rb"(?m)^ *LOOP\+: ", part))


def test_an_oszicar_gives_its_residuals(found: dict[str, ReadFolder]) -> None:
    """All steps have one, but for two runs whose OSZICAR is another run's, and steps of linear response."""
    told = {run: found[run].runs["residuals_told"][0] for run in with_oszicar()}
    missing = {
        run: (told[run], found[run].electronic.height) for run in told if told[run] != found[run].electronic.height
    }
    assert missing.pop("atomate-e0da72478e", None) is not None or told["atomate-e0da72478e"] == 114
    assert missing == {"aiida-vasp-29f3d4e4c4": (0, 153), "aiida-vasp-b1febd5329": (0, 239)}


def test_a_residual_is_of_a_step_with_the_same_energy() -> None:
    for run in with_oszicar():
        (launch,) = read_outcar([outcar(run)])
        printed = read_oszicar(Path(shared_file("traces", "vasp", run, "OSZICAR")).read_bytes())
        add_residuals(launch, printed)
        for step in launch.electronic:
            if step.residual is not None and step.energy_ev is not None:
                same = [
                    one for one in printed if one.energy_ev is not None and abs(one.energy_ev - step.energy_ev) < 2e-5
                ]
                assert step.residual in [one.residual for one in same], (run, step)
