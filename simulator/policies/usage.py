"""Decayed usage, which fair-share policies read: the processor-seconds of each user, where older ones count less.

U(t) is the integral of the processors held at time v, times 2^(-(t - v) / half-life). Between changes the rate is constant, so usage
advances in closed form, and only when it is read or the rate changes. The last entry is that of all users together.
"""

from __future__ import annotations

import math

from simulator.compiled import lean

LOG_2 = math.log(2.0)


@lean
def usage_at(usage, rate, since, user, now, half_life):
    """Processor-seconds of `user` at `now`. usage, rate, since: (users + 1,). half_life: seconds."""
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
