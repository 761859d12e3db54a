"""Which folders are runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.traces.vasp.vasp_lines import (
    WHOLE,
    faults,
    named,
    read_runs,
    written,
)
from traces.common.log import LogError
from traces.vasp.folders import find_runs
from traces.vasp.runs import read_folder


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
    for path in (tmp_path / "gone", written(tmp_path / "OUTCAR")):
        with pytest.raises(LogError, match="no such folder"):
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
