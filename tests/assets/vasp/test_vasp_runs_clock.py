"""A clock two hours ahead of the one that stamps files changes no result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.clocks import clock_ahead
from tests.traces.vasp.vasp_lines import TOP, electronic, written

TWO_HOURS_S = 7200
READ = """
import json, sys, time
import dagster as dg
from assets.common.storage import open_warehouse
from assets.vasp.vasp_runs import vasp_runs
warehouse = open_warehouse()
vasp_runs(dg.build_asset_context(partition_key="mine", resources={"warehouse": warehouse}))
with warehouse.read() as connection:
    states = connection.execute("SELECT folder, state FROM raw.vasp_runs ORDER BY ALL").fetchall()
print(json.dumps([time.time(), states]))
"""


def test_what_runs_is_told_by_the_clock_of_the_files(tmp_path: Path) -> None:
    catalogue = tmp_path / "mine.toml"
    catalogue.write_text('[vasp.mine]\npath = "runs"\nquiet_s = 3600\n')
    for name, age_s in (("ended", 2 * TWO_HOURS_S), ("runs", 0)):
        path = written(tmp_path / "runs" / name / "OUTCAR", TOP + electronic(energy=-20.25))
        stamp = path.stat().st_mtime - age_s
        os.utime(path, (stamp, stamp))
    environment = os.environ | {"TRACEHOUSE_HOME": str(tmp_path), "TRACEHOUSE_SOURCES": str(catalogue)}
    environment |= clock_ahead(tmp_path, TWO_HOURS_S)
    done = subprocess.run([sys.executable, "-c", READ], env=environment, capture_output=True, text=True, check=True)
    now, states = json.loads(done.stdout)
    assert now - time.time() > TWO_HOURS_S - 600, "its clock was ahead"
    assert states == [["ended", "cut_off"], ["runs", "running"]]
