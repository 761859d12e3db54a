"""Jobs that Slurm requeued under their id: each attempt is a line of sacct --duplicates, all of them are one job.

The states and times are those of Slurm's sacct manual: a requeued job has a new Submit, no earlier than the end of the attempt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.assets.ingest.incremental import Log, OpenWarehouse
from tests.shared import size
from tests.tiny import assert_same_tables
from tests.traces.slurm.slurm_lines import document, job_line
from traces.common.ends import END_STATES

ZERO = datetime(2024, 1, 15, tzinfo=UTC)
MINUTE, HOUR, DAY = 60, 3600, 86_400


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> OpenWarehouse:
    return OpenWarehouse(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def log(warehouse: OpenWarehouse, tmp_path: Path) -> Iterator[Log]:
    log = Log(warehouse, tmp_path, "slurm")
    yield log
    log.forget()


def stamp(seconds: int | None) -> str:
    return "Unknown" if seconds is None else f"{ZERO + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}"


def line(job: int | str, submit: int, start: int | None, end: int | None, state: str = "COMPLETED", **more: str) -> str:
    """A line of sacct; times are seconds from ZERO."""
    times = {"Submit": submit, "Eligible": submit, "Start": start, "End": end}
    elapsed = stamp(max((end or 0) - (end if start is None else start), 0) % DAY)[11:] if end else "00:00:00"
    words = {name: stamp(time_s) for name, time_s in times.items()} | {"Elapsed": elapsed, "State": state}
    words |= {"JobID": f"{job}", "JobIDRaw": f"{job}", "NodeList": "n1" if start is not None else ""}
    return job_line(**(words | more))


OTHER = line(1, 0, 10, 70)
COLUMNS = (
    "job_id",
    "epoch(submit_time - TIMESTAMP '2024-01-15')::BIGINT",
    "wait_s",
    "runtime_s",
    "status",
    "run_count",
    "requeued_s",
)


def jobs(log: Log) -> list[tuple[object, ...]]:
    return log.jobs(*COLUMNS)


def requeues(log: Log) -> list[tuple[object, ...]]:
    return log.rows(
        "SELECT job_index, job_id, attempt, epoch(submit_time - TIMESTAMP '2024-01-15')::BIGINT, runtime_s, procs, exit_status, line "
        "FROM core.requeues WHERE source = $source ORDER BY start_time, job_index"
    )


def ingest(log: Log, *lines: str) -> None:
    log.write("0.psv", document(*lines))
    log.ingest()


def test_an_attempt_and_what_follows_it_are_one_job_with_one_requeue(log: Log) -> None:
    """Whether sacct prints the first Submit, or that of the requeue."""
    states, submits = ("NODE_FAIL", "PREEMPTED", "REQUEUED", "BOOT_FAIL"), (100, 1100, 1101, 1100 + 20 * MINUTE)
    lines = [
        text
        for job, (state, submit) in enumerate(product(states, submits), 11)
        for text in (line(job, 100, 200, 1100, state, ExitCode="1:0"), line(job, submit, 3000, 5000))
    ]
    ingest(log, *lines)
    assert jobs(log) == [(f"{job}", 100, 2900, 2000, "completed", 2, 900) for job in range(11, 27)]
    assert requeues(log) == [(k, f"{11 + k}", 1, 100, 900, 8, 1, 2 + 2 * k) for k in range(16)]


def test_a_job_that_was_not_requeued_does_not_say_how_often_it_started(log: Log) -> None:
    """Without --duplicates sacct prints the last attempt alone."""
    ingest(log, line(7, 100, 200, 1100, "NODE_FAIL"), line(8, 100, 200, 1100))
    assert jobs(log) == [("7", 100, 100, 900, "node_failure", None, 0), ("8", 100, 100, 900, "completed", None, 0)]
    assert requeues(log) == []


def test_several_requeues(log: Log) -> None:
    ingest(
        log,
        line(7, 1000, 1100, 1200, "NODE_FAIL"),
        line(7, 100, 200, 1000, "PREEMPTED"),
        line("8_3", 50, 60, 70, "REQUEUED"),
        line(7, 1205, 1300, 1600, "REQUEUED"),
        line(7, 1601, 1700, 2000, "FAILED"),
        line("8_3", 71, 80, 90, "CANCELLED by 7"),
        line("8_4", 50, 60, 70),
    )
    assert jobs(log) == [
        ("8_3", 50, 30, 10, "cancelled", 2, 10),
        ("8_4", 50, 10, 10, "completed", None, 0),
        ("7", 100, 1600, 300, "failed", 4, 1200),
    ]
    assert [row[:5] for row in requeues(log)] == [
        (0, "8_3", 1, 50, 10), (2, "7", 1, 100, 800), (2, "7", 2, 100, 100), (2, "7", 3, 100, 300),
    ]  # fmt: skip


def test_a_requeued_job_that_was_cancelled_as_it_waited(log: Log) -> None:
    ingest(log, OTHER, line(7, 100, 200, 1100, "REQUEUED"), line(7, 1100, None, 5000, "CANCELLED by 7"))
    assert jobs(log)[1:] == [("7", 100, 4900, 0, "cancelled", 1, 900)]
    assert [row[:5] for row in requeues(log)] == [(1, "7", 1, 100, 900)]


def test_a_requeued_job_that_is_not_over(log: Log) -> None:
    """Its attempt is kept, and is no job; a line without times tells nothing yet."""
    ingest(
        log,
        OTHER,
        line(7, 100, 200, 1100, "REQUEUED"),
        line(8, 5, None, None, "REQUEUED"),
        line(7, 1100, 1200, None, "RUNNING"),
    )
    assert [row[0] for row in jobs(log)] == ["1"]
    assert [row[:5] for row in requeues(log)] == [(None, "7", 1, 100, 900)]
    counts = log.rows("SELECT outcome, reason, lines FROM raw.line_counts WHERE source = $source ORDER BY reason")
    assert counts == [
        ("ignored", "header", 1), ("accepted", "job", 2), ("ignored", "unfinished job: REQUEUED", 1),
        ("ignored", "unfinished job: RUNNING", 1),
    ]  # fmt: skip


def test_an_id_that_is_used_again_is_another_job(log: Log) -> None:
    pairs = (
        # the id comes again long after, or belongs to another, or is of another cluster
        (line(7, 100, 200, 1100, "NODE_FAIL"), line(7, 400 * DAY, 400 * DAY, 401 * DAY)),
        (line(8, 100, 200, 1100, "NODE_FAIL"), line(8, 1100 + DAY + 1, 2 * DAY, 3 * DAY)),
        (line(9, 100, 200, 1100, "NODE_FAIL"), line(9, 1101, 1200, 5000, User="bob")),
        (line(10, 100, 200, 1100, "NODE_FAIL"), line(10, 1101, 1200, 5000, Cluster="jura")),
        # what was not requeued has ended
        (line(11, 100, 200, 1100, "FAILED"), line(11, 1101, 1200, 5000)),
        (line(12, 100, 200, 1100, "COMPLETED"), line(12, 1101, 1200, 5000)),
    )
    ingest(log, *(text for pair in pairs for text in pair))
    assert sorted(row[0] for row in jobs(log)) == sorted(f"{job}" for job in range(7, 13) for _ in range(2))
    assert {row[5:] for row in jobs(log)} == {(None, 0)}
    assert requeues(log) == []


def test_two_clusters_with_the_same_ids_and_times(log: Log) -> None:
    lines = [line(7, 100, 200, 1100, "NODE_FAIL"), line(7, 1100, 1200, 1500)]
    ingest(log, *lines, *(text.replace("|alps|", "|jura|") for text in lines))
    assert jobs(log) == [("7", 100, 1100, 300, "completed", 2, 900)] * 2
    assert [row[:5] for row in requeues(log)] == [(0, "7", 1, 100, 900), (1, "7", 1, 100, 900)]


def test_an_attempt_that_two_files_tell_is_one(log: Log) -> None:
    attempt = line(7, 100, 200, 1100, "NODE_FAIL")
    log.write("1.psv", document(attempt))
    log.write("2.psv", document(attempt, line(7, 1100, 1200, 1500)))
    log.write("3.psv", document(line(7, 1100, 1200, 1500)))
    log.ingest()
    assert jobs(log) == [("7", 100, 1100, 300, "completed", 2, 900)]
    assert len(requeues(log)) == 1


ATTEMPTS = (
    line(7, 100, 200, 2 * DAY, "PREEMPTED"),
    line(7, 2 * DAY, 3 * DAY, 5 * DAY, "REQUEUED"),
    line(7, 5 * DAY, 6 * DAY, 9 * DAY),
)


def test_attempts_that_come_in_any_order(log: Log) -> None:
    """And attempts that disappear again, since their files are replaced one after another."""
    for order in ((2, 1, 0), (1, 2, 0), (0, 2, 1))[: size(1, 3)]:
        log.write("0.psv", document(OTHER, line(8, 4 * DAY, 5 * DAY, 6 * DAY)))
        for k in order:
            log.write(f"{k + 1}.psv", document(ATTEMPTS[k]))
            log.ingest()
            log.assert_like_fresh()
        assert jobs(log)[1:] == [
            ("7", 100, 6 * DAY - 100, 3 * DAY, "completed", 3, 4 * DAY - 200),
            ("8", 4 * DAY, DAY, DAY, "completed", None, 0),
        ]
        for k in order[:2]:
            log.write(f"{k + 1}.psv", document(line(100 + k, 5 * DAY, 6 * DAY, 7 * DAY)))
            log.ingest()
            log.assert_like_fresh()
        for path in log.folder.iterdir():
            path.unlink()
        log.forget()


def test_what_later_files_say_of_an_attempt(log: Log) -> None:
    """It was not requeued after all, or another job had the id in between."""
    log.write("1.psv", document(OTHER, ATTEMPTS[0]))
    log.write("2.psv", document(ATTEMPTS[1].replace("REQUEUED", "COMPLETED")))
    log.ingest()
    assert len(jobs(log)) == 2
    log.write("3.psv", document(line(7, 100, 200, 2 * DAY + 1, "FAILED")))
    log.ingest()
    log.assert_like_fresh()
    assert [row[:2] for row in jobs(log)] == [("1", 0), ("7", 100), ("7", 2 * DAY)]
    log.write("3.psv", document(line(7, 2 * DAY - 9, 2 * DAY - 5, 2 * DAY, "FAILED", User="bob")))
    log.ingest()
    log.assert_like_fresh()
    assert [row[:2] for row in jobs(log)] == [("1", 0), ("7", 100), ("7", 2 * DAY - 9), ("7", 2 * DAY)]


@pytest.mark.parametrize("seed", range(size(1, 8)))
def test_random_histories_like_one_ingest(log: Log, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that come, change and repeat jobs: at each step the tables are those of one ingest, in slices of any size."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr("assets.ingest.canonical_jobs.SLICE_ROWS", int(rng.integers(1, 8)))
    states = ("NODE_FAIL", "PREEMPTED", "REQUEUED", "COMPLETED", "FAILED")
    lines, submits = [], {}
    for _ in range(60):
        job = int(rng.integers(1, 9))
        submit = submits.get(job, int(rng.integers(0, 20 * DAY)))
        start = submit + int(rng.integers(0, DAY))
        end = start + int(rng.integers(0, DAY))
        lines.append(line(job, submit, start, end, str(rng.choice(states))))
        submits[job] = end + int(rng.choice([0, 1, HOUR, 3 * DAY])) if rng.random() < 0.8 else submit
    log.write("base.psv", document(line(99, 0, 1, 2)))
    for _ in range(size(5, 12)):
        chosen = rng.choice(len(lines), int(rng.integers(1, 12)))
        log.write(f"{rng.integers(6)}.psv", document(*(lines[k] for k in chosen)))
        log.ingest()
        assert_same_tables(log.tables(), log.fresh())


ENDS = {
    "COMPLETED": "completed", "FAILED": "failed", "LAUNCH_FAILED": "failed", "CANCELLED by 7": "cancelled", "REVOKED": "cancelled",
    "TIMEOUT": "timeout", "OUT_OF_MEMORY": "out_of_memory", "NODE_FAIL": "node_failure", "BOOT_FAIL": "node_failure",
    "PREEMPTED": "preempted", "DEADLINE": "deadline", "NEVER_HEARD_OF": "unknown",
}  # fmt: skip


def test_every_end_has_its_word_and_qos_is_kept(log: Log) -> None:
    ingest(log, *(line(number, 0, 10, 70, state) for number, state in enumerate(ENDS, start=1)))
    assert log.jobs("status", "qos") == [(status, "normal") for status in ENDS.values()]
    assert set(ENDS.values()) | {"requeued"} == set(END_STATES)


def test_cpu_time_that_slurm_did_not_gather_is_unknown(log: Log) -> None:
    """It prints 00:00:00 then, of every job. A measured one has milliseconds."""
    ingest(log, *(line(k, 0, 10, 70, TotalCPU=text) for k, text in enumerate(("00:00:00", "00:00.012", ""), start=1)))
    assert log.jobs("used_cpu_s") == [(None,), (0.012,), (None,)]


@pytest.mark.parametrize("state", ["FAILED", "DEADLINE", "CANCELLED by 0"])
def test_a_job_that_left_the_queue_without_a_start_waited_until_then(log: Log, state: str) -> None:
    ingest(log, OTHER, line(7, 100, 400, 400, state, NodeList="None assigned"))
    assert log.jobs("job_id", "start_time IS NULL", "wait_s", "runtime_s")[1] == ("7", True, 300, 0)


def test_a_json_document_is_ingested(log: Log) -> None:
    times = {"submission": 1_705_276_900, "start": 1_705_277_000, "end": 1_705_277_900, "elapsed": 900, "limit": 60}
    job = {
        "job_id": 7, "name": "a", "association": {"user": "ann"}, "allocation_nodes": 1, "state": {"current": ["TIMEOUT"]},
        "required": {"CPUs": 4}, "qos": "long", "time": times, "nodes": "n1",
    }  # fmt: skip
    log.write("0.json", json.dumps({"meta": {}, "jobs": [job, job | {"job_id": 8}]}, indent=1))
    log.ingest()
    columns = ("job_id", "wait_s", "runtime_s", "requested_walltime_s", "procs", "status", "qos")
    assert log.jobs(*columns) == [(each, 100, 900, 3600, 4, "timeout", "long") for each in ("7", "8")]


ALONE = {
    "sbatch --exclusive run.sh": True,
    "sbatch -N 2 --exclusive=exclusive -p cpu run.sh": True,
    "/usr/bin/srun -n8 --exclus ./x": True,
    "sbatch --exclusive=user run.sh": False,
    "sbatch --exclusive=mcs run.sh": False,
    "sbatch --exclusive=topo run.sh": True,
    "srun -n8 --exclusive=ALLOCATION ./x": True,
    "sbatch --exclusive=topology run.sh": False,  # no word of Slurm's
    "sbatch --exclude=n7 run.sh": False,
    "sbatch run.sh --exclusive": False,  # of the script
    "sbatch -N 2 --wrap srun --exclusive ./x": False,  # of the command
    "": None,
}
"""Lines of submissions, and whether each asked for its nodes alone: user and mcs let some others be there, and topo nobody on a whole
part of the topology."""

TYPES = {
    # ReqTRES, AllocTRES, SubmitLine -> types that it had, and that it asked for
    ("cpu=8,gres/gpu=2", "cpu=8,gres/gpu=2,gres/gpu:a100=2", ""): ("a100=2", None),
    ("cpu=8,gres/gpu:a100=2,gres/gpu=2", "cpu=8,gres/gpu=2,gres/gpu:a100=2", ""): ("a100=2", "a100=2"),
    ("", "cpu=8,gres/gpu=2,gres/gpu:a100=2", ""): ("a100=2", "a100=2"),  # nobody knows what it asked for
    ("cpu=8", "cpu=8,gres/gpu=2,gres/gpu:a100=2", ""): ("a100=2", "a100=2"),
    ("", "cpu=8,gres/gpu:a100=2", "sbatch --gpus=2 run.sh"): ("a100=2", None),
    ("cpu=8", "cpu=8", "sbatch --gpus=a100:2 run.sh"): ("a100=2", "a100=2"),
    ("cpu=8,gres/gpu=4", "cpu=8,gres/gpu=4", "srun --gpus-per-node=v100:2 ./x"): ("v100=4", "v100=4"),
    ("cpu=8,gres/gpu=2", "cpu=8,gres/gpu=2", "sbatch -G2 run.sh"): (None, None),
    # the scheduler's own list counts more, since a plug-in may have changed the request
    ("gres/gpu:h100=2", "gres/gpu:h100=2", "sbatch --gpus=2 run.sh"): ("h100=2", "h100=2"),
    ("cpu=8", "cpu=8", "sbatch run.sh --gpus=a100:2"): (None, None),
}


def test_types_of_gpus_that_a_job_asked_for_and_had(log: Log) -> None:
    head, *lines = document(
        *(
            line(number, 0, 10, 70, ReqTRES=asked, AllocTRES=had)
            for number, (asked, had, _) in enumerate(TYPES, start=1)
        )
    ).splitlines()
    rows = [f"{text}|{submitted}" for text, (_, _, submitted) in zip(lines, TYPES, strict=True)]
    log.write("0.psv", "\n".join([f"{head}|SubmitLine", *rows]) + "\n")
    log.ingest()
    assert log.jobs("gpu_types", "requested_gpu_types") == list(TYPES.values())


def test_nodes_are_asked_for_alone(log: Log) -> None:
    head, *lines = document(*(line(number, 0, 10, 70) for number in range(1, len(ALONE) + 1))).splitlines()
    rows = [f"{text}|{submitted}" for text, submitted in zip(lines, ALONE, strict=True)]
    log.write("0.psv", "\n".join([f"{head}|SubmitLine", *rows]) + "\n")
    log.ingest()
    assert log.jobs("is_exclusive") == [(is_alone,) for is_alone in ALONE.values()]
