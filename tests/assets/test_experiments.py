"""Experiments on a small log of the published size: every table, its counts, and what was kept apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
import pytest

from assets.experiments.curves import curves
from assets.experiments.held_out import held_out
from assets.experiments.published import published
from assets.experiments.published_windows import PUBLISHED_LENGTH, PUBLISHED_WINDOWS, published_split
from assets.experiments.transfer import transfer
from tests.pipelines.command_line import use_home
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse

QUICK: dict[str, Any] = {
    "ppo": {"epochs": 1, "trajectories": 8},
    "evolution": {"generations": 1, "pairs": 1, "windows": 2},
    "key": {"random_keys": 4, "steps": 0, "windows": 3},
    "seeds": [1, 2],
    "training_window_jobs": 64,
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """A warehouse in which the experiments ran on the source `mine`."""
    folder = tmp_path_factory.mktemp("experiments")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, folder)
        warehouse = warehouse_of(folder, busy_log(10_100, days=700))
        few = QUICK | {"goals": ["bsld", "utilisation_as_coded"], "backfills": ["easy"]}
        of_curves = {"networks": ["kernel", "mlp_v2"], "seeds": [1], "window_jobs": 40}
        of_curves["ppo"] = {"epochs": 2, "trajectories": 6, "siblings": 1, "baseline": "critic", "passes": 2}
        for asset, config in ((published, few), (transfer, {}), (curves, of_curves)):
            materialize(asset, warehouse, config)
        yield warehouse


def materialize(asset: dg.AssetsDefinition, warehouse: Warehouse, config: dict[str, Any]) -> None:
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("sources", ["mine"])
        name = "__".join(asset.key.path)
        assert dg.materialize(
            [asset],
            partition_key="mine",
            instance=instance,
            resources={"warehouse": warehouse},
            run_config={"ops": {name: {"config": config}}},
        ).success


def rows(warehouse: Warehouse, name: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(f"FROM experiments.{name}").pl()


def test_published_windows_are_kept_apart() -> None:
    for jobs in (10_000, 12_000):
        split = published_split(jobs, 256)
        taken = {k for start in PUBLISHED_WINDOWS for k in range(start, start + PUBLISHED_LENGTH)}
        learned = {k for first in split.learn.first for k in range(first, first + 256)}
        chosen = {k for first in split.choose.first for k in range(first, first + 256)}
        assert learned and chosen and not learned & taken and not chosen & taken and not learned & chosen
        assert max(learned | chosen) < jobs


def test_every_policy_is_on_every_window(done: Warehouse) -> None:
    costs = rows(done, "window_costs").filter(pl.col("experiment") == "published")
    each = costs.group_by("goal", "policy", "seed").agg(pl.len())
    assert (each["len"] == 10).all()
    assert each.height == 2 * (6 + 3 * 2)  # six heuristics; key, ppo and evolution with two seeds
    found = rows(done, "comparisons").filter(pl.col("experiment") == "published")
    assert found.height == 2 * 9 and (found["rival"] == "SAF, requested").all()
    means = costs.group_by("goal", "policy").agg(pl.col("cost").mean())
    both = found.join(means, on=["goal", "policy"], suffix="_again")
    assert np.allclose(both["cost"], both["cost_again"]) and both.height == found.height
    saf = found.filter(pl.col("policy") == "SAF")
    assert (saf["difference"] == 0).all()


def test_policies_transfer_to_what_they_were_trained_on(done: Warehouse) -> None:
    """On its own source a policy costs what it did when it was trained."""
    found = rows(done, "comparisons").filter(pl.col("goal") == "bsld", pl.col("policy").is_in(["ppo", "evolution"]))
    there = found.filter(pl.col("experiment") == "transfer").sort("policy")
    here = found.filter(pl.col("experiment") == "published").sort("policy")
    assert there.height == 2 and np.allclose(there["cost"], here["cost"])
    assert rows(done, "policies").height == 2 * 2 * 2


def test_curves_have_every_epoch(done: Warehouse) -> None:
    found = rows(done, "curves")
    assert set(found["variant"]) == {"kernel", "mlp_v2", "unfiltered", "filtered", "relative"}
    assert found.height == 5 * 2
    some = {"networks": ["mlp_v3"], "filtering": False, "seeds": [1], "window_jobs": 40}
    ppo = {"epochs": 1, "trajectories": 4, "siblings": 1, "baseline": "critic", "passes": 1}
    materialize(curves, done, some | {"ppo": ppo})
    found = rows(done, "curves")
    assert set(found["variant"]) == {"mlp_v3", "unfiltered", "filtered", "relative"}
    filtered = found.filter(pl.col("variant") == "filtered").sort("epoch")
    assert filtered["phase"].to_list() == ["filtered", "all"]


def test_an_experiment_again_replaces_its_rows_alone(done: Warehouse) -> None:
    """One goal of `published` again: the other goal and the other experiments stay."""
    before = [rows(done, name) for name in ("window_costs", "comparisons", "policies")]
    materialize(transfer, done, {})
    materialize(published, done, QUICK | {"goals": ["bsld"], "backfills": ["easy"]})
    after = [rows(done, name) for name in ("window_costs", "comparisons", "policies")]
    for old, new in zip(before, after, strict=True):
        assert old.height == new.height and set(map(str, old.rows())) == set(map(str, new.rows()))


def test_policies_may_see_the_published_windows_as_in_the_paper(done: Warehouse) -> None:
    asked = {"goals": ["bsld"], "backfills": ["easy"], "methods": ["evolution"], "seen": True}
    materialize(published, done, QUICK | asked)
    found = rows(done, "comparisons")
    assert set(found["experiment"]) == {"published", "published_seen", "transfer"}
    split = published_split(12_000, 256, seen=True)
    assert split.learn.first.max() == 10_000 - 256 and len(split.learn) == 10_000 - 255


@pytest.mark.parametrize("wrong_by", [1.1, 50.0])
def test_held_out_windows(wrong_by: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions that are nearer to the truth than requests are believed by what learns, others are not."""
    use_home(monkeypatch, tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(1_500, days=110))
    quantiles = ", ".join(
        f"least(runtime_s * {wrong_by}, {wrong_by} * requested_walltime_s) AS runtime_p{p}_s"
        for p in ("05", "10", "25", "50", "75", "80", "90", "95")
    )
    with warehouse.write() as connection:
        connection.execute(
            "INSERT INTO predictions.runtime_predictions BY NAME SELECT source, job_index, 'stand-in' AS predictor, "
            f"runtime_s * {wrong_by} AS predicted_runtime_s, {quantiles} FROM core.jobs"
        )
        connection.execute("UPDATE core.jobs SET requested_walltime_s = 20 * runtime_s")
    asked = QUICK | {"windows": 12, "window_jobs": 64, "hindsight": {"orders": 50}}
    materialize(held_out, warehouse, asked | {"ppo": asked["ppo"] | {"layout": "informed"}})
    costs = rows(warehouse, "window_costs")
    believed = "predicted" if wrong_by < 20 else "requested"
    learned = costs.filter(pl.col("policy").is_in(["ppo", "evolution", "imitation", "hindsight"]))
    assert set(learned["estimates"]) == {believed}
    each = costs.group_by("policy", "estimates", "seed").agg(pl.len(), pl.col("first_position").min())
    assert each.height == 5 + 2 * 2 + 3 * 2 + 1 and (each["len"] == 12).all() and (each["first_position"] >= 750).all()
    found = rows(warehouse, "comparisons")
    assert set(found["rival"]) == {"SAF, requested", "SAF, predicted"} and found.height == 2 * (5 + 2 + 3 + 1)
    best = found.filter(pl.col("rival") == f"SAF, {believed}", pl.col("policy") == "hindsight")["difference"][0]
    assert best <= 0, "the search begins with SAF"


def test_short_logs_have_no_published_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(400))
    with pytest.raises(ValueError, match="the published windows need 10000"):
        materialize(published, warehouse, {})
