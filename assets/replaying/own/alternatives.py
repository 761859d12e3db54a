"""What other settings would do on the nodes of a source's own scheduler, next to random ones.

A change of the settings is chosen on the first half of the jobs, and judged on the later half. These are the questions that everybody asks
first. `tracehouse what-if` answers others, with several runs of each, and `tracehouse tune` searches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assets.common.progress import progress_bar
from assets.common.storage import tuning_folder, write_whole
from assets.ingest.site_logs import mean_wait_s, ruled_cluster
from assets.replaying.configuring.configuration import edited_cluster
from assets.replaying.pace import pace_of
from assets.replaying.running.run import ReplayRun
from assets.replaying.scenarios.paced import Paced, enough_react, paced_columns
from assets.replaying.site import site_of
from assets.replaying.tuning.guards import AgainstBase, Guards, ScoredRuns, against_base
from assets.replaying.tuning.paced_runs import paced_under_guards
from assets.replaying.tuning.source_replays import FEWEST_TUNED, SourceReplays, source_replays
from assets.replaying.tuning.tuned import LIKE_RANDOM_SETTINGS
from models.judging.fidelity import change_error
from models.judging.judge import judge
from models.judging.verdict import DEPENDS, DOMINATES, TRADES, Ratios, payers_text
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.sources import Source
from traces.cluster.description import ClusterDescription
from traces.synthetic.campaigns import site_submissions
from traces.synthetic.sites import SiteOptions
from warehouse import Warehouse

MOST_REPLAYED = 20_000
"""Jobs that `tracehouse run` replays so often: of a longer log the last ones."""
MOST_RANDOM, RANDOM_TIMES = 19, 10.0
"""Random settings at most, so that the setting is 1 of 20, and the factor by which each of their weights is at most changed, up or down."""
DEPTH_TIMES = 3.0
"""The same of PBS's backfilling depth, by which a replay takes longer."""
SLURM_CHANGES = {
    "fair share counts for nothing": ("PriorityWeightFairshare=0",),
    "age counts ten times as much": ("PriorityWeightAge={PriorityWeightAge}",),
    "small jobs first": ("PriorityFavorSmall=YES", "PriorityWeightJobSize={PriorityWeightJobSize}"),
    "backfilling looks at 500 jobs each minute": ("bf_max_job_test=500", "bf_interval=60"),
}
"""By name, edits of slurm.conf. In braces a weight that is to be ten times what it is."""
PBS_CHANGES = {
    "longest waiting first": ("job_sort_formula=eligible_time",),
    "short requests first": ("job_sort_formula={formula} - walltime / 300",),
    "backfilling keeps the starts of 30 jobs": ("server.backfill_depth=30",),
    "small jobs first": ("job_sort_formula={formula} - ncpus",),
}
CANDIDATE, SETTING, RANDOM_SETTING = "candidate", "setting", "random setting"
_NUMBER = re.compile(r"(?<![\w.])\d+\.?\d*(?![\w.])")
LEAST_SLOWDOWN_GAIN = 0.002
"""A candidate whose slowdown falls by less is none."""


class Alternative(NamedTuple):
    """kind: CANDIDATE, over the first half of the jobs, or SETTING or RANDOM_SETTING, over the later half. edits: of the configuration.
    wait_s: mean. slowdown: bounded slowdown over that of the present settings. verdict: against these. Of a candidate and of random
    settings it is the guards that break, "" for none. payers: who pays. pace_change: of the mean wait where users keep their pace, None
    where that was not replayed. times_verdict, pace_verdict: where users keep the log's times, and where they keep their pace."""

    name: str
    kind: str
    edits: tuple[str, ...]
    wait_s: float
    slowdown: float
    verdict: str = ""
    payers: str = ""
    pace_change: float | None = None
    times_verdict: str = ""
    pace_verdict: str = ""


class KnownTruth(NamedTuple):
    """What a change does on a bundled cluster with its hidden rule, which only the generator has. before_s, after_s: mean waits of the
    later jobs. error: the factor by which the predicted change is off."""

    before_s: float
    after_s: float
    error: float


@dataclass(frozen=True)
class Alternatives:
    """scheduler: "slurm" or "pbs". jobs: of the later half, which count. present_s, first_s: mean waits of the later and of the first half
    in a replay of the present settings. word: of the verdict on the setting that was chosen, "" where none was. as_good: how many of the
    random settings do as well. needed: by which share waits would have to fall to be told from chance, None where that is not known.
    truth: of the chosen setting, None for a log whose truth nobody has. part: which jobs these are, a sentence, "" for all of the log.
    following: the share of the jobs that follow others, None where nothing was replayed with users who keep their pace."""

    scheduler: str
    jobs: int
    present_s: float
    first_s: float
    tried: tuple[Alternative, ...]
    word: str = ""
    as_good: int = 0
    needed: float | None = None
    truth: KnownTruth | None = None
    part: str = ""
    following: float | None = None

    def of(self, kind: str) -> list[Alternative]:
        """Those of a kind, least mean wait first."""
        return sorted((each for each in self.tried if each.kind == kind), key=lambda each: each.wait_s)

    @property
    def setting(self) -> Alternative | None:
        """The change that was best on the first half, as it is on the later one. None where none kept every guard there."""
        return next(iter(self.of(SETTING)), None)

    @property
    def is_advised(self) -> bool:
        """Whether the change is worth a word: it dominates or trades, and random settings do not."""
        return self.word in (DOMINATES, TRADES)


def alternatives_file(source: str) -> Path:
    """Where the alternatives of a source are stored."""
    return tuning_folder(source) / "alternatives.json"


def stored_alternatives(source: str) -> Alternatives | None:
    """Those that were stored last. None where there are none."""
    path = alternatives_file(source)
    if not path.exists():
        return None
    kept = json.loads(path.read_bytes())
    tried = tuple(Alternative(**each | {"edits": tuple(each["edits"])}) for each in kept.pop("tried"))
    truth = kept.pop("truth")
    return Alternatives(**kept, tried=tried, truth=None if truth is None else KnownTruth(**truth))


def store_alternatives(source: str, made: Alternatives | None) -> None:
    """Stores them in place of earlier ones. None: there are none any more."""
    if made is None:
        alternatives_file(source).unlink(missing_ok=True)
        return
    kept = asdict(made) | {"tried": [each._asdict() for each in made.tried]}
    kept["truth"] = None if made.truth is None else made.truth._asdict()
    write_whole(alternatives_file(source), json.dumps(kept).encode())


def alternatives_of(warehouse: Warehouse, source: str) -> Alternatives | None:
    """What the usual changes would do. None for a log that is too short, and for a source whose own scheduler does not replay."""
    cluster = site_of(source, warehouse).own_cluster
    if cluster is None:
        return None
    replays = source_replays(source)
    jobs = replays.trace.rows.height
    if jobs < FEWEST_TUNED:
        return None
    part = ""
    if jobs > MOST_REPLAYED:
        replays = replays.of_last(MOST_REPLAYED)
        part = _words_of_last(replays, jobs)
    halves = _Halves(replays)
    tried = list(halves.candidates(cluster))
    made = Alternatives(cluster.scheduler.name, int(halves.present.scored.sum()), halves.present.mean_waits_s[0],
                        halves.base.mean_waits_s[0], tuple(tried), part=part, following=halves.following)  # fmt: skip
    kept = [each for each in tried if not each.verdict and each.slowdown < 1 - LEAST_SLOWDOWN_GAIN]
    if kept:
        made = _with_setting(made, halves, cluster, min(kept, key=lambda each: each.slowdown * each.wait_s))
    halves.bar.__exit__(None, None, None)
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    if part or not made.is_advised or made.setting is None or declared is None or "site" not in declared.generator:
        return made
    return replace(made, truth=known_truth(declared, made.present_s, made.setting))


def _words_of_last(replays: SourceReplays, jobs: int) -> str:
    """Which jobs of a long log are replayed. jobs: of the whole log."""
    trace = replays.trace
    since = trace.clock.text(int(trace.rows["submit_s"][replays.ahead]))
    begins = "the jobs that ran and waited then" if replays.ahead else "an empty cluster"
    return (
        f"These are the last {MOST_REPLAYED:,} of {jobs:,} jobs, submitted from {since} on. The replays begin with {begins}. "
        "`tracehouse what-if` replays the whole log."
    )


def _with_setting(made: Alternatives, halves: _Halves, cluster: ClusterDescription, best: Alternative) -> Alternatives:
    """The change that was best on the first half, on the later one, next to random settings until one of them does as well."""
    ours = halves.runs(best.edits)
    judgement, later = judge(ours.replayed, halves.present.replayed), against_base(ours, halves.present, halves.guards)
    (ratios,) = judgement.verdict.ratios
    word = judgement.verdict.word
    if word == DOMINATES and not later.keeps:
        word = TRADES
    payers = payers_text((*judgement.verdict.payers, *later.broken) if word == TRADES else judgement.verdict.payers, 2)
    randoms, as_good = [], 0
    if word in (DOMINATES, TRADES):
        for number, edits in enumerate(islice(random_settings(cluster), MOST_RANDOM), 1):
            drawn = halves.runs(edits)
            compared = against_base(drawn, halves.present, halves.guards)
            randoms.append(_alternative(f"random {number}", RANDOM_SETTING, edits, drawn, compared))
            as_good = int(_is_as_good(compared, ratios, word))
            if as_good:
                break
    if as_good:
        word = LIKE_RANDOM_SETTINGS
    verdict = word if word != judgement.verdict.word else str(judgement.verdict)
    chosen = Alternative(best.name, SETTING, best.edits, ours.mean_waits_s[0], ratios.bounded_slowdown, verdict, payers)
    if (paced := halves.paced(best.edits, halves.whole, halves.present)) is not None:
        chosen = _at_pace(chosen, paced)
        word = DEPENDS if chosen.verdict == DEPENDS else word
    needed = None if judgement.wait.high is None else 1 - judgement.wait.ratio / judgement.wait.high
    return replace(made, tried=(*made.tried, chosen, *randoms), word=word, as_good=as_good, needed=needed)


def _at_pace(chosen: Alternative, paced: Paced) -> Alternative:
    """The change with what it does where users keep their pace. paced: of its replay."""
    both = paced_columns(chosen.verdict, paced, paced.judgement)
    return chosen._replace(
        verdict=both.get("verdict", chosen.verdict),
        pace_change=paced.change_share,
        times_verdict=both["times_verdict"],
        pace_verdict=both["pace_verdict"],
    )


def _is_as_good(random: AgainstBase, ratios: Ratios, word: str) -> bool:
    """Whether a random setting does at least as well in both averages. Where the change dominates, it has to keep the guards, too."""
    return (
        not random.jobs_lost
        and (random.keeps or word == TRADES)
        and random.ratios[0].wait <= ratios.wait
        and random.ratios[0].bounded_slowdown <= ratios.bounded_slowdown
    )


def _alternative(name: str, kind: str, edits: Sequence[str], runs: ScoredRuns, compared: AgainstBase) -> Alternative:
    slowdown = compared.ratios[0].bounded_slowdown if compared.ratios else np.inf
    verdict = "jobs that never start" if compared.jobs_lost else "; ".join(compared.broken[:2])
    return Alternative(name, kind, tuple(edits), runs.mean_waits_s[0], slowdown, verdict)


def known_truth(source: Source, replayed_s: float, best: Alternative) -> KnownTruth:
    """What a change does under the hidden rule of a bundled cluster. replayed_s: mean wait of the later jobs as the replay has it."""
    options = SiteOptions(**source.generator)
    jobs, ruled = site_submissions(options.bundled.work, options.seed), ruled_cluster(options.bundled)
    changed = edited_cluster(ruled, best.edits, options.bundled.time_zone)
    before, after = (mean_wait_s(options.bundled, cluster, jobs) for cluster in (ruled, changed))
    return KnownTruth(before, after, change_error((before, after), (replayed_s, best.wait_s)))


def asked_first(cluster: ClusterDescription) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names and edits of what is asked first of a cluster of Slurm or PBS."""
    values = cluster.scheduler.values
    for name, edits in (SLURM_CHANGES if cluster.scheduler.name == "slurm" else PBS_CHANGES).items():
        formula = str(values.get("job_sort_formula", "")).strip('"')
        weights = _weights(cluster)
        more = {each: 10 * int(weight) for each, weight in weights.items() if weight}
        if not {edit.partition("=")[0] for edit in edits} & weights.keys() <= more.keys():
            continue  # it counts for nothing already
        try:
            yield name, tuple(edit.format(formula=formula, **more) for edit in edits)
        except KeyError:
            continue  # a weight that counts for nothing now


def random_settings(cluster: ClusterDescription) -> Iterator[tuple[str, ...]]:
    """Edits that change all weights of Slurm, or the numbers of PBS's formula and its backfilling depth, by chance, without an end."""
    drawn = np.random.default_rng(0)
    values = cluster.scheduler.values

    def changed(number: float, times: float = RANDOM_TIMES) -> int:
        return max(round(number * times ** drawn.uniform(-1, 1)), 1)

    while True:
        if cluster.scheduler.name == "slurm":
            yield tuple(f"{name}={changed(weight)}" for name, weight in _weights(cluster).items() if weight)
            continue
        depth = f"server.backfill_depth={changed(float(str(values.get('backfill_depth', 1))), DEPTH_TIMES)}"
        formula = str(values.get("job_sort_formula", "")).strip('"')
        if _NUMBER.search(formula):
            formula = _NUMBER.sub(lambda match: str(changed(float(match[0]))), formula)
            yield f"job_sort_formula={formula}", depth
        else:
            yield (depth,)


def _weights(cluster: ClusterDescription) -> dict[str, int]:
    names = ("PriorityWeightAge", "PriorityWeightFairshare", "PriorityWeightJobSize", "PriorityWeightPartition")
    return {name: int(str(cluster.scheduler.values.get(name.lower(), 0))) for name in names}


class _Halves:
    """The first half of the jobs, on which a change is chosen, and the later half of all, on which it is judged. One run each."""

    def __init__(self, replays: SourceReplays) -> None:
        self.replays, self.tunable, self.guards = replays, replays.tunable(), Guards()
        self.cut = len(self.tunable.jobs) // 2
        self.bar = progress_bar("replays under other settings", 2 + 2 * (4 + 1))
        self.first, self.whole = replays.replay(self.cut), replays.replay(len(self.tunable.jobs))
        self.base, self.present = self.scored(self.first), self.scored(self.whole)
        pace = None if replays.ahead else pace_of(self.whole)
        self.pace = pace if pace is not None and enough_react(pace) else None

    @property
    def following(self) -> float | None:
        """The share of the jobs that follow others, None where nothing is replayed with users who keep their pace."""
        return None if self.pace is None else self.pace.share

    def runs(self, edits: Sequence[str], count: int = 0) -> ScoredRuns:
        """A replay. count: of so many first jobs, which are scored, in place of all, of which the later half is."""
        return self.scored(self.replays.replay(count or len(self.tunable.jobs), tuple(edits)))

    def scored(self, run: ReplayRun) -> ScoredRuns:
        """A replay that was made at the times of the log."""
        self.bar.update()
        jobs = np.arange(len(run.all_jobs))
        scored = jobs < self.cut - 1 if len(jobs) == self.cut else jobs >= self.cut
        return ScoredRuns(self.tunable, (run.all_starts,), scored)

    def paced(self, edits: Sequence[str], base: ReplayRun, scored: ScoredRuns) -> Paced | None:
        """The scored jobs of a replay with users who keep their pace. None where too few react, and where a change leaves no job of both.
        base: of the present settings, which have the submissions of the log in either case. scored: of it."""
        if self.pace is None:
            return None
        run = self.replays.replay(len(base.all_jobs), tuple(edits), pace=self.pace)
        self.bar.update()
        try:
            return paced_under_guards(base, run, scored, self.guards)
        except ValueError:
            return None

    def candidates(self, cluster: ClusterDescription) -> Iterator[Alternative]:
        """The usual changes on the first half, but for those that the cluster does not take, and that change nothing of it."""
        for name, edits in asked_first(cluster):
            try:
                if not self.replays.changes(edits):
                    continue
            except ValueError:
                continue
            runs = self.runs(edits, count=self.cut)
            made = _alternative(name, CANDIDATE, edits, runs, against_base(runs, self.base, self.guards))
            paced = self.paced(edits, self.first, self.base)
            yield made if paced is None else made._replace(pace_change=paced.change_share)
