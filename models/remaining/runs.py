"""VASP runs as arrays: their settings, and their steps one after another."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

KEY = ["folder", "outcar", "launch"]
NUMERIC_SETTINGS = (
    "nelect",
    "nsw",
    "volume_a3",
    "nions",
    "nelm",
    "element_types",
    "encut",
    "ialgo",
    "ediffg",
    "ediff",
    "nodes",
    "cores",
    "nelmin",
    "ispin",
    "sigma",
    "icharg",
    "isym",
    "ismear",
    "lreal",
    "ibrion",
    "istart",
    "nkpts",
    "nbands",
    "nelmdl",
    "isif",
    "lexch",
    "kpar",
    "ncore",
    "threads",
    "lhfcalc",
    "lsorbit",
    "lnoncollinear",
    "lepsilon",
    "hubbard_u",
    "potim",
    "lwave",
    "lcharg",
)
"""Settings that are numbers: those of RLSchert's Table 1 (the group of hosts is the accounting's), and others that cost time."""
WORD_SETTINGS = {
    "prec": ("l", "m", "n", "a", "h", "s"),
    "gga": ("--", "PE", "PS", "RP", "91", "CA"),
    "kpoints_method": ("gamma", "monkhorst-pack", "automatic", "line", "explicit"),
}
"""Settings that are words, and the words that get a number. Other words count as missing."""
INPUTS = (*NUMERIC_SETTINGS, *WORD_SETTINGS, "grid", "log_work", "log_work_per_core")


@dataclass(frozen=True)
class Runs:
    """Launches, and their steps in order. Every array has one row per launch unless said otherwise.

    inputs: float32 (runs, len(INPUTS)), NaN where not known. total_s: wall time from start to end, NaN where not known or where
    a part of the OUTCAR is missing.
    single: the input allows one ionic step at most. group: number of the system (elements, ions, electrons).
    The electronic steps of run r are the rows from step[r] to before step[r + 1] of the step_* arrays. ionic[r] does the same for
    ionic steps.
    step_s: duration, seconds. step_end_s: its end, seconds after the start. No line says when the first step began. The part of a
    run's time that is in no step counts as set-up before the steps. Where wave functions or charge are written after them, a share of
    it counts as this writing. The share is drawn for each run, so that one part does not reveal the other. step_change,
    step_residual: log10 of |dE| in eV and of the residual, NaN where the run does not say it. step_ionic: ionic steps that were over
    before it. ionic_end_s, ionic_s, ionic_force (eV/A), ionic_energy (eV).
    """

    keys: pl.DataFrame
    inputs: NDArray[np.float32]
    total_s: FloatArray
    single: NDArray[np.bool_]
    group: IntArray
    step: IntArray
    step_s: FloatArray
    step_end_s: FloatArray
    step_change: FloatArray
    step_residual: FloatArray
    step_ionic: IntArray
    ionic: IntArray
    ionic_end_s: FloatArray
    ionic_s: FloatArray
    ionic_force: FloatArray
    ionic_energy: FloatArray

    def __len__(self) -> int:
        return len(self.total_s)

    def input(self, name: str) -> FloatArray:
        """One of INPUTS, float64 (runs,), NaN where not given."""
        return self.inputs[:, INPUTS.index(name)].astype(np.float64)


def runs_of(runs: pl.DataFrame, electronic: pl.DataFrame, ionic: pl.DataFrame) -> Runs:
    """From rows of raw.vasp_runs, raw.vasp_electronic_steps and raw.vasp_ionic_steps of one source.

    Runs are in the order of `runs`. A step whose time overflowed counts as long as the mean of its run's others.
    """
    runs = runs.with_row_index("run")
    number = runs.select("run", *KEY)
    steps = electronic.join(number, on=KEY).sort("run", "position")
    moves = ionic.join(number, on=KEY).sort("run", "position")
    steps = steps.with_columns(pl.col("seconds").fill_null(pl.col("seconds").mean().over("run")).fill_null(0.0))
    step_run, move_run = steps["run"].to_numpy().astype(np.int64), moves["run"].to_numpy().astype(np.int64)
    step_s = steps["seconds"].to_numpy().astype(np.float64)
    first = _offsets(step_run, runs.height)
    first_move = _offsets(move_run, runs.height)
    move_steps = moves["electronic_steps"].to_numpy().astype(np.int64)
    move_s = moves["seconds"].fill_null(0.0).to_numpy().astype(np.float64)
    # where steps are missing, the total time is not that of the steps that are left
    elapsed = pl.when(pl.col("missing").is_null()).then(pl.col("elapsed_s").cast(pl.Float64))
    total = runs.select(elapsed.fill_null(float("nan"))).to_series().to_numpy()
    loops = runs["loops_s"].to_numpy()
    writes = (runs["lwave"].fill_null(True) | runs["lcharg"].fill_null(True)).to_numpy()
    outside = np.where(np.isnan(total), 0.0, np.maximum(total - loops, 0.0))
    share = np.array([_drawn("/".join(map(str, key))) for key in runs.select(KEY).iter_rows()])
    before = np.where(writes, share, 1.0) * outside
    step_ionic, step_end, move_end = _clock(first, step_s, first_move, move_steps, move_s, before)
    magnitude = steps.select(
        change=pl.col("energy_change_ev").abs().clip(1e-12).log10(),
        residual=pl.coalesce("charge_residual", "residual").abs().clip(1e-12).log10(),
    )
    return Runs(
        keys=runs.select(KEY),
        inputs=_inputs(runs),
        total_s=total,
        single=(runs["nsw"].fill_null(0) <= 1).to_numpy(),
        group=_groups(runs),
        step=first,
        step_s=step_s,
        step_end_s=step_end,
        step_change=magnitude["change"].fill_null(float("nan")).to_numpy(),
        step_residual=magnitude["residual"].fill_null(float("nan")).to_numpy(),
        step_ionic=step_ionic,
        ionic=first_move,
        ionic_end_s=move_end,
        ionic_s=move_s,
        ionic_force=moves["largest_force_ev_per_a"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        ionic_energy=moves["energy_ev"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
    )


def _drawn(text: str) -> float:
    """A number from 0 to 1 that is always the same for a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest()) / 2**32


def _offsets(run: IntArray, runs: int) -> IntArray:
    return np.concatenate(([0], np.cumsum(np.bincount(run, minlength=runs)))).astype(np.int64)


def _clock(
    first: IntArray,
    step_s: FloatArray,
    first_move: IntArray,
    move_steps: IntArray,
    move_s: FloatArray,
    before: FloatArray,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Three arrays: ionic steps over before each electronic step, end of each electronic step, and end of each ionic step."""
    ionic, end, move_end = np.zeros(len(step_s), np.int64), np.zeros(len(step_s)), np.zeros(len(move_s))
    for run in range(len(first) - 1):
        now, step = float(before[run]), int(first[run])
        for done, move in enumerate(range(first_move[run], first_move[run + 1])):
            begin, last = now, min(step + int(move_steps[move]), int(first[run + 1]))
            end[step:last] = begin + np.cumsum(step_s[step:last])
            ionic[step:last] = done
            now = max(begin + move_s[move], float(end[last - 1]) if last > step else begin)
            move_end[move] = now
            step = last
        last = int(first[run + 1])
        end[step:last] = now + np.cumsum(step_s[step:last])
        ionic[step:last] = first_move[run + 1] - first_move[run]
    return ionic, end, move_end


def _inputs(runs: pl.DataFrame) -> NDArray[np.float32]:
    columns = [runs[name].cast(pl.Float64) for name in NUMERIC_SETTINGS]
    for name, words in WORD_SETTINGS.items():
        text = runs[name].cast(pl.String)
        text = text.str.to_lowercase().str.slice(0, 1) if name == "prec" else text
        columns.append(text.replace_strict({word: float(k) for k, word in enumerate(words)}, default=None))
    grid = (runs["ngx"] * runs["ngy"] * runs["ngz"]).cast(pl.Float64)
    # what the blocked Davidson scheme costs: bands squared times plane waves, per k-point and spin (Kresse and Furthmueller 1996)
    work = (runs["nbands"].cast(pl.Float64) ** 2 * grid * runs["nkpts"] * runs["ispin"]).log()
    columns += [grid, work, work - runs["cores"].cast(pl.Float64).log()]
    return np.column_stack([c.fill_null(float("nan")).to_numpy() for c in columns]).astype(np.float32)


def _groups(runs: pl.DataFrame) -> IntArray:
    """Numbers of systems, equal for runs of one system: elements, ions and electrons."""
    system = runs.select(
        pl.concat_str(
            pl.col("elements").fill_null("?").str.split(" ").list.sort().list.join(" "),
            pl.col("nions").cast(pl.String).fill_null("?"),
            pl.col("nelect").round(1).cast(pl.String).fill_null("?"),
            separator="|",
        )
    ).to_series()
    return system.rank("dense").to_numpy().astype(np.int64) - 1
