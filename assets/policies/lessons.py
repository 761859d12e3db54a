"""What the pipeline trains policies with: the split of `tracehouse train`, and the windows of the trajectory filter."""

from dataclasses import replace

import sql
from assets.common.trace import Trace, load_trained_trace
from assets.policies.training import PolicyTask, TrainingSetup, arena_of_task, split_of
from models import NothingToLearn
from models.judging.fidelity import ALIKE_S
from models.scheduling.arena import Windows
from models.scheduling.learning.training import Lessons
from models.scheduling.learning.training_run import Split
from simulator.engine.replay import replay
from warehouse import Warehouse, first_row

CHOOSING_WINDOWS, HELD_OUT_WINDOWS = 100, 100
"""Windows that choose the epoch, and later ones on which the training is shown."""
LEAST_WAITING_SHARE = 0.001
"""Of the jobs of a replay. Where fewer wait, hardly any window has an order to learn."""


def why_no_training(warehouse: Warehouse, trace: Trace) -> str | None:
    """Why the pipeline trains no policy for a source: by its grade nothing can be said of replays, or no job waits in them. None where one
    is trained. `tracehouse train` trains all the same."""
    remedy = f"`tracehouse train {trace.source}` trains one all the same"
    with warehouse.read() as connection:
        grade = first_row(connection, sql.load("replay.grade"), {"source": trace.source})
    if grade == ("D",):
        return f"source {trace.source!r}: replays have grade D, so that nothing can be said of a policy trained in them; {remedy}"
    jobs = trace.jobs()
    waiting = int((replay(jobs, trace.cluster_procs).start - jobs.submit > ALIKE_S).sum())
    if waiting >= LEAST_WAITING_SHARE * len(jobs):
        return None
    few = f"{waiting:,} of {len(jobs):,} jobs wait" if waiting else "no job waits"
    return (
        f"source {trace.source!r}: {few} longer than a minute in a replay under FCFS with EASY backfilling, so that no order is worth "
        f"learning; {remedy}"
    )


def check_training(warehouse: Warehouse, trace: Trace) -> None:
    """Raises NothingToLearn as `why_no_training` says."""
    why_not = why_no_training(warehouse, trace)
    if why_not is not None:
        raise NothingToLearn(why_not)


def window_setup(warehouse: Warehouse, source: str, task: PolicyTask) -> TrainingSetup:
    """The setup by RLScheduler's protocol: every window begins on an empty cluster. The jobs to learn from and to choose by choose the
    epoch. Jobs that neither this training nor that of run times is open to judge. Errors as those of `filtered_setup`."""
    setup = filtered_setup(warehouse, source, task)
    length, jobs = setup.lessons.windows.jobs, setup.trace.rows.height
    first = max(setup.trained_jobs, setup.trace.test_position or 0)
    chosen = Windows.spread(0, setup.lessons.validation.scored.stop, length, CHOOSING_WINDOWS)
    held_out = Windows.spread(min(first, jobs - length), jobs, length, HELD_OUT_WINDOWS)
    lessons = replace(setup.lessons, validation=chosen, after=None, held_out=held_out)
    return replace(setup, lessons=lessons, judging=held_out)


def filtered_setup(warehouse: Warehouse, source: str, task: PolicyTask) -> TrainingSetup:
    """The setup on the windows of the trajectory filter.

    Raises NothingToLearn as `why_no_training` says. Raises ValueError before there is a run-time model, and where the filter does not fit
    the trace or the goal.
    """
    trace, _ = load_trained_trace(warehouse, source)
    check_training(warehouse, trace)
    lessons, split = lessons_of(warehouse, trace, task.goal)
    assert lessons.confirming is not None
    return TrainingSetup(trace, task, arena_of_task(trace, task), lessons, lessons.confirming, split.trained_jobs)


def lessons_of(warehouse: Warehouse, trace: Trace, goal: str) -> tuple[Lessons, Split]:
    """The windows of the trajectory filter, with the blocks that choose and that confirm, and the split that they are of.

    Raises ValueError where they do not fit the trace or the goal.
    """
    source = trace.source
    with warehouse.read() as connection:
        windows = connection.sql(
            "SELECT first_position, jobs, kept FROM policies.trajectory_windows WHERE source = $source ORDER BY 1",
            params={"source": source},
        ).pl()
        filtered_for = connection.execute(
            "SELECT goal FROM policies.trajectory_ranges WHERE source = ?", [source]
        ).fetchone()
    if windows.is_empty() or filtered_for is None:
        raise ValueError(f"source {source!r} has no trajectory filter: materialize policies/trajectory_filter first")
    if filtered_for[0] != goal:
        raise ValueError(
            f"source {source!r}: the trajectory filter was made for the goal {filtered_for[0]!r}, not {goal!r}: materialize "
            "policies/trajectory_filter with the same goal"
        )
    first, length = windows["first_position"].to_numpy(), int(windows["jobs"][0])
    split = split_of(trace, length, 0)
    if first.max() + length > split.learn.scored.stop:
        raise ValueError(
            f"source {source!r}: the trajectory filter was made for another split of the trace, its windows reach into "
            "jobs kept for choosing or testing: materialize policies/trajectory_filter again"
        )
    kept = Windows(first[windows["kept"].to_numpy()], length)
    return Lessons(Windows(first, length), kept, split.choose, split.confirm, after=length), split
