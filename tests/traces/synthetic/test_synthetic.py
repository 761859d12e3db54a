"""Tests of traces/synthetic: centre, community, users, workload."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.synthetic.centre import CENTRES, CentreOptions
from traces.synthetic.community import (
    CLASS_SHARES,
    ONE_NODE,
    PART_OF_NODE,
    PROGRAMS_A_USER,
    SERIAL,
    SEVERAL_NODES,
    Community,
    new_community,
)
from traces.synthetic.lublin import JOB_CLASSES, DailyCycle, job_sizes, run_times
from traces.synthetic.users import (
    MAX_BATCH_JOBS,
    AssignedEstimates,
    assign_estimates,
    assign_executables,
    assign_users,
    batch_lengths,
    cut_batches,
    submission_order,
    user_activity,
    user_menus,
)
from traces.synthetic.workload import WorkloadOptions, generate_workload

# centre: What is published of the clusters, and options that cannot be.


def test_the_clusters_are_as_published() -> None:
    falcon, lemhi = CENTRES["falcon"], CENTRES["lemhi"]
    assert (falcon.nodes, falcon.procs, falcon.jobs) == (972, 34_992, 11_318_441)
    assert (lemhi.nodes, lemhi.procs, lemhi.jobs) == (504, 20_160, 383_845)
    assert falcon.jobs + lemhi.jobs == 11_702_286
    assert (falcon.days, lemhi.days) == (2141, 342)
    assert round(falcon.jobs / falcon.days) == 5287 and round(lemhi.jobs / lemhi.days) == 1122
    assert falcon.max_walltime_s == lemhi.max_walltime_s == 7 * 24 * 3600
    assert falcon.weeks == 306 and lemhi.weeks == 49


def test_no_number_of_jobs_means_all() -> None:
    assert CentreOptions("lemhi", 1).num_jobs == 383_845
    assert CentreOptions("lemhi", 1, 10).num_jobs == 10


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": "eagle"}, "model is 'eagle': choose one of falcon, lemhi"),
        ({"model": 3}, "model is 3: use a text"),
        ({"seed": -1}, "seed is -1: use a whole number from 0"),
        ({"seed": True}, "seed is True: use a whole number"),
        ({"jobs": 383_846}, "jobs is 383846: lemhi has 1 to 383845 jobs"),
        ({"jobs": -1}, "jobs is -1"),
        ({"jobs": 1.5}, "jobs is 1.5: use a whole number"),
        ({"offered_load": 0}, "offered_load is 0: use a number above 0 and up to 1"),
        ({"offered_load": 1.1}, "offered_load is 1.1"),
    ],
)
def test_what_cannot_be_generated_is_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        CentreOptions(**{"model": "lemhi", "seed": 1} | options)  # type: ignore[arg-type]


# community: Users and programs of a large cluster: who is there when, and which sizes programs have.


@pytest.fixture(scope="module")
def community() -> Community:
    return new_community(np.random.default_rng(1), CENTRES["falcon"])


def test_sizes_are_one_core_a_part_of_a_node_or_whole_nodes(community: Community) -> None:
    node, procs = CENTRES["falcon"].cores_per_node, community.procs
    assert (procs[community.size_class == SERIAL] == 1).all()
    part = procs[community.size_class == PART_OF_NODE]
    assert part.min() > 1 and part.max() < node
    assert (procs[community.size_class == ONE_NODE] == node).all()
    several = procs[community.size_class == SEVERAL_NODES]
    assert (several % node == 0).all() and several.min() == 2 * node and several.max() > 100 * node
    assert several.max() <= CENTRES["falcon"].procs // 2


def test_each_class_has_its_share_of_what_is_used(community: Community) -> None:
    used = np.bincount(community.size_class, community.weight, minlength=4) / community.weight.sum()
    np.testing.assert_allclose(used, CLASS_SHARES, atol=0.1)


def test_users_come_and_go_and_own_their_programs(community: Community) -> None:
    assert (np.bincount(community.user) == PROGRAMS_A_USER).all()
    weeks = [community.active(week) for week in (0, 150, 305)]
    for share in weeks:
        assert share.sum() == pytest.approx(1.0) and 50 < len(set(community.user[share > 0])) < 400
    assert not set(community.user[weeks[0] > 0]) <= set(community.user[weeks[2] > 0])


def test_nobody_there_means_everybody(community: Community) -> None:
    share = community._replace(last_week=community.first_week).active(3)
    assert share.sum() == pytest.approx(1.0) and (share > 0).all()


def test_menus_ascend_to_the_limit_and_have_values_of_days(community: Community) -> None:
    menus, limit = community.menus, CENTRES["falcon"].max_walltime_s
    assert (np.diff(menus, axis=1) >= 0).all() and (menus[:, -1] == limit).all() and menus.min() >= 300
    assert ((menus > 36 * 3600) & (menus < limit)).any()
    assert len(menus) == len(community.group) == CENTRES["falcon"].users


# estimates: AssignedEstimates: what Tsafrir, Etsion and Feitelson found in logs must be found in ours.

DAY = 86_400


def make_jobs(seed: int, batches: int = 3000, median_s: float = 2000.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run times, users and batches of jobs: lognormal batches of one to eight jobs by 40 users."""
    rng = np.random.default_rng(seed)
    batch = np.repeat(np.arange(batches), rng.integers(1, 9, batches))
    user = rng.integers(0, 40, batches)[batch]
    batch_run_time = rng.lognormal(np.log(median_s), 1.5, batches)
    run_times = np.maximum(batch_run_time[batch] * rng.lognormal(0.0, 0.3, len(batch)), 1).astype(np.int64)
    return np.minimum(run_times, 2 * DAY), user, batch


def make_estimates(seed: int, median_s: float = 2000.0) -> tuple[AssignedEstimates, np.ndarray, np.ndarray, np.ndarray]:
    run_times, user, batch = make_jobs(seed, median_s=median_s)
    return assign_estimates(np.random.default_rng(seed), run_times, user, batch, 2 * DAY), run_times, user, batch


@pytest.mark.parametrize("median_s", [20.0, 500.0, 5000.0])
@pytest.mark.parametrize("seed", range(3))
def test_estimates_are_modal_and_the_maximum_leads(seed: int, median_s: float) -> None:
    estimates, *_ = make_estimates(seed, median_s)
    values, counts = np.unique(estimates.requested_walltime_s, return_counts=True)
    assert np.sort(counts)[-20:].sum() / counts.sum() >= 0.85
    assert len(values) > 20  # some users type odd values
    assert counts[values == 2 * DAY][0] == counts.max()
    assert 0.15 <= counts.max() / counts.sum() <= 0.45


def test_requests_cover_run_times_and_the_killed_keep_their_request() -> None:
    estimates, run_times, _, _ = make_estimates(4)
    requested, resulting = estimates
    assert (resulting <= requested).all() and (resulting >= 1).all()
    np.testing.assert_array_equal(resulting, np.minimum(run_times, requested))
    assert 0.01 <= (resulting == requested).mean() <= 0.12


def test_used_share_is_spread_out_between_its_two_peaks() -> None:
    estimates, *_ = make_estimates(5, median_s=8000.0)
    thoughtful = estimates.requested_walltime_s < 2 * DAY
    used = (estimates.run_times_s / estimates.requested_walltime_s)[thoughtful]
    middle = np.histogram(used, np.arange(0.1, 0.91, 0.1))[0] / len(used)
    assert middle.max() / middle.min() < 3.0  # near uniform
    assert (used == 1.0).mean() > 0.03  # killed
    everyone = np.histogram(estimates.run_times_s / estimates.requested_walltime_s, np.linspace(0, 1, 11))[0]
    assert everyone[0] > everyone[1:9].max()  # short jobs under the maximum


def test_a_batch_has_one_estimate_and_users_repeat_theirs() -> None:
    estimates, _, user, batch = make_estimates(6)
    for number in range(0, 3000, 50):
        assert len(np.unique(estimates.requested_walltime_s[batch == number])) <= 1
    for number in range(40):
        mine = estimates.requested_walltime_s[user == number]
        assert len(np.unique(mine)) <= 10 < len(mine)


@settings(max_examples=40, deadline=None)
@given(st.integers(60, 500_000), st.integers(0, 2**32))
def test_any_maximum_gives_menus_below_it_that_end_with_it(max_walltime_s: int, seed: int) -> None:
    for menu in user_menus(np.random.default_rng(seed), 5, max_walltime_s):
        assert menu[-1] == max_walltime_s and menu[0] >= 60 and (np.diff(menu) > 0).all()


def test_bad_arguments_name_themselves() -> None:
    rng, one = np.random.default_rng(0), np.ones(1, dtype=np.int64)
    with pytest.raises(ValueError, match="max_walltime_s is 59"):
        assign_estimates(rng, one, one, one, 59)
    with pytest.raises(ValueError, match="2, 1 and 1 entries"):
        assign_estimates(rng, np.ones(2, dtype=np.int64), one, one, 3600)


def test_no_jobs_no_estimates() -> None:
    none = np.empty(0, dtype=np.int64)
    estimates = assign_estimates(np.random.default_rng(0), none, none, none, 3600)
    assert len(estimates.requested_walltime_s) == len(estimates.run_times_s) == 0


# users: Users and their batches: everything adds up, and users differ as they should.


@pytest.mark.parametrize("jobs", [1, 2, 50, 5000])
def test_batches_add_up(jobs: int) -> None:
    rng = np.random.default_rng(jobs)
    lengths = batch_lengths(rng, jobs)
    assert lengths.sum() == jobs and lengths.min() >= 1 and lengths.max() <= MAX_BATCH_JOBS
    sizes, run_times = rng.integers(1, 64, jobs), rng.integers(1, 10**5, jobs)
    procs, means = cut_batches(rng, sizes, run_times, lengths)
    assert set(procs.tolist()) <= set(sizes.tolist())
    assert (means * lengths).sum() == pytest.approx(run_times.sum())
    users = assign_users(rng, means, user_activity(rng, 5))
    assert len(users) == len(lengths) and users.min() >= 0 and users.max() < 5
    order = submission_order(rng, np.sort(rng.random(jobs) * 1e6), users, lengths)
    assert np.bincount(order, minlength=len(lengths)).tolist() == lengths.tolist()


def test_shares_of_users_add_up_and_few_do_most() -> None:
    shares = np.sort(user_activity(np.random.default_rng(1), 100))[::-1]
    assert shares.sum() == pytest.approx(1) and shares[:10].sum() > 0.5


def test_no_two_users_share_a_program() -> None:
    rng = np.random.default_rng(2)
    lengths = batch_lengths(rng, 3000)
    means = rng.random(len(lengths)) * 1000
    users = assign_users(rng, means, user_activity(rng, 8))
    programs = assign_executables(means, users, lengths)
    owners = {(int(program), int(user)) for program, user in zip(programs, users, strict=True)}
    assert len(owners) == len({program for program, _ in owners}) == programs.max()
    assert len(owners) > len(set(users.tolist()))


# workload: The generated workload as a whole: its load, its users, and the distributions that the parts promise.

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
