"""The settings of one planned replay in a line."""

from __future__ import annotations

from assets.replay.scenarios.planning import PlannedReplay
from simulator.jobs.words import partitions_text


def replay_words(planned: PlannedReplay, procs: bool) -> str:
    """Order, backfilling and estimates of a replay, and other settings that are not the usual ones. procs: whether its size is said."""
    settings = planned.settings
    words = [planned.policy.text]
    words += [] if settings.is_on_cluster else [f"backfilling {settings.backfill}", f"{settings.estimates} times"]
    words += [f"{planned.procs:,} processors"] if procs else []
    of = "of" if settings.is_on_cluster else "under the limits of"
    words += [f"{of} the cluster {settings.cluster}"] if settings.cluster else []
    words += ["its configuration edited"] if settings.edits else []
    words += ["fewer processors for a while"] if settings.outages else []
    words += [f"load {settings.load:g}"] if settings.load != 1 else []
    words += [f"without queue {', '.join(settings.without_queue)}"] if settings.without_queue else []
    words += [f"queues that own processors: {partitions_text(settings.partitions)}"] if settings.partitions else []
    words += [f"requests rounded up to {settings.round_walltimes}"] if settings.round_walltimes else []
    words += [f"inspector {settings.inspector}"] if settings.inspector else []
    return ", ".join(words)
