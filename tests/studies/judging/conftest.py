from __future__ import annotations

from pathlib import Path

import pytest

import tracehouse
from assets.common.trace import Trace
from tests.tiny import swf_line
from traces.synthetic.workload import WorkloadOptions, generate_workload

PROCS = 32


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    rows = generate_workload(WorkloadOptions(jobs=600, procs=PROCS, seed=3, offered_load=0.9))
    path: Path = tmp_path_factory.mktemp("logs") / "mine.swf"
    columns = (rows[name].to_list() for name in ("submit_s", "runtime_s", "procs", "requested_walltime_s"))
    path.write_text(
        "".join(
            swf_line(number, submit, 0, runtime, procs, requested, user=number % 9 + 1)
            for number, (submit, runtime, procs, requested) in enumerate(zip(*columns, strict=True), start=1)
        )
    )
    return tracehouse.load_log(path, procs=PROCS).trace()
