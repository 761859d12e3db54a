"""Tests of traces/pbs: holdings, lists, reservations, values, writer."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from tests.traces.pbs.pbs_lines import each_golden, golden_folder, records
from traces.cluster.description import AdvanceReservation, Node
from traces.pbs.holdings import HeldNode, held_nodes, host_slots, pbs_nodes_held
from traces.pbs.lists import (
    GPUS,
    MISSING,
    MOST_LISTED_NODES,
    NCPUS,
    PPN,
    different_nodes,
    node_table,
    slots_of,
    sum_of_chunks,
    whole,
)
from traces.pbs.reader import PBS_RECORD_SCHEMA, read_pbs
from traces.pbs.reservations import ReservationRecord, reservations_of_records
from traces.pbs.rules import _logged_s, record_pairs
from traces.pbs.values import KEYS, NUM_KEYS, NUMBER_COLUMNS, STRINGS, numbers_of
from traces.pbs.values import MISSING as VALUES_MISSING
from traces.pbs.writer import write_pbs

# holdings: What jobs held of their nodes, by what they asked for and by what the nodes are for.

NODES = {
    node.name: node
    for node in (
        Node("n1", 16, 65536, {"": 2}),
        Node("n2", 16, 65536),
        Node("v0", 8, 1024, host="big"),
        Node("v1", 8, 1024, host="big"),
        Node("x1", 4, 512, sharing="force_excl"),
        Node("x2", 4, 512, sharing="default_excl"),
        Node("x3", 4, 512, sharing="ignore_excl"),
    )
}


def held(exec_vnode: str, place: str | None = None) -> dict[str, int]:
    attributes = {"exec_vnode": exec_vnode} | ({"Resource_List.place": place} if place else {})
    return {part.node: part.cpus for part in held_nodes(attributes, NODES)}


def test_a_job_with_nodes_for_itself_holds_all_of_them() -> None:
    asked = {"exec_vnode": "(n1:ncpus=4:mem=2097152kb:ngpus=1+n2:ncpus=2)+(n1:ncpus=4)"}
    assert held_nodes(asked, NODES) == (HeldNode("n1", 8, 2 << 20, 1), HeldNode("n2", 2, 0, 0))
    alone = held_nodes(asked | {"Resource_List.place": "scatter:excl"}, NODES)
    assert alone == (HeldNode("n1", 16, 64 << 20, 2), HeldNode("n2", 16, 64 << 20, 0))


def test_nodes_have_a_word_in_it() -> None:
    assert held("(x1:ncpus=1)+(x2:ncpus=1)+(x3:ncpus=1)") == {"x1": 4, "x2": 4, "x3": 1}
    assert held("(x1:ncpus=1)+(x2:ncpus=1)+(x3:ncpus=1)", "pack:shared") == {"x1": 4, "x2": 1, "x3": 1}
    assert held("(x1:ncpus=1)+(x2:ncpus=1)+(x3:ncpus=1)", "pack:excl") == {"x1": 4, "x2": 4, "x3": 1}
    assert held("(v0:ncpus=2)", "exclhost") == {"v0": 8, "v1": 8}
    assert held("(v0:ncpus=2)+(unknown:ncpus=3)", "excl") == {"v0": 8, "unknown": 3}


def test_torque_writes_slots() -> None:
    assert host_slots("n1/0*4+n2/0-3,7+n2/8+n3") == {"n1": 4, "n2": 6, "n3": 1}
    assert [part.cpus for part in held_nodes({"exec_host": "n1/1+n1/0+n2/0"}, NODES)] == [2, 1]
    assert held_nodes({}, NODES) == ()
    for bad in ("/3", "n1/a-b"):
        with pytest.raises(ValueError, match="exec_host: expected"):
            host_slots(bad)


@pytest.mark.thorough
@each_golden
def test_what_recorded_jobs_held_equals_what_the_server_wrote(scenario: str) -> None:
    nodes = {f"n{k:02}": Node(f"n{k:02}", 16, 65536, {"": 2} if k < 8 else {}) for k in range(32)}
    started = records(golden_folder(scenario), "S")
    for job, attributes in started.items():
        parts = held_nodes(attributes, nodes)
        if "[]" not in job:
            assert sum(part.cpus for part in parts) == int(attributes["resource_assigned.ncpus"]), job
            assert sum(part.gpus for part in parts) == int(attributes.get("resource_assigned.ngpus", 0)), job


@pytest.mark.thorough
def test_jobs_with_nodes_for_themselves_held_half_as_much_again() -> None:
    ended = records(golden_folder("P6"), "E")
    nodes = {f"n{k:02}": Node(f"n{k:02}", 16, 65536) for k in range(32)}
    of_jobs = [
        (int(attributes["end"]) - int(attributes["start"]), held_nodes(attributes, nodes), attributes)
        for attributes in ended.values()
    ]
    asked = sum(seconds * int(attributes["Resource_List.ncpus"]) for seconds, _, attributes in of_jobs)
    held_in_all = sum(part.cpus * seconds for seconds, parts, _ in of_jobs for part in parts)
    assert (held_in_all, asked) == (17839, 15135)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        (
            "(n1:ncpus=4:mem=2gb:ngpus=1+n2:ncpus=4:mem=512kb)+(n1:ncpus=1)",
            {"n1": (5, 1, 2 << 20), "n2": (4, 0, 512)},
        ),
        ("(c-0.site:ncpus=16:host=n1)", {"c-0.site": (16, 0, None)}),
        ("n1/0*16+n2/0-3+n2/7", {"n1": (16, None, None), "n2": (5, None, None)}),
        ("n1/0+n1/1+n2/0", {"n1": (2, None, None), "n2": (1, None, None)}),
        ("n1", {"n1": (1, None, None)}),
        ("n1/0+ +n2", {}),
        ("", {}),
    ],
)
def test_lists_are_summed_by_node(text: str, nodes: dict[str, tuple[int | None, ...]]) -> None:
    rows = pbs_nodes_held(pl.Series([None, text], dtype=pl.Utf8))
    assert {row[1]: row[2:] for row in rows.rows()} == nodes
    assert set(rows["place"]) <= {1}


# lists: Lists inside the values of a PBS record, against the rules in plain Python.


def bytes_of(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def span(text: str) -> np.ndarray:
    return np.array([0, len(text)], dtype=np.int64)


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("42", 42), ("07", 7), ("", -1), ("-1", -1), ("1x", -1), ("123", -1)]
)
def test_whole_numbers_of_up_to_two_digits(text: str, number: int) -> None:
    assert whole(bytes_of(text), 0, len(text), 2) == number


@pytest.mark.parametrize(
    ("text", "words", "default", "counted", "total"),
    [
        ("2:ncpus=4:mem=1gb+1:ncpus=8", NCPUS, 1, True, 16),
        ("2:ncpus=4+3", NCPUS, 1, True, 11),
        ("2:ppn=12+node01", PPN, 1, True, 25),
        ("(a:ncpus=2+b:ncpus=1)+(c:ncpus=4)", NCPUS, 0, False, 7),
        ("4:ncpus=2:ngpus=1", GPUS, 0, True, 4),
        ("4:gpu=2:gpus=1+1:gpus=x:gpus=3", GPUS, 0, True, 11),
        ("", NCPUS, 1, True, 0),
        ("1234567890:ncpus=1", NCPUS, 1, True, -1),
        ("1:ncpus=1234567890", NCPUS, 1, True, -1),
    ],
)
def test_sums_over_chunks(text: str, words: tuple[np.ndarray, ...], default: int, counted: bool, total: int) -> None:
    assert sum_of_chunks(bytes_of(text), span(text), words, default, counted) == total


@pytest.mark.parametrize(
    ("text", "slots"),
    [("n1/0*4", 4), ("n1/0*4+n2/0-3,7", 9), ("n1/0+n1/1", 2), ("n1", 1), ("n1/0*x", -1), ("", 1)],
)
def test_slots(text: str, slots: int) -> None:
    assert slots_of(bytes_of(text), span(text)) == slots


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("(n1:ncpus=4:mem=1kb+n2:ncpus=4)+(n1:ncpus=4)", 2),
        ("(n1[0]:ncpus=4)+(n1[1]:ncpus=4)+n1", 3),
        ("()+(:ncpus=4)", MISSING),
        ("n1/0*4+n2/0-3,7+n2/8", 2),
        ("n1/0+n1/1", 1),
        ("n1+n2+n1", 2),
        ("n12+n1/2+n2+", 3),
        ("", MISSING),
        ("+/3+", MISSING),
        ("+".join(map(str, range(MOST_LISTED_NODES))) + "+5+0", MOST_LISTED_NODES),
        ("+".join(map(str, range(MOST_LISTED_NODES + 1))), -1),
    ],
    ids=lambda value: str(value)[:30],
)
def test_different_nodes(text: str, nodes: int) -> None:
    assert different_nodes(bytes_of(text), span(text), node_table(), 1) == nodes


def test_one_table_of_nodes_serves_many_lists() -> None:
    table, rng = node_table(), np.random.default_rng(3)
    for stamp in range(1, 300):
        names = [f"r{rng.integers(30)}n{rng.integers(30)}" for _ in range(rng.integers(1, 200))]
        text = "+".join(f"{name}/{k}" for k, name in enumerate(names))
        assert different_nodes(bytes_of(text), span(text), table, stamp) == len(set(names))


# reservations: Reservations of the accounting log.

RESERVATIONS_NODES = {"start": "100", "end": "200", "nodes": "(n1:ncpus=4)+(n2:ncpus=4+n1:ncpus=4)"}


def record(kind: str, logged_s: int, name: str = "R1.head", **attributes: str) -> ReservationRecord:
    return ReservationRecord(kind, logged_s, name, attributes)


def test_a_reservation_is_known_from_its_confirmation() -> None:
    asked, confirmed = record("U", 9, requestor="ada@head"), record("Y", 10, **RESERVATIONS_NODES)
    expected = AdvanceReservation("R1.head", 100, 200, 10, ("n1", "n2"), users=("ada",), queue="R1")
    assert reservations_of_records([asked, confirmed]) == (expected,)
    began = record(
        "B",
        100,
        owner="ada@head",
        queue="R1",
        Authorized_Users="+ada@*,grace@x,-eve@*",
        Authorized_Groups="phys",
        **RESERVATIONS_NODES,
    )
    (reservation,) = reservations_of_records([asked, confirmed, began])
    assert (reservation.announced_s, reservation.users, reservation.groups) == (10, ("ada", "grace"), ("phys",))


@pytest.mark.parametrize(("deleted_s", "ends"), [(50, []), (150, [150]), (200, [200])])
def test_one_that_is_deleted_ends_then(deleted_s: int, ends: list[int]) -> None:
    records = [record("Y", 10, **RESERVATIONS_NODES), record("K", deleted_s), record("K", deleted_s, "R2.head")]
    assert [reservation.end_s for reservation in reservations_of_records(records)] == ends


def test_records_that_say_nothing_count_as_none() -> None:
    assert reservations_of_records([record("Y", 10), record("B", 10, start="5", end="5"), record("F", 20)]) == ()


def test_each_occurrence_of_a_standing_reservation_is_one() -> None:
    later = {**RESERVATIONS_NODES, "start": "300", "end": "400"}
    records = [record("Y", 10, **RESERVATIONS_NODES), record("B", 100, **RESERVATIONS_NODES)]
    records += [record("B", 300, **later), record("k", 350)]
    spans = [(each.name, each.begin_s, each.end_s, each.announced_s) for each in reservations_of_records(records)]
    assert spans == [("R1.head", 100, 200, 10), ("R1.head", 300, 350, 10)]


@pytest.mark.thorough
def test_reservations_of_the_recorded_run() -> None:
    lines = gzip.decompress((golden_folder("P7") / "accounting.gz").read_bytes()).decode().splitlines()
    parts = (line.split(";", 3) for line in lines)
    records = [
        ReservationRecord(kind, _logged_s(stamp) or 0, name, record_pairs(text)) for stamp, kind, name, text in parts
    ]
    first, second = reservations_of_records(records)
    assert (first.begin_s, first.end_s, len(first.nodes), first.users) == (1795677995, 1795678025, 16, ("u1",))
    assert (second.begin_s, second.end_s, len(second.nodes), second.users) == (1795678040, 1795678060, 32, ("u2",))
    assert (first.queue, first.announced_s) == ("R183", 1795677953)


# values: Values of a PBS record in compiled code; that they equal the rules is tested with the scan.

TIMES = {"ctime": "10", "qtime": "11", "etime": "12", "start": "20", "end": "50", "resources_used.ncpus": "4"}


def numbers(is_end: bool = True, **changes: str) -> dict[str, int | None] | None:
    """What `numbers_of` makes of a record with these values, by column; None where it leaves the record to the rules."""
    text, spans = b"", np.full((NUM_KEYS, 2), -1, dtype=np.int64)
    for key, value in (TIMES | {key.replace("__", "."): value for key, value in changes.items()}).items():
        spans[KEYS.index(key)] = len(text), len(value)
        text += value.encode()
    row = np.full(len(NUMBER_COLUMNS), VALUES_MISSING, dtype=np.int64)
    if not numbers_of(np.frombuffer(text, dtype=np.uint8), spans, row, is_end, node_table(), 1):
        return None
    return {
        name: None if number == VALUES_MISSING else int(number)
        for name, number in zip(NUMBER_COLUMNS, row, strict=True)
    }


def test_names_are_columns_and_keys_differ() -> None:
    assert set(NUMBER_COLUMNS) < set(PBS_RECORD_SCHEMA)
    assert len(set(KEYS)) == len(KEYS) and KEYS[: len(STRINGS)] == STRINGS


def test_a_plain_record() -> None:
    row = numbers(Resource_List__walltime="01:00:00", resources_used__mem="3mb", Exit_status="-3")
    assert row is not None
    assert (row["ctime_s"], row["start_s"], row["end_s"], row["procs"]) == (10, 20, 50, 4)
    assert (row["requested_walltime_s"], row["used_memory_kb"], row["exit_status"]) == (3600, 3072, -3)
    assert row["requested_procs"] is None and row["used_cpu_s"] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"start": "x"},
        {"start": "60"},
        {"ctime": "30"},
        {"Resource_List__walltime": "1h"},
        {"tasks": "1"},
        {"end": "9999999999999"},
    ],
)
def test_what_breaks_a_rule_is_left_to_the_rules(changes: dict[str, str]) -> None:
    assert numbers(**changes) is None


def test_less_is_demanded_of_other_records() -> None:
    assert numbers(is_end=False, start="60") is not None


# writer: The PBS writer is the inverse of the reader, in every time zone.


def some_jobs(first_submit: int, step_s: int, count: int) -> pl.DataFrame:
    """Jobs of 30 minutes to a day, one every `step_s` seconds, one to 40 processors."""
    numbers = range(1, count + 1)
    return pl.DataFrame(
        {
            "job_number": list(numbers),
            "submit_s": [first_submit + number * step_s for number in numbers],
            "start_s": [first_submit + number * step_s + 60 * (number % 5) for number in numbers],
            "runtime_s": [1800 * (1 + number % 48) for number in numbers],
            "procs": [1 + number % 40 for number in numbers],
            "requested_walltime_s": [3600 * (1 + number % 120) for number in numbers],
            "user": [f"u{number % 7:03d}" for number in numbers],
            "group": [f"g{number % 3:02d}" for number in numbers],
            "queue": [("short", "normal")[number % 2] for number in numbers],
            "executable": [f"app{number % 11:03d}" for number in numbers],
        }
    )


@pytest.mark.parametrize(
    ("time_zone", "around"),
    [
        ("UTC", "2026-03-08T00:00+00:00"),
        ("America/Denver", "2026-03-08T09:00+00:00"),  # 02:00 becomes 03:00
        ("America/Denver", "2026-11-01T08:00+00:00"),  # 02:00 becomes 01:00
        ("Europe/Stockholm", "2026-10-25T01:00+00:00"),
        ("Australia/Lord_Howe", "2026-04-04T15:00+00:00"),  # by half an hour
        ("America/Santiago", "2026-09-06T04:00+00:00"),  # at midnight: the day begins at 01:00
        ("Asia/Kathmandu", "2026-01-01T00:00+00:00"),  # 05:45 ahead
        ("Pacific/Apia", "2011-12-30T10:00+00:00"),  # a day that never was
    ],
)
def test_what_is_written_is_read_again_in_every_time_zone(tmp_path: Path, time_zone: str, around: str) -> None:
    jobs = some_jobs(int(datetime.fromisoformat(around).timestamp()) - 86_400, 1800, 96)
    paths = write_pbs(jobs, tmp_path, time_zone, "head1")
    assert paths == sorted(tmp_path.iterdir())
    logs = [read_pbs(path) for path in paths]
    records = pl.concat([log.records for log in logs]).sort("ctime_s")

    assert sum(log.rejected for log in logs) == 0
    assert sum(log.kept for log in logs) == jobs.height
    assert records["job_id"].to_list() == [f"{number}.head1" for number in jobs["job_number"]]
    killed = jobs["runtime_s"] >= jobs["requested_walltime_s"]
    for column, expected in {
        "user_name": jobs["user"], "group_name": jobs["group"], "account": jobs["group"], "queue": jobs["queue"],
        "job_name": jobs["executable"], "ctime_s": jobs["submit_s"], "etime_s": jobs["submit_s"],
        "start_s": jobs["start_s"], "end_s": jobs["start_s"] + jobs["runtime_s"], "procs": jobs["procs"],
        "requested_procs": jobs["procs"], "requested_walltime_s": jobs["requested_walltime_s"],
        "used_walltime_s": jobs["runtime_s"], "used_cpu_s": jobs["runtime_s"] * jobs["procs"],
        "exit_status": killed.replace_strict({True: -29, False: 0}),
    }.items():  # fmt: skip
        assert records[column].to_list() == expected.to_list(), column

    zone = ZoneInfo(time_zone)
    for path, log in zip(paths, logs, strict=True):
        ends = [datetime.fromtimestamp(end, UTC).astimezone(zone) for end in log.records["end_s"].to_list()]
        assert {f"{end:%Y%m%d}" for end in ends} <= {path.name}
        written = path.read_text().splitlines()
        assert {f"{line[6:10]}{line[:2]}{line[3:5]}" for line in written} == {path.name}
        assert [written[line - 1][:19] for line in log.records["line"]] == [f"{end:%m/%d/%Y %H:%M:%S}" for end in ends]


def test_files_are_named_by_the_local_day_across_a_change_of_clocks(tmp_path: Path) -> None:
    """Denver leaves winter time on 8 March 2026: that day ends at 05:59:59 UTC and the one before at 06:59:59 UTC."""
    ends = ["2026-03-08T06:59:59", "2026-03-08T07:00:00", "2026-03-09T05:59:59", "2026-03-09T06:00:00"]
    seconds = [int(datetime.fromisoformat(end).replace(tzinfo=UTC).timestamp()) for end in ends]
    jobs = some_jobs(0, 1, 4).with_columns(
        submit_s=pl.Series(seconds) - 20, start_s=pl.Series(seconds) - 10, runtime_s=pl.lit(10)
    )
    paths = write_pbs(jobs, tmp_path, "America/Denver", "head1")
    found = {path.name: [job.partition(".")[0] for job in read_pbs(path).records["job_id"].to_list()] for path in paths}
    assert found == {"20260307": ["1"], "20260308": ["2", "3"], "20260309": ["4"]}
    started = {path.name: path.read_text().count(";S;") for path in paths}
    assert started == {"20260307": 2, "20260308": 2, "20260309": 0}  # two of the four started the day before
