"""Jobs of express queues take the nodes of others. Rules: docs/reference/pbs.md, "Preemption"."""

from __future__ import annotations

from simulator.compiled import compiled


@compiled
def preempt_for(engine, job, now):
    """Suspends the youngest jobs that preempt nobody until the job fits. Returns its rows as `find_nodes` does, 0 where nothing helps.

    The victims are the first `engine.scratch.victims[0]` of `engine.scratch.victim`."""
    return 0
