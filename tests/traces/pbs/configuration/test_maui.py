"""Maui's parameters and limits, with a remark on every key."""

import pytest

from tests.traces.pbs.configuration.configurations import MAUI, file_of, said
from traces.cluster.accounts import ServiceQuality
from traces.cluster.nodes import Node
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.maui import MauiConfiguration, read_maui

NODES = (Node("n1", 4), Node("n2", 4))


def read(text: str, notes: Notes | None = None) -> MauiConfiguration:
    return read_maui(file_of("maui.cfg", text), NODES, ("short", "long"), "UTC", notes or Notes())


def test_parameters_limits_and_reservations() -> None:
    notes = Notes()
    maui = read(MAUI, notes)
    assert maui.values == {
        "RMPOLLINTERVAL": "00:00:30",
        "BACKFILLPOLICY": "FIRSTFIT",
        "RESERVATIONPOLICY": "CURRENTHIGHEST",
        "RESERVATIONDEPTH[DEFAULT]": 2,
        "QUEUETIMEWEIGHT": 1.0,
        "FSWEIGHT": 100.0,
        "USERCFG[fred].PRIORITY": 10,
        "USERCFG[fred].FSTARGET": "25.0+",
    }
    assert [(x.owner, x.owner_name, x.counts, x.each, x.who, x.resource, x.bound, x.is_soft) for x in maui.limits] == [
        ("cluster", "", "outstanding", "user", "", "cpu", 4_500_000, True),
        ("cluster", "", "outstanding", "user", "", "cpu", 9_000_000, False),
        ("cluster", "", "waiting_eligible", "user", "", "jobs", 5, False),
        ("cluster", "", "running", "user", "fred", "cpu", 128, False),
        ("partition", "short", "running", "all", "", "jobs", 20, False),
        ("partition", "short", "running", "user", "", "jobs", 4, False),
        ("partition", "short", "running", "all", "", "cpu", 512, False),
        ("partition", "long", "running", "all", "", "cpu", 512, False),
    ]
    assert maui.limits[0].source == "maui.cfg:9 USERCFG[DEFAULT] MAXPS"
    assert (maui.qualities, maui.priorities) == ((ServiceQuality("high", 1000),), {"short": 100})
    assert [(x.name, x.nodes, x.partitions) for x in maui.reservations] == [("day", ("n1",), ("short",))]
    assert said(notes.remarks, "not modelled") == {
        "JOBAGGREGATIONTIME": "passes would wait so long for more submissions"
    }
    assert [(r.line, r.key) for r in notes.remarks if r.kind == "unknown"] == [(16, "SHINYWEIGHT")]


def test_a_class_with_a_limit_of_its_own_has_not_the_default() -> None:
    maui = read("CLASSCFG[short] MAXPROC=8\nCLASSCFG[DEFAULT] MAXPROC=512\n")
    assert [(x.owner_name, x.bound) for x in maui.limits] == [("short", 8), ("long", 512)]


def test_parameters_that_are_limits_for_everybody() -> None:
    text = "MAXPSPERUSER 100,200\nMAXJOBPERUSERCOUNT 0\nSYSTEMMAXJOBWALLTIME 2:00:00\nSYSTEMMAXPROCPERJOB -1\nMAXWCPERUSER 1:00:00\n"
    assert [(x.counts, x.each, x.resource, x.bound, x.is_soft) for x in read(text).limits] == [
        ("outstanding", "user", "cpu", 100, True),
        ("outstanding", "user", "cpu", 200, False),
        ("job", "job", "time", 7200, False),
        ("outstanding", "user", "jobs", 3600, False),
    ]


def test_what_we_cannot_count_is_named() -> None:
    notes = Notes()
    assert read("QOSCFG[DEFAULT] MAXPROC=4\nUSERCFG[a] MAXJOB[NODE]=3 SHINE=1\n", notes).limits == ()
    assert set(said(notes.remarks, "unknown")) == {
        "QOSCFG[DEFAULT] MAXPROC",
        "USERCFG[a] MAXJOB[NODE]",
        "USERCFG[a] SHINE",
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "USERCFG[a] MAXPROC=many",
            r"maui.cfg:1: expected a whole number from 0 as USERCFG\[a\] MAXPROC, found 'many'",
        ),
        ("USERCFG[a] MAXPROC=1,2,3", r"expected a number, or a soft and a hard one such as 4,8 as USERCFG"),
        ("USERCFG[a] MAXPROC 4", r"expected attributes of USERCFG\[a\] such as MAXJOB=4, found 'MAXPROC 4'"),
        ("BACKFILLPOLICY TETRIS", r"expected one of FIRSTFIT, .* as BACKFILLPOLICY, found 'TETRIS'"),
        ("RESERVATIONDEPTH deep", r"expected a whole number from 0 as RESERVATIONDEPTH"),
        ("USERCFG[a] FSTARGET=half", r"expected a percentage such as 25.0"),
        ("= 4", r"maui.cfg:1: expected a parameter such as `RESERVATIONDEPTH 2`, found '= 4'"),
    ],
)
def test_faults(line: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read(line)
