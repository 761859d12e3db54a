"""The logs that programs are searched on: the first halves of three archive logs, and two generated ones whose users ask for too much."""

from __future__ import annotations

from functools import cache

from assets.common.trace import Trace
from models.runtime.estimates import Estimates
from papers.archive import LOGS, trace_of_log
from simulator.jobs.jobs import Jobs, jobs_from_log
from studies.searching.learning_logs import LearningLog, perturbed_copies
from traces.synthetic.workload import WorkloadOptions, generate_workload

LEARNED_FROM = ("KTH-SP2", "SDSC-SP2", "CTC-SP2")
GENERATED = (
    WorkloadOptions(jobs=8000, procs=256, seed=11, offered_load=0.45, max_walltime_s=86_400),
    WorkloadOptions(jobs=8000, procs=1024, seed=12, offered_load=0.45, users=120, max_walltime_s=43_200),
)
COPIES_SEED = 1


@cache
def whole_trace(name: str) -> Trace:
    """One of the archive's logs."""
    return trace_of_log(name)


def requested_jobs(name: str) -> Jobs:
    """Its jobs with requested times and users."""
    trace = whole_trace(name)
    return trace.jobs_of(trace.rows, Estimates.parse("requested"), "estimate", "estimate")


def learning_rungs() -> list[list[LearningLog]]:
    """Two fast first halves; the third, and generated logs; copies of all first halves, as another month would be."""
    halves = []
    for name in LEARNED_FROM:
        jobs = requested_jobs(name)
        halves.append(LearningLog(name, jobs.window(0, len(jobs) // 2), LOGS[name][1]))
    generated = [
        LearningLog(f"generated {options.procs}", generated_jobs(options), options.procs) for options in GENERATED
    ]
    copies = [copy for half in halves for copy in perturbed_copies(half, COPIES_SEED)]
    return [halves[:2], [*halves[2:], *generated], copies]


def generated_jobs(options: WorkloadOptions) -> Jobs:
    """The jobs of a generated log, with users."""
    rows = generate_workload(options)
    users = rows["user"].rank("dense").cast(int).to_numpy() - 1
    submit, runtime, procs, requested = (
        rows[name].to_numpy() for name in ("submit_s", "runtime_s", "procs", "requested_walltime_s")
    )
    return jobs_from_log(submit, runtime, procs, requested, user=users)
