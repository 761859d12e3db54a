"""What a run from the command line prints: one line per finished asset, warnings, failed checks."""

import logging
import time

import click
import dagster as dg

from assets.common.asset import PASSED_OVER
from pipelines.terminal import printable


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
        kind = event.event_type_value
        if kind == "STEP_START":
            self.started.setdefault(_asset_of(event.step_key), time.monotonic())
        elif kind == "ASSET_MATERIALIZATION":
            seconds = time.monotonic() - self.started.get(_asset_of(event.step_key), time.monotonic())
            click.echo(f"  {event.asset_key.to_user_string():<36} {seconds:6.1f} s", err=True)
            passed_over = event.materialization.metadata.get(PASSED_OVER)
            if passed_over is not None and passed_over.value not in self.said:  # of all assets for the same reason
                self.said.add(passed_over.value)
                click.secho(f"  ! passed over: {printable(passed_over.value)}", fg="yellow", err=True)
        elif kind == "ASSET_CHECK_EVALUATION":
            check = event.event_specific_data
            if not check.passed and check.severity == dg.AssetCheckSeverity.WARN:
                click.secho(f"  ! check {check.check_name}: {printable(check.description)}", fg="yellow", err=True)
            elif not check.passed:
                click.secho(f"  check {check.check_name} FAILED: {printable(check.description)}", fg="red", err=True)


def _asset_of(step_key: str) -> str:
    """What the steps of an asset that is made in parts have in common."""
    return step_key.partition(".")[0]
