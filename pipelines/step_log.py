"""What a run from the command line prints: one line per finished asset, what runs now, warnings, failed checks."""

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import click
import dagster as dg

from assets.common.asset import PASSED_OVER
from assets.common.progress import WorkDone, is_drawing, newest_work, time_left_text
from pipelines.terminal import printable

SILENT_S = 9.0
"""After so long without a line, one says what runs now."""
KNOWN_AFTER = 0.05
"""Of the expected time that must be over before the time left is estimated where the same run has not been seen."""
TYPICAL_S = {
    **{"core/jobs": 2, "replay/fidelity": 4, "predictions/runtime_evaluation": 5, "predictions/runtime_model": 2},
    **{"replay/runs": 6, "policies/priority_key": 5, "predictions/wait_times": 5, "policies/scheduling_policy": 20},
    **{"replay/evaluation": 4, "replay/usual_changes": 15, "marts/report": 4},
}
"""Seconds of the slow assets for a bundled source: how a first run divides its time. All others take about one."""


class StepWatch:
    """Which asset runs now, for how long, and how long the rest will take.

    assets: of the run. earlier: seconds of each when the same job last succeeded, empty where it never did. is_same: whether that was for
    the same source. Then the rest takes as long as it did, else as long in proportion to what is done. Times are seconds of one clock.
    """

    def __init__(self, assets: list[str], earlier: Mapping[str, float], is_same: bool, now: float) -> None:
        self.left = {name: earlier.get(name, TYPICAL_S.get(name, 1.0)) for name in assets}
        self.expected = sum(self.left.values())
        self.num_assets, self.is_same = len(assets), is_same
        self.begun = self.last_line = now
        self.running: dict[str, float] = {}

    def start(self, name: str, now: float) -> None:
        """A step of the asset begins, or a check of one."""
        self.running.setdefault(name, now)

    def end(self, name: str) -> None:
        """The step has ended."""
        self.running.pop(name, None)

    def finish(self, name: str, now: float) -> None:
        """The asset is there, and a line says so."""
        self.end(name)
        self.left.pop(name, None)
        self.last_line = now

    def line(self, now: float, work: WorkDone | None = None) -> str | None:
        """What runs now and the time left. None while lines come anyway. work: how far the asset that runs is, where it has a bar."""
        if now - self.last_line < SILENT_S:
            return None
        self.last_line = now
        number = self.num_assets - len(self.left) + 1
        step = f"step {min(number, self.num_assets)} of {self.num_assets}"
        left_s = self.left_s(now)
        rest = step if left_s is None else f"{step}, about {time_left_text(left_s)} left"
        if not self.running:
            return f"starting: {rest}"
        name, began = max(self.running.items(), key=lambda item: item[1])
        pace = self.pace(now)
        if left_s is not None and pace is not None and now - began > pace * self.left.get(name, 0.0):
            rest = step if work is not None and work.left_s is not None else f"{step}, longer than expected"
        said = f"{name} has been running for {time_left_text(now - began)}"
        return f"{said}: {rest}" if work is None else f"{said} ({work}): {rest}"

    def pace(self, now: float) -> float | None:
        """How many times as long as expected the steps take, None where nothing can be said."""
        if self.is_same:
            return 1.0
        done = self.expected - sum(self.left.values())
        if done < KNOWN_AFTER * self.expected:
            return None
        in_progress = now - min(self.running.values(), default=now)
        return max(now - self.begun - in_progress, 0.0) / done

    def left_s(self, now: float) -> float | None:
        """Seconds until the run ends, None where nothing can be said."""
        pace = self.pace(now)
        if pace is None:
            return None
        return sum(
            max(pace * seconds - (now - self.running.get(name, now)), 0.0) for name, seconds in self.left.items()
        )


class DoneStep(NamedTuple):
    """An asset that was materialized. source: its partition, None where it has none. passed_over: why nothing was learned for it."""

    source: str | None
    asset: str
    took_s: float
    passed_over: str | None


_record: list[DoneStep] | None = None


@contextmanager
def recording_steps() -> Iterator[list[DoneStep]]:
    """Inside, each asset that is materialized is added to the list."""
    global _record
    steps: list[DoneStep] = []
    _record = steps
    try:
        yield steps
    finally:
        _record = None


_watch: StepWatch | None = None
"""Of the run of this process, which runs one at a time."""


@contextmanager
def saying_what_runs(watch: StepWatch) -> Iterator[None]:
    """Inside, a run is never silent for long: a line says what runs now."""
    global _watch
    ended = threading.Event()

    def say() -> None:
        while not ended.wait(1.0):
            # a bar on the terminal says more, and a line would go through it
            line = None if is_drawing() else watch.line(time.monotonic(), newest_work())
            if line is not None:
                click.echo(f"  {line}", err=True)

    thread = threading.Thread(target=say, daemon=True)
    _watch = watch
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        _watch = None


@dg.logger(config_schema={}, description="One line per finished asset, warnings and failed checks, on standard error")
def step_logger(_context: dg.InitLoggerContext) -> logging.Logger:
    """The logger `steps` of a Dagster run."""
    logger = logging.getLogger("tracehouse.steps")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.handlers = [_StepHandler()]
    return logger


class _StepHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.started: dict[str, float] = {}
        self.said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        meta = getattr(record, "dagster_meta", {})
        event = meta.get("dagster_event")
        if event is None:
            if record.levelno >= logging.WARNING:
                click.secho(f"  ! {printable(meta.get('orig_message', record.getMessage()))}", fg="yellow", err=True)
            return
        kind, now = event.event_type_value, time.monotonic()
        if kind == "STEP_START":
            self.started.setdefault(_asset_of(event.step_key), now)
            if _watch is not None:
                _watch.start(asset_name(event.step_key), now)
        elif kind in ("STEP_SUCCESS", "STEP_FAILURE", "STEP_SKIPPED"):
            if _watch is not None:
                _watch.end(asset_name(event.step_key))
        elif kind == "ASSET_MATERIALIZATION":
            seconds = now - self.started.get(_asset_of(event.step_key), now)
            if _watch is not None:
                _watch.finish(event.asset_key.to_user_string(), now)
            click.echo(f"  {event.asset_key.to_user_string():<36} {seconds:6.1f} s", err=True)
            passed_over = event.materialization.metadata.get(PASSED_OVER)
            if _record is not None:
                why = None if passed_over is None else str(passed_over.value)
                name = event.asset_key.to_user_string()
                _record.append(DoneStep(event.materialization.partition, name, round(seconds, 2), why))
            if passed_over is not None and passed_over.value not in self.said:  # of all assets for the same reason
                self.said.add(passed_over.value)
                click.secho(f"  ! passed over: {printable(passed_over.value)}", fg="yellow", err=True)
        elif kind == "ASSET_CHECK_EVALUATION":
            check = event.event_specific_data
            if not check.passed and check.severity == dg.AssetCheckSeverity.WARN:
                click.secho(f"  ! check {check.check_name}: {printable(check.description)}", fg="yellow", err=True)
            elif not check.passed:
                click.secho(f"  check {check.check_name} FAILED: {printable(check.description)}", fg="red", err=True)


def asset_name(step_key: str) -> str:
    """The asset that a step makes, as users know it: `raw/log` for `raw__log`."""
    return _asset_of(step_key).replace("__", "/")


def _asset_of(step_key: str) -> str:
    """What the steps of an asset that is made in parts have in common."""
    return step_key.partition(".")[0]
