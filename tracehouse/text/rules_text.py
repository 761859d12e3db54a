"""What `tracehouse cluster identify` prints."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict
from typing import Any

from assets.replaying.running.settings import OWN_SCHEDULERS
from models.identification.identify import Identification
from models.identification.rules import BACKFILL, CYCLE, ORDER, RejectedRule, sentence_of
from models.judging.fidelity import Agreement
from tracehouse.text.cluster_text import cluster_summary
from tracehouse.text.tables import TableColumn, fitted_table, folded
from traces.cluster.description import ClusterDescription

_HOUR_S = 3600
MOST_ALIKE = 8
CLEARLY = 0.1
"""How much further, of the logarithm of a ratio, is more than rounding."""
KINDS_SEARCHED = (
    ("limits", ("running jobs", "running cpu", "outstanding cpu")),
    ("hours", ("hours", "boundary")),
    ("size", ("size",)),
    ("order", ("order",)),
    ("backfilling", ("backfill",)),
    ("cycle", ("cycle",)),
)
"""What the search looks for, and kinds of rules."""
NEVER_SEARCHED = "memory, GPUs and kinds of nodes, reservations, preemption"


def identification_text(
    source: str,
    identification: Identification,
    with_rejected: bool,
    width: int | None,
    described: ClusterDescription | None = None,
    no_grade_because: str | None = None,
) -> str:
    """What was found, how well it explains the second half of the log, and what was not found. width: as `folded` takes it. described:
    the cluster that the source names. no_grade_because: why nothing is graded, None where it is."""
    rules = identification.rules
    lines = [f"{source}: {len(rules)} rule{'s' if len(rules) != 1 else ''} found in the first half of the log"]
    lines += [folded(f"  {number}. {rule.sentence}", width, 5) for number, rule in enumerate(rules, 1)]
    lines += ["", "Second half of the log, replayed:", *_table(identification, width, no_grade_because), ""]
    lines += [folded(f"No grade: {no_grade_because}.", width), ""] if no_grade_because else []
    if advice := _advice(identification, described):
        lines += [folded(advice, width), ""]
    lines += [folded(line, width, 10) for line in _origins(identification, described)]
    spent = f"search    {identification.replays:,} of at most {identification.budget:,} replays, "
    lines.append(spent + f"{len(identification.rejected):,} candidates rejected")
    rejected = identification.rejected
    each = [f"{sentence_of(one.rule)} Rejected: {one.because}." for one in rejected]
    lines += [f"  {folded(line, width, 4)}" for line in (each if with_rejected else _reasons(rejected))]
    return "\n".join(lines)


def _table(identification: Identification, width: int | None, no_grade_because: str | None) -> list[str]:
    rows = [("without the rules", identification.before), ("with the rules", identification.after)]
    if identification.beside is not None:
        rows.append(("with bounds of neighbouring months", identification.beside))
    columns = [
        TableColumn("replay", right=False),
        TableColumn("rank"),
        TableColumn("mean wait, h"),
        TableColumn("95th percentile, h"),
        TableColumn("grade"),
    ]
    logged = identification.before
    cells = [["the log", "", _hours(logged.logged_wait_s), _hours(logged.logged_p95_wait_s), ""]]
    cells += [[name, *_figures(agreement)] for name, agreement in rows]
    if no_grade_because is not None:
        columns, cells = columns[:-1], [row[:-1] for row in cells]
    return fitted_table(columns, cells, width, indent="  ")


def _figures(agreement: Agreement) -> list[str]:
    rank = agreement.rank_correlation
    waits = [_hours(agreement.replayed_wait_s), _hours(agreement.replayed_p95_wait_s)]
    return ["" if rank is None else f"{rank:.2f}", *waits, agreement.grade or "none"]


def _hours(seconds: float) -> str:
    return f"{seconds / _HOUR_S:.1f}"


def is_worse(identification: Identification) -> bool:
    """Whether the mean wait of the second half is clearly further from the log's with the found rules than without them."""
    before, after = (abs(math.log(each.wait_ratio)) for each in (identification.before, identification.after))
    return bool(identification.rules) and after > before + CLEARLY


def _advice(identification: Identification, described: ClusterDescription | None) -> str:
    """Why found rules are not to be adopted, "" where they may be."""
    said = []
    if described is not None and described.scheduler.name != "none":
        own = {rule.kind for rule in identification.rules} & {ORDER, BACKFILL, CYCLE}
        which = f"no other {' and '.join(sorted(own))} is" if own else "no order is"
        scheduler = OWN_SCHEDULERS.get(described.scheduler.name)
        if scheduler is None:
            said.append(
                f"The {described.scheduler.name} of the cluster {described.name} has an order of its own: {which} adopted."
            )
        else:
            said.append(
                f"The cluster {described.name} is described, and replays are under its own {scheduler}: {which} needed."
            )
        said.append("The figures above are of a row of processors.")
    if is_worse(identification):
        said.append("With the rules the mean wait is further from the log's than without them: do not adopt them.")
    return " ".join(said)


def _origins(identification: Identification, described: ClusterDescription | None) -> list[str]:
    """What is declared, found and unknown."""
    declared = [f"{rule.kind} by {rule.scope}" if rule.value else rule.kind for rule in identification.declared]
    explained = {rule.kind for rule in (*identification.declared, *identification.rules)}
    nothing = [word for word, kinds in KINDS_SEARCHED if not explained & set(kinds)]
    unknown = [f"{', '.join(nothing)} (nothing better than what replays assume)"] if nothing else []
    words = ", ".join(declared) or "nothing"
    if described is not None:
        words = f"cluster {described.name}: {cluster_summary(described)}; of its rules this search has {words}"
    return [
        f"declared  {words}",
        f"found     {len(identification.rules)} above",
        f"unknown   {'; '.join([*unknown, NEVER_SEARCHED])}",
    ]


def _reasons(rejected: tuple[RejectedRule, ...]) -> list[str]:
    """How many candidates of a kind were rejected; --rejected lists each."""
    counts = Counter(each.rule.kind for each in rejected)
    return [f"{kind}: {count}" for kind, count in counts.most_common(MOST_ALIKE)]


def identification_values(identification: Identification) -> dict[str, Any]:
    """All of it, as JSON takes it."""
    values = asdict(identification)
    for rule in (*values["rules"], *values["declared"]):
        rule["bounds"] = list(rule["bounds"])
    values["rejected"] = [
        {"sentence": sentence_of(each.rule), "because": each.because, "kind": each.rule.kind, "scope": each.rule.scope}
        for each in identification.rejected
    ]
    return values
