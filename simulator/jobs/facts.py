"""Facts of jobs that are computed when they are read. Only learned policies read them, and each takes 4 bytes a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class LazyFacts(Mapping[str, NDArray[np.float32]]):
    """`simulator.jobs.jobs.Jobs.facts`: float32 (jobs,) by name, from functions that give an array of numbers each. Each is called once
    at most."""

    def __init__(self, functions: Mapping[str, Callable[[], NDArray[Any]]]) -> None:
        self._functions = functions
        self._computed: dict[str, NDArray[np.float32]] = {}

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        if name not in self._computed:
            self._computed[name] = self._functions[name]().astype(np.float32)
        return self._computed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        """Another process gets the arrays."""
        return dict, (dict(self),)

    def part(self, part: slice | NDArray[np.int64]) -> LazyFacts:
        """The facts of some of the jobs."""

        def function(name: str) -> Callable[[], NDArray[np.float32]]:
            return lambda: self[name][part]

        return LazyFacts({name: function(name) for name in self._functions})
