"""What is read of VASP runs, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from traces.vasp.settings import INTEGERS, REALS, SWITCHES, VASP_SETTINGS

_SETTING_TYPES: dict[str, Any] = dict.fromkeys(INTEGERS, pl.Int64) | dict.fromkeys(REALS, pl.Float64)
_SETTING_TYPES |= dict.fromkeys(SWITCHES, pl.Boolean)

RUN_SCHEMA: dict[str, Any] = {
    "folder": pl.String,
    "outcar": pl.String,
    "launch": pl.Int64,
    "job_folder": pl.String,
    "image": pl.Int64,
    "state": pl.String,
    "state_reason": pl.String,
    "converged": pl.Boolean,
    "missing": pl.String,
    "started_at": pl.Datetime("us"),
    "elapsed_s": pl.Float64,
    "loops_s": pl.Float64,
    "changed_at": pl.Datetime("us"),
    "job_id": pl.String,
    "version": pl.String,
    "architecture": pl.String,
    "cores": pl.Int64,
    "nodes": pl.Int64,
    "threads": pl.Int64,
    "kpar": pl.Int64,
    "ncore": pl.Int64,
    "image_cores": pl.Int64,
    "elements": pl.String,
    "element_types": pl.Int64,
    "volume_a3": pl.Float64,
    "kpoints_method": pl.String,
    "hubbard_u": pl.Boolean,
    **{name.lower(): _SETTING_TYPES.get(name, pl.String) for name in VASP_SETTINGS},
    "electronic_steps": pl.Int64,
    "ionic_steps": pl.Int64,
    "residuals_told": pl.Int64,
    "outcar_bytes": pl.Int64,
}
"""One row per launch; see `raw.vasp_runs` in sql/tables/raw.sql for units."""
LAUNCH_KEY = {"folder": pl.String, "outcar": pl.String, "launch": pl.Int64}
ELECTRONIC_SCHEMA: dict[str, Any] = LAUNCH_KEY | {
    "position": pl.Int64,
    "ionic_step": pl.Int64,
    "step": pl.Int64,
    "seconds": pl.Float64,
    "energy_ev": pl.Float64,
    "energy_change_ev": pl.Float64,
    "band_energy_change_ev": pl.Float64,
    "minimisations": pl.Int64,
    "residual": pl.Float64,
    "charge_residual": pl.Float64,
    "algorithm": pl.String,
}
IONIC_SCHEMA: dict[str, Any] = LAUNCH_KEY | {
    "position": pl.Int64,
    "ionic_step": pl.Int64,
    "electronic_steps": pl.Int64,
    "seconds": pl.Float64,
    "overflowed": pl.Boolean,
    "energy_ev": pl.Float64,
    "largest_force_ev_per_a": pl.Float64,
    "rms_force_ev_per_a": pl.Float64,
    "electronically_converged": pl.Boolean,
}
VASP_REJECT_SCHEMA: dict[str, Any] = {"folder": pl.String, "file": pl.String, "reason": pl.String}


@dataclass(frozen=True)
class ReadFolder:
    """Rows of a folder, as RUN_SCHEMA, ELECTRONIC_SCHEMA, IONIC_SCHEMA and VASP_REJECT_SCHEMA have their columns."""

    run_rows: list[dict[str, Any]]
    electronic_rows: list[tuple[Any, ...]]
    ionic_rows: list[tuple[Any, ...]]
    reject_rows: list[tuple[str, str, str]]

    @property
    def runs(self) -> pl.DataFrame:
        """One row per launch of VASP."""
        return tables_of([self])[0]

    @property
    def electronic(self) -> pl.DataFrame:
        """One row per electronic step."""
        return tables_of([self])[1]

    @property
    def ionic(self) -> pl.DataFrame:
        """One row per ionic step."""
        return tables_of([self])[2]

    @property
    def rejects(self) -> pl.DataFrame:
        """One row per file, or folder, that should have been read and could not."""
        return tables_of([self])[3]


def tables_of(folders: list[ReadFolder]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """(runs, electronic, ionic, rejects) of many folders at once: making a frame takes longer than reading a small run."""
    return (
        pl.DataFrame([row for read in folders for row in read.run_rows], schema=RUN_SCHEMA),
        pl.DataFrame([row for read in folders for row in read.electronic_rows], schema=ELECTRONIC_SCHEMA, orient="row"),
        pl.DataFrame([row for read in folders for row in read.ionic_rows], schema=IONIC_SCHEMA, orient="row"),
        pl.DataFrame([row for read in folders for row in read.reject_rows], schema=VASP_REJECT_SCHEMA, orient="row"),
    )
