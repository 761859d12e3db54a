"""The words for run times that a scheduler believes: parsed once, and written back as tables hold them."""

from __future__ import annotations

import pytest

from models.runtime.estimates import AS_LOGGED, LIVE_STATISTICS, Estimates
from models.runtime.predictor import PERCENTS


@pytest.mark.parametrize(
    "text",
    [
        "requested",
        "actual",
        "predicted",
        *(f"predicted:{percent}" for percent in PERCENTS),
        *(f"live:{statistic}" for statistic in LIVE_STATISTICS),
    ],
)
def test_there_and_back(text: str) -> None:
    estimates = Estimates.parse(f" {text.upper()} ")
    assert str(estimates) == text
    assert Estimates.of(text) == Estimates.of(estimates) == estimates
    assert estimates.may_underestimate == text.startswith(("predicted", "live"))


def test_live_ones_are_means_unless_said_and_begin_with_requests() -> None:
    live = Estimates.parse("live")
    assert (str(live), live.statistic, live.at_submission, live.is_live) == ("live:mean", "mean", "requested", True)
    assert (Estimates.parse("actual").statistic, Estimates.parse("actual").at_submission) == ("given", "actual")


def test_predicted_ones_name_their_column() -> None:
    assert Estimates.parse("predicted").column == "predicted_runtime_s"
    assert Estimates.parse("predicted:p80").column == "runtime_p80_s"


def test_nobody_asks_for_estimates_as_logged() -> None:
    assert str(AS_LOGGED) == AS_LOGGED.at_submission == "as logged" and not AS_LOGGED.may_underestimate
    with pytest.raises(ValueError, match="unknown estimates 'as logged'"):
        Estimates.parse(str(AS_LOGGED))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "unknown estimates ''; expected one of requested, actual, predicted, live, predicted:QUANTILE"),
        ("actual:p80", "unknown estimates 'actual:p80'"),
        ("predicted:p81", "unknown quantile of predicted estimates 'p81'; did you mean 'p80'? Expected one of p05"),
        ("predicted:", "unknown quantile of predicted estimates ''"),
        ("live:most", "unknown statistic of live estimates 'most'; expected one of mean"),
    ],
)
def test_what_is_none(text: str, says: str) -> None:
    with pytest.raises(ValueError) as caught:
        Estimates.parse(text)
    assert str(caught.value).startswith(says)
