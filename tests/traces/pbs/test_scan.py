"""The compiled scan of PBS accounting against the reader's own rules: the same records, rejects and counts, whatever the bytes.

The rules are in `traces.pbs.rules`, regular expressions that take one line at a time; tests/traces/pbs/test_reader.py tests them.
"""

from __future__ import annotations

import codecs
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.shared import shared_file
from tests.traces.common.logs import assert_adds_up
from traces.common.log import REJECT_SCHEMA
from traces.pbs.reader import PBS_RECORD_SCHEMA, read_pbs
from traces.pbs.rules import read_line
from traces.pbs.scan import ODD, TAKEN, scan

LOGS = (
    "bookie-torque.log", "bookie-torque-invalid-lines.log", "bookie-torque-invalid-lines-2.log", "hnormalise-torque-spec.log",
    "ncar-pbsparse-tests.log", "ncar-qhist-casper-testdata.log", "osc-pbstools-pbsacct-unittest.log",
)  # fmt: skip

RARE = {"ncar-pbsparse-tests.log": 2, "osc-pbstools-pbsacct-unittest.log": 4}
"""Records whose memory is only in select, Torque's -L tasks, a reservation's nodes."""

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
BARE = (
    b"04/05/2017 13:06:53;E;46.head;user=bob queue=short ctime=1491390300 start=1491390307 exec_host=n1/0-1,7 end=1491390413 "
    b"Exit_status=0"
)
"""What is asked for and given is read from whatever piece is put into it."""
REQUEUED = PRO.replace(b";E;", b";R;").replace(b"Exit_status=-29", b"Exit_status=-3")
OTHERS = (
    REQUEUED, TORQUE.replace(b";E;", b";R;"), b"06/28/2017 14:31:09;R;80.head;queue=default",
    b"06/28/2017 14:31:09;Q;80.head;queue=default", b"09/02/2013 17:34:26;A;34106.head;", b"", b"   ", b"another; invalid",
    b"06/28/2017 14:31:09;E;;queue=default", b"06/28/2017 14:31:09;E;5", b"06/28/2017 14:31:09;EE;5;a=b",
    BARE.replace(b";E;", b";Q;"), b"06/28/2017 15:44:02;D;81.head;requestor=bob@login.head",
    b"04/14/2025 10:56:00;A;43.head;Job deleted as result of dependency on job 42.head", b"04/14/2025 10:56:00;D;43.head; a\tb ",
    b"04/08/2025 17:30:20;Y;S3.head;requestor=Scheduler@head start=1744207200 end=1744241400 nodes=(n1:ncpus=36:ngpus=4) count=9",
    b"04/02/2025 21:36:23;a;42.head;Resource_List.select=1:mem=1GB", b"04/02/2025 21:36:23;Y;R30.head;no keys; but a semicolon",
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
    b" requestor=bob@host", b" requestor=bob", b" requestor=@host", b" requestor=a@b@c", b" requestor=", b' requestor="bob@host"',
    b" requestor=bob smith@host", b" exec_vnode=(a:ncpus=2:ngpus=1+b:ncpus=3)+(c:ncpus=1)", b" exec_vnode=(a:mem=1kb)",
    b" exec_vnode=(a:ncpus=2:ngpus=1234567890)", b" exec_vnode=(a:ncpus=1234567890:ngpus=1)", b" exec_vnode=", b" exec_vnode=()+",
    b" exec_vnode=(a:ncpus=2:ncpus=9)", b" exec_vnode=(7:ncpus=2:ngpus=x)", b" exec_vnode=(a:ncpus=0:ngpus=0)", b" exec_vnode=(",
    b" exec_vnode=(a:ncpus=999999999)+(b:ncpus=999999999)", b" Resource_List.ncpus=0", b" Resource_List.ncpus=1234567890",
    b" Resource_List.mppwidth=24", b" Resource_List.mppwidth=24 Resource_List.mppdepth=2", b" Resource_List.mppdepth=2",
    b" Resource_List.mppwidth=0", b" Resource_List.mppwidth=wide", b" Resource_List.mppwidth=1234567890",
    b" Resource_List.mppwidth=24 Resource_List.mppdepth=1234567890", b" Resource_List.mppwidth=24 Resource_List.mppdepth=deep",
    b" Resource_List.mppwidth=999999999 Resource_List.mppdepth=999999999", b" Resource_List.mppwidth=24 Resource_List.mppdepth=0",
    b" Resource_List.select=2:ncpus=4:mem=1gb+1:ncpus=8", b" Resource_List.select=3", b" Resource_List.select=host=n1:ncpus=2+2",
    b" Resource_List.select=1234567890:ncpus=2", b" Resource_List.select=2:ncpus=1234567890", b" Resource_List.select=0:ncpus=4",
    b" Resource_List.select=2:ncpus=x:ncpus=3", b" Resource_List.select=ncpus=4+4", b" Resource_List.select=2:ncpus=-1",
    b" Resource_List.select=999999999:ncpus=999999999", b" Resource_List.select=+:+",
    b" Resource_List.nodes=2:ppn=4:gpus=2+n3:gpus=1",
    b" Resource_List.nodes=2:gpus=1234567890", b" Resource_List.nodes=1234567890:gpus=2", b" Resource_List.nodes=2:ppn=4:gpus=0",
    b" Resource_List.nodes=2:ppn=1234567890:gpus=1", b" Resource_List.nodes=gpus=3", b" Resource_List.nodes=2:gpus=1:gpus=7",
    b" Resource_List.nodes=2:ppn=4:ngpus=2", b" Resource_List.ngpus=1234567890", b" Resource_List.ngpus=x",
    b" Resource_List.ngpus=", b" Resource_List.nodect=1234567890", b" run_count=1234567890",
    b" Resource_List.mem=9007199254740gb", b" eligible_time=1:2:3:4:5",
    b" message without any sign", b" nodes=(n1:ncpus=36:ngpus=4:mem=773849088kb) count=2900",
)  # fmt: skip

PIECES += (
    b" Resource_List.mppnppn=8", b" Resource_List.mppwidth=24 Resource_List.mppnppn=16", b" Resource_List.mppnppn=0",
    b" Resource_List.mppwidth=24 Resource_List.mppnppn=1234567890", b" Resource_List.mppwidth=1 Resource_List.nodect=1",
    b" Resource_List.mppwidth=64 Resource_List.ncpus=1 Resource_List.nodect=1 exec_host=login/0",
    b" Resource_List.mppwidth=64 exec_host=login/0 exec_vnode= Resource_List.nodes=1:ppn=1 unique_node_count=1",
    b" Resource_List.gpu=4", b" Resource_List.gpus=4", b" Resource_List.ngpus=0 Resource_List.gpu=4", b" Resource_List.gpu=x",
    b" Resource_List.gpus=1234567890 Resource_List.gpu=1", b" Resource_List.select=1:ncpus=8:gpu=4", b" exec_vnode=(n1:ncpus=8:gpu=4)",
    b" exec_vnode=(n1:gpus=2+n2:gpu=1)+(n3:gpu=1234567890)", b" Resource_List.nodes=1:ppn=4:gpu=4", b" tasks=2:lprocs=4:gpus=1",
    b" Resource_List.select=2:gpu=1234567890", b" Resource_List.select=1:gpu=0:gpus=3+1:mygpu=4:gpu_type=5",
    b" resources_used.mem=12.27M", b" Resource_List.mem=12.27M", b" Resource_List.mem=1.5gb", b" Resource_List.mem=0.0000001gb",
    b" Resource_List.mem=127.9w", b" Resource_List.mem=8191.999999pb", b" Resource_List.mem=8388607.999999pb",
    b" Resource_List.mem=8388607pb", b" Resource_List.mem=1048575.999999pw", b" Resource_List.mem=1048576.1pw", b" Resource_List.mem=1.",
    b" Resource_List.mem=.5gb", b" Resource_List.mem=1..5gb", b" Resource_List.mem=1.5", b" Resource_List.mem=1.5x",
    b" exec_host=n1/0+n2/0+n1/1", b" exec_host=" + b"+".join(b"n%d/0" % k for k in range(1100)),
)  # fmt: skip
"""Of Cray systems, GPUs, decimals, and long lists of hosts."""
ARRAY = BARE.replace(b";46.head;", b";46[].head;")
"""The end of an array as a whole."""
OTHERS += (
    ARRAY, ARRAY.replace(b"46[].head", b"46[]"), PRO.replace(b"086.casper", b"086[].casper"), ARRAY.replace(b"=14", b"=x14"),
)  # fmt: skip

TOO_LARGE = {
    "memory, more than 2**63 kB": b" Resource_List.mem=8388608pb",
    "memory, wrapped to a small number": b" resources_used.mem=16777217pb",
    "processors": b" Resource_List.select=" + b"+".join([b"999999999:ncpus=999999999"] * 10),
    "gpus": b" Resource_List.nodes=" + b"+".join([b"999999999:gpus=999999999"] * 10),
}
"""What no column of 64 bits can hold."""

BOM = codecs.BOM_UTF8


def assert_as_by_the_rules(content: bytes, path: Path) -> tuple[int, int]:
    """Reads a file with this content both ways; returns how many lines were odd, and how many records were not."""
    path.write_bytes(content)
    log = read_pbs(path)
    content = content.removeprefix(BOM)  # at the beginning of a file it is no part of the line
    taken: list[dict[str, object]] = []
    rejects: list[tuple[int, str, str]] = []
    ignored: Counter[str] = Counter()
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, start=1):
        read_line(number, line, taken, rejects, ignored)
    assert log.lines == len(lines)
    by_rules = pl.DataFrame(taken, schema=PBS_RECORD_SCHEMA)
    assert log.records.rows() == by_rules.filter(pl.col("record_type") == "E").rows()
    assert log.events.rows() == by_rules.filter(pl.col("record_type") != "E").rows()
    assert log.records.schema == log.events.schema == PBS_RECORD_SCHEMA
    assert log.rejects.rows() == pl.DataFrame(rejects, schema=REJECT_SCHEMA, orient="row").rows()
    assert log.ignored == dict(ignored)
    assert_adds_up(log)
    kinds = scan(content).kind
    return int((kinds == ODD).sum()), int((kinds == TAKEN).sum())


@pytest.mark.parametrize("name", LOGS)
def test_real_logs(name: str, tmp_path: Path) -> None:
    content = shared_file("traces", "pbs", name).read_bytes()
    odd, _ = assert_as_by_the_rules(content, tmp_path / "log")
    # what is odd in these logs are the lines that are no records, and some records with rare keys
    assert odd == read_pbs(tmp_path / "log").rejected + RARE.get(name, 0)


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
        for record in (PRO, TORQUE, BARE)
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


def test_pieces_in_other_records(tmp_path: Path) -> None:
    """Every piece at the end and at the beginning of the message, and one after another in place of the message."""
    others = [record for record in OTHERS if record.count(b";") >= 3]
    lines = [record + piece for record in others for piece in PIECES]
    heads = [(record[:place], record[place:]) for record in others for place in [record.index(b";", 22) + 1]]
    lines += [head + piece + b" " + message for head, message in heads for piece in PIECES]
    lines += [head + piece + other for head, _ in heads[-3:] for piece in PIECES for other in PIECES[::7]]
    odd, taken = assert_as_by_the_rules(b"\n".join(lines), tmp_path / "log")
    assert odd > 500 and taken > 1000


@pytest.mark.parametrize("piece", TOO_LARGE.values(), ids=TOO_LARGE)
def test_too_large(piece: bytes, tmp_path: Path) -> None:
    assert_as_by_the_rules(BARE + piece + b"\n" + PRO, tmp_path / "log")


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    line = draw(st.sampled_from([PRO, TORQUE, BARE, *OTHERS]))
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
@example([BOM])
@example([BOM + b"   ", BOM + PRO])
@example([BOM + PRO])
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
