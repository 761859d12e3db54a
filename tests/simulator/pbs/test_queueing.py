"""Tests of simulator/pbs: cycle, queueing, replaying, starting, state.

A pass.
"""

from __future__ import annotations

import numpy as np
import pytest

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.cycle import run_pass
from simulator.pbs.placing import find_nodes
from simulator.pbs.queueing import add_to_usage, goes_first_by_share, join_pbs_queue, pbs_share_tree, usage_rate
from simulator.pbs.replaying import PbsReplayer, idle_pbs, sort_amount
from simulator.pbs.settings import PbsPhases
from simulator.pbs.starting import end_pbs_job, start_pbs_job
from simulator.pbs.state import UNSET
from tests.simulator.busy import asking, pbs_site, starts_on


def test_a_pass_starts_what_fits_beside_its_plan() -> None:
    asked = [asking(0, 3, 100), asking(0, 4, 50), asking(0, 1, 200), asking(0, 1, 90)]
    engine = idle_pbs(pbs_site(), asked, np.zeros(4, dtype=np.int64), PbsPhases())
    for job in range(4):
        join_pbs_queue(engine, job, 0)
    assert run_pass(engine, 0) == 2
    assert engine.running.start.tolist() == [0, -1, -1, 0] and engine.waiting.pending[:2].tolist() == [1, 2]
    assert engine.tops.start[0] == 100


def test_an_array_runs_as_many_tasks_as_it_may() -> None:
    asked = [asking(0, 1, 60, array=0, array_task=k, array_limit=2) for k in range(4)]
    assert starts_on(pbs_site(), asked, [10, 20, 10, 10]) == [0, 0, 10, 20]


def test_without_places_for_top_jobs_nothing_passes_the_first() -> None:
    asked = [asking(0, 3, 100), asking(1, 4, 50), asking(2, 1, 10)]
    assert starts_on(pbs_site(backfill_depth=0), asked, [100, 10, 10]) == [0, 100, 110]


# --- sharing


# replaying: PBS as a replayer.


def test_an_outcome_has_starts_and_refuses_other_jobs() -> None:
    asked = [asking(0, 1, 60), asking(5, 5, 60)]
    assert starts_on(pbs_site(), asked, [30, 30]) == [0, -1]
    one = np.ones(1, dtype=np.int64)
    with pytest.raises(ValueError, match="1 jobs, but requests of 2"):
        PbsReplayer(pbs_site(), asked).replay(Jobs(one, one, one, one, one), Cluster(16))


def test_keys_sort_by_amounts_of_the_whole_job() -> None:
    assert sort_amount(asking(0, 2, 90), "ncpus", pbs_site()) == 8
    assert sort_amount(asking(0, 2, 90), "walltime", pbs_site()) == 90
    assert sort_amount(asking(0, 2, 90), "fair_share_perc", pbs_site()) == 50


# sharing: Fair share.


def test_the_first_floor_that_differs_decides() -> None:
    shares = pbs_share_tree(pbs_site(), ["ann", "bob", "cid", "eve"], 1, 0)
    assert goes_first_by_share(shares, 0, 2) == 1  # 1 / 60 is less than 1 / 40
    add_to_usage(shares, 0, 100.0)
    assert goes_first_by_share(shares, 0, 2) == -1 and goes_first_by_share(shares, 1, 2) == -1
    assert goes_first_by_share(shares, 1, 0) == 1 and goes_first_by_share(shares, 0, 0) == 0
    assert goes_first_by_share(shares, 2, 3) == 1  # one who is in no group has the shares of the unknown


def test_usage_is_of_the_resource_that_the_site_names() -> None:
    assert usage_rate("ncpus*walltime", asking(0, 2, 60)) == 8.0
    assert usage_rate("walltime", asking(0, 2, 60)) == 1.0
    assert usage_rate("cput", asking(0, 2, 60)) == 8.0


def test_who_has_used_less_comes_first() -> None:
    site = pbs_site(fair_share=True, fairshare_usage_res="ncpus*walltime", scheduler_iteration=10)
    asked = [asking(0, 4, 60), asking(5, 4, 60), asking(6, 4, 60, user="cid")]
    assert starts_on(site, asked, [50, 10, 10], PbsPhases()) == [0, 60, 50]
    assert np.isfinite(pbs_share_tree(site, ["ann"], 1, 0).usage).all()


# starting: Starts and ends.


def test_a_job_gives_back_what_it_took() -> None:
    engine = idle_pbs(pbs_site(), [asking(0, 2, 60)], np.array([0]), PbsPhases())
    rows = find_nodes(engine.site, engine.asks, engine.tops, engine.scratch, engine.load, 0, (0, 60))
    start_pbs_job(engine, 0, rows, 7)
    assert engine.load.total.tolist() == [8] and engine.load.jobs.tolist() == [1, 1, 0, 0]
    assert engine.running.end[0] == 67
    end_pbs_job(engine, 0)
    assert engine.load.total.tolist() == [16] and engine.load.jobs.sum() == 0 and engine.running.end[0] == UNSET


# state: The state of the engine.


def test_nothing_runs_at_first() -> None:
    engine = idle_pbs(pbs_site(), [asking(0, 2, 60), asking(1, 1, 60)], np.array([0, 1]), PbsPhases())
    assert engine.load.total.tolist() == [16] and (engine.running.start == UNSET).all()
    assert engine.running.first.tolist() == [0, 2, 3] and engine.tops.free.shape[1:] == (4, 1)
