"""OUTCARs of which a part is missing, anywhere: what is left is kept, nothing is invented, and the launch says what is missing."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.traces.vasp.vasp_lines import (
    END,
    PARAMETERS,
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
    outcar_of,
    relaxation,
    table,
    whole_lines,
)
from traces.common.blocks import LogStream
from traces.vasp.outcar import IonicStep, Launch, cut_before_table, read_outcar
from traces.vasp.synthetic import SyntheticOptions, draw_runs

FIVE = "".join(electronic(step, 1) + electronic(step, 2) + ionic(f"{step}.0000") for step in range(1, 6))


@dataclass(frozen=True)
class Whole:
    """An OUTCAR, what is read of it, and from where to where each of its ionic steps stands."""

    content: bytes
    launch: Launch
    spans: list[tuple[int, int]]

    def kept(self, begin: int, end: int) -> list[IonicStep]:
        """The ionic steps that stand whole where everything from `begin` to `end` is missing."""
        pairs = zip(self.launch.ionic, self.spans, strict=True)
        return [step for step, (first, last) in pairs if last <= begin or first > end]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    content = outcar_of(relaxation(2, steps=8), tmp_path_factory.mktemp("whole"))
    lines = list(re.finditer(rb"^ *(?:-+ Iteration|LOOP\+:).*\n", content, re.M))
    spans, first = [], None
    for line in lines:
        first = line.start() if first is None else first
        if b"LOOP+" in line[0]:
            spans.append((first, line.end()))
            first = None
    (found,) = read_outcar([content])
    assert len(found.ionic) == len(spans) >= 8 and not found.headless and not found.interrupted
    return Whole(content, found, spans)


def without(whole: Whole, begin: int, end: int) -> list[Launch]:
    part = whole.content[:begin] + whole.content[end:]
    return read_outcar([whole_lines(part, len(part))])


def cuts(whole: Whole, kind: str, rng: random.Random) -> tuple[int, int]:
    size = len(whole.content)
    begin, end = sorted(rng.randrange(size + 1) for _ in range(2))
    return {
        "head": (0, end),
        "tail": (begin, size),
        "middle": (begin, end),
        "little": (begin, min(begin + 9000, size)),
    }[kind]


@pytest.mark.parametrize("kind", ["head", "tail", "middle", "little"])
def test_cut_at_random(kind: str, whole: Whole) -> None:
    """No ionic step that stands there whole is lost or changed, and there are no more than lines that end one."""
    rng = random.Random(kind)
    ends = [re.escape(line.strip()) for line in whole.content.splitlines() if b"LOOP+" in line]
    ended = re.compile(rb"^\s*(?:" + b"|".join(ends) + rb")(?!\d)")
    seconds = {step.seconds for step in whole.launch.electronic}
    for _ in range(120):
        begin, end = cuts(whole, kind, rng)
        found = without(whole, begin, end)
        assert len(found) <= 1
        rows = [step for one in found for step in one.ionic]
        left = whole_lines(whole.content[:begin] + whole.content[end:], len(whole.content)).splitlines()
        assert len(rows) == sum(ended.match(line) is not None for line in left), (begin, end)
        kept = whole.kept(begin, end)
        assert [row for row in rows if row in kept] == kept, (begin, end)
        assert {row.seconds for row in rows} <= {step.seconds for step in whole.launch.ionic}
        for one in found:
            # two halves of lines may look like a whole one
            assert len({step.seconds for step in one.electronic} - seconds) <= 1
            assert (one.elapsed_s is not None) == left[-1].lstrip().startswith(b"Elapsed")
            assert one.headless == (begin < whole.content.index(b"\n", whole.content.index(b"executed on")) and end > 0)


@pytest.mark.parametrize("seed", [1, 2])
def test_two_launches_cut_at_random(seed: int, tmp_path: Path) -> None:
    """However they are cut, there are no more than two, and no step more than there were."""
    content = outcar_of(relaxation(1), tmp_path) + outcar_of(relaxation(2), tmp_path)
    whole, rng = read_outcar([content]), random.Random(seed)
    seconds = [step.seconds for one in whole for step in one.ionic]
    for _ in range(60):
        begin, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        found = read_outcar([whole_lines(content[:begin] + content[end:], len(content))])
        assert len(found) <= 2
        rows = [step.seconds for one in found for step in one.ionic]
        assert sorted(set(rows) - set(seconds)) == [] and len(rows) <= len(seconds)


def test_cut_anywhere_and_read_block_by_block(tmp_path: Path) -> None:
    run = draw_runs(SyntheticOptions(9, 4, single_share=1))[0]
    content, rng = outcar_of(run, tmp_path), random.Random(3)
    for block_bytes in (64, 500, 4096):
        begin, end = sorted(rng.randrange(len(content)) for _ in range(2))
        for part in (content[end:], content[:begin] + content[end:]):
            path = tmp_path / "cut"
            path.write_bytes(part)
            blocks = [block.content for block in LogStream(path, cut_before_table, block_bytes=block_bytes)]
            assert read_outcar(blocks) == read_outcar([part])


# The head.


def test_without_its_head_the_steps_and_the_end_are_kept() -> None:
    found = launch(FIVE[FIVE.index("Iteration      2(   1)") :] + END)
    assert (found.headless, found.interrupted, found.finished, found.elapsed_s) == (True, False, True, 7.539)
    assert (found.version, found.architecture, found.started_at) == (None, None, None)
    assert [(step.ionic_step, step.electronic_steps, step.seconds) for step in found.ionic] == [
        (2, 2, 2.0),
        (3, 2, 3.0),
        (4, 2, 4.0),
        (5, 2, 5.0),
    ]
    assert {value for name, value in found.settings.items() if name not in ("elements", "automatic_mesh")} == {None}
    assert found.settings["elements"] == []


def test_a_step_whose_beginning_is_missing_counts_what_is_left() -> None:
    """The last line of a step has its whole time. The number of the first step is unknown."""
    found = launch(FIVE[FIVE.index(" eigenvalue", FIVE.index("(   2)")) :])
    assert found.ionic[0] == IonicStep(None, 0, 1.0, False, -10.247667)
    assert [(step.ionic_step, step.step) for step in found.electronic[:2]] == [(2, 1), (2, 2)]


def test_what_is_left_of_the_head_tells_its_settings() -> None:
    found = launch(CUT_HEADER + SIZES + PARAMETERS + FIVE).settings
    assert {name: found[name] for name in SETTINGS} == SETTINGS
    assert (found["cores"], found["threads"], found["kpar"]) == (None, None, None)
    assert (found["elements"], found["element_types"], found["volume_a3"]) == ([], 2, 364.53)
    assert found["hubbard_u"] is False


CUT_HEADER = "FIN =Fe:  d7 s1\n   VRHFIN =O: s2p4\n"
"""The first of two elements is cut off: the other one alone would be another system."""


def test_elements_are_known_where_all_are_there() -> None:
    found = launch("   VRHFIN =Fe:  d7 s1\n   VRHFIN =O: s2p4\n" + SIZES + PARAMETERS + FIVE)
    assert found.headless and found.settings["elements"] == ["Fe", "O"]
    assert launch(TOP + CUT_HEADER + SIZES + PARAMETERS + FIVE).settings["elements"] == []


def test_the_version_may_be_all_that_is_left_of_the_first_lines() -> None:
    found = launch(VERSION + FIVE + END)
    assert found.headless and found.version == "vasp.5.4.4.18Apr17-6-g9f103f2a35"


@pytest.mark.parametrize(
    "text", [iteration(4, 2), " General timing and accounting informations for this job:\n", SIZES]
)
def test_what_tells_of_no_step_is_no_launch(text: str) -> None:
    assert launches(text) == []


def test_the_second_launch_has_lost_its_head() -> None:
    """What comes behind the end of a launch is another one's."""
    first, second = launches(TOP + FIVE + END + electronic(3, 2) + ionic() + END.replace("7.539", "9.125"))
    assert (first.headless, first.elapsed_s, len(first.ionic)) == (False, 7.539, 5)
    assert (second.headless, second.elapsed_s, len(second.ionic), second.settings["NSW"]) == (True, 9.125, 1, None)
    first, second = launches(FIVE + END + TOP + FIVE)
    assert (first.headless, second.headless, second.settings["cores"]) == (True, False, 32)
    first, second = launches(TOP + PARAMETERS + END + FIVE)
    assert (first.settings["NSW"], second.settings["NSW"]) == (99, None)


# The middle.


def test_lines_between_steps_are_missing() -> None:
    """What came before the hole is in no ionic step, and what belonged to it belongs to none."""
    forces = table("  0.0  2.0  0.0")
    header = TOP + SIZES.replace("NIONS =     33", "NIONS =      1") + PARAMETERS
    found = launch(header + electronic() + forces + electronic(3, 2) + ionic() + END)
    assert found.interrupted and not found.headless
    assert found.ionic == [IonicStep(3, 1, 4.0, False, -10.247667)]
    assert [(step.ionic_step, step.step) for step in found.electronic] == [(1, 1), (3, 2)]
    assert found.outside_s == 1.5


@pytest.mark.parametrize(
    ("text", "interrupted"),
    [
        (electronic(1, 1) + electronic(1, 2) + ionic() + electronic(2, 1), False),
        (electronic(1, 1) + electronic(1, 3), True),
        (electronic(1, 1) + electronic(1, 2) + electronic(1, 2), True),
        (electronic(1, 1) + electronic(2, 1), True),
        (electronic(1, 1) + ionic() + electronic(3, 1), True),
        (electronic(1, 1) + ionic() + electronic(2, 2), True),
        (electronic(2, 1), True),
        (electronic(1, 1) + loop("1.0000"), True),
        (ionic() + electronic(2, 1), False),  # a force field made the first step
    ],
)
def test_steps_that_do_not_follow_each_other(text: str, interrupted: bool) -> None:
    assert launch(TOP + PARAMETERS + text).interrupted == interrupted


@pytest.mark.parametrize(
    ("old", "new"), [("IBRION =      2", "IBRION =      8"), ("LEPSILON=     F", "LEPSILON=     T")]
)
def test_linear_response_counts_as_it_likes(old: str, new: str) -> None:
    text = TOP + PARAMETERS.replace(old, new) + electronic(1, 1) + electronic(3, 1) + electronic(2, 1) + ionic()
    found = launch(text)
    assert not found.interrupted and found.ionic[0].electronic_steps == 3


def test_a_sum_with_steps_missing_is_no_time() -> None:
    """LOOP+ overflowed, and so the electronic steps tell how long it was: not where some of them are missing."""
    stars = loop("*" * 10, "LOOP+")
    assert launch(TOP + electronic(1, 1) + electronic(1, 2) + stars).ionic[0].seconds == 3.0
    assert launch(TOP + electronic(1, 1) + electronic(1, 3) + stars).ionic[0].seconds is None
    assert launch(TOP + electronic(1, 1) + loop("1.0000") + stars).ionic[0].seconds is None


@pytest.mark.parametrize(
    "line",
    [
        "      LOOP:  cpu time     25.3356: real time     25.47\n",
        "      LOOP:  cpu time     25.3356: real time     25.4739739\n",
        "      LOOP:  cpu time     25.33\0\0\0739: real time     25.4739\n",
        "      LOOP:  cpu time     25.3356: real time     25.\0\0\04739\n",
    ],
)
def test_a_line_of_two_halves_is_no_step(line: str) -> None:
    assert launch(TOP + iteration(1, 1) + line).electronic == []


def test_a_table_with_rows_missing_tells_no_force() -> None:
    header = TOP + SIZES.replace("NIONS =     33", "NIONS =      2") + PARAMETERS + electronic()
    both, one = table("  0.0  2.0  0.0", "  0.0  1.0  0.0"), table("  0.0  1.0  0.0")
    assert launch(header + ionic(forces=both)).ionic[0].largest_force_ev_per_a == 2.0
    assert launch(header + ionic(forces=one)).ionic[0].largest_force_ev_per_a is None


def test_an_end_that_is_cut_short_tells_no_time() -> None:
    assert launch(TOP + FIVE + END.replace("7.539", "7.5")).elapsed_s is None
