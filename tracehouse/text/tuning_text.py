"""What `tracehouse tune` prints."""

from __future__ import annotations

from assets.replaying.tuning.guards import AgainstBase
from assets.replaying.tuning.tuned import KEEP, TunedSettings
from models.judging.verdict import DEPENDS, NO_DIFFERENCE
from tracehouse.text.tables import TableColumn, fitted_table, folded

_COLUMNS = (
    TableColumn("over the present settings", right=False),
    TableColumn("bounded slowdown"),
    TableColumn("mean wait"),
    TableColumn("guards"),
)
MOST_BROKEN = 5


def tuned_text(tuned: TunedSettings, trust: list[str], width: int | None) -> str:
    """The verdict, the lines to change, and the evidence. trust: what to know of replays of this source. width: as `folded` takes it."""
    lines = [folded(f"{tuned.source}: {headline(tuned)}", width)]
    if tuned.edits:
        lines += ["", "lines to change" if tuned.is_better else "best on the first half, not to be adopted"]
        lines += [f"  {edit}" for edit in tuned.edits]
        lines += [folded(f"  {change}", width, 4) for change in tuned.changes]
        lines += ["", *fitted_table(_COLUMNS, _rows(tuned), width)]
    if tuned.later is not None and tuned.later.broken:
        lines += [folded(f"broken on the later half: {'; '.join(tuned.later.broken[:MOST_BROKEN])}", width)]
    if tuned.word == NO_DIFFERENCE:
        before, after = (f"{min(runs):,.2f} to {max(runs):,.2f} h" for runs in tuned.waits_h)
        lines.append(folded(f"mean waits of the runs: {after}, with the present settings {before}", width))
    if tuned.random is not None and tuned.share_as_good is not None:
        count = len(tuned.random.compared)
        text = f"{count} random settings within the bounds: {tuned.random.keep_guards:.0%} keep the guards"
        lines.append(folded(f"{text}, {tuned.share_as_good:.1%} are as good, these counted as one of them", width))
    if tuned.not_paced:
        lines.append(folded(f"not with users who keep their pace: {tuned.not_paced}", width))
    lines.append("")
    opened = f"{len(tuned.knobs)} setting{'s' if len(tuned.knobs) > 1 else ''}"
    searched = (
        f"searched: {tuned.tried} candidates within the bounds of {opened}, of which {tuned.kept} keep every guard"
    )
    lines.append(folded(searched, width))
    lines.append(f"replays: {tuned.replays:,} made now, {tuned.seconds:,.0f} CPU-seconds; the others were stored")
    lines += [folded(f"trust: {each}", width) for each in trust]
    return "\n".join(line.rstrip() for line in lines)


def headline(tuned: TunedSettings) -> str:
    """The verdict in one sentence."""
    if tuned.later is None:
        return f"{KEEP}: {tuned.word} (of {tuned.tried} within the bounds)"
    wait, slowdown = (_change(tuned.later, name) for name in ("wait", "bounded_slowdown"))
    before, after = (f"{sum(runs) / len(runs) if runs else 0:,.1f}" for runs in tuned.waits_h)
    on_later = (
        f"mean wait {before} -> {after} h ({wait}), bounded slowdown {slowdown} on the later {tuned.later_jobs:,} jobs"
    )
    if tuned.word == DEPENDS:
        return f"{KEEP}: what was best on the first half {tuned.word}: {on_later}, {_paced_change(tuned)} where users keep their pace"
    if tuned.is_better:
        count = len(tuned.edits)
        return f"change {count} line{'s' if count > 1 else ''}: {tuned.verdict}: {on_later}"
    return f"{KEEP}: what was best on the first half is not confirmed ({tuned.verdict}): {on_later}"


def _change(compared: AgainstBase, name: str) -> str:
    if compared.jobs_lost:
        return "not known"
    return f"{100 * (compared.mean_of(name) - 1):+.0f} %"


def _paced_change(tuned: TunedSettings) -> str:
    """Of the mean wait where users keep their pace."""
    assert tuned.paced is not None
    return "not known" if tuned.paced.change_share is None else f"{100 * tuned.paced.change_share:+.0f} %"


def _rows(tuned: TunedSettings) -> list[list[str]]:
    rows = []
    for name, compared in (("first half, searched", tuned.first), ("later half, confirmed", tuned.later)):
        if compared is not None:
            kept = "kept" if compared.keeps else f"{len(compared.broken)} broken"
            rows.append([name, _change(compared, "bounded_slowdown"), _change(compared, "wait"), kept])
    if tuned.paced is not None:
        slowdown = tuned.paced.judgement.verdict.ratios[0].bounded_slowdown
        rows.append(["later half, keep pace", f"{100 * (slowdown - 1):+.0f} %", _paced_change(tuned), ""])
    if tuned.random is not None:
        spreads = [tuned.random.spread(name) for name in ("bounded_slowdown", "wait")]
        shown = [f"{100 * (low - 1):+.0f} to {100 * (high - 1):+.0f} %" for low, _, high in spreads]
        rows.append(["random settings, 5 to 95 %", *shown, f"{tuned.random.keep_guards:.0%} kept"])
    return rows
