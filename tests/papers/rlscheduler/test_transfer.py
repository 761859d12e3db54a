"""Policies on the windows of the source that they were trained on, and on others."""

from __future__ import annotations

import numpy as np
import polars as pl

from tests.assets.experiments.runs import rows
from warehouse import Warehouse


def test_policies_transfer_to_what_they_were_trained_on(done: Warehouse) -> None:
    """On its own source a policy costs what it did when it was trained."""
    found = rows(done, "comparisons").filter(pl.col("goal") == "bsld", pl.col("policy").is_in(["ppo", "evolution"]))
    there = found.filter(pl.col("experiment") == "transfer").sort("policy")
    here = found.filter(pl.col("experiment") == "published").sort("policy")
    assert there.height == 2 and np.allclose(there["cost"], here["cost"])
    assert rows(done, "policies").filter(pl.col("experiment") == "published").height == 2 * 2 * 2
