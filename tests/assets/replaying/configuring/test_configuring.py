"""Tests of assets/replaying/configuring: configuration, outages, sizes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assets.common.trace import Trace, load_trace
from assets.replaying.configuring.outages import Outage, outages_of, read_outages
from assets.replaying.configuring.sizes import AskedProcs, parse_load, parse_nodes, parse_procs
from assets.replaying.running.replayers import check_settings, choose_policy
from assets.replaying.running.run import changed_rows, queues_of, replay_run
from assets.replaying.running.settings import RunSettings, check_saved_settings
from simulator.jobs.cluster import FOREVER
from tests.tiny import busy_log, in_queues, warehouse_of

# The jobs of a replay: at another load, without queues, with rounded requests.


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """120 jobs, by turns of the queues 1 and 2, every tenth of 7."""
    warehouse = warehouse_of(tmp_path_factory.mktemp("queues"), in_queues(busy_log(120)))
    return load_trace(warehouse, "mine", labels=["queue"])


def settings(**values: object) -> RunSettings:
    return check_settings(RunSettings(**values))  # type: ignore[arg-type]


def test_without_changes_the_rows_are_those_of_the_log(trace: Trace) -> None:
    assert changed_rows(trace, settings()).equals(trace.rows)


def test_jobs_of_a_queue_are_left_out(trace: Trace) -> None:
    assert queues_of(trace.rows)[-1] == "7"
    rows = changed_rows(trace, settings(without_queue=["7"]))
    assert rows.height == 108 and set(rows["queue"]) == {"1", "2"}
    assert changed_rows(trace, settings(without_queue=["7", "1"]))["queue"].unique().to_list() == ["2"]
    run = replay_run(trace, settings(without_queue=["7"]), choose_policy(settings(), None, "mine"))
    assert (run.counts["jobs"], run.counts["jobs_of_queues_left_out"]) == (108, 12)


def test_a_job_without_a_queue_stays(trace: Trace) -> None:
    some = pl.when(pl.col("job_index") > 9).then("queue")
    from_first = changed_rows(_with(trace, trace.rows.with_columns(queue=some)), settings(without_queue=["7"]))
    assert from_first["queue"].null_count() == 10


def test_queues_that_are_none(trace: Trace) -> None:
    with pytest.raises(ValueError, match=r"without_queue 'long': mine has no job of this queue: the queues are .*, 7$"):
        changed_rows(trace, settings(without_queue=["long"]))
    with pytest.raises(ValueError, match="no job of mine is left"):
        changed_rows(trace, settings(without_queue=["1", "2", "7"]))
    nowhere = _with(trace, trace.rows.with_columns(queue=pl.lit(None, pl.Utf8)))
    with pytest.raises(ValueError, match="its jobs have no queue"):
        changed_rows(nowhere, settings(without_queue=["1"]))


def test_requests_are_rounded_up(trace: Trace) -> None:
    logged = trace.rows["requested_walltime_s"].to_list()
    rounded = changed_rows(trace, settings(round_walltimes="4h"))["requested_walltime_s"].to_list()
    assert rounded == [-(-request // 14_400) * 14_400 for request in logged] != logged
    both = changed_rows(trace, settings(walltime_factor=1.5, round_walltimes="4h"))["requested_walltime_s"].to_list()
    assert both == [-(-round(1.5 * request) // 14_400) * 14_400 for request in logged] != rounded
    none = _with(trace, trace.rows.with_columns(requested_walltime_s=pl.lit(-1, pl.Int64)))
    changed = changed_rows(none, settings(walltime_factor=2.0, round_walltimes="4h"))
    assert set(changed["requested_walltime_s"]) == {-1}
    for text in ("x", "0"):
        with pytest.raises(ValueError, match=f"round_walltimes {text!r}"):
            settings(round_walltimes=text)


def test_a_period_is_one_of_the_log_under_another_load(trace: Trace) -> None:
    run = replay_run(trace, settings(load=2.0), choose_policy(settings(), None, "mine"))
    assert run.rows["submit_s"].to_list() != run.logged_rows["submit_s"].to_list() == trace.rows["submit_s"].to_list()


def test_such_runs_are_not_saved() -> None:
    for values in ({"without_queue": ["7"]}, {"round_walltimes": "4h"}, {"walltime_factor": 2.0}):
        with pytest.raises(ValueError, match="are not saved, since a saved run does not record these"):
            check_saved_settings(settings(**values))


def _with(trace: Trace, rows: pl.DataFrame) -> Trace:
    return Trace(**{name: getattr(trace, name) for name in Trace.__dataclass_fields__} | {"rows": rows})


# outages: An error in a file of outages names the line.


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


# sizes: Sizes and loads, as users write them.


@pytest.mark.parametrize(
    ("text", "load"), [("1.1", 1.1), ("2", 2.0), ("+10%", 1.1), ("-20 %", 0.8), (" +12.5% ", 1.125), ("1", 1.0)]
)
def test_a_load_is_a_factor_or_a_change(text: str, load: float) -> None:
    assert parse_load(text) == pytest.approx(load)


@pytest.mark.parametrize("text", ["", "x", "10%", "-1", "1e3", "+10", "%"])
def test_other_loads_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a factor such as 1.1, or a change such as \+10% or -20%"):
        parse_load(text)


@pytest.mark.parametrize(
    ("text", "procs"), [("300", 300), ("+10%", 282), ("-25 %", 192), ("+16", 272), (" -4 ", 252), ("+0.5%", 257)]
)
def test_processors_are_a_number_or_a_change(text: str, procs: int) -> None:
    assert parse_procs(text).of(256) == procs


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a number such as 300"),
        ("3.5", "or a change such as"),
        ("ten", "'ten'"),
        ("99999999999999999", "at most 1,000,000,000 processors"),
        ("+99999999999999999%", "at most 1,000,000,000 processors"),
        ("-256", "nothing is left of the 256"),
    ],
)
def test_processors_that_are_none(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_procs(text).of(256)


@pytest.mark.parametrize(("text", "procs"), [("-4", 128), ("+1", 288), ("4", 128), ("-25%", 192), ("+10%", 288)])
def test_nodes_have_processors(text: str, procs: int) -> None:
    assert parse_nodes(text).of(256, node_procs=32) == procs
    assert parse_nodes(text, node_procs=32).of(256, node_procs=7) == procs  # what the user says wins


def test_nodes_of_an_unknown_size_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"nodes '-4': it is not known how many processors a node has: give procs_per_node"
    ):
        parse_nodes("-4").of(256)
    with pytest.raises(ValueError, match="nothing is left of the 256 processors"):
        parse_nodes("-8").of(256, node_procs=32)
    with pytest.raises(ValueError, match="nodes 'x': expected a number"):
        parse_nodes("x")


def test_what_the_text_alone_says() -> None:
    assert (parse_procs("300").procs, parse_procs("+4").procs) == (300, None)
    assert (parse_nodes("4", 32).procs, parse_nodes("4").procs, parse_nodes("-4", 32).procs) == (128, None, None)


def test_a_change_of_load_is_one_of_the_base() -> None:
    assert parse_load("+10%", base=2.0) == pytest.approx(2.2)
    assert parse_load("1.1", base=2.0) == pytest.approx(1.1)


# sizes: A number is the whole cluster, which is said where it is much less than there is. A change is rounded to what a cluster can have.


@pytest.mark.parametrize(
    ("size", "today", "in_use", "procs", "said"),
    [
        (parse_nodes("20"), 72, 576, 160, "20 nodes in all, today 72; +20 adds 20"),
        (parse_nodes("+20"), 72, 576, 736, ""),
        (parse_nodes("60"), 72, 576, 480, ""),
        (parse_procs("100"), 100, 1019, 100, "100 processors in all, and jobs of the log had 1,019 at once"),
        (parse_procs("100"), 1024, 0, 100, "100 processors in all, today 1,024; +100 adds 100"),
        (parse_procs("-90%"), 1024, 1019, 102, ""),
        (parse_procs("+10%"), 1024, 1019, 1126, ""),
        (parse_procs("+10%"), 8, 8, 9, "+10% is +12.5 % here: 9 processors instead of 8"),
        (parse_procs("+4"), 64, 64, 72, "+4 is +12.5 % here: 72 processors instead of 64"),
        (parse_procs("+10%"), 8, 8, 8, "+10% is less than half a processor or node: the cluster stays as it is"),
        (parse_nodes("+10%"), 4, 16, 16, "+10% is less than half a node: the cluster stays as it is"),
        (parse_nodes("+10%"), 6, 24, 28, "+10% is +16.7 % here: 7 nodes instead of 6"),
    ],
)
def test_what_is_said_of_a_size(size: AskedProcs, today: int, in_use: int, procs: int, said: str) -> None:
    assert size.remark(today, in_use, procs) == said


def test_nodes_are_counted() -> None:
    assert [parse_nodes(text).count(20) for text in ("5", "+3", "-50%")] == [5, 23, 10]
    with pytest.raises(ValueError, match="nothing is left of the 20 nodes"):
        parse_nodes("-20").count(20)
