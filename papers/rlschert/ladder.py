"""Training of all schedulers of an experiment, side by side on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.side_by_side import work_side_by_side
from papers.rlschert.plan import LadderTask, Scheduler

if TYPE_CHECKING:
    from papers.rlschert.training import IterationReport, RLSchertPolicy


@dataclass(frozen=True)
class TrainedScheduler:
    """A scheduler that has learned, and its training curve. name, kill: see `plan.Scheduler`."""

    experiment: str
    name: str
    kill: str
    seed: int
    policy: RLSchertPolicy
    curve: list[IterationReport]

    def describe(self) -> str:
        """A line for a log."""
        costs = [report.validation for report in self.curve if report.validation is not None]
        course = f"validation {costs[0]:.2f} to {min(costs):.2f}"
        return f"{self.experiment}, {self.name}, kill {self.kill}, seed {self.seed}: {course}"


def train_side_by_side(tasks: list[LadderTask], on_progress: Callable[[int], None]) -> Iterator[TrainedScheduler]:
    """Trains everything, and yields it in the order of the tasks. on_progress: gets how many iterations are done."""
    done = 0

    def count(task: LadderTask, report: IterationReport) -> None:
        nonlocal done
        done += 1
        on_progress(done)

    for trained in work_side_by_side(train_ladder, tasks, count):
        yield from trained


def train_ladder(task: LadderTask, on_iteration: Callable[[IterationReport], None]) -> list[TrainedScheduler]:
    """Trains all schedulers of a task. The one that learns to kill has RLSchert without killing as its teacher."""
    from papers.rlschert.training import train_rlschert

    policies: dict[Scheduler, RLSchertPolicy] = {}
    trained = []
    for (name, kill), setting in task.settings.items():
        teacher = policies["RLSchert", "none"] if kill == "learned" else None
        policy, curve = train_rlschert(
            task.pool, task.validation, setting, task.options, task.seed, teacher, on_iteration
        )
        policies[name, kill] = policy
        trained.append(TrainedScheduler(task.experiment, name, kill, task.seed, policy, curve))
    return trained
