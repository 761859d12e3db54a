"""The job_submit.lua that we ship gives each job the bounded key as its nice value. Inputs are what Slurm 22.05 passed to it."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SCRIPT = PROJECT / "docs/deploy/job_submit.lua"
NOT_SET, NOT_SET_16 = 4_294_967_294, 65_534
NICE_OFFSET = 2**31
DRIVER = """
slurm = {{SUCCESS = 0}}
dofile("{script}")
local job = {{{fields}}}
assert(slurm_job_submit(job, {{}}, 0) == slurm.SUCCESS)
print(string.format("%d", job.nice))
"""

BLANK = {
    **{"time_limit": NOT_SET, "min_cpus": 1, "num_tasks": NOT_SET, "min_nodes": NOT_SET, "nice": NOT_SET},
    **{"cpus_per_task": NOT_SET_16, "ntasks_per_node": NOT_SET_16, "shared": NOT_SET_16},
}


@pytest.mark.parametrize(
    ("fields", "minutes", "processors", "own"),
    [
        ({"time_limit": 35, "min_cpus": 8, "num_tasks": 8, "min_nodes": 1}, 35, 8, 0),
        ({"time_limit": 3, "min_cpus": 192, "num_tasks": 192, "min_nodes": 3, "ntasks_per_node": 64}, 3, 192, 0),
        ({"time_limit": 18, "min_cpus": 128, "num_tasks": 128}, 18, 128, 0),
        ({"time_limit": 13, "min_cpus": 16, "num_tasks": 1, "cpus_per_task": 16, "nice": NICE_OFFSET + 500}, 13, 16, 500),
        ({"time_limit": 10, "min_nodes": 3, "shared": 0}, 10, 192, 0),
        ({}, 1440, 1, 0),
        ({"time_limit": NOT_SET + 1}, 1440, 1, 0),
    ],
)  # fmt: skip
def test_nice_is_the_bounded_key(fields: dict[str, int], minutes: int, processors: int, own: int) -> None:
    lua = next((found for name in ("lua5.4", "lua5.3", "lua") if (found := shutil.which(name))), None)
    if lua is None:
        pytest.skip("no lua here (apt install lua5.4)")
    text = ", ".join(f"{name} = {value}" for name, value in (BLANK | fields).items())
    driver = DRIVER.format(script=SCRIPT, fields=text)
    done = subprocess.run([lua, "-"], input=driver, capture_output=True, text=True, check=True)
    key = math.floor(min(60 * minutes * math.sqrt(processors), 43_200))
    assert int(done.stdout) == NICE_OFFSET + own + key


def test_the_constant_part_of_the_priority_covers_the_largest_key() -> None:
    """Else priorities of jobs that have just come would be cut off at zero, and such jobs would have no order."""
    page = (PROJECT / "docs/guides/adopting.md").read_text()
    constant = int(re.findall(r"^PriorityWeightPartition=(\d+)$", page, re.MULTILINE)[0])
    most = re.findall(r"^local MOST_SECONDS = (\d+) \* (\d+)", SCRIPT.read_text(), re.MULTILINE)[0]
    assert constant > 2 * int(most[0]) * int(most[1])
    assert re.findall(r"^PriorityWeightAge=(\d+)$", page, re.MULTILINE) == [str(365 * 86_400)]
    assert "PriorityMaxAge=365-0" in page
