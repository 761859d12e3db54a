"""Tests of assets/replaying: judged_orders.

Orders in the place of a site's own, in replays of its whole log, with verdicts and random orders.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.marts.leaderboard import board_of
from assets.pages.comparison import read_comparison, word_of
from assets.pages.render import schedulers_data
from assets.policies.verdicts import JudgedRule
from assets.replay.evaluation import Contestant, period_replays, site_rules
from assets.replay.paced_orders import MOST_PACED, PACE_COLUMNS, PacedOrders
from assets.replay.random_orders import incumbent_of, is_random_order, stored_cloud
from assets.replaying.judged_orders import JudgedOrders
from assets.replaying.pace import pace_of
from assets.replaying.scenarios.paced import replay_at_pace
from assets.replaying.starts import on_site
from models.judging.chance import CAPS_S
from tests.assets.replaying.own.homes import CLUSTER, MANY, own_home
from traces.catalogue.catalogue import load_catalogue
from warehouse import replace_partitions

CONTESTANTS = [Contestant(name, name) for name in ("FCFS", "SAF", "WFP3")]


def judged_orders(source: str) -> JudgedOrders:
    site = on_site(open_warehouse(), source)
    trace = load_trace(open_warehouse(), source, labels=site.settings.labels)
    requested = pl.col("requested_walltime_s").fill_null(600)
    predicted = trace.rows.with_columns(predicted_runtime_s=requested * 0.7)
    assert site.site.scheduler.described is not None
    cluster = site.site.scheduler.described.name
    return JudgedOrders(site.settings, site.policy, replace(trace, rows=predicted), trace.rows.height // 2, cluster)


@pytest.fixture(scope="module", params=["birch", "larch"])
def bundled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """A bundled site with few jobs, evaluated: its replays and rows of replay.period_scores."""
    folder, format_of = tmp_path_factory.mktemp(request.param), {"birch": "pbs", "larch": "slurm"}
    text = f'[sources.tiny]\nformat = "{format_of[request.param]}"\ncluster = "{request.param}"\n'
    generated = f'{text}generator = {{ site = "{request.param}", seed = 2, jobs = 700 }}\n'
    (folder / "sources.local.toml").write_text(generated, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEHOUSE_HOME", str(folder))
        patch.setenv("TRACEHOUSE_SOURCES", "")
        update_raw_log(open_warehouse(), load_catalogue().source("tiny"))
        write_jobs(open_warehouse(), "tiny")
        write_jobs(open_warehouse(), "tiny")
        orders = judged_orders("tiny")
        site = on_site(open_warehouse(), "tiny")
        scores, schedules, _ = period_replays(orders.trace, CONTESTANTS, orders.first_scored, orders, site)
        split = {"test_job_index": [orders.trace.rows["job_index"][orders.first_scored]], "train_share": [0.5]}
        tables = {"replay.period_scores": scores, "replay.schedules": schedules}
        replace_partitions(open_warehouse(), "tiny", tables | {"predictions.training_splits": pl.DataFrame(split)})
        yield orders, scores


def test_the_sites_own_scheduler_is_the_incumbent_and_orders_take_its_place(bundled) -> None:
    orders, scores = bundled
    own = orders.settings.policy
    present = incumbent_of(scores)
    assert (present["policy"], present["backfill"], present["bounded_slowdown_ratio"]) == (own, "own", 1)
    judged = set(scores.filter(pl.col("verdict").is_not_null())["policy"])
    assert {own, "FCFS", "SAF", "bounded-key", "searched-key"} <= judged
    assert ("WFP3" in judged) == (own == "slurm"), "PBS takes no order that changes while a job waits"
    assert set(scores["cluster"]) == {orders.cluster} == {"birch" if own == "pbs" else "larch"}
    assert scores.filter(policy=own, estimates="predicted").height == 1
    waits = dict(scores.filter(estimates="requested").select("policy", "average_wait_s").iter_rows())
    replayed = orders.replayed(JudgedRule("SAF", "SAF", "own"))
    wait = (replayed.schedule.start - replayed.jobs.submit)[replayed.scored]
    assert waits["SAF"] == pytest.approx(wait.mean()) and waits["SAF"] != waits[own]


def test_random_orders_are_replayed_in_the_same_place_until_each_gain_has_one_that_does_as_well(bundled) -> None:
    _, scores = bundled
    by_lot = scores.filter(is_random_order())
    assert by_lot.height % len(CAPS_S) == 0 and set(by_lot["backfill"]) == {"own"}
    cloud = stored_cloud(scores)
    assert cloud is not None and len(cloud.ratios) == by_lot.height
    board = board_of(scores)
    assert board.filter(pl.col("rank").is_null())["policy"].str.starts_with("random order").all()


def test_the_page_compares_with_the_own_scheduler(bundled) -> None:
    orders, scores = bundled
    title = {"slurm": "Slurm", "pbs": "PBS"}[orders.settings.policy]
    compared = read_comparison(open_warehouse(), "tiny")
    assert compared.baseline is not None and compared.baseline.name == f"{title} as it is configured"
    assert compared.baseline.mean_s == pytest.approx(incumbent_of(scores)["average_wait_s"])
    assert compared.place == f"orders in place of {title}'s own, on its nodes and under its limits"
    assert {row.name for row in compared.tried} >= {"Smallest area first with requested times"}
    assert all(word_of(row) for row in compared.tried)
    table = schedulers_data(compared)
    assert table is None or table["about"].startswith(f"Orders in place of {title}'s own")


def test_orders_that_may_be_advised_are_replayed_where_users_keep_their_pace(bundled) -> None:
    orders, scores = bundled
    advised = scores.filter(pl.col("verdict").str.contains("trades|dominates|depends"))
    replayed = scores.filter(pl.col("pace_verdict").is_not_null())
    assert 1 < replayed.height == min(advised.height, MOST_PACED) and replayed["times_verdict"].null_count() == 0
    pace, first = pace_of(orders.present), orders.first_scored
    closed = replay_at_pace(orders.trace, orders.settings, orders.policy, pace, own_runs=1)
    assert (closed.schedule.start == orders.present.schedule.start).all(), "so that it is not replayed"
    settings, policy = orders.order(JudgedRule("SAF", "SAF", "own"))
    run = replay_at_pace(orders.trace, settings, policy, pace, own_runs=1)
    both = run.schedule.started & closed.schedule.started
    both[:first] = False
    waits = [(each.schedule.start - each.jobs.submit)[both].mean() for each in (run, closed)]
    stored = replayed.filter(policy="SAF", estimates="requested")["pace_change_share"].item()
    assert stored == pytest.approx(waits[0] / waits[1] - 1, abs=1e-6)


def test_a_log_that_is_too_long_for_its_cluster_says_why(bundled, monkeypatch: pytest.MonkeyPatch) -> None:
    orders, _ = bundled
    monkeypatch.setattr("assets.replaying.scenarios.paced.MOST_ON_CLUSTER", 200)
    monkeypatch.setattr("assets.replay.paced_orders.replay_at_pace", lambda *_, **__: pytest.fail("it replays"))
    site = on_site(open_warehouse(), "tiny")
    rule, replayed, judgement = list(orders.judged([JudgedRule("SAF", "SAF", "own")]))[-1]
    row, theirs = PacedOrders(site, orders.trace, orders.first_scored, orders).columns(
        [(rule, replayed), (orders.incumbent, replayed)],
        [judgement, replace(judgement, verdict=replace(judgement.verdict, word="worse"))],
        pl.DataFrame(),
    )
    assert row == {
        "not_paced_because": f"on a cluster that is done for 200 jobs at most, and the log has {orders.trace.rows.height:,}"
    }
    assert judgement.verdict.word == "trades" and theirs == {} and PACE_COLUMNS.keys() > row.keys()


def test_of_a_long_log_the_last_jobs_are_replayed(bundled, monkeypatch: pytest.MonkeyPatch) -> None:
    orders, _ = bundled
    monkeypatch.setattr("assets.replaying.judged_orders.MOST_REPLAYED", 200)
    last = replace(orders)
    assert last.rows.height == 200 and last.rows["job_index"][-1] == orders.rows["job_index"][-1]
    ((_, theirs, judgement),) = last.judged([])
    whole = orders.replayed(orders.incumbent)
    late = slice(-100, None)  # from the state that the log has they come near
    waits = [(each.schedule.start - each.jobs.submit)[late].mean() for each in (theirs, whole)]
    assert waits[0] == pytest.approx(waits[1], rel=0.5) and judgement.verdict.word == "no difference"
    assert int(theirs.scored.sum()) == 200


def test_scores_over_a_row_are_of_another_place(bundled) -> None:
    _, scores = bundled
    replace_partitions(
        open_warehouse(), "tiny", {"replay.period_scores": scores.with_columns(cluster=pl.lit(None, pl.Utf8))}
    )
    assert "nodes and limits that are described now" in (read_comparison(open_warehouse(), "tiny").why_none or "")
    replace_partitions(open_warehouse(), "tiny", {"replay.period_scores": scores})


def test_orders_under_limits_are_replayed_under_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may run one job, so that every order is that of submission."""
    cluster = CLUSTER[: CLUSTER.index("[scheduler]")] + CLUSTER[CLUSTER.index("[[nodes]]") :]
    limit = '[[limits]]\nowner = "cluster"\nowner_name = ""\ncounts = "running"\neach = "user"\nresource = "jobs"\nbound = 1\n'
    own_home(tmp_path / "home", MANY, monkeypatch, cluster + limit)
    orders = judged_orders("mine")
    incumbent = orders.incumbent
    assert (incumbent.policy, incumbent.backfill) == ("FCFS", "easy")
    rules = [rule for rule, _ in site_rules(CONTESTANTS, incumbent)]
    judged = {(rule.name, rule.estimates): replayed for rule, replayed, _ in orders.judged(rules)}
    assert ("SAF", "requested") in judged and ("WFP3", "requested") not in judged
    free = {name: replayed.schedule.start for name, replayed in judged.items()}
    one_by_one = free["FCFS", "requested"]
    assert (one_by_one[1:] >= one_by_one[:-1]).all() and len(set(one_by_one.tolist())) == len(one_by_one)
