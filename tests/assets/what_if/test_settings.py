"""Settings of a run: what is wrong is told with the option and the remedy, in an outage file with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.what_if.replayers import check_settings
from assets.what_if.settings import (
    Outage,
    RunSettings,
    check_run_name,
    outages_of,
    read_outages,
)
from simulator.jobs.cluster import FOREVER


def test_the_usual_form_of_backfilling() -> None:
    usual = {"EASY": "easy", "Easy-SJBF": "easy-sjbf", "none": "none", "conservative": "conservative",
             "selective": "selective:threshold=2", "Selective:threshold=1.50": "selective:threshold=1.5"}  # fmt: skip
    assert {text: check_settings(RunSettings(backfill=text)).backfill for text in usual} == usual


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"backfill": "greedy"},
            "unknown backfilling 'greedy'; expected one of none, any, easy, easy-sjbf, conservative",
        ),
        ({"backfill": "easy:threshold=2"}, "unknown backfilling"),
        ({"backfill": "selective:limit=2"}, "unknown option 'limit'; expected one of threshold"),
        (
            {"estimates": "guessed"},
            "unknown estimates 'guessed'; did you mean 'requested'? Expected one of requested, actual, predicted",
        ),
        ({"correction": "none"}, "unknown correction 'none'"),
        ({"rules": "pbs"}, "unknown rules 'pbs'; expected one of standard, rlscheduler, rlscheduler-corrected"),
        ({"window": "5"}, "window '5': expected START:LENGTH"),
        ({"window": "0:0"}, "expected START:LENGTH"),
        ({"window": "-1:10"}, "expected START:LENGTH"),
        ({"trim": 0.5}, "trim must be at least 0 and below 0.5"),
        ({"procs": 0}, "procs must be at least 1"),
        ({"rules": "rlscheduler", "backfill": "conservative"}, "'conservative' is not one of the RLScheduler rules"),
        ({"rules": "rlscheduler", "warm_start": True}, "have no --warm-start"),
        ({"rules": "rlscheduler", "admit_by": "requested"}, "have no --admit-by"),
        (
            {"admit_by": "request"},
            "unknown admit_by 'request'; did you mean 'requested'? Expected one of estimate, requested",
        ),
        (
            {"admit_by": "requested", "backfill": "conservative"},
            "--admit-by requested cannot be combined with conservative",
        ),
        ({"load": 0.0}, "load must be between 0.01 and 100, got 0"),
        ({"load": 1.1, "warm_start": True}, "which --warm-start needs: leave one of them out"),
        ({"load": 1.1, "outages": [{"start": 0, "procs": 1}]}, "which --outages needs: leave one of them out"),
        ({"rules": "rlscheduler", "cancelled": True}, "have no --cancelled"),
        ({"rules": "rlscheduler", "correction": "doubling"}, "have no --correction"),
        ({"rules": "rlscheduler", "estimates": "actual"}, "have no --estimates"),
        ({"rules": "rlscheduler", "outages": [{"start": 1, "procs": 1}]}, "have no --outages"),
    ],
    ids=str,
)
def test_faults_of_settings(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_settings(RunSettings(**settings))  # type: ignore[arg-type]
    assert says in str(caught.value)


def test_windows_lie_inside_the_trace() -> None:
    assert RunSettings().window_of(10) == (0, 10)
    assert RunSettings(window="3:7").window_of(10) == (3, 7)
    with pytest.raises(
        ValueError, match="the trace has 10 jobs to replay, at positions 0 to 9, and the window ends at 10"
    ):
        RunSettings(window="3:8").window_of(10)


def test_names_of_runs() -> None:
    assert check_run_name("saf-easy_2.0") == "saf-easy_2.0"
    for name in ("", "-a", "a b", "a/b", "x" * 65):
        with pytest.raises(ValueError, match="bad name of a run"):
            check_run_name(name)


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
    simulated = outages_of(RunSettings(outages=found), 8)
    assert simulated.start.tolist() == [100, 300, 5]
    assert simulated.end.tolist() == [200, FOREVER, 6]
    assert simulated.announced.tolist() == [50, 300, 5]
    assert len(outages_of(RunSettings(), 8)) == 0
    assert len(outages(tmp_path, "\ufeffstart,end,procs\n1,2,3\n")) == 1  # as spreadsheets save it
    with pytest.raises(ValueError, match=r"o\.csv:5: expected at most the cluster's 7 processors in procs, found 8"):
        outages_of(RunSettings(outages=outages(tmp_path, "start,end,procs\n1,2,3\n\n1,2,3\n5,6,8\n")), 7)
    with pytest.raises(ValueError, match="outage 1: expected at most the cluster's 7"):
        outages_of(RunSettings(outages=[Outage(start=1, procs=8)]), 7)  # of a launchpad
    with pytest.raises(ValueError, match="outage 2: expected an end after the start 5"):
        outages_of(RunSettings(outages=[Outage(start=1, procs=1), Outage(start=5, end=5, procs=1)]), 7)


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
