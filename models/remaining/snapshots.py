"""What can be seen of a run at a moment, and how far it seems to be from its end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.remaining.runs import FloatArray, IntArray, Runs

REMAINING_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Levels of the quantiles that every predictor of remaining time returns."""
MEDIAN_LEVEL = REMAINING_LEVELS.index(0.5)
PROGRESS_SHARES = np.arange(1, 11) / 10
"""Shares of its electronic steps at which a run is judged."""
SNAPSHOT_FEATURES = (
    "log_used",
    "log_step",
    "first_to_mean",
    "last_to_mean",
    "steps",
    "steps_now",
    "ionic_steps",
    "change",
    "change_slope",
    "change_gap",
    "electronic_left",
    "residual",
    "most_electronic_left",
    "electronic_per_ionic",
    "last_electronic",
    "force",
    "force_slope",
    "force_gap",
    "energy_gap",
    "ionic_left",
    "most_ionic_left",
    "overhead",
    "guess",
)
"""Features of a snapshot in addition to the run's inputs. All but log_used and log_step are free of the run's own scale of time."""
_RECENT = 5


@dataclass(frozen=True)
class Moments:
    """Moments of runs. run: int64 (moments,). used_s: seconds since its start, float64 (moments,)."""

    run: IntArray
    used_s: FloatArray

    def __len__(self) -> int:
        return len(self.run)


def at_shares(runs: Runs, which: IntArray, shares: FloatArray) -> Moments:
    """Every run of `which` at the moments when these shares of its electronic steps were over (RLSchert, section 4.2), run by run."""
    first, steps = runs.step[which], np.diff(runs.step)[which]
    seen = np.ceil(steps[:, None] * shares[None] - 1e-9).astype(np.int64)
    return Moments(np.repeat(which, len(shares)), runs.step_end_s[(first[:, None] + seen - 1)].ravel())


def drawn(runs: Runs, which: IntArray, each: int, rng: np.random.Generator) -> Moments:
    """Every run of `which` at `each` moments, one in every equal part of its time, so that nothing reveals how far it was."""
    shares = (np.arange(each) + rng.random((len(which), each))) / each
    return Moments(np.repeat(which, each), (runs.total_s[which][:, None] * shares).ravel())


@dataclass(frozen=True)
class Snapshots:
    """features: float32 (moments, len(SNAPSHOT_FEATURES)), NaN where not known. step_s: mean duration of the electronic steps
    seen, seconds, NaN before the first. Remaining times are learned as a number of such steps. seen: electronic steps seen."""

    features: NDArray[np.float32]
    step_s: FloatArray
    seen: IntArray


def snapshots_at(runs: Runs, moments: Moments) -> Snapshots:
    """What can be seen of each run at its moment, and nothing of what comes after it."""
    features = np.full((len(moments), len(SNAPSHOT_FEATURES)), np.nan, dtype=np.float32)
    step_s, seen = np.full(len(moments), np.nan), np.zeros(len(moments), dtype=np.int64)
    limits = {name: runs.input(name) for name in ("nsw", "nelm", "ediff", "ediffg", "ibrion")}
    for k, (run, used) in enumerate(zip(moments.run, moments.used_s, strict=True)):
        first, last = runs.step[run], runs.step[run + 1]
        # a step that ends with the run counts as seen, although rounding may put its end an instant later
        done = int(np.searchsorted(runs.step_end_s[first:last], used * (1 + 1e-9), side="right"))
        begin, end = runs.ionic[run], runs.ionic[run + 1]
        moved = int(np.searchsorted(runs.ionic_end_s[begin:end], used * (1 + 1e-9), side="right"))
        seen[k] = done
        if not done:
            continue
        steps = slice(first, first + done)
        settings = {name: float(values[run]) for name, values in limits.items()}
        mean = max(float(runs.step_s[steps].mean()), 1e-3)
        step_s[k] = mean
        features[k] = _features(runs, steps, slice(begin, begin + moved), float(used), mean, settings)
    return Snapshots(features, step_s, seen)


def _features(
    runs: Runs, steps: slice, moves: slice, used: float, mean: float, settings: dict[str, float]
) -> list[float]:
    seconds, change, ionic = runs.step_s[steps], runs.step_change[steps], runs.step_ionic[steps]
    moved = moves.stop - moves.start
    now = int((ionic == moved).sum())
    current = change[len(change) - now :] if now else change[:0]
    slope = _slope(current[-_RECENT:])
    gap = float(current[-1]) - np.log10(max(settings["ediff"], 1e-12)) if now else np.nan
    most_left = max(_or(settings["nelm"], 60.0) - now, 0.0)
    left = _steps_to_go(gap, slope, most_left, now)
    per_ionic = np.bincount(ionic, minlength=moved)[:moved].astype(float) if moved else np.zeros(0)
    force = np.log10(np.clip(runs.ionic_force[moves], 1e-12, None))
    force_slope = _slope(force[-_RECENT:])
    ediffg = _or(settings["ediffg"], 10 * _or(settings["ediff"], 1e-4))
    force_gap = float(force[-1]) - np.log10(max(-ediffg, 1e-12)) if moved and ediffg < 0 else np.nan
    energy = runs.ionic_energy[moves]
    steps_of_energy = np.log10(np.clip(np.abs(np.diff(energy)), 1e-12, None))
    energy_gap = float(steps_of_energy[-1]) - np.log10(max(abs(ediffg), 1e-12)) if moved > 1 else np.nan
    most_ionic = max(_or(settings["nsw"], 0.0) - moved, 0.0)
    toward, way = (force_gap, force_slope) if ediffg < 0 else (energy_gap, _slope(steps_of_energy[-_RECENT:]))
    dynamics = settings["ibrion"] == 0  # molecular dynamics makes all its steps
    ionic_left = most_ionic if dynamics else _steps_to_go(toward, way, most_ionic, moved) if moved else np.nan
    inside = float(runs.ionic_s[moves].sum())
    in_moves = float(seconds[: len(seconds) - now].sum())
    overhead = (inside - in_moves) / mean / moved if moved else np.nan
    each = float(per_ionic[-3:].mean()) if moved else np.nan
    guess = left + (_or(ionic_left, 0.0) * (each + _or(overhead, 0.0)) if moved else 0.0)
    return [
        np.log(max(used, 1e-3)),
        np.log(mean),
        float(seconds[0]) / mean,
        float(seconds[-3:].mean()) / mean,
        len(seconds),
        now,
        moved,
        float(current[-1]) if now else np.nan,
        slope,
        gap,
        left,
        float(runs.step_residual[steps][-1]),
        most_left,
        each,
        float(per_ionic[-1]) if moved else np.nan,
        float(force[-1]) if moved else np.nan,
        force_slope,
        force_gap,
        energy_gap,
        ionic_left,
        most_ionic,
        overhead,
        np.log1p(guess),
    ]


def _slope(values: FloatArray) -> float:
    """Change per step of the least-squares line. NaN for fewer than two values that are numbers."""
    numbers = ~np.isnan(values)
    if numbers.sum() < 2:
        return np.nan
    x = np.flatnonzero(numbers).astype(float)
    y = values[numbers]
    x -= x.mean()
    return float((x * (y - y.mean())).sum() / (x * x).sum())


def _steps_to_go(gap: float, slope: float, most: float, done: int) -> float:
    """Steps until a quantity that falls by -slope a step, in decades, has fallen by `gap`. Where it does not fall, or nothing is
    known, it is a little more than the steps done so far. The most that may be left (NSW = 9999) says nothing of what is left."""
    likely = min(float(done + _RECENT), most)
    if np.isnan(gap) or np.isnan(slope):
        return likely
    if gap <= 0:
        return 0.0
    return float(min(gap / -slope, 4 * likely, most)) if slope < -1e-3 else likely


def _or(value: float, other: float) -> float:
    return other if np.isnan(value) else value
