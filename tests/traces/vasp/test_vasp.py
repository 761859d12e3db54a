"""Tests of traces/vasp: folders, settings, tables."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from tests.traces.vasp.vasp_lines import (
    CORES,
    PARAMETERS,
    SETTINGS,
    SIZES,
    TOP,
    WHOLE,
    faults,
    named,
    read_runs,
    written,
)
from traces.common.log import LogError
from traces.vasp.folders import find_runs
from traces.vasp.runs import read_folder
from traces.vasp.settings import fortran_count, read_settings
from traces.vasp.tables import ELECTRONIC_SCHEMA, IONIC_SCHEMA, RUN_SCHEMA, VASP_REJECT_SCHEMA, tables_of

# folders: Which folders are runs.


def test_nested_folders(tmp_path: Path) -> None:
    for name in ("b/relax", "b/relax/static", "a", "b/deep/er/run"):
        written(tmp_path / name / "OUTCAR")
    written(tmp_path / "notes" / "README.txt", "no run")
    assert list(named(tmp_path)) == ["a", "b/deep/er/run", "b/relax", "b/relax/static"]
    for name, read in read_runs(tmp_path).items():
        assert read.runs.select("folder", "job_folder", "image").rows() == [(name, name, None)]
        assert read.rejects.is_empty()


def test_the_root_itself_may_be_a_run(tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR")
    written(tmp_path / "sub" / "OUTCAR")
    found = read_runs(tmp_path)
    assert list(found) == [".", "sub"]
    assert found["."].runs.select("folder", "job_folder").rows() == [(".", ".")]


def test_there_must_be_such_a_folder(tmp_path: Path) -> None:
    for path, what in ((tmp_path / "gone", "no such folder"), (written(tmp_path / "OUTCAR"), "is a file")):
        with pytest.raises(LogError, match=f"{what}: give the folder"):
            list(find_runs(path))


def test_a_folder_name_that_is_no_utf_8(tmp_path: Path) -> None:
    """Of a cluster whose names are in Latin 1."""
    folder = os.path.join(os.fsencode(tmp_path), b"r\xe9sultat")  # noqa: PTH118
    os.mkdir(folder)  # noqa: PTH102
    written(Path(os.fsdecode(folder)) / "OUTCAR")
    (found,) = find_runs(tmp_path)
    read = read_folder(found)
    assert read.runs["electronic_steps"].to_list() == [2] and "sultat" in read.runs["folder"][0]


def test_numbered_folders_without_inputs_above_are_runs(tmp_path: Path) -> None:
    for name in ("00", "01", "002"):
        written(tmp_path / name / "OUTCAR")
    (tmp_path / "03").mkdir()
    for name, read in read_runs(tmp_path).items():
        assert read.runs.select("job_folder", "image").rows() == ([(name, None)] if name != "03" else [])
    assert list(faults(tmp_path)) == [("03", "", "an empty folder")]


# Links.


def test_a_link_to_a_run_is_no_run_of_its_own(tmp_path: Path) -> None:
    written(tmp_path / "deep" / "run5" / "OUTCAR")
    for link, target in (("latest", "deep/run5"), ("all", "deep"), ("deep/up", ".."), ("deep/self", "self")):
        (tmp_path / link).symlink_to(target)
    assert list(named(tmp_path)) == ["deep/run5"] and list(faults(tmp_path)) == []


def test_the_root_may_be_a_link(tmp_path: Path) -> None:
    written(tmp_path / "real" / "run" / "OUTCAR")
    (tmp_path / "link").symlink_to("real")
    (found,) = find_runs(tmp_path / "link")
    assert (found.name, found.path) == ("run", tmp_path / "real" / "run")


def test_a_link_that_leads_out_is_told_of_and_not_followed(tmp_path: Path) -> None:
    written(tmp_path / "elsewhere" / "run" / "OUTCAR")
    written(tmp_path / "root" / "run" / "OUTCAR")
    for link, target in (("out", "../elsewhere"), ("above", ".."), ("run/out", "../../elsewhere/run")):
        (tmp_path / "root" / link).symlink_to(target)
    told = list(faults(tmp_path / "root"))
    assert [(folder, file) for folder, file, _ in told] == [("above", ""), ("out", ""), ("run/out", "")]
    assert {reason for *_, reason in told} == {
        "a link that leads out of the folder of runs is not followed: give what it leads to a name of its own"
    }
    assert [name for name, read in read_runs(tmp_path / "root").items() if read.run_rows] == ["run"]


@pytest.mark.parametrize("file", ["OUTCAR", "OUTCAR.relax1", "OSZICAR", "INCAR", "KPOINTS", "POSCAR", "slurm-12.out"])
@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_stands_elsewhere_is_told_of_and_not_read(file: str, there: bool, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "content"
    if there:
        written(target, WHOLE if file.startswith("OUTCAR") else "NSW = 7\nDUE TO TIME LIMIT\n")
    written(tmp_path / "root" / "run" / "OUTCAR")
    (tmp_path / "root" / "run" / file).unlink(missing_ok=True)
    (tmp_path / "root" / "run" / file).symlink_to(target)
    (read,) = read_runs(tmp_path / "root").values()
    reason = "a link that leads out of the folder of runs is not read: put the file in its place"
    assert read.reject_rows == [("run", file, reason)]
    assert [row["outcar"] for row in read.run_rows] == (["OUTCAR"] if file != "OUTCAR" else [])
    assert [row["nsw"] for row in read.run_rows] == [None] * len(read.run_rows)


def test_the_input_of_a_neb_that_stands_elsewhere(tmp_path: Path) -> None:
    """It is not looked into, not even for the number of images."""
    target = written(tmp_path / "INCAR", "IMAGES = 1\n")
    written(tmp_path / "root" / "01" / "OUTCAR")
    (tmp_path / "root" / "INCAR").symlink_to(target)
    assert named(tmp_path / "root")["01"].image is None


def test_a_file_of_the_same_tree_may_be_a_link(tmp_path: Path) -> None:
    written(tmp_path / "shared" / "INCAR.all", "IVDW = 12\n")
    written(tmp_path / "run" / "OUTCAR")
    (tmp_path / "run" / "INCAR").symlink_to("../shared/INCAR.all")
    assert read_runs(tmp_path)["run"].runs["ivdw"].to_list() == [12]


def test_an_outcar_counts_where_it_is(tmp_path: Path) -> None:
    """Of a link to another run's, to one in the same folder, and of two to a file whose name tells nothing."""
    written(tmp_path / "a" / "OUTCAR")
    written(tmp_path / "b" / "OUTCAR.relax2")
    written(tmp_path / "kept" / "17.txt")
    for link, target in (("b/OUTCAR", "OUTCAR.relax2"), ("c/OUTCAR", "../a/OUTCAR"), ("d/OUTCAR", "../kept/17.txt")):
        (tmp_path / link).parent.mkdir(exist_ok=True)
        (tmp_path / link).symlink_to(target)
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "OUTCAR").symlink_to("../kept/17.txt")
    found = {name: folder.outcars for name, folder in named(tmp_path).items()}
    assert found == {"a": ("OUTCAR",), "b": ("OUTCAR.relax2",), "d": ("OUTCAR",)}
    assert list(faults(tmp_path)) == []


# settings: Settings that the head of an OUTCAR tells, whole or in part.

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


# tables: Rows of VASP runs as tables.


def test_schemas(tmp_path: Path) -> None:
    written(tmp_path / "a" / "OUTCAR")
    (tmp_path / "b").mkdir()
    for read in read_runs(tmp_path).values():
        assert (read.runs.schema, read.electronic.schema) == (RUN_SCHEMA, ELECTRONIC_SCHEMA)
        assert (read.ionic.schema, read.rejects.schema) == (IONIC_SCHEMA, VASP_REJECT_SCHEMA)


def test_tables_of_many_folders_are_those_of_each(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / name / "OUTCAR")
    (tmp_path / "c").mkdir()
    reads = list(read_runs(tmp_path).values())
    tables = tables_of(reads)
    assert [table.height for table in tables] == [2, 4, 2, 1]
    for number, table in enumerate(tables):
        assert table.equals(pl.concat(tables_of([read])[number] for read in reads))


def test_no_folder_gives_tables_of_the_usual_columns() -> None:
    assert [set(table.columns) for table in tables_of([])] == [
        set(RUN_SCHEMA),
        set(ELECTRONIC_SCHEMA),
        set(IONIC_SCHEMA),
        set(VASP_REJECT_SCHEMA),
    ]
