"""Features as numbers: what trees and regressions read of a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.runtime.predictor import SIMILAR_COLUMNS

MOST_WORDS = 256

LOGARITHMIC_FEATURES = (
    "requested_walltime_s",
    "requested_procs",
    "user_mean_requested_walltime_s",
    "user_mean_requested_procs",
    "user_jobs_ended",
    "user_mean_runtime_s",
    "user_median_runtime_s",
    "last_runtime_s",
    "second_last_runtime_s",
    "third_last_runtime_s",
    "last_two_runtime_s",
    "last_requested_walltime_s",
    "last_requested_procs",
    "seconds_since_last_end",
    "seconds_since_last_submission",
    "batch_position",
    "alike_jobs_ended",
    "alike_last_runtime_s",
    "alike_second_last_runtime_s",
    "alike_mean_runtime_s",
    "alike_median_runtime_s",
    "executable_jobs_ended",
    "executable_last_runtime_s",
    "executable_mean_runtime_s",
    "group_jobs_ended",
    "group_mean_runtime_s",
    "user_jobs_running",
    "user_running_elapsed_s",
    "user_jobs_waiting",
    "jobs_running",
    "procs_running",
    "jobs_waiting",
    "procs_waiting",
    "similar_mean_s",
    "similar_inverse_per_s",
    "similar_jobs",
    *SIMILAR_COLUMNS,
)
"""Times and counts: as log(1 + x)."""

PLAIN_FEATURES = (
    "hour_of_day",
    "day_of_week",
    "user_log_spread",
    "user_failed_share",
    "last_failed",
    "alike_log_spread",
    "same_request_as_last",
)
WORD_FEATURES = ("queue",)
"""Words: as the number of the word among those of the training rows, most frequent first."""

USER_BEHAVIOUR = (
    "requested_walltime_s",
    "requested_procs",
    "user_jobs_ended",
    "user_mean_runtime_s",
    "last_runtime_s",
    "second_last_runtime_s",
    "third_last_runtime_s",
    "seconds_since_last_end",
)
"""What RLSchert's general predictor reads (section 4.5.4): user, group and queue, time of submission, request, and the user's
completed jobs. Nothing else is said of it."""


@dataclass(frozen=True)
class Encoding:
    """logarithms, plain, names: columns that are read. words: of each column in `names`, the words that were seen, in the
    order of their numbers."""

    logarithms: tuple[str, ...]
    plain: tuple[str, ...]
    names: tuple[str, ...]
    words: dict[str, list[str]]

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of `matrix`, in their order."""
        return (*self.logarithms, *self.plain, *self.names)

    def matrix(self, rows: pl.DataFrame) -> NDArray[np.float32]:
        """float32 (rows, features), NaN where unknown."""
        # column by column in numpy: one job must take less than a millisecond, and a polars expression costs tens of us
        matrix = np.empty((rows.height, len(self.features)), dtype=np.float32)
        for k, name in enumerate((*self.logarithms, *self.plain)):
            matrix[:, k] = rows.get_column(name).to_numpy()
        logarithms = matrix[:, : len(self.logarithms)]
        np.log1p(np.maximum(logarithms, 0.0, out=logarithms), out=logarithms)
        for k, name in enumerate(self.names, start=len(self.logarithms) + len(self.plain)):
            numbers = {word: float(number) for number, word in enumerate(self.words[name])}
            matrix[:, k] = [numbers.get(word, np.nan) for word in rows.get_column(name).to_list()]
        return matrix


def encoding_of(rows: pl.DataFrame, kind: str = "all") -> Encoding:
    """The encoding that these rows teach. kind: "all" features, or "user behaviour"."""
    names = WORD_FEATURES if kind == "all" else ("user_name", "group_name", "queue")
    logarithms, plain = (
        (LOGARITHMIC_FEATURES, PLAIN_FEATURES) if kind == "all" else (USER_BEHAVIOUR, ("hour_of_day", "day_of_week"))
    )
    words = {}
    for name in names:
        counts = rows.group_by(name).len().drop_nulls(name).sort(["len", name], descending=[True, False])
        words[name] = counts[name].head(MOST_WORDS).to_list()
    return Encoding(logarithms, plain, names, words)
