"""What a learned policy may know of a job from its submission on: facts. Layouts say what a network reads.

What the network of an agent reads at a decision: a row for each answer, with facts and signals (docs/guides/backfilling.md).

The facts are those of any kernel network. To the signals of simulator/policies/network.py come those that only an agent has.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import lean
from simulator.formula.parsing import formula_scores, parse_formula
from simulator.jobs.cluster import FOREVER
from simulator.jobs.jobs import Jobs
from simulator.policies.network import (
    AGENT_SIGNALS,
    ANSWERS_NO,
    AT_FRONT,
    BALANCED_SETBACK,
    CAP_S,
    ENDS_BY_SHADOW,
    ESTIMATE_OVER_SHADOW,
    EXTRA_PROCS,
    FREE_PROCS,
    HEAD_ESTIMATE,
    HEAD_PROCS,
    HEAD_WAIT,
    HIDDEN,
    LEFT_FREE,
    NEXT_END,
    QUEUE_LENGTH,
    QUEUE_URGENCY,
    QUEUED_WORK,
    REJECTED_OF_12_H,
    RUNNING_WORK,
    SIGNALS,
    START_DELAY,
    TIME_TO_SHADOW,
    KernelWeights,
    signal_of_all,
    signals_of_jobs,
    start_delays,
)

FACTS = (
    "estimate",
    "procs",
    "area",
    "procs_share",
    "setback",
    "request",
    "request_share",
    "memory",
    "user",
    "group",
    "executable",
    "predicted_p10",
    "predicted_p50",
    "predicted_p90",
)
"""The first five are computed from the jobs of a replay. The others are `Jobs.facts`, which whoever has the log fills in."""
COMPUTED = 5
ALL_SIGNALS = SIGNALS + AGENT_SIGNALS


class Layout(NamedTuple):
    """Inputs of a network, in this order: names in FACTS, then names in ALL_SIGNALS."""

    facts: tuple[str, ...]
    signals: tuple[str, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of all inputs, in the order of the network's rows."""
        return self.facts + self.signals


_USUAL_SIGNALS = ("wait", "wait_over_estimate", "fits", "free_procs", "queue_length")

LAYOUTS = {
    "paper": Layout(
        ("request_share", "procs_share", "memory", "user", "group", "executable"), ("wait_of_12_h", "fits")
    ),
    "plain": Layout(("estimate", "procs", "area"), _USUAL_SIGNALS),
    "informed": Layout(
        ("estimate", "procs", "area", "request", "predicted_p10", "predicted_p50", "predicted_p90"),
        (*_USUAL_SIGNALS, "start_delay", "queued_work", "running_work", "user_share"),
    ),
    "program": Layout(("estimate", "procs", "area", "setback"), (*_USUAL_SIGNALS, "wait_of_cap")),
}
"""paper: Table I of RLScheduler (Zhang et al. 2020), normalised as in its code. plain: what every log has. informed: also
predicted run times and the state of queue and cluster. program: also what searched:balanced goes by, whose promise it keeps."""


_ABOUT_TASKS = ("estimate", "procs", "area")

AGENT_LAYOUTS = {
    "picking": Layout(
        _ABOUT_TASKS,
        (
            *(
                "wait",
                "wait_over_estimate",
                "free_procs",
                "queue_length",
                "queued_work",
                "running_work",
                "ends_by_shadow",
            ),
            *("time_to_shadow", "estimate_over_shadow", "extra_procs", "left_free", "at_front"),
            *("head_wait", "head_procs", "head_estimate", "next_end", "answers_no"),
        ),
    ),
    "inspecting": Layout(
        _ABOUT_TASKS,
        (
            *("wait", "wait_over_estimate", "fits", "free_procs", "queue_length", "start_delay", "queued_work"),
            *("running_work", "next_end", "rejected_of_12_h", "queue_urgency", "answers_no"),
        ),
    ),
    "inspector-paper": Layout(
        ("request_share", "procs_share"),
        ("wait_of_12_h", "free_procs", "fits", "rejected_of_12_h", "queue_urgency", "answers_no"),
    ),
}
"""What agents read of each job that may be picked, and of the job that is inspected. inspector-paper has the seven inputs of
SchedInspector's code (Zhang et al. 2022), and one that says whether the row means to accept or to reject. The published actor is a
perceptron 7-32-16-8-2 with ReLU and an output for each answer. Here one kernel network 8-32-16-8-1 scores both rows."""


def layout_named(name: str) -> Layout:
    """The layout of an ordering network or of an agent, ours or a paper's. Raises ValueError that says which there are."""
    layouts = LAYOUTS | AGENT_LAYOUTS
    if name not in layouts:
        raise ValueError(f"unknown layout {name!r}, expected one of {', '.join(layouts)}")
    return layouts[name]


_LAST_FACTS: list[tuple[weakref.ref[Jobs], int, tuple[int, ...], NDArray[np.float32]]] = []
"""Of the two traces that were used last. A learning policy uses the same one in every epoch."""


def facts_of(jobs: Jobs, cluster_procs: int, facts: NDArray[np.int64]) -> NDArray[np.float32]:
    """The facts with these indices in FACTS, float32 (num_jobs, facts). Do not write to it: later calls return the same array.

    Raises ValueError that names the facts which these jobs do not have.
    """
    which = tuple(facts.tolist())
    for of_jobs, of_procs, of_facts, values in _LAST_FACTS:
        if of_jobs() is jobs and (of_procs, of_facts) == (cluster_procs, which):
            return values
    values = _computed_facts(jobs, cluster_procs, facts)
    _LAST_FACTS[:] = [(weakref.ref(jobs), cluster_procs, which, values), *_LAST_FACTS[:1]]
    return values


def _computed_facts(jobs: Jobs, cluster_procs: int, facts: NDArray[np.int64]) -> NDArray[np.float32]:
    unknown = [FACTS[k] for k in facts if k >= COMPUTED and FACTS[k] not in jobs.facts]
    if unknown:
        raise ValueError(
            f"the policy reads {', '.join(unknown)} of each job, which these jobs do not have: replay a source of the warehouse "
            "that has them (predictions come with `tracehouse run`), or train a policy with --layout plain"
        )
    columns = [_computed(k, jobs, cluster_procs) if k < COMPUTED else jobs.facts[FACTS[k]] for k in facts.tolist()]
    values = np.empty((len(jobs), len(columns)), dtype=np.float32)
    for k, column in enumerate(columns):
        values[:, k] = column
    return values


def _computed(fact: int, jobs: Jobs, cluster_procs: int) -> NDArray[np.float64]:
    if fact == 0:
        return log_seconds(jobs.estimate)
    if fact == 1:
        return np.log2(1.0 + jobs.procs) / np.log2(1.0 + cluster_procs)
    if fact == 2:
        return log_seconds(jobs.estimate.astype(np.float64) * jobs.procs / cluster_procs)
    if fact == 3:
        return jobs.procs / cluster_procs
    return -formula_scores(parse_formula(BALANCED_SETBACK), jobs, cluster_procs) / CAP_S


def log_seconds(seconds: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Seconds as networks read them: `log2(1 + s) / 20`, which is 1 after twelve days."""
    return np.log2(1.0 + seconds) / 20.0


def blank_network(layout: Layout) -> KernelWeights:
    """A network of this layout whose weights are all zero.

    Raises ValueError for a name that is neither a fact nor a signal.
    """
    for name, names in [(x, FACTS) for x in layout.facts] + [(x, ALL_SIGNALS) for x in layout.signals]:
        if name not in names:
            raise ValueError(
                f"unknown input {name!r} of a network; expected one of {', '.join((*FACTS, *ALL_SIGNALS))}"
            )
    facts = np.array([FACTS.index(name) for name in layout.facts], dtype=np.int64)
    signals = np.array([ALL_SIGNALS.index(name) for name in layout.signals], dtype=np.int64)
    widths = (len(layout.inputs), *HIDDEN)
    arrays: list[Any] = [
        np.zeros(shape, dtype=np.float32)
        for inputs, outputs in zip(widths, HIDDEN, strict=False)
        for shape in ((inputs, outputs), (outputs,))
    ]
    return KernelWeights(*[facts, signals, *arrays, np.zeros(HIDDEN[-1], dtype=np.float32)])


def no_weights() -> KernelWeights:
    """For replays whose policy is not a network. It reads nothing."""
    return blank_network(Layout((), ()))


def layout_of(weights: KernelWeights) -> Layout:
    """What a network reads, by name."""
    return Layout(tuple(FACTS[k] for k in weights.facts), tuple(ALL_SIGNALS[k] for k in weights.signals))


# --- agent sight


URGENCY_SCALE = 60.0 * 128.0
"""SchedInspector's scale: 128 jobs of at most ten seconds whose slowdown grows for 600 s."""


class Sight(NamedTuple):
    """What an agent's decision is about, beside the moment."""

    head: int | np.int64  # the blocked head, a task, -1 for none
    shadow: int | np.int64  # its shadow time, seconds. FOREVER where nothing is kept for the head
    extra: int | np.int64  # its extra processors
    slots: NDArray[np.int64]  # (candidates,), where each is in the window. It is not read for an inspected job
    at_front: int | np.int64  # slots in the front part of the window, 0 for an inspected job
    rejected_s: int  # how long rejections have delayed the inspected job
    jobs: int  # candidates
    rows: int  # answers: the candidates and, if it is one more, none


@lean
def observe_candidates(moment, sight, inputs, candidates, admit, room, out):
    """Fills `out` (VISIBLE_JOBS, inputs) with a row for each answer.

    candidates: tasks, as many as the sight says. admit: of each task, seconds. room: scratch, see simulator.policies.network.observe.
    """
    jobs, rows = sight.jobs, sight.rows
    num_facts = inputs.facts.shape[1]
    for k in range(jobs):
        for fact in range(num_facts):
            out[k, fact] = inputs.facts[candidates[k], fact]
    if rows > jobs:
        for i in range(out.shape[1]):
            out[jobs, i] = 0.0
    signals = inputs.weights.signals
    for i in range(len(signals)):
        signal, column = signals[i], num_facts + i
        if is_of_all(signal):
            value = _value_of_all(moment, sight, signal)
            for k in range(rows):
                out[k, column] = value
        elif signal == START_DELAY:
            start_delays(moment, candidates, jobs, room, out, column)
        elif signal >= FIRST_OF_AGENTS:
            _signals_of_candidates(moment, sight, signal, candidates, jobs, admit, out, column)
            if signal == ANSWERS_NO and rows > jobs:
                out[jobs, column] = 1.0
        else:
            signals_of_jobs(moment, signal, candidates, jobs, out, column)


@lean
def observe_pick(moment, rejected_s, inputs, picked, admit, room, out):
    """Fills two rows of `out`, to accept the job picked[0], the only one in sight, and to reject it.

    They differ only in the signal answers_no. rejected_s: how long rejections have delayed the job."""
    sight = Sight(np.int64(-1), np.int64(0), np.int64(0), picked, 0, rejected_s, 1, 1)
    observe_candidates(moment, sight, inputs, picked, admit, room, out)
    num_facts = inputs.facts.shape[1]
    for i in range(out.shape[1]):
        out[1, i] = out[0, i]
    signals = inputs.weights.signals
    for i in range(len(signals)):
        if signals[i] == ANSWERS_NO:
            out[1, num_facts + i] = 1.0


FIRST_OF_AGENTS = ENDS_BY_SHADOW


@lean
def is_of_all(signal):
    """Whether the signal describes the queue or the cluster, and not a job."""
    if signal < FIRST_OF_AGENTS:
        return signal in (FREE_PROCS, QUEUE_LENGTH, QUEUED_WORK, RUNNING_WORK)
    return signal in (TIME_TO_SHADOW, EXTRA_PROCS, HEAD_WAIT, HEAD_PROCS, HEAD_ESTIMATE, NEXT_END, QUEUE_URGENCY)


@lean
def _value_of_all(moment, sight, signal):
    if signal < FIRST_OF_AGENTS:
        return signal_of_all(moment, signal)
    if signal == NEXT_END:
        wait = moment.est_end[0] - moment.now if moment.running > 0 else 0
        return math.log2(1.0 + float(max(wait, 0))) / 20.0
    if signal == QUEUE_URGENCY:
        total = 0.0
        for k in range(moment.queued):
            total += 600.0 / max(moment.estimate[moment.queue[k]], 10)
        return min(total / URGENCY_SCALE, 1.0)
    head = sight.head
    if head < 0 or (sight.shadow >= FOREVER and signal in (TIME_TO_SHADOW, EXTRA_PROCS)):
        return 0.0
    if signal == TIME_TO_SHADOW:
        return math.log2(1.0 + float(max(sight.shadow - moment.now, 0))) / 20.0
    if signal == EXTRA_PROCS:
        return max(sight.extra, 0) / moment.cluster_procs  # beside an announced outage nothing is set against picks
    if signal == HEAD_WAIT:
        return math.log2(1.0 + float(moment.now - moment.submit[head])) / 20.0
    if signal == HEAD_PROCS:
        return moment.procs[head] / moment.cluster_procs
    return math.log2(1.0 + float(moment.estimate[head])) / 20.0


@lean
def _signals_of_candidates(moment, sight, signal, candidates, jobs, admit, out, column):
    now = moment.now
    for k in range(jobs):
        job = candidates[k]
        value = 0.0
        if signal == ENDS_BY_SHADOW:
            value = 1.0 if now + admit[job] <= sight.shadow else 0.0
        elif signal == ESTIMATE_OVER_SHADOW:
            if sight.shadow < FOREVER:
                value = math.log2(1.0 + float(admit[job]) / float(max(sight.shadow - now, 0) + 1)) / 10.0
        elif signal == LEFT_FREE:
            value = (moment.free - moment.procs[job]) / moment.cluster_procs
        elif signal == AT_FRONT:
            value = 1.0 if sight.slots[k] < sight.at_front else 0.0
        elif signal == REJECTED_OF_12_H:
            value = min(float(sight.rejected_s) / 43200.0, 1.0)
        out[k, column] = value
