"""Faults that were planted must be found: else the other parts prove nothing."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.faults.damage import damage_part
from benchmarks.faults.kills import kill_part
from benchmarks.faults.pairs import pair_part
from benchmarks.faults.plants import PLANTS
from benchmarks.faults.results import Result
from benchmarks.faults.traffic import traffic_part
from benchmarks.faults.upgrades import upgrade_part

WIDEST_SAID = 110
SHARE = 0.02
"""Of the damage of the full campaign."""
WITHOUT = "only damage, kills of a backup, and traffic"
"""What runs once more with nothing planted."""


def look_for(name: str, folder: Path, seed: int) -> Result:
    """Runs the part that should find a planted fault, small, with the fault in it."""
    part = PLANTS[name].part
    seen = Result(part)
    folder.mkdir(parents=True, exist_ok=True)
    if name == "backup in place":
        kill_part("backup", 20, folder, seed, seen, name)
    elif part == "kills":
        kill_part("ingest", 60, folder, seed, seen, name, until_found=True)
    elif part == "damage":
        damage_part(seen, folder, seed, SHARE, name)
    elif part == "pairs":
        pair_part(seen, folder, seed, 4, name, ("ingest", "remove"))
    elif part == "traffic":
        traffic_part(seen, folder, seed, 20.0, name, {"shared": 1})
    else:
        upgrade_part(seen, folder, name)
    return seen


def _look_without(folder: Path, seed: int, result: Result) -> None:
    """Three of the same small parts find nothing where nothing was planted. The others run without a fault in the campaign itself."""
    seen = Result("control")
    damage_part(seen, folder / "damage", seed, SHARE)
    kill_part("backup", 4, folder / "backup", seed, seen)
    traffic_part(seen, folder / "traffic", seed, 5.0, shares={"shared": 1})
    result.add(f"none ({WITHOUT})", "FOUND" if seen.findings else "", f"{len(seen.findings)} findings")
    result.undone += seen.undone
    result.findings += [f"nothing was planted: {finding}" for finding in seen.findings]


def planted(folder: Path, seed: int, quick: bool) -> Result:
    """The part of the campaign."""
    result = Result("planted")
    result.lines += ["", "| planted fault | found by | what it said |", "| --- | --- | --- |"]
    for name, plant in PLANTS.items():
        seen = look_for(name, folder / name.replace(" ", "-"), seed)
        said = seen.findings[0].replace("|", "/").replace("\n", " ") if seen.findings else ""
        said = said.replace(f"{folder}{os.sep}", "")
        if not said:
            result.findings.append(f"the planted fault was not found: {plant.text}")
            result.undone += seen.undone
        more = f" ({len(seen.findings)} findings)" if said else ""
        result.add(plant.text, plant.part if said else "NOT FOUND", said[:WIDEST_SAID] + more)
    _look_without(folder / "none", seed, result)
    return result
