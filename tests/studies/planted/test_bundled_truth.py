"""Tests of studies/planted: bundled."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from studies.planted.bundled import (
    TrueEffect,
    bundled_options,
    calibration_rows,
    changed_cluster,
    changes_of,
    effect_rows,
    mean_wait_s,
    statistics,
)
from traces.catalogue.bundled import bundled_cluster
from traces.synthetic.campaigns import site_submissions
from traces.synthetic.sites import LARCH, SITES


def test_the_catalogue_has_both_clusters() -> None:
    assert [each.site for each in bundled_options()] == list(SITES)


def test_statistics_of_two_jobs() -> None:
    jobs = pl.DataFrame(
        {
            "submit_time": ["2026-03-02 15:00:00", "2026-03-08 15:00:00"],  # Monday and Sunday
            "wait_s": [0, 7200],
            "runtime_s": [3600, 1800],
            "procs": [1, 3],
            "requested_walltime_s": [3600, 3600],
            "user_name": ["a", "b"],
            "status": ["completed", "failed"],
        }
    ).with_columns(pl.col("submit_time").str.to_datetime())
    made = statistics(jobs, 10, "UTC")
    assert made["mean wait, h"] == 1.0 and made["at weekends"] == 0.5 and made["jobs on one processor"] == 0.5
    assert made["load"] == pytest.approx((3600 + 5400) / (10 * 6 * 86_400))
    assert made["median share of the request used"] == 0.75 and made["ended otherwise than well"] == 0.5
    assert "load" not in statistics(jobs, None, "UTC")


def test_a_statistic_outside_the_range_is_said_to_be_so() -> None:
    rows = calibration_rows({"birch": {"load": 0.8, "strange": 5.0}}, {"a": {"load": 0.7}, "b": {"load": 0.9}})
    assert rows == [["load", "0.800", "0.700", "0.900", "yes"], ["strange", "5.0", "", "", ""]]
    assert calibration_rows({"x": {"load": 0.1}}, {"a": {"load": 0.7}})[0][-1] == "no: not explained"


@pytest.mark.parametrize("site", SITES.values(), ids=list(SITES))
def test_changes_change_what_jobs_wait(site) -> None:
    work = replace(site.work, jobs=1500, days=7, load=0.9)
    jobs, cluster = site_submissions(work, 2), bundled_cluster(site.name).description
    waits = [mean_wait_s(site, changed_cluster(cluster, change), jobs) for change in changes_of(site).values()]
    assert len(set(waits)) == 3
    assert waits[0] < mean_wait_s(site, cluster, jobs)  # more nodes


def test_an_effect_off_by_a_factor_keeps_no_promise() -> None:
    right = TrueEffect("right", 3600.0, 1800.0, 3600.0, 1800.0)
    wrong = TrueEffect("wrong", 3600.0, 1800.0, 3600.0, 9000.0)
    rows = list(effect_rows([right, wrong]))
    assert right.error == 1.0 and rows[0][-1] == "A" and rows[1][-1] == "none" and LARCH.limit is not None
