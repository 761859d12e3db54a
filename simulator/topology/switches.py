"""Replays in which jobs wait for a compact place, as Slurm's `--switches=N@WAIT` has it: docs/reference/semantics.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from simulator.engine.episode import new_episode
from simulator.engine.replay import OrderReplayer, check_outcome, rules_for, scoring_of
from simulator.engine.rules import RESERVE
from simulator.jobs.amounts import parse_duration
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.tasks import tasks_of
from simulator.policies.registry import parse_policy
from simulator.policies.scoring import ASKED_CHOICE, ASKED_SCORES
from simulator.replayer import BY_ORDER, Outcome
from simulator.topology.placement import check_run_times, placement_of
from simulator.topology.switch_loop import SwitchWaits, advance_with_switches
from simulator.topology.tree import IntArray
from simulator.topology.units import Units, all_idle
from simulator.topology.walk import BEGUN, WalkTimes, new_walk


class Switches(NamedTuple):
    """leaves: switches of the lowest level that a job waits for. wait_s: how long, in seconds."""

    leaves: int
    wait_s: int


def parse_switches(text: str) -> Switches:
    """`1@2h`: one leaf switch, for up to two hours. Raises ValueError with an example for any other text."""
    match = re.fullmatch(r"\s*(\d+)\s*@(.*)", text)
    fault = f"cannot read the switches {text!r}: write leaf switches @ longest wait, such as 1@2h or 2@600s"
    if not match or int(match[1]) < 1:
        raise ValueError(fault)
    try:
        return Switches(int(match[1]), parse_duration(match[2]))
    except ValueError:
        raise ValueError(fault) from None


@dataclass(frozen=True)
class SwitchReplayer:
    """Jobs that wait for few switches, under the rule `tree`. With whole nodes, jobs and cluster are those of `in_whole_nodes`."""

    order: OrderReplayer
    units: Units
    switches: Switches
    honours: ClassVar = BY_ORDER | {"outages", "cancelled", "nodes"}

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Schedule and nodes. Raises ValueError as `order` does, and for a policy that somebody is asked for, an agent, a warm start with
        waiting jobs, and backfilling with reservations."""
        policy, units, switches = self.order.policy, self.units, self.switches
        policy = parse_policy(policy) if isinstance(policy, str) else policy
        check_run_times(jobs)
        tasks = tasks_of(jobs, cluster)
        rules = rules_for(
            policy, self.order.backfill, self.order.correction, cluster.procs, planned=len(tasks.announced) > 0
        )
        if rules.backfill == RESERVE or policy.agent is not None or policy.kind in (ASKED_SCORES, ASKED_CHOICE):
            raise ValueError(
                "jobs can wait for switches under policies by name or formula, with backfilling none, any, easy or easy-sjbf: "
                "leave --switches out, or choose one of these"
            )
        if policy.weights is not None or cluster.waiting:
            raise ValueError("jobs cannot wait for switches under a network or in a warm start: leave --switches out")
        users = int(tasks.user.max()) + 1 if policy.half_life_s > 0 and len(jobs) else 0
        episode = new_episode(tasks, cluster.procs, users, rules.planned, inputs=0, live=True)
        count = len(tasks.submit)
        zeros = [np.zeros(count, dtype=np.int64) for _ in range(4)]
        walk = new_walk(tasks.procs, count - tasks.last, units, WalkTimes(*zeros), np.ones(count, dtype=np.bool_))
        if len(jobs):
            waits = SwitchWaits(
                leaves=switches.leaves,
                wait_s=switches.wait_s,
                least=least_leaves(units, walk.size),
                since=np.full(count, -1, dtype=np.int64),
                looked=np.zeros(count, dtype=np.int64),
                passes=np.zeros(1, dtype=np.int64),
            )
            scoring = scoring_of(policy, jobs, tasks, cluster.procs)
            rules = rules._replace(live=True)  # notes which jobs end
            why = advance_with_switches(tasks, rules, scoring, episode, (units, all_idle(units), walk), waits)
            check_outcome(why, tasks, rules, policy, episode)
        begun, part = int(walk.counters[BEGUN]), slice(tasks.first, tasks.last)
        walk = walk._replace(starts=walk.starts[:begun], idle=walk.idle[:begun], broken=walk.broken[:begun])
        schedule = Schedule(episode.start[part], episode.backfilled[part])
        return Outcome(schedule, placement_of(walk, tasks.first, len(jobs)))


def least_leaves(units: Units, sizes: IntArray) -> IntArray:
    """As few leaves as hold jobs of these sizes on the empty machine, int64 (jobs,)."""
    first = units.first[units.leaf, : units.switches[units.leaf] + 1]
    most = np.cumsum(np.sort(np.diff(first))[::-1])
    return np.searchsorted(most, sizes) + 1
