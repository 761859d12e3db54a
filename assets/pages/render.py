"""The report of a source, put together from what the warehouse holds, and its answer in a few lines for those who read no page: how long
jobs waited, why, by which rule, and what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from assets.pages.changes import changes_section, lot_name, lot_range
from assets.pages.comparison import Comparison, read_comparison
from assets.pages.details import details_section, learning_note, learning_section, read_details
from assets.pages.happened import happened_section
from assets.pages.logged import LoggedSystem, read_logged
from assets.pages.nodes import nodes_section
from assets.pages.page import Block, Section, Table, page, unique_labels
from assets.pages.period import ReportPeriod, logged_in_period
from assets.pages.summary import Summary, as_data, summarise, waits_sentences
from assets.pages.waiting import causes_of_log, requests_section, waiting_section
from assets.pages.words import change_text, count, duration_text, share
from assets.replaying.own.alternatives import (
    CANDIDATE,
    RANDOM_SETTING,
    SETTING,
    Alternatives,
    stored_alternatives,
)
from assets.replaying.own.wait_causes import WaitCauses
from assets.replaying.own.waiting_rules import limit_words
from assets.replaying.running.grade import LIMITS
from assets.replaying.running.settings import OWN_SCHEDULERS
from assets.replaying.scenarios.columns import percent
from assets.replaying.scenarios.paced import pace_words
from models.identification.rules import gate_words
from models.judging.fidelity import FIGURE_WORDS, WITHIN, assumed_text
from simulator.slurm.waiting.words import CAUSE_WORDS
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import clusters_of_source, found_kind, load_found, only_found, rules_beside
from traces.cluster.accounts import Limit
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate
from traces.synthetic.sites import SITES
from warehouse import Warehouse

MOST_CAUSES, MOST_SCHEDULERS = 4, 5
ALTERNATIVE_COLUMNS = ("mean wait", "change", "verdict", "scheduler")
Line = tuple[str, str]
"""What it is about, in a word, and what is said."""


def render_report(warehouse: Warehouse, source: str, created: datetime, period: ReportPeriod | None = None) -> str:
    """The page of one source, or of a period of it. The same warehouse gives the same bytes, but for the creation date. Raises ValueError
    where the warehouse has no job of the source, or none that can be replayed."""
    logged = read_logged(warehouse, source) if period is None else logged_in_period(warehouse, source, period)
    comparison = read_comparison(warehouse, source, period)
    causes = causes_of_log(warehouse, source) if period is None else None
    alternatives = stored_alternatives(source)
    if alternatives is not None and period is not None:
        alternatives = _of_whole_log(alternatives, source)
    summary = summarise(logged, comparison, alternatives)
    of_whole_log = (
        nodes_section(warehouse, source) if period is None else None,
        waiting_section(causes),
        requests_section(warehouse, source) if period is None else None,
        None if alternatives is None else alternatives_section(alternatives),
    )
    learning = learning_section(warehouse, source) if period is None else None
    sections = [
        summary.section(),
        happened_section(logged),
        *(each for each in of_whole_log if each is not None),
        changes_section(comparison, logged.extent.cluster_procs),
        *([learning] if learning is not None else []),
        details_section(logged, comparison, read_details(warehouse, source)),
    ]
    data = as_data(logged, comparison, summary, created) | answer(logged, comparison, summary, causes, alternatives)
    data |= {"note": (learning_note(warehouse, source) or data["note"]) if period is None else data["note"]}
    title, subtitle = source, logged.extent.description
    if period is not None:
        title, subtitle = f"{source}, {period.name}", f"Jobs submitted in {period.words}"
    return page(title, subtitle, created, sections, data)


def _of_whole_log(alternatives: Alternatives, source: str) -> Alternatives:
    """What is stored, for the page of a period, which has too few jobs to judge by."""
    ask = f"`tracehouse what-if {source} --set KEY=VALUE --period PERIOD`"
    return replace(
        alternatives,
        part=f"{alternatives.part} This is of the whole log, not of this time alone, which {ask} replays.".lstrip(),
    )


def first_answer(warehouse: Warehouse, source: str) -> list[tuple[str, str]]:
    """What a log says before anything is replayed, in lines of `happened_lines`. Raises ValueError where there is no job of the source."""
    logged = read_logged(warehouse, source)
    return happened_lines(logged, waits_sentences(logged), causes_of_log(warehouse, source))


def answer(
    logged: LoggedSystem,
    comparison: Comparison,
    summary: Summary,
    causes: WaitCauses | str | None,
    alternatives: Alternatives | None,
) -> dict[str, Any]:
    """The lines as data for the command line: `happened`, `changes`, and the table `best`."""
    return {
        "happened": happened_lines(logged, waits_sentences(logged), causes),
        "changes": changes_lines(comparison, alternatives, f"{summary.headline} {summary.advice}"),
        "best": schedulers_data(comparison),
    }


def happened_lines(logged: LoggedSystem, sentences: list[str], causes: WaitCauses | str | None) -> list[Line]:
    """What the log says. sentences: of the waits, `waits_sentences`."""
    extent = logged.extent
    used = (
        "" if logged.utilisation is None else f", {share(logged.utilisation)} of them in use until the last submission"
    )
    lines = [
        ("Log", f"{count(extent.jobs, 'job')}, {extent.submitted}, {extent.cluster_procs:,} processors{used}"),
        ("Waits", " ".join(sentences)),
    ]
    if isinstance(causes, WaitCauses) and (waited_s := float(causes.jobs["wait_s"].sum())):
        table = causes.of().sort("hours", descending=True).head(MOST_CAUSES)
        limits = causes.limits(causes.jobs)
        above_all = "above all " if limits.height > 1 else ""
        which = {"limit": f", {above_all}{limits['limit'][0]}"} if limits.height else {}
        parts = [
            f"{CAUSE_WORDS[name]} {share(hours / waited_s * 3600)}{which.get(name, '')}"
            for name, hours, _ in table.iter_rows()
        ]
        users = causes.by_group(causes.jobs, "user")
        most = (
            f" User {users['value'][0]} waited most, {share(users['hours'][0] / waited_s * 3600)} of it."
            if users.height
            else ""
        )
        rest = 1 - float(table["hours"].sum()) * 3600 / waited_s
        if rest > 0.005:
            parts.append(f"other causes {share(rest)}")
        lines.append(("Why", f"{'; '.join(parts)}, of {count(round(waited_s / 3600), 'hour')} of waiting.{most}"))
    return [*lines, *rule_lines(extent.source)]


def rule_lines(source: str) -> list[Line]:
    """The rules that the log shows and no file names, and for a bundled log the one that its generator has."""
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    clusters = () if declared is None else clusters_of_source(declared)
    if clusters and (adopted := found_words(only_found(clusters[-1]))):
        return [("Rules", f"found in the log, and adopted: {adopted}.")]
    seen = load_found(source)
    if seen is None:
        return [("Rules", f"nobody has looked for rules that no file names: tracehouse cluster identify {source}")]
    words = found_words(rules_beside(seen, clusters[-1] if clusters else None))
    site = None if declared is None else SITES.get(declared.generator.get("site", ""))
    text = f"found in the log, and in no file: {words}" if words else "none was found in the log that no file names"
    if site is not None:
        hidden = rule_words([rule for rule in (site.limit, site.gate) if rule is not None])
        text += f". The generator's hidden rule: {hidden}"
    return [("Rules", f"{text}.")]


def found_words(cluster: ClusterDescription) -> str:
    """The rules of a cluster that were all found in a log, in words, "" where there are none."""
    kinds: dict[tuple[str, ...], list[Limit]] = {}
    for limit in cluster.limits:
        kinds.setdefault(found_kind(limit), []).append(limit)
    words = [rule_words(limits) if len(limits) == 1 else _bounds_words(limits) for limits in kinds.values()]
    words += [rule_words(cluster.gates), *map(reservation_words, cluster.reservations)]
    order = cluster.scheduler.order
    words += [f"the order {order['policy']}"] if "policy" in order else []
    words += [f"backfilling {order['backfill']}"] if "backfill" in order else []
    words += [f"jobs start every {order['cycle_s']} s only"] if "cycle_s" in order else []
    return "; ".join(filter(None, words))


def _bounds_words(limits: Sequence[Limit]) -> str:
    """Several limits of one rule."""
    first = limits[0]
    each = "queue" if first.each == "all" else first.each
    bounds = [limit.bound for limit in limits]
    counted = f"{first.counts} {first.resource}{' seconds' if first.counts in ('outstanding', 'used') else ''}"
    what = f"a limit on {counted} of each {each}, with {len(limits):,} bounds"
    return f"{what} from {min(bounds):,} to {max(bounds):,}, by {each} and time"


def reservation_words(reservation: AdvanceReservation) -> str:
    """A reservation that comes back, such as `no job runs past 17:00 (weekday)`."""
    begin = datetime.fromtimestamp(reservation.begin_s, ZoneInfo(reservation.timezone))
    length = reservation.end_s - reservation.begin_s
    what = (
        f"no job runs past {begin:%H:%M}"
        if length < 60
        else f"no job runs for {length // 60} min from {begin:%H:%M} on"
    )
    return f"{what} ({reservation.repeats or f'{begin:%Y-%m-%d}'})"


def rule_words(rules: Iterable[Limit | Gate]) -> str:
    """Limits and gates in words."""
    words = [limit_words(each) if isinstance(each, Limit) else gate_words(each) for each in rules]
    return "; ".join(f"{text[0].lower()}{text[1:]}".removesuffix(" (cluster)") for text in words)


def changes_lines(comparison: Comparison, alternatives: Alternatives | None, advice: str) -> list[Line]:
    """How far replays can be trusted, and what to change. advice: of the summary."""
    lines = [("Grade", _grade(comparison, alternatives)), ("Change", advice)]
    truth = None if alternatives is None else alternatives.truth
    if alternatives is not None and truth is not None and alternatives.setting is not None:
        before, after = duration_text(truth.before_s), duration_text(truth.after_s)
        text = (
            f"the generator, which knows the rule, goes from {before} to {after} with this change; the replays went from "
            f"{duration_text(alternatives.present_s)} to {duration_text(alternatives.setting.wait_s)}, "
            f"{100 * (truth.error - 1):.0f} % off"
        )
        lines.append(("Truth", f"{text}{_promised(comparison)}."))
    return lines


def _promised(comparison: Comparison) -> str:
    within = WITHIN.get(comparison.grade.letter or "")
    return (
        "" if within is None else f" where grade {comparison.grade.letter} promises {100 * (within - 1):.0f} % at most"
    )


def _grade(comparison: Comparison, alternatives: Alternatives | None) -> str:
    grade = comparison.grade
    if grade.letter is None or grade.logged_s is None or grade.replayed_s is None:
        return f"none: {grade.why}."
    who = (
        "the scheduler that fits best"
        if grade.own_scheduler is None
        else "the limits of its cluster"
        if grade.own_scheduler == LIMITS
        else f"its own {OWN_SCHEDULERS[grade.own_scheduler]}"
    )
    within = WITHIN[grade.letter]
    promise = (
        "no figure can be trusted"
        if within is None
        else f"a predicted {FIGURE_WORDS['mean']} is off by {100 * (within - 1):.0f} % at most in nine of ten cases, "
        f"{assumed_text('mean', grade.reacting)}"
    )
    return (
        f"{grade.letter}: {promise}. The later half of the jobs waits {duration_text(grade.replayed_s)} in a replay under {who}, and "
        f"{duration_text(grade.logged_s)} in the log."
    )


def schedulers_data(comparison: Comparison) -> dict[str, Any] | None:
    """The best schedulers, the present one and random orders: `about`, `columns` and `rows` of a table. None where none was tried."""
    baseline, chance = comparison.baseline, comparison.chance
    if baseline is None or not comparison.ranks or not comparison.has_figures:
        return None
    rows = [[duration_text(baseline.mean_s), "", "baseline", baseline.name]]
    best = sorted(comparison.tried, key=lambda row: row.mean_s)[:MOST_SCHEDULERS]
    advised = comparison.best
    if advised is not None and advised not in best:
        best[-1] = advised
    ranked = [
        (row.mean_s, [duration_text(row.mean_s), change_text(row.mean_s, baseline.mean_s), row.verdict, row.name])
        for row in best
    ]
    if chance is not None:
        change = change_text(chance.mean_s, baseline.mean_s)
        ranked.append((chance.mean_s, [duration_text(chance.mean_s), change, lot_range(chance), lot_name(chance)]))
    where = f"{comparison.place[0].upper()}{comparison.place[1:]}, over" if comparison.place else "Over"
    about = f"{where} {count(baseline.jobs, 'job')} at the end of the log, which no training has seen:"
    return {"about": about, "columns": list(ALTERNATIVE_COLUMNS), "rows": [*rows, *(row for _, row in sorted(ranked))]}


def alternatives_section(alternatives: Alternatives) -> Section:
    """All that was tried on the cluster's own nodes."""
    present = OWN_SCHEDULERS[alternatives.scheduler]
    is_paced = alternatives.following is not None
    pace_column = ("keep pace",) if is_paced else ()
    more = len(pace_column)
    first = [
        [
            each.name,
            duration_text(each.wait_s),
            change_text(each.wait_s, alternatives.first_s),
            *([percent(each.pace_change, "+")] if is_paced else ()),
            each.verdict or "none",
            " ".join(each.edits),
        ]
        for each in alternatives.of(CANDIDATE)
    ]
    later = [
        [
            f"{kind}: {each.name.removeprefix('random ')}",
            duration_text(each.wait_s),
            change_text(each.wait_s, alternatives.present_s),
            *([percent(each.pace_change, "+")] if is_paced else ()),
            each.verdict,
            each.payers,
            " ".join(each.edits),
        ]
        for kind in (SETTING, RANDOM_SETTING)
        for each in alternatives.of(kind)
    ]
    blocks: list[Block] = [
        f"The log was replayed under the cluster's own {present}, once for each row. A change of the settings is chosen on the first half "
        "of the jobs, of those that keep every guard: no class of users, sizes or QOS pays more than a tenth. It is judged on the later "
        "half, next to random settings until one of them does as well. `tracehouse tune` searches for others, and `tracehouse what-if` "
        f"repeats each replay. {alternatives.part}".rstrip(),
        Table(
            f"Usual changes on the first half, where the mean wait is {duration_text(alternatives.first_s)} now",
            ("change", "mean wait", "difference", *pace_column, "guards that break", "lines"),
            first,
            text_columns=[3 + more, 4 + more],
        ),
        Table(
            f"On the later half, {count(alternatives.jobs, 'job')}, where the mean wait is {duration_text(alternatives.present_s)} now",
            ("what is tried", "mean wait", "difference", *pace_column, "verdict", "who pays", "lines"),
            unique_labels(later),  # a file of an older release has names twice
            text_columns=[3 + more, 4 + more, 5 + more],
        ),
    ]
    if alternatives.following is not None:
        said = pace_words(alternatives.following)
        blocks.append(f"{said[0].upper()}{said[1:]}.")
    return Section("What other settings would do", blocks)
