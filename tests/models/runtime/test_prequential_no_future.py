"""No prediction knows the future: whatever became of jobs that had not ended by a moment, and whatever was submitted after it,
changes nothing about the jobs submitted up to it. Tested through the whole chain, from canonical jobs to calibrated quantiles."""

from __future__ import annotations

import gzip
import random
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from models.runtime import prequential as prequential_module
from models.runtime.calibration import calibrated
from models.runtime.named import PREDICTORS
from models.runtime.past.similar import similar_job_features
from models.runtime.predictor import Prediction
from models.runtime.prequential import periods_of, prequential
from tests.models.runtime.rows import Chain, another_future, odd_log, telling_moments
from tests.shared import shared_file

DAYS = 5


@pytest.fixture(autouse=True)
def fits_on_few_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prequential_module, "LEAST_FITTED", 40)


class Cut:
    """A log as it is, and with another future from a moment on; rows: as it is, changed: with the other future."""

    def __init__(self, chain: Chain, rows: pl.DataFrame, moment: datetime, seed: int) -> None:
        self.moment = moment
        self.rows = rows
        self.changed = chain.rows(another_future(chain.jobs, moment, random.Random(seed)))
        self.known = self.changed.height


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> list[Cut]:
    chain = Chain(tmp_path_factory.mktemp("cuts"), odd_log(jobs=320, seed=1))
    rows = chain.rows()
    moments = telling_moments(chain.jobs, random.Random(1), 3)
    return [Cut(chain, rows, moment, seed) for seed, moment in enumerate(moments)]


def test_the_other_future_is_another_one(cuts: list[Cut]) -> None:
    """Guards the tests below."""
    for cut in cuts:
        before = cut.rows[: cut.known]
        assert before["job_index"].equals(cut.changed["job_index"])
        assert 100 < cut.known < cut.rows.height
        assert (before["runtime_s"] != cut.changed["runtime_s"]).sum() > 3
        ended = before["end_time"] < cut.moment
        assert before.filter(ended)["runtime_s"].equals(cut.changed.filter(ended)["runtime_s"])
    periods = periods_of(cuts[0].rows, DAYS)
    assert sum(period.fitted >= 40 for period in periods) >= 3


@pytest.mark.parametrize("name", PREDICTORS)
def test_predictors_as_in_operation(cuts: list[Cut], name: str) -> None:
    whole = prequential(cuts[0].rows, name, DAYS, threads=1)
    streamed = calibrated(whole, cuts[0].rows)
    for cut in cuts:
        found = prequential(cut.changed, name, DAYS, threads=1)
        assert_same(found, head(whole, cut.known))
        assert_same(calibrated(found, cut.changed), head(streamed, cut.known))


@pytest.mark.parametrize("name", ["last_two", "xgboost_asymmetric"])
def test_ends_that_are_not_known(cuts: list[Cut], name: str) -> None:
    """The same where a log that was cut at the moment tells nothing of later ends."""
    whole = prequential(cuts[0].rows, name, DAYS, threads=1)
    streamed = calibrated(whole, cuts[0].rows)
    for cut in cuts:
        ended = pl.col("end_time") < cut.moment
        kept = [pl.when(ended).then(column).alias(column) for column in ("end_time", "runtime_s", "status")]
        cut_off = cut.rows[: cut.known].with_columns(*kept)
        assert cut_off["runtime_s"].null_count() > 3
        found = prequential(cut_off, name, DAYS, threads=1)
        assert_same(found, head(whole, cut.known))
        assert_same(calibrated(found, cut_off), head(streamed, cut.known))


def test_similar_jobs_whatever_became_of_the_others(cuts: list[Cut]) -> None:
    whole = similar_job_features(cuts[0].rows)
    for cut in cuts:
        assert similar_job_features(cut.changed).equals(whole[: cut.known])


def test_a_job_that_ended_before_it_was_submitted_breaks_nothing() -> None:
    """Logs with a wrong clock tell of such jobs. There is no quantile yet that could be judged by one."""
    rows = pl.DataFrame({
        "submit_time": [datetime(2026, 1, 1, hour) for hour in range(6)],
        "end_time": [datetime(2026, 1, 1, hour, 30) for hour in (0, 1, 2, 3, 1, 5)],
        "runtime_s": [100, 100, 100, 100, 10_000, 100], "requested_walltime_s": [7200] * 6,
    })  # fmt: skip
    quantiles = np.tile(np.geomspace(50, 400, 8), (6, 1))
    prediction = Prediction(quantiles[:, 3], quantiles)
    found = calibrated(prediction, rows)
    without = calibrated(prediction, rows.with_columns(runtime_s=pl.Series([100, 100, 100, 100, None, 100])))
    assert_same(found, without)
    assert_same(found, calibrated(prediction, rows))


# ------------------------------------------------------------------------------------------------------------- a real log


@pytest.fixture(scope="module")
def hpc2n(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    """The first 20,000 jobs."""
    lines = []
    with gzip.open(shared_file("traces", "swf", "HPC2N-2002-2.2-cln.swf.gz"), "rt") as log:
        for line in log:
            lines.append(line)
            if len(lines) == 20_500:
                break
    return Chain(Path(tmp_path_factory.mktemp("hpc2n")), "".join(lines))


def test_a_real_log(hpc2n: Chain) -> None:
    """Similar jobs, and the mean of the user's last two, as in operation."""
    jobs = hpc2n.jobs.filter(pl.col("start_time").is_not_null() & pl.col("end_time").is_not_null())[:20_000]
    assert jobs.height == 20_000
    rows = hpc2n.rows(jobs)
    moment = rows["end_time"].sort()[12_000]
    changed = hpc2n.rows(another_future(jobs, moment, random.Random(5)))
    names = [name for name in rows.columns if name.startswith("similar_")]
    known = rows.filter(pl.col("submit_time") <= moment)
    assert changed["job_index"].equals(known["job_index"])
    assert (known["runtime_s"] != changed["runtime_s"]).sum() > 20
    assert changed.select(names).equals(known.select(names))
    for name in ("last_two", "similar_jobs"):
        before, after = prequential(rows, name, 60, threads=1), prequential(changed, name, 60, threads=1)
        assert_same(after, head(before, known.height))
        assert_same(calibrated(after, changed), head(calibrated(before, rows), known.height))


def head(prediction: Prediction, count: int) -> Prediction:
    return Prediction(prediction.point[:count], prediction.quantiles[:count])


def assert_same(found: Prediction, expected: Prediction) -> None:
    differ = np.flatnonzero((found.point != expected.point) | (found.quantiles != expected.quantiles).any(axis=1))
    assert not len(differ), f"{len(differ)} of {len(expected)} predictions changed, the first of row {differ[0]}"
