"""The generated workload as a whole: its load, its users, and the distributions that the parts promise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from traces.synthetic.lublin import JOB_CLASSES, DailyCycle, job_sizes, run_times
from traces.synthetic.users import batch_lengths, submission_order
from traces.synthetic.workload import WorkloadOptions, generate_workload

OPTIONS = WorkloadOptions(jobs=20_000, procs=256, seed=1)
CLASSES = sorted(JOB_CLASSES)


@cache
def workload(job_class: str, seed: int = 1) -> pl.DataFrame:
    return generate_workload(replace(OPTIONS, job_class=job_class, seed=seed))


def numbers(frame: pl.DataFrame, column: str) -> np.ndarray:
    return frame[column].to_numpy()


def offered_load(frame: pl.DataFrame, procs: int) -> float:
    area = (numbers(frame, "runtime_s") * numbers(frame, "procs")).sum()
    return float(area / (procs * np.ptp(numbers(frame, "submit_s"))))


@pytest.mark.parametrize("job_class", CLASSES)
def test_rows_are_complete_and_ordered(job_class: str) -> None:
    frame = workload(job_class)
    assert frame.schema == {
        "job_number": pl.Int64,
        "submit_s": pl.Int64,
        "runtime_s": pl.Int64,
        "procs": pl.Int64,
        "requested_walltime_s": pl.Int64,
        "user": pl.String,
        "group": pl.String,
        "queue": pl.String,
        "executable": pl.String,
    }
    assert frame["job_number"].to_list() == list(range(1, 20_001))
    assert frame["submit_s"].is_sorted() and numbers(frame, "submit_s").min() >= 0
    assert numbers(frame, "procs").min() >= 1 and numbers(frame, "procs").max() <= 256
    assert numbers(frame, "runtime_s").min() >= 1
    assert (frame["requested_walltime_s"] >= frame["runtime_s"]).all()
    assert numbers(frame, "requested_walltime_s").max() == OPTIONS.max_walltime_s
    assert set(frame["queue"]) == {"short", "normal", "long"}
    assert numbers(frame.filter(pl.col("queue") == "short"), "requested_walltime_s").max() <= 3600
    assert numbers(frame.filter(pl.col("queue") == "long"), "requested_walltime_s").min() > 43_200
    assert frame.null_count().sum_horizontal().item() == 0


@pytest.mark.parametrize("load", [0.3, 0.85, 1.2])
@pytest.mark.parametrize("job_class", CLASSES)
def test_offered_load_is_met(job_class: str, load: float) -> None:
    frame = generate_workload(replace(OPTIONS, jobs=5000, job_class=job_class, offered_load=load))
    assert offered_load(frame, 256) == pytest.approx(load, rel=0.01)


@pytest.mark.parametrize("load", [0.2, 0.85, 3.0])
def test_scaling_the_load_keeps_the_daily_cycle(load: float) -> None:
    frame = generate_workload(replace(OPTIONS, offered_load=load))
    by_hour = np.bincount(frame["submit_s"].to_numpy() % 86_400 // 3600, minlength=24) / len(frame) * 24
    expected = DailyCycle.of(JOB_CLASSES["batch"]).weights.reshape(24, 2).mean(axis=1)
    np.testing.assert_allclose(by_hour, expected, atol=0.3)
    assert 11 <= by_hour.argmax() <= 17


@pytest.mark.parametrize("job_class", CLASSES)
@pytest.mark.parametrize("seed", [1, 2])
def test_batches_keep_the_models_sizes_and_run_times(job_class: str, seed: int) -> None:
    parameters = JOB_CLASSES[job_class].for_machine(256)
    rng = np.random.default_rng(0)
    sizes = job_sizes(rng, 200_000, parameters)
    seconds = run_times(rng, sizes, parameters)
    frame = workload(job_class, seed)
    assert numbers(frame, "procs").mean() == pytest.approx(sizes.mean(), rel=0.15)
    assert numbers(frame, "runtime_s").mean() == pytest.approx(seconds.mean(), rel=0.15)
    assert (frame["procs"] == 1).mean() == pytest.approx((sizes == 1).mean(), abs=0.04)
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    ours = np.log1p(np.quantile(frame["runtime_s"].to_numpy(), levels))
    np.testing.assert_allclose(ours, np.log1p(np.quantile(seconds, levels)), atol=0.25)
    # Large jobs run longer, in the model and in the batches made of it.
    theirs = np.corrcoef(np.log(sizes), np.log(seconds))[0, 1]
    ours_correlation = np.corrcoef(np.log(frame["procs"]), np.log(frame["runtime_s"]))[0, 1]
    assert ours_correlation == pytest.approx(theirs, abs=0.08)


@pytest.mark.parametrize("job_class", CLASSES)
@pytest.mark.parametrize("seed", [1, 2])
def test_estimates_are_modal(job_class: str, seed: int) -> None:
    requests = workload(job_class, seed)["requested_walltime_s"].value_counts(sort=True)
    assert requests["count"].head(20).sum() / 20_000 >= 0.85
    maximum = requests.filter(pl.col("requested_walltime_s") == OPTIONS.max_walltime_s)["count"][0]
    assert maximum == requests["count"].max()


@pytest.mark.parametrize("job_class", CLASSES)
def test_few_users_submit_most(job_class: str) -> None:
    counts = workload(job_class)["user"].value_counts(sort=True)["count"]
    assert len(counts) > 50
    assert counts.head(10).sum() / 20_000 > 0.5
    assert 0.1 < counts[0] / 20_000 < 0.4


def test_a_user_submits_bursts_of_similar_jobs() -> None:
    frame = workload("batch").with_columns(
        same_size=(pl.col("procs") == pl.col("procs").shift(1)).over("user"),
        same_request=(pl.col("requested_walltime_s") == pl.col("requested_walltime_s").shift(1)).over("user"),
        same_executable=(pl.col("executable") == pl.col("executable").shift(1)).over("user"),
    )
    for column in ("same_size", "same_request", "same_executable"):
        repeated = numbers(frame.drop_nulls(column), column).mean()
        assert 0.7 < repeated < 0.98, column
    assert frame.group_by("executable").agg(pl.col("user").n_unique())["user"].max() == 1
    assert frame.group_by("user").agg(pl.col("group").n_unique())["group"].max() == 1


@pytest.mark.parametrize("job_class", CLASSES)
def test_the_last_two_jobs_of_a_user_predict_better_than_the_request(job_class: str) -> None:
    last_two = (pl.col("runtime_s").shift(1) + pl.col("runtime_s").shift(2)).over("user") / 2
    frame = workload(job_class).with_columns(predicted_s=last_two).drop_nulls("predicted_s")
    runtime_s = numbers(frame, "runtime_s")
    predictor_error_s = np.median(np.abs(numbers(frame, "predicted_s") - runtime_s))
    request_error_s = np.median(numbers(frame, "requested_walltime_s") - runtime_s)
    assert predictor_error_s < request_error_s / 3
    assert predictor_error_s > 0.05 * np.median(runtime_s)  # good, not perfect


def test_same_seed_same_frame() -> None:
    options = replace(OPTIONS, jobs=2000)
    frame = generate_workload(options)
    assert frame.equals(generate_workload(options))
    assert not frame.equals(generate_workload(replace(options, seed=2)))


@pytest.mark.parametrize(
    "options",
    [
        WorkloadOptions(jobs=1, procs=2, seed=0),
        WorkloadOptions(jobs=300, procs=2, seed=0, users=1),
        WorkloadOptions(jobs=300, procs=11, seed=0, users=500, max_walltime_s=60),
        WorkloadOptions(jobs=300, procs=100, seed=0, job_class="interactive", max_walltime_s=3600),
    ],
    ids=["one job", "one user", "shortest maximum", "no power of two"],
)
def test_small_workloads_hold_together(options: WorkloadOptions) -> None:
    frame = generate_workload(options)
    assert len(frame) == options.jobs
    assert numbers(frame, "procs").max() <= options.procs
    assert numbers(frame, "requested_walltime_s").max() <= options.max_walltime_s
    assert (frame["requested_walltime_s"] >= frame["runtime_s"]).all()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("jobs", 0),
        ("procs", 1),
        ("seed", -1),
        ("offered_load", 0.0),
        ("offered_load", float("nan")),
        ("users", 0),
        ("job_class", "weekend"),
        ("max_walltime_s", 59),
        ("start_date", "5 January"),
    ],
)
def test_bad_options_name_the_option_and_its_value(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field) as error:
        replace(OPTIONS, **{field: value})  # type: ignore[arg-type]
    assert repr(value) in str(error.value)
    assert ": " in str(error.value)  # a remedy follows


@pytest.mark.parametrize("seed", range(3))
def test_submission_order_uses_every_batch_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = batch_lengths(rng, 1000)
    assert lengths.sum() == 1000 and lengths.min() >= 1
    user_of_batch = rng.integers(0, 7, len(lengths))
    order = submission_order(rng, np.sort(rng.uniform(0, 1e6, 1000)), user_of_batch, lengths)
    np.testing.assert_array_equal(np.bincount(order, minlength=len(lengths)), lengths)
    # A user has one batch open at a time: its jobs are not interleaved with the user's other batches.
    for user in range(7):
        mine = order[user_of_batch[order] == user]
        assert np.count_nonzero(np.diff(mine)) == np.count_nonzero(user_of_batch == user) - 1
