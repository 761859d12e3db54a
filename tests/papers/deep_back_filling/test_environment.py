"""Tests of papers/deep_back_filling: as_published, backfilling, environment, networks, options, split_trial, split_windows,
study.

Deep Back-Filling's episodes behind the Gymnasium face, by its own checker and beside the episodes that training plays.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from pydantic import ValidationError

import papers.deep_back_filling.study as benchmark
import papers.deep_back_filling.study as study
from assets.common.storage import data_folder
from assets.common.trace import Trace, load_trace
from models.scheduling.policy_file import load_agent
from papers.deep_back_filling import as_published, split_trial
from papers.deep_back_filling.backfilling import backfilling, queue_over_time, wait_by_tail, who_waits
from papers.deep_back_filling.networks import ActorCritic, actor_of, layers_of
from papers.deep_back_filling.options import DeepBackFillingOptions
from papers.deep_back_filling.placing_file import load_placing, placing_from_bytes
from papers.deep_back_filling.protocol import RIVALS, window_splits
from papers.deep_back_filling.split_trial import PROC_CLASSES, SplitTrial, placed_by_job
from papers.deep_back_filling.split_windows import continuous_table, table_of
from papers.deep_back_filling.study import SHOWN_METRICS
from papers.deep_back_filling.training import train_deep_back_filling
from papers.kept_files import members_of
from simulator.jobs.schedule import CANCELLED
from simulator.policies.agents import agent_text
from studies.of_papers import dbf_agents, split_pictures
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.papers.experiment_runs import QUICK, materialize, rows
from tests.pipelines.command_line import use_home
from tests.simulator.busy import PROCS
from tests.tiny import busy_log, warehouse_of

pytest.importorskip("gymnasium", reason="the extra `gym` is not installed")
from gymnasium.utils.env_checker import check_env

from papers.deep_back_filling.environment import PlacingEnv, PlacingVectorEnv
from papers.deep_back_filling.episodes import PlacingBatch, PlacingRules

RULES = PlacingRules(front=4, back=2, placed=40, later=150)


def test_the_standard_checker_passes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds and render modes, which nothing here has
        check_env(PlacingEnv(JOBS, PROCS, RULES))


def test_episodes_are_those_of_the_batch_and_begin_again() -> None:
    """Placing the first job that fits, or letting time go on; every episode again by itself in a batch."""
    several, alike = (PlacingVectorEnv(JOBS, PROCS, 3, RULES) for _ in range(2))
    seen, info = several.reset(seed=3)
    alike.reset(seed=3)
    total, ended, firsts = np.zeros(3), 0, []
    while ended < 6:
        assert info["action_mask"][:, -1].tolist() == (~several._ended).tolist()
        action = info["action_mask"].argmax(axis=1)
        again = alike.step(action)
        seen, reward, over, cut, info = several.step(action)
        assert np.array_equal(seen, again[0]) and np.array_equal(reward, again[1]) and not cut.any()
        assert several.observation_space.contains(seen)
        total += reward
        for e in np.flatnonzero(over):
            batch = PlacingBatch(JOBS, PROCS, 1, RULES)
            sight, expected = batch.reset(several._first[e : e + 1]), 0.0
            while sight.asking[0]:
                sight = batch.step(np.append(sight.fits[0], True).argmax(keepdims=True))
                expected += sight.reward[0]
            assert total[e] == pytest.approx(expected)
            assert np.array_equal(several._batch.start[e], batch.start[0])
            firsts.append(int(several._first[e]))
            total[e], ended = 0.0, ended + 1
    assert len(set(firsts)) > 3


def test_slots_that_hold_no_fitting_job_are_refused_and_nobody_waits_for_ever() -> None:
    env = PlacingEnv(JOBS, PROCS, RULES)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        wrong = np.flatnonzero(~info["action_mask"])
        if len(wrong):
            with pytest.raises(ValueError, match=f"action {wrong[0]} is masked"):
                env.step(int(wrong[0]))
        _, reward, over, _, info = env.step(RULES.slots)
        assert reward <= 0
    assert (env._many._batch.start != CANCELLED).sum() == RULES.placed


def test_usual_episodes_are_those_that_training_plays() -> None:
    with pytest.raises(ValueError, match="1 to 1200 jobs"):
        PlacingEnv(JOBS, PROCS)


# --- as published


# as_published: Kept agents of Deep Back-Filling's own training.


def test_a_training_is_kept_and_tested_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (study, as_published):
        monkeypatch.setattr(module, "PROCS", PROCS)
    for module in (as_published, dbf_agents):
        monkeypatch.setattr(module, "BLOCK", 2)
        monkeypatch.setattr(module, "TRAINED_WINDOWS", ("6-0", "4-2"))
    monkeypatch.setattr(as_published, "SHOWN_EPISODES", 4)
    monkeypatch.setattr(as_published, "WHOLE_QUEUE_RULES", ())
    for front, back in ((6, 0), (4, 2)):
        study.print_training(JOBS, small_options(front=front, back=back), tmp_path)
    dbf_agents.keep_agents(tmp_path, tmp_path / "kept.tar.xz")
    members = members_of(tmp_path / "kept.tar.xz")
    options = small_options()
    first = as_published.trial_starts(len(JOBS), options)
    monkeypatch.setattr(
        as_published,
        "try_rival",
        lambda rival, jobs, cluster_procs, first, window: study.rival_on(rival, jobs, first, options),
    )
    rows = as_published.tested(JOBS, members, first, options)
    assert [row.name for row in rows] == [
        f"{window}, {who}"
        for window in ("6-0", "4-2")
        for who in ("shortest", "agent of 4 episodes, drawn", "agent of 4 episodes, likeliest")
    ]
    lines = as_published.split_rows(rows)
    gain = 1 - np.mean(rows[3].metrics.queue) / np.mean(rows[0].metrics.queue)
    assert lines[0][0] == "shortest" and lines[0][3].startswith(f"{100 * gain:.0f} % (")
    curve = as_published.curve_lines(members[as_published.CURVES].decode())
    assert [line[:2] for line in curve] == [["6-0", "4"], ["4-2", "4"]]
    assert len(members[as_published.TESTS].splitlines()) == 8


def test_kept_agents_are_the_papers() -> None:
    members, hidden = members_of(as_published.KEPT_AGENTS), DeepBackFillingOptions().hidden
    for window in as_published.TRAINED_WINDOWS:
        agent = placing_from_bytes(members[f"{window}.json"])
        assert f"{agent.front}-{agent.back}" == window and agent.cluster_procs == 256
        assert [weights.shape[0] for weights, _ in agent.layers] == [*hidden, 21]
        assert json.loads(members[f"{window}.json"])["card"]["trained_now"] >= agent.card["episodes"] >= 3000


# backfilling: Agents that pick, the rules with their view and the rules with any, judged on later jobs.

GUARDED, OPEN = "pick:by=shortest,window=9-8", "pick:by=shortest,from=all,window=3-3"


def test_agents_and_their_rivals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(900, days=60))
    asked = QUICK | {"agents": [GUARDED, OPEN], "ppo": QUICK["ppo"] | {"layout": "picking"}, "seeds": [1]}
    materialize(backfilling, warehouse, asked)
    verdicts = rows(warehouse, "verdicts")
    names = set(verdicts["policy"])
    for agent in (GUARDED, OPEN):
        assert {f"FCFS, {agent}", f"ppo, FCFS, {agent}", f"evolution, FCFS, {agent}"} <= names
        for rule in ("oldest", "narrowest", "smallest"):
            assert f"FCFS, {agent.replace('shortest', rule)}" in names
    assert {"FCFS", "EASY-SJBF", "conservative", "SAF", "SAF, first fit", "key", "bounded-key"} <= names
    assert any("kept free" in name for name in names)
    assert verdicts.height == len(names), "one seed, so that no name comes twice"
    by_name = {row["policy"]: row for row in verdicts.iter_rows(named=True)}
    assert by_name["FCFS"]["verdict"] == "no difference"
    # the window sees every job here, so that the rule is EASY-SJBF
    sjbf, rule = by_name["EASY-SJBF"], by_name[f"FCFS, {GUARDED}"]
    assert rule["average_wait_s"] == sjbf["average_wait_s"]
    rivals = set(rows(warehouse, "comparisons")["rival"])
    assert {"EASY-SJBF, requested", "SAF, requested", "key, requested", f"FCFS, {OPEN}, requested"} <= rivals
    stored = rows(warehouse, "policies").filter(pl.col("experiment") == "backfilling")
    assert stored.height == 4 and set(stored["backfill"]) == {"easy"}
    assert stored["file"].n_unique() == 4
    for file, policy in stored.select("file", "policy").iter_rows():
        agent, card = load_agent(data_folder() / file)
        assert (
            card["policy"] == policy
            and agent.weights is not None
            and agent_text(agent) in policy.replace("by=shortest,", "")
        )


# backfilling_plots: Pictures of agents show what the rows and the replays say.

AGENTS = ["pick:by=shortest", "pick:from=all,window=2-2"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder: Path = tmp_path_factory.mktemp("pictures")
    return load_trace(warehouse_of(folder, busy_log(300)), "mine")


def test_waits_by_the_slots_at_the_end() -> None:
    verdicts = pl.DataFrame(
        {
            "policy": [
                "FCFS, pick:by=shortest,from=all,window=20-0",
                "FCFS, pick:by=shortest,from=all,window=10-10",
                "ppo, FCFS, pick:by=shortest,from=all,window=10-10",
                "FCFS, pick:by=shortest,window=10-10",
            ],
            "seed": [None, None, 1, None],
            "average_wait_s": [7200.0, 3600.0, 1800.0, 1.0],
        }
    )
    (axis,) = wait_by_tail(verdicts).axes
    drawn = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axis.lines}
    assert drawn["FCFS, pick:by=shortest,from=all, 20 slots"] == ([0, 10], [2.0, 1.0])
    assert drawn["learned: ppo, FCFS, pick:by=shortest,from=all, 20 slots"] == ([10], [0.5])
    assert len(drawn) == 2, "agents that keep a head have no window to split"


def test_queues_and_waits_of_each_agent(trace: Trace) -> None:
    (axis,) = queue_over_time(trace, "FCFS", AGENTS).axes
    assert [line.get_label() for line in axis.lines] == ["FCFS, easy", *AGENTS]
    assert all(min(line.get_ydata()) >= 0 for line in axis.lines)
    (axis,) = who_waits(trace, "FCFS", AGENTS).axes
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["FCFS, easy", *AGENTS]


# networks: Actor and critic: shapes, and nothing shared.


def test_shapes_and_first_chances() -> None:
    torch.manual_seed(1)
    network = ActorCritic(40, 5, (16, 8))
    logits, values = network(torch.rand(7, 40))
    assert logits.shape == (7, 5) and values.shape == (7,)
    assert [layer.out_features for layer in network.actor if isinstance(layer, torch.nn.Linear)] == [16, 8, 5]
    assert [layer.out_features for layer in network.critic if isinstance(layer, torch.nn.Linear)] == [16, 8, 1]
    assert (torch.softmax(logits, dim=1) - 0.2).abs().max() < 0.01


def test_actor_and_critic_share_nothing() -> None:
    network = ActorCritic(4, 3, (6,))
    network(torch.rand(2, 4))[1].sum().backward()
    assert all(parameter.grad is None for parameter in network.actor.parameters())
    assert all(parameter.grad is not None for parameter in network.critic.parameters())


def test_half_precision_is_close_and_its_gradients_are_float32() -> None:
    torch.manual_seed(1)
    network = ActorCritic(40, 5, (64, 32))
    seen = torch.rand(50, 40)
    with torch.no_grad():
        network.actor[-1].weight *= 100
        exact, close = network(seen), network(seen, half=True)
    for one, other in zip(exact, close, strict=True):
        assert other.dtype == torch.float32
        assert 0 < (one - other).abs().max() < 0.02 * one.std() + 0.02
    network(seen, half=True)[0].sum().backward()
    assert all(parameter.grad is None or parameter.grad.dtype == torch.float32 for parameter in network.parameters())


def test_an_actor_made_of_its_layers_is_the_same() -> None:
    actor, seen = ActorCritic(9, 4, (16, 8)).actor, torch.rand(6, 9)
    with torch.no_grad():
        assert torch.equal(actor_of(layers_of(actor))(seen), actor(seen))


# options: Options of Deep Back-Filling: the paper's, and what cannot be.


def test_defaults_are_the_papers() -> None:
    options = DeepBackFillingOptions()
    assert (options.hidden, options.gamma, options.minibatch, options.rate, options.clip) == (
        (1024, 512, 256),
        0.99,
        128,
        3e-4,
        0.2,
    )
    assert (options.placed, options.update_episodes, options.checkpoint_every, options.test_episodes) == (
        1000,
        1,
        5000,
        100,
    )
    assert (options.gae_lambda, options.passes, options.entropy_weight, len(options.seeds)) == (0.95, 4, 0.0, 5)


def test_every_field_says_what_it_is() -> None:
    assert all(field.description for field in DeepBackFillingOptions.model_fields.values())


def test_all_readings_are_documented() -> None:
    text = DeepBackFillingOptions.__doc__ or ""
    assert all(f"\n    {k}. " in text for k in range(1, 10))


def test_rules_are_those_of_the_options() -> None:
    options = DeepBackFillingOptions(front=3, back=2, use_weight=0.5, placed=7, longest_s=60)
    rules = options.placing_rules(50)
    assert (rules.front, rules.back, rules.slots, options.slots, rules.placed, rules.later) == (3, 2, 5, 5, 7, 50)
    assert rules.weights == (0.5, 1 / 3, 1 / 3) and rules.longest_s == 60 and rules.threads == 1


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ValidationError, match="front \\+ back"):
        DeepBackFillingOptions(front=0, back=0)
    with pytest.raises(ValidationError, match="placed \\(1000\\)"):
        DeepBackFillingOptions(training_later=999)


# split_pictures: The pictures of Deep Back-Filling's figures are drawn.


def test_pictures_are_drawn(trial: SplitTrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_pictures, "JOB_SLOTS", 4)
    monkeypatch.setattr(split_pictures, "SMOOTHED", 2)
    options = small_options()
    train_deep_back_filling(JOBS, PROCS, options, 1, tmp_path / "dbf-4-2-1.pt")
    curves = split_pictures.paper_curves(tmp_path)
    assert list(curves) == ["4-2-1"] and len(curves["4-2-1"]) == options.episodes
    paths = split_pictures.write_split_pictures(trial, tmp_path, tmp_path)
    assert [path.name for path in paths] == [
        f"backfilling-{name}.png" for name in ("rivals", "splits", "unseen", "jobs", "learning")
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


# split_trial: What a trial of split windows keeps and counts, on a trace small enough for a test.


def test_what_is_kept_is_not_made_again(trial: SplitTrial, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.window(3, 1, 1)
    first = trial.window(3, 1, 1)  # from the file, as the next
    monkeypatch.setattr(split_trial, "learn", None)
    assert trial.window(3, 1, 1) == first and len(first["start"]) == len(JOBS)
    with pytest.raises(TypeError):
        SplitTrial(JOBS, None, options=small_options()).window(3, 1, 1)


def test_jobs_that_are_placed_are_counted_one_by_one() -> None:
    first = np.array([0, 2])
    submit = JOBS.submit
    starts = np.full((2, 4), CANCELLED)
    starts[0, :3] = submit[[0, 1, 2]] + np.array([0, 5, 9])
    starts[1, :2] = submit[[2, 3]] + 1
    rows = np.array(placed_by_job(JOBS, first, starts, ends_at=2))
    by_job = dict(zip(zip(rows[:, 0], rows[:, 1], strict=True), rows[:, 2:], strict=True))
    assert rows[:, 2].sum() == 4  # two in each episode
    twice = by_job[JOBS.procs[2], JOBS.runtime[2]]
    assert twice[0] >= 1 and rows[:, 3].sum() == 0 + 5 + 1 + 1


def test_classes_cover_all_widths(trial: SplitTrial) -> None:
    header, _, *rows = trial.classes_table().splitlines()
    assert header.count("|") == 2 + len(PROC_CLASSES) and len(rows) == 2 * 4


# split_windows: The tables of Deep Back-Filling's figures, on a trace small enough for a test.


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "---" not in line]


def test_every_window_has_its_rule_and_its_agents(trial: SplitTrial) -> None:
    header, *rows = cells(table_of(trial.rivals() | trial.agents()))
    assert header[1:] == list(SHOWN_METRICS)
    windows = [f"{front}-{back}" for slots in (4, 6) for front, back in window_splits(slots).values()]
    assert [row[0] for row in rows] == [*RIVALS, *(f"{w}, {who}" for w in windows for who in ("rule", "agent"))]
    assert " to " in rows[-1][header.index("wait arrived, s")]


def test_agents_are_judged_beside_their_rule_in_one_replay(trial: SplitTrial) -> None:
    header, *rows = cells(continuous_table(trial))
    assert len(rows) == 8 and {len(row) for row in rows} == {len(header)}
    counts = [sum(int(part.split()[0]) for part in row[-1].split(", ")) for row in rows]
    assert counts == [2] * 8


# study: The tables and the training curve of Deep Back-Filling's benchmark, on a trace small enough for a test.


def rows_of_study(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "---" not in line]


def test_a_row_has_every_metric(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "PROCS", PROCS)
    options = small_options()
    first = benchmark.trial_starts(len(JOBS), options)
    benchmark.print_heading("rule", *benchmark.SHOWN_METRICS)
    benchmark.print_row("EASY", benchmark.rival_on(RIVALS["FCFS+EASY"], JOBS, first, options))
    header, row = rows_of_study(capsys.readouterr().out)
    assert len(header) == len(row) == len(benchmark.SHOWN_METRICS) + 1
    assert row[0] == "EASY" and "±" in row[header.index("queue")]


def test_training_prints_a_curve_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "PROCS", PROCS)
    options = small_options(seeds=(1, 2))
    trained = benchmark.print_training(JOBS, options, tmp_path)
    printed = capsys.readouterr().out
    names = [row[0] for row in rows_of_study(printed)]
    assert "4-2, seed 2, 4 episodes, drawn" in names and "shortest, same view" in names
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {
        f"{name}.pt" for seed in (1, 2) for name in (f"dbf-4-2-{seed}", f"4-2-{seed}-2-actor", f"4-2-{seed}-4-actor")
    } | {f"4-2-{seed}-{episodes}-agent.json" for seed in (1, 2) for episodes in (2, 4)}
    agent = load_placing(tmp_path / "4-2-2-4-agent.json")
    assert (agent.cluster_procs, agent.front, agent.back) == (PROCS, 4, 2)
    assert agent.longest_s == trained[1].options.longest_s == JOBS.estimate.max()
    for ours, (weights, biases) in zip(agent.layers, layers_of(trained[1].network.actor), strict=True):
        assert np.array_equal(ours[0], weights) and np.array_equal(ours[1], biases)
    again = benchmark.print_training(JOBS, options, tmp_path)
    assert capsys.readouterr().out == printed
    assert [one.curve for one in again] == [one.curve for one in trained]
