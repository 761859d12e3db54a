"""Facts that are computed when they are read."""

from __future__ import annotations

import pickle

import numpy as np

from simulator.jobs.facts import LazyFacts
from simulator.jobs.jobs import Jobs


def test_each_is_computed_once_and_only_when_read() -> None:
    calls: list[str] = []

    def function(name: str) -> np.ndarray:
        calls.append(name)
        return np.arange(4) / 4

    facts = LazyFacts({"memory": lambda: function("memory"), "user": lambda: function("user")})
    numbers = np.arange(1, 5)
    jobs = Jobs(numbers, numbers, numbers, numbers, numbers, facts=facts)
    part = jobs.window(1, 2).only(np.array([1]))
    assert list(part.facts) == ["memory", "user"] and len(part.facts) == 2 and not calls
    assert part.facts["user"].tolist() == [0.5] and part.facts["user"].dtype == np.float32
    assert jobs.facts["user"].tolist() == [0, 0.25, 0.5, 0.75] and calls == ["user"]
    again = pickle.loads(pickle.dumps(jobs))
    assert {name: values.tolist() for name, values in again.facts.items()} == {
        name: [0, 0.25, 0.5, 0.75] for name in ("memory", "user")
    }
