"""One worker of a training: `python -m pipelines.worker FOLDER`, as torchrun starts it. Run from an asset it reports to Dagster."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from models.scheduling.learning.training import EpochReport
from models.scheduling.workers.worker import die_with_parent, work


def main() -> None:
    """Trains as one worker. Worker 0 reports to the Dagster run that has started it, if one has."""
    die_with_parent()
    folder = Path(sys.argv[1])
    if os.environ.get("RANK") != "0" or "DAGSTER_PIPES_CONTEXT" not in os.environ:
        work(folder)
        return
    from dagster_pipes import open_dagster_pipes

    with open_dagster_pipes() as pipes:

        def report_epoch(report: EpochReport) -> None:
            cost = "" if report.validation_cost is None else f", cost {report.validation_cost:.4g}"
            pipes.log.info(f"epoch {report.epoch}: {report.decisions} decisions{cost}")

        work(folder, report_epoch)


if __name__ == "__main__":
    main()
