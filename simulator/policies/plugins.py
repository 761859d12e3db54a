"""Policies that users bring: a function of the waiting jobs, in numpy or compiled by numba. The lowest score goes first.

The names of a plug-in's parameters say what it reads:

    now      the time, seconds in the log's clock          free     free processors
    submit   submit time, seconds in the log's clock       cluster  processors of the cluster
    wait     now - submit, seconds                         user     number of the user
    estimate run time the scheduler uses, seconds          procs    processors

A plain function gets arrays of the waiting jobs (`now`, `free` and `cluster` are numbers) and returns an array of scores. A
function compiled with `numba.njit` gets the numbers of one job and returns its score. A function that reads neither
`now`, `wait` nor `free` is called once per job, before the replay. One that reads `free` is called again after every start.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from simulator.jobs.jobs import Jobs

READS = ("now", "submit", "wait", "estimate", "procs", "free", "cluster", "user")
CHANGING_READS = frozenset({"now", "wait", "free"})

FOLDER_VARIABLE = "TRACEHOUSE_PLUGINS"
"""The environment variable of the one folder whose plug-ins runs of the UI may use."""
_CONFINED_VARIABLE = "TRACEHOUSE_PLUGINS_ONLY_FROM"
"""Set while plug-ins are confined, so that processes that are started meanwhile are confined, too. Empty: to no folder."""
_is_free = [False]

_is_free = [False]

_FILL = """
def fill(queue, queued, now, free, cluster, submit_of, estimate_of, procs_of, user_of, score):
    for k in range(queued):
        job = queue[k]
        submit = submit_of[job]
        estimate = estimate_of[job]
        procs = procs_of[job]
        user = user_of[job]
        wait = now - submit
        score[k] = function({arguments})
"""


@dataclass(frozen=True)
class PlugIn:
    """name: for messages, such as FILE.py:NAME. reads: names of READS, in the function's order."""

    name: str
    function: Callable[..., Any]
    reads: tuple[str, ...]

    @property
    def is_compiled(self) -> bool:
        """Whether the function is compiled by numba, so that it takes the numbers of one job."""
        return isinstance(self.function, numba.core.dispatcher.Dispatcher)

    @property
    def is_fixed(self) -> bool:
        """Whether its scores never change, so that each job is scored once, before the replay."""
        return not CHANGING_READS & set(self.reads)

    @cached_property
    def fill(self) -> Callable[..., None]:
        """Compiled: fill(queue, queued, now, free, cluster, submit, estimate, procs, user, score) scores the waiting jobs."""
        space: dict[str, Any] = {"function": self.function}
        exec(_FILL.format(arguments=", ".join(self.reads)), space)
        return numba.njit(nogil=True)(space["fill"])

    def scores(
        self, queue: NDArray[np.int64], now: int, free: int, cluster: int, columns: dict[str, NDArray[np.int64]]
    ) -> NDArray[np.float64]:
        """Scores of the jobs in `queue`, float64 (len(queue),). Raises ValueError when the function fails, or returns
        another shape or a score that is not a number."""
        if self.is_compiled:
            score = np.empty(len(queue))
            try:
                of_jobs = (columns[name] for name in ("submit", "estimate", "procs", "user"))
                self.fill(queue, len(queue), now, free, cluster, *of_jobs, score)
            except Exception as error:
                raise self.failure(error) from error
        else:
            values: dict[str, Any] = {name: columns[name][queue] for name in self.reads if name in columns}
            values |= {"now": now, "free": free, "cluster": cluster}
            if "wait" in self.reads:
                values["wait"] = now - columns["submit"][queue]
            try:
                score = np.asarray(self.function(*(values[name] for name in self.reads)), dtype=np.float64)
            except Exception as error:
                raise self.failure(error) from error
            if score.shape != (len(queue),):
                raise ValueError(
                    f"policy {self.name} must return one score per waiting job, shape {(len(queue),)}, got {score.shape}"
                )
        if np.isnan(score).any():
            raise self.no_score(int(queue[int(np.argmax(np.isnan(score)))]), now)
        return score

    def failure(self, error: Exception) -> ValueError:
        """What to raise when the function has raised `error`. It names the line, as far as that is known."""
        code = getattr(getattr(self.function, "py_func", self.function), "__code__", None)
        lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code is code]
        where = f" in line {lines[-1]}" if lines else ""
        return ValueError(f"policy {self.name} failed{where}: {type(error).__name__}: {error}")

    def no_score(self, job: int, now: int) -> ValueError:
        """What to raise for a score that is not a number. job: its index. now: seconds in the log's clock."""
        return ValueError(f"policy {self.name} gave the job at index {job} at time {now} a score that is not a number")

    def fixed_scores(self, jobs: Jobs, cluster_procs: int) -> NDArray[np.float64]:
        """Scores of all jobs, float64 (num_jobs,), for functions whose scores never change."""
        submit = jobs.submit if "submit" in self.reads else np.zeros(len(jobs), dtype=np.int64)
        columns = {"submit": submit, "estimate": jobs.estimate, "procs": jobs.procs, "user": jobs.user}
        return self.scores(np.arange(len(jobs)), 0, 0, cluster_procs, columns)


_registered: dict[str, PlugIn] = {}


def add_plugin(name: str, function: Callable[..., Any]) -> None:
    """Keeps `function` under a name. Raises ValueError for parameters whose names are not in READS."""
    _registered[name] = _checked(name, function)


def plugin(name: str) -> PlugIn | None:
    """The plug-in registered under this name."""
    return _registered.get(name)


@contextmanager
def confined_plugins() -> Iterator[None]:
    """Inside, plug-ins come from the folder that TRACEHOUSE_PLUGINS names, and from nowhere where it names none.

    A plug-in is code. Who may start a run must not thereby choose which file of this machine is executed.
    """
    before = os.environ.get(_CONFINED_VARIABLE)
    if not _is_free[-1]:
        os.environ[_CONFINED_VARIABLE] = os.environ.get(FOLDER_VARIABLE, "")
    try:
        yield
    finally:
        os.environ.pop(_CONFINED_VARIABLE, None)
        if before is not None:
            os.environ[_CONFINED_VARIABLE] = before


@contextmanager
def free_plugins() -> Iterator[None]:
    """Inside, `confined_plugins` confines nothing: a command that the user gave executes the runs of this process. No tag of a run
    can say so, since whoever starts a run chooses its tags."""
    _is_free.append(True)
    try:
        yield
    finally:
        _is_free.pop()


def plugin_file(file: Path) -> Path:
    """Where the file of a plug-in is. While plug-ins are confined, names are those of their folder.

    Raises ValueError for a file that may not be used.
    """
    folder = os.environ.get(_CONFINED_VARIABLE)
    if folder is None:
        return file
    if not folder:
        raise ValueError(
            f"{file}: runs of the UI use no plug-in, since no folder is named for them: start it with "
            f"`tracehouse ui --plug-ins FOLDER` (or {FOLDER_VARIABLE}), or use the command line"
        )
    place = (Path(folder) / file).resolve()
    if not place.is_relative_to(Path(folder).resolve()):
        raise ValueError(f"{file}: runs of the UI use plug-ins of {folder} only")
    return place


def load_plugin(file: Path, name: str) -> PlugIn:
    """The function `name` of a Python file. Raises ValueError that says what is missing or wrong."""
    file = plugin_file(file)
    if not file.exists():
        raise ValueError(f"{file}: no such file (policy {file}:{name})")
    spec = importlib.util.spec_from_file_location(f"policy {file}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look up their module there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{file}: cannot be loaded, {type(error).__name__}: {error}") from error
    functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    if not name:
        raise ValueError(f"{file}: which function? It has {', '.join(functions) or 'none'}: give {file}:NAME")
    if name not in vars(module):
        raise ValueError(f"{file}: has no function {name!r}. It has {', '.join(functions) or 'none'}: give {file}:NAME")
    return _checked(f"{file}:{name}", vars(module)[name])


def _checked(name: str, function: Callable[..., Any]) -> PlugIn:
    if not callable(function):
        raise ValueError(f"policy {name} must be a function, got {type(function).__name__}")
    plain = getattr(function, "py_func", function)
    parameters = inspect.signature(plain).parameters
    reads = tuple(parameters)
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    unknown = [read for read in reads if read not in READS or parameters[read].kind in starred]
    if unknown or not reads:
        raise ValueError(
            f"policy {name} has a parameter {unknown[0]!r}, which is not known: expected some of {', '.join(READS)}"
            if unknown
            else f"policy {name} has no parameter: expected some of {', '.join(READS)}"
        )
    return PlugIn(name, function, reads)
