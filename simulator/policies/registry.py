"""Scheduling policies by name. They turn the text that users write into what the engines need. Scores: docs/reference/semantics.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled
from simulator.formula.machine import USAGE, USER_SHARE
from simulator.formula.parsing import Formula, formula_scores, parse_formula
from simulator.jobs.jobs import Jobs
from simulator.jobs.words import unknown_word
from simulator.policies import network, scoring
from simulator.policies.agents import Agent
from simulator.policies.network import BALANCED_SETBACK, KernelWeights
from simulator.policies.plugins import PlugIn, add_plugin, load_plugin, plugin

FloatArray = NDArray[np.float64]

_DAY_S = 86_400.0

FIXED_SCORES: dict[str, Callable[[Jobs], NDArray[np.int64] | FloatArray]] = {
    "FCFS": lambda jobs: jobs.submit,
    "LCFS": lambda jobs: -jobs.submit,
    "SJF": lambda jobs: jobs.estimate,
    "LJF": lambda jobs: -jobs.estimate,
    "smallest": lambda jobs: jobs.procs,
    "largest": lambda jobs: -jobs.procs,
    "SAF": lambda jobs: _area(jobs),
    "LAF": lambda jobs: -_area(jobs),
    "SRF": lambda jobs: jobs.estimate / jobs.procs,
    "LRF": lambda jobs: -(jobs.estimate / jobs.procs),
    "F1": lambda jobs: _carastan_santos(1, jobs.submit - jobs.origin, jobs.estimate, jobs.procs),
    "F2": lambda jobs: _carastan_santos(2, jobs.submit - jobs.origin, jobs.estimate, jobs.procs),
    "F3": lambda jobs: _carastan_santos(3, jobs.submit - jobs.origin, jobs.estimate, jobs.procs),
    "F4": lambda jobs: _carastan_santos(4, jobs.submit - jobs.origin, jobs.estimate, jobs.procs),
    "inspector-SJF": lambda jobs: _width_breaks_ties(jobs),
}
"""Policies whose order is known at submission."""

CHANGING = {
    "SEXP": scoring.SEXP,
    "LEXP": scoring.LEXP,
    "WFP3": scoring.WFP3,
    "UNICEP": scoring.UNICEP,
    "tetris": scoring.TETRIS,
    "tetris-star": scoring.TETRIS_STAR,
}
"""Policies that order the queue again in every pass."""

AT_SUBMISSION = {
    "LCFS": "submit",
    "F1": "-(log10(estimate) * procs + 870 * log10(max(submit, 0.1)))",
    "F2": "-(sqrt(estimate) * procs + 25600 * log10(max(submit, 0.1)))",
    "F3": "-(estimate * procs + 6860000 * log10(max(submit, 0.1)))",
    "F4": "-(estimate * sqrt(procs) + 530000 * log10(max(submit, 0.1)))",
}
"""Those of them that look at submissions as formulas (highest first), to the last digit, for replays that decide when jobs come."""

NAMED_FORMULAS = {
    "inspector-SEXP": "-(wait + estimate) / procs",
    "inspector-LEXP": "(wait + estimate) / procs",
    "inspector-multifactor": "1000 * wait / 43200 + 1000 * (1 - procs / cluster)",
}
"""Policies of SchedInspector whose name another policy of ours has, as formulas (highest first)."""

OPTIONS: dict[str, dict[str, float]] = {
    "random": {"seed": 1},
    "bounded-key": {"factor": 10, "cap_hours": 12},
    "fairshare": {"half_life_days": 7},
    "multifactor": {"age": 1000, "max_age_days": 14, "fairshare": 10000, "size": 1000, "half_life_days": 7},
}
"""Policies with options, and the options' defaults (Slurm's documented example for multifactor)."""

SEARCHED = {
    "searched:cautious": "formula:-(submit + min(1520000*min((procs/cluster)**0.68, (estimate/14400)), 83500))",
    "searched:balanced": f"formula:-(submit + {BALANCED_SETBACK})",
    "searched:fast": "formula:-(submit + min(926000*min((estimate/14400)**1.14, (estimate/14400)*(procs/cluster)), 107000))",
}
"""Three points between gain and who pays, of `python -m studies search_policies`. No job waits behind one that came later by more than the
last number of seconds."""

POLICY_NAMES = (*FIXED_SCORES, *CHANGING, *NAMED_FORMULAS, *SEARCHED, *OPTIONS)
RIVAL_HEURISTICS = ("FCFS", "SJF", "SAF", "WFP3", "UNICEP", "F1")
"""The heuristics that every evaluation compares a learned policy with."""


@dataclass(frozen=True)
class Policy:
    """A scheduling policy in the form that the engines take.

    name: as written, in its usual case. fixed: scores of jobs whose order never changes, lowest first, (num_jobs,).
    scores_whole_replay: a job's fixed score may depend on the other jobs of the replay, so that a window has its own.
    as_formula: the text of a formula with the same values, where fixed scores look at submissions and `formula` has none.
    setback: of fixed scores that are the submission and something else, that else, seconds, (num_jobs,).
    kind, parameters, half_life_s, formula, weights: see simulator.policies.scoring.Scoring. plug_in: scores from outside. agent: who
    decides beside the policy. Then `weights` are those of the agent's network.
    """

    name: str
    kind: int
    fixed: Callable[[Jobs, int], NDArray[np.int64] | FloatArray] | None = None
    parameters: tuple[float, ...] = ()
    half_life_s: float = 0.0
    follows_free: bool = False
    formula: Formula | None = None
    plug_in: PlugIn | None = None
    weights: KernelWeights | None = field(default=None, repr=False)
    scores_whole_replay: bool = False
    as_formula: str = ""
    setback: Callable[[Jobs, int], FloatArray] | None = None
    agent: Agent | None = None


def parse_policy(text: str, weights: KernelWeights | None = None) -> Policy:
    """The policy that `text` names.

    text: a name in POLICY_NAMES (any case), with options where it has some (`fairshare:half_life_days=7`). Or `formula:TEXT`, or
    `FILE.py:NAME`, or the name of a registered plug-in, or "learned", which needs `weights`.

    Raises ValueError (FormulaError) that says what is wrong and what would be right.
    """
    head, _, tail = text.partition(":")
    usual = {name.lower(): name for name in (*POLICY_NAMES, "learned")}
    name = usual.get(head.strip().lower())
    if head.strip().lower() == "formula":
        return _formula_policy(tail)
    if (point := f"searched:{tail.strip(' :')}".lower()) in SEARCHED and head.strip().lower() == "searched":
        return replace(_formula_policy(SEARCHED[point].removeprefix("formula:")), name=point)
    if name is None and head.endswith(".py"):
        return _plugin_policy(text, load_plugin(Path(head), tail))
    if name is None and plugin(text) is not None:
        return _plugin_policy(text, plugin(text))
    if name is None:
        raise ValueError(unknown_word("policy", text, (*POLICY_NAMES, "learned"), ", formula:TEXT or FILE.py:NAME"))
    if name in OPTIONS:
        return _policy_with_options(text, name, parse_options(text, tail, OPTIONS[name]))
    if tail:
        raise ValueError(f"policy {name} has no options, got {tail!r}")
    if name in FIXED_SCORES:
        score = FIXED_SCORES[name]
        return Policy(
            name, scoring.FIXED, lambda jobs, cluster_procs: score(jobs), as_formula=AT_SUBMISSION.get(name, "")
        )
    if name in NAMED_FORMULAS:
        return replace(_formula_policy(NAMED_FORMULAS[name]), name=name)
    if name == "learned":
        if weights is None:
            raise ValueError("the learned policy needs the weights of a trained network")
        return network_policy(weights)
    return Policy(name, CHANGING[name], follows_free=name.startswith("tetris"))


def register_policy(name: str, function: Callable[..., Any]) -> None:
    """Makes `function` a policy that can be named wherever a built-in one can.

    Raises ValueError for the name of a built-in policy, and for parameters whose names are not known.
    """
    if name.partition(":")[0].strip().lower() in {"learned", "formula", "searched", *map(str.lower, POLICY_NAMES)}:
        raise ValueError(f"policy {name!r} is built in: choose another name")
    add_plugin(name, function)


def network_policy(weights: KernelWeights, teacher: Callable[[Jobs, int], FloatArray] | None = None) -> Policy:
    """The policy of a kernel network. teacher: fixed scores that it is shown (see simulator.policies.sampling.FOLLOW)."""
    if (weights.signals >= len(network.SIGNALS)).any():
        raise ValueError(
            "this network is an agent's, which picks what is backfilled or inspects picks: give it to --backfill or --inspector"
        )
    accounts = network.USER_SHARE in weights.signals
    half_life_s = OPTIONS["fairshare"]["half_life_days"] * _DAY_S if accounts else 0.0
    return Policy("learned", scoring.LEARNED, teacher, half_life_s=half_life_s, follows_free=True, weights=weights)


def assisted(policy: str | Policy, agent: Agent) -> Policy:
    """The policy with an agent beside it. Raises ValueError where both would be networks, or where the policy cannot have an agent."""
    if isinstance(policy, str):
        policy = parse_policy(policy)
    if agent.weights is None:
        return replace(policy, agent=agent)
    if policy.weights is not None:
        raise ValueError("a learned policy and a learned agent cannot decide together: choose another --policy")
    accounts = network.USER_SHARE in agent.weights.signals
    half_life_s = OPTIONS["fairshare"]["half_life_days"] * _DAY_S if accounts else 0.0
    return replace(policy, agent=agent, weights=agent.weights, half_life_s=policy.half_life_s or half_life_s)


def parse_options(text: str, options: str, defaults: Mapping[str, float]) -> dict[str, float]:
    """`key=number,key=number` over `defaults`. Raises ValueError that names the option and the options that exist."""
    options_by_name = dict(defaults)
    for part in filter(None, (part.strip() for part in options.split(","))):
        key, _, value = part.partition("=")
        key = key.strip()
        if key not in defaults:
            raise ValueError(f"{text!r}: {unknown_word('option', key, defaults)}")
        try:
            options_by_name[key] = float(value)
        except ValueError:
            raise ValueError(f"{text!r}: option {key} must be a number, got {value.strip()!r}") from None
        if not math.isfinite(options_by_name[key]):
            raise ValueError(f"{text!r}: option {key} must be a finite number, got {value.strip()!r}")
    return options_by_name


def _policy_with_options(text: str, name: str, options: dict[str, float]) -> Policy:
    for key in ("half_life_days", "max_age_days"):
        if options.get(key, 1.0) <= 0.0:
            raise ValueError(f"{text!r}: option {key} must be greater than 0")
    for key in ("factor", "cap_hours"):
        if options.get(key, 0.0) < 0.0:
            raise ValueError(f"{text!r}: option {key} must not be negative")
    changed = ",".join(f"{key}={value:g}" for key, value in options.items() if value != OPTIONS[name][key])
    full_name = f"{name}:{changed}" if changed else name
    if name == "random":
        seed = int(options["seed"])
        if seed != options["seed"] or seed < 0:
            raise ValueError(f"{text!r}: option seed must be a whole number from 0 on")
        return Policy(
            full_name,
            scoring.FIXED,
            lambda jobs, cluster_procs: np.random.default_rng(seed).random(len(jobs)),
            scores_whole_replay=True,
        )
    if name == "bounded-key":
        factor, cap_s = options["factor"], options["cap_hours"] * 3600.0
        bounded = Policy(full_name, scoring.FIXED, lambda jobs, cluster_procs: _bounded(jobs, factor, cap_s))
        return replace(bounded, as_formula=bounded_formula(bounded).removeprefix("formula:"))
    half_life_s = options["half_life_days"] * _DAY_S
    if name == "fairshare":
        return Policy(full_name, scoring.FAIRSHARE, half_life_s=half_life_s)
    weights = (options["age"], options["max_age_days"] * _DAY_S, options["fairshare"], options["size"])
    return Policy(full_name, scoring.MULTIFACTOR, parameters=weights, half_life_s=half_life_s)


def _formula_policy(text: str) -> Policy:
    formula = parse_formula(text)
    accounts = bool(formula.uses & {USAGE, USER_SHARE})
    half_life_s = OPTIONS["fairshare"]["half_life_days"] * _DAY_S if accounts else 0.0
    policy = Policy(
        f"formula:{formula.text}",
        scoring.FORMULA,
        half_life_s=half_life_s,
        follows_free=formula.depends_on_free,
        formula=formula,
    )
    if not formula.is_static:
        return policy

    return replace(
        policy, kind=scoring.FIXED, fixed=lambda jobs, cluster_procs: formula_scores(formula, jobs, cluster_procs)
    )


def _plugin_policy(text: str, plug_in: PlugIn | None) -> Policy:
    assert plug_in is not None
    if plug_in.is_fixed:
        return Policy(text, scoring.FIXED, plug_in.fixed_scores, scores_whole_replay=True)
    return Policy(text, scoring.ASKED_SCORES, follows_free="free" in plug_in.reads, plug_in=plug_in)


def bounded_formula(policy: Policy) -> str:
    """The policy `bounded-key` as a formula, highest first, for estimates that change while jobs wait."""
    options = parse_options(policy.name, policy.name.partition(":")[2], OPTIONS["bounded-key"])
    cap_s = options["cap_hours"] * 3600.0
    return f"formula:-(submit + min({options['factor']!r} * estimate * sqrt(procs), {cap_s!r}))"


def _bounded(jobs: Jobs, factor: float, cap_s: float) -> FloatArray:
    """The time from which the job has its place. It is its submission plus a time that grows with length and width, `cap_s` seconds at
    most. So no job waits behind one that came more than `cap_s` seconds later."""
    return (jobs.submit - jobs.origin) + np.minimum(factor * jobs.estimate * np.sqrt(jobs.procs), cap_s)


def _area(jobs: Jobs) -> NDArray[np.int64] | FloatArray:
    """In whole numbers where the area fits into one: they are sorted faster."""
    if len(jobs) and int(jobs.estimate.max()) * int(jobs.procs.max()) < 1 << 53:
        return jobs.estimate * jobs.procs
    return jobs.estimate.astype(np.float64) * jobs.procs


def _width_breaks_ties(jobs: Jobs) -> FloatArray:
    """The estimate, then the processors, as one number that is exact below 2^53."""
    return jobs.estimate * (jobs.procs.max(initial=0) + 1.0) + jobs.procs


@compiled
def _carastan_santos(number, since_origin, estimate, procs):
    """F1 to F4, Carastan-Santos and de Camargo 2017, table 3. Submit times count from a fixed origin, at least 0.1 s."""
    score = np.empty(len(procs))
    for job in range(len(procs)):
        submitted = math.log10(max(float(since_origin[job]), 0.1))
        if number == 1:
            score[job] = math.log10(estimate[job]) * procs[job] + 870.0 * submitted
        elif number == 2:
            score[job] = math.sqrt(estimate[job]) * procs[job] + 25600.0 * submitted
        elif number == 3:
            score[job] = float(estimate[job]) * procs[job] + 6860000.0 * submitted
        else:
            score[job] = estimate[job] * math.sqrt(procs[job]) + 530000.0 * submitted
    return score
