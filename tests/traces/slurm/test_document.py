"""Tests of traces/slurm: document, document_jobs."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.traces.slurm.slurm_lines import RECORD, read
from traces.common.log import LogError
from traces.formats import guess_format
from traces.slurm.columns import field_of
from traces.slurm.document import document_lines, is_document
from traces.slurm.document_jobs import DOCUMENT_COLUMNS, job_lines

# document: `sacct --json` and slurmrestd's answer give the records that `sacct -P` gives.

_TRES = [("cpu", "", 8), ("mem", "", 16_384), ("node", "", 2), ("billing", "", 8), ("gres", "gpu:a100", 3)]


def number(value: int | None, plain: bool, infinite: bool = False) -> Any:
    return value if plain else {"set": value is not None, "infinite": infinite, "number": value or 0}


def listed(*resources: tuple[str, str, int]) -> list[dict[str, Any]]:
    return [{"type": kind, "name": name, "id": 1, "count": count} for kind, name, count in resources]


def job(plain: bool, **changes: Any) -> dict[str, Any]:
    """The job of RECORD. plain: as Slurm 21.08 writes it, else as 23.11 and later do."""
    use = listed(("cpu", "", 60_000), ("mem", "", 3_145_728), ("energy", "", 7))
    step = {
        "step": {"id": "12.batch" if plain else {"job_id": 12, "step_id": "batch"}, "name": "batch"},
        "state": "COMPLETED" if plain else ["COMPLETED"],
        "tres": {"requested": {"max": use, "total": use}, "consumed": {"max": listed(("mem", "", 99)), "total": []}},
        "statistics": {"energy": {"consumed": number(7, plain)}},
    }
    whole: dict[str, Any] = {
        "account": "chem",
        "comment": {"administrator": "moved | twice\n", "job": "", "system": ""},
        "allocation_nodes": number(2, plain),
        "array": {"job_id": 0, "task_id": number(None, plain), "task": None if plain else ""},
        "association": {"account": "chem", "cluster": "alps", "partition": None, "user": "ann", "id": 3},
        "cluster": "alps",
        "constraints": "",
        "exit_code": {"status": "SUCCESS", "return_code": 0} if plain
        else {"status": ["SUCCESS"], "return_code": number(0, False), "signal": {"id": number(None, False), "name": ""}},
        "group": "staff",
        "het": {"job_id": 0, "job_offset": number(None, plain)},
        "job_id": 12,
        "name": "run.sh",
        "nodes": "n[1-2]",
        "partition": "short",
        "priority": number(4711, plain),
        "qos": "normal",
        "required": {"CPUs": 6, "memory": 0} if plain
        else {"CPUs": 6, "memory_per_cpu": number(None, False), "memory_per_node": number(8192, False)},
        "reservation": {"id": 0, "name": ""},
        "state": {"current": "COMPLETED" if plain else ["COMPLETED"], "reason": "None"},
        "steps": [step],
        "submit_line": "sbatch run.sh",
        "time": {
            "elapsed": 3600, "eligible": 1_705_312_805, "end": 1_705_316_460, "start": 1_705_312_860, "submission": 1_705_312_800,
            "suspended": 0, "limit": number(120, plain), "total": {"seconds": 12_600, "microseconds": 0},
        },
        "tres": {"allocated": listed(*_TRES), "requested": listed(("mem", "", 16_384))},
        "user": "ann",
    }  # fmt: skip
    return whole | changes


EXPECTED = RECORD | {
    "local_times": False, "gpus": 3, "used_memory_kb": 3072, "priority": 4711, "reason": "None",
    "usage_in_total": "cpu=60,energy=7,mem=3072K",
    "consumed_energy_j": 7, "admin_comment": "moved \\x7c twice\\n", "submit_line": "sbatch run.sh",
    "requested_tres": "mem=16384M", "allocated_tres": "cpu=8,mem=16384M,node=2,billing=8,gres/gpu:a100=3", "memory_per": None,
}  # fmt: skip

NO_STEPS = {"used_memory_kb": None, "usage_in_total": None, "consumed_energy_j": None}


def document(*jobs: Any, indent: int | None = 3, jobs_first: bool = False) -> str:
    around = {"meta": {"plugin": {"type": "openapi/slurmdbd"}, "jobs": []}, "errors": [], "warnings": []}
    parts = {"jobs": list(jobs)} | around if jobs_first else around | {"jobs": list(jobs)}
    return json.dumps(parts, indent=indent)


@pytest.mark.parametrize("indent", [None, 3])
@pytest.mark.parametrize("jobs_first", [True, False])
@pytest.mark.parametrize("plain", [True, False], ids=["21.08", "23.11"])
def test_a_job_is_read_as_from_sacct(tmp_path: Path, plain: bool, jobs_first: bool, indent: int | None) -> None:
    log = read(tmp_path, document(job(plain), indent=indent, jobs_first=jobs_first), "jobs.json")
    assert log.records.to_dicts() == [EXPECTED | {"memory_per": None if plain else "node"}] and log.rejects.rows() == []
    assert log.ignored == {"header": 1, "job step": 1}
    assert guess_format(tmp_path / "jobs.json") == "slurm"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"array": {"job_id": 9, "task_id": number(7, False), "task": ""}}, {"job_id": "9_7"}),
        ({"array": {"job_id": 9, "task_id": None, "task": "1-3,5"}, "steps": []}, NO_STEPS | {"job_id": "9_[1-3,5]", "array_tasks": 4}),
        ({"het": {"job_id": 11, "job_offset": number(1, False)}}, {"job_id": "11+1"}),
        ({"state": {"current": ["OUT_OF_MEMORY"], "reason": "None"}}, {"state": "OUT_OF_MEMORY"}),
        ({"exit_code": {"return_code": number(1, False), "signal": {"id": number(9, False)}}}, {"exit_code": 1, "signal": 9}),
        ({"exit_code": {"return_code": 0, "signal": {"signal_id": 15, "name": "TERM"}}}, {"exit_code": 0, "signal": 15}),
        ({"reservation": {"id": 3, "name": "course"}, "constraints": "a100"}, {"reservation": "course", "constraints": "a100"}),
        ({"required": {"CPUs": 6, "memory_per_cpu": number(1000, False)}}, {"requested_memory_kb": 8_192_000, "memory_per": "cpu"}),
    ],
)  # fmt: skip
def test_values(tmp_path: Path, changes: dict[str, Any], expected: dict[str, Any]) -> None:
    (found,) = read(tmp_path, document(job(False, **changes)), "jobs.json").records.to_dicts()
    assert found == EXPECTED | {"raw_job_id": "12", "memory_per": "node"} | expected


def test_no_limit_and_no_start(tmp_path: Path) -> None:
    times = {"elapsed": 0, "eligible": 0, "end": 1_705_316_460, "start": 0, "submission": 1_705_312_800}
    gone = job(
        False,
        time=times | {"limit": number(None, False, infinite=True)},
        nodes="None assigned",
        state={"current": ["DEADLINE"]},
    )
    (found,) = read(tmp_path, document(gone), "jobs.json").records.to_dicts()
    assert (found["start_s"], found["time_limit_s"], found["node_list"], found["state"]) == (
        None,
        None,
        None,
        "DEADLINE",
    )


def test_jobs_that_are_not_over_are_ignored(tmp_path: Path) -> None:
    states = [["RUNNING"], ["PENDING"], ["RUNNING", "COMPLETING"], ["PENDING", "REQUEUED"]]
    log = read(
        tmp_path, document(*(job(False, state={"current": each}, steps=[], time={}) for each in states)), "jobs.json"
    )
    assert log.accepted == 0 and log.rejected == 0 and sum(log.ignored.values()) == 5


def test_a_document_that_was_cut_keeps_what_is_whole(tmp_path: Path) -> None:
    content = document(job(False), job(False, job_id=13), job(False, job_id=14))
    last = content.rindex('"submit_line"')
    for end in range(last, last + 40):
        log = read(tmp_path, content[:end], "jobs.json")
        assert log.records["job_id"].to_list() == ["12", "13"]
        assert log.rejected == 1 and "ends here" in log.rejects["text"][0]


def test_several_documents_in_one_file(tmp_path: Path) -> None:
    content = document(job(True)) + "\n" + document(job(False, job_id=13), indent=None) + "\n"
    assert read(tmp_path, content, "jobs.json").records["job_id"].to_list() == ["12", "13"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            '{"jobs": [{"association": x, "allocation_nodes": 2, "name": "a long name"}]}',
            "Expecting value at character 27",
        ),
        ('{"jobs": [{"association": 1}]} [1, 2, 3]', "expected '{', found '\\['"),
        ('{"jobs": 1, "association": ' + "[" * 100_000, "objects within objects"),
    ],
)
def test_text_that_is_no_json_is_refused_with_its_place(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(LogError, match=f"jobs.json.*{says}"):
        read(tmp_path, content, "jobs.json")


@pytest.mark.parametrize(
    "content", ['{"jobs": [{"job_id": 1, "job_state": "RUNNING"}]}', '{"association": 1}', "[]", "JobID|State"]
)
def test_other_json_is_no_accounting(content: str) -> None:
    assert not is_document(content.encode())


def test_cut_anywhere_the_lines_are_the_same() -> None:
    content = document(job(False), job(True, name="Üni"), indent=None).encode()
    whole = b"".join(document_lines(iter([content])))
    for size in (1, 7, 1000):
        pieces = (content[begin : begin + size] for begin in range(0, len(content), size))
        assert b"".join(document_lines(pieces)) == whole


def test_memory_does_not_grow_with_the_document() -> None:
    text = json.dumps(job(False)) + ","

    def pieces() -> Iterator[bytes]:
        yield b'{"jobs": ['
        for _ in range(200):
            yield text.encode() * 50
        yield text[:-1].encode() + b"]}"

    tracemalloc.start()
    lines = sum(piece.count(b"\n") for piece in document_lines(pieces()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lines == 2 * 10_001 + 1 and peak < 20 << 20 < len(text) * 10_000


# document_jobs: A job of JSON in the words of sacct; `test_document` compares whole records.


def words_of(job: dict[str, Any]) -> dict[str, str]:
    first, *_ = job_lines(job)
    return {name: word for name, word in zip(DOCUMENT_COLUMNS, first, strict=True) if word}


def test_columns_are_those_of_sacct() -> None:
    assert [field_of(name) for name in DOCUMENT_COLUMNS] == [name.lower() for name in DOCUMENT_COLUMNS]


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"state": {"current": ["COMPLETED", "REQUEUED"]}}, {"State": "REQUEUED"}),
        ({"time": {"limit": {"set": True, "infinite": True, "number": 0}}}, {}),
        ({"priority": {"set": True, "infinite": False, "number": 5}}, {"Priority": "5"}),
        ({"tres": {"allocated": "cpu=4,mem=1G"}}, {"AllocTRES": "cpu=4,mem=1G"}),
        ({"job_id": -1, "nodes": None, "time": "odd", "steps": "odd"}, {}),
    ],
)
def test_odd_values(job: dict[str, Any], words: dict[str, str]) -> None:
    found = words_of(job)
    never = {"Submit": "Unknown", "Eligible": "Unknown", "Start": "Unknown", "End": "Unknown", "Suspended": "00:0"}
    assert found == never | words


def test_steps_have_lines_of_their_own() -> None:
    steps = [{"step": {"id": "7.batch"}}, {"step": {"id": {"job_id": 7, "step_id": 0}}}, {}]
    assert [line[0] for line in job_lines({"job_id": 7, "steps": steps})] == ["7", "7.batch", "7.0", "7.2"]
