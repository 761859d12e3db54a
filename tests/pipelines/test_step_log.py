"""What a run prints: one line per asset, warnings, and failed checks."""

from contextvars import Context

import dagster as dg
import pytest

from pipelines.step_log import step_logger


@dg.asset
def numbers(context: dg.AssetExecutionContext) -> None:
    context.log.info("not shown")
    context.log.warning("look here")
    context.log.warning("queue \x1b[2J")


@dg.asset_check(asset=numbers)
def are_small() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description="they are large: \x1b[2J")


@dg.asset_check(asset=numbers)
def are_there() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, description="there are none")


def test_one_line_an_asset_and_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    Context().run(_run_all)  # Dagster keeps the instance of an earlier test, if there was one, in a context variable
    printed = capsys.readouterr().err
    assert "not shown" not in printed
    assert "  ! look here\n" in printed
    assert "  numbers " in printed and printed.rstrip().count("\n") == 4
    assert "  ! check are_small: they are large: \\x1b[2J\n" in printed
    assert "  ! queue \\x1b[2J\n" in printed and "\x1b[2J" not in printed, "a log steers no terminal"
    assert "  check are_there FAILED: there are none\n" in printed


def _run_all() -> None:
    job = dg.Definitions(
        assets=[numbers],
        asset_checks=[are_small, are_there],
        jobs=[dg.define_asset_job("all", "*")],
        loggers={"steps": step_logger},
        executor=dg.in_process_executor,
    ).resolve_job_def("all")
    with dg.DagsterInstance.ephemeral() as instance:
        job.execute_in_process(
            instance=instance, run_config={"loggers": {"steps": {"config": {}}}}, raise_on_error=False
        )
