"""Policies as files and as functions."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracehouse
from assets.common.storage import data_folder


def test_a_policy_file_is_loaded_and_replayed(trained: Path) -> None:
    file, sha256 = tracehouse.query("SELECT file, sha256 FROM policies.scheduling_policies WHERE champion").row(0)
    policy = tracehouse.load_policy(data_folder() / file)
    assert policy.card["goal"] == "bsld"
    log = tracehouse.load_log("lublin-256")
    run = tracehouse.replay(log, policy)
    assert run.summary["policy_sha256"] == sha256
    assert run.jobs.equals(tracehouse.replay(log, "learned").jobs)


def test_a_damaged_policy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text("{}")
    with pytest.raises(ValueError, match=r"policy\.json: not a policy file"):
        tracehouse.load_policy(tmp_path / "policy.json")


def test_a_function_is_a_policy(log: Path) -> None:
    """Plain or compiled, with what it closes over, and again after a second definition, as in a notebook. No name is built in."""
    import numba

    Path("mine.py").write_text("def saf(estimate, procs):\n    return estimate * procs\n")
    loaded, weight = tracehouse.load_log(log), 1.0

    def saf(estimate, procs):
        return weight * estimate * procs

    expected = tracehouse.replay(loaded, "mine.py:saf").jobs
    for policy in (saf, numba.njit(lambda estimate, procs: estimate * procs)):
        assert tracehouse.replay(loaded, policy).jobs.equals(expected) and tracehouse.replay(log, policy).jobs.height
    run = tracehouse.replay(loaded, saf)
    assert run.policy == run.summary["policy"] == "saf()"
    weight = -1.0
    assert not tracehouse.replay(loaded, saf).jobs.equals(expected)
    with pytest.raises(ValueError, match=r"'FILE\.py:NAME', and save that"):
        run.save("mine")
    with pytest.raises(
        ValueError, match=r"policy saf\(\) has a parameter 'jobs', which is not known: expected some of now"
    ):
        tracehouse.replay(loaded, type("saf", (), {"__call__": lambda self, jobs: jobs})())
