"""An error in a file of outages names the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.replay.changes.outages import Outage, outages_of, read_outages
from simulator.jobs.cluster import FOREVER


def outages(folder: Path, text: str) -> list[Outage]:
    (folder / "o.csv").write_text(text)
    return read_outages(folder / "o.csv")


def test_outages_of_a_file(tmp_path: Path) -> None:
    found = outages(tmp_path, "procs, start,End,announced\n4,100,200,50\n\n 2 ,300,,\n8,5,6,5\n")
    assert [outage.model_dump() for outage in found] == [
        {"start": 100, "end": 200, "procs": 4, "announced": 50},
        {"start": 300, "end": None, "procs": 2, "announced": None},
        {"start": 5, "end": 6, "procs": 8, "announced": 5},
    ]
    simulated = outages_of(found, 8)
    assert simulated.start.tolist() == [100, 300, 5]
    assert simulated.end.tolist() == [200, FOREVER, 6]
    assert simulated.announced.tolist() == [50, 300, 5]
    assert len(outages_of([], 8)) == 0
    assert len(outages(tmp_path, "\ufeffstart,end,procs\n1,2,3\n")) == 1  # as spreadsheets save it
    with pytest.raises(ValueError, match=r"o\.csv:5: expected at most the cluster's 7 processors in procs, found 8"):
        outages_of(outages(tmp_path, "start,end,procs\n1,2,3\n\n1,2,3\n5,6,8\n"), 7)
    with pytest.raises(ValueError, match="outage 1: expected at most the cluster's 7"):
        outages_of([Outage(start=1, procs=8)], 7)  # of a launchpad
    with pytest.raises(ValueError, match="outage 2: expected an end after the start 5"):
        outages_of([Outage(start=1, procs=1), Outage(start=5, end=5, procs=1)], 7)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "o.csv:1: expected the columns start,end,procs and optionally announced, found nothing"),
        ("start,end\n1,2\n", "o.csv:1: expected the columns start,end,procs"),
        ("start,end,procs,why\n", "o.csv:1: expected the columns start,end,procs"),
        ("start,end,procs,start\n", "o.csv:1: expected the columns"),
        ("1,2,3\n", "o.csv:1: expected the columns start,end,procs and optionally announced, found 1,2,3"),
        ("start,end,procs\n", "o.csv: holds no outage"),
        ("start,end,procs\n1,2,3\n1,2\n", "o.csv:3: expected 3 values (start,end,procs), found 2"),
        (
            "start,end,procs\n1,2.5,3\n",
            "o.csv:2: expected a whole number of seconds of the log's clock in end, found '2.5'",
        ),
        ("start,end,procs\n1,2,many\n", "o.csv:2: expected a whole number of processors in procs, found 'many'"),
        ("start,end,procs\n,2,3\n", "o.csv:2: expected a value for start, found none"),
        ("start,end,procs\n1,2,\n", "o.csv:2: expected a value for procs, found none"),
        ("start,end,procs\n1,2,0\n", "o.csv:2: expected at least 1 processor in procs, found 0"),
        ("start,end,procs\n5,5,1\n", "o.csv:2: expected an end after the start 5 (or none, for good), found 5"),
        (
            "start,end,procs,announced\n5,9,1,6\n",
            "o.csv:2: expected announced at or before the start 5 (or none), found 6",
        ),
        ("start,end,procs\n1,9999999999999,1\n", "o.csv:2: end is out of range"),
        ('start,end,procs\n"1,2,1\n', "o.csv:2: expected 3 values"),
        ("start,end,procs\n\0,2,1\n", "o.csv:2: expected a whole number"),
    ],
    ids=repr,
)
def test_faults_of_an_outage_file(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ValueError) as caught:
        outages(tmp_path, text)
    assert says in str(caught.value)


def test_outage_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such file of outages"):
        read_outages(tmp_path / "none.csv")
    (tmp_path / "odd.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="cannot be read as a text file"):
        read_outages(tmp_path / "odd.csv")
    with pytest.raises(ValueError, match="cannot be read as a text file"):
        read_outages(tmp_path)
