"""The files of docs/deploy/ against the schemas of Compose, Kubernetes and Dagster, and against each other. Nothing of it is started.

The job_submit.lua that we ship gives each job the bounded key as its nice value. Inputs are what Slurm 22.05 passed to it.

One Dagster instance on PostgreSQL, whose runs are done on two machines: a run whose process is killed is repeated.

The instance has the settings of docs/deploy/dagster.yaml. The machines are code locations with homes of their own. They share a warehouse
where TRACEHOUSE_WAREHOUSE names one.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest
import yaml
from dagster._config import validate_config
from dagster._config.field import resolve_to_config_type
from dagster._core.instance.config import dagster_instance_config_schema

from assets.common.storage import open_warehouse
from pipelines.executors import WANTED, wanted_executor
from tests.deploy.postgres import running_postgres, why_not
from tests.rules import PROJECT
from tests.tiny import busy_log, warehouse_of
from tracehouse.cli.main import COMMANDS
from warehouse import Warehouse

DEPLOY = PROJECT / "docs" / "deploy"
KUBERNETES = "1.34"
VARIABLES_OF_OTHERS = ("DAGSTER_", "PG", "TRACEHOUSE_", "POSTGRES_PASSWORD", "WAREHOUSE_PG_PASSWORD")
"""How the variables begin that Dagster, libpq, tracehouse and the image of PostgreSQL read."""


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def config_map(name: str) -> dict[str, str]:
    (data,) = (each["data"] for each in manifests() if each["kind"] == "ConfigMap" and each["metadata"]["name"] == name)
    return data


def instance_settings() -> dict[str, dict[str, Any]]:
    """By place, the settings of Dagster's instance."""
    kubernetes = yaml.safe_load(config_map("tracehouse-instance")["dagster.yaml"])
    return {"dagster.yaml": read("dagster.yaml"), "kubernetes.yaml": kubernetes}


def variables(settings: Any) -> set[str]:
    """Names of the variables that settings read from the environment."""
    if isinstance(settings, dict):
        if set(settings) == {"env"}:
            return {settings["env"]}
        return set().union(*(variables(each) for each in settings.values())) if settings else set()
    return set().union(*(variables(each) for each in settings)) if isinstance(settings, list) and settings else set()


def test_compose_fits_its_schema() -> None:
    schemas = pytest.importorskip("check_jsonschema", reason="no schema of Compose (the extra `schemas`)")
    jsonschema = pytest.importorskip("jsonschema", reason="no checker of JSON schemas (the extra `schemas`)")
    text = resources.files(schemas).joinpath("builtin_schemas/vendor/compose-spec.json").read_text()
    jsonschema.Draft7Validator(json.loads(text)).validate(read("compose.yaml"))


def test_compose_names_what_is_there() -> None:
    compose = read("compose.yaml")
    services = compose["services"]
    assert set(services) == {"postgres", "code", "daemon", "web"}
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services), name
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in compose["volumes"] or (DEPLOY / source).exists(), f"{name}: {volume}"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), "the UI has no login"
        unknown = [each for each in service["environment"] if not each.startswith(VARIABLES_OF_OTHERS)]
        assert not unknown, name
    for name in ("code", "daemon", "web"):
        assert variables(read("dagster.yaml")) <= set(services[name]["environment"]), name
    build = services["code"]["build"]
    assert (DEPLOY / build["context"]).resolve() == PROJECT and (PROJECT / build["dockerfile"]).exists()
    (server,) = read("workspace.yaml")["load_from"]
    assert server["grpc_server"]["host"] == services["code"]["hostname"] == "code"


@pytest.mark.parametrize("number", range(len(manifests())))
def test_manifests_fit_the_schemas_of_kubernetes(number: int) -> None:
    kubernetes_validate = pytest.importorskip(
        "kubernetes_validate", reason="no schemas of Kubernetes (the extra `schemas`)"
    )
    assert kubernetes_validate.validate(manifests()[number], KUBERNETES, strict=True) == KUBERNETES


def test_manifests_name_what_is_there() -> None:
    names = {(each["kind"], each["metadata"]["name"]) for each in manifests()}
    names.add(("Secret", "tracehouse"))  # which nobody keeps in a file
    given = {*config_map("tracehouse-environment"), "DAGSTER_PG_PASSWORD", "PGPASSWORD"}
    assert variables(instance_settings()["kubernetes.yaml"]) <= given
    for deployment in (each for each in manifests() if each["kind"] == "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        assert ("ServiceAccount", pod["serviceAccountName"]) in names
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert ("PersistentVolumeClaim", volumes["shared"]["persistentVolumeClaim"]["claimName"]) in names
        assert ("ConfigMap", volumes["instance"]["configMap"]["name"]) in names
        (container,) = pod["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
        assert ("ConfigMap", container["envFrom"][0]["configMapRef"]["name"]) in names
    services = {each["metadata"]["name"]: each["spec"] for each in manifests() if each["kind"] == "Service"}
    workspace = yaml.safe_load(config_map("tracehouse-instance")["workspace.yaml"])
    (server,) = workspace["load_from"]
    assert server["grpc_server"]["port"] == services[server["grpc_server"]["host"]]["ports"][0]["port"]


@pytest.mark.parametrize("place", ["dagster.yaml", "kubernetes.yaml"])
def test_instances_are_ones_that_dagster_takes(place: str) -> None:
    settings = instance_settings()[place]
    schema = resolve_to_config_type(dagster_instance_config_schema())
    checked = validate_config(schema, settings)  # type: ignore[arg-type]
    assert checked.success, checked.errors


def test_the_launcher_of_kubernetes_takes_its_settings() -> None:
    dagster_k8s = pytest.importorskip("dagster_k8s", reason="no launcher for Kubernetes (the extra `deploy`)")
    launcher = instance_settings()["kubernetes.yaml"]["run_launcher"]
    schema = resolve_to_config_type(dagster_k8s.K8sRunLauncher.config_type())
    checked = validate_config(schema, launcher["config"])  # type: ignore[arg-type]
    assert checked.success, checked.errors


def test_both_instances_keep_and_repeat_runs_alike() -> None:
    one, other = instance_settings().values()
    for name in ("telemetry", "nux", "storage", "local_artifact_storage", "run_monitoring", "run_retries"):
        assert one[name] == other[name], name


def test_the_storage_takes_its_settings() -> None:
    storage = pytest.importorskip("dagster_postgres", reason="no storage in PostgreSQL (the extra `deploy`)")
    schema = resolve_to_config_type(storage.DagsterPostgresStorage.config_type())
    for settings in instance_settings().values():
        checked = validate_config(schema, settings["storage"]["postgres"])  # type: ignore[arg-type]
        assert checked.success, checked.errors


def test_no_file_holds_a_password() -> None:
    for path in DEPLOY.iterdir():
        for value in re.findall(r"(?i)password\s*[=:]\s*(\S+)", path.read_text()):
            assert value.startswith(("...", "${", "{env:", "'", ":'", '"$$')), f"{path.name}: {value}"


def test_the_executor_of_kubernetes_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dagster_k8s", reason="no executor for Kubernetes (the extra `deploy`)")
    monkeypatch.setenv(WANTED, config_map("tracehouse-environment")[WANTED])
    assert wanted_executor().name == "k8s"


def test_the_unit_of_systemd_starts_a_command_of_ours() -> None:
    (unit,) = re.findall(
        r"^```ini\n(.*?)^```", (PROJECT / "docs" / "guides" / "deployment.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert [line for line in unit.splitlines() if line.startswith("[")] == ["[Unit]", "[Service]", "[Install]"]
    (command,) = re.findall(r"^ExecStart=(\S+) (\w+)$", unit, re.MULTILINE)
    assert command[0].endswith("/.venv/bin/tracehouse") and command[1] in COMMANDS
    variables_of_unit = re.findall(r"(\w+)=", " ".join(re.findall(r"^Environment=(.*)$", unit, re.MULTILINE)))
    assert set(variables_of_unit) == {"TRACEHOUSE_HOME", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}


# --- job submit


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


# --- machines


pytest.importorskip("dagster_postgres", reason="Dagster's PostgreSQL storage is not installed (the extra `deploy`)")
pytestmark = [pytest.mark.postgres, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

from tests.deploy.machines import running_machines  # noqa: E402

NORTH, SOUTH = "north", "south"
"""Machines, and the source of each."""
JOBS = 20_000
TABLES = ("raw.swf_jobs", "core.jobs")


def rows(warehouse: Warehouse, source: str, table: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(f"FROM {table} WHERE source = '{source}' ORDER BY ALL").pl()


def kill_and_compare(folder: Path, monkeypatch: pytest.MonkeyPatch, jobs: int = JOBS) -> None:
    """Ingests two sources at once on two machines, kills one run, and replays meanwhile. Asserts that the killed run is repeated, and that
    rows are those of undisturbed runs. folder: of homes and logs. jobs: of each source."""
    texts = {NORTH: busy_log(jobs, seed=1, days=1500), SOUTH: busy_log(jobs, seed=2, days=1500)}
    undisturbed = {name: warehouse_of(folder / "alone", text, name) for name, text in texts.items()}
    catalogues = {name: f'[sources.{name}]\nformat = "swf"\npath = "{folder}/alone/{name}.swf"\n' for name in texts}
    with running_postgres() as postgres, running_machines(folder, postgres, catalogues) as machines:
        machines.instance.add_dynamic_partitions("sources", list(texts))
        killed = machines.launch("ingest", NORTH, NORTH)
        others = machines.launch("ingest", SOUTH, SOUTH)
        machines.kill_at(killed, "raw__log")
        machines.wait_for(others, dg.DagsterRunStatus.SUCCESS)
        replays = machines.launch("replay_runs", SOUTH, SOUTH)
        machines.wait_for(killed, dg.DagsterRunStatus.FAILURE)
        repeated = machines.repeated(killed)
        machines.wait_for(replays, dg.DagsterRunStatus.SUCCESS)
        assert repeated.tags["dagster/retry_number"] == "1"
        runs = machines.instance.get_runs()
        assert len(runs) == 4, "no run but the killed one is repeated, and that once"
        for name in texts:
            monkeypatch.setenv("TRACEHOUSE_HOME", str(machines.home(name)))
            warehouse = open_warehouse()
            for table in TABLES:
                expected = rows(undisturbed[name], name, table)
                assert expected.height == jobs and rows(warehouse, name, table).equals(expected), f"{name}: {table}"
        assert rows(warehouse, SOUTH, "replay.runs").height == 4


def test_a_run_that_is_killed_is_repeated_on_its_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kill_and_compare(tmp_path, monkeypatch)
