"""The report on the health of a log finds every fault that is in it, and no other."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest

import sql
from assets.common.checks import broken_rows
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.staging import replace_rows_of_query
from assets.ingest.update import update_raw_log
from tests.shared import shared_file
from tests.tiny import swf_line
from traces.catalogue.sources import Source
from warehouse import Warehouse

DAY = 86_400
MONDAY = int(datetime(2026, 1, 5, 12, tzinfo=UTC).timestamp())


def end(
    job: int | str,
    submit: int,
    start: int,
    stop: int,
    procs: int = 4,
    user: str = "ann",
    limit: str = "01:00:00",
    stamp: int | None = None,
    zone: str = "UTC",
) -> str:
    moment = datetime.fromtimestamp(stop if stamp is None else stamp, ZoneInfo(zone))
    request = f"Resource_List.walltime={limit} " if limit else ""
    return (
        f"{moment:%m/%d/%Y %H:%M:%S};E;{job}.head;user={user} queue=q ctime={submit} qtime={submit} etime={submit} "
        f"start={start} exec_host=n1/0*{procs} Resource_List.ncpus={procs} {request}end={stop} Exit_status=0\n"
    )


def report(
    folder: Path, log: str, time_zone: str | None = "UTC", procs: int | None = 64, log_format: str = "pbs"
) -> dict[str, dict[str, object]]:
    (folder / "log").write_text(log)
    warehouse = Warehouse(folder / "w.duckdb")
    source = Source("mine", log_format, folder / "log", procs=procs, time_zone=time_zone)
    update_raw_log(warehouse, source)
    write_jobs(warehouse, "mine")
    replace_rows_of_query(warehouse, "marts.trace_health", "mine", sql.load("marts.trace_health_of_source"))
    with warehouse.read() as connection:
        rows = connection.sql(sql.load("marts.health_report"), params={"source": "mine"}).pl()
    return {row["finding"]: row for row in rows.to_dicts()}


def sound(days: int, procs: int = 4, first: int = MONDAY) -> list[str]:
    """Three jobs of ten minutes a day, of three users."""
    return [
        end(submit - MONDAY, submit, submit + 10, submit + 610, procs, ["ann", "bob", "eve"][k])
        for day in range(days)
        for k in range(3)
        for submit in [first + day * DAY + k * 1000]
    ]


def found(rows: dict[str, dict[str, object]]) -> dict[str, object]:
    return {finding: row["found"] for finding, row in rows.items() if row["found"]}


def test_a_sound_log_has_no_finding(tmp_path: Path) -> None:
    rows = report(tmp_path, "".join(sound(30)))
    assert found(rows) == {}
    assert len(rows) == 20


LINES = {
    "swf": "; MaxProcs: 64\n\n" + 2 * swf_line(1, 0, 0, 60, 1, 600) + "no job\n",
    "pbs": 2 * end(1, MONDAY, MONDAY, MONDAY + 60) + "no record\n\n",
    "slurm": "JobID|Submit|Start|End|State|NCPUS\n"
    + 2 * "1|2026-01-05T00:00:00|2026-01-05T00:00:00|2026-01-05T01:00:00|COMPLETED|1\n"
    + "1.batch|2026-01-05T00:00:00|2026-01-05T00:00:00|2026-01-05T01:00:00|COMPLETED|1\n2|||||\n",
}


@pytest.mark.parametrize("log_format", LINES)
def test_every_line_is_counted_once_also_one_that_is_there_twice(log_format: str, tmp_path: Path) -> None:
    rows = report(tmp_path, LINES[log_format], log_format=log_format)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    assert broken_rows(warehouse, "checks.counts_add_up", "mine") == []
    with warehouse.read() as connection:
        ((*counts, reasons),) = connection.execute(
            "SELECT lines, accepted, kept + ignored, rejected, "
            "(SELECT sum(lines) FROM raw.line_counts WHERE outcome = 'rejected' AND reason <> '') FROM marts.ingest_summary"
        ).fetchall()
        (jobs,) = connection.execute("SELECT count(*) FROM core.jobs").fetchone() or (0,)
    assert counts == [len(LINES[log_format].splitlines()), 2, counts[2], 1] and counts[0] == sum(counts[1:])
    assert reasons == 1 == rows["rejected lines"]["found"]
    twice = rows["told again"]["found"], rows["ids used again"]["found"]
    assert twice == ((0, 1) if log_format == "swf" else (1, 0)) and jobs == (2 if log_format == "swf" else 1)


def test_days_before_the_begin_of_a_log_are_not_missing(tmp_path: Path) -> None:
    """An accounting tool that is asked for April writes who ended in April: some were submitted in March, and the days between them are no
    fault of the system."""
    early = [end(k, MONDAY - 10 * k * DAY, MONDAY, MONDAY + 60 * k) for k in (1, 2, 3)]
    rows = report(tmp_path, "".join(early) + "".join(sound(40, first=MONDAY + 3600)))
    assert found(rows) == {"before the begin": 3}
    assert rows["before the begin"]["example"] == "the log begins on 2026-01-05"
    assert rows["before the begin"]["share"] == 3 / 123


BROKEN = {
    "zero length": end(9001, MONDAY, MONDAY + 5, MONDAY + 5),
    "over the limit": end(9002, MONDAY, MONDAY + 5, MONDAY + 5 + 3600 + 61),
    "no request": end(9003, MONDAY, MONDAY + 5, MONDAY + 50, limit=""),
    "rejected lines": "no record\n",
    "ids used again": end(7200, MONDAY + 7, MONDAY + 8, MONDAY + 9),
    "stamps off": end(9004, MONDAY, MONDAY + 5, MONDAY + 50, stamp=MONDAY + 50 + 3600),
}


def test_each_fault_is_found_once(tmp_path: Path) -> None:
    told = found(report(tmp_path, "".join(BROKEN.values()) + "".join(sound(10, first=MONDAY + 7200))))
    told.pop("clock jumps", None)  # a wrong stamp is before or after its neighbours
    assert told == dict.fromkeys(BROKEN, 1)


def test_a_minute_over_the_limit_is_none(tmp_path: Path) -> None:
    assert found(report(tmp_path, end(1, MONDAY, MONDAY, MONDAY + 3660))) == {}


def test_times_backwards_are_rejected_and_counted(tmp_path: Path) -> None:
    rows = report(tmp_path, "".join(sound(3)) + end(9, MONDAY + 9, MONDAY + 5, MONDAY + 20))
    assert found(rows) == {"times backwards": 1, "rejected lines": 1}
    assert rows["times backwards"]["example"] == "log:10"


def test_more_in_use_than_there_is(tmp_path: Path) -> None:
    both = [end(k, MONDAY, MONDAY + 10, MONDAY + 100, procs=40, user=f"u{k}") for k in (1, 2)]
    rows = report(tmp_path, "".join(both))
    assert found(rows) == {"over 100 % in use": 1}
    assert rows["over 100 % in use"]["example"] == "2026-01-05: 80 of 64 processors"


def test_the_same_record_twice_is_told_again(tmp_path: Path) -> None:
    lines = sound(3)
    rows = report(tmp_path, "".join(lines[:4] + lines[3:]))
    assert found(rows) == {"told again": 1}
    assert rows["told again"]["share"] == pytest.approx(1 / 10)


def test_every_job_whose_start_is_unknown_counts(tmp_path: Path) -> None:
    """Cancelled ones that ran, too. One that was cancelled after a wait of 30 s has no start, and lacks none."""
    fields = [(0, -1, 100, 1), (10, -1, 100, 5), (20, -1, 0, 5), (30, 30, 0, 5), (40, 0, 100, 1), (50, -7, 100, 1)]
    lines = [
        swf_line(number, MONDAY + submit, wait, runtime, 2, 200, status=status, user=number)
        for number, (submit, wait, runtime, status) in enumerate(fields, start=1)
    ]
    rows = report(tmp_path, "; UnixStartTime: 0\n" + "".join(lines), log_format="swf")
    assert found(rows) == {"no start": 4, "times backwards": 1}


def test_a_cancelled_job_that_ran_used_processors(tmp_path: Path) -> None:
    """Even where the log does not tell when it started: then it counts from its submission on."""
    lines = [swf_line(k, MONDAY, -1, runtime, 2, 200, status=5, user=k) for k, runtime in enumerate((100, 0, 50))]
    report(tmp_path, "; UnixStartTime: 0\n" + "".join(lines), log_format="swf")
    with Warehouse(tmp_path / "w.duckdb").read() as connection:
        assert connection.sql("SELECT peak_procs, peak_jobs FROM core.capacity").fetchall() == [(4, 2)]


def test_a_log_without_dates_has_days_of_its_own(tmp_path: Path) -> None:
    """Before, these days were dates of 1970."""
    days = [*range(20), *range(30, 40), *[40] * 90, 47]
    jobs = [swf_line(k + 1, day * DAY + k, 10, 600, 8, user=1 + (day != 40)) for k, day in enumerate(days)]
    rows = report(tmp_path, "".join(jobs), procs=8, log_format="swf")
    assert rows["missing days"]["example"] == "day 20 of the log"
    assert rows["over 100 % in use"]["example"] == "day 40 of the log: 720 of 8 processors"
    assert str(rows["flurries"]["example"]).startswith("1 in the week of day 39 of the log: 9")
    dated = report(tmp_path, "; UnixStartTime: 1767225600\n" + "".join(jobs), procs=8, log_format="swf")
    assert dated["missing days"]["example"] == "2026-01-21"


def test_jobs_of_a_file_that_is_gone_and_outdated(tmp_path: Path) -> None:
    report(tmp_path, "".join(sound(3)))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.write() as connection:
        connection.execute("UPDATE raw.log_files SET outdated = 'read by pbs-1, and not by pbs-2'")
    replace_rows_of_query(warehouse, "marts.trace_health", "mine", sql.load("marts.trace_health_of_source"))
    with warehouse.read() as connection:
        rows = connection.execute(
            "SELECT found, share, example FROM marts.trace_health WHERE finding = 'outdated rows'"
        )
        assert rows.fetchall() == [(9, 1.0, "log: read by pbs-1, and not by pbs-2")]


def test_a_time_zone_that_nobody_gave(tmp_path: Path) -> None:
    rows = report(tmp_path, "".join(sound(3)), time_zone=None)
    assert found(rows) == {"time zone assumed": 9} and rows["time zone assumed"]["example"] == "UTC"
    swf = report(tmp_path, swf_line(1, 0, 0, 10, 2), time_zone=None, log_format="swf")
    assert "time zone assumed" not in found(swf)


def test_missing_days(tmp_path: Path) -> None:
    lines = sound(3) + sound(2, first=MONDAY + 6 * DAY)
    rows = report(tmp_path, "".join(lines))
    assert found(rows) == {"missing days": 3}
    assert rows["missing days"]["example"] == "2026-01-08"


def test_a_flurry_is_one_user_in_one_week(tmp_path: Path) -> None:
    week = [line for day in range(28) for line in sound(1, first=MONDAY + day * DAY)]
    flurry = [end(f"f{k}", MONDAY + 8 * DAY + k, MONDAY + 8 * DAY + k, MONDAY + 8 * DAY + k + 1, 1) for k in range(100)]
    rows = report(
        tmp_path, "".join(sorted(week + flurry, key=lambda line: time.strptime(line[:19], "%m/%d/%Y %H:%M:%S")))
    )
    assert found(rows)["flurries"] == 1
    assert str(rows["flurries"]["example"]).endswith("ann in the week of 2026-01-12: 107 jobs")
    assert rows["flurries"]["share"] == pytest.approx(107 / 184)


def test_the_clock_may_go_back_with_the_time_zone_only(tmp_path: Path) -> None:
    """25 October 2026, 01:00 UTC: clocks in Berlin go back by an hour."""
    change = int(datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp())
    stops = [change - 900, change - 300, change + 300, change + 4000]
    lines = [end(k, stop - 50, stop - 40, stop, user=f"u{k}", zone="Europe/Berlin") for k, stop in enumerate(stops)]
    assert found(report(tmp_path, "".join(lines), "Europe/Berlin")) == {}
    late = end(
        9,
        change + 90_000,
        change + 90_000,
        change + 90_100,
        user="x",
        zone="Europe/Berlin",
        stamp=change + 90_100 - 120,
    )
    after = end(8, change + 90_000, change + 90_000, change + 90_100, user="y", zone="Europe/Berlin")
    rows = report(tmp_path, "".join([*lines, after, late]), "Europe/Berlin")
    assert found(rows) == {"clock jumps": 1}
    assert rows["clock jumps"]["example"] == "log:6 is 120 s before the line above"


def test_a_wrong_time_zone_shows(tmp_path: Path) -> None:
    rows = report(tmp_path, "".join(sound(3)), "Europe/Berlin")
    assert found(rows) == {"stamps off": 9}
    assert str(rows["stamps off"]["example"]).endswith("is -3600 s after the end it tells")


def test_a_cluster_that_grows_is_a_change_of_size(tmp_path: Path) -> None:
    rows = report(tmp_path, "".join(sound(100) + sound(100, procs=8, first=MONDAY + 100 * DAY)))
    assert found(rows) == {"changes of size": 1}
    day = datetime.fromtimestamp(MONDAY + 100 * DAY, UTC).date()
    assert rows["changes of size"]["example"] == f"{day}: 4 to 8 processors"


def test_within_a_second_jobs_end_then_others_start(tmp_path: Path) -> None:
    """Jobs of no length count for themselves between the two: were they taken for a second, 120 processors would seem to be 216."""
    runs = [(0, 100, 80), (0, 200, 40), (100, 100, 80), (100, 0, 80), (100, 0, 16), (200, 0, 96), (200, 50, 96)]
    lines = [
        swf_line(k, MONDAY + start, 0, length, procs, 300, user=k) for k, (start, length, procs) in enumerate(runs)
    ]
    report(tmp_path, "; UnixStartTime: 0\n" + "".join(lines), procs=None, log_format="swf")
    with Warehouse(tmp_path / "w.duckdb").read() as connection:
        assert connection.sql("SELECT peak_procs, peak_jobs, procs FROM core.capacity, core.clusters").fetchall() == [
            (120, 2, 120)
        ]
        mean = connection.sql("SELECT mean_procs * 86400 FROM core.capacity").fetchall()[0][0]
    assert mean == pytest.approx(80 * 200 + 40 * 200 + 96 * 50)


def test_a_job_of_no_length_is_there_while_others_run_on(tmp_path: Path) -> None:
    """It began after them and was over before they were."""
    lines = [swf_line(1, MONDAY, 0, 100, 80, 300), swf_line(2, MONDAY + 50, 0, 0, 40, 300)]
    report(tmp_path, "; UnixStartTime: 0\n" + "".join(lines), procs=None, log_format="swf")
    with Warehouse(tmp_path / "w.duckdb").read() as connection:
        assert connection.sql("SELECT peak_procs, peak_jobs, procs FROM core.capacity, core.clusters").fetchall() == [
            (120, 2, 120)
        ]


def test_the_cluster_of_a_real_log_has_its_size(tmp_path: Path) -> None:
    """UB-HPC's micro cluster: ten nodes of twelve processors, 56 jobs of no length, up to ten starts a second."""
    log = shared_file("traces", "clusters", "ub-micro", "real_slurm_run", "slurm_acct.out").read_text()
    report(tmp_path, log, procs=None, log_format="slurm")
    with Warehouse(tmp_path / "w.duckdb").read() as connection:
        assert connection.sql("SELECT procs FROM core.clusters").fetchall() == [(120,)]


def test_the_use_by_day_is_that_of_a_plain_sum(tmp_path: Path) -> None:
    """core.capacity against a count second by second, in a zone whose days are not UTC's."""
    rng_jobs = [(MONDAY + 977 * k, 1 + k * 7919 % 9000, 1 + k % 7) for k in range(300)]
    log = "".join(end(k, start, start, start + run, procs) for k, (start, run, procs) in enumerate(rng_jobs))
    report(tmp_path, log, "America/Denver")
    with Warehouse(tmp_path / "w.duckdb").read() as connection:
        days = connection.sql("SELECT day, peak_procs, mean_procs, peak_jobs FROM core.capacity ORDER BY day").pl()
    seconds = pl.DataFrame({"second": range(MONDAY - DAY, MONDAY + 5 * DAY)})
    in_use = [0] * seconds.height
    running = [0] * seconds.height
    for start, run, procs in rng_jobs:
        for second in range(start - MONDAY + DAY, start - MONDAY + DAY + run):
            in_use[second] += procs
            running[second] += 1
    local = pl.from_epoch("second").dt.replace_time_zone("UTC").dt.convert_time_zone("America/Denver").dt.date()
    plain = (
        seconds.with_columns(procs=pl.Series(in_use), jobs=pl.Series(running), day=local)
        .group_by("day")
        .agg(pl.max("procs"), mean=pl.sum("procs") / DAY, most=pl.max("jobs"))
        .filter(pl.col("day").is_in(days["day"].implode()))
        .sort("day")
    )
    assert days["peak_procs"].to_list() == plain["procs"].to_list()
    assert days["peak_jobs"].to_list() == plain["most"].to_list()
    assert days["mean_procs"].to_list() == pytest.approx(plain["mean"].to_list())
