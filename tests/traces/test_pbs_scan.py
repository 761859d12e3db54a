"""The compiled scan of PBS accounting against the reader's own rules: the same records, rejects and counts, whatever the bytes.

The rules are in `traces.pbs_rules`, regular expressions that take one line at a time; tests/traces/test_pbs.py tests them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import shared_file
from tests.traces.logs import assert_adds_up
from traces.log import REJECT_SCHEMA
from traces.pbs import RECORD_SCHEMA, read_pbs
from traces.pbs_rules import read_line
from traces.pbs_scan import ODD, TAKEN, scan

LOGS = (
    "bookie-torque.log", "bookie-torque-invalid-lines.log", "bookie-torque-invalid-lines-2.log", "hnormalise-torque-spec.log",
    "ncar-pbsparse-tests.log", "ncar-qhist-casper-testdata.log", "osc-pbstools-pbsacct-unittest.log",
)  # fmt: skip

PRO = (
    b'04/16/2025 10:19:48;E;4413086.casper;user=ann group=csg account="SC 01" project=_pbs_project_default jobname=a b '
    b"queue=vis ctime=1744817013 qtime=1744817013 etime=0 start=1744817058 exec_host=n1/3*4+n2/0*4 "
    b"exec_vnode=(n1:ncpus=4:mem=10485760kb)+(n2:ncpus=4) Resource_List.mem=10gb Resource_List.ncpus=8 "
    b"Resource_List.select=2:ncpus=4 Resource_List.walltime=04:00:00 session=45951 end=1744820388 Exit_status=-29 "
    b"resources_used.cput=00:02:56 resources_used.ncpus=8 resources_used.walltime=1:00:55:26 run_count=1"
)
TORQUE = (
    b"04/05/2017 13:06:53;E;45[3].head;user=bob group=b jobname=STDIN queue=short ctime=1491390300 qtime=1491390300 "
    b"etime=1491390300 start=1491390307 owner=bob@head exec_host=n1/0-1,7+n2/0-1 Resource_List.nodes=2:ppn=2:fat+n3 "
    b"Resource_List.neednodes=2:ppn=2 Resource_List.walltime=01:00:00 session=15273 total_execution_slots=4 "
    b"end=1491390413 exit_status=271 resources_used.cput=12 resources_used.walltime=00:01:44"
)
REQUEUED = PRO.replace(b";E;", b";R;").replace(b"Exit_status=-29", b"Exit_status=-3")
OTHERS = (
    REQUEUED, TORQUE.replace(b";E;", b";R;"), b"06/28/2017 14:31:09;R;80.head;queue=default",
    b"06/28/2017 14:31:09;Q;80.head;queue=default", b"09/02/2013 17:34:26;A;34106.head;", b"", b"   ", b"another; invalid",
    b"06/28/2017 14:31:09;E;;queue=default", b"06/28/2017 14:31:09;E;5", b"06/28/2017 14:31:09;EE;5;a=b",
)  # fmt: skip
PIECES = (
    b" ", b"  ", b"\t", b"=", b'"', b"\\", b";", b"\r", b"\x00", b"\x0b", b"\x85", b"\xff", "é".encode(), b"+", b"/", b"*", b":",
    b",", b"-", b"0", b"9", b"1234567890123", b" ctime=", b" end=0", b" start=5", b" user=", b' user="x y"', b' user=""z',
    b" group=a=b", b" queue", b" etime=99999999999999", b" Resource_List.nodes=", b" Resource_List.nodes=a:ppn=3:ppn=5",
    b" Resource_List.select=", b" exec_host=", b" exec_host=n/5-3", b" exec_host=n/*2", b" exec_host=+", b" exec_host=n/",
    b" resources_used.ncpus=0", b" resources_used.ncpus=few", b" resources_used.ncpus=1234567890", b" Exit_status=--1",
    b" Exit_status=", b" Resource_List.walltime=1:2:3:4:5", b" Resource_List.walltime=:", b" resources_used.cput=",
    b" total_execution_slots=7", b' jobname="a b=c" x', b' jobname="a \\" b" queue=q', b" 9key=1", b" .a=1", b" -L tasks=1:x=2",
    b" Resource_List.mem=10GB", b" Resource_List.mem=1024kb", b" Resource_List.mem=3", b" Resource_List.mem=5mw",
    b" Resource_List.mem=7tB", b" Resource_List.mem=8pb", b" Resource_List.mem=x", b" resources_used.mem=1234567890123b",
    b" resources_used.mem=kb", b" eligible_time=1:2", b" eligible_time=x", b" run_count=21", b" start_count=2", b" run_count=-1",
    b" Resource_List.ngpus=4", b" Resource_List.nodect=2", b" unique_node_count=1", b" project=p q",
)  # fmt: skip


def assert_as_by_the_rules(content: bytes, path: Path) -> tuple[int, int]:
    """Reads a file with this content both ways; returns how many lines were odd, and how many records were not."""
    path.write_bytes(content)
    log = read_pbs(path)
    taken: list[dict[str, object]] = []
    rejects: list[tuple[int, str, str]] = []
    ignored: Counter[str] = Counter()
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, start=1):
        read_line(number, line, taken, rejects, ignored)
    assert log.lines == len(lines)
    by_rules = pl.DataFrame(taken, schema=RECORD_SCHEMA)
    assert log.records.rows() == by_rules.filter(pl.col("record_type") == "E").rows()
    assert log.events.rows() == by_rules.filter(pl.col("record_type") != "E").rows()
    assert log.records.schema == log.events.schema == RECORD_SCHEMA
    assert log.rejects.rows() == pl.DataFrame(rejects, schema=REJECT_SCHEMA, orient="row").rows()
    assert log.ignored == dict(ignored)
    assert_adds_up(log)
    kinds = scan(content).kind
    return int((kinds == ODD).sum()), int((kinds == TAKEN).sum())


@pytest.mark.parametrize("name", LOGS)
def test_real_logs(name: str, tmp_path: Path) -> None:
    content = shared_file("traces", "pbs", name).read_bytes()
    odd, _ = assert_as_by_the_rules(content, tmp_path / "log")
    # what is odd in these logs are the lines that are no records; jobs are all read by the scan
    assert odd == read_pbs(tmp_path / "log").rejected


def test_sound_records_are_not_odd(tmp_path: Path) -> None:
    content = b"\n".join([PRO, TORQUE + b"  ", PRO + b"\r", *OTHERS[:2], *OTHERS[3:5], TORQUE])
    assert assert_as_by_the_rules(content, tmp_path / "log") == (0, 8)
    for ending in (b"", b"\n", b"\r\n", b"\n\n"):
        assert assert_as_by_the_rules(PRO + ending, tmp_path / "log") == (0, 1)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\n\n", b"\r\n", b" ", b"\x00", b";" * 50, b"E" * 50, PRO[:22], PRO[:23]]
)
def test_next_to_nothing(content: bytes, tmp_path: Path) -> None:
    assert_as_by_the_rules(content, tmp_path / "log")


def test_pieces_anywhere(tmp_path: Path) -> None:
    """Every piece at the end, at the beginning of the message and in the middle of a value."""
    lines = [
        record[:place] + piece + record[place:]
        for record in (PRO, TORQUE)
        for piece in PIECES
        for place in (
            len(record),
            record.index(b"user="),
            record.index(b"ctime=") + 10,
            record.index(b"exec_host=") + 12,
        )
    ]
    odd, taken = assert_as_by_the_rules(b"\n".join(lines), tmp_path / "log")
    assert odd > 50 and taken > 50


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    line = draw(st.sampled_from([PRO, TORQUE, *OTHERS]))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(line)))
        match draw(st.integers(0, 4)):
            case 0:
                line = line[:place] + draw(st.sampled_from(PIECES)) + line[place:]
            case 1:
                line = line[:place] + line[place + draw(st.integers(1, 30)) :]
            case 2:
                line = line[:place]
            case 3:
                line = line[:place] + draw(st.binary(min_size=1, max_size=3)) + line[place:]
            case 4:
                words = line.split(b" ")
                draw(st.randoms()).shuffle(words)
                line = b" ".join(words)
    return line


@settings(max_examples=400, deadline=None)
@given(st.lists(lines(), max_size=25))
def test_any_lines(tmp_path_factory: pytest.TempPathFactory, mixture: list[bytes]) -> None:
    """At up to 25 lines a file, about 5,000 mutated lines."""
    assert_as_by_the_rules(b"\n".join(mixture), tmp_path_factory.getbasetemp() / "any.log")


def test_ten_thousand_damaged_lines(tmp_path: Path) -> None:
    """Bytes flipped, cut out, doubled: about half of the lines stay sound records."""
    rng = np.random.default_rng(1)
    damaged = []
    for k in range(10_000):
        line = bytearray((PRO, TORQUE)[k % 2])
        for _ in range(int(rng.integers(0, 3))):
            place = int(rng.integers(len(line)))
            length = int(rng.integers(1, 9))
            match int(rng.integers(3)):
                case 0:
                    line[place] = int(rng.integers(256))
                case 1:
                    del line[place : place + length]
                case 2:
                    line[place:place] = line[place : place + length]
        damaged.append(bytes(line))
    odd, taken = assert_as_by_the_rules(b"\n".join(damaged), tmp_path / "log")
    assert taken > 4000 and odd > 1000
