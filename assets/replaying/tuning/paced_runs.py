"""Changes of settings once more, with users who keep their pace: whether the advice holds then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from assets.replaying.pace import pace_of_site
from assets.replaying.running.run import ReplayRun
from assets.replaying.running.users import UsersPace
from assets.replaying.scenarios.paced import Paced, enough_react, paced_beside
from assets.replaying.tuning.guards import Guards, ScoredRuns, against_base
from assets.replaying.tuning.source_replays import SourceReplays
from assets.replaying.tuning.tunable import Edits
from models.judging.verdict import DOMINATES, TRADES


@dataclass(frozen=True)
class PacedReplays:
    """Replays of all jobs of a source, or of the log at a path, whose users keep the pace that they have at its site."""

    source: str
    replays: SourceReplays

    @cached_property
    def pace(self) -> UsersPace | None:
        """Who follows whom. None where too few react, and where users are not known."""
        try:
            pace = pace_of_site(self.source)
        except ValueError:
            return None
        return pace if enough_react(pace) else None

    def run(self, edits: Edits) -> ReplayRun | None:
        """The replay with these edits. None where there is no pace. Raises ValueError for one that has no rule for such users."""
        return None if self.pace is None else self.replays.replay(len(self.replays.rows), edits, pace=self.pace)


def paced_under_guards(base: ReplayRun, run: ReplayRun, scored: ScoredRuns, guards: Guards) -> Paced:
    """A replay next to a base, both with users who keep their pace. What dominates and breaks a guard trades, as at the log's times.
    scored: which jobs count, and their classes; those that one of both never starts do not. Raises ValueError where none of them is in
    both."""
    paced = paced_beside(base, run, run.rows["job_index"].to_numpy()[scored.scored])
    both = scored.scored & base.schedule.started & run.schedule.started
    ours, before = (ScoredRuns(replace(scored.tunable, jobs=each.jobs), (each.schedule,), both) for each in (run, base))
    if paced.judgement.verdict.word != DOMINATES or against_base(ours, before, guards).keeps:
        return paced
    verdict = replace(paced.judgement.verdict, word=TRADES, is_certain=False)
    return replace(paced, judgement=replace(paced.judgement, verdict=verdict))
