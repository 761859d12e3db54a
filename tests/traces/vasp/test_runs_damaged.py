"""Folders of VASP runs that are damaged, unfinished or still growing: what is reported of them, and what is not lost."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from tests.traces.vasp.vasp_lines import (
    END,
    NOW,
    PACKERS,
    TOP,
    WHOLE,
    electronic,
    faults,
    ionic,
    loop_of_links,
    named,
    outcar_of,
    read_one,
    read_runs,
    relaxation,
    set_changed,
    whole_lines,
    written,
)
from traces.vasp.runs import read_folder
from traces.vasp.synthetic import write_run

NOBODY = 65534
TIME_LIMIT = "slurmstepd: error: *** JOB {} ON n1 CANCELLED AT 2024-01-15T10:00:00 DUE TO TIME LIMIT ***\n"
UNFINISHED = TOP + electronic(1, 1) + electronic(1, 2)

# Rejects.


@pytest.mark.parametrize("file", ["INCAR", "POSCAR", "KPOINTS", "OSZICAR", "CONTCAR", "XDATCAR", "vasprun.xml"])
def test_a_folder_without_outcar(file: str, tmp_path: Path) -> None:
    written(tmp_path / "run" / file, "x")
    assert list(faults(tmp_path)) == [("run", "", "no OUTCAR: not started, or removed")]


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert list(faults(tmp_path)) == [("run", "", "an empty folder")]


@pytest.mark.parametrize("text", ["no outcar\n", " vasp.5.4.4 complex\n", "\0" * 10_000, "\n", "half a line"])
def test_what_is_no_outcar(text: str, tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR", text)
    ((folder, file, reason),) = faults(tmp_path)
    assert (folder, file) == (".", "OUTCAR") and reason.startswith("not an OUTCAR")
    assert read_runs(tmp_path)["."].runs.is_empty()


def test_an_empty_outcar(tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR", "")
    assert list(faults(tmp_path)) == [(".", "OUTCAR", "OUTCAR is empty")]
    for suffix, pack in PACKERS.items():
        written(tmp_path / suffix / f"OUTCAR{suffix}", pack(b"") or gzip.compress(b""))
    assert len(list(faults(tmp_path))) == 1 + len(PACKERS)


@pytest.mark.parametrize("file", ["OUTCAR", "OSZICAR"])
def test_a_pipe_is_not_waited_for(file: str, tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR", "no outcar\n")
    (tmp_path / file).unlink(missing_ok=True)
    os.mkfifo(tmp_path / file)
    ((folder, _, reason),) = faults(tmp_path)
    assert folder == "." and (file != "OUTCAR" or reason.startswith("is a pipe (FIFO) and not a file"))


@pytest.mark.parametrize("beside", [(), ("INCAR",)])
def test_packed_in_a_way_that_is_not_read(beside: tuple[str, ...], tmp_path: Path) -> None:
    for file in ("OUTCAR.bz2", *beside):
        written(tmp_path / file, "x")
    ((folder, file, reason),) = faults(tmp_path)
    assert (folder, file) == (".", "OUTCAR.bz2")
    assert reason.startswith("a name that is not read")


def test_packed_so_beside_one_that_is_read(tmp_path: Path) -> None:
    """Two relaxations, of which one cannot be read: that is reported."""
    written(tmp_path / "OUTCAR.relax1.bz2", "x")
    written(tmp_path / "OUTCAR.relax2")
    (read,) = read_runs(tmp_path).values()
    assert read.runs["outcar"].to_list() == ["OUTCAR.relax2"]
    assert [file for _, file, _ in read.rejects.rows()] == ["OUTCAR.relax1.bz2"]


def test_an_image_packed_so(tmp_path: Path) -> None:
    """It is no end point of the NEB: it was run."""
    written(tmp_path / "INCAR", "IMAGES = 1\n")
    written(tmp_path / "01" / "OUTCAR.bz2", "x")
    assert [(name, "packed" in reason) for name, _, reason in faults(tmp_path)] == [("01", True)]


@pytest.mark.parametrize("suffix", PACKERS)
def test_what_stands_before_the_damage_is_read(suffix: str, tmp_path: Path) -> None:
    """A packed file that was copied by half: half of its steps are there."""
    content = outcar_of(relaxation(4, steps=12), tmp_path / "whole")
    assert len(content) > 40_000
    packed = PACKERS[suffix](content)
    written(tmp_path / "cut" / f"OUTCAR{suffix}", packed[: len(packed) // 2])
    found = read_runs(tmp_path)
    whole, cut = found["whole"], found["cut"]
    ((_, file, reason),) = cut.rejects.rows()
    assert file == f"OUTCAR{suffix}" and f"damaged {suffix} file" in reason and "before the damage" in reason
    steps = cut.electronic.height
    assert steps >= 5 and cut.runs["electronic_steps"].to_list() == [steps]
    columns = ["position", "ionic_step", "step", "seconds", "energy_ev"]
    assert cut.electronic.select(columns).rows()[:-1] == whole.electronic.select(columns).rows()[: steps - 1]


def test_damage_at_the_very_end(tmp_path: Path) -> None:
    """The check sum is wrong: all of it can be read, and it is reported."""
    packed = gzip.compress(WHOLE.encode())
    written(tmp_path / "OUTCAR.gz", packed[:-8] + bytes(4) + packed[-4:])
    (read,) = read_runs(tmp_path).values()
    assert ["damaged .gz file" in reason for reason in read.rejects["reason"]] == [True]
    assert read.runs.select("electronic_steps", "state").rows() == [(2, "finished")]


@pytest.mark.parametrize("file", ["OUTCAR", "OSZICAR", "INCAR", "KPOINTS", "POSCAR", "slurm-12.out"])
def test_a_file_that_cannot_be_opened(file: str, tmp_path: Path) -> None:
    write_run(tmp_path, relaxation())
    loop_of_links(tmp_path / file)
    (read,) = read_runs(tmp_path).values()
    ((_, named_file, reason),) = read.rejects.rows()
    assert named_file == file and "cannot be read" in reason
    assert read.runs.height == (file != "OUTCAR")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may read; pytest's own are closed to the user whom root becomes below."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def as_somebody() -> Iterator[None]:
    """Root may read everything, so root becomes somebody else meanwhile."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("file", ["OUTCAR", "OSZICAR", "INCAR", "KPOINTS", "POSCAR", "slurm-12.out"])
def test_a_file_that_may_not_be_read(file: str, open_folder: Path) -> None:
    write_run(open_folder / "a", relaxation())
    written(open_folder / "a" / "slurm-12.out", "")
    (open_folder / "a" / file).chmod(0)
    with as_somebody():
        read = read_runs(open_folder)["a"]
    ((_, named_file, reason),) = read.rejects.rows()
    assert named_file == file and "cannot be read" in reason
    assert read.runs.height == (file != "OUTCAR")


@pytest.mark.parametrize("mode", [0, 0o444, 0o111])
def test_a_folder_that_may_not_be_read(mode: int, open_folder: Path) -> None:
    """Neither listed, nor only listed (its files cannot be looked at then), nor only entered; the one beside it is read."""
    for name in "ab":
        write_run(open_folder / name, relaxation())
    (open_folder / "b").chmod(mode)
    try:
        with as_somebody():
            read = read_runs(open_folder)
    finally:
        (open_folder / "b").chmod(0o755)
    assert read["a"].runs.height == 1
    ((folder, _, reason),) = read["b"].rejects.rows()
    assert folder == "b" and "cannot be read (Permission denied)" in reason


@pytest.mark.parametrize(
    ("text", "missing", "words"),
    [
        (UNFINISHED[UNFINISHED.index(electronic(1, 2)) :] + ionic() + END, "head", ["its head is missing"]),
        (TOP + electronic(1, 1) + electronic(1, 7) + ionic() + END, "middle", ["lines are missing in the middle"]),
        (electronic(1, 1) + electronic(1, 7) + END, "head and middle", ["its head is missing", "lines are missing"]),
        (WHOLE, None, []),
    ],
)
def test_what_is_missing_is_told(text: str, missing: str | None, words: list[str], tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR", text)
    (read,) = read_runs(tmp_path).values()
    assert read.runs.select("missing", "state", "elapsed_s").rows() == [(missing, "finished", 7.539)]
    assert [
        (file, reason.startswith(word)) for (_, file, reason), word in zip(read.reject_rows, words, strict=True)
    ] == [("OUTCAR", True)] * len(words)
    if missing and missing.startswith("head"):
        assert read.runs.select("started_at", "version", "cores", "nsw").rows() == [(None, None, None, None)]


def test_one_of_two_outcars_is_gone(tmp_path: Path) -> None:
    """A link to a file that was removed, or one that goes while the folder is read."""
    written(tmp_path / "OUTCAR.relax1")
    (tmp_path / "OUTCAR.relax2").symlink_to("gone")
    (read,) = read_runs(tmp_path).values()
    assert read.runs["outcar"].to_list() == ["OUTCAR.relax1"]
    ((_, file, reason),) = read.rejects.rows()
    assert file == "OUTCAR.relax2" and "no such" in reason


def test_a_folder_that_goes_before_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "run" / "OUTCAR")
    found = named(tmp_path)["run"]
    path.unlink()
    read = read_folder(found)
    assert read.runs.is_empty() and read.rejects["file"].to_list() == ["OUTCAR"]


@pytest.mark.parametrize("text", ["NSW = inf\n", "NSW = 1e30\n", "ENCUT = 1e999\n", "\0\xff\n"])
def test_an_incar_of_nonsense(text: str, tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR")
    written(tmp_path / "INCAR", text.encode("latin-1"))
    row = read_one(tmp_path)
    assert (row["nsw"], row["encut"], row["electronic_steps"]) == (None, None, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("running on   32", "running on99999999999999999999"),
        ("minimisations  :   191", "minimisations  :99999999999999999999"),
        ("Iteration      1(", "Iteration99999999999999999999("),
        ("2022.02.03  10:50:43", "0001.01.01  00:00:00"),
        ("2022.02.03  10:50:43", "9999.12.31  23:59:59"),
        ("LinuxIFC", "\xff\0LinuxIFC"),
    ],
)
def test_damage_that_looks_like_numbers(old: str, new: str, tmp_path: Path) -> None:
    """Whatever a damaged file says, it is read, and the others of its folder with it."""
    text = (TOP + electronic()).replace(old, new, 1)
    assert new in text
    written(tmp_path / "OUTCAR", text.encode("latin-1"))
    for zone in ("Europe/Helsinki", "America/New_York"):
        (read,) = read_runs(tmp_path, time_zone=zone).values()
        assert read.runs["electronic_steps"].to_list() == [1]


# How runs end.


@pytest.mark.parametrize(
    ("seconds_ago", "state"), [(0, "running"), (899, "running"), (900, "running"), (901, "cut_off"), (-60, "running")]
)
def test_a_run_that_is_still_written(seconds_ago: int, state: str, tmp_path: Path) -> None:
    set_changed(written(tmp_path / "OUTCAR", UNFINISHED), seconds_ago)
    row = read_one(tmp_path, now=NOW)
    assert (row["state"], row["state_reason"]) == (state, None)
    assert (NOW - row["changed_at"]).total_seconds() == seconds_ago
    assert read_one(tmp_path, now=NOW, quiet_s=100)["state"] == ("running" if seconds_ago <= 100 else "cut_off")
    assert read_one(tmp_path)["state"] == "cut_off"
    set_changed(written(tmp_path / "OUTCAR"), seconds_ago)
    assert read_one(tmp_path, now=NOW)["state"] == "finished"


@pytest.mark.parametrize(
    ("file", "text", "state", "job_id"),
    [
        ("slurm-123.out", TIME_LIMIT.format(123), "timed_out", "123"),
        ("slurm-123.out", TIME_LIMIT.format(123).replace(" DUE TO TIME LIMIT", ""), "cancelled", "123"),
        ("vasp.out", TIME_LIMIT.format(124), "timed_out", "124"),
        ("relax.e125", "=>> PBS: job killed: walltime 3637 exceeded limit 3600\n", "timed_out", "125"),
        ("vasp.out", "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=126.0\n", "out_of_memory", None),
        ("vasp.out", " ZBRENT: fatal error in bracketing\n", "failed", None),
        ("vasp.out", " entering main loop\n", "cut_off", None),
        ("slurm-123.out", "", "cut_off", "123"),
    ],
)
def test_how_a_run_ended(file: str, text: str, state: str, job_id: str | None, tmp_path: Path) -> None:
    """A message that it is over is right at once, however fresh the OUTCAR is."""
    path = written(tmp_path / "OUTCAR", UNFINISHED)
    set_changed(path, 5000)
    written(tmp_path / file, text)
    row = read_one(tmp_path, now=NOW)
    assert (row["state"], row["state_reason"], row["job_id"]) == (
        state,
        text.strip() if state != "cut_off" else None,
        job_id,
    )
    set_changed(path, 5)
    assert read_one(tmp_path, now=NOW)["state"] == (state if state != "cut_off" else "running")
    written(path)
    assert read_one(tmp_path, now=NOW)["state"] == "finished"


def test_a_warning_is_no_end_while_the_run_goes_on(tmp_path: Path) -> None:
    """VASP goes on after it."""
    set_changed(written(tmp_path / "OUTCAR", UNFINISHED), 5)
    written(tmp_path / "vasp.out", " BRMIX: very serious problems\n the old and the new charge density differ\n")
    assert read_one(tmp_path, now=NOW)["state"] == "running"


def test_the_end_of_a_long_output_tells(tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR", UNFINISHED)
    written(tmp_path / "vasp.out", "some line of it\n" * 30_000 + TIME_LIMIT.format(5))
    assert read_one(tmp_path)["state"] == "timed_out"


@pytest.mark.parametrize(
    ("last_words", "state"),
    [("", "running"), ("slurmstepd: error: Detected 1 oom-kill event(s)\n", "out_of_memory")],
)
@pytest.mark.parametrize("jobs", [(100, 200), (99, 100)])
def test_the_last_of_several_jobs_counts(last_words: str, state: str, jobs: tuple[int, int], tmp_path: Path) -> None:
    """A job that ran out of time was submitted again in the same folder: what is said of the first is not said of this run."""
    set_changed(written(tmp_path / "OUTCAR", UNFINISHED), 60)
    set_changed(written(tmp_path / f"slurm-{jobs[0]}.out", TIME_LIMIT.format(jobs[0])), 90_000)
    set_changed(written(tmp_path / f"slurm-{jobs[1]}.out", " entering main loop\n" + last_words), 50)
    row = read_one(tmp_path, now=NOW)
    assert (row["state"], row["job_id"]) == (state, str(jobs[1]))


def test_only_the_newest_of_two_relaxations_can_have_been_stopped(tmp_path: Path) -> None:
    set_changed(written(tmp_path / "OUTCAR.relax1", UNFINISHED), 9000)
    set_changed(written(tmp_path / "OUTCAR.relax2", UNFINISHED), 3000)
    written(tmp_path / "slurm-1234.out", TIME_LIMIT.format(1234))
    (read,) = read_runs(tmp_path).values()
    assert read.runs.select("outcar", "state").rows() == [("OUTCAR.relax1", "cut_off"), ("OUTCAR.relax2", "timed_out")]


# Times.


@pytest.mark.parametrize(
    ("zone", "printed", "started_at"),
    [
        ("UTC", "2022.02.03  10:50:43", datetime(2022, 2, 3, 10, 50, 43)),
        ("Europe/Helsinki", "2022.02.03  10:50:43", datetime(2022, 2, 3, 8, 50, 43)),
        ("Europe/Helsinki", "2022.07.03  10:50:43", datetime(2022, 7, 3, 7, 50, 43)),
        ("America/New_York", "2022.12.31  22:00:00", datetime(2023, 1, 1, 3, 0, 0)),
        ("Asia/Kolkata", "2022.01.01  00:00:00", datetime(2021, 12, 31, 18, 30, 0)),
        ("UTC", "2022.02.30  10:50:43", None),
    ],
)
def test_time_zones(zone: str, printed: str, started_at: datetime | None, tmp_path: Path) -> None:
    set_changed(written(tmp_path / "OUTCAR", WHOLE.replace("2022.02.03  10:50:43", printed)), 7200)
    row = read_one(tmp_path, time_zone=zone, now=NOW)
    assert row["started_at"] == started_at
    assert (NOW - row["changed_at"]).total_seconds() == 7200, "the file's own time is not in the cluster's zone"


# Growing.


@pytest.mark.parametrize("file", ["OUTCAR", "OSZICAR", "INCAR", "KPOINTS", "POSCAR", "slurm-12.out"])
def test_stamps_change_with_the_files(file: str, tmp_path: Path) -> None:
    write_run(tmp_path, relaxation())
    before = named(tmp_path)["."].stamp
    assert named(tmp_path)["."].stamp == before != ""
    written(tmp_path / "WAVECAR", "not read")
    assert named(tmp_path)["."].stamp == before
    with (tmp_path / file).open("a") as grows:
        grows.write("\n")
    grown = named(tmp_path)["."].stamp
    assert grown != before
    os.utime(tmp_path / file, (1, 1))
    assert named(tmp_path)["."].stamp != grown


def test_a_run_while_it_grows(tmp_path: Path) -> None:
    run = relaxation(3, steps=4)
    write_run(tmp_path, run)
    (whole,) = read_runs(tmp_path).values()
    seen, stamps = (-1, -1), set()
    for part in range(1, 25):
        write_run(tmp_path, run, until_s=run.elapsed_s * part / 24 + (1e-6 if part == 24 else 0))
        set_changed(tmp_path / "OUTCAR", 10)
        (read,) = read_runs(tmp_path, now=NOW).values()
        row = read.runs.row(0, named=True)
        assert read.rejects.is_empty() and row["state"] == ("running" if part < 24 else "finished")
        assert read.electronic.rows() == whole.electronic.rows()[: read.electronic.height]
        assert read.ionic.rows() == whole.ionic.rows()[: read.ionic.height]
        assert (row["electronic_steps"], row["ionic_steps"]) == (read.electronic.height, read.ionic.height)
        assert row["loops_s"] <= run.elapsed_s * part / 24 and row["residuals_told"] == read.electronic.height
        assert seen <= (read.electronic.height, read.ionic.height)
        seen = (read.electronic.height, read.ionic.height)
        stamps.add(named(tmp_path)["."].stamp)
    assert read.electronic.rows() == whole.electronic.rows() and read.ionic.rows() == whole.ionic.rows()
    assert len(stamps) > 10


def test_a_folder_written_to_at_any_byte(tmp_path: Path) -> None:
    """Half a line at the end tells nothing."""
    write_run(tmp_path, relaxation())
    contents = {name: (tmp_path / name).read_bytes() for name in ("OUTCAR", "OSZICAR")}
    (whole,) = read_runs(tmp_path).values()
    size = len(contents["OUTCAR"])
    for end in (*range(3000, size, size // 40), size - 1, size - 3):
        for name, content in contents.items():
            written(tmp_path / name, content[: end * len(content) // size])
        (read,) = read_runs(tmp_path).values()
        assert read.rejects.is_empty()
        steps = read.electronic.height
        assert (
            read.electronic.drop("residual", "charge_residual", "algorithm").rows()[: steps - 1]
            == (whole.electronic.drop("residual", "charge_residual", "algorithm").rows()[: max(steps - 1, 0)])
        )
        told = read.electronic.filter(read.electronic["residual"].is_not_null())
        assert told.rows()[:-1] == whole.electronic.rows()[: max(told.height - 1, 0)]
        assert read.electronic.rows() == read_runs_of_lines(tmp_path, contents, end)


def read_runs_of_lines(folder: Path, contents: dict[str, bytes], end: int) -> list[tuple]:
    for name, content in contents.items():
        written(folder / name, whole_lines(content, end * len(content) // len(contents["OUTCAR"])))
    (read,) = read_runs(folder).values()
    return read.electronic.rows()
