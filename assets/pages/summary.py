"""The summary of a report: what happened and what to do, in sentences that need no other page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from assets.pages.changes import (
    base_words,
    direction,
    full_name,
    grade_sentences,
    note_on_learning,
    scheduler_table,
    who_pays,
    why_unranked,
)
from assets.pages.comparison import Comparison, Scheduler, word_of
from assets.pages.happened import size_rows
from assets.pages.logged import LoggedSystem, left_sentence
from assets.pages.page import Bullets, Callout, Section
from assets.pages.words import FEW_JOBS, amount, count, duration_text, instead, jobs_of, sentence_list, share
from assets.replaying.own.alternatives import CANDIDATE, RANDOM_SETTING, Alternatives
from assets.replaying.running.settings import OWN_SCHEDULERS
from assets.replaying.scenarios.columns import percent
from assets.replaying.scenarios.paced import depends_words, differ
from models.judging.verdict import DEPENDS, DOMINATES, TRADES
from traces.common.ends import FAULTS

CLEAR_SHARE = 0.01
"""Jobs that ended in one way, and hours of those that left the queue, below this share of all are not worth a sentence."""
WHO_ANSWERS = (
    "Those who know the users say which holds: a person at a terminal waits for own jobs, an hourly service does not."
)
"""Behind advice that depends on users."""
_FAULT_WORDS = {
    "failed": "failed",
    "timeout": "ran into their time limit",
    "out_of_memory": "ran out of memory",
    "node_failure": "lost a node",
    "preempted": "were preempted",
    "requeued": "were requeued",
    "deadline": "missed their deadline",
}


@dataclass(frozen=True)
class Summary:
    """headline: what to do, in a few words. advice: the reasons. happened: sentences about what happened. trust: about the grade."""

    headline: str
    advice: str
    happened: tuple[str, ...]
    trust: str

    def section(self) -> Section:
        """The first section of the page."""
        return Section("Summary", [Callout(self.headline, self.advice), Bullets([*self.happened, self.trust])])

    def lines(self) -> list[str]:
        """The summary for a terminal, one sentence or two a line."""
        return [self.headline, self.advice, *self.happened, self.trust]


def summarise(logged: LoggedSystem, comparison: Comparison, alternatives: Alternatives | None = None) -> Summary:
    """The sentences, from the numbers. alternatives: on the cluster's own nodes, which are what to recommend where there are any."""
    if alternatives is not None and comparison.has_figures:
        headline, advice = _settings_advice(alternatives)
        advice = f"{advice} {alternatives.part}".rstrip()
    else:
        headline, advice = _recommendation(comparison, logged.extent.cluster_procs)
    sentences = [_extent(logged), *waits_sentences(logged), *_use(logged), *_ends(logged)]
    if alternatives is not None and comparison.has_figures:
        sentences.insert(0, f"Baseline: {OWN_SCHEDULERS[alternatives.scheduler]} as it is configured.")
    elif comparison.baseline is not None:
        sentences.insert(0, f"Baseline: {base_words(comparison)}.")
    if comparison.left_out:
        sentences.insert(1, f"{_upper(comparison.left_out)}; no replay of the log has them.")
    return Summary(headline, advice, tuple(sentences), _trust(comparison))


def _trust(comparison: Comparison) -> str:
    """How far what-if answers about this log can be trusted."""
    grade = comparison.grade
    if grade.letter is None and not grade.has_real_waits:
        limit = "Replays show how schedulers differ on such jobs, not what would happen on a cluster."
        return f"{grade_sentences(grade)} {limit}"
    missing = "nodes that partitions share, reservations, holds, fair-share weights, limits of GPUs and memory, or users who react"
    return grade_sentences(grade) + (
        "" if grade.letter in ("A", "B") or grade.is_described else f" The log says nothing of {missing}."
    )


def as_data(logged: LoggedSystem, comparison: Comparison, summary: Summary, created: datetime) -> dict[str, Any]:
    """The summary for programs: the index page and the command line."""
    waits = logged.all_waits
    table = None
    if comparison.baseline is not None:
        tried = list(comparison.tried) if comparison.ranks else []
        shown = scheduler_table("", comparison, tried)
        which = "of this time" if comparison.is_of_period else "at the end of the log"
        about = (
            f"Over {count(comparison.baseline.jobs, 'job')} {which}, which no training has seen, least mean wait first:"
        )
        table = {"about": about, "columns": list(shown.columns), "rows": [list(row) for row in shown.rows]}
    return {
        "source": logged.extent.source,
        "created": created.isoformat(),
        "description": logged.extent.description,
        "submitted": logged.extent.submitted,
        "jobs": logged.extent.jobs,
        "mean_wait": duration_text(waits["mean_s"]) if waits else "not in the log",
        "within_1_h": share(waits["within_1_h"]) if waits else "not in the log",
        "figures": {
            "mean_wait_s": waits["mean_s"] if waits else None,
            "median_wait_s": waits["median_s"] if waits else None,
            "p95_wait_s": waits["p95_s"] if waits else None,
            "started_within_1h": waits["within_1_h"] if waits else None,
        },
        "grade": comparison.grade.letter or "none",
        "headline": summary.headline,
        "sentences": summary.lines(),
        "schedulers": table,
        "note": note_on_learning(comparison) if comparison.ranks else None,
    }


def _extent(logged: LoggedSystem) -> str:
    extent = logged.extent
    return f"{_upper(extent.called)} has {count(extent.jobs, 'job')}, submitted {extent.submitted}, on {extent.cluster_procs:,} processors."


def waits_sentences(logged: LoggedSystem) -> list[str]:
    """How long jobs waited, and which jobs longest."""
    waits = logged.all_waits
    if waits is None:
        return ["It does not say when jobs started, so nobody knows how long they waited."]
    if logged.nobody_waited:
        return ["Nobody waited longer than a minute."]
    sentences = [
        f"A job waited {duration_text(waits['mean_s'])} on average, and the median wait is {duration_text(waits['median_s'])}. "
        f"{share(waits['within_1_h'])} of the jobs started within 1 h and {share(waits['within_24_h'])} within 24 h."
    ]
    whole = logged.groups.whole
    if whole["left_hours"] > CLEAR_SHARE * whole["waited_h"]:
        sentences[0] += f" {left_sentence(logged)}"
    if waits["jobs"] < FEW_JOBS:
        sentences[0] += f" These are {count(waits['jobs'], 'job')} only."
        return sentences
    worst = [(jobs_of(label), row) for label, row in size_rows(logged)]
    queues = logged.waits.filter(part="queue").to_dicts()
    worst += [(f"queue {row['value']}", row) for row in queues if row["value"] != "unknown" and len(queues) > 1]
    slower = [(who, row) for who, row in worst if row["jobs"] >= FEW_JOBS and row["mean_s"] > 1.5 * waits["mean_s"]]
    slowest = sorted(slower, key=lambda pair: -pair[1]["mean_s"])[:2]
    if slowest:
        parts = [f"{who} ({duration_text(row['mean_s'])} on average)" for who, row in slowest]
        sentences.append(f"{_upper(sentence_list(parts))} waited longest.")
    return sentences


def _use(logged: LoggedSystem) -> list[str]:
    sentences = []
    if logged.utilisation is not None:
        begin, since = logged.extent.complete_from_s, " until the last submission"
        if logged.complete_backlog.height < logged.backlog.height and logged.extent.clock.has_dates:
            since = f" since {logged.extent.moments([begin])[0]:%-d %b %Y}, when the log begins to have all jobs"
        sentences.append(f"On average {share(logged.utilisation)} of the processors were in use{since}.")
    if logged.payer is not None and logged.core_hours:
        first = logged.use.row(0, named=True)
        most = f"The largest {logged.payer}, {first['who']}, used {share(first['core_hours'] / logged.core_hours)} of them."
        sentences.append(f"Jobs used {amount(logged.core_hours)} core-hours. {most}")
    return [" ".join(sentences)] if sentences else []


def _ends(logged: LoggedSystem) -> list[str]:
    sentences = []
    faults = logged.statuses.filter(pl.col("status").is_in(FAULTS))
    by_end = dict(faults.group_by("status").agg(pl.col("jobs").sum() / logged.extent.jobs).rows())
    clear = [end for end in FAULTS if by_end.get(end, 0) >= CLEAR_SHARE]
    if clear and logged.core_hours:
        parts = [f"{share(by_end[end])} {_FAULT_WORDS[end]}" for end in clear]
        hours = float(faults.filter(pl.col("status").is_in(clear))["core_hours"].sum()) / logged.core_hours
        sentences.append(f"Of all jobs, {sentence_list(parts)}. They used {share(hours)} of the core-hours.")
    if logged.asked is not None:
        sentences.append(f"The median job used {share(logged.asked['median'])} of the time that it requested.")
    return [" ".join(sentences)] if sentences else []


def _recommendation(comparison: Comparison, cluster_procs: int) -> tuple[str, str]:
    """A headline and its reasons, by verdict and grade."""
    if comparison.why_none is not None:
        return "No recommendation yet.", comparison.why_none
    if not comparison.ranks:
        return "No recommendation.", why_unranked(comparison)
    letter, best, baseline = comparison.grade.letter, comparison.best, comparison.baseline
    assert baseline is not None
    if not comparison.carries_verdict:
        text = f"Most orders by lot dominate {_what(baseline)} on this log, so that no verdict on it says anything."
        return "No recommendation.", f"{text} {_grade_word(comparison)}"
    if best is None:
        text = f"None of the {len(comparison.tried)} schedulers that were tried is better than {_what(baseline)} without doing harm."
        return (
            "No recommendation." if letter in (None, "D") else "Keep what runs."
        ), f"{text} {_grade_word(comparison)}"
    name = _lower(full_name(best))
    effect = _effect(best, baseline, cluster_procs)
    if comparison.is_of_period:
        effect += " The verdict is of all evaluated jobs, not of this time alone."
    if letter in (None, "D"):
        why = "the replays cannot be trusted" if letter == "D" else "there is no grade"
        if not comparison.has_figures:
            way = direction(best.mean_s, baseline)
            return (
                f"No recommendation: {why}.",
                f"In the replays {name} came out first, with {way}. {_grade_word(comparison)}",
            )
        change = _change(best, baseline, cluster_procs)
        return (
            f"No recommendation: {why}.",
            f"In the replays {name} has a {change}. {_grade_word(comparison)}",
        )
    if best.verdict == DEPENDS:
        change = (
            f"{_change(best, baseline, cluster_procs)}. Verdict: {depends_words(best.times_verdict, best.pace_verdict)}"
        )
        return (
            f"Keep what runs: what {name} gains depends on users.",
            f"{_upper(name)}: {change}. {WHO_ANSWERS} {_grade_word(comparison)}",
        )
    rough = " The figures are rough: try it for a month before you decide." if letter == "C" else ""
    if word_of(best) == TRADES:
        text = f"{_upper(name)}: {effect} Some wait longer under everything that was tried: who should wait is for you to decide."
        return f"A trade: {name}.", f"{text} {_grade_word(comparison)}{rough}"
    certain = best.verdict.endswith("certain")
    chance = "" if certain else " With so many schedulers tried, this may be chance."
    verb = "Adopt" if certain and letter in ("A", "B") else "Try"
    return f"{verb} {name}.", f"{_upper(name)}: {effect}{chance} {_grade_word(comparison)}{rough}"


def _settings_advice(alternatives: Alternatives) -> tuple[str, str]:
    """A headline and its reasons, from a change that was chosen on the first half of the jobs and judged on the later one."""
    scheduler, best, tried = OWN_SCHEDULERS[alternatives.scheduler], alternatives.setting, alternatives.of(CANDIDATE)
    if best is None:
        nearest = (
            f" The best one, {tried[0].name}, breaks a guard: {tried[0].verdict}." if tried and tried[0].verdict else ""
        )
        return (
            "Keep the settings.",
            f"None of {len(tried)} usual changes of {scheduler}'s settings shortens waits on the first half of the jobs and keeps every "
            f"guard.{nearest}",
        )
    effect = f"mean wait of the later half {instead(best.wait_s, alternatives.present_s)}"
    text = f"{_upper(best.name)} ({', '.join(best.edits)}) was best on the first half: {effect}."
    change = best.wait_s / alternatives.present_s - 1 if alternatives.present_s else None
    if differ(change, best.pace_change):
        text += f" That is {percent(change, '+')}, and {percent(best.pace_change, '+')} where users keep their pace."
    if best.verdict == DEPENDS:
        words = depends_words(best.times_verdict, best.pace_verdict)
        return "Keep the settings: what they gain depends on users.", f"{text} Verdict: {words}."
    randoms = alternatives.of(RANDOM_SETTING)
    if alternatives.is_advised:
        verb = "Try" if alternatives.word == DOMINATES else "A trade"
        spread = f"{duration_text(randoms[0].wait_s)} to {duration_text(randoms[-1].wait_s)}"
        return (
            f"{verb}: {best.name}.",
            f"{text} Verdict: {best.verdict}. Who pays: {best.payers}. None of {len(randoms)} random settings does as well ({spread}).",
        )
    if alternatives.as_good:
        needed = min(each.wait_s for each in randoms)
        return (
            "Keep the settings: chance does as well.",
            f"{text} But of {len(randoms)} random settings one does as well, at {duration_text(needed)}. A change would need less.",
        )
    needed_text = (
        ""
        if alternatives.needed is None
        else f" Only a change of {share(alternatives.needed)} or more would have been seen."
    )
    return "Keep the settings.", f"{text} Verdict: {best.verdict}.{needed_text}"


def _change(best: Scheduler, baseline: Scheduler, cluster_procs: int) -> str:
    """What a scheduler does, such as "mean wait 4.1 h instead of 6.0 h; ..."."""
    pays = who_pays(best, baseline, cluster_procs)
    text = f"mean wait {instead(best.mean_s, baseline.mean_s)} under {_what(baseline)}; "
    return text + (pays or "no size of job waits clearly longer")


def _effect(best: Scheduler, baseline: Scheduler, cluster_procs: int) -> str:
    """The same with the verdict."""
    text = _change(best, baseline, cluster_procs)
    if word_of(best) != DOMINATES and best.payers:
        text += f"; what grows: {best.payers}"
    return f"{text}. Verdict: {best.verdict}."


def _what(baseline: Scheduler) -> str:
    return "the scheduler that fits the log best" if baseline.kind == "fitted" else baseline.name


def _grade_word(comparison: Comparison) -> str:
    grade = comparison.grade
    if grade.letter is None:
        return f"No grade: {grade.why}."
    return f"Grade {grade.letter}."


def _lower(name: str) -> str:
    """A name within a sentence: EASY, WFP3 and the like stay as they are."""
    return name[0].lower() + name[1:] if name[1:2].islower() else name


def _upper(name: str) -> str:
    return name[0].upper() + name[1:]
