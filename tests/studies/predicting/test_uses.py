"""Uses of predictions that other logs choose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from models.runtime.search import Configuration, TriedUse
from studies.predicting.uses import chosen_elsewhere


def use(factor: float, value: float, dominates: bool) -> TriedUse:
    class Fixed(TriedUse):
        """With the figures given."""

        def __init__(self) -> None:
            object.__setattr__(self, "configuration", replace(Configuration(), factor=factor))

        @property
        def value(self) -> float:
            return value

        @property
        def dominates(self) -> bool:
            return dominates

    return cast(Any, Fixed())


def test_what_dominates_on_all_other_logs_goes_first() -> None:
    tried = {
        "one": {"any": [use(1.0, -9.0, True), use(0.5, -9.0, True), use(0.7, -9.0, True)]},
        "two": {"any": [use(1.0, -0.5, False), use(0.5, -0.1, True), use(0.7, -0.2, True)]},
        "three": {"any": [use(1.0, -0.5, True), use(0.5, -0.2, True), use(0.7, -0.2, True)]},
    }
    assert chosen_elsewhere("one", "any", tried).factor == 0.7, "the log itself has no say"
    tried["three"]["any"][2] = use(0.7, -0.2, False)
    assert chosen_elsewhere("one", "any", tried).factor == 0.5
    tried["three"]["any"][1] = use(0.5, -0.2, False)
    assert chosen_elsewhere("one", "any", tried).factor == 1.0, "where none dominates, the least value"
