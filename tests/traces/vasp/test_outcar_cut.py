"""OUTCARs that are still written, were cut off, restarted or damaged: what is left of them reads as if nothing had happened."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import traces.common.blocks
from tests.traces.vasp.vasp_lines import (
    CONVERGED,
    CORES,
    END,
    EXECUTED,
    FORCES,
    FREE_TEXT,
    NOT_REACHED,
    PARAMETERS,
    REACHED,
    RULE,
    SIZES,
    TOP,
    VERSION,
    assert_begins,
    electronic,
    ionic,
    iteration,
    launch,
    launches,
    loop,
    outcar_of,
    relaxation,
    row,
    table,
    whole_lines,
)
from traces.common.blocks import LogStream
from traces.vasp.outcar import Launch, cut_before_table, read_outcar
from traces.vasp.synthetic import SyntheticOptions, draw_runs

ALL = TOP + SIZES + FREE_TEXT + PARAMETERS + electronic() + electronic(1, 2) + REACHED + CONVERGED + ionic() + END

# The end, and what comes behind it.


def test_the_end() -> None:
    found = launch(ALL)
    assert (found.converged, found.finished, found.elapsed_s) == (True, True, 7.539)
    assert launch(TOP + electronic() + END[: END.index(" ===")]).finished
    overflowed = launch(TOP + END.replace("       7.539", "************"))
    assert (overflowed.finished, overflowed.elapsed_s) == (True, None)


def test_a_restart_in_the_same_file() -> None:
    first = (
        TOP
        + SIZES
        + PARAMETERS
        + electronic(1, 1)
        + electronic(1, 2)
        + REACHED
        + ionic()
        + electronic(2, 1)
        + NOT_REACHED
    )
    again = VERSION.replace("5.4.4", "5.4.9") + EXECUTED.replace("2022", "2023") + CORES.replace("32", "64")
    parameters = PARAMETERS.replace("NELM   =    100", "NELM   =     33")
    second = again + SIZES + parameters + electronic(1, 1) + CONVERGED + ionic() + END
    assert launches(first + second) == [*launches(first), *launches(second)]
    one, two = launches(first + second)
    assert (len(one.electronic), len(one.ionic), one.finished, one.converged) == (3, 1, False, False)
    assert [step.electronic_steps for step in two.ionic] == [1] and two.ionic[0].electronically_converged is None
    assert (two.settings["cores"], two.settings["NELM"]) == (64, 33)
    assert two.version == "vasp.5.4.9.18Apr17-6-g9f103f2a35"


def test_a_restart_before_the_first_step() -> None:
    first = TOP + SIZES + PARAMETERS
    second = TOP.replace("32", "64") + SIZES.replace("NBANDS=    200", "NBANDS=    300") + PARAMETERS + electronic()
    assert launches(first + second) == [*launches(first), *launches(second)]
    assert [one.settings["NBANDS"] for one in launches(first + second)] == [200, 300]


@pytest.mark.parametrize("left", ["      LOOP:  cpu tim", "-" * 40, " VPU time 12", "\0" * 64], ids=range(4))
def test_a_restart_behind_half_a_line(left: str) -> None:
    """Of what was killed in the middle of a line, or whose last block was never written."""
    found = launches(TOP + electronic() + left + TOP + electronic())
    assert found == [launch(TOP + electronic())] * 2


def test_a_restart_behind_half_a_table() -> None:
    forces = table("  0.0  2.0  0.0")
    half = TOP + electronic() + FORCES + RULE + row("  1.0  2.0  3.0")
    first, second = launches(half + TOP + electronic() + ionic(forces=forces))
    assert first.ionic == [] and second.ionic[0].largest_force_ev_per_a == 2.0
    assert launches(half) == [first]


LINES = {
    "version": VERSION,
    "iteration": iteration(1, 1),
    "LOOP": loop("1.5000"),
    "LOOP+": loop("4.0000", "LOOP+"),
    "energy": "  free  energy   TOTEN  =         -10.247667 eV",
    "elapsed": "                         Elapsed time",
}


@pytest.mark.parametrize("line", LINES)
def test_nul_bytes_before_a_line(line: str) -> None:
    """A file system that lost a block gives back NUL bytes."""
    assert LINES[line] in ALL
    assert launches(ALL.replace(LINES[line], "\0" * 512 + LINES[line], 1)) == launches(ALL)


FOREIGN = {
    "srun": "srun: error: n12: task 3: Killed\n",
    "NULs": "\0" * 512 + "\n",
    "Fortran": "forrtl: error (78): process killed (SIGTERM)\nImage              PC                Routine\n",
    "no text": "\xff\xfe LOOP Iteration vasp.9 executed on\n",
    "stars": "*" * 500 + "\n",
    "empty": "\r\n",
}


@pytest.mark.parametrize("foreign", FOREIGN)
def test_foreign_text_between_lines(foreign: str) -> None:
    mixed = "".join(line + FOREIGN[foreign] for line in ALL.splitlines(keepends=True))
    assert launches(mixed.encode("latin-1")) == launches(ALL)
    assert launches((ALL + 3 * FOREIGN[foreign]).encode("latin-1")) == launches(ALL)


def test_damage_anywhere_raises_nothing(tmp_path: Path) -> None:
    content, rng = outcar_of(relaxation(), tmp_path), random.Random(5)
    for _ in range(60):
        damaged = bytearray(content[: rng.randrange(3000, len(content))])
        for _ in range(60):
            at = rng.randrange(len(damaged))
            kind = rng.randrange(4)
            if kind == 0:
                damaged[at] = rng.randrange(256)
            elif kind == 1:
                del damaged[at : at + rng.randrange(200)]
            elif kind == 2:
                damaged[at:at] = damaged[rng.randrange(len(damaged)) :][: rng.randrange(400)]
            else:
                damaged[at : at + rng.randrange(30)] = rng.choice([b"*", b"\0", b"9", b"\n"]) * 30
        for one in read_outcar([bytes(damaged)]):
            assert all(step.seconds is None or step.seconds >= 0 for step in (*one.electronic, *one.ionic))


# Cut anywhere.


def restarted(folder: Path) -> bytes:
    """Two launches in one file, the first of them stopped in the middle of its second table of forces."""
    first = outcar_of(relaxation(1), folder)
    begin = first.index(b"TOTAL-FORCE", first.index(b"TOTAL-FORCE") + 1)
    stop = first.index(b"\n", begin + 400) + 1
    return first[:stop] + outcar_of(relaxation(2), folder)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cut_anywhere(seed: int, tmp_path: Path) -> None:
    content = outcar_of(relaxation(seed), tmp_path)
    whole = read_outcar([content])
    assert len(whole[0].ionic) >= 3 and whole[0].finished
    assert None not in [step.largest_force_ev_per_a for step in whole[0].ionic]
    steps = 0
    for end in [*range(0, len(content), 211), *range(len(content) - 250, len(content) + 1)]:
        part = read_outcar([whole_lines(content, end)])
        assert_begins(part, whole)
        assert sum(len(one.electronic) for one in part) >= steps, "nothing is lost when a file grows"
        steps = sum(len(one.electronic) for one in part)
    assert part == whole


def test_cut_at_every_line(tmp_path: Path) -> None:
    run = draw_runs(SyntheticOptions(9, 4, single_share=1))[0]
    content = outcar_of(run, tmp_path)
    whole = read_outcar([content])
    ends = [at for at, byte in enumerate(content, start=1) if byte == 10]
    assert len(ends) > 200
    for end in ends:
        assert_begins(read_outcar([content[:end]]), whole)


def test_a_restarted_file_cut_anywhere(tmp_path: Path) -> None:
    content = restarted(tmp_path)
    whole = read_outcar([content])
    assert [one.finished for one in whole] == [False, True]
    for end in range(0, len(content), 397):
        assert_begins(read_outcar([whole_lines(content, end)]), whole)


# Block by block.


def in_blocks(path: Path, content: bytes, block_bytes: int) -> list[Launch]:
    path.write_bytes(content)
    blocks = [block.content for block in LogStream(path, cut_before_table, block_bytes=block_bytes)]
    assert b"".join(blocks) == content
    return read_outcar(blocks)


@pytest.mark.parametrize("block_bytes", [64, 500, 4096, 5003, 20_000, 1 << 20])
def test_block_by_block(block_bytes: int, tmp_path: Path) -> None:
    for content in (outcar_of(relaxation(), tmp_path), restarted(tmp_path), ALL.encode()):
        assert in_blocks(tmp_path / "OUTCAR", content, block_bytes) == read_outcar([content])


def test_block_by_block_at_every_size(tmp_path: Path) -> None:
    """A short file, whose every line is once at the end of a block."""
    forces = table("  3.0  4.0  0.0", "  0.0  0.0  1.0")
    text = (
        TOP
        + SIZES
        + PARAMETERS
        + electronic()
        + REACHED
        + ionic(forces=forces)
        + TOP
        + electronic()
        + ionic(forces=forces)
        + END
    )
    whole = launches(text)
    assert [len(one.ionic) for one in whole] == [1, 1]
    for block_bytes in [*range(1, 60), *range(60, len(text), 37)]:
        assert in_blocks(tmp_path / "OUTCAR", text.encode(), block_bytes) == whole


def test_blocks_of_few_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of very many lines is split once more, but no table of forces is."""
    monkeypatch.setattr(traces.common.blocks, "MOST_LINES", 150)
    for content in (outcar_of(relaxation(), tmp_path), restarted(tmp_path)):
        assert in_blocks(tmp_path / "OUTCAR", content, 1 << 20) == read_outcar([content])


def test_what_is_cut_off_a_block() -> None:
    forces = table("  0.0  2.0  0.0")
    assert cut_before_table(b"") == cut_before_table(b"half a line") == 0
    assert cut_before_table(b"a line\nhalf") == 7
    assert cut_before_table(b"a line\n" + forces.encode()) == 7 + len(forces)
    for end in range(forces.index("\n") + 1, forces.index("total drift")):
        assert cut_before_table(b"a line\n" + forces[:end].encode()) == 7
        assert cut_before_table(forces[:end].encode()) == 0


def test_a_table_that_never_ends_is_not_waited_for() -> None:
    """Of a launch that was killed in it; megabytes may follow."""
    text = (FORCES + RULE).encode() + b"a line\n" * (10 << 17)
    assert cut_before_table(text) == len(text)


def test_forces_of_many_ions(tmp_path: Path) -> None:
    rows = [f"  {x:.6f}  0.000000  0.000000" for x in np.linspace(-1, 3, 4001)]
    content = (TOP + electronic() + ionic(forces=table(*rows)) + END).encode()
    for block_bytes in (1000, 100_000):
        (step,) = in_blocks(tmp_path / "OUTCAR", content, block_bytes)[0].ionic
        assert step.largest_force_ev_per_a == 3.0
