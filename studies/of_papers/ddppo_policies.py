"""The policies of docs/results/ddppo.md in one file, docs/results/ddppo-policies.tar.xz. Learning them takes hours.

    python -m studies ddppo_policies store    stores them in the warehouse, as experiments/ddppo does
    python -m studies ddppo_policies keep     writes those of the warehouse into the file

After `store`, `tracehouse run LOG --job ddppo_transfer` judges them on a log of yours.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from assets.common.storage import open_warehouse, read_model, store_model
from papers.experiment_tables import store_curves, store_trained
from papers.kept_files import kept_archive, members_of
from studies.of_papers.kept import write_members
from warehouse import Warehouse

KEPT_POLICIES = kept_archive("ddppo")
POLICIES, CURVES = "policies.csv", "curves.csv"
"""Rows of experiments.policies and of experiments.curves. All other members of the file are policy files."""


def keep(warehouse: Warehouse, target: Path = KEPT_POLICIES) -> int:
    """Writes the policies of DD-PPO that the warehouse has, with their curves. The same rows give the same bytes. Returns how many."""
    with warehouse.read() as connection:
        policies = connection.sql("FROM experiments.policies WHERE experiment = 'ddppo' ORDER BY ALL").pl()
        curves = connection.sql("FROM experiments.curves WHERE experiment LIKE 'ddppo, %' ORDER BY ALL").pl()
    members = {POLICIES: policies.write_csv().encode(), CURVES: curves.write_csv().encode()}
    members |= {row["file"]: read_model(row["file"], row["sha256"]) for row in policies.iter_rows(named=True)}
    write_members(target, members)
    return policies.height


def store(warehouse: Warehouse, kept: Path = KEPT_POLICIES) -> int:
    """Stores kept policies and their curves in the warehouse. Rows of the same goals, names and seeds are replaced. Returns how many.

    Raises ValueError where a policy is not the one that its row names.
    """
    content = members_of(kept)
    policies, curves = pl.read_csv(content[POLICIES]), pl.read_csv(content[CURVES])
    for row in policies.iter_rows(named=True):
        name, _, _ = Path(row["file"]).stem.rpartition("-")
        if store_model(row["source"], name, content[row["file"]]) != (row["file"], row["sha256"]):
            raise ValueError(
                f"{kept}: {row['file']} is not the policy that {POLICIES} names: take the file from the repository again"
            )
    for (source,), part in policies.group_by("source", maintain_order=True):
        store_trained(warehouse, str(source), "ddppo", part.drop("source"))
        of_source = curves.filter(source=source).drop("source")
        store_curves(warehouse, str(source), of_source, ["experiment", "variant", "seed"])
    return policies.height


def main() -> None:
    """Prints how many policies were written or stored."""
    parser = argparse.ArgumentParser(
        "python -m studies ddppo_policies", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("store", "keep"))
    parser.add_argument("--file", type=Path, default=KEPT_POLICIES, help="default: %(default)s")
    given = parser.parse_args()
    work = keep if given.what == "keep" else store
    print(f"{work(open_warehouse(), given.file)} policies")
