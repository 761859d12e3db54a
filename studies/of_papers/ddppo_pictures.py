"""Draws the pictures of docs/results/ddppo.md from the warehouse, after its experiments were made: `python -m studies ddppo_pictures`."""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

import sql
from assets.common.storage import open_warehouse
from assets.usage.plots import submissions
from papers.ddppo.plots import boxes, reward_curves
from traces.catalogue.places import PROJECT
from traces.synthetic.centre import CENTRES
from warehouse import Warehouse


def write_ddppo_pictures(warehouse: Warehouse, folder: Path) -> list[Path]:
    """Writes ddppo-rewards-LOG.png of each log that was learned from, ddppo-submissions-LOG.png of these and of falcon and lemhi, and
    ddppo-windows-LOG.png of each that judged. Returns their paths."""
    with warehouse.read() as connection:
        curves = connection.sql("FROM experiments.curves WHERE experiment LIKE 'ddppo, %' ORDER BY ALL").pl()
        costs = connection.sql("FROM experiments.window_costs WHERE experiment = 'ddppo' ORDER BY ALL").pl()
        learned_from = curves["source"].unique().sort().to_list()
        there = connection.sql("SELECT DISTINCT source FROM core.jobs").pl()["source"]
        shown = sorted({*learned_from, *(set(CENTRES) & set(there))})
        query = sql.load("marts.submissions")
        submitted = {source: connection.sql(query, params={"source": source}).pl() for source in shown}
    pictures = {f"submissions-{source}": submissions(jobs) for source, jobs in submitted.items()}
    pictures |= {f"rewards-{source}": reward_curves(curves.filter(source=source)) for source in learned_from}
    for (source,), part in costs.group_by("source", maintain_order=True):
        pictures[f"windows-{source}"] = boxes(part.with_columns(pl.col("cost").cast(pl.Float64)))
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"ddppo-{name}.png" for name in pictures]
    for path, picture in zip(paths, pictures.values(), strict=True):
        picture.savefig(path, format="png", dpi=80)
    return paths


def main() -> None:
    """Prints what was written."""
    parser = argparse.ArgumentParser(prog="python -m studies ddppo_pictures")
    parser.add_argument("--folder", type=Path, default=PROJECT / "docs" / "images", help="where the pictures go")
    for path in write_ddppo_pictures(open_warehouse(), parser.parse_args().folder):
        print(path)
