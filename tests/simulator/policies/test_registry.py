"""Policies by name: every name and option that is documented, and what is said of those that are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulator.engine.replay import replay
from simulator.policies.observation import LAYOUTS, blank_network
from simulator.policies.registry import OPTIONS, POLICY_NAMES, RIVAL_HEURISTICS, parse_policy
from tests.simulator.busy import PROCS, busy_jobs, random_weights

SEMANTICS = Path(__file__).resolve().parents[3] / "docs" / "reference" / "semantics" / "orders.md"
BUILT_IN = (*POLICY_NAMES, "learned")

FORMULAS = {
    # a policy, and minus its score as docs/reference/semantics/orders.md gives it
    "FCFS": "-submit",
    "LCFS": "submit",
    "SJF": "-estimate",
    "LJF": "estimate",
    "smallest": "-procs",
    "largest": "procs",
    "SAF": "-(estimate * procs)",
    "LAF": "estimate * procs",
    "SRF": "-(estimate / procs)",
    "LRF": "estimate / procs",
    "inspector-SJF": "-(estimate * 1000 + procs)",
    "inspector-SEXP": "-((wait + estimate) / procs)",
    "inspector-LEXP": "(wait + estimate) / procs",
    "inspector-multifactor": "1000 * wait / 43200 + 1000 * (1 - procs / cluster)",
    "SEXP": "-((wait + estimate) / estimate)",
    "LEXP": "(wait + estimate) / estimate",
    "WFP3": "(wait / estimate) * ((wait / estimate) * (wait / estimate)) * procs",
    "UNICEP": "wait / (log2(procs + 1e-15) * estimate)",
    "F1": "-(log10(estimate) * procs + 870 * log10(max(submit, 0.1)))",
    "F2": "-(sqrt(estimate) * procs + 25600 * log10(max(submit, 0.1)))",
    "F3": "-(estimate * procs + 6860000 * log10(max(submit, 0.1)))",
    "F4": "-(estimate * sqrt(procs) + 530000 * log10(max(submit, 0.1)))",
    "tetris": "(procs / cluster) * (free / cluster) if procs <= free else -1",
    "fairshare": "-usage",
    "searched:cautious": "-(submit + min(1520000 * min((procs / cluster)**0.68, estimate / 14400), 83500))",
    "searched:balanced": "-(submit + min(1010000 * min(procs / sqrt(cluster), procs / sqrt(cluster) * (estimate / 14400), "
    "estimate / 14400), 119000))",
    "searched:fast": "-(submit + min(926000 * min((estimate / 14400)**1.14, estimate / 14400 * (procs / cluster)), 107000))",
}


def test_every_documented_name_is_a_policy() -> None:
    rows = SEMANTICS.read_text().split("## Policies (lowest score first)")[1].split("\n\n")[1].splitlines()[2:]
    documented = {name for row in rows for name in row.split("|")[1].strip().split(", ")}
    assert documented == {*BUILT_IN, "a policy file", "formula:TEXT", "FILE.py:NAME"}


@pytest.mark.parametrize("name", BUILT_IN)
def test_names_are_read_in_any_case(name: str) -> None:
    for text in (name, name.lower(), name.upper(), name.swapcase(), f" {name} ", f"{name}:"):
        policy = parse_policy(text, blank_network(LAYOUTS["plain"]))
        assert policy.name == name
        assert policy.kind == parse_policy(name, blank_network(LAYOUTS["plain"])).kind


@pytest.mark.parametrize("name", RIVAL_HEURISTICS)
def test_rivals_are_policies_without_options(name: str) -> None:
    assert parse_policy(name).name == name
    assert name in POLICY_NAMES and name not in OPTIONS


@pytest.mark.parametrize(("name", "formula"), FORMULAS.items())
def test_scores_are_those_of_the_documented_formulas(name: str, formula: str) -> None:
    jobs = busy_jobs(400)
    for backfill in ("none", "easy", "conservative"):
        schedule, expected = (replay(jobs, PROCS, text, backfill) for text in (name, f"formula:{formula}"))
        assert np.array_equal(schedule.start, expected.start)
        assert np.array_equal(schedule.backfilled, expected.backfilled)


def test_policies_differ() -> None:
    """Else a name could stand for its neighbour."""
    jobs = busy_jobs(400)
    names = [*POLICY_NAMES, "multifactor:fairshare=0", "fairshare:half_life_days=0.01", "random:seed=2"]
    found = {tuple(replay(jobs, PROCS, name).start.tolist()): name for name in names}
    assert sorted(found.values()) == sorted(names)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("random", "random"),
        ("random:seed=1", "random"),
        ("random:seed=7", "random:seed=7"),
        ("RANDOM: seed = 7 ,", "random:seed=7"),
        ("random:seed=1e3", "random:seed=1000"),
        ("fairshare:half_life_days=7.0", "fairshare"),
        ("fairshare:half_life_days=0.5", "fairshare:half_life_days=0.5"),
        ("multifactor:", "multifactor"),
        ("multifactor:size=0,age=500", "multifactor:age=500,size=0"),
        ("multifactor:age=-3,max_age_days=1,fairshare=0,half_life_days=2,size=1e4",
         "multifactor:age=-3,max_age_days=1,fairshare=0,size=10000,half_life_days=2"),
    ],
)  # fmt: skip
def test_options(text: str, name: str) -> None:
    """The name of a policy carries the options that are not the usual ones."""
    policy = parse_policy(text)
    assert policy.name == name
    again = parse_policy(policy.name)
    jobs = busy_jobs(200)
    assert np.array_equal(replay(jobs, PROCS, policy).start, replay(jobs, PROCS, again).start)


def test_options_take_effect() -> None:
    jobs = busy_jobs(400)
    texts = (
        "multifactor", "multifactor:age=100000", "multifactor:age=100000,max_age_days=0.01", "multifactor:fairshare=0",
        "multifactor:size=-9000", "multifactor:half_life_days=0.01", "fairshare", "fairshare:half_life_days=0.01",
        "random:seed=1", "random:seed=2",
    )  # fmt: skip
    assert len({tuple(replay(jobs, PROCS, text).start.tolist()) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FIFO", f"unknown policy 'FIFO'; expected one of {', '.join(POLICY_NAMES)}, learned, formula:TEXT or FILE.py:NAME"),
        ("", f"unknown policy ''; expected one of {', '.join(POLICY_NAMES)}, learned, formula:TEXT or FILE.py:NAME"),
        ("SJF:seed=1", "policy SJF has no options, got 'seed=1'"),
        ("learned:x", "policy learned has no options, got 'x'"),
        ("learned", "the learned policy needs the weights of a trained network"),
        ("random:sed=1", "'random:sed=1': unknown option 'sed'; did you mean 'seed'? Expected one of seed"),
        ("random:1", "'random:1': unknown option '1'; expected one of seed"),
        ("random:seed", "'random:seed': option seed must be a number, got ''"),
        ("random:seed=one", "'random:seed=one': option seed must be a number, got 'one'"),
        ("random:seed=1.5", "'random:seed=1.5': option seed must be a whole number from 0 on"),
        ("random:seed=-1", "'random:seed=-1': option seed must be a whole number from 0 on"),
        ("random:seed=inf", "'random:seed=inf': option seed must be a finite number, got 'inf'"),
        ("fairshare:days=7", "'fairshare:days=7': unknown option 'days'; expected one of half_life_days"),
        ("fairshare:half_life_days=0", "'fairshare:half_life_days=0': option half_life_days must be greater than 0"),
        ("fairshare:half_life_days=-7", "'fairshare:half_life_days=-7': option half_life_days must be greater than 0"),
        ("multifactor:max_age_days=0", "'multifactor:max_age_days=0': option max_age_days must be greater than 0"),
        ("multifactor:half_life_days=0", "'multifactor:half_life_days=0': option half_life_days must be greater than 0"),
        ("multifactor:age=nan", "'multifactor:age=nan': option age must be a finite number, got 'nan'"),
        ("multifactor:age=1,qos=2", "'multifactor:age=1,qos=2': unknown option 'qos'; expected one of age, max_age_days, "
         "fairshare, size, half_life_days"),
        ("multifactor:age=1=2", "'multifactor:age=1=2': option age must be a number, got '1=2'"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_with_what_is_expected(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_policy(text)
    assert str(caught.value) == message


def test_random_is_the_documented_draw() -> None:
    """One number per job of the replay, in submit order: lowest first."""
    jobs = busy_jobs(300)
    draws = np.random.default_rng(5).random(300)
    policy = parse_policy("random:seed=5")
    assert policy.fixed is not None
    assert np.array_equal(policy.fixed(jobs, PROCS), draws)
    assert np.array_equal(policy.fixed(jobs.window(100, 50), PROCS), draws[:50])


@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
def test_random_depends_on_its_seed_alone(backfill: str) -> None:
    jobs = busy_jobs(300)
    np.random.default_rng().random(3)
    once, again, other = (replay(jobs, PROCS, f"random:seed={seed}", backfill).start for seed in (1, 1, 2))
    assert np.array_equal(once, again)
    assert (once != other).any()


def test_the_learned_policy_is_its_weights() -> None:
    jobs = busy_jobs(300)
    alike = replay(jobs, PROCS, "learned", weights=blank_network(LAYOUTS["plain"])).start  # ties: submit order
    assert np.array_equal(alike, replay(jobs, PROCS, "FCFS").start)
    first, second = (replay(jobs, PROCS, "learned", weights=random_weights(seed)).start for seed in (1, 2))
    assert (first != second).any() and (first != alike).any()
