"""Tests of assets/replaying: plots, running/loading, running/policies, running/scored_part, running/settings,
running/tables."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.common.trace import Trace, load_trace
from assets.policies.adoption import adopt
from assets.policies.training import PolicyTask, TrainingSetup, split_of
from assets.replaying import plots
from assets.replaying.running.loading import catalogue_source, check_log_estimates, is_loaded, is_path, load_any_trace
from assets.replaying.running.policies import choose_agent
from assets.replaying.running.replayers import check_settings, choose_policy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.scored_part import PartOptions, part_of
from assets.replaying.running.settings import RunSettings, check_run_name
from assets.replaying.running.tables import STEPS_S, mean_level, run_jobs, series_of, step_for, with_time
from models.scheduling.learning.recipes import rule_network
from models.scheduling.learning.training import TrainedPolicy
from models.scheduling.learning.training_run import JudgedPolicy
from models.scheduling.options import AGENT_PPO, Recipe
from models.scheduling.policy_file import load_agent, policy_to_bytes
from models.waits.clock import LogClock
from simulator.policies.agents import NETWORK, UNFIT, parse_agent
from simulator.policies.observation import layout_named
from tests.pipelines.command_line import use_home
from tests.simulator.busy import random_weights
from tests.tiny import busy_log, swf_line, warehouse_of
from traces.catalogue.sources import CatalogueError, Source

# loading: A log or a source as a trace, whether it is in the warehouse or not.


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of two jobs; `mine` is its name in the catalogue of an empty home."""
    path = tmp_path / "mine.swf"
    path.write_text("; MaxProcs: 4\n" + swf_line(1, 0, 0, 60, 1, 90) + swf_line(2, 5, 0, 60, 4, 90))
    use_home(monkeypatch, tmp_path / "home").write_text(f'[sources.mine]\nformat = "swf"\npath = "{path}"\n')
    return path


def test_what_is_a_path_and_what_a_name(log: Path) -> None:
    assert is_path(str(log)) and not is_path("mine") and not is_path("")
    assert catalogue_source("mine").path == log
    for name, says in (("", "give a log"), ("none.swf", "no such log file"), ("nosuch", "unknown source 'nosuch'")):
        with pytest.raises((ValueError, CatalogueError), match=says):
            catalogue_source(name)


def test_a_source_that_is_not_loaded_is_read(log: Path) -> None:
    assert not is_loaded("mine")
    trace = load_any_trace(catalogue_source("mine"), RunSettings(), in_catalogue=True)
    assert trace.rows["job_id"].to_list() == ["1", "2"] and trace.cluster_procs == 4
    again = load_any_trace(Source(log.name, "auto", log), RunSettings(), in_catalogue=False)
    assert again.rows["submit_s"].to_list() == [0, 5]
    assert not is_loaded("mine")  # nothing was left behind


def test_predictions_are_those_of_a_source(log: Path) -> None:
    predicted = RunSettings(estimates="predicted")
    with pytest.raises(ValueError, match="a log has no predicted run times"):
        check_log_estimates(log, predicted)
    with pytest.raises(ValueError, match="has no predicted run times yet"):
        load_any_trace(catalogue_source("mine"), predicted, in_catalogue=True)


# plots: Figures of what-if replays, drawn from one small replay.


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ReplayRun:
    trace = load_trace(warehouse_of(tmp_path_factory.mktemp("busy"), busy_log()), "mine")
    return replay_run(trace, RunSettings(), choose_policy(RunSettings(), None, "mine"))


def png(figure) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=40)
    return picture.getvalue()


def test_the_gantt_chart_shows_the_stretch_where_most_jobs_wait(run: ReplayRun) -> None:
    figure = plots.gantt_of(run, "mine")
    title = figure.axes[0].get_title(loc="left") or figure.axes[0].get_title()
    assert title.startswith("mine") and png(figure).startswith(b"\x89PNG")


def test_use_and_queue_have_an_axis_for_each_run_and_one_for_all_queues(run: ReplayRun) -> None:
    series = with_time(series_of(run), run)
    figure = plots.use_and_queue({"a": series, "b": series}, {"a": 16, "b": 16})
    assert len(figure.axes) == 3 and figure.axes[2].get_ylabel() == "jobs waiting"
    assert len(figure.axes[2].lines[0].get_xdata()) <= plots.MOST_POINTS + 1
    days = plots.use_and_queue({"a": series}, {"a": 16}, has_calendar=False)
    assert days.axes[1].get_xlabel() == "days since the first submission"


def test_waits_are_drawn_by_class_and_hour(run: ReplayRun) -> None:
    figure = plots.waits({"a": run_jobs("a", run)}, {"a": 16}, "Europe/Berlin")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert any("by size and run time" in title for title in titles)
    assert any("Europe/Berlin" in title for title in titles)


# policies: Agents of a replay by name and by file, and what is refused.


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("agents"), busy_log(120)), "mine")


def agent_file(folder: Path, text: str, **card: object) -> str:
    agent = parse_agent(text)
    weights = rule_network(agent, layout_named("picking" if agent.picking.by else "inspecting"), 40.0, 1)
    path = folder / f"{text[:4]}.json"
    path.write_bytes(policy_to_bytes(weights, {"source": "mine", "trained_jobs": 3, **card}, text))
    return str(path)


def test_files_and_rules(tmp_path: Path) -> None:
    picks = agent_file(tmp_path, "pick:by=shortest,window=9-8")
    chosen = choose_agent(RunSettings(backfill=picks, inspector="unfit"), "mine")
    assert chosen is not None and chosen.sha256 is not None and chosen.trained_jobs == 3
    assert (chosen.agent.picking.by, chosen.agent.inspecting.by) == (NETWORK, UNFIT)
    assert (chosen.agent.picking.front, chosen.agent.picking.back) == (9, 8)
    other = choose_agent(RunSettings(inspector=agent_file(tmp_path, "inspect:accept")), "other")
    assert other is not None and other.agent.inspecting.by == NETWORK and other.trained_jobs == 0
    assert choose_agent(RunSettings(), "mine") is None


def test_what_does_not_go(trace: Trace, tmp_path: Path) -> None:
    picks, inspects = agent_file(tmp_path, "pick:by=shortest,window=9-8"), agent_file(tmp_path, "inspect:accept")
    orders = tmp_path / "order.json"
    orders.write_bytes(policy_to_bytes(random_weights(), {}))
    for settings, said in (
        (RunSettings(backfill=picks, inspector=inspects), "one learned agent decides in a replay"),
        (RunSettings(backfill=inspects), "decides something else: give it to --inspector"),
        (RunSettings(inspector=picks), "decides something else: give it to --backfill"),
        (RunSettings(backfill=str(orders)), "orders the queue: give it to --policy"),
        (RunSettings(backfill=str(tmp_path / "none.json")), "no such policy file"),
        (RunSettings(policy=picks), "is an agent, which picks"),
        (RunSettings(inspector="sometimes"), "expected one of accept, unfit, reject"),
        (RunSettings(rules="rlscheduler", inspector="unfit"), "have no --inspector"),
        (RunSettings(backfill="pick:by=fastest"), "by must be one of first, oldest"),
        (RunSettings(backfill="conservative", inspector="unfit"), "no picks that could be inspected"),
        (RunSettings(backfill="learned", rules="rlscheduler"), "not one of the RLScheduler rules"),
        (
            RunSettings(backfill="learned"),
            "--backfill learned: a log has no learned agent of its own: .* --learn backfilling`",
        ),
        (
            RunSettings(inspector="learned"),
            "--inspector learned: a log has no learned agent of its own: .* --learn inspector`",
        ),
        (RunSettings(backfill="learned", inspector=inspects), "one learned agent decides in a replay"),
    ):
        with pytest.raises(ValueError, match=said):
            replay_run(trace, check_settings(settings), choose_policy(check_settings(settings), None, "mine"))


def test_a_run_says_who_decided(trace: Trace, tmp_path: Path) -> None:
    picks = agent_file(tmp_path, "pick:by=shortest,window=120-0")
    settings = check_settings(RunSettings(backfill=picks))
    run = replay_run(trace, settings, choose_policy(settings, None, "mine"))
    same = check_settings(RunSettings(backfill="easy-sjbf"))
    expected = replay_run(trace, same, choose_policy(same, None, "mine"))
    assert run.schedule.start.tolist() == expected.schedule.start.tolist()
    assert settings.portable_backfill == "pick.json" and run.policy.agent_sha256 is not None


def test_live_estimates_are_used_beside_agents(trace: Trace) -> None:
    def starts(**settings: str) -> list[int]:
        checked = check_settings(RunSettings(**settings))
        return replay_run(trace, checked, choose_policy(checked, None, "mine")).schedule.start.tolist()

    live = starts(backfill="easy-sjbf", estimates="live")
    assert starts(backfill="pick:by=shortest", estimates="live") == live != starts(backfill="easy-sjbf")
    assert starts(inspector="accept", estimates="live") == starts(estimates="live")


def test_the_champions_of_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    warehouse = warehouse_of(tmp_path, busy_log(400))
    trace = load_trace(warehouse, "mine")

    def starts(**settings: str | None) -> list[int]:
        checked = check_settings(RunSettings(**settings))
        run = replay_run(trace, checked, choose_policy(checked, warehouse, "mine"))
        if "Learned" in settings.values():
            assert (run.settings.portable_backfill, run.counts["jobs_seen_in_training"]) == ("learned", 200)
            assert run.policy.agent_sha256 is not None
        return run.schedule.start.tolist()

    for option, learns in (("backfill", "backfilling"), ("inspector", "inspector")):
        with pytest.raises(
            ValueError, match=f"for source 'mine': train one with `tracehouse train mine --learn {learns}`"
        ):
            starts(**{option: "learned"})
    files = {}
    for text, base in (("pick:by=shortest,window=12-8", "FCFS"), ("inspect:unfit", "SJF")):
        setup = TrainingSetup.on_split(trace, PolicyTask(agent=text, base=base), split_of(trace, 48))
        files[base] = agent_file(tmp_path, text)
        agent, _ = load_agent(Path(files[base]))
        assert agent.weights is not None
        trained = TrainedPolicy(agent.weights, 0, 1.0, [], {})
        layout = "picking" if base == "FCFS" else "inspecting"
        recipe = Recipe(ppo=AGENT_PPO.model_copy(update={"layout": layout}))
        adopt(warehouse, setup, [JudgedPolicy(recipe, 1, trained, np.zeros(1))])
    assert starts(backfill="Learned") == starts(backfill=files["FCFS"]) != starts(backfill="easy")
    assert (
        starts(policy="SJF", inspector="learned")
        == starts(policy="SJF", inspector=files["SJF"])
        != starts(policy="SJF")
    )
    assert starts(policy="SJF", backfill="learned", inspector="unfit") != starts(policy="SJF", backfill="learned")


# scored_part: Which jobs are scored.

BERLIN = LogClock(datetime(2025, 12, 31, 23), "Europe/Berlin")  # second 0 is midnight there
UNDATED = LogClock(datetime(1970, 1, 1), "Europe/Berlin", has_dates=False)
DAY = 86_400
JOBS = pl.DataFrame(
    {
        "submit_s": [
            0,
            30 * DAY,
            31 * DAY - 1,
            31 * DAY,
            58 * DAY,
            59 * DAY,
            70 * DAY,
        ],  # three in January, two in February
        "queue": ["short", "long", "short", "short", "long", None, "short"],
        "user_name": ["ann", "bob", "ann", "bob", "ann", "ann", "bob"],
        "account": [None] * 7,
    },
    schema_overrides={"account": pl.Utf8},
)


def chosen(clock: LogClock = BERLIN, jobs: pl.DataFrame = JOBS, **options: str) -> tuple[list[int], str]:
    part = part_of(jobs, clock, PartOptions(**options))
    return [k for k, is_scored in enumerate(part.mask) if is_scored], part.words


def test_periods_are_of_the_clusters_calendar() -> None:
    assert chosen(period="2026-01")[0] == [0, 1, 2]
    scored, words = chosen(period="last-month")
    assert scored == [3, 4]
    assert words == "the last complete month, 2026-02, Sun 2026-02-01 00:00 to Sun 2026-03-01 00:00 (Europe/Berlin)"
    scored, words = chosen(jobs=JOBS.head(3), period="Last-Month")
    assert scored == [0, 1, 2] and words.startswith("the only month that there is, 2026-01")
    assert chosen(period="last-12-days")[0] == [5, 6] and chosen(UNDATED, period="last-1-day")[0] == [6]


def test_moments_are_local_days_times_or_seconds() -> None:
    assert chosen(begin="2026-02-01")[0] == [3, 4, 5, 6] and chosen(end="2026-02-01")[0] == [0, 1, 2]
    assert chosen(begin="2026-01-31T00:00", end="2026-01-31 23:59:59")[0] == [1]
    assert chosen(UNDATED, begin=str(31 * DAY), end=str(59 * DAY)) == (
        [3, 4],
        "submitted seconds 2678400 to 5097600 of the log's own clock",
    )


def test_queue_user_and_account_narrow_what_is_scored() -> None:
    assert chosen(queue="short", user="bob") == ([3, 6], "queue short, user bob")
    assert chosen(period="2026-01", user="ann")[0] == [0, 2]
    assert PartOptions().is_all and PartOptions(queue="a", account="b").labels == ["queue", "account"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"period": "yesterday"}, "unknown period 'yesterday': expected last-month, a month such as 2026-03"),
        ({"period": "2026-13"}, "unknown period"),
        ({"period": "2026-01", "begin": "2026-01-02"}, "leave --from and --to out, or --period"),
        ({"period": "2027-01"}, "no job was submitted in this time (the month 2027-01"),
        ({"begin": "March"}, "--from March: expected a day such as 2026-03-01"),
        ({"begin": "2026-02-01", "end": "2026-01-01"}, "is not after --from 2026-02-01"),
        ({"queue": "huge"}, "no job queue huge: the commonest are short, long"),
        ({"account": "p1"}, "the log knows no account of its jobs"),
    ],
)
def test_what_chooses_nothing_is_refused_with_what_there_is(options: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("(", r"\(")):
        chosen(**options)


def test_a_log_without_dates_has_no_months() -> None:
    for options in ({"period": "last-month"}, {"begin": "2026-01-01"}):
        with pytest.raises(ValueError, match="does not say which day it is"):
            chosen(UNDATED, **options)


# settings: Settings of a run: what is wrong is reported with the option and the remedy, in an outage file with the
# line.


def test_the_usual_form_of_backfilling() -> None:
    usual = {"EASY": "easy", "Easy-SJBF": "easy-sjbf", "none": "none", "conservative": "conservative",
             "selective": "selective:threshold=2", "Selective:threshold=1.50": "selective:threshold=1.5"}  # fmt: skip
    assert {text: check_settings(RunSettings(backfill=text)).backfill for text in usual} == usual


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"backfill": "greedy"},
            "unknown backfilling 'greedy'; expected one of none, any, easy, easy-sjbf, conservative",
        ),
        ({"backfill": "easy:threshold=2"}, "unknown backfilling"),
        ({"backfill": "selective:limit=2"}, "unknown option 'limit'; expected one of threshold"),
        (
            {"estimates": "guessed"},
            "unknown estimates 'guessed'; did you mean 'requested'? Expected one of requested, actual, predicted",
        ),
        ({"correction": "none"}, "unknown correction 'none'"),
        ({"rules": "pbs"}, "unknown rules 'pbs'; expected one of standard, rlscheduler, rlscheduler-corrected"),
        ({"window": "5"}, "window '5': expected START:LENGTH"),
        ({"window": "0:0"}, "expected START:LENGTH"),
        ({"window": "-1:10"}, "expected START:LENGTH"),
        ({"trim": 0.5}, "trim must be at least 0 and below 0.5"),
        ({"procs": 0}, "procs must be at least 1"),
        ({"rules": "rlscheduler", "backfill": "conservative"}, "'conservative' is not one of the RLScheduler rules"),
        ({"rules": "rlscheduler", "warm_start": True}, "have no --warm-start"),
        ({"rules": "rlscheduler", "admit_by": "requested"}, "have no --admit-by"),
        (
            {"admit_by": "request"},
            "unknown admit_by 'request'; did you mean 'requested'? Expected one of estimate, requested",
        ),
        (
            {"admit_by": "requested", "backfill": "conservative"},
            "--admit-by requested cannot be combined with conservative",
        ),
        ({"load": 0.0}, "load must be between 0.01 and 100, got 0"),
        ({"load": 1.1, "warm_start": True}, "which --warm-start needs: leave one of them out"),
        ({"load": 1.1, "outages": [{"start": 0, "procs": 1}]}, "which --outages needs: leave one of them out"),
        ({"rules": "rlscheduler", "cancelled": True}, "have no --cancelled"),
        ({"rules": "rlscheduler", "correction": "doubling"}, "have no --correction"),
        ({"rules": "rlscheduler", "estimates": "actual"}, "have no --estimates"),
        ({"rules": "rlscheduler", "outages": [{"start": 1, "procs": 1}]}, "have no --outages"),
    ],
    ids=str,
)
def test_faults_of_settings(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_settings(RunSettings(**settings))  # type: ignore[arg-type]
    assert says in str(caught.value)


def test_windows_lie_inside_the_trace() -> None:
    assert RunSettings().window_of(10) == (0, 10)
    assert RunSettings(window="3:7").window_of(10) == (3, 7)
    with pytest.raises(
        ValueError, match="the trace has 10 jobs to replay, at positions 0 to 9, and the window ends at 10"
    ):
        RunSettings(window="3:8").window_of(10)


def test_names_of_runs() -> None:
    assert check_run_name("saf-easy_2.0") == "saf-easy_2.0"
    for name in ("", "-a", "a b", "a/b", "x" * 65):
        with pytest.raises(ValueError, match="bad name of a run"):
            check_run_name(name)


# tables: The arithmetic of the series over time.


def test_means_over_steps_by_hand() -> None:
    edges = np.array([0, 10, 20, 30])
    found = mean_level(edges, np.array([5, 8, 20]), np.array([15, 8, 30]), np.array([2, 100, 3]))
    assert found.tolist() == [1.0, 1.0, 3.0]  # 2 for five seconds in each of the first two; nothing lasts 0 s
    outside = mean_level(edges, np.array([-10]), np.array([15]), np.array([4]))
    assert outside.tolist() == [4.0, 2.0, 0.0]
    assert mean_level(edges, *(np.zeros(0, dtype=np.int64),) * 3).tolist() == [0.0, 0.0, 0.0]


def test_steps_are_hourly_for_usual_traces() -> None:
    hour = 3600
    assert step_for(1) == 60
    assert step_for(3 * hour) == 60
    assert step_for(10 * hour) == 300
    assert step_for(30 * hour) == 900
    assert [step_for(days * 24 * hour) for days in (5, 30, 365, 800)] == [hour] * 4
    assert step_for(5 * 365 * 24 * hour) == 6 * hour
    assert step_for(50 * 365 * 24 * hour) == 24 * hour == STEPS_S[-1]


def test_a_job_that_is_thousands_of_years_away_makes_no_more_steps_than_others() -> None:
    step_s = step_for(100_000_000_000)
    assert step_s % STEPS_S[-1] == 0 and 10_000 < 100_000_000_000 / step_s <= 20_000
