"""One policy beside the incumbent, on the same jobs of whole replays: panels, intervals and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.judging.chance import ChanceCloud
from models.judging.intervals import (
    BLOCKS,
    CERTAINTY,
    RatioInterval,
    cut_into_blocks,
    holm_adjusted,
    started_everywhere,
)
from models.judging.panel import Panel, Replayed, WhoPays, payers_between
from models.judging.verdict import (
    DOMINATES,
    TRADES,
    PolicyVerdict,
    TypicalBlock,
    beside_chance,
    typical_block,
    verdict_of,
    without_verdict,
)


@dataclass(frozen=True)
class Judgement:
    """panels, incumbents: one for each shift. bounded_slowdown, wait: intervals of the first shift, about the typical block. who_pays: of
    the first shift."""

    panels: tuple[Panel, ...]
    incumbents: tuple[Panel, ...]
    bounded_slowdown: RatioInterval
    wait: RatioInterval
    verdict: PolicyVerdict
    who_pays: WhoPays


def judge(
    ours: Sequence[Replayed], incumbent: Sequence[Replayed], blocks: int = BLOCKS, wide_of: int | None = None
) -> Judgement:
    """Compares replays of the same jobs, shift by shift; the first shift is the whole log. wide_of: as in `panel_of`.

    Raises ValueError where the replays are not of the same jobs, and where no scored job started.
    """
    for one, other in zip(ours, incumbent, strict=True):
        if not (np.array_equal(one.jobs.submit, other.jobs.submit) and np.array_equal(one.scored, other.scored)):
            raise ValueError("a judgement needs replays of the same jobs, of which the same are scored")
    panels, incumbents = (tuple(each.panel(wide_of) for each in side) for side in (ours, incumbent))
    intervals = block_intervals(ours[0], incumbent[0], blocks)
    verdict = verdict_of(panels, incumbents, intervals)
    return Judgement(
        panels, incumbents, intervals.bounded_slowdown, intervals.wait, verdict, payers_between(ours[0], incumbent[0])
    )


def beside_cloud(judgement: Judgement, cloud: ChanceCloud) -> Judgement:
    """The judgement with the share of random orders that are as good, in the shift where it is largest. Without a verdict where the cloud
    carries none: this is the one place that takes it away, before anybody stores or prints it."""
    share = max(cloud.share_as_good(ratios) for ratios in judgement.verdict.ratios)
    beside = beside_chance if cloud.carries_verdict else without_verdict
    return replace(judgement, verdict=beside(judgement.verdict, share))


def corrected_for_many(judgements: Sequence[Judgement], cloud: ChanceCloud | None = None) -> list[Judgement]:
    """The judgements of one table, in which a policy is certain only if it would be among so many others. cloud: of the incumbent, beyond
    which a policy has to be before it dominates.

    A policy that is not better than the incumbent in both measures is certain with probability (1 - CERTAINTY) / 2 at most. Holm's
    method makes that the probability that any policy of the table is. Its p-value is the larger one of the two measures.
    """
    if cloud is not None:
        judgements = [beside_cloud(each, cloud) for each in judgements]
    p_values = [max(each.bounded_slowdown.p_value(True), each.wait.p_value(True)) for each in judgements]
    certain = holm_adjusted(p_values) < (1 - CERTAINTY) / 2
    return [
        replace(each, verdict=replace(each.verdict, is_certain=each.verdict.is_certain and bool(stays)))
        for each, stays in zip(judgements, certain, strict=True)
    ]


def takes_over(
    judgement: Judgement, accept_trade: bool = False, cloud: Callable[[], ChanceCloud] | None = None
) -> bool:
    """Whether a policy is to replace the one that it was compared with.

    It dominates, and the interval of its bounded slowdown or that of its wait lies below 1; or it dominates or trades, and trades are
    accepted. cloud: makes the cloud of the one that it was compared with, which is asked for only where the policy would take over.
    `python -m studies promotion` shows how often that is by chance.
    """
    takes = _would_take_over(judgement, accept_trade)
    return takes if not takes or cloud is None else _would_take_over(beside_cloud(judgement, cloud()), accept_trade)


def _would_take_over(judgement: Judgement, accept_trade: bool) -> bool:
    word = judgement.verdict.word
    if accept_trade:
        return word in (DOMINATES, TRADES)
    gains = judgement.bounded_slowdown.is_certain_below_one or judgement.wait.is_certain_below_one
    return word == DOMINATES and gains


def block_intervals(ours: Replayed, theirs: Replayed, blocks: int = BLOCKS) -> TypicalBlock:
    """The ratios of the typical block of the scored jobs, with their intervals."""
    starts = np.stack([ours.schedule.start, theirs.schedule.start])
    cut = cut_into_blocks(ours.scored & started_everywhere(starts), blocks)
    wait = (starts - ours.jobs.submit).astype(np.float64)
    return typical_block(cut, wait, ours.jobs.runtime, ours.jobs.procs)
