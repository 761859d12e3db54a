"""`make test-lake`: the tests of the warehouse and the assets over a lake, and the stress, with a PostgreSQL of their own.

Run it with a Python whose DuckDB has wheels of the extensions. What cannot run here is printed as not run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from tests.lake.doors import SERVER_OF_TESTS
from tests.lake.passed import PROJECT, RECORD, record
from tests.lake.server import NotHere, running_server
from warehouse import WarehouseError
from warehouse.extensions import connect_with

TESTS = (
    "tests/lake",
    "tests/warehouse",
    "tests/assets/common/test_checks.py",
    "tests/assets/common/test_trace.py",
    "tests/assets/common/test_transfer.py",
    "tests/assets/ingest/test_removal.py",
    "tests/assets/ingest/test_staging.py",
    "tests/assets/ingest/test_update.py",
    "tests/assets/policies/test_registry.py",
    "tests/assets/predictions/test_model_registry_rollback.py",
    "tests/assets/core/test_core.py",
    "tests/assets/replay/test_runs.py",
    "tests/pipelines/test_nights_upkeep.py",
)
"""Those of the warehouse, of ingest, of registries and of saved runs: what all others are made of. And whole runs, on two machines."""
STRESS_S = 60


def main(arguments: Sequence[str]) -> int:
    """Runs the tests, or those that are given, and then the stress. Returns the exit code."""
    try:
        connect_with("ducklake", "postgres_scanner").close()
        with running_server() as server:
            environment = os.environ | {SERVER_OF_TESTS: f"{server.folder}:{server.port}"}
            words = ["-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal", "--durations", "5"]
            tests = ["-m", "pytest", *words, *(arguments or TESTS)]
            code = subprocess.run([sys.executable, *tests], env=environment, check=False).returncode
    except (NotHere, WarehouseError) as error:
        print(f"not run: the tests over a lake, and the stress: {error}")
        return 0
    if code or arguments:
        return code
    print(f"stress of a lake, {STRESS_S} s", flush=True)
    stress = [sys.executable, "-m", "benchmarks.lake", "--seconds", str(STRESS_S)]
    code = subprocess.run(stress, check=False).returncode
    if not code:
        record()
        print(
            f"passed: {RECORD.relative_to(PROJECT)} says so. Commit it, and what every change must pass leaves them out",
            flush=True,
        )
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
