"""Tests of assets/usage: waits_and_waste, against what seff of Slurm's contribs prints for the same jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pipelines.command_line import succeed, use_home

COLUMNS = (
    "JobID|JobIDRaw|User|State|Submit|Start|End|Elapsed|Suspended|Timelimit|NNodes|NCPUS|ReqMem|AllocTRES|TotalCPU|MaxRSS|NTasks|TRESUsageInTot|"
    "NodeList|Account|Partition|JobName"
)
DAY = "2026-03-02T"
SHAPES = """
serial    1       COMPLETED     08:00 09:00 01:00:00 00:00:00 1 1   4Gn     cpu=1,mem=4G,node=1           00:54:00
  batch 1048576K 1 mem=1048576K
threads   2       COMPLETED     08:00 09:00 01:00:00 00:00:00 1 8   2Gc     cpu=8,mem=16G,node=1          06:00:00
  batch 6291456K 1 mem=6291456K
mpi       3       COMPLETED     08:00 10:00 02:00:00 00:00:00 2 128 512000M cpu=128,mem=512000M,node=2    10-00:00:00
  batch 20480K 1 mem=20480K
  0 3072000K 128 mem=384000000K
array     4_1     COMPLETED     08:00 09:00 01:00:00 00:00:00 1 4   8G      cpu=4,mem=8G,node=1           03:36:00
  batch 2097152K 1 mem=2097152K
array     4_2     COMPLETED     08:00 09:00 01:00:00 00:00:00 1 4   8G      cpu=4,mem=8G,node=1           02:00:00
  batch 4194304K 1 mem=4194304K
steps     5       COMPLETED     08:00 09:00 01:00:00 00:00:00 1 16  16G     cpu=16,mem=16G,node=1         12:48:00
  batch 10240K 1 mem=10240K
  extern 1024K 1 mem=1024K
  0 500000K 16 mem=8000000K
  1 2000000K 1 mem=2000000K
suspended 6       COMPLETED     08:00 10:00 01:00:00 01:00:00 1 4   8G      cpu=4,mem=8G,node=1           03:36:00
  batch 2097152K 1 -
memory    7       OUT_OF_MEMORY 08:00 08:30 00:30:00 00:00:00 1 2   1G      cpu=2,mem=1G,node=1           00:45:00
  batch 1040000K 1 -
gpu       8       COMPLETED     08:00 12:00 04:00:00 00:00:00 1 16  64G     cpu=16,gres/gpu=2,mem=64G,node=1 08:00:00
  batch 524288K 1 -
  0 2097152K 4 -
"""
"""Jobs: user, id, state, start, end, elapsed, suspended, nodes, CPUs, ReqMem, AllocTRES and TotalCPU. Steps: MaxRSS, tasks and
TRESUsageInTot."""
SEFF = {
    # seconds of CPU used and of core-walltime, then memory used of that requested in KiB, and hours
    "serial": ("90.00%", "25.00%", 3_240, 3_600, 1_048_576, 4_194_304, 1.0),
    "threads": ("75.00%", "37.50%", 21_600, 28_800, 6_291_456, 16_777_216, 1.0),
    "mpi": ("93.75%", "73.24%", 864_000, 921_600, 384_000_000, 524_288_000, 2.0),
    # two tasks: 90.00% and 50.00% of the CPU, 25.00% and 50.00% of the memory
    "array": ("70.00%", "37.50%", 12_960 + 7_200, 28_800, 2_097_152 + 4_194_304, 16_777_216, 1.0),
    "steps": ("80.00%", "47.68%", 46_080, 57_600, 8_000_000, 16_777_216, 1.0),
    "suspended": ("90.00%", "25.00%", 12_960, 14_400, 2_097_152, 8_388_608, 1.0),
    "memory": ("75.00%", "99.18%", 2_700, 3_600, 1_040_000, 1_048_576, 0.5),
    "gpu": ("12.50%", "12.50%", 28_800, 230_400, 8_388_608, 67_108_864, 4.0),
}


def log_of_shapes() -> str:
    lines, job, start, end = [COLUMNS], "", "", ""
    for words in (line.split() for line in SHAPES.strip().splitlines()):
        if len(words) > 4:
            user, job, state, start, end, elapsed, suspended, nodes, cpus, memory, tres, cpu = words
            start, end = f"{DAY}{start}:00", f"{DAY}{end}:00"
            times = f"{DAY}07:00:00|{start}|{end}|{elapsed}|{suspended}|{elapsed}"
            lines.append(f"{job}|{job}|{user}|{state}|{times}|{nodes}|{cpus}|{memory}|{tres}|{cpu}||||n1|a|p|j")
        else:
            step, rss, tasks, usage = words
            times = f"{DAY}07:00:00|{start}|{end}|||"
            lines.append(
                f"{job}.{step}|{job}.{step}||COMPLETED|{times}|1|1||||{rss}|{tasks}|{usage.strip('-')}|n1|a||{step}"
            )
    return "\n".join(lines) + "\n"


def test_who_says_what_seff_says_of_jobs_of_eight_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path / "home")
    (tmp_path / "eight.psv").write_text(log_of_shapes())
    text = succeed("ingest", tmp_path / "eight.psv", "--name", "eight", "--time-zone", "UTC", "--keep-names")
    assert "accepted  9" in text
    by_user = json.loads(succeed("who", "eight", "--by", "user", "--json"))["by"]["user"]
    rows = {row["user"]: row for row in by_user}
    wasted = {row["user"]: row for row in json.loads(succeed("who", "eight", "--waste", "--json"))["by"]["user"]}
    assert rows.keys() == wasted.keys() == SEFF.keys()
    for user, (cpu, memory, used_s, held_s, used_kib, requested_kib, hours) in SEFF.items():
        assert (f"{used_s / held_s:.2%}", f"{used_kib / requested_kib:.2%}") == (cpu, memory), "seff's own arithmetic"
        row, waste = rows[user], wasted[user]
        assert f"{1 - row['idle_core_hours'] / row['measured_core_hours']:.2%}" == cpu, user
        assert f"{1 - row['unused_memory_gib_hours'] / row['requested_memory_gib_hours']:.2%}" == memory, user
        assert waste["idle_core_hours"] == pytest.approx((held_s - used_s) / 3600), user
        assert waste["memory_gib_hours"] == pytest.approx((requested_kib - used_kib) / (1 << 20) * hours, rel=1e-6), (
            user
        )
