"""Commands of workers run beside the run that asks for them, one thread each."""

import sys
from pathlib import Path

import dagster as dg
import pytest

from assets.policies.workers import through_pipes

REPORT = """
import os, sys
from dagster_pipes import open_dagster_pipes
with open_dagster_pipes() as pipes:
    pipes.log.info("threads " + os.environ["OMP_NUM_THREADS"])
    open(sys.argv[1], "w").write(pipes.run_id)
"""


def test_a_command_reports_to_its_run_and_a_failing_one_fails_it(tmp_path: Path) -> None:
    @dg.op
    def ask(context: dg.OpExecutionContext) -> None:
        run_command = through_pipes(context)  # type: ignore[arg-type]
        run_command([sys.executable, "-c", REPORT, str(tmp_path / "run")], tmp_path, lambda: None)
        run_command([sys.executable, "-c", "raise SystemExit(3)"], tmp_path, lambda: None)

    @dg.job
    def asking() -> None:
        ask()

    with dg.instance_for_test() as instance, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        result = asking.execute_in_process(instance=instance, raise_on_error=False)
        failure = result.failure_data_for_node("ask")
        assert not result.success and failure is not None and "ended with 3" in str(failure.error)
        assert (tmp_path / "run").read_text() == result.run_id
