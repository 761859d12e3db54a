"""What a scheduler sees of RLSchert's cluster, and the heuristics that see the same."""

from __future__ import annotations

import numpy as np

from compilation.apart import apart
from papers.compiled import compiled, lean
from papers.rlschert.rules import (
    DONE,
    HORIZON,
    KILLABLE,
    LONGEST,
    MOST_KILLS,
    READY,
    RUNNING,
    SLOTS,
    WAIT,
    WIDEST,
    act,
    begin,
    earliest,
    is_worth_killing,
    restart_of,
    select_waiting,
    work_done,
)

SLOT_FACTS = 7
"""Of a visible job: whether it is there, processors, estimate, area, whether it can start now, units until its place in the plan
(log), and units waited (log)."""
KILL_FACTS = 6
"""Of a killable job: whether it is there, and RLSchert's S1 to S5, which the paper does not name. Here these are processors, units
run, run time as predicted first, predicted remaining time, and how much longer it is than first predicted (log of the ratio)."""
PROFILE = 16
"""Free processors now and in 1, 2, ... units. The last entries are of longer and longer times (see `_PROFILE_AT`)."""
_PROFILE_AT = np.array([0, 1, 2, 3, 4, 6, 8, 10, 13, 17, 22, 28, 36, 48, 64, 90], dtype=np.int64)
GLOBALS = 5
"""Log of the numbers of jobs in the backlog, ready, and waiting in all. Then units since an arrival, and processors in use."""
SIGHT_FACTS = SLOTS * SLOT_FACTS + KILLABLE * KILL_FACTS + PROFILE + GLOBALS
RANDOM, SJF, SAF, TETRIS, TETRIS_STAR = range(5)
HEURISTICS = ("Random", "SJF", "SAF", "Tetris", "Tetris*")
"""They see the slots, as in the paper."""
WHOLE_QUEUE_HEURISTICS = ("SJF, whole queue", "SAF, whole queue")
"""They also see the backlog."""
TETRIS_KNOB = 0.5


@apart
@lean
def look(jobs, rules, state, e, out, mask):
    """Fills the facts (SIGHT_FACTS,) and the mask of the actions that a learner is offered (ACTIONS,).

    Actions that could continue for ever are not offered. These are to wait for nothing while a job could be selected, to kill a job
    that has just started, and to kill a job for the fourth time.
    """
    at = 0
    idle = state.num_running[e] == 0 and state.num_ready[e] == 0
    mask[WAIT] = True
    for w in range(SLOTS):
        j = state.slots[e, w]
        mask[w] = j >= 0
        if j >= 0 and idle:
            mask[WAIT] = False
        for i in range(SLOT_FACTS):
            out[at + i] = 0.0
        if j >= 0:
            width, estimate = jobs.procs[e, j], state.estimate[e, j]
            out[at] = 1.0
            out[at + 1] = width / WIDEST
            out[at + 2] = np.log1p(float(estimate)) / 4.6
            out[at + 3] = np.log1p(float(estimate * width)) / 6.9
            soonest = earliest(state.free, e, width, min(estimate, HORIZON))
            out[at + 4] = 1.0 if soonest == 0 else 0.0
            out[at + 5] = np.log1p(float(soonest if soonest >= 0 else HORIZON)) / 4.8
            out[at + 6] = np.log1p(float(state.now[e] - jobs.arrive[e, j])) / 5.0
        at += SLOT_FACTS
    running = state.num_running[e]
    for k in range(KILLABLE):
        mask[SLOTS + k] = False
        for i in range(KILL_FACTS):
            out[at + i] = 0.0
        if k < running:
            j = state.running[e, running - 1 - k]
            used = state.now[e] - state.start[e, j]
            left = max(state.estimate[e, j] - used, 1)
            mask[SLOTS + k] = used > 0 and state.kills[e, j] < MOST_KILLS
            out[at] = 1.0
            out[at + 1] = jobs.procs[e, j] / WIDEST
            out[at + 2] = np.log1p(float(used)) / 4.6
            out[at + 3] = np.log1p(float(jobs.first[e, j])) / 4.6
            out[at + 4] = np.log1p(float(left)) / 4.6
            out[at + 5] = np.log(float(used + left) / jobs.first[e, j]) / 2.0
        at += KILL_FACTS
    for i in range(PROFILE):
        out[at + i] = state.free[e, _PROFILE_AT[i]] / rules.procs
    at += PROFILE
    out[at] = np.log1p(float(state.waiting[e])) / 5.0
    out[at + 1] = np.log1p(float(state.num_ready[e])) / 5.0
    waiting = state.arrived[e] - state.done[e] - running
    out[at + 2] = np.log1p(float(waiting)) / 5.0
    out[at + 3] = min(state.since[e], 10) / 10.0
    used_procs = 0
    for k in range(running):
        used_procs += jobs.procs[e, state.running[e, k]]
    out[at + 4] = used_procs / rules.procs


FUTURE = 4
"""For the critic alone, which judges only while training. They are the shares of the jobs that are still to come and that are done,
the sum of 1 / length of the jobs in the system, and their true work that is left."""


@lean
def look_ahead(jobs, rules, state, e, out):
    """Fills what no scheduler knows, (FUTURE,). A critic that sees how much of a sequence is left need not guess it. So
    the value of decisions has less noise."""
    count = jobs.arrive.shape[1]
    pressure, work = 0.0, 0.0
    for j in range(state.arrived[e]):
        if state.place[e, j] != DONE:
            pressure += 1.0 / jobs.length[e, j]
            used = state.now[e] - state.start[e, j] if state.place[e, j] == RUNNING else 0
            restart = restart_of(rules, state, e, j)
            work += jobs.procs[e, j] * (restart + jobs.length[e, j] - used)
    out[0] = 1.0 - state.arrived[e] / count
    out[1] = state.done[e] / count
    out[2] = pressure / 10.0
    out[3] = work / rules.procs / LONGEST


IMAGE_COLUMNS_BESIDE = SLOTS * WIDEST + 6
"""The state image beside the cluster's columns: five waiting jobs, five features of running jobs, extra information. With 16
processors it has the 72 columns of section 4.1.3."""
_GOLDEN = 0.6180339887498949
"""Multiples of it, less their whole parts, are all different and far apart."""


@lean
def draw_image(jobs, rules, state, e, out, filled):
    """The paper's state, float32 (HORIZON, procs + IMAGE_COLUMNS_BESIDE). Free cells of the plan are 0. Those of a job have
    its colour, a number between 0.5 and 1 of its own. A running job that may be killed has one row of the five feature columns.
    filled: room for integers, (HORIZON,)."""
    out[:] = 0.0
    filled[:] = 0
    for k in range(state.num_running[e]):
        j = state.running[e, k]
        left = max(state.estimate[e, j] - (state.now[e] - state.start[e, j]), 1)
        _draw_job(jobs, e, j, 0, min(left, HORIZON), filled, out)
    for k in range(state.num_ready[e]):
        j = state.ready[e, k]
        if state.planned[e, j] >= 0:
            needed = min(state.estimate[e, j], HORIZON)
            _draw_job(jobs, e, j, state.planned[e, j], state.planned[e, j] + needed, filled, out)
    for w in range(SLOTS):
        j = state.slots[e, w]
        first = rules.procs + w * WIDEST
        for t in range(HORIZON):
            inside = j >= 0 and t < state.estimate[e, j]
            for c in range(WIDEST):
                out[t, first + c] = 1.0 if inside and c < jobs.procs[e, j] else 0.0
    column = rules.procs + SLOTS * WIDEST
    for k in range(min(state.num_running[e], KILLABLE)):
        j = state.running[e, state.num_running[e] - 1 - k]
        used = state.now[e] - state.start[e, j]
        left = max(state.estimate[e, j] - used, 1)
        out[k, column] = jobs.procs[e, j] / WIDEST
        out[k, column + 1] = used / LONGEST
        out[k, column + 2] = jobs.first[e, j] / LONGEST
        out[k, column + 3] = left / LONGEST
        out[k, column + 4] = min(float(used + left) / jobs.first[e, j], 10.0) / 10.0
    for t in range(min(state.since[e], HORIZON)):
        out[t, column + 5] = 1.0


@lean
def _draw_job(jobs, e, j, begin, end, filled, out):
    """Fills the next cells of the plan from `begin` to before `end` with the colour of job j. filled: cells in use of each unit."""
    colour = 0.5 + 0.5 * ((j * _GOLDEN) % 1.0)
    for t in range(begin, end):
        for _ in range(jobs.procs[e, j]):
            out[t, filled[t]] = colour
            filled[t] += 1


@lean
def pick(jobs, rules, state, e, heuristic):
    """The slot that a heuristic takes among the jobs that can start now, or WAIT."""
    best, value = WAIT, 0.0
    for w in range(SLOTS):
        j = state.slots[e, w]
        if j < 0:
            continue
        width, estimate = jobs.procs[e, j], state.estimate[e, j]
        if earliest(state.free, e, width, min(estimate, HORIZON)) != 0:
            continue
        packed = width * state.free[e, 0] / (rules.procs * rules.procs)
        if heuristic == SJF:
            score = -float(estimate)
        elif heuristic == SAF:
            score = -float(estimate * width)
        elif heuristic == TETRIS:
            score = packed
        elif heuristic == TETRIS_STAR:
            score = TETRIS_KNOB * packed + (1.0 - TETRIS_KNOB) / estimate
        else:
            score = np.random.random()  # noqa: NPY002
        if best == WAIT or score > value + 1e-12:  # where they are equal but for rounding, the lower slot wins
            best, value = w, score
    return best


@compiled
def run_heuristic(jobs, rules, state, heuristic, seed, most_actions):
    """Runs every sequence to its end, or for `most_actions`. Returns the actions taken in all."""
    np.random.seed(seed)  # noqa: NPY002
    taken = 0
    for e in range(jobs.arrive.shape[0]):
        begin(jobs, rules, state, e)
        for _ in range(most_actions):
            taken += 1
            if act(jobs, rules, state, e, pick(jobs, rules, state, e, heuristic)):
                break
    return taken


@lean
def pick_from_queue(jobs, rules, state, e, heuristic):
    """The job, of the slots and the backlog, that SJF or SAF takes among those that can start now, or -1. Of equal jobs it is the one
    that arrived first."""
    best, value = -1, 0
    for j in range(state.arrived[e]):
        if state.place[e, j] >= READY:
            continue
        width, estimate = jobs.procs[e, j], state.estimate[e, j]
        size = estimate * width if heuristic == SAF else estimate
        if width > state.free[e, 0] or (best >= 0 and size >= value):
            continue
        if earliest(state.free, e, width, min(estimate, HORIZON)) == 0:
            best, value = j, size
    return best


@compiled
def run_whole_queue(jobs, rules, state, heuristic, most_actions):
    """As `run_heuristic`, for SJF or SAF that see the whole queue."""
    taken = 0
    for e in range(jobs.arrive.shape[0]):
        begin(jobs, rules, state, e)
        for _ in range(most_actions):
            taken += 1
            j = pick_from_queue(jobs, rules, state, e, heuristic)
            if j >= 0:
                select_waiting(jobs, rules, state, e, j)
            elif act(jobs, rules, state, e, WAIT):
                break
    return taken


@compiled
def look_at_all(jobs, rules, state, over, out, mask):
    """`look` for every sequence that is not over."""
    for e in range(len(over)):
        if not over[e]:
            look(jobs, rules, state, e, out[e], mask[e])


@compiled
def look_ahead_all(jobs, rules, state, over, out):
    """`look_ahead` for every sequence that is not over. out: (sequences, FUTURE)."""
    for e in range(len(over)):
        if not over[e]:
            look_ahead(jobs, rules, state, e, out[e])


@compiled
def draw_all(jobs, rules, state, over, out):
    """`draw_image` for every sequence that is not over. out: (sequences, HORIZON, columns)."""
    filled = np.empty(HORIZON, dtype=np.int64)
    for e in range(len(over)):
        if not over[e]:
            draw_image(jobs, rules, state, e, out[e], filled)


@compiled
def act_all(jobs, rules, state, over, action, reward):
    """Takes an action in every sequence that is not over, and its reward."""
    for e in range(len(over)):
        reward[e] = 0.0
        if not over[e]:
            over[e] = act(jobs, rules, state, e, action[e])
            reward[e] = state.reward[e]
            state.reward[e] = 0.0


@compiled
def begin_all(jobs, rules, state, over):
    """Sets every sequence to time 0. over: bool (sequences,), which becomes False."""
    for e in range(len(over)):
        begin(jobs, rules, state, e)
        over[e] = False


@compiled
def teacher_kills(jobs, rules, state, over, out):
    """Whether the paper's rule would kill each killable job, (sequences, KILLABLE), of the jobs that a learner may kill."""
    for e in range(len(over)):
        for k in range(KILLABLE):
            out[e, k] = False
            if not over[e] and k < state.num_running[e]:
                j = state.running[e, state.num_running[e] - 1 - k]
                worked = work_done(rules, state, e, j)
                out[e, k] = worked > 0 and state.kills[e, j] == 0 and is_worth_killing(jobs, e, j, worked)
