"""What kept networks of the papers are worth in one continuous replay of each log: `python -m studies steady_state [LOG]...`.

Every log is replayed once from its first job, and the second half of the jobs judges, as in `python -m studies verdicts`: beside FCFS with
EASY, and beside random orders. The networks are those of RLScheduler at their last epoch, of DD-PPO's page, and of Deep Back-Filling.
Trainings of one kind, goal and log share a row, with the least and the most of them. Where no goal is named it is bounded slowdown. The
rules in the first rows are trained by nobody, but the searched key, which was searched on all logs but KTH-SP2. On a log of its own
training, a network may have learned from the jobs that judge.
"""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from assets.common.trace import Trace
from assets.policies.verdicts import INCUMBENT, PLAIN_RIVALS, JudgedRule, chance_cloud, judged_replays
from assets.replay.evaluation import SEARCHED_KEY
from models.judging.chance import ChanceCloud
from models.judging.judge import Judgement, corrected_for_many, judge
from models.judging.panel import Replayed, scored_after
from models.judging.verdict import plain_word
from models.runtime.estimates import Estimates
from models.scheduling.policy_file import policy_from_bytes
from papers.archive import LOGS, trace_of_log
from papers.deep_back_filling.as_published import KEPT_AGENTS, TRAINED_WINDOWS
from papers.deep_back_filling.placing_file import placing_from_bytes
from papers.kept_files import members_of
from papers.markdown import print_cells, print_heading
from papers.rlscheduler.as_published import KEPT_TRAININGS, PUBLISHED_TRAININGS
from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster
from studies.of_papers.ddppo_policies import KEPT_POLICIES, POLICIES

SHOWN_RATIOS = {
    "bounded_slowdown": "bounded slowdown",
    "wait": "mean wait",
    "p99_wait": "p99 wait",
    "max_wait": "longest wait",
}

DDPPO_NAMES = {"dd-ppo": "DD-PPO", "population": "our population", "ppo": "our PPO"}
"""By the policy of the archive: its name on the page, where that differs."""
GOAL_NAMES = {"bsld": "", "utilisation_as_coded": ", utilisation"}


class LearnedGroup(NamedTuple):
    """Trainings of one kind on one log. rules: one of each."""

    name: str
    trained_on: str
    rules: tuple[JudgedRule, ...]


def learned_groups() -> list[LearnedGroup]:
    """The kept networks that order a queue: RLScheduler's, and those of DD-PPO's page."""
    members, groups = members_of(KEPT_TRAININGS), []
    for goal, log in dict.fromkeys((each.goal, each.log) for each in PUBLISHED_TRAININGS):
        files = {
            each.name: members[f"{each.name}-last.json"]
            for each in PUBLISHED_TRAININGS
            if (each.goal, each.log) == (goal, log)
        }
        groups.append(LearnedGroup(f"RLScheduler{name_of_goal(goal)}", log, learned_rules(files)))
    kept = members_of(KEPT_POLICIES)
    rows = pl.read_csv(io.BytesIO(kept[POLICIES]))
    for (policy, goal, source), part in rows.group_by("policy", "goal", "source", maintain_order=True):
        rules = learned_rules({name: kept[name] for name in part["file"]})
        name = f"{DDPPO_NAMES.get(str(policy), str(policy))}{name_of_goal(str(goal))}"
        groups.append(LearnedGroup(name, str(source), rules))
    return groups


def name_of_goal(goal: str) -> str:
    """What a row adds to the name of its kind."""
    return GOAL_NAMES.get(goal, f", {goal}")


def learned_rules(files: dict[str, bytes]) -> tuple[JudgedRule, ...]:
    """Policy files by name, as rules that EASY replays."""
    return tuple(JudgedRule(name, "learned", weights=policy_from_bytes(content)[0]) for name, content in files.items())


def judged_agents(trace: Trace, first_scored: int) -> dict[str, Judgement]:
    """Deep Back-Filling's agents, where the cluster is as large as theirs."""
    judgements = {}
    for window in TRAINED_WINDOWS:
        agent = placing_from_bytes(members_of(KEPT_AGENTS)[f"{window}.json"])
        if agent.cluster_procs != trace.cluster_procs:
            continue
        jobs = trace.jobs_of(trace.rows, Estimates.parse(INCUMBENT.estimates))
        scored = scored_after(len(jobs), first_scored)
        theirs = Replayed(jobs, trace.cluster_procs, replay(jobs, trace.cluster_procs, "FCFS", "easy"), scored)
        outcome = agent.replay(jobs, Cluster(trace.cluster_procs))
        ours = Replayed(jobs, trace.cluster_procs, outcome.schedule, scored)
        judgements[f"Deep Back-Filling, window {window}"] = judge([ours], [theirs])
    return judgements


def judged_log(
    trace: Trace, groups: list[LearnedGroup], cloud: ChanceCloud
) -> Iterator[tuple[str, str, list[Judgement]]]:
    """For each row: its name, what was learned from, and a judgement of each training."""
    first_scored = trace.rows.height // 2
    rules = (*PLAIN_RIVALS, SEARCHED_KEY, *(rule for group in groups for rule in group.rules))
    judged = {
        rule.name: each for rule, (_, each) in zip(rules, judged_replays(trace, rules, first_scored), strict=True)
    }
    judged |= judged_agents(trace, first_scored)
    corrected = dict(zip(judged, corrected_for_many(list(judged.values()), cloud), strict=True))
    for rule in (*PLAIN_RIVALS, SEARCHED_KEY):
        yield rule.name, "", [corrected[rule.name]]
    for group in groups:
        yield group.name, group.trained_on, [corrected[rule.name] for rule in group.rules]
    for name in list(corrected)[len(rules) :]:
        yield name, "Lublin-1", [corrected[name]]


def cells_of(judgements: list[Judgement]) -> list[str]:
    """Ratios to FCFS with EASY, verdicts, and the share of random orders that are as good: the least and the most of several trainings."""
    cells = []
    for measure in SHOWN_RATIOS:
        values = sorted(float(getattr(each.verdict.ratios[0], measure)) for each in judgements)
        cells.append(" to ".join(dict.fromkeys(f"{value:.2f}" for value in (values[0], values[-1]))))
    words = Counter(plain_word(str(each.verdict)) for each in judgements)
    cells.append(", ".join(f"{count} {word}" if len(judgements) > 1 else word for word, count in words.items()))
    shares = sorted(float(each.verdict.share_as_good or 0) for each in judgements)
    return [*cells, " to ".join(dict.fromkeys(f"{share:.0%}" for share in (shares[0], shares[-1])))]


def main() -> None:
    """Prints a table for each log that is named, else for all."""
    groups = learned_groups()
    for log in sys.argv[1:] or LOGS:
        trace = trace_of_log(log)
        cloud = chance_cloud(trace, trace.rows.height // 2)
        print(f"\n{log}\n")
        print_heading("policy", "learned from", *SHOWN_RATIOS.values(), "verdict", "random orders as good")
        shares = [f"{mean:.2f} ({low:.2f} to {high:.2f})" for mean, low, high in map(cloud.spread, SHOWN_RATIOS)]
        dominating = sum(each.dominates for each in cloud.ratios) / len(cloud.ratios)
        print_cells(f"random orders, {len(cloud.ratios)}", "", *shares, f"{dominating:.0%} dominate", "")
        for name, trained_on, judgements in judged_log(trace, groups, cloud):
            print_cells(name, trained_on, *cells_of(judgements))
