"""What a policy has learned as a short formula, which a centre can put into its scheduler (PBS job_sort_formula) tomorrow.

The formula is a weighted sum of a few terms of each job. Its weights make the network's own choices as likely as possible under a
softmax over the waiting jobs (McFadden's conditional logit), on decisions that the policy meets when it replays the trace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.choices import imitation_gradient
from simulator.policies.network import KernelWeights, score_rows
from simulator.policies.observation import layout_of

FloatArray = NDArray[np.float64]

TERMS = {
    "log2(1 + wait)": ("wait",),
    "wait/3600": ("wait",),
    "log2(1 + estimate)": ("estimate",),
    "log2(1 + procs)": ("procs",),
    "log2(1 + estimate)*log2(1 + procs)": ("estimate", "procs"),
}
"""Terms of the formula, and the inputs of the network that they are computed from."""
STEPS, RATE = 400, 0.05


@dataclass(frozen=True)
class FittedFormula:
    """formula: as `tracehouse replay --policy` takes it, the highest value goes first.

    agreement: share of the policy's choices that the formula makes, too. decisions: how many choices there were.
    """

    formula: str
    agreement: float
    decisions: int


def fit_formula(arena: Arena, weights: KernelWeights, windows: Windows, seed: int) -> FittedFormula:
    """Fits the formula on decisions of the policy in these windows. Same arguments, same formula.

    Raises ValueError for a network that does not read what the terms are made of.
    """
    inputs = layout_of(weights).inputs
    missing = sorted({name for names in TERMS.values() for name in names} - set(inputs))
    if missing:
        raise ValueError(
            f"the policy does not read {', '.join(missing)}, of which the formula is made: distil one of the layouts plain or "
            "informed"
        )
    recorded = arena.sample(weights, windows, seed)
    if not recorded.decisions:
        raise ValueError("the policy met no choice between two jobs in these windows: take busier or longer ones")
    terms = _terms(recorded.features, inputs, arena.cluster_procs)
    scores = np.empty(len(terms), dtype=np.float32)
    score_rows(recorded.features, len(terms), weights, scores)
    choice = np.array(
        [scores[a : a + n].argmax() for a, n in zip(recorded.first_row, recorded.num_rows, strict=True)], dtype=np.int64
    )
    scale = terms.std(axis=0) + 1e-9
    columns = (terms / scale).astype(np.float32)
    fitted, hits = _fit(columns, recorded.num_rows, choice)
    return FittedFormula(_text(fitted / scale), hits / recorded.decisions, recorded.decisions)


def _terms(features: NDArray[np.float32], inputs: tuple[str, ...], cluster_procs: int) -> FloatArray:
    """Columns of TERMS, from the inputs as networks read them (simulator/policies/observation.py, simulator/policies/network.py)."""
    column = {name: features[:, inputs.index(name)].astype(np.float64) for name in ("wait", "estimate", "procs")}
    log_wait, log_estimate = 20.0 * column["wait"], 20.0 * column["estimate"]
    log_procs = column["procs"] * np.log2(1.0 + cluster_procs)
    return np.column_stack(
        [log_wait, (np.exp2(log_wait) - 1.0) / 3600.0, log_estimate, log_procs, log_estimate * log_procs]
    )


def _fit(
    columns: NDArray[np.float32], num_rows: NDArray[np.int64], choice: NDArray[np.int64]
) -> tuple[FloatArray, int]:
    """Weights of the columns by Adam on the whole, and how many choices they make."""
    decisions = len(choice)
    weight = np.full(decisions, 1.0 / decisions, dtype=np.float32)
    beta = np.zeros(columns.shape[1])
    first, second = np.zeros_like(beta), np.zeros_like(beta)
    gradient = np.empty(len(columns), dtype=np.float32)
    hits = 0
    for step in range(1, STEPS + 1):
        _, hits = imitation_gradient((columns @ beta).astype(np.float32), num_rows, choice, weight, gradient)
        slope = gradient @ columns
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        rate = RATE * (1.0 - 0.95 * step / STEPS)
        beta = beta - rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-9)
    return beta, int(hits)


def _text(beta: FloatArray) -> str:
    """Weights relative to the largest, three digits: only ratios matter to an order."""
    beta = beta / np.abs(beta).max()
    signs = {True: " - ", False: " + "}
    text = "".join(
        f"{signs[bool(value < 0)]}{abs(value):.3g}*{term}"
        for term, value in zip(TERMS, beta, strict=True)
        if abs(value) >= 5e-4
    )
    return "formula:" + (f"-{text[3:]}" if text.startswith(" - ") else text[3:])
