"""How many functions the settings of a command pass on their way to where they are used: `python -m tests.settings_way`.

Counted are the functions of this project that run between the first line of a command and the call that `WAYS` names. What `READERS` call
is counted apart: it reads log, catalogue and warehouse, replays windows or looks where a file may be written, and decides nothing by
settings.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from tests.rules import PROJECT
from tracehouse.cli.main import load_command

READERS = {
    *("site_of", "load_any_trace", "catalogue_source", "open_warehouse", "is_loaded", "jobs_from_log", "Split.lessons"),
    "check_file",
}
IMPORTS = {"<module>", "_WhenGymnasiumIsLoaded.find_spec"}
"""Code that runs because a module is imported here for the first time."""


class Way(NamedTuple):
    """begin: the first function. end: the first call that is not counted. functions, modules: at most so many."""

    line: tuple[str, ...]
    begin: str
    end: str
    functions: int
    modules: int


WAYS = {
    "replay": Way(("--policy", "SJF"), "tracehouse/cli/commands/replay.py:replay", "OrderReplayer.replay", 90, 21),
    "train": Way((), "tracehouse/cli/commands/train.py:train", "train_by_ppo", 60, 18),
}


class Arrived(BaseException):
    """The settings are where they are used."""


class Passed:
    """Python calls it for each call and each return. settings, readers: (file, function) in the order of their first calls."""

    def __init__(self, way: Way) -> None:
        self.settings: dict[tuple[str, str], None] = {}
        self.readers: dict[tuple[str, str], None] = {}
        self._way, self._runs = way, False
        self._apart: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Counts a call."""
        code = frame.f_code
        if event == "return" and frame is self._apart:
            self._apart = None
        if event != "call" or not code.co_filename.startswith(f"{PROJECT}/"):
            return
        file, name = str(Path(code.co_filename).relative_to(PROJECT)), code.co_qualname
        self._runs |= f"{file}:{name}" == self._way.begin
        if not self._runs or file.startswith("."):
            return
        if name == self._way.end:
            raise Arrived
        if self._apart is None and name in READERS | IMPORTS:
            self._apart = frame
        if code.co_name == "<lambda>" or not code.co_name.startswith("<"):
            (self.readers if self._apart else self.settings)[file, name] = None


def functions_passed(command: str, source: str) -> Passed:
    """The functions that the settings of a command pass for a source."""
    passed = Passed(WAYS[command])
    sys.setprofile(passed)
    try:
        load_command(command).main([source, *WAYS[command].line], standalone_mode=False)
    except Arrived:
        return passed
    finally:
        sys.setprofile(None)
    raise AssertionError(f"{command} ended before {WAYS[command].end}")


def modules_of(functions: dict[tuple[str, str], None]) -> dict[str, list[str]]:
    """By file: its functions."""
    names: dict[str, list[str]] = {}
    for file, name in functions:
        names.setdefault(file, []).append(name)
    return names


def main() -> None:
    """Prints the functions of each way, and how many there are."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["TRACEHOUSE_HOME"] = home
        os.chdir(home)
        for command in WAYS:
            passed = functions_passed(command, "birch")
            modules, others = modules_of(passed.settings), modules_of(passed.readers)
            print(f"\n{command}: {len(passed.settings)} functions in {len(modules)} modules;", end=" ")
            print(f"readers {len(passed.readers)} in {len(others.keys() - modules.keys())} more")
            for file, names in modules.items():
                print(f"  {file}: {', '.join(names)}")


if __name__ == "__main__":
    main()
