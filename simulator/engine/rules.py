"""The rules of one replay as the compiled engines take them, and why an engine stops."""

from __future__ import annotations

from typing import NamedTuple

DONE, STUCK, WANT_SCORES, WANT_CHOICE, FORMULA_FAILED, RECORDER_FULL, WANT_ESTIMATES, PAUSED = range(8)
"""Why an engine stops: finished; outages leave a job that can never start; to be asked; failures; and where it was to pause."""
GO_ON = -1
"""It does not stop."""

NO_BACKFILL, EASY, EASY_SJBF, RESERVE, ANY = range(5)


class Rules(NamedTuple):
    """The cluster's size and the rules of backfilling, of estimates and of choices."""

    cluster_procs: int
    backfill: int  # above; RESERVE is conservative and selective, ANY lets everybody pass the head
    threshold: float  # under RESERVE: the expansion factor from which a job holds a reservation
    correction: int  # see simulator/engine/running.py
    planned: bool  # outages are announced before they start, so that starts must be checked against a plan
    sample: int  # how a network chooses, see simulator/policies/sampling.py
    live: bool  # ask for new estimates of the waiting jobs before every pass
    promises: bool  # note what blocked heads are promised
