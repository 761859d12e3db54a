"""Values that PBS servers write in several ways: Cray widths, GPUs, decimal sizes, nodes; and arrays as a whole.

The forms are those of Torque and PBS Pro on Cray systems (ALPS), and of sites that named their own GPU resource.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.common.logs import assert_adds_up
from tests.traces.pbs.pbs_lines import end_record, one_job, read
from traces.pbs.rules import kilobytes

ODD = "é"
"""In a name, it sends a line to the rules: both ways of reading are tested."""


def both_ways(folder: Path, without: tuple[str, ...] = (), **pairs: str) -> dict[str, object]:
    """The job of a record as the scan reads it, which has to be what the rules read."""
    scanned = one_job(folder, end_record(without=without, **pairs))
    by_rules = one_job(folder, end_record(without=without, **(pairs | {"jobname": ODD})))
    assert scanned == by_rules | {"job_name": scanned["job_name"]}
    return scanned


LOGIN = {"exec_host": "login1/0", "Resource_List__ncpus": "1"}
"""The job's script runs on one processor of a login node, whatever it starts on compute nodes."""


@pytest.mark.parametrize(
    ("pairs", "procs", "requested"),
    [
        (LOGIN | {"Resource_List__mppwidth": "64"}, 64, 64),
        (LOGIN | {"Resource_List__mppwidth": "64", "Resource_List__mppdepth": "4"}, 256, 256),
        (LOGIN | {"Resource_List__mppwidth": "64", "Resource_List__mppnppn": "16"}, 64, 64),
        (LOGIN | {"Resource_List__mppwidth": "64", "Resource_List__nodes": "1:ppn=1"}, 64, 64),
        (LOGIN | {"Resource_List__mppwidth": "64", "Resource_List__nodect": "1", "resources_used__ncpus": "1"}, 64, 64),
        (LOGIN | {"Resource_List__mppwidth": "64", "Resource_List__select": "1:ncpus=1"}, 64, 64),
        # whole nodes were given: more than was asked for
        ({"Resource_List__mppwidth": "60", "resources_used__ncpus": "72"}, 72, 60),
        (LOGIN | {"Resource_List__mppwidth": "0"}, 1, 1),
        # under Torque
        (LOGIN | {"Resource_List__size": "240"}, 240, 240),
        ({"Resource_List__procs": "8", "exec_host": "n1/0-3+n2/0-3"}, 8, 8),
        # beside a default of one node
        ({"Resource_List__procs": "8", "Resource_List__nodes": "1", "exec_host": "n1/0-3+n2/0-3"}, 8, 8),
        ({"Resource_List__procs": "2", "Resource_List__nodes": "2:ppn=4", "exec_host": "n1/0-3+n2/0-3"}, 8, 8),
    ],
    ids=str,
)  # fmt: skip
def test_the_width_of_a_cray_job_counts_more_than_its_login_node(
    tmp_path: Path, pairs: dict[str, str], procs: int, requested: int
) -> None:
    job = both_ways(tmp_path, **pairs)
    assert (job["procs"], job["requested_procs"]) == (procs, requested)


def test_a_width_that_cannot_be_costs_its_line_and_not_the_file(tmp_path: Path) -> None:
    line = end_record(Resource_List__mppwidth="999999999", Resource_List__mppdepth="999999999")
    log = read(tmp_path, f"{line}\n{end_record()}")
    assert log.rejects.rows() == [(1, "mppwidth times mppdepth is no sound count of processors", line)]


@pytest.mark.parametrize(
    ("pairs", "nodes"),
    [
        ({"Resource_List__mppwidth": "64", "Resource_List__mppnppn": "16", "exec_host": "login1/0"}, 4),
        ({"Resource_List__mppwidth": "65", "Resource_List__mppnppn": "16", "Resource_List__nodect": "1"}, 5),
        # without processing elements per node, the login node alone tells nothing
        ({"Resource_List__mppwidth": "64", "exec_host": "login1/0", "Resource_List__nodect": "1"}, None),
        ({"Resource_List__mppwidth": "64", "exec_host": "login1/0", "Resource_List__nodect": "3"}, 3),
        ({"Resource_List__mppwidth": "64", "exec_host": "31/0+31/1+32/0"}, 2),
        ({"exec_host": "n1/0-3+n2/0-3"}, 2),
        ({"exec_host": "n1/3+n1/2+n2/0+n1/1"}, 2),
        # nodect is the number of chunks: both may be on one host
        ({"exec_host": "n1/0*8+n1/1*8", "Resource_List__nodect": "2"}, 1),
        # one host, several vnodes, of which a chunk may have some and several chunks the same
        ({"exec_host": "pbs/0*16+pbs/1*16", "exec_vnode": "(n00:ncpus=16)+(n01:ncpus=16)"}, 2),
        ({"exec_host": "pbs/0*4+pbs/1*4", "exec_vnode": "(n00[0]:ncpus=2+n00[1]:ncpus=2)+(n00[1]:ncpus=4)"}, 2),
        ({"exec_host": "n1/0*4+n2/0*4", "exec_vnode": ""}, 2),
        ({"Resource_List__mppwidth": "64", "exec_host": "login1/0", "exec_vnode": "(nid1:ncpus=32)+(nid2:ncpus=32)"}, 2),
        ({"exec_host": "+".join(f"n{k % 700}/{k}" for k in range(3000))}, 700),
        ({"exec_vnode": "+".join(f"(n{k}:ncpus=1)" for k in range(3000))}, 3000),
        ({"exec_host": "+".join(f"n{k}/0" for k in range(3000))}, 3000),
        ({"exec_host": "", "Resource_List__nodes": "2:ppn=4", "Resource_List__nodect": "2"}, 2),
        ({"exec_host": "+", "Resource_List__nodes": "2:ppn=4", "unique_node_count": "2"}, 2),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_nodes(tmp_path: Path, pairs: dict[str, str], nodes: int | None) -> None:
    assert both_ways(tmp_path, **pairs)["nodes"] == nodes


@pytest.mark.parametrize(
    ("pairs", "gpus"),
    [
        ({}, None),
        ({"Resource_List__ngpus": "4"}, 4),
        ({"Resource_List__gpu": "4"}, 4),
        ({"Resource_List__gpus": "4"}, 4),
        ({"Resource_List__ngpus": "0", "Resource_List__gpu": "4"}, 4),
        ({"Resource_List__ngpus": "0", "Resource_List__select": "1:ncpus=4"}, 0),
        ({"Resource_List__nodes": "1:ppn=4:gpus=4"}, 4),
        ({"Resource_List__nodes": "2:ppn=4:gpu=4+n7:gpus=1"}, 9),
        ({"Resource_List__select": "1:ncpus=8:gpu=4"}, 4),
        ({"Resource_List__select": "2:ncpus=8:ngpus=4+1:ncpus=8:gpus=1"}, 9),
        ({"exec_vnode": "(n1:ncpus=8:gpu=4)"}, 4),
        ({"exec_vnode": "(n1:ncpus=8:gpu=4+n2:gpus=1)+(n3:ncpus=8:ngpus=2)"}, 7),
        ({"exec_vnode": "(n1:ncpus=8)", "Resource_List__select": "1:ncpus=8:gpu=4"}, 4),
        ({"exec_vnode": "(n1:ncpus=8)", "Resource_List__select": "1:ncpus=8"}, 0),
        ({"Resource_List__select": "1:ncpus=8:gpu_type=4:mygpu=4:gpux=4"}, None),
    ],
    ids=str,
)  # fmt: skip
def test_gpus(tmp_path: Path, pairs: dict[str, str], gpus: int | None) -> None:
    assert both_ways(tmp_path, **pairs)["gpus"] == gpus


def test_a_count_of_gpus_that_cannot_be_is_unknown(tmp_path: Path) -> None:
    assert both_ways(tmp_path, Resource_List__select="2:gpu=1234567890", resources_used__ncpus="2")["gpus"] is None


@pytest.mark.parametrize(
    ("text", "kb"),
    [
        ("12.27M", 12_565), ("12.27mb", 12_565), ("1.5gb", 1_572_864), ("0.5k", 1), ("1.0kb", 1), ("1.000001kb", 2),
        ("1024.5b", 2), ("1023.5", 1), ("0.1w", 1), ("127.9w", 1), ("128.1w", 2), ("1.5kw", 12), ("1.9999999gb", 2_097_152),
        ("1.5e3mb", None), ("1.gb", None), (".5gb", None), ("1.5.5gb", None), ("1,5gb", None),
        ("8191.999999pb", 9_007_199_253_641_481), ("9007199254740.5gb", None), ("8388607.9999999pb", 9_223_372_036_854_665_857),
        ("8388608.5pb", None),
    ],
)  # fmt: skip
def test_sizes_with_decimals(tmp_path: Path, text: str, kb: int | None) -> None:
    assert kilobytes(text) == kb
    job = both_ways(tmp_path, resources_used__mem=text, Resource_List__mem=text)
    assert (job["used_memory_kb"], job["requested_memory_kb"]) == (kb, kb)


# An array as a whole.

PARENT = end_record("202[].head", run_count="0")


@pytest.mark.parametrize("job_id", ["202[].head", "202[]"])
def test_the_end_of_an_array_as_a_whole_is_kept_and_no_job(tmp_path: Path, job_id: str) -> None:
    tasks = [end_record(job_id.replace("[]", f"[{k}]")) for k in (1, 2)]
    parents = [end_record(job_id, run_count="0", jobname=name) for name in ("plain", ODD)]
    log = read(tmp_path, "\n".join([*tasks, *parents]))
    assert_adds_up(log)
    assert log.records["job_id"].to_list() == [job_id.replace("[]", f"[{k}]") for k in (1, 2)]
    assert log.events.select("line", "record_type", "job_id", "run_count", "end_s").rows() == [
        (3, "E[]", job_id, 0, 1070),
        (4, "E[]", job_id, 0, 1070),
    ]
    assert log.line_counts() == {("accepted", "job"): 2, ("kept", "record type E[]"): 2}


@pytest.mark.parametrize("gap", ["start", "end", "exec_host", "ctime"])
def test_the_end_of_an_array_is_never_rejected_for_what_it_lacks(tmp_path: Path, gap: str) -> None:
    log = read(tmp_path, end_record("202[].head", without=(gap, "qtime")) + "\n" + PARENT.replace("=1070", "=soon"))
    assert log.rejects.rows() == []
    assert log.events["record_type"].to_list() == ["E[]", "E[]"]


def test_other_records_of_an_array_keep_their_type(tmp_path: Path) -> None:
    log = read(tmp_path, "\n".join(PARENT.replace(";E;", f";{kind};") for kind in "QSRDA"))
    assert log.events["record_type"].to_list() == list("QSRDA")
