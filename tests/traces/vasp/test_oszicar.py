"""Tests of traces/vasp: oszicar, synthetic."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.traces.vasp.vasp_lines import TOP, electronic, ionic, iteration, launch, loop, read_runs
from traces.vasp.oszicar import PrintedStep, add_residuals, ending, job_id_of, read_oszicar
from traces.vasp.outcar import ElectronicStep, Launch
from traces.vasp.synthetic import SyntheticOptions, write_runs

# oszicar: The reader of OSZICAR and standard output: every form of a line, whose steps they are, and how a run came
# to its end.

HEADING = "       N       E                     dE             d eps       ncg     rms          rms(c)\n"
DAV = "DAV:   1     0.949168864126E+01    0.94917E+01   -0.27052E+03   192   0.464E+02\n"
RMM = "RMM:   6    -0.102995653176E+02   -0.27326E-01   -0.58613E-02   192   0.127E+00    0.310E+00\n"
IONIC = "   1 F= -.10247667E+02 E0= -.10247667E+02  d E =-.102477E+02  mag=    -0.0001\n"


def steps(text: str) -> list[PrintedStep]:
    return read_oszicar(text.encode("latin-1"))


def step(line: str) -> PrintedStep:
    (only,) = steps(line + "\n")
    return only


# Lines.


def test_a_whole_file() -> None:
    assert steps(HEADING + DAV + RMM + IONIC + HEADING + DAV) == [
        PrintedStep(1, 1, "DAV", 9.49168864126, 9.4917, 192, 46.4, None),
        PrintedStep(1, 6, "RMM", -10.2995653176, -0.027326, 192, 0.127, 0.31),
        PrintedStep(2, 1, "DAV", 9.49168864126, 9.4917, 192, 46.4, None),
    ]


FORMS: dict[str, tuple[str, PrintedStep]] = {
    "columns that touch": (
        "DAV:   1    -0.138991234567E+04-0.13899E+04-0.13894E+04 12345   0.123E+03",
        PrintedStep(1, 1, "DAV", -1389.91234567, -1389.9, 12345, 123.0, None),
    ),
    "ncg touches": (
        "DAV:  12    -0.138991234567E+04   -0.13899E+04   -0.13894E+04204800   0.123E+03    0.100E+01",
        PrintedStep(1, 12, "DAV", -1389.91234567, -1389.9, 204800, 123.0, 1.0),
    ),
    "ncg touches three digits": (
        "RMM:  12    -0.138991234567E+04   -0.13899-101   -0.13894-102204800   0.123-103    0.100E+01",
        PrintedStep(1, 12, "RMM", -1389.91234567, -0.13899e-101, 204800, 0.123e-103, 1.0),
    ),
    "three digits": (
        "RMM:  20    -0.102995653176E+02   -0.27326-104   -0.58613-105   192   0.127-100    0.310-102",
        PrintedStep(1, 20, "RMM", -10.2995653176, -0.27326e-104, 192, 0.127e-100, 0.31e-102),
    ),
    "too big": (
        "DAV:   3     0.102995653176+120    0.27326+120    0.58613+120   192   0.127+103    0.310E+02",
        PrintedStep(1, 3, "DAV", 0.102995653176e120, 0.27326e120, 192, 0.127e103, 31.0),
    ),
    "D": (
        "DMP:   3     0.102995653176D+02    0.27326D+01    0.58613D+01   192   0.127D+03",
        PrintedStep(1, 3, "DMP", 10.2995653176, 2.7326, 192, 127.0, None),
    ),
    "stars": (
        "DAV:   3     ******************    ***********   ***********   192   *********    *********",
        PrintedStep(1, 3, "DAV", None, None, 192, None, None),
    ),
    "stars that touch": (
        "DAV:   3    -0.138991234567E+04   -0.13899E+04   -0.13894E+04******   0.123E+03",
        PrintedStep(1, 3, "DAV", -1389.91234567, -1389.9, None, 123.0, None),
    ),
    "step of stars": (
        "DAV: ***    -0.102995653176E+02   -0.27326E-01   -0.58613E-02   192   0.127E+00",
        PrintedStep(1, None, "DAV", -10.2995653176, -0.027326, 192, 0.127, None),
    ),
    "no numbers": (
        "DAV:   3                    NaN            NaN            NaN   192         NaN          NaN",
        PrintedStep(1, 3, "DAV", None, None, 192, None, None),
    ),
    "endless": (
        "DAV:   3               Infinity      -Infinity       Infinity   192    Infinity",
        PrintedStep(1, 3, "DAV", None, None, 192, None, None),
    ),
    "no residual": (
        "CG :   3    -0.102995653176E+02   -0.27326E-01   -0.58613E-02   192",
        PrintedStep(1, 3, "CG", -10.2995653176, -0.027326, 192, None, None),
    ),
    "no zero before the point": (
        "SDA:   3    -.102995653176E+02   -.27326E-01   -.58613E-02   192   .127E+00",
        PrintedStep(1, 3, "SDA", -10.2995653176, -0.027326, 192, 0.127, None),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_an_electronic_step(form: str) -> None:
    line, expected = FORMS[form]
    found = step(line)
    for name in ("ionic_step", "step", "algorithm", "minimisations"):
        assert getattr(found, name) == getattr(expected, name)
    for name in ("energy_ev", "energy_change_ev", "residual", "charge_residual"):
        value = getattr(expected, name)
        assert getattr(found, name) == (None if value is None else pytest.approx(value, rel=1e-12))
    assert step(line + "   \r") == step("  " + line) == step("\0" * 100 + line) == found


@pytest.mark.parametrize(
    "line",
    [
        "   1 F= -.10247667E+02 E0= -.10247667E+02  d E =-.102477E+02",
        "   1 F= -.13040704E+03 E0= -.13040704E+03  d E =-.243930-146",
        "   1 F= -.10247667E+02 E0= -.10247667E+02  d E =0.000000E+00  mag=    -0.0001",
        "    1 T=  2000. E= -.32251463E+03 F= -.33880148E+03 E0= -.33880148E+03  EK= 0.16287E+02 SP= 0.00E+00 SK= 0.00E+00",
        "    1 T=*****. E= -.32251463E+03 F= -.33880148E+03 E0= -.33880148E+03  EK= 0.16287E+02 SP= 0.00E+00 SK= 0.00E+00",
        "    1 T=300.0 E= ************** F= ************** E0= **************  EK= 0.16287E+02",
        "    1 T=   NaN E=            NaN F=            NaN E0=            NaN  EK=          NaN",
        "    1 F= 0.10247667-101 E0= 0.10247667-101  d E =0.0E+00",
        "   1 F=           NaN E0=           NaN  d E =NaN",
    ],
)
def test_forms_of_an_ionic_step(line: str) -> None:
    """Each ends the first ionic step: what follows belongs to the second."""
    assert [found.ionic_step for found in steps(DAV + line + "\n" + DAV)] == [1, 2]


def test_columns_of_stars_that_touch_shift_no_value() -> None:
    """Which of them the stars are cannot be told: then nothing is, and least of all another column's number."""
    for found in steps("DAV:   3     **********************************  -0.13894E+04******   0.123E+03\n"):
        assert (found.energy_change_ev, found.minimisations) == (None, None)


def test_numbers_of_ionic_steps() -> None:
    """They are reported behind the step; a number of stars counts one on, and a restart begins anew."""
    seventh, stars = IONIC.replace("   1 F", "   7 F"), IONIC.replace("   1 F", "**** F")
    assert [found.ionic_step for found in steps(DAV + seventh + DAV + stars + DAV + stars + DAV + IONIC + DAV)] == [
        1,
        8,
        9,
        10,
        2,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0" * 5000,
        HEADING,
        " entering main loop\n",
        "DAV:   1\n",
        DAV.strip()[:-4] + "\n",
        "srun: error: n12: task 3: Killed\n",
        " bond charge predicted\n",
        "LDA part: xc-table for Pade appr. of Perdew\n",
        " running on   32 total cores\n",
        "davs:   1     0.949168864126E+01    0.94917E+01   -0.27052E+03   192   0.464E+02\n",
        "xDAV:   1     0.949168864126E+01    0.94917E+01   -0.27052E+03   192   0.464E+02\n",
        "DAV:   1     949    94917   -27052   192   464\n",
    ],
)
def test_what_is_no_step(text: str) -> None:
    assert steps(text) == []
    assert [found.algorithm for found in steps(DAV + text + RMM)] == ["DAV", "RMM"]


def test_lines_that_are_cut_tell_nothing_else() -> None:
    """Given whole lines only, as the reader of a folder does."""
    text = HEADING + DAV + RMM + IONIC + DAV
    whole = steps(text)
    for end in range(len(text)):
        part = text[: text.rfind("\n", 0, end) + 1]
        assert steps(part) == whole[: len(steps(part))]


def test_a_banner_of_stars_costs_no_time() -> None:
    """The fields of a step may be stars, but a line of stars must not be tried in every way that it can be parted."""
    code = f"from traces.vasp.oszicar import read_oszicar; assert read_oszicar(b'NOTE: ** {'*' * 200} end\\n') == []"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=5)


def test_damage_raises_nothing() -> None:
    rng = random.Random(3)
    content = (HEADING + DAV + RMM + IONIC) * 20
    for _ in range(200):
        damaged = bytearray(content.encode())
        for _ in range(40):
            at = rng.randrange(len(damaged))
            damaged[at : at + rng.randrange(4)] = rng.choice([b"*", b"\0", b"-", b"\n", b"E", b"9", b"", b" "])
        read_oszicar(bytes(damaged))


# Whose steps they are.


def printed(change: str, step_number: int = 1, ionic_step: int = 1, energy: float | None = -10.25) -> PrintedStep:
    return PrintedStep(ionic_step, step_number, "DAV", energy, float(change), 192, 46.4, 0.31)


def of_changes(*changes: float | None) -> Launch:
    return Launch(electronic=[ElectronicStep(1, k, 1.0, -10.25, change) for k, change in enumerate(changes, start=1)])


def test_residuals_are_added() -> None:
    found = of_changes(9.491689, -19.21446)
    assert add_residuals(found, steps(DAV + DAV.replace("  1 ", "  2 ").replace("0.94917E+01", "-.19214E+02"))) == 2
    assert [(one.algorithm, one.residual, one.charge_residual) for one in found.electronic] == [("DAV", 46.4, None)] * 2


def test_residuals_of_ionic_steps() -> None:
    found = launch(TOP + electronic(1, 1) + electronic(1, 2) + ionic() + electronic(2, 1))
    told = [printed("-19.214", 1), printed("-19.214", 2), printed("-19.214", 1, 2)]
    assert add_residuals(found, told) == 3
    assert [one.charge_residual for one in found.electronic] == [0.53271] * 3, "what OUTCAR tells is kept"


def test_what_outcar_does_not_tell_is_filled() -> None:
    """As after NWRITE = 0."""
    found = launch(TOP + iteration(1, 1) + loop("1.0000"))
    assert add_residuals(found, steps(RMM.replace("  6 ", "  1 "))) == 1
    assert found.electronic == [ElectronicStep(1, 1, 1.0, -10.2995653176, None, None, 192, 0.127, 0.31, "RMM")]


def test_a_step_that_oszicar_does_not_have_yet() -> None:
    found = of_changes(9.4917, 2.0)
    assert add_residuals(found, steps(DAV)) == 1
    assert [one.residual for one in found.electronic] == [46.4, None]
    assert add_residuals(of_changes(), steps(DAV)) == add_residuals(of_changes(1.0), []) == 0


def test_the_oszicar_of_another_run_is_left() -> None:
    found = of_changes(*range(1, 11))
    before = of_changes(*range(1, 11))
    others = [printed(f"{2 * k}", k) for k in range(1, 11)]
    assert add_residuals(found, others) == 0
    assert found == before
    half = [printed(f"{k if k % 2 else 2 * k}", k) for k in range(1, 11)]
    assert add_residuals(found, half) == 0
    assert found == before


def test_one_step_of_ten_may_differ() -> None:
    found = of_changes(*range(1, 11))
    assert add_residuals(found, [printed(f"{k if k != 4 else 99}", k) for k in range(1, 11)]) == 9
    assert found.electronic[3].residual is None


@pytest.mark.parametrize(
    ("change", "same"), [("-0.27326E-01", 1), ("-0.27329E-01", 1), ("-0.27350E-01", 0), ("0.27326E-01", 0)]
)
def test_changes_are_the_same_to_four_digits(change: str, same: int) -> None:
    assert add_residuals(of_changes(-0.02732597), [printed(change)]) == same


def test_linear_response_takes_no_residual_of_another_step() -> None:
    """Its steps have the numbers of earlier ones once more, and no change of the energy; their energies differ."""
    found = of_changes(-19.214, -0.5)
    found.electronic += [ElectronicStep(1, 1, 5.0, -36.7), ElectronicStep(1, 2, 5.0, -28.8)]
    told = [printed("-19.214", 1), printed("-0.5", 2)]
    assert add_residuals(found, told) == 2
    assert [one.residual for one in found.electronic] == [46.4, 46.4, None, None]


# Ends.


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("slurmstepd: error: *** JOB 4711 ON n12 CANCELLED AT 2024-01-15T10:00:00 DUE TO TIME LIMIT ***", "timed_out"),
        (
            "slurmstepd: error: *** STEP 4711.0 ON n12 CANCELLED AT 2024-01-15T10:00:00 DUE TO TIME LIMIT ***",
            "timed_out",
        ),
        ("=>> PBS: job killed: walltime 3637 exceeded limit 3600", "timed_out"),
        ("slurmstepd: error: *** JOB 4711 ON n12 CANCELLED AT 2024-01-15T10:00:00 ***", "cancelled"),
        ("BAD TERMINATION: KILLED BY got a signal 15", "cancelled"),
        ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4711.0 cgroup.", "out_of_memory"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Out Of Memory", "out_of_memory"),
        ("forrtl: severe (174): SIGSEGV, segmentation fault occurred", "failed"),
        ("     VERY BAD NEWS! internal error in subroutine SGRCON:", "failed"),
        ("|       ---->  I REFUSE TO CONTINUE WITH THIS SICK JOB ... BYE!!! <----      |", "failed"),
        (" ZBRENT: fatal error in bracketing", "failed"),
        ("Error EDDDAV: Call to ZHEGV failed. Returncode =   8   2   16", "failed"),
    ],
)
def test_endings(text: str, state: str) -> None:
    assert ending(f"{DAV}{text}\nmore\n".encode()) == ending(text.encode()) == (state, text.strip())


def test_what_is_no_ending() -> None:
    text = (
        " running on   32 total cores\n"
        + HEADING
        + DAV
        + IONIC
        + " reached required accuracy\n writing wavefunctions\n"
    )
    assert ending(text.encode()) is None
    assert ending(b"") is None


def test_the_reason_comes_before_what_it_did() -> None:
    text = b"forrtl: error (78)\nSIGSEGV\nslurmstepd: error: *** JOB 12 ON n1 CANCELLED AT x DUE TO TIME LIMIT ***\n"
    assert ending(text) == ("timed_out", "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT x DUE TO TIME LIMIT ***")


def test_an_ending_of_any_bytes() -> None:
    state, reason = ending(b"\0\0\xff " + b"x" * 5000 + b" oom-kill " + b"y" * 5000 + b"\n") or ("", "")
    assert state == "out_of_memory" and len(reason) <= 300 and "\0" not in reason
    reason.encode("utf-8")


@pytest.mark.parametrize(
    ("name", "text", "job_id"),
    [
        ("slurm-4711.out", "", "4711"),
        ("slurm-4711_3.out", "", "4711"),
        ("relax.o4711", "", "4711"),
        ("relax.e4711", "JOB 12 ON n1", "4711"),
        ("vasp.out", "slurmstepd: error: *** JOB 4711 ON n12 CANCELLED AT 2024-01-15T10:00:00 ***", "4711"),
        ("vasp.out", "Job 4711 started", "4711"),
        ("vasp.out", " running on   32 total cores", None),
        ("vasp.out", "JOB FINISHED", None),
        ("slurm-.out", "", None),
    ],
)
def test_job_ids(name: str, text: str, job_id: str | None) -> None:
    assert job_id_of(name, text.encode()) == job_id


# synthetic: Synthetic runs: files that are read like real ones, the same for the same seed.


def test_many_synthetic_runs(tmp_path: Path) -> None:
    """The last three of them are left on their way."""
    write_runs(tmp_path, SyntheticOptions(20, 7, unfinished=3))
    found = read_runs(tmp_path)
    assert list(found) == [f"synthetic-{number:05d}" for number in range(20)]
    assert [read.runs["state"].to_list() for read in found.values()] == [["finished"]] * 17 + [["cut_off"]] * 3
    for read in found.values():
        assert read.rejects.is_empty()
        assert (
            read.runs["residuals_told"].to_list() == read.runs["electronic_steps"].to_list() == [read.electronic.height]
        )


def test_the_same_options_give_the_same_files(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_runs(tmp_path / folder, SyntheticOptions(3, 5, unfinished=1))
    files = [sorted(path for path in (tmp_path / folder).rglob("*") if path.is_file()) for folder in ("a", "b")]
    assert [path.relative_to(tmp_path / "a") for path in files[0]] == [
        path.relative_to(tmp_path / "b") for path in files[1]
    ]
    assert len(files[0]) == 3 * 5
    assert all(ours.read_bytes() == theirs.read_bytes() for ours, theirs in zip(*files, strict=True))


@pytest.mark.parametrize(
    ("options", "says"),
    [({"runs": 0}, "runs"), ({"runs": 3, "unfinished": 4}, "unfinished"), ({"single_share": 1.5}, "single_share")],
)
def test_bad_options_name_themselves(options: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{says} "):
        SyntheticOptions(**options)  # type: ignore[arg-type]
