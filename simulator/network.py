"""The kernel network of RLScheduler inside the compiled engine: one small perceptron, applied to each waiting job.

Zhang et al. 2020, section IV-B: the same 32-16-8 network scores every visible job, so that the order of the queue
cannot matter. Features are ours: all are known to a scheduler at decision time and lie in about [0, 1].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled

VISIBLE_JOBS = 128
FEATURES = ("wait", "estimate", "procs", "area", "wait_over_estimate", "fits", "free_procs", "queue_length")
NUM_FEATURES = len(FEATURES)
HIDDEN = (32, 16, 8)

FloatArray = NDArray[np.float32]


class KernelWeights(NamedTuple):
    """Weights of the kernel network, float32; a matrix is (inputs, outputs)."""

    w1: FloatArray  # (NUM_FEATURES, 32)
    b1: FloatArray  # (32,)
    w2: FloatArray  # (32, 16)
    b2: FloatArray  # (16,)
    w3: FloatArray  # (16, 8)
    b3: FloatArray  # (8,)
    w4: FloatArray  # (8,)


def no_weights() -> KernelWeights:
    """Weights of the right shapes for replays whose policy is not a network."""
    shapes = [(NUM_FEATURES, 32), (32,), (32, 16), (16,), (16, 8), (8,), (8,)]
    return KernelWeights(*(np.zeros(shape, dtype=np.float32) for shape in shapes))


@compiled
def observe(queue, visible, now, free, submit, procs, estimate, cluster_procs, rows):
    """Fills `rows` (VISIBLE_JOBS, NUM_FEATURES) with the features of the first `visible` jobs of the queue."""
    log_cluster = math.log2(1.0 + cluster_procs)
    free_share = free / cluster_procs
    queue_share = visible / VISIBLE_JOBS
    for k in range(visible):
        job = queue[k]
        wait = float(now - submit[job])
        rows[k, 0] = math.log2(1.0 + wait) / 20.0
        rows[k, 1] = math.log2(1.0 + estimate[job]) / 20.0
        rows[k, 2] = math.log2(1.0 + procs[job]) / log_cluster
        rows[k, 3] = math.log2(1.0 + estimate[job] * procs[job] / cluster_procs) / 20.0
        rows[k, 4] = math.log2(1.0 + wait / estimate[job]) / 10.0
        rows[k, 5] = 1.0 if procs[job] <= free else 0.0
        rows[k, 6] = free_share
        rows[k, 7] = queue_share


@compiled
def score_rows(rows, visible, weights, scores):
    """Network outputs of the first `visible` rows into `scores` (VISIBLE_JOBS,), float32; the largest goes first."""
    hidden1 = np.empty(32, dtype=np.float32)
    hidden2 = np.empty(16, dtype=np.float32)
    hidden3 = np.empty(8, dtype=np.float32)
    zero = np.float32(0.0)
    for k in range(visible):
        for o in range(32):
            hidden1[o] = weights.b1[o]
        for i in range(NUM_FEATURES):
            x = rows[k, i]
            for o in range(32):
                hidden1[o] += x * weights.w1[i, o]
        for o in range(16):
            hidden2[o] = weights.b2[o]
        for i in range(32):
            x = hidden1[i]
            if x > zero:
                for o in range(16):
                    hidden2[o] += x * weights.w2[i, o]
        for o in range(8):
            hidden3[o] = weights.b3[o]
        for i in range(16):
            x = hidden2[i]
            if x > zero:
                for o in range(8):
                    hidden3[o] += x * weights.w3[i, o]
        total = zero
        for i in range(8):
            x = hidden3[i]
            if x > zero:
                total += x * weights.w4[i]
        scores[k] = total
