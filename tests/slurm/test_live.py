"""Real Slurm runs a scenario, and what we read of it is what was asked for: `make test-slurm`."""

from __future__ import annotations

import os
import re
import tarfile
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from studies.slurm.decisions import judge
from studies.slurm.golden_runs import read_golden_run
from tests.slurm.features import FEATURES
from tests.slurm.recording import record
from tests.slurm.scenario import Scenario, drawn_scenario
from tests.slurm.site import NoSlurm, require_slurm
from traces.cluster.differing import changed_values
from traces.cluster.notes import UNKNOWN_KEY, remarks_of
from traces.common.described_names import with_pseudonyms
from traces.common.pseudonyms import DEFAULT_KINDS, replace_names
from traces.slurm.configuration.folder import read_slurm_cluster
from traces.slurm.reader import read_slurm

WANTED = "TRACEHOUSE_TEST_SLURM"
"""Set by `make test-slurm`: a run of real Slurm takes minutes."""
FIXED_SEED = 7
NOT_MODELLED = {"preempt_suspend"}
"""Scenarios of rules that the engine knows roughly: who is suspended depends on the numbers of cores."""
CONFIGURATION = tuple(
    f"{name}.gz"
    for name in ("slurm.conf", "gres.conf", "config.txt", "sacctmgr.dump", "qos.txt", "assoc.txt", "reservations.txt")
)


def skip_without_slurm() -> None:
    """Skips where nobody asks for a run of real Slurm, or a program of it is missing, and says which."""
    if not os.environ.get(WANTED):
        pytest.skip(f"{WANTED} is not set: a run of real Slurm takes minutes, and `make test-slurm` asks for it")
    try:
        require_slurm()
    except NoSlurm as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=[FIXED_SEED, date.today().toordinal()], ids=["fixed", "of-the-day"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, Path]:
    """A scenario, and the folder of what was recorded of it."""
    skip_without_slurm()
    scenario, folder = drawn_scenario(request.param), tmp_path_factory.mktemp("recorded")
    record(scenario, folder)
    return scenario, folder


def test_every_job_is_read_with_what_it_asked_for(recorded: tuple[Scenario, Path]) -> None:
    scenario, folder = recorded
    log = read_slurm(folder / "sacct.txt.gz")
    assert log.rejects.rows() == [] and log.accepted == len(scenario.jobs)
    jobs = {row["job_name"]: row for row in log.records.to_dicts()}
    for place, job in enumerate(scenario.jobs):
        assert asked_of(jobs[f"j{place}"]) == expected_of(job), job


def test_the_collector_has_the_rows_of_sacct_and_no_name(recorded: tuple[Scenario, Path]) -> None:
    _, folder = recorded
    (archive,) = folder.glob("collected-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    key = (folder / "collect.key").read_bytes().strip()
    files = {
        str(path.relative_to(folder / "unpacked")): path for path in (folder / "unpacked").rglob("*") if path.is_file()
    }
    for name, path in files.items():
        assert not re.search(r"\bslu[0-9]+\b", path.read_text()), name
    parts = [read_slurm(path).records for name, path in sorted(files.items()) if name.endswith(".psv")]
    rows = replace_names(read_slurm(folder / "sacct.txt.gz").records, DEFAULT_KINDS, key)
    columns = [
        "job_id",
        "submit_s",
        "eligible_s",
        "start_s",
        "end_s",
        "procs",
        "nodes",
        "gpus",
        "state",
        "user_name",
        "account",
        "job_name",
    ]
    columns += ["partition", "qos", "requested_tres", "requested_memory_kb", "time_limit_s", "node_list"]
    collected = pl.concat(parts, how="diagonal_relaxed").select(columns).sort("job_id")
    assert collected.height == rows.height > 0
    assert collected.equals(rows.select(columns).sort("job_id"))


def test_the_collected_configuration_is_that_of_the_files(recorded: tuple[Scenario, Path]) -> None:
    """What scontrol and sacctmgr show is what slurm.conf and the dump say, and no key is unknown."""
    _, folder = recorded
    (archive,) = folder.glob("collected-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    plain = read_slurm_cluster([path for path in folder.glob("*.gz") if path.name in CONFIGURATION], "live")
    collected = read_slurm_cluster((folder / "unpacked").glob("*/configuration/*"), "live")
    key = (folder / "collect.key").read_bytes().strip()
    assert changed_values(with_pseudonyms(plain.description, DEFAULT_KINDS, key), collected.description) == ()
    assert remarks_of((*plain.remarks, *collected.remarks), UNKNOWN_KEY) == ()


def test_the_engine_decides_as_the_real_one_for_the_rule_of_the_day(tmp_path: Path) -> None:
    """One of the small scenarios a day, since each takes more than a minute."""
    skip_without_slurm()
    names = sorted(set(FEATURES) - NOT_MODELLED)
    name = names[date.today().toordinal() % len(names)]
    record(FEATURES[name](), tmp_path / name / "run1")
    count = (tally := judge(read_golden_run(tmp_path / name / "run1"))).counts
    assert count["same"] >= 0.98 * count["decisions"] > 0, (name, tally.differences[:5])
    assert count["same_start_nodes"] >= 0.9 * count["starts"], (name, tally.differences[:5])


def asked_of(row: dict[str, Any]) -> dict[str, Any]:
    resources = dict(pair.split("=") for pair in row["requested_tres"].split(","))
    return {
        "user": row["user_name"],
        "account": row["account"],
        "partition": row["partition"],
        "qos": row["qos"],
        "limit_s": row["time_limit_s"],
        "nodes": int(resources["node"]),
        "procs": row["requested_procs"],
        "gpus": int(resources.get("gres/gpu", 0)),
        "memory_kb": row["requested_memory_kb"],
        "memory_per": row["memory_per"],
    }


def expected_of(job: dict[str, Any]) -> dict[str, Any]:
    per = "cpu" if "mem_per_cpu" in job else "node"
    memory = job["mem_per_cpu"] * job["ntasks"] if per == "cpu" else job["mem"] * job["nodes"]
    return {
        "user": f"slu{job['user']}",
        "account": job["account"],
        "partition": job["partition"],
        "qos": job["qos"],
        "limit_s": job["limit"] * 60,
        "nodes": job["nodes"],
        "procs": job["ntasks"],
        "gpus": int(job["gres"].partition(":")[2]) if "gres" in job else 0,
        "memory_kb": memory * 1024,
        "memory_per": per,
    }
