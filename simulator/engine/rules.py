"""The rules of one replay as the compiled engines take them, and why an engine stops."""

from __future__ import annotations

from typing import NamedTuple

from simulator.policies.agents import Inspecting, Picking

DONE, STUCK, WANT_SCORES, WANT_CHOICE, FORMULA_FAILED, RECORDER_FULL, WANT_ESTIMATES, PAUSED = range(8)
WANT_PICK, WANT_VERDICT = 8, 9
"""Why an engine stops: it has finished, outages leave a job that can never start, it needs an answer, a failure, or a pause."""
GO_ON = -1
"""The engine does not stop."""

EVENTS, ORDER, CHOOSE, FILL, RENEW = range(5)
"""What comes next in the general engine: the next event, ordering the queue, starting the first of the order, or filling behind
the blocked head. RENEW gets new estimates, where the rules want them."""
INSPECT, INSPECTED, PICK, PICKED = range(5, 9)
"""INSPECT waits for the verdict on the first of the order, INSPECTED continues with it. PICK waits for the job that starts past
others, PICKED continues with that job."""

NO_BACKFILL, EASY, EASY_SJBF, RESERVE, ANY = range(5)


class Rules(NamedTuple):
    """The cluster's size and the rules of backfilling, of estimates and of choices."""

    cluster_procs: int
    backfill: int  # above. RESERVE is conservative and selective, ANY lets all jobs pass the head
    threshold: float  # under RESERVE: the expansion factor from which a job holds a reservation
    correction: int  # see simulator/engine/running.py
    planned: bool  # outages are announced before they start, so starts must be checked against a plan
    sample: int  # how a network chooses, see simulator/policies/sampling.py
    live: bool  # get new estimates of the waiting jobs before every pass
    promises: bool  # note what blocked heads are promised
    picking: Picking  # who picks what starts past others, if an agent does
    inspecting: Inspecting  # who accepts what the policy picks, if an agent does
