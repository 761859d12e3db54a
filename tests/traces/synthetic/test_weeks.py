"""The generated log of a large cluster has what is published of it, and the shape that its page states."""

from __future__ import annotations

from functools import cache
from itertools import islice

import numpy as np
import polars as pl
import pytest

from traces.synthetic.centre import CENTRES, CentreOptions
from traces.synthetic.weeks import job_weeks, jobs_by_week

JOBS = 300_000
SOME_WEEKS = 8


@cache
def log(model: str, seed: int = 1) -> pl.DataFrame:
    return pl.concat(job_weeks(CentreOptions(model, seed, JOBS)))


def local_times(model: str) -> pl.Series:
    centre = CENTRES[model]
    midnight = pl.Series([centre.first_day]).cast(pl.Datetime).dt.replace_time_zone(centre.time_zone)[0]
    seconds = log(model)["submit_s"] + int(midnight.timestamp())
    return pl.from_epoch(seconds).dt.replace_time_zone("UTC").dt.convert_time_zone(centre.time_zone)


@pytest.mark.parametrize("model", CENTRES)
def test_rows_are_complete_ordered_and_within_the_limits(model: str) -> None:
    jobs, centre = log(model), CENTRES[model]
    assert set(jobs.dtypes) == {pl.Int64} and jobs.null_count().sum_horizontal().item() == 0
    assert jobs["job_number"].to_list() == list(range(1, JOBS + 1))
    assert jobs["submit_s"].is_sorted() and jobs["submit_s"][0] >= 0
    assert (jobs["runtime_s"] >= 1).all() and (jobs["requested_walltime_s"] >= jobs["runtime_s"]).all()
    assert jobs["requested_walltime_s"].to_numpy().max() == centre.max_walltime_s
    assert 0.9 * centre.max_walltime_s < jobs["runtime_s"].to_numpy().max() <= centre.max_walltime_s
    assert set(jobs["queue"]) == {1, 2, 3} and set(jobs["status"]) == {0, 1}
    assert jobs["user_id"].is_between(1, centre.users).all()
    killed = jobs.filter(pl.col("runtime_s") == pl.col("requested_walltime_s"))
    assert 0.01 < killed.height / JOBS < 0.2 and (killed["status"] == 0).all()


@pytest.mark.parametrize("model", CENTRES)
@pytest.mark.parametrize("seed", [1, 2])
def test_sizes_go_from_one_core_to_the_whole_machine_in_whole_nodes(model: str, seed: int) -> None:
    centre, procs = CENTRES[model], log(model, seed)["procs"].to_numpy()
    assert procs.min() == 1 and procs.max() == centre.procs
    assert (procs[procs > centre.cores_per_node] % centre.cores_per_node == 0).all()
    assert 0.15 < (procs == 1).mean() < 0.6 and 0.5 < (procs < centre.cores_per_node).mean() < 0.9
    assert 0.04 < (procs > centre.cores_per_node).mean() < 0.3
    assert (procs > centre.procs // 8).sum() > 20


@pytest.mark.parametrize("model", CENTRES)
def test_jobs_a_day_are_as_published(model: str) -> None:
    """The whole log ends on its day; a part has about as many jobs a day, since weeks differ."""
    centre = CENTRES[model]
    by_week = jobs_by_week(CentreOptions(model, 1))
    assert by_week.sum() == centre.jobs and len(by_week) == centre.weeks and by_week.min() > 0
    assert by_week.mean() / 7 == pytest.approx(centre.jobs / centre.days, rel=0.02)
    days = log(model)["submit_s"][-1] / 86_400
    assert days == pytest.approx(JOBS * centre.days / centre.jobs, rel=0.2)


def test_the_last_job_of_the_whole_log_is_submitted_before_its_last_day() -> None:
    last_s = 0
    jobs = 0
    for week in job_weeks(CentreOptions("lemhi", 3)):
        assert week["submit_s"][0] >= last_s
        last_s, jobs = week["submit_s"][-1], jobs + week.height
    assert jobs == 383_845 and 341 < last_s / 86_400 < 342


@pytest.mark.parametrize("load", [0.5, 0.7, 0.85])
def test_the_load_is_met(load: float) -> None:
    centre = CENTRES["falcon"]
    areas = []
    for week in islice(job_weeks(CentreOptions("falcon", 5, 0, load)), SOME_WEEKS):
        areas.append(float((week["runtime_s"] * week["procs"]).sum()) / (centre.procs * 7 * 86_400))
    assert np.mean(areas) == pytest.approx(load, rel=0.05)
    assert 0.78 * load < min(areas) < 0.95 * load and 1.05 * load < max(areas) < 1.22 * load


def test_jobs_come_in_office_hours_of_weekdays() -> None:
    local = local_times("falcon")
    by_day = local.dt.weekday().value_counts().sort("submit_s")["count"].to_numpy() / JOBS  # Monday first
    assert by_day[:5].min() > 2 * by_day[5:].max() and by_day[5:].sum() < 0.2
    weekdays = local.filter(local.dt.weekday() <= 5)
    by_hour = weekdays.dt.hour().value_counts().sort("submit_s")["count"].to_numpy() / len(weekdays)
    assert len(by_hour) == 24 and by_hour[8:18].sum() > 0.6 and by_hour[0:6].sum() < 0.08
    assert 9 <= by_hour.argmax() <= 16


def test_the_hours_are_those_of_the_clock_in_summer_and_in_winter() -> None:
    """Clocks are set back on 2 November 2014, in the sixth week; 8 hours of the clock are an hour more since midnight then."""
    weeks = list(islice(job_weeks(CentreOptions("falcon", 2)), 21))
    morning = []
    for part in (weeks[:5], weeks[6:]):
        hour = pl.col("submit_s") % 86_400 // 3600
        batches = pl.concat(part).with_columns(hour, day=pl.col("submit_s") // 86_400)
        seconds = batches.unique(["day", "user_id", "executable", "requested_walltime_s"])["submit_s"].to_numpy()
        morning.append(float((seconds == 8).mean()))
    summer, winter = morning
    assert 1.5 * winter < summer  # counted from midnight of a summer's day, 8 is 7 in winter


def test_there_are_arrays_of_equal_jobs_within_seconds() -> None:
    jobs = log("falcon").with_columns(second=pl.col("submit_s") // 10)
    bursts = jobs.group_by("second", "user_id", "executable", "procs", "requested_walltime_s").len()
    assert bursts.filter(pl.col("len") >= 20)["len"].sum() > 0.3 * JOBS
    assert bursts["len"].to_numpy().max() > 200


def test_requests_are_round_few_and_longer_than_what_is_used() -> None:
    jobs = log("falcon")
    values = jobs["requested_walltime_s"].value_counts(sort=True)
    assert values.height < 150 and values["count"][:10].sum() > 0.6 * JOBS
    round_values = values.filter(pl.col("requested_walltime_s") % 300 == 0)
    assert round_values["count"].sum() > 0.8 * JOBS
    used = (jobs["runtime_s"] / jobs["requested_walltime_s"]).to_numpy()
    assert 0.15 < np.median(used) < 0.5 and (used > 0.9).mean() > 0.05


def test_few_users_submit_most_and_a_program_has_its_run_time() -> None:
    jobs = log("falcon")
    by_user = jobs["user_id"].value_counts(sort=True)["count"]
    assert by_user[:10].sum() > 0.4 * JOBS and by_user.len() > 60
    ln = jobs.select("executable", ln=pl.col("runtime_s").log())
    within = ln.group_by("executable").agg(pl.col("ln").var(), pl.len()).drop_nulls()
    explained = 1.0 - (within["ln"] * within["len"]).sum() / within["len"].sum() / ln["ln"].to_numpy().var()
    assert explained > 0.3


def test_a_shorter_log_is_the_beginning_of_a_longer_one() -> None:
    longer = log("falcon")
    for jobs in (1, 5_000, 90_000):
        assert pl.concat(job_weeks(CentreOptions("falcon", 1, jobs))).equals(longer.head(jobs))


def test_the_same_options_give_the_same_jobs_and_others_give_others() -> None:
    first = next(job_weeks(CentreOptions("lemhi", 7)))
    assert first.equals(next(job_weeks(CentreOptions("lemhi", 7))))
    assert not first.equals(next(job_weeks(CentreOptions("lemhi", 8))))
    assert not first.drop("runtime_s").equals(next(job_weeks(CentreOptions("falcon", 7))).drop("runtime_s"))


def test_a_week_does_not_grow_with_the_log() -> None:
    sizes = [week.height for week in job_weeks(CentreOptions("falcon", 1, 2_000_000))]
    assert sum(sizes) == 2_000_000 and max(sizes) < 110_000
    assert sizes[:4] == [week.height for week in islice(job_weeks(CentreOptions("falcon", 1)), 4)]
