"""Tests of assets/ingest: site_logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from assets.ingest.site_logs import bundled_jobs, ruled_cluster, site_zero_s, with_starts
from traces.pbs.reader import read_pbs
from traces.pbs.writer import write_pbs_site
from traces.slurm.reader import read_slurm
from traces.slurm.writer import write_sacct
from traces.synthetic.campaigns import site_submissions
from traces.synthetic.sites import BIRCH, LARCH, SITES, SiteOptions


def _short(site):
    return replace(site, work=replace(site.work, jobs=1200, days=10, load=0.6))


@pytest.fixture(scope="module", params=SITES.values(), ids=list(SITES))
def ran(request):
    site = _short(request.param)
    return site, with_starts(site, ruled_cluster(site), site_submissions(site.work, 3))


def test_jobs_run_on_the_nodes_of_the_cluster_and_never_on_more(ran) -> None:
    site, jobs = ran
    started = jobs.filter(pl.col("start_s").is_not_null())
    assert (started["start_s"] >= started["submit_s"]).all() and started.height > 1100
    assert (started["end_s"] - started["start_s"] - started["suspended_s"]).equals(
        started["runtime_s"].alias(started["end_s"].name)
    )
    assert (started["node_names"].list.n_unique() <= started["nodes"]).all()
    cores = (started["nodes"] * started["cores"]).to_numpy()
    paused = started["suspended_s"].to_numpy() > 0
    begun = started["suspend_s"].to_numpy()[paused].astype(np.int64)
    assert (begun > started["start_s"].to_numpy()[paused]).all()
    again = begun + started["suspended_s"].to_numpy()[paused]
    edges = np.concatenate([started["start_s"].to_numpy(), started["end_s"].to_numpy(), begun, again])
    moved = np.concatenate([cores, -cores, -cores[paused], cores[paused]])
    order = np.lexsort((moved, edges))
    assert np.cumsum(moved[order]).max() <= site.work.cores
    second = jobs.with_row_index("row").filter(pl.col("attempt_of") >= 0)
    assert (second["start_s"] >= jobs["end_s"].gather(second["attempt_of"])).all()


def test_the_hidden_rule_holds_in_every_start(ran) -> None:
    site, jobs = ran
    started = jobs.filter(pl.col("start_s").is_not_null())
    if site.gate is not None:
        stopped = started.filter(pl.col("queue") == site.gate.partition)
        local = pl.from_epoch(stopped["start_s"] + site_zero_s(site)).dt.replace_time_zone("UTC")
        local = local.dt.convert_time_zone(site.gate.timezone)
        minute = local.dt.hour().cast(pl.Int64) * 60 + local.dt.minute()
        closed = minute.is_between(site.gate.begin_minute, site.gate.end_minute - 1)
        assert not (closed & local.dt.weekday().is_in([day + 1 for day in site.gate.days])).any()
        return
    assert site.limit is not None
    for _, rows in started.filter(pl.col("quality") != "urgent").group_by("user"):
        edges = np.concatenate([rows["start_s"].to_numpy(), rows["end_s"].to_numpy()])
        moved = np.repeat([1, -1], rows.height)
        assert np.cumsum(moved[np.lexsort((moved, edges))]).max() <= site.limit.bound


def test_readers_find_in_the_log_what_was_written(ran, tmp_path) -> None:
    site, jobs = ran
    zero_s = site_zero_s(site)
    moved = jobs.with_columns(pl.col("submit_s", "start_s", "end_s", "suspend_s") + zero_s)
    started = moved.filter(pl.col("start_s").is_not_null())
    if site.scheduler == "pbs":
        paths = write_pbs_site(moved, tmp_path, site.time_zone, site.name)
        logs = [read_pbs(path) for path in paths]
        records = pl.concat([log.records for log in logs])
        assert sum(log.rejected for log in logs) == 0
        kinds = pl.concat([log.events for log in logs if log.events is not None])["record_type"].value_counts()
        count = dict(kinds.iter_rows())
        assert count["R"] == (moved["status"] == "requeued").sum()
        assert count.get("D", 0) == moved["start_s"].null_count()
        started = started.filter(pl.col("status") != "requeued")
        assert sorted(records["start_s"]) == sorted(started["start_s"])
        assert sorted(records["procs"]) == sorted(started["nodes"] * started["cores"])
        return
    records = read_slurm(write_sacct(moved, tmp_path, site.time_zone, site.name)[0], site.time_zone).records
    assert records.height == moved.height and sorted(records["start_s"].drop_nulls()) == sorted(started["start_s"])
    assert sorted(records["procs"]) == sorted(moved["nodes"] * moved["cores"])
    assert records["gpus"].fill_null(0).sum() == (moved["nodes"] * moved["gpus"]).sum()


def test_the_bundled_logs_are_as_a_centre_would_have_them() -> None:
    jobs = bundled_jobs(SiteOptions("birch", 4))
    started = jobs.filter(pl.col("start_s").is_not_null() & (pl.col("status") != "requeued"))
    waits = (started["start_s"] - started["submit_s"]).to_numpy()
    assert 60 <= np.median(waits) <= 30 * 60 and 3600 <= waits.mean() <= 4 * 3600
    assert np.quantile(waits, 0.95) <= 2 * 86_400
    area = float((started["runtime_s"] * started["nodes"] * started["cores"]).sum())
    span = float(started["submit_s"].max() - started["submit_s"].min())  # type: ignore[operator]
    assert 0.75 <= area / (BIRCH.work.cores * span) <= 0.85
    assert 0.2 <= (started["runtime_s"] / started["requested_s"]).median() <= 0.5  # type: ignore[operator]
    assert (started["suspended_s"] > 0).sum() > 50 and LARCH.limit is not None
