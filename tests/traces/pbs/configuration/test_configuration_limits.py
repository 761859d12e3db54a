"""Tests of traces/pbs/configuration: scheduler_files, queues, maui, maui_keys, nodes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tests.traces.pbs.configuration.configurations import MAUI, PBSNODES, QMGR, file_of, said, state_of
from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import Absence, AdvanceReservation, Gate, Node
from traces.cluster.notes import NOT_MODELLED, ConfigurationError, Entry, KnownKey, Notes
from traces.pbs.configuration import maui_keys
from traces.pbs.configuration.maui import MauiConfiguration, read_maui, standing_reservation
from traces.pbs.configuration.nodes import ListedNode, read_nodes, read_torque_nodes
from traces.pbs.configuration.qmgr import ServerState
from traces.pbs.configuration.queues import attribute_limits, server_wide_limits
from traces.pbs.configuration.scheduler_files import (
    gates_of_prime_time,
    prime_time_settings,
    read_dedicated_time,
    read_prime_time,
    read_shares,
)

# hours: Prime time and dedicated time.

HOLIDAYS = "* prime time\nYEAR 2026\n  weekday  0600 1730\n  saturday none all\n  sunday all none\n  1 Jan 1 none all New Year\n"
WORKDAYS = (0, 1, 2, 3, 4)


def test_queues_are_closed_out_of_their_hours() -> None:
    spans, dates = read_prime_time(file_of("holidays", HOLIDAYS), Notes())
    assert spans == ((WORKDAYS, 360, 1050), ((6,), 0, 1440)) and dates == ("2026-01-01",)
    assert prime_time_settings(spans, dates, "Europe/Berlin") == {
        "prime_time": "MO,TU,WE,TH,FR 0600-1730; SU 0000-2400",
        "prime_time_zone": "Europe/Berlin",
        "holidays": "2026-01-01",
    }
    gates = gates_of_prime_time(spans, {}, ("p_day", "np_night", "any"), "UTC")
    assert gates == (
        Gate(WORKDAYS, 0, 360, partition="p_day"),
        Gate(WORKDAYS, 1050, 1440, partition="p_day"),
        Gate((5,), 0, 1440, partition="p_day"),
        Gate(WORKDAYS, 360, 1050, partition="np_night"),
        Gate((6,), 0, 1440, partition="np_night"),
    )


def test_dedicated_time_is_a_reservation() -> None:
    file = file_of("dedicated_time", "# maintenance\n12/24/2026 08:00 12/24/2026 20:00\n")
    reservation = read_dedicated_time(file, ("ded1",), "Europe/Berlin", Notes())[0]
    assert (reservation.end_s - reservation.begin_s, reservation.begin_s % 86400) == (12 * 3600, 7 * 3600)
    assert reservation.partitions == ("ded1",)


def test_a_holiday_needs_a_year() -> None:
    notes = Notes()
    assert read_prime_time(file_of("holidays", "  60 Mar 1 Holi\n"), notes) == ((), ())
    assert [remark.kind for remark in notes.remarks] == ["not modelled"]
    assert read_prime_time(file_of("holidays", "YEAR 2024\n  60 Feb 29 Leap\n"), Notes())[1] == ("2024-02-29",)
    with pytest.raises(ConfigurationError, match=r"holidays:2: expected a day of the year from 1 to 366, found 366"):
        read_prime_time(file_of("holidays", "YEAR 2026\n 366 Dec 32 None\n"), Notes())


@pytest.mark.parametrize(
    "line", ["weekday 0600", "someday 0600 1700", "weekday 0660 1700", "weekday early late", "YEAR next"]
)
def test_faults(line: str) -> None:
    with pytest.raises(ConfigurationError, match=r"holidays:1: expected .*Write lines such as `weekday 0600 1730`"):
        read_prime_time(file_of("holidays", line), Notes())
    with pytest.raises(ConfigurationError, match=r"ded:1: expected `MM/DD/YYYY HH:MM MM/DD/YYYY HH:MM`"):
        read_dedicated_time(file_of("ded", "12/24/2026 08:00 12/24/2026 07:00"), (), "UTC", Notes())


# limits: Limits of servers and queues in the new and the old spelling.


def limits(**attributes: str) -> list[tuple]:
    entries = {
        key.replace("__", "."): Entry("qmgr.txt", 3, key.replace("__", "."), text) for key, text in attributes.items()
    }
    parts = attribute_limits(entries, "partition", "q", Notes())
    return [(x.counts, x.each, x.who, x.resource, x.bound, x.is_least, x.is_soft) for x in parts]


def test_limits_of_a_server_and_a_queue() -> None:
    state, notes = state_of(QMGR)
    of_queue = attribute_limits(state.of("queue", "short"), "partition", "short", notes)
    assert of_queue == (
        Limit("partition", "short", "job", "job", "cpu", 64, source="qmgr.txt:7 resources_max.ncpus"),
        Limit("partition", "short", "running", "user", "jobs", 4, source="qmgr.txt:9 max_run"),
        Limit("partition", "short", "running", "user", "jobs", 8, "fred", source="qmgr.txt:9 max_run"),
    )
    of_server = attribute_limits(state.of("server"), "cluster", "", notes)
    assert [(x.each, x.resource, x.bound, x.is_soft) for x in of_server] == [
        ("user", "cpu", 256, False), ("all", "cpu", 1000, False), ("group", "mem", 102400, True),
    ]  # fmt: skip


def test_spellings() -> None:
    assert limits(max_user_run="4", max_group_res_soft__ncpus="8") == [
        ("running", "user", "", "jobs", 4, False, False), ("running", "group", "", "cpu", 8, False, True),
    ]  # fmt: skip
    assert limits(max_queued='[p:"big science"=9]', max_queuable="100") == [
        ("submitted", "project", "big science", "jobs", 9, False, False), ("submitted", "all", "", "jobs", 100, False, False),
    ]  # fmt: skip
    assert limits(resources_min__walltime="00:10:00", resources_max__walltime="1:00:00", resources_max__nodect="4") == [
        ("job", "job", "", "time", 600, True, False), ("job", "job", "", "nodes", 4, False, False),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["4", "[u:PBS_GENERIC]", "[x:a=1]", "[o:fred=1]", "[u:PBS_ALL=1]", "[u:fred=many]"])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"qmgr.txt:3: expected .* as max_run, found .*Write limits as qmgr prints them"
    ):
        limits(max_run=text)


def test_words_are_named_and_left_out() -> None:
    notes = Notes()
    entries = {
        key: Entry("f", 1, key, text)
        for key, text in (("resources_max.nodes", "2:ppn=8"), ("resources_max.arch", "linux"))
    }
    assert attribute_limits(entries, "partition", "q", notes) == ()
    assert list(said(notes.remarks, "not modelled")) == ["resources_max.nodes", "resources_max.arch"]
    assert limits(resources_max__nodes="4") == [("job", "job", "", "nodes", 4, False, False)]


def test_what_is_available_in_a_queue_is_its_limit() -> None:
    entries = {"resources_available.ncpus": Entry("f", 1, "resources_available.ncpus", "128")}
    assert server_wide_limits(entries, "partition", "q", Notes())[0].bound == 128


# maui: Maui's parameters and limits, with a remark on every key.

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
    left_out = said(notes.remarks, "not modelled")
    assert left_out["JOBAGGREGATIONTIME"] == "passes would wait so long for more submissions"
    assert {"QUEUETIMEWEIGHT", "BACKFILLPOLICY", "USERCFG[fred] FSTARGET", "SRCFG[day] CLASSLIST"} <= left_out.keys()
    assert {"USERCFG[fred] MAXPROC", "SRCFG[day] HOSTLIST"} <= said(notes.remarks, "modelled").keys()
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
def test_faults_of_maui(line: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read(line)


# maui_keys: Tables of Maui's keys.


@pytest.mark.parametrize("table", [maui_keys.PARAMETER_KEYS, maui_keys.CREDENTIAL_KEYS, maui_keys.RESERVATION_KEYS])
def test_a_key_that_is_left_out_says_what_it_would_have_changed(table: dict[str, KnownKey]) -> None:
    assert all(row.effect for row in table.values() if row.kind == NOT_MODELLED)
    assert all(name == name.upper() for name in table)


# nodes: Nodes of pbsnodes, as text, as JSON and as Torque has them.

EXPECTED = (
    ListedNode(
        Node("n1", 16, 65536, {"": 2}, ("nodetype=thin",), resources={"scratch": 1 << 30}),
        "",
        5,
    ),
    ListedNode(
        Node(
            "n2",
            32,
            128767,
            features=("nodetype=fat", "nodetype=new"),
            absences=(Absence(1795673647, None, "drain"),),
            host="box",
            sharing="force_excl",
        )
    ),
)


def test_text_and_json_are_alike() -> None:
    state, notes = state_of(QMGR)
    assert read_nodes(file_of("pbsnodes.txt", PBSNODES), state, "Europe/Berlin", notes) == EXPECTED
    document: dict = {"timestamp": 1, "nodes": {}}
    for block in PBSNODES.strip().split("\n\n"):
        name, *lines = block.splitlines()
        values = document["nodes"].setdefault(name, {})
        for line in lines:
            key, _, value = line.strip().partition(" = ")
            base, _, resource = key.partition(".")
            if resource:
                values.setdefault(base, {})[resource] = int(value) if value.isdigit() else value
            else:
                values[key] = value
    as_json = file_of("pbsnodes.json", json.dumps(document))
    assert read_nodes(as_json, state, "Europe/Berlin", Notes()) == EXPECTED


def test_torque_prints_slots_and_properties() -> None:
    text = "t1\n     state = free\n     np = 8\n     properties = fast,ib\n     gpus = 2\n     status = ncpus=8,physmem=16777216kb,x=1\n"
    node = read_nodes(file_of("pbsnodes", text), ServerState(), "UTC", Notes())[0].node
    assert node == Node("t1", 8, 16384, {"": 2}, ("fast", "ib"))
    notes = Notes()
    listed = read_torque_nodes(file_of("nodes", "t1 np=8 gpus=2 fast\nt2 fast colour=red\n"), notes)
    assert [part.node for part in listed] == [
        Node("t1", 8, gpus={"": 2}, features=("fast",)),
        Node("t2", 1, features=("fast",)),
    ]
    assert set(said(notes.remarks, "unknown")) == {"colour"}


def test_a_node_without_processors_is_left_out_with_a_remark() -> None:
    notes = Notes()
    text = f"head\n     state = free\n     resources_available.ncpus = 0\n\n{PBSNODES}"
    assert len(read_nodes(file_of("pbsnodes", text), ServerState(), "UTC", notes)) == 2
    assert said(notes.remarks, "assumed") == {"head": "the node has no processors and is left out"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PBSNODES.replace("= 16", "= many"), r"f:8: expected a whole number from 0 as resources_available.ncpus, found 'many'"),
        (PBSNODES.replace("force_excl", "mine"), r"f:21: expected one of default_shared, .* as sharing, found 'mine'"),
        (PBSNODES.replace("= free", "= happy"), r"f:4: expected states of down, .*found 'happy'"),
        (PBSNODES.replace("64gb", "lots"), r"f:7: expected a size such as 64gb as resources_available.mem, found 'lots'"),
        ("Error: no server\n", r"f:1: expected the name of a node, found 'Error: no server'"),
        ("n1\n    free\n", r"f:2: expected an attribute such as `state = free` below a node, found 'free'"),
        ("", r"f: expected nodes with processors. Write the output of `pbsnodes -av`"),
        ('{"nodes": ', r"f:1: expected a JSON document of pbsnodes"),
    ],
)  # fmt: skip
def test_faults_have_file_line_and_remedy(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_nodes(file_of("f", text), ServerState(), "UTC", Notes())


# shares: The tree of shares.


def test_groups_and_users() -> None:
    accounts, members = read_shares(
        file_of("resource_group", "# tree\nA 100 root 60\nB 101 A 40\nu1 200 B 50\nu2 201 root 7\n"), Notes()
    )
    assert accounts == (Account("A", "root", 60), Account("B", "A", 40))
    assert members == (AccountUser("u1", "B", 50, is_default=True), AccountUser("u2", "root", 7, is_default=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A 1 root\n", "resource_group:1: expected `name number parent shares`, found 'A 1 root'"),
        ("A 1 root 2\nA 2 root 2\n", "resource_group:2: expected each name once, found A again"),
        (
            "A 1 B 2\n",
            r"resource_group:1: expected a parent that is root or stands above, found 'B'. Write a line for B",
        ),
        ("A 1 root x\n", "resource_group:1: expected a whole number from 0 as A, found 'x'"),
    ],
)
def test_faults_of_shares(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_shares(file_of("resource_group", text), Notes())


# standing: Standing reservations.

STANDING_NODES = (Node("n1", 4, features=("fast",)), Node("n2", 4))


def reserve(time_zone: str = "UTC", **attributes: str) -> AdvanceReservation:
    entries = {key: Entry("maui.cfg", 3, f"SRCFG[r] {key}", text) for key, text in attributes.items()}
    return standing_reservation("r", entries, STANDING_NODES, time_zone)


@pytest.mark.parametrize(
    ("attributes", "begin", "hours", "repeats"),
    [
        ({"STARTTIME": "8:00:00", "ENDTIME": "17:00:00"}, "Mon 08:00", 9, "daily"),
        ({"STARTTIME": "20:00:00", "ENDTIME": "6:00:00", "DAYS": "TUE,SAT"}, "Tue 20:00", 10, "FREQ=WEEKLY;BYDAY=TU,SA"),
        ({"PERIOD": "WEEK", "STARTTIME": "1:06:00:00", "ENDTIME": "2:06:00:00"}, "Mon 06:00", 24, "weekly"),
        ({}, "Mon 00:00", 24, "daily"),
    ],
)  # fmt: skip
def test_spans_repeat(attributes: dict[str, str], begin: str, hours: int, repeats: str) -> None:
    reservation = reserve(**attributes)
    assert datetime.fromtimestamp(reservation.begin_s, UTC).strftime("%a %H:%M") == begin
    assert (reservation.end_s - reservation.begin_s, reservation.repeats) == (hours * 3600, repeats)


def test_what_is_kept_and_for_whom() -> None:
    assert reserve(HOSTLIST="n[12]").nodes == ("n1", "n2") and reserve(HOSTLIST="ALL").nodes == ("n1", "n2")
    assert reserve(NODEFEATURES="fast").nodes == ("n1",)
    assert reserve(TASKCOUNT="3", RESOURCES="PROCS:2;MEM:100").cpus == 6
    for_some = reserve(PERIOD="INFINITY", USERLIST="a+,b-", QOSLIST="&high", GROUPLIST="g", FLAGS="SPACEFLEX")
    assert (for_some.begin_s, for_some.repeats) == (0, "")
    assert (for_some.users, for_some.qos, for_some.groups, for_some.flags) == (
        ("a", "b"),
        ("high",),
        ("g",),
        ("spaceflex",),
    )


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"PERIOD": "YEAR"}, r"maui.cfg:3: expected one of DAY, WEEK, INFINITY as SRCFG\[r\] PERIOD, found 'YEAR'"),
        ({"DAYS": "MON,XYZ"}, r"expected days of SUN, .* as SRCFG\[r\] DAYS"),
        ({"HOSTLIST": "m1"}, r"expected names of nodes that the cluster has as SRCFG\[r\] HOSTLIST, found 'm1'"),
        ({"NODEFEATURES": "slow"}, r"expected features that a node of the cluster has"),
        ({"STARTTIME": "noon"}, r"expected a duration"),
    ],
)
def test_faults_of_standing(attributes: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        reserve(**attributes)
