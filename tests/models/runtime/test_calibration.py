"""Tests of models/runtime: calibration, estimates, live_agents, prequential, scores."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

from models.runtime.calibration import calibrated
from models.runtime.estimates import AS_LOGGED, LIVE_STATISTICS, Estimates
from models.runtime.live import LiveReplay, LiveSettings, replay_live
from models.runtime.predictor import LEVELS, PERCENTS, Prediction
from models.runtime.prequential import (
    BASELINE,
    Period,
    first_then,
    period_scores_of_predictors,
    prediction_of_rows,
    prediction_rows,
    user_class_scores,
)
from models.runtime.scores import USER_CLASSES, gain_interval, score, user_classes
from simulator.jobs.jobs import Jobs
from simulator.policies.agents import parse_agent
from simulator.policies.registry import Policy, assisted
from tests.simulator.busy import PROCS, busy_jobs, random_weights

# calibration: Calibrated quantiles: against plain Python, and what they promise in the long run.

BEGIN = datetime(2026, 1, 1)
SPREAD = 0.8


def stream(jobs: int, seed: int = 1, request_s: int | None = 10**7) -> tuple[pl.DataFrame, np.ndarray]:
    """Independent jobs, ten of them under way at a time, and the medians of their log-normal run times."""
    rng = np.random.default_rng(seed)
    median = rng.lognormal(8, 1, jobs)
    true = np.maximum(1, np.rint(median * rng.lognormal(0, SPREAD, jobs))).astype(np.int64)
    submit = [BEGIN + timedelta(minutes=k) for k in range(jobs)]
    end = [time + timedelta(seconds=int(rng.integers(1, 1200))) for time in submit]
    data = {"submit_time": submit, "end_time": end, "runtime_s": true, "requested_walltime_s": [request_s] * jobs}
    return pl.DataFrame(data, schema_overrides={"requested_walltime_s": pl.Int64}), median


def true_quantiles(median: np.ndarray, factor: float = 1.0, spread: float = SPREAD) -> Prediction:
    """The quantiles of the stream, or those times a factor, or of another spread."""
    z = np.array([NormalDist().inv_cdf(level) for level in LEVELS])
    return Prediction(median * factor, np.maximum(1, median[:, None] * factor * np.exp(spread * z)[None, :]))


def coverage(prediction: Prediction, rows: pl.DataFrame, level: float, first: int = 0) -> float:
    quantile = prediction.quantiles[first:, LEVELS.index(level)]
    return float((rows["runtime_s"].to_numpy()[first:] <= quantile).mean())


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
@pytest.mark.parametrize(("factor", "spread"), [(0.5, SPREAD), (2.0, SPREAD), (1.0, SPREAD / 2), (0.7, 2 * SPREAD)])
def test_wrong_quantiles_come_to_hold_what_they_promise(factor: float, spread: float, level: float) -> None:
    rows, median = stream(20_000)
    wrong = true_quantiles(median, factor, spread)
    right = calibrated(wrong, rows)
    assert abs(coverage(right, rows, level, first=2000) - level) < 0.02
    np.testing.assert_array_equal(right.point, wrong.point)
    if (factor, spread) != (1.0, SPREAD / 2) or level != 0.5:  # a median is right whatever the spread
        assert abs(coverage(wrong, rows, level) - level) > 0.05


def test_right_quantiles_change_little() -> None:
    rows, median = stream(20_000, seed=2)
    right = true_quantiles(median)
    found = calibrated(right, rows)
    for level in (0.5, 0.8, 0.9):
        assert abs(coverage(found, rows, level) - level) < 0.02
    ratio = np.log(found.quantiles / right.quantiles)[:, 2:7]
    assert np.median(np.abs(ratio)) < 0.2 and np.abs(ratio.mean(axis=0)).max() < 0.1


def test_a_change_of_ways_is_followed() -> None:
    """Half of the way through, jobs run three times as long as before; the predictor never notices."""
    rows, median = stream(20_000, seed=3)
    rows = rows.with_columns(
        pl.when(pl.int_range(pl.len()) >= 10_000)
        .then(3 * pl.col("runtime_s"))
        .otherwise("runtime_s")
        .alias("runtime_s")
    )
    found = calibrated(true_quantiles(median), rows)
    assert abs(coverage(found, rows, 0.8, first=11_000) - 0.8) < 0.02
    assert coverage(true_quantiles(median), rows, 0.8, first=11_000) < 0.5


def test_quantiles_end_a_little_above_the_request() -> None:
    """1.05 times the request and a minute; without a request four times the highest quantile and a minute."""
    for request, ceiling in ((1000, 1110.0), (None, None)):
        rows, median = stream(3000, seed=4, request_s=request)
        raw = true_quantiles(median, 0.05)
        found = calibrated(raw, rows)
        most = np.full(len(median), ceiling) if ceiling else 4 * raw.quantiles[:, -1] + 60
        assert (found.quantiles <= most[:, None] * (1 + 1e-12)).all()
        assert (found.quantiles[:, -1] > 0.999 * most).any() or request is None
        assert (found.quantiles >= 1).all() and (np.diff(found.quantiles, axis=1) >= 0).all()


def at(level: float, quantiles: list[float]) -> float:
    """The logarithm of a quantile at any level."""
    logs = [math.log(max(value, 1)) for value in quantiles]
    if level > LEVELS[-1] or level < LEVELS[0]:
        end = -1 if level > LEVELS[-1] else 0
        middle = LEVELS.index(0.5)
        slope = max(abs(logs[end] - logs[middle]), 0.05) / abs(LEVELS[end] - LEVELS[middle])
        return logs[end] + (level - LEVELS[end]) * slope
    return float(np.interp(level, LEVELS, logs))


def plain(prediction: Prediction, rows: pl.DataFrame, step: float) -> np.ndarray:
    jobs = rows.to_dicts()
    asked = list(LEVELS)
    told: list[list[float]] = []
    by_end = sorted(
        (k for k, job in enumerate(jobs) if job["end_time"] and job["runtime_s"]), key=lambda k: jobs[k]["end_time"]
    )
    for k, job in enumerate(jobs):
        while by_end and jobs[by_end[0]]["end_time"] < job["submit_time"]:
            ended = by_end.pop(0)
            for q, level in enumerate(LEVELS):
                outlived = math.log(jobs[ended]["runtime_s"]) > told[ended][q]
                asked[q] = min(max(asked[q] + step * (level if outlived else level - 1), -0.1), 1.25)
        raw = prediction.quantiles[k].tolist()
        request = job["requested_walltime_s"]
        ceiling = math.log((1.05 * request if request else 4 * raw[-1]) + 60)
        values: list[float] = []
        for level in asked:
            values.append(min(max([0.0, *values[-1:], at(level, raw)]), ceiling))
        told.append(values)
    return np.exp(told)


@pytest.mark.parametrize("step", [0.01, 0.3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_against_plain_python(seed: int, step: float) -> None:
    """A step of 0.3 leads beyond the outermost levels."""
    rows, median = stream(250, seed)
    rng = np.random.default_rng(seed)
    rows = rows.with_columns(
        pl.when(pl.Series(rng.random(250) < 0.9)).then("end_time").alias("end_time"),
        pl.when(pl.Series(rng.random(250) < 0.95)).then("runtime_s").alias("runtime_s"),
        pl.Series("requested_walltime_s", rng.choice([None, 3000, 9000, 10**6], 250).tolist(), dtype=pl.Int64),
        pl.col("submit_time").dt.truncate("5m"),
    )
    raw = true_quantiles(median, rng.choice([0.2, 1.0, 4.0]))
    flat = rng.random(250) < 0.1  # jobs killed at their limit: all quantiles coincide
    raw.quantiles[flat] = raw.quantiles[flat, -1:]
    np.testing.assert_allclose(calibrated(raw, rows, step).quantiles, plain(raw, rows, step), rtol=1e-9)


def test_no_rows() -> None:
    rows, median = stream(5)
    found = calibrated(Prediction(median[:0], np.zeros((0, len(LEVELS)))), rows[:0])
    assert found.point.shape == (0,) and found.quantiles.shape == (0, len(LEVELS))


# estimates: The words for run times that a scheduler believes: parsed once, and written back as tables hold them.


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


# score_tables: Predictions and their scores as tables.


def flat(points: list[float]) -> Prediction:
    """Points whose quantiles are all the same."""
    point = np.array(points)
    return Prediction(point, np.repeat(point[:, None], len(LEVELS), axis=1))


def test_rows_and_back() -> None:
    prediction = flat([10.0, 20.0, 30.0])
    rows = prediction_rows(pl.Series("job_index", [4, 5, 6]), prediction, "x")
    assert rows["job_index"].to_list() == [4, 5, 6] and set(rows["predictor"]) == {"x"}
    again = prediction_of_rows(rows)
    assert (again.point == prediction.point).all() and (again.quantiles == prediction.quantiles).all()
    joined = first_then(prediction, 2, flat([7.0]))
    assert joined.point.tolist() == [10, 20, 7] and joined.quantiles[:, 0].tolist() == [10, 20, 7]


def test_scores_by_class_of_users_against_the_baseline() -> None:
    """One user with 40 jobs, predicted 10 s too short; six with 5 each, predicted exactly. The baseline is 20 s off."""
    users = ["a"] * 40 + [name for name in "bcdefg" for _ in range(5)]
    true = np.full(70, 100.0)
    predictions = {"x": flat([90.0] * 40 + [100.0] * 30), BASELINE: flat([120.0] * 70)}
    fallback = {"x": np.arange(70) < 45, BASELINE: np.zeros(70, dtype=bool)}
    rows = user_class_scores(pl.DataFrame({"user_name": users}), predictions, fallback, true, seed=1)
    of_x = {row["user_class"]: row for row in rows.filter(pl.col("predictor") == "x").to_dicts()}
    assert {name: row["jobs"] for name, row in of_x.items()} == {
        "all users": 70, "up to 30 jobs": 30, "31 to 1,000 jobs": 40
    }  # fmt: skip
    assert [row["fallback_jobs"] for row in of_x.values()] == [45, 5, 40]
    assert rows.filter(pl.col("predictor") == BASELINE)["fallback_jobs"].to_list() == [0] * 3
    assert (
        of_x["31 to 1,000 jobs"]["mean_absolute_error_s"] == 10 and of_x["up to 30 jobs"]["mean_absolute_error_s"] == 0
    )
    assert of_x["up to 30 jobs"]["mae_gain_over_last_two_s"] == 20
    assert of_x["31 to 1,000 jobs"]["mae_gain_low_s"] is None  # one user tells nothing of others
    assert of_x["all users"]["mae_gain_over_last_two_s"] == pytest.approx((40 * 10 + 30 * 20) / 70)
    assert rows.filter(pl.col("predictor") == BASELINE)["mae_gain_over_last_two_s"].null_count() == 3


def test_scores_by_period() -> None:
    periods = [Period(datetime(2026, 1, 1), 0, 3, 7), Period(datetime(2026, 2, 1), 3, 4, 9)]
    fallback = {"x": np.array([True] * 3 + [False])}
    true = np.array([20.0, 10.0, 10.0, 30.0])
    rows = period_scores_of_predictors(periods, {"x": flat([10.0, 10.0, 10.0, 40.0])}, fallback, true)
    assert rows["fallback_jobs"].to_list() == [3, 0]
    assert rows["jobs"].to_list() == [3, 1] and rows["jobs_fitted"].to_list() == [7, 9]
    assert rows["mean_absolute_error_s"].to_list() == [pytest.approx(10 / 3), 10]


# scores: Scores of predictions by hand.


def test_every_score_by_hand() -> None:
    """Points 100, 50, 300 and 10 s for run times of 80, 200, 300 and 40 s; quantiles 10, 20, ... 80 s for all."""
    true = np.array([80.0, 200.0, 300.0, 40.0])
    found = score(Prediction(np.array([100.0, 50.0, 300.0, 10.0]), np.tile(np.arange(10.0, 90.0, 10.0), (4, 1))), true)
    assert found["mean_absolute_error_s"] == (20 + 150 + 0 + 30) / 4
    assert found["median_absolute_error_s"] == 25
    assert found["mean_absolute_percentage_error"] == pytest.approx((0.25 + 0.75 + 0 + 0.75) / 4)
    assert found["mean_accuracy"] == pytest.approx((0.8 + 0.25 + 1 + 0.25) / 4)
    assert found["underestimated_share"] == 0.5  # a run time that is met is not underestimated
    # at 40 s, the median: 40 s meets it; at 70 s and 80 s, 90 % and 95 %
    assert found["coverage_50"] == 0.25 and found["coverage_80"] == 0.25 and found["coverage_90"] == 0.25
    losses = []
    for runtime in (80, 200, 300, 40):
        for level, quantile in zip((0.05, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95), range(10, 90, 10), strict=True):
            above = runtime - quantile
            losses.append(level * above if above >= 0 else (1 - level) * -above)
    assert found["pinball_loss_s"] == pytest.approx(sum(losses) / 32)
    assert len(found) == 9


def test_coverage_by_level() -> None:
    quantiles = np.tile(np.arange(1.0, 9.0), (10, 1))
    true = np.array([4.0, 4.1, 6.0, 6.1, 7.0, 7.1, 1.0, 1.0, 1.0, 1.0])  # levels 50, 80 and 90 % are at 4, 6 and 7 s
    found = score(Prediction(quantiles[:, 3], quantiles), true)
    assert [LEVELS.index(level) for level in (0.5, 0.8, 0.9)] == [3, 5, 6]
    assert (found["coverage_50"], found["coverage_80"], found["coverage_90"]) == (0.5, 0.7, 0.9)


def test_a_perfect_prediction() -> None:
    true = np.array([1.0, 50.0, 7000.0])
    found = score(Prediction(true, np.repeat(true[:, None], len(LEVELS), axis=1)), true)
    assert found["mean_accuracy"] == 1 and found["coverage_50"] == 1
    assert sum(value for name, value in found.items() if not name.startswith(("mean_accuracy", "coverage"))) == 0


def test_classes_of_users() -> None:
    jobs = {"few": 30, "some": 31, "many": 1000, "most": 1001, "": 2}
    users = np.array([user for user, count in jobs.items() for _ in range(count)], dtype=object)
    shuffled = np.random.default_rng(1).permutation(len(users))
    found = user_classes(users[shuffled])
    expected = {"few": 0, "some": 1, "many": 1, "most": 2, "": 0}
    assert found.tolist() == [expected[user] for user in users[shuffled]]
    assert len(USER_CLASSES) == 3


def test_a_clear_gain() -> None:
    """Every user gains 10 s in the mean; users of many jobs count for as many."""
    rng = np.random.default_rng(2)
    users = rng.integers(0, 20, 2000)
    baseline = rng.uniform(100, 200, 2000)
    gain, low, high = gain_interval(baseline - 10 + rng.normal(0, 5, 2000), baseline, users, seed=1)
    assert gain == pytest.approx(10, abs=0.5)
    assert low is not None and high is not None
    assert 9 < low < gain < high < 11
    assert gain_interval(baseline - 10, baseline, users, seed=1) == pytest.approx((10, 10, 10))


def test_a_gain_of_one_user_is_none_of_all() -> None:
    """One of six users gains much with many jobs; a bootstrap over jobs would be sure of it."""
    users = np.array([0] * 500 + [1, 2, 3, 4, 5] * 100)
    baseline = np.full(1000, 100.0)
    error = np.where(users == 0, 60.0, 110.0)
    gain, low, high = gain_interval(error, baseline, users, seed=3)
    assert gain == 15
    assert low is not None and high is not None and low < 0 < gain < high


def test_the_interval_against_a_loop() -> None:
    rng = np.random.default_rng(4)
    users = np.array(["a", "b", "c", "d", "e", "f"])[rng.integers(0, 6, 300)]
    error, baseline = rng.uniform(0, 10, 300), rng.uniform(0, 12, 300)
    drawn = np.random.default_rng(9).integers(6, size=(1000, 6))
    means = []
    for draw in drawn:
        picked = np.concatenate([np.flatnonzero(users == "abcdef"[k]) for k in draw])
        means.append((baseline[picked] - error[picked]).mean())
    gain, low, high = gain_interval(error, baseline, users, seed=9)
    assert gain == pytest.approx((baseline - error).mean())
    assert (low, high) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])))


@pytest.mark.parametrize(("users", "known"), [(4, False), (5, True)])
def test_few_users_tell_nothing(users: int, known: bool) -> None:
    number = np.arange(100) % users
    gain, low, high = gain_interval(np.zeros(100), np.full(100, 3.0), number, seed=1)
    assert gain == 3
    assert (low is not None and high is not None) == known


# live_agents: Agents in replays that note what heads are promised: behind a guard no head is late, whoever picks;
# rules go with live estimates.


def exact_jobs() -> tuple[Jobs, pl.DataFrame]:
    busy = busy_jobs(1500)
    jobs = Jobs(busy.submit, busy.runtime, busy.procs, busy.runtime, busy.runtime, origin=busy.origin, user=busy.user)
    rows = pl.DataFrame(
        {
            "user_name": [f"u{user}" for user in jobs.user],
            "executable": ["x"] * len(jobs),
            "requested_procs": jobs.procs,
            "requested_walltime_s": jobs.runtime,
        }
    )
    return jobs, rows


def replayed(policy: str | Policy, backfill: str = "easy", statistic: str = "given") -> LiveReplay:
    jobs, rows = exact_jobs()
    return replay_live(jobs, rows, PROCS, policy, backfill, settings=LiveSettings(statistic, reserve_by="estimate"))


def lateness(run: LiveReplay) -> np.ndarray:
    """By how many seconds each head started later than its promise."""
    heads = run.promised >= 0
    return (run.schedule.start - run.promised)[heads]


@pytest.mark.parametrize("seed", range(5))
def test_no_head_is_late_behind_a_guard(seed: int) -> None:
    """Exact estimates, first come first served, a network that picks for no reason, or picks none."""
    agent = parse_agent("pick:by=first,window=64-63").learned(random_weights(seed, "picking"))
    late = lateness(replayed(assisted("FCFS", agent)))
    assert len(late) > 100 and late.max() == 0
    easy = replayed("FCFS")
    assert lateness(easy).max() == 0
    assert replayed(assisted("FCFS", agent)).schedule.start.tolist() != easy.schedule.start.tolist()


def test_heads_are_late_without_a_guard() -> None:
    agent = parse_agent("pick:by=first,window=64-63,slack_s=3000").learned(random_weights(1, "picking"))
    assert 0 < lateness(replayed(assisted("FCFS", agent))).max() <= 3000


@pytest.mark.parametrize(
    ("picks", "named"), [("pick", "easy"), ("pick:by=shortest", "easy-sjbf"), ("pick:guard=none", "any")]
)
def test_rules_pick_by_live_estimates(picks: str, named: str) -> None:
    for policy in ("FCFS", "SAF"):
        ours, theirs = replayed(policy, picks, "mean"), replayed(policy, named, "mean")
        assert ours.schedule.start.tolist() == theirs.schedule.start.tolist()
