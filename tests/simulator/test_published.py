"""Parts of papers by name: each is there, and code versions follow the name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from assets.common.code.reach import Symbol, reached_from
from simulator import published
from simulator.published import paper_part

NAMES = {name: value for name, value in vars(published).items() if name.isupper()}


@pytest.mark.parametrize("name", NAMES)
def test_a_part_is_there_and_its_code_is_reached(name: str) -> None:
    module = paper_part(NAMES[name])
    defined = next(
        node.name
        for node in ast.parse(Path(module.__file__).read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )
    assert Symbol(NAMES[name], defined) in reached_from(Symbol("simulator.published", name))


def test_what_replays_windows_reaches_the_rules_that_it_names() -> None:
    reached = reached_from(Symbol("simulator.agents.batch", "replay_windows"))
    assert Symbol("papers.rlscheduler.loop", "replay_jobs") in reached
    assert not any(symbol.module.startswith("papers.deep_back_filling") for symbol in reached)
