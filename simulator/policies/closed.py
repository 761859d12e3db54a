"""Policies in closed replays, in which the schedule decides when jobs come: scores that look at submissions are computed when they do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.formula.parsing import parse_formula
from simulator.jobs.jobs import Jobs
from simulator.policies.plugins import PlugIn
from simulator.policies.registry import Policy
from simulator.policies.scoring import ASKED_SCORES, FIXED, FORMULA

_OF_THE_SCHEDULE = ("submit", "cancel", "after", "think")


class _WatchedJobs:
    """Jobs that note whether anybody looks at what the schedule decides."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs, self.is_looked_at = jobs, False

    def __len__(self) -> int:
        return len(self._jobs)

    def __getattr__(self, name: str) -> Any:
        self.is_looked_at = self.is_looked_at or name in _OF_THE_SCHEDULE
        return getattr(self._jobs, name)


def looks_at_submissions(policy: Policy, jobs: Jobs, cluster_procs: int) -> bool:
    """Whether the fixed scores of a policy depend on when jobs are submitted. Raises ValueError where a formula or a plug-in fails."""
    assert policy.fixed is not None
    watched: Any = _WatchedJobs(jobs)
    policy.fixed(watched, cluster_procs)
    return bool(watched.is_looked_at)


def closed_policy(policy: Policy, jobs: Jobs, cluster_procs: int) -> Policy:
    """The policy as the general engine takes it where some of the jobs follow others. Of jobs of which none does, the policy itself.

    A score that looks at submissions is computed in the replay: as a formula, by the plug-in, or from its setback, which `fixed` is then.
    Raises ValueError for one that cannot be.
    """
    if not jobs.is_closed or policy.kind != FIXED or policy.fixed is None:
        return policy
    if not looks_at_submissions(policy, jobs, cluster_procs):
        return policy
    if policy.fixed(jobs, cluster_procs) is jobs.submit:
        return replace(policy, fixed=_as_they_come)
    if policy.setback is not None:
        return replace(policy, fixed=policy.setback)
    plug_in = getattr(policy.fixed, "__self__", None)
    if isinstance(plug_in, PlugIn):
        return replace(policy, kind=ASKED_SCORES, fixed=None, plug_in=plug_in)
    formula = parse_formula(policy.as_formula) if policy.as_formula else policy.formula
    if formula is None:
        raise ValueError(
            f"{policy.name}: its scores are known before the replay and look at submissions, which the schedule decides where jobs follow "
            'others: write it as formula:TEXT, or replay at the log\'s times, with --users "keep times"'
        )
    return replace(policy, kind=FORMULA, fixed=None, formula=formula)


def scores_at_submission(policy: Policy, jobs: Jobs) -> bool:
    """Whether scores of a policy as `closed_policy` gives it are computed when jobs come."""
    is_static = policy.formula is not None and policy.formula.is_static
    return jobs.is_closed and (policy.setback is not None or (policy.kind == FORMULA and is_static))


def _as_they_come(jobs: Jobs, cluster_procs: int) -> NDArray[np.float64]:
    """Jobs with the same score are in the order of their submissions."""
    return np.zeros(len(jobs))
