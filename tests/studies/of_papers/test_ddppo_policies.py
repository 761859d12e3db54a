"""Tests of studies/of_papers: ddppo_policies."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import polars as pl
import pytest

from assets.common.storage import read_model, store_model
from papers.experiment_tables import store_curves, store_trained
from studies.of_papers.ddppo_policies import KEPT_POLICIES, keep, store
from warehouse import Warehouse

# policies: Policies of DD-PPO, kept in one file and stored from it.

ROW = {
    "experiment": "ddppo", "rules": "standard", "backfill": "easy", "goal": "bsld", "policy": "population", "estimates": "requested",
    "best_epoch": 2, "validation_cost": 1.25,
}  # fmt: skip
CURVE = {
    "experiment": "ddppo, bsld", "variant": "population", "phase": "all", "decisions": 7, "sampled_cost": 0.1, "validation_cost": 1 / 3,
}  # fmt: skip


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A warehouse with two policies of one log, and one of another experiment."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    made = Warehouse(tmp_path / "trained.duckdb")
    for experiment in ("ddppo", "transfer"):
        rows = []
        for seed in (1, 2):
            file, digest = store_model("large", f"{experiment}-{seed}", f"{experiment} {seed}".encode())
            rows.append(ROW | {"experiment": experiment, "seed": seed, "file": file, "sha256": digest})
        store_trained(made, "large", experiment, pl.DataFrame(rows))
    curves = pl.DataFrame([CURVE | {"seed": seed, "epoch": 1} for seed in (1, 2)])
    store_curves(made, "large", curves, ["experiment", "variant", "seed"])
    return made


def content(warehouse: Warehouse) -> list[pl.DataFrame]:
    with warehouse.read() as connection:
        policies = connection.sql("FROM experiments.policies WHERE experiment = 'ddppo' ORDER BY ALL").pl()
        return [policies, connection.sql("FROM experiments.curves ORDER BY ALL").pl()]


def test_what_is_kept_is_stored_elsewhere(trained: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert keep(trained, tmp_path / "kept.tar.xz") == 2
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "elsewhere"))
    other = Warehouse(tmp_path / "other.duckdb")
    assert store(other, tmp_path / "kept.tar.xz") == 2
    policies, curves = content(other)
    assert policies.equals(content(trained)[0]) and curves.equals(content(trained)[1])
    assert read_model(policies["file"][1], policies["sha256"][1]) == b"ddppo 2"
    keep(other, tmp_path / "again.tar.xz")
    assert (tmp_path / "again.tar.xz").read_bytes() == (tmp_path / "kept.tar.xz").read_bytes()


def test_a_policy_that_was_changed_is_refused(trained: Warehouse, tmp_path: Path) -> None:
    keep(trained, tmp_path / "kept.tar.xz")
    with tarfile.open(tmp_path / "kept.tar.xz") as archive:
        members = [(entry, archive.extractfile(entry)) for entry in archive]
        with tarfile.open(tmp_path / "changed.tar.xz", "w:xz") as changed:
            for entry, content_of in members:
                assert content_of is not None
                wrong = "ddppo-2-" in entry.name
                changed.addfile(
                    entry, io.BytesIO(content_of.read().replace(b"2", b"3") if wrong else content_of.read())
                )
    with pytest.raises(ValueError, match=r"ddppo-2.*is not the policy.*from the repository"):
        store(trained, tmp_path / "changed.tar.xz")


def test_published_policies_can_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    made = Warehouse(tmp_path / "w.duckdb")
    count = store(made, KEPT_POLICIES)
    policies, curves = content(made)
    assert policies.height == count >= 20 and set(policies["source"]) <= {"falcon", "lemhi"}
    curved = curves.select("source", "variant", "seed", goal=pl.col("experiment").str.strip_prefix("ddppo, ")).unique()
    assert curved.height == count
