"""Tests of traces/synthetic: campaigns, sites."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from traces.catalogue.clusters import bundled_cluster, write_site_files
from traces.cluster.notes import NOT_MODELLED, UNKNOWN_KEY
from traces.synthetic.campaigns import site_submissions
from traces.synthetic.sites import BIRCH, LARCH, SITES, SiteOptions, site_files


@pytest.mark.parametrize("site", SITES.values(), ids=list(SITES))
def test_the_same_seed_gives_the_same_jobs_and_they_make_the_load(site) -> None:
    work = replace(site.work, jobs=3000, days=14, load=0.6)
    jobs = site_submissions(work, 7)
    assert jobs.equals(site_submissions(work, 7)) and not jobs.equals(site_submissions(work, 8))
    assert jobs["submit_s"].is_sorted() and jobs["submit_s"][0] >= 0 and jobs["submit_s"][-1] < 14 * 86_400
    ends = jobs.filter(jobs["status"] != "requeued")
    assert ends.height == 3000 and (jobs["runtime_s"] >= 1).all() and (jobs["runtime_s"] <= jobs["requested_s"]).all()
    counted = jobs.filter(jobs["withdrawn_s"] < 0)
    area = float((counted["runtime_s"] * counted["nodes"] * counted["cores"]).sum())
    assert area / (work.cores * 14 * 86_400) == pytest.approx(0.6, abs=0.05)
    late = jobs.filter(jobs["status"] == "timeout")
    assert late.height and late["runtime_s"].equals(late["requested_s"])


def test_users_have_habits_arrays_and_lost_attempts() -> None:
    jobs = site_submissions(LARCH.work, 1)
    local_hour = (jobs["submit_s"] // 3600 % 24).to_numpy()
    weekday = ((jobs["submit_s"] // 86_400).to_numpy() + LARCH.work.first_day.weekday()) % 7
    assert 0.5 < np.isin(local_hour, range(8, 18)).mean() < 0.8
    assert 0.05 < (weekday >= 5).mean() < 0.22
    tasks = jobs.filter(jobs["array"] >= 0).group_by("array").len()
    assert tasks.height > 20
    second = jobs.with_row_index("row").filter(jobs["attempt_of"] >= 0)
    assert second.height > 20 and (second["attempt_of"] == second["row"].cast(int) - 1).all()
    assert (jobs["status"].gather(second["attempt_of"]) == "requeued").all()
    requests = jobs["requested_s"].value_counts(sort=True)["count"]
    assert requests.head(5).sum() > 0.4 * jobs.height  # few round values are most of them


@pytest.mark.parametrize("site", SITES.values(), ids=list(SITES))
def test_the_configuration_is_read_whole_and_has_no_word_of_the_hidden_rule(site) -> None:
    described = bundled_cluster(site.name)
    cluster = described.description
    assert cluster.num_cpus == site.work.cores and cluster.scheduler.name == site.scheduler
    strange = [remark for remark in described.remarks if remark.kind in (NOT_MODELLED, UNKNOWN_KEY)]
    assert not [remark for remark in strange if remark.key not in ("Mom", "pbs_version", "resources_max.walltime")]
    assert {kind.queue for kind in site.work.kinds} <= {part.name for part in cluster.partitions}
    assert site.gate not in cluster.gates and site.limit not in cluster.limits
    assert (site.gate is None) != (site.limit is None)


def test_the_files_are_those_that_an_administrator_collects(tmp_path) -> None:
    names = {path.name for path in write_site_files(BIRCH.name, tmp_path)}
    assert names == {"qmgr.txt", "qmgr_sched.txt", "sched_config", "resource_group", "pbsnodes.txt"}
    assert {path.read_text() for path in tmp_path.iterdir()} == set(site_files("birch").values())
    assert set(site_files("larch")) == {"slurm.conf", "gres.conf", "sacctmgr.dump", "qos.txt"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"site": "oak", "seed": 1}, "site is 'oak': choose one of birch, larch"),
        ({"site": "birch", "seed": -1}, "seed is -1: use a whole number from 0"),
        ({"site": "birch", "seed": True}, "seed is True: use a whole number"),
        ({"site": 3, "seed": 1}, "site is 3: use a text"),
        ({"site": "birch", "seed": 1, "jobs": 0}, "jobs is 0: use a whole number from 1"),
    ],
)
def test_options_that_cannot_be(given, says) -> None:
    with pytest.raises(ValueError, match=says):
        SiteOptions(**given)


def test_fewer_jobs_come_on_fewer_days() -> None:
    few = SiteOptions("birch", 4, jobs=1000).bundled.work
    assert (few.jobs, few.days) == (1000, 4) and SiteOptions("birch", 4).bundled == BIRCH
