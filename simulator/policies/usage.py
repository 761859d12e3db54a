"""Decayed usage: the processor-seconds of each user, older ones counting less, as fair-share policies see it.

U(t) is the integral of processors held at v times 2^(-(t - v) / half-life). Between changes the rate is constant, so usage
advances in closed form and only when it is asked for or the rate changes. The last entry is that of all users together.
"""

from __future__ import annotations

import math

from simulator.compiled import lean

LOG_2 = math.log(2.0)


@lean
def usage_at(usage, rate, since, user, now, half_life):
    """Processor-seconds of `user` at `now`. usage, rate, since: (users + 1,); half_life: seconds."""
    decay = 2.0 ** (-(now - since[user]) / half_life)
    return usage[user] * decay + rate[user] * (half_life / LOG_2) * (1.0 - decay)


@lean
def change_rate(usage, rate, since, user, now, procs, half_life):
    """From `now` on, `user` holds `procs` processors more (or fewer)."""
    everyone = len(usage) - 1
    for who in (user, everyone):
        usage[who] = usage_at(usage, rate, since, who, now, half_life)
        since[who] = now
        rate[who] += procs
