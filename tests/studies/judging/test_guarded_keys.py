"""The study of keys that are searched under guards, on logs small enough for a test."""

from __future__ import annotations

import pytest

from models.scheduling.arena import Arena
from models.scheduling.goals import parse_goal
from models.scheduling.options import KeySearchOptions
from models.scheduling.priority_key import search_guarded_key, searched_jobs
from studies.judging.guarded_keys import chosen_elsewhere, heading, judged, line, value_of_keys
from tests.simulator.busy import PROCS, busy_jobs


def test_a_key_is_chosen_by_the_other_logs() -> None:
    arenas = {
        name: Arena(busy_jobs(1200, 1.0, seed), PROCS, parse_goal("bsld"), threads=1) for seed, name in enumerate("abc")
    }
    options = KeySearchOptions(random_keys=15, steps=0)
    searches = {name: search_guarded_key(arena, searched_jobs(600), options, 1) for name, arena in arenas.items()}
    values = {name: value_of_keys(arena) for name, arena in arenas.items()}
    candidates = {name: search.best_keys(3) for name, search in searches.items()}
    assert candidates["a"][0] == searches["a"].best and values["a"](searches["a"].best) == pytest.approx(
        searches["a"].value
    )
    key = chosen_elsewhere("a", values, candidates)
    assert key in candidates["b"] + candidates["c"]
    sums = {each: values["b"](each) + values["c"](each) for each in candidates["b"] + candidates["c"]}
    assert sums[key] == min(sums.values())
    judgement = judged(arenas["a"], key)
    text = line("a", key, judgement)
    assert text.startswith("| a | `formula:-(submit + min(") and text.count("|") == heading().splitlines()[1].count("|")
    assert judgement.panels[0].wait_s > 0
