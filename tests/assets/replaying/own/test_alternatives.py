"""What other settings would do on a source's own nodes, next to random ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.pages.render import alternatives_section
from assets.pages.summary import _settings_advice
from assets.replaying.own import alternatives as module
from assets.replaying.own.alternatives import (
    CANDIDATE,
    LEAST_SLOWDOWN_GAIN,
    MOST_RANDOM,
    RANDOM_SETTING,
    SETTING,
    Alternative,
    Alternatives,
    alternatives_of,
    asked_first,
    random_settings,
    store_alternatives,
    stored_alternatives,
)
from assets.replaying.pace import pace_of
from assets.replaying.running.run import ReplayRun
from assets.replaying.running.tables import run_jobs, series_of
from assets.replaying.tuning.source_replays import source_replays
from assets.replaying.tuning.tuned import LIKE_RANDOM_SETTINGS
from models.judging.fidelity import change_error
from models.judging.verdict import DEPENDS
from tests.assets.replaying.own.homes import MANY, own_home
from tests.tiny import busy_log, warehouse_of
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import bundled_cluster

RANDOMS = tuple(Alternative(f"random {k}", RANDOM_SETTING, (), 7200.0 + k, 1.1) for k in range(MOST_RANDOM))


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
        replays = source_replays("tiny")
        run = replays.replay(200)
        closed = replays.replay(200, pace=pace_of(run))
        assert closed.counts["jobs_that_follow"] > 0 and (closed.schedule.start == run.schedule.start).all()
    return own, made


def test_usual_changes_are_tried_the_least_wait_first(tried: tuple[ReplayRun, Alternatives]) -> None:
    _, made = tried
    waits = [each.wait_s for each in made.of(CANDIDATE)]
    assert len(waits) >= 3 and waits == sorted(waits) and len(set(waits)) > 1


def test_a_change_is_chosen_on_the_first_half_and_advised_only_beyond_chance(
    tried: tuple[ReplayRun, Alternatives],
) -> None:
    _, made = tried
    kept = [each for each in made.of(CANDIDATE) if not each.verdict and each.slowdown < 1 - LEAST_SLOWDOWN_GAIN]
    assert (made.setting is None) == (not kept)
    headline, _ = _settings_advice(made)
    randoms = made.of(RANDOM_SETTING)
    assert made.as_good == (made.word == LIKE_RANDOM_SETTINGS)
    if made.is_advised:
        assert len(randoms) == MOST_RANDOM and made.truth is not None and made.setting is not None
        predicted = (made.present_s, made.setting.wait_s)
        assert made.truth.error == change_error((made.truth.before_s, made.truth.after_s), predicted) >= 1
    else:
        assert headline.startswith("Keep the settings") and made.truth is None


def test_usual_changes_are_made_with_users_who_keep_their_pace_too(tried: tuple[ReplayRun, Alternatives]) -> None:
    own, made = tried
    changes = {each.name: (each.wait_s / made.first_s - 1, each.pace_change) for each in made.of(CANDIDATE)}
    assert made.following == pace_of(own).share >= 0.1
    assert all(paced is not None for _, paced in changes.values())
    assert any(change != pytest.approx(paced, rel=1e-9) for change, paced in changes.values())
    if made.setting is not None:
        assert made.setting.pace_change is not None and made.setting.times_verdict and made.setting.pace_verdict
    (first, _, note) = alternatives_section(made).blocks[1:]
    assert first.columns[3] == "keep pace" and first.rows[0][3].endswith(" %")  # type: ignore[union-attr]
    assert str(note).startswith("Keep pace: the change where who submitted soon after an end")


def test_a_part_of_a_log_has_the_submissions_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", MANY, monkeypatch)
    replays = source_replays("mine")
    pace = pace_of(replays.replay(48))
    with pytest.raises(ValueError, match="'keep pace' replays a whole log"):
        replace(replays, ahead=1).replay(2, pace=pace)


def test_advice_has_both_ways_and_none_where_it_depends_on_users() -> None:
    change = Alternative(
        "small jobs first", SETTING, ("x=1",), 3600.0, 0.8, "dominates", "nobody", -0.2, "dominates", "harms"
    )
    made = Alternatives("slurm", 100, 7200.0, 7200.0, (change, *RANDOMS), "dominates", 0, 0.1, following=0.3)
    headline, text = _settings_advice(made)
    assert headline.startswith("Try") and "That is -50 %, and -20 % where users keep their pace." in text
    _, text = _settings_advice(replace(made, tried=(change._replace(pace_change=-0.5), *RANDOMS)))
    assert "where users keep their pace" not in text
    turned = replace(made, word=DEPENDS, tried=(change._replace(verdict=DEPENDS), *RANDOMS))
    headline, text = _settings_advice(turned)
    assert headline == "Keep the settings: what they gain depends on users." and not turned.is_advised
    assert "Verdict: dominates where all submit at the times of the log, and harms where who follows" in text
    (_, _, later, _) = alternatives_section(turned).blocks
    assert later.rows[0][3:5] == ["-20 %", DEPENDS]  # type: ignore[union-attr]


def test_advice_says_who_pays_and_where_chance_lands() -> None:
    change = Alternative(
        "age counts more", SETTING, ("PriorityWeightAge=1",), 3600.0, 0.8, "dominates, certain", "nobody"
    )
    made = Alternatives("slurm", 100, 7200.0, 7200.0, (change, *RANDOMS), "dominates", 0, 0.1)
    headline, text = _settings_advice(made)
    assert headline == "Try: age counts more." and "None of 19 random settings does as well (2.0 h to 2.0 h)" in text
    as_good = replace(made, word=LIKE_RANDOM_SETTINGS, as_good=1, tried=(change, RANDOMS[0]._replace(wait_s=1800.0)))
    headline, text = _settings_advice(as_good)
    assert headline == "Keep the settings: chance does as well." and "one does as well, at 30 min" in text
    unseen = replace(made, word="no significant difference", tried=(change,))
    headline, text = _settings_advice(unseen)
    assert headline == "Keep the settings." and "Only a change of 10 % or more would have been seen." in text
    headline, text = _settings_advice(replace(unseen, tried=(), word=""))
    assert headline == "Keep the settings."


def test_alternatives_are_stored_until_there_are_none(
    tried: tuple[ReplayRun, Alternatives], tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    _, made = tried
    assert stored_alternatives("tiny") is None
    store_alternatives("tiny", made)
    assert stored_alternatives("tiny") == made
    store_alternatives("tiny", None)
    assert stored_alternatives("tiny") is None


def test_the_page_has_all_that_was_tried(tried: tuple[ReplayRun, Alternatives]) -> None:
    _, made = tried
    (_, first, later, _) = alternatives_section(made).blocks
    assert len(first.rows) + len(later.rows) == len(made.tried)  # type: ignore[union-attr]


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
    without = replace(larch, scheduler=replace(larch.scheduler, values={"priorityweightage": 400}))
    assert "fair share counts for nothing" in dict(asked_first(larch)), "and not where it counts for nothing already"
    assert list(dict(asked_first(without))) == [
        "age counts ten times as much",
        "backfilling looks at 500 jobs each minute",
    ]
    (short,) = dict(asked_first(birch))["short requests first"]
    assert short == "job_sort_formula=queue_priority + eligible_time / 600 - walltime / 300"
    for cluster in (birch, larch):
        drawn = list(islice(random_settings(cluster), MOST_RANDOM))
        assert len(set(drawn)) == MOST_RANDOM and drawn == list(islice(random_settings(cluster), MOST_RANDOM))


def test_a_source_without_a_scheduler_that_replays_has_none(tmp_path: Path) -> None:
    assert alternatives_of(warehouse_of(tmp_path, busy_log(50)), "mine") is None


def test_the_error_of_a_change_is_a_factor() -> None:
    assert change_error((540.0, 240.0), (540.0, 240.0)) == 1
    assert change_error((540.0, 240.0), (540.0, 540.0)) == change_error((540.0, 540.0), (540.0, 240.0)) == 2


def test_of_a_long_log_the_last_jobs_are_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'format = "slurm"\ncluster = "larch"\ngenerator = { site = "larch", seed = 2, jobs = 500 }\n'
    (tmp_path / "sources.local.toml").write_text(f"[sources.tiny]\n{text}", encoding="utf-8")
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    update_raw_log(open_warehouse(), load_catalogue().source("tiny"))
    write_jobs(open_warehouse(), "tiny")
    monkeypatch.setattr(module, "MOST_REPLAYED", 200)
    monkeypatch.setattr(module, "SLURM_CHANGES", {"small jobs first": ("PriorityFavorSmall=YES",)})

    made = alternatives_of(open_warehouse(), "tiny")

    assert made is not None and 100 <= made.jobs < 200 and made.of(CANDIDATE) and made.truth is None
    assert (
        made.part.startswith("These are the last 200 of ")
        and "begin with the jobs that ran and waited then" in made.part
    )
    store_alternatives("tiny", made)
    assert stored_alternatives("tiny") == made
    assert made.part in str(alternatives_section(made).blocks[0])


def test_the_last_jobs_meet_those_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", MANY, monkeypatch)
    whole = source_replays("mine")
    last = whole.of_last(2)  # two large jobs run on the first node, as the log has it
    assert (last.waiting.height, last.rows.height, last.ahead) == (0, 2, 2)
    waits = last.replay(2).schedule.start - last.rows["submit_s"].to_numpy()
    assert waits[0] < 60 and waits[1] > 200
    assert (whole.of_last(48).replay(48).schedule.start == whole.replay(48).schedule.start).all()
