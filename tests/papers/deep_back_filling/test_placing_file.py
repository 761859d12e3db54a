"""Files of agents in the mode of the paper: what is written is read again, and what is damaged is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.scheduling.policy_file import is_placing_file, load_policy
from papers.deep_back_filling.placing_file import PlacingAgent, load_placing, placing_to_bytes
from papers.deep_back_filling.trials import agent_of, new_network, with_longest
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.simulator.busy import PROCS


def small_agent(seed: int = 1) -> PlacingAgent:
    torch.manual_seed(seed)
    options = with_longest(JOBS, small_options())
    return agent_of(new_network(PROCS, options), PROCS, options, {"trace": "busy"})


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    agent, path = small_agent(), tmp_path / "agent.json"
    path.write_bytes(placing_to_bytes(agent))
    read = load_placing(path)
    assert is_placing_file(path) and placing_to_bytes(read) == path.read_bytes()
    assert (read.cluster_procs, read.front, read.back, read.longest_s) == (PROCS, 4, 2, JOBS.estimate.max())
    assert read.card == {"trace": "busy"} and "the first 4 and the last 2 waiting jobs" in read.made_for
    seen = torch.from_numpy(np.random.default_rng(1).random((5, PROCS + 18), dtype=np.float32))
    with torch.no_grad():
        torch.manual_seed(1)
        expected = new_network(PROCS, small_options()).actor(seen)
        assert torch.equal(read.actor()(seen), expected)


def test_other_files_are_none(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    assert not is_placing_file(other)
    other.write_text('{"format": "tracehouse kernel network 2"}')
    assert not is_placing_file(other)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path, content = tmp_path / "agent.json", placing_to_bytes(small_agent())
    document = json.loads(content)
    for changed, said in (
        (content[:400], "cut short"),
        (json.dumps(document | {"format": "tracehouse placing network 9"}), "of another tracehouse"),
        (json.dumps(document | {"front": 5}), "their hash differs"),
        (json.dumps({"format": document["format"]}), "train it again"),
        (placing_to_bytes(replace(small_agent(), front=5)), "needs 53 inputs and 8 outputs"),
    ):
        path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
        with pytest.raises(ValueError, match=f"agent.json: .*{said}"):
            load_placing(path)
    path.unlink()
    with pytest.raises(ValueError, match=r"agent.json: cannot be read"):
        load_placing(path)


def test_it_is_no_policy(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    path.write_bytes(placing_to_bytes(small_agent()))
    with pytest.raises(ValueError, match="decides all starts: give it to --backfill"):
        load_policy(path)
