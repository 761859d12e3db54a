"""What starts in the processes of a training: `python -m pipelines.worker FOLDER [RUN]`. Run from an asset it reports to Dagster.

RUN: name of the run on another machine with which it ends. torchrun starts it once for each worker. For Ray it starts once, and Ray
starts the workers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from models.scheduling.learning.training import EpochReport
from models.scheduling.workers.ray_launcher import run_on_ray
from models.scheduling.workers.task_folder import read_task
from models.scheduling.workers.worker import die_with_parent, die_with_run, note_failure, work


def work_and_report(folder: Path) -> None:
    """Trains as one worker. Worker 0 reports to the Dagster run that has started it, if one has."""
    if os.environ.get("RANK") != "0" or "DAGSTER_PIPES_CONTEXT" not in os.environ:
        work(folder)
        return
    from dagster_pipes import open_dagster_pipes

    with open_dagster_pipes() as pipes:

        def report_epoch(report: EpochReport) -> None:
            cost = "" if report.validation_cost is None else f", cost {report.validation_cost:.4g}"
            pipes.log.info(f"epoch {report.epoch}: {report.decisions} decisions{cost}")

        work(folder, report_epoch)


def start() -> None:
    """Trains as one worker, or has Ray start all of them."""
    die_with_parent()
    folder = Path(sys.argv[1])
    for token in sys.argv[2:]:
        die_with_run(folder, token)
    options = read_task(folder).workers
    if options.launcher == "ray":
        try:
            run_on_ray(folder, options, work_and_report)
        except ValueError as error:
            note_failure(folder, error)
            raise
    else:
        work_and_report(folder)


if __name__ == "__main__":
    start()
