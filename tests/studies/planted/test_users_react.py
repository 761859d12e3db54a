"""Tests of studies/planted: reacting, users_react.

Users who come after their jobs have left, on a cluster of their own, and what replays of its log make of them.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import tracehouse
from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import NEVER
from studies.planted import users_react
from studies.planted.ranges import RANGE_TITLES, Predicted, range_cells, widening_of
from studies.planted.reacting import (
    DAY_S,
    PROCS,
    ReactingUsers,
    Rules,
    a_minute_later,
    log_of,
    reacting_users,
    run_by,
)
from studies.planted.users_react import (
    BASE,
    ERROR_TITLES,
    LOG_CHANGES,
    LOG_TITLES,
    PLANTED_CHANGES,
    REASON_TITLES,
    SITE_CHANGES,
    PlantedLog,
    error_cells,
    logs_in_short,
    mean_waits,
    median_intervals,
    predictions_of,
    reason_cells,
    replayed_by,
    rows_of_log,
    rows_of_site,
    tables_of_logs,
)
from tests.assets.replaying.scenarios.examples import busy_home
from tests.tiny import swf_line

HOUR = 3600


def users_of(*jobs: tuple[int, int, int, int, int], **others: list[int]) -> ReactingUsers:
    """jobs: date, run time, processors, whom it follows, think time. Requests are run times, and everybody is another user."""
    date, runtime, procs, after, think = np.array(jobs).T
    usual = {"user": np.arange(len(jobs)), "morning": np.full(len(jobs), -1), "patience": np.full(len(jobs), NEVER)}
    usual |= {name: np.array(values) for name, values in others.items()}
    return ReactingUsers(date, runtime, procs, usual.pop("request", runtime), after=after, think=think, **usual)


def chains(users: int = 12, length: int = 25) -> ReactingUsers:
    """Users each of whom submits the next job some minutes after the last one has left, by day and night."""
    rng = np.random.default_rng(3)
    jobs = users * length
    begins = np.arange(jobs) % length == 0
    runtime = rng.integers(600, 6 * HOUR, jobs)
    return ReactingUsers(
        date=rng.integers(0, HOUR, jobs),
        runtime=runtime,
        procs=rng.choice([32, 64, 96], jobs),
        request=runtime * 2,
        user=np.arange(jobs) // length,
        after=np.where(begins, NO_JOB, np.arange(jobs) - 1),
        think=rng.integers(1, 1201, jobs),
        morning=np.full(jobs, -1),
        patience=np.full(jobs, NEVER),
    )


def test_a_follow_up_of_the_night_waits_for_the_morning() -> None:
    users = users_of((0, 60, 1, NO_JOB, 0), (0, 60, 1, 0, 1200), (0, 60, 1, 1, 1200), morning=[-1, 300, -1])
    morning = 7 * HOUR + 300
    assert users.comes(1, 12 * HOUR) == 12 * HOUR + 1200
    assert users.comes(1, 22 * HOUR - 1200) == DAY_S + morning and users.comes(1, 22 * HOUR - 1201) == 22 * HOUR - 1
    assert users.comes(1, DAY_S + 3 * HOUR) == DAY_S + morning
    assert users.comes(2, 3 * HOUR) == 3 * HOUR + 1200  # this user works at night


def test_the_event_loop_by_hand() -> None:
    jobs = [
        (0, 100, 6, NO_JOB, 0),
        (1, 50, 8, NO_JOB, 0),
        (2, 98, 4, NO_JOB, 0),
        (3, 98, 4, NO_JOB, 0),
        (0, 10, 1, 2, 5),
    ]
    users = users_of(*jobs)
    easy = run_by(users, Rules(procs=10))
    assert easy.start.tolist() == [0, 100, 2, 150, 105]  # the third ends when the head starts
    assert easy.submit.tolist() == [0, 1, 2, 3, 105]
    assert run_by(users, Rules(procs=10, easy=False)).start.tolist() == [0, 100, 150, 150, 253]
    assert run_by(users, Rules(procs=10, order="SAF")).start.tolist() == [0, 198, 2, 100, 105]
    with pytest.raises(ValueError, match="a job needs 8 processors, the cluster has 7"):
        run_by(users, Rules(procs=7))


def test_who_gives_up_leaves_and_the_log_shows_no_run_time() -> None:
    patience = [NEVER, 30, NEVER]
    users = users_of(
        (0, 100, 6, NO_JOB, 0), (1, 50, 8, NO_JOB, 0), (0, 98, 4, 1, 9), patience=patience, request=[100, 80, 98]
    )
    happened = run_by(users, Rules(procs=10))
    assert happened.submit.tolist() == [0, 1, 40] and happened.start.tolist() == [0, -1, 40]
    order, log = log_of(users, happened)
    assert order.tolist() == [0, 1, 2] and log.runtime.tolist() == [100, 80, 98]
    assert log.cancel.tolist() == [NEVER, 31, NEVER] and not log.is_closed


def test_users_are_those_of_their_seed_and_follow_at_the_planted_share() -> None:
    users, again = reacting_users(4, 0.5, gives_up=True), reacting_users(4, 0.5, gives_up=True)
    assert all(np.array_equal(getattr(users, name), getattr(again, name)) for name in vars(users))
    follows = users.after != NO_JOB
    assert len(users) == 3000 and follows.mean() == pytest.approx(0.5, abs=0.03) and (users.patience < NEVER).all()
    assert (users.user[follows] == users.user[users.after[follows]]).all()
    load = (users.runtime * users.procs).sum() / PROCS / users.date.max()
    assert load == pytest.approx(0.85, abs=0.06) and 0.15 < (users.think > 1200).mean() < 0.3
    later = a_minute_later(users, 4)
    assert (later.date - users.date).min() >= 0 and 50 < (later.think - users.think).max() <= 60


def test_where_nobody_follows_the_open_replay_is_the_truth() -> None:
    log = PlantedLog.of(reacting_users(1, 0.0, gives_up=False, jobs=400))
    for rules in PLANTED_CHANGES.values():
        assert log.true_waits(rules) == log.replayed_waits(rules, is_closed=False)
    assert log.found[0] > 0 and log.found[1] == 0  # some are taken for followers by chance


def test_where_all_follow_within_20_minutes_the_closed_replay_is_the_truth_and_the_open_one_is_not() -> None:
    log = PlantedLog.of(chains())
    assert log.found == (1 - 1 / 25, 1 - 1 / 25)
    for rules in PLANTED_CHANGES.values():
        assert log.true_waits(rules) == log.replayed_waits(rules, is_closed=True)
        assert log.true_waits(rules) != log.replayed_waits(rules, is_closed=False)


def test_the_truth_is_what_the_engine_says_who_knows_patience_and_run_times() -> None:
    users = reacting_users(3, 0.0, gives_up=True, jobs=600)
    log = PlantedLog.of(users)
    known = replace(log.jobs, runtime=users.runtime[log.order], cancel=log.jobs.submit + users.patience[log.order])
    assert (log.happened.start < 0).any()
    for rules in PLANTED_CHANGES.values():
        assert log.true_waits(rules) == mean_waits(log.base, replayed_by(known, rules))
    assert log.true_waits(PLANTED_CHANGES["SAF"]) != log.replayed_waits(PLANTED_CHANGES["SAF"], is_closed=False)


def test_a_replay_that_is_not_the_log_is_an_error() -> None:
    log = PlantedLog.of(chains(4, 5))
    wrong = replace(log, jobs=replace(log.jobs, procs=np.full(len(log.jobs), PROCS)))
    with pytest.raises(ValueError, match="the replay of the log is not the log"):
        _ = wrong.base


def predicted(true: float, at_times: float, at_pace: float, **others: float) -> Predicted:
    """Waits of 940 s become so many minutes, with OFFSET_S added."""
    waits = [(940.0, 1000 * factor - 60) for factor in (true, at_times, at_pace, true)]
    return Predicted(others.get("share", 0.5), False, "SAF", 0.4, 0.3, *waits, int(others.get("cluster", 1)))


def test_cells_of_four_cases() -> None:
    cases = [predicted(1.2, 1.5, 1.1), predicted(1.0, 1.2, 1.04), predicted(2.0, 1.2, 1.5), predicted(1.0, 1.0, 1.28)]
    assert [case.is_in(case.between) for case in cases] == [True, False, False, True]
    assert [case.is_beyond_closed for case in cases] == [False, True, True, False]
    cells = error_cells(cases)
    errors = ["20.3 % [20.3, 20.3]", "16.7 % [16.7, 16.7]", "9.1 % [9.1, 9.1]"]  # all are of one cluster
    kept = ["25 %", "50 %", "50 %", "75 %", "75 %", "75 %"]
    assert cells == ["4", *errors, *kept]
    assert len(cells) == len(ERROR_TITLES)  # the median of open is between ln 1.2 and ln 1.25
    assert reason_cells(cases) == ["4", "40 %", "75 %", "40 %", "0.0 %", "67 %"]
    assert len(REASON_TITLES) == 6


def test_a_range_reaches_half_as_far_as_open_on_both_sides_of_closed() -> None:
    case = predicted(1.2, 1.44, 1.0)
    assert np.exp(case.range_of(0.0)) == pytest.approx([1 / 1.2, 1.2])
    assert np.exp(case.range_of(np.log(1.5))) == pytest.approx([1 / 1.8, 1.8])
    cases = [predicted(1.2 * beyond, 1.44, 1.0) for beyond in (0.5, 0.7, 1.0, 1.0, 1.0, 1.0, 1.0, 1.1, 1.3, 1.5)]
    assert np.exp([each.beyond_range for each in cases[-2:]]) == pytest.approx([1.3, 1.5])
    widened = widening_of(cases)  # of eight cases, since open is off by less than 10 % in the others
    assert np.exp(widened) == pytest.approx(1.5)
    assert widening_of([predicted(1.0, 1.44, 1.0)]) == 0.0
    cells = range_cells([*cases[-2:], predicted(1.0, 1.0, 1.0)], np.log(1.4))
    assert cells == ["1", "0 %", "0 %", "44 %", "182 %", "3", "67 %", "182 %", "40 %"]
    assert len(cells) == len(RANGE_TITLES) and range_cells([], 0.0)[1:3] == ["", ""]
    with pytest.raises(ValueError, match="open is off in no case"):
        widening_of([predicted(1.0, 1.0, 1.3)])


def test_who_predicts_no_change_is_off_by_the_change() -> None:
    assert predicted(1.25, 1.25, 1.0).errors == pytest.approx([1.0, 1.25, 1.25, 1.0])
    assert predicted(0.8, 0.8, 0.8).errors == pytest.approx([1.0, 1.0, 1.25, 1.0])


def test_intervals_of_medians_draw_clusters() -> None:
    cluster = np.repeat(np.arange(20), 5)
    alike = cluster[:, None] / 10.0  # the cases of a cluster say the same, so that five of them are no better than one
    (low, high), (also_low, also_high) = median_intervals(np.hstack([alike, -alike]), cluster)
    # the median of n values between 0 and 2 has a standard error of 1 / sqrt(n)
    assert low < 0.95 < high and high - low == pytest.approx(2 * 1.645 / np.sqrt(20), rel=0.2)
    assert (also_low, also_high) == pytest.approx((-high, -low), abs=0.06)
    ((single_low, single_high),) = median_intervals(alike, np.arange(100))
    assert single_high - single_low < 0.6 * (high - low)
    with pytest.raises(ValueError, match="same shape"):
        median_intervals(alike, np.minimum(np.arange(100), 7))


def test_a_small_study_prints_its_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(users_react, "CLUSTERS", 2)
    monkeypatch.setattr(users_react, "CALIBRATING", range(1003, 1005))
    monkeypatch.setattr(users_react, "OTHER_CLUSTERS", range(2001, 2002))
    monkeypatch.setattr(users_react, "reacting_users", partial(reacting_users, jobs=200))
    monkeypatch.setattr(sys, "argv", ["users_react", "planted"])
    users_react.main()
    printed = capsys.readouterr().out
    titles = [line for line in printed.splitlines() if line.startswith("planted")]
    tables = [f"planted users{what}{by}" for what in ("", ", reasons") for by in ("", " by change")]
    assert titles == [*tables, "planted users, ranges"]
    assert "| 0 % | 5 |" in printed and "| 30 % | 5 |" in printed and "| SJF | 1 |" in printed
    assert [case.gives_up for case in predictions_of(15)] == [True] * 5
    monkeypatch.setattr(sys, "argv", ["users_react", "log"])
    with pytest.raises(SystemExit, match="no part 'log': expected logs or planted"):
        users_react.main()


def log_of_six(folder: Path) -> Path:
    """Of six users, each of whom comes some minutes after the last job has ended."""
    users = chains(6, 20)
    order, jobs = log_of(users, run_by(users, BASE))
    columns = zip(jobs.submit.tolist(), jobs.runtime.tolist(), jobs.procs.tolist(), jobs.limit.tolist(), strict=True)
    lines = [
        swf_line(number, submit, 0, runtime, procs, limit, user=int(users.user[order[number]]) + 1)
        for number, (submit, runtime, procs, limit) in enumerate(columns)
    ]
    log = folder / "own.swf"
    log.write_text("; MaxProcs: 256\n; UnixStartTime: 631152000\n" + "".join(lines))
    return log


def test_rows_of_a_log(tmp_path: Path) -> None:
    rows = list(rows_of_log("own", tracehouse.load_log(log_of_six(tmp_path)).trace()))
    assert [row[3] for row in rows] == list(LOG_CHANGES) and {row[1] for row in rows} == {"120"}
    assert rows[0][2] == "95 %, short log" and all(row[4].endswith(" %") and row[8] in ("yes", "") for row in rows)
    short = list(logs_in_short(rows))
    assert len(short) == 1 and len(short[0]) == 8 and short[0][3] == f"{rows[0][4][:-2]}/{rows[0][5]}"
    assert rows[0][4] != rows[0][5]  # fewer processors are worse for users who come at the log's times


def test_rows_of_a_site_say_why_they_have_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SITE_CHANGES, "5 % fewer", {"policy": "nothing"})
    rows = list(rows_of_site("own", str(log_of_six(tmp_path))))
    assert [row[3] for row in rows] == list(SITE_CHANGES) == list(LOG_CHANGES)
    assert {len(row) for row in rows} == {len(LOG_TITLES)}
    assert rows[0][1:3] == ["120", "95 %, short log"] and rows[0][4].startswith("+") and rows[0][4] != rows[0][5]
    assert rows[0][6] and rows[0][7] and rows[1][4:6] == ["", ""] and "nothing" in rows[1][6]
    assert tables_of_logs(rows).count("| own |") == 6


def test_rows_of_a_site_where_few_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy_home(monkeypatch, tmp_path)
    cells = {(row[2], row[5], row[7], row[8]) for row in rows_of_site("busy", "mine")}
    assert cells == {("", "", "none: under 10 % follow", "")}
