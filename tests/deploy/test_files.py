"""The files of docs/deploy/ against the schemas of Compose, Kubernetes and Dagster, and against each other. Nothing of it is started."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

import pytest
import yaml
from dagster._config import validate_config
from dagster._config.field import resolve_to_config_type
from dagster._core.instance.config import dagster_instance_config_schema

from pipelines.executors import WANTED, wanted_executor
from tests.rules import PROJECT
from tracehouse.cli.main import COMMANDS

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
