"""What other settings and orders would do on a source's own nodes, next to random ones."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.replay.own.alternatives import (
    CANDIDATE,
    FIXED_ORDERS,
    LONGEST_LOG,
    MOST_RANDOM,
    ORDER,
    RANDOM_ORDER,
    RANDOM_SETTING,
    SETTING,
    Alternatives,
    alternatives_of,
    asked_first,
    random_settings,
    store_alternatives,
    stored_alternatives,
)
from assets.replay.run import ReplayRun
from assets.replay.tables import run_jobs, series_of
from assets.report.comparison import Comparison, Grade
from assets.report.page import Table
from assets.report.render import alternatives_section, schedulers_data
from models.judging.chance import CAPS_S
from models.judging.fidelity import change_error
from tests.tiny import busy_log, warehouse_of
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import bundled_cluster


@pytest.fixture(scope="module", params=["birch", "larch"])
def tried(request, tmp_path_factory) -> tuple[ReplayRun, Alternatives]:
    """Of a bundled site with few jobs: its own scheduler's replay, and what was tried."""
    folder, format_of = tmp_path_factory.mktemp(request.param), {"birch": "pbs", "larch": "slurm"}
    text = f'[sources.tiny]\nformat = "{format_of[request.param]}"\ncluster = "{request.param}"\n'
    (folder / "sources.local.toml").write_text(
        f'{text}generator = {{ site = "{request.param}", seed = 2, jobs = 700 }}\n', encoding="utf-8"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEHOUSE_HOME", str(folder))
        patch.setenv("TRACEHOUSE_SOURCES", "")
        update_raw_log(open_warehouse(), load_catalogue().source("tiny"))
        write_jobs(open_warehouse(), "tiny")
        made = alternatives_of(open_warehouse(), "tiny")
        assert made is not None
        own = tracehouse.replay("tiny").replayed
        waits = (own.schedule.start - own.jobs.submit)[len(own.jobs) // 2 :]
        assert made.present_s == pytest.approx(float(waits.mean()), rel=0.01)
    return own, made


def test_every_kind_is_tried_on_the_same_jobs(tried: tuple[ReplayRun, Alternatives]) -> None:
    _, made = tried
    kinds = [each.kind for each in made.tried]
    assert kinds.count(ORDER) == len(FIXED_ORDERS)
    assert kinds.count(RANDOM_ORDER) >= len(CAPS_S) and not kinds.count(RANDOM_ORDER) % len(CAPS_S)
    assert kinds.count(CANDIDATE) >= 3 and kinds.count(SETTING) <= 1 and kinds.count(RANDOM_SETTING) <= MOST_RANDOM
    waits = [each.wait_s for each in made.of(ORDER)]
    assert waits == sorted(waits) and len(set(waits)) > 1


def test_the_truth_of_a_bundled_log_is_that_of_its_generator(tried: tuple[ReplayRun, Alternatives]) -> None:
    _, made = tried
    if not made.is_advised:
        assert made.truth is None
        return
    assert made.truth is not None and made.setting is not None
    predicted = (made.present_s, made.setting.wait_s)
    assert made.truth.error == change_error((made.truth.before_s, made.truth.after_s), predicted) >= 1


def test_the_answer_has_the_best_orders_and_the_page_has_all(tried: tuple[ReplayRun, Alternatives]) -> None:
    _, made = tried
    table = schedulers_data(Comparison(Grade("B", None, 1.0, 1.0)), made)
    assert table is not None and len(table["rows"]) == 7
    assert table["rows"][0][2] == "baseline" and sum(row[-1].startswith("Random") for row in table["rows"]) == 1
    tables = [each for each in alternatives_section(made).blocks if isinstance(each, Table)]
    assert sum(len(each.rows) for each in tables) == len(made.tried)


def test_a_change_is_chosen_on_the_first_half_and_needs_to_beat_random_ones(
    tried: tuple[ReplayRun, Alternatives],
) -> None:
    _, made = tried
    if made.setting is None:
        assert not made.of(RANDOM_SETTING) and not made.is_advised
        return
    kept = [each for each in made.of(CANDIDATE) if not each.verdict and each.slowdown < 1]
    assert made.setting.name == min(kept, key=lambda each: each.slowdown * each.wait_s).name
    assert made.is_advised == (made.word in ("dominates", "trades"))
    if made.is_advised:
        assert len(made.of(RANDOM_SETTING)) == MOST_RANDOM and not made.as_good


def test_what_is_stored_is_what_was_made(
    tried: tuple[ReplayRun, Alternatives], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    store_alternatives("tiny", tried[1])
    assert stored_alternatives("tiny") == tried[1]
    store_alternatives("tiny", None)
    assert stored_alternatives("tiny") is None


def test_suspended_time_is_no_use_of_a_saved_run(tried: tuple[ReplayRun, Alternatives]) -> None:
    own, _ = tried
    saved, paused_s = run_jobs("x", own), own.schedule.suspended_s
    lasted = (saved["end_time"] - saved["start_time"]).dt.total_seconds().to_numpy()
    assert (lasted - own.jobs.runtime == paused_s).all() and (paused_s >= 0).all()
    assert (paused_s > 0).any() == (own.policy.text == "pbs"), "only birch has a queue whose jobs suspend others"
    assert series_of(own)["procs_in_use"].max() <= own.cluster.procs
    if own.schedule.suspended is not None:
        assert (own.schedule.part(slice(0, 5)).suspended_s == paused_s[:5]).all()


def test_changes_are_those_of_the_scheduler() -> None:
    birch, larch = (bundled_cluster(name).description for name in ("birch", "larch"))
    assert dict(asked_first(larch))["age counts ten times as much"] == ("PriorityWeightAge=40000",)
    (short,) = dict(asked_first(birch))["short requests first"]
    assert short == "job_sort_formula=queue_priority + eligible_time / 600 - walltime / 300"
    for cluster in (birch, larch):
        drawn, again = (list(islice(random_settings(cluster), MOST_RANDOM)) for _ in range(2))
        assert len(set(drawn)) == len(drawn) and drawn == again


def test_a_source_without_a_scheduler_that_replays_has_none(tmp_path: Path) -> None:
    assert alternatives_of(warehouse_of(tmp_path, busy_log(50)), "mine") is None and LONGEST_LOG > 10_000


def test_the_error_of_a_change_is_a_factor() -> None:
    assert change_error((540.0, 240.0), (540.0, 240.0)) == 1
    assert change_error((540.0, 240.0), (540.0, 540.0)) == change_error((540.0, 540.0), (540.0, 240.0)) == 2
