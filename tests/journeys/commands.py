"""The commands of a journey, in the order in which an analyst tries them, and what each may refuse."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tests.journeys.sources import JourneySource

SCENARIOS = """
source = "{name}"
[scenarios."10 % more processors"]
procs = "+10%"
[scenarios."smallest area first"]
policy = "SAF"
[scenarios."live"]
backfill = "easy"
estimates = "live"
"""
"""The file q.toml in the home of a journey."""


def _any(_source: JourneySource) -> bool:
    return True


def _is_logged_alone(source: JourneySource) -> bool:
    return bool(source.log) and not source.configuration


def _is_generated(source: JourneySource) -> bool:
    return not source.log


def _is_described(source: JourneySource) -> bool:
    return bool(source.configuration)


class Step(NamedTuple):
    """One command. line: with {name}, {format}, {log}, {configuration} and {budget}. may_refuse: what its error then says, a regular
    expression; empty for one that must succeed. key: of its JSON in the journey's answers, empty where it prints none. of: the sources
    that it is of. is_long: whether the short journey leaves it out, for its time."""

    line: str
    may_refuse: str = ""
    key: str = ""
    of: Callable[[JourneySource], bool] = _any
    is_long: bool = False


NOT_ENOUGH = r"at least \d|too few|no complete month|have no predicted run time: make them with"
STEPS = (
    Step("cluster import {configuration} --name {name}", of=_is_described),
    Step("ingest {log} --format {format} --name {name} --json", key="ingest", of=_is_logged_alone),
    Step("ingest {log} --format {format} --name {name} --cluster {name} --json", key="ingest", of=_is_described),
    Step("run {name} --job ingest", of=_is_generated),
    Step("cluster check {name} {name} --json", of=lambda source: _is_described(source) or _is_generated(source)),
    Step("health {name}"),
    Step("who {name} --json", key="who"),
    Step("who {name} --waste"),
    Step("who {name} --nodes", r"the log (has|names) no nodes|no nodes"),
    Step("why {name} --json", key="why"),
    Step("periods {name} --json", NOT_ENOUGH, key="periods"),
    Step("periods {name} last-14-days", NOT_ENOUGH),
    Step("cluster identify {name} --budget {budget} --json", "rules need 200 or more", key="identify"),
    Step("run {name} --select replay/fidelity"),
    Step("replay {name} --json", key="replay"),
    Step("what-if q.toml --json", key="what-if"),
    Step("what-if {name} --set procs=+10%"),
    Step("cluster adopt {name}", r"shows no rule|nobody has looked for rules|nothing to adopt"),
    Step("run {name} --select replay/fidelity"),
    Step("why {name} --json", key="why adopted"),
    Step("replay {name} --json", key="replay adopted"),
    Step("what-if q.toml --json", key="what-if adopted"),
    Step("run {name} --config config.yaml --json", key="run", is_long=True),
    Step("report {name} --json", key="report"),
    Step("tune {name} --trials 6 --json", "a search needs 200 or more", key="tune"),
    Step("queue {name}", "give FILE", is_long=True),
    Step("wait {name} --procs 4 --walltime 2h", NOT_ENOUGH),
    Step("walltime {name} --user 1 --procs 4", NOT_ENOUGH + r"|has no job of user"),
    Step("metrics --json", key="metrics"),
    Step("export {name} x.parquet"),
    Step("publish pub.duckdb"),
    Step("sources --json"),
)


def steps_of(source: JourneySource, is_short: bool) -> list[Step]:
    """The commands of a source's journey."""
    return [step for step in STEPS if step.of(source) and not (is_short and step.is_long)]


def refuses_rightly(step: Step, message: str) -> bool:
    """Whether a command may end with this error."""
    return bool(step.may_refuse) and re.search(step.may_refuse, message) is not None
