"""What a run prints: one line per asset, warnings, and failed checks."""

from contextvars import Context

import dagster as dg
import pytest

from pipelines.step_log import SILENT_S, StepWatch, asset_name, step_logger


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


def test_a_silent_run_says_what_runs_and_how_long_the_rest_takes() -> None:
    watch = StepWatch(
        ["raw/log", "core/jobs", "marts/report"], {"raw/log": 20, "core/jobs": 10, "marts/report": 30}, True, 0
    )
    watch.start("raw/log", 0)
    assert watch.line(SILENT_S - 1) is None, "it begins with a line of its own"
    assert watch.line(12) == "raw/log has been running for 12 s: step 1 of 3, about 48 s left"
    assert watch.line(13) is None, "a line has just been there"
    watch.finish("raw/log", 15)
    watch.start("core/jobs", 15)
    assert watch.line(16) is None
    assert watch.line(45) == "core/jobs has been running for 30 s: step 2 of 3, about 30 s left", (
        "late, but not more than that"
    )


def test_a_first_run_estimates_by_what_is_done() -> None:
    watch = StepWatch(["raw/log", "predictions/runtime_evaluation", "x"], {}, False, 0)
    watch.start("raw/log", 0)
    assert watch.line(10) == "raw/log has been running for 10 s: step 1 of 3"
    watch.finish("raw/log", 20)
    watch.start("predictions/runtime_evaluation", 20)
    assert watch.line(30) == "predictions/runtime_evaluation has been running for 10 s: step 2 of 3, about 32 s left"


def test_steps_of_parts_are_of_their_asset() -> None:
    assert asset_name("replay__runs.replay_part[3]") == "replay/runs"
