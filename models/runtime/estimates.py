"""The run times that a scheduler uses, as users name them. They are parsed once, here."""

from __future__ import annotations

from dataclasses import dataclass

from models.runtime.predictor import PERCENTS
from simulator.jobs.words import one_of, unknown_word

ESTIMATE_KINDS = ("requested", "actual", "predicted", "live")
LIVE_STATISTICS = ("mean", "slowdown", "last_two", "median", "p60", "p70", "p75", "p80", "p90", "p95")
"""What live estimates take from the run times of similar jobs.

The mean. Slowdown: the run time with which a job's bounded slowdown equals its average over the similar jobs, sqrt(mean / mean of
1 / max(run time, 10 s)). The mean of the user's last two (Tsafrir et al. 2007). A quantile.
"""
USUAL_STATISTIC = "mean"
GIVEN_STATISTIC = "given"
"""The statistic of estimates that do not change after submission."""


@dataclass(frozen=True)
class Estimates:
    """The run times that the scheduler uses. docs/reference/semantics.md defines every kind.

    kind: one of ESTIMATE_KINDS, or "as logged", which the RLScheduler rules have and no user can choose.
    detail: for predicted estimates the quantile, one of PERCENTS, or empty for the point. For live ones the statistic, one of
    LIVE_STATISTICS. Empty for the others.
    """

    kind: str = "requested"
    detail: str = ""

    @classmethod
    def parse(cls, text: str) -> Estimates:
        """What a user wrote, such as `requested`, `predicted:p80` or `live`. Raises ValueError for other texts."""
        kind, colon, detail = text.strip().lower().partition(":")
        if kind not in ESTIMATE_KINDS or (colon and kind not in ("predicted", "live")):
            raise ValueError(
                unknown_word(
                    "estimates",
                    text,
                    ESTIMATE_KINDS,
                    ", predicted:QUANTILE (such as predicted:p80) or live:STATISTIC (such as live:median)",
                )
            )
        if kind == "live":
            return cls(kind, one_of("statistic of live estimates", detail or USUAL_STATISTIC, LIVE_STATISTICS))
        if colon:
            return cls(kind, one_of("quantile of predicted estimates", detail, PERCENTS))
        return cls(kind)

    @classmethod
    def of(cls, estimates: Estimates | str) -> Estimates:
        """The estimates, parsed where they are text. Raises as `parse` does."""
        return cls.parse(estimates) if isinstance(estimates, str) else estimates

    def __str__(self) -> str:
        """The text that parses to these estimates, as tables hold it."""
        return f"{self.kind}:{self.detail}" if self.detail else self.kind

    @property
    def is_live(self) -> bool:
        """Whether they change while a job waits."""
        return self.kind == "live"

    @property
    def is_predicted(self) -> bool:
        """Whether they are predictions of the predictor in use, made at submission."""
        return self.kind == "predicted"

    @property
    def may_underestimate(self) -> bool:
        """Whether a job can run longer than them. That is so if they come from other jobs' run times."""
        return self.is_live or self.is_predicted

    @property
    def at_submission(self) -> str:
        """The word for simulator.jobs.jobs.jobs_from_log. Live estimates begin with the request."""
        return "requested" if self.is_live else self.kind

    @property
    def column(self) -> str:
        """The column of predictions.runtime_predictions that holds predicted estimates."""
        return f"runtime_{self.detail}_s" if self.detail else "predicted_runtime_s"

    @property
    def statistic(self) -> str:
        """The statistic of LiveSettings: that of live estimates, and GIVEN_STATISTIC for the others."""
        return self.detail if self.is_live else GIVEN_STATISTIC


REQUESTED = Estimates()
AS_LOGGED = Estimates("as logged")
"""The request even where the job ran longer, as the RLScheduler code takes it."""
