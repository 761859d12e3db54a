"""What to know of each scenario, below the table: why it failed or changes nothing, who pays, and which jobs are left out somewhere."""

from __future__ import annotations

from typing import Any

from assets.replaying.scenarios.left_out import freed_words
from assets.replaying.scenarios.paced import depends_words
from assets.replaying.scenarios.unchanged import unchanged_words
from models.judging.verdict import DEPENDS, HARMS, TRADES, payers_text, plain_word

MOST_PAYERS = 3
"""Measures that a remark names."""


def scenario_remarks(row: dict[str, Any], has_figures: bool) -> list[str]:
    """What to know of a scenario, of a row of results with the columns of ROW_SCHEMA, in sentences. has_figures: whether the grade allows
    them."""
    if row["failed_because"] is not None:
        return [f"failed: {row['failed_because']}"]
    said = []
    if row["no_verdict_because"] is not None:
        said.append(f"no verdict: {row['no_verdict_because']}")
    if row["verdict"] == DEPENDS:
        said.append(f"it depends on users: {depends_words(row['times_verdict'], row['pace_verdict'])}")
    if row["pace_never_submitted"]:
        said.append(
            f"{_jobs(row['pace_never_submitted'])} never submitted where users keep their pace, since they follow one that never starts"
        )
    for kind in ("", "pace_"):
        if count := row[f"{kind}jobs_that_gave_up"]:
            where = " where users keep their pace" if kind else ""
            said.append(
                f"{_jobs(count)} of {row[f'{kind}core_hours_given_up']:,} core-hours {'is' if count == 1 else 'are'} cancelled{where}, "
                f"since {'it waits' if count == 1 else 'they wait'} for too long: no wait counts {'it' if count == 1 else 'them'}"
            )
    if row["not_paced_because"] is not None:
        said.append(f"not with users who keep their pace: {row['not_paced_because']}")
    if row["unchanged_because"] is not None:
        said.append(unchanged_words(row["unchanged_because"]))
    if row["verdict"] is not None and plain_word(row["verdict"]) in (TRADES, HARMS):
        said.append(f"who pays: {payers_text((row['who_pays'] or '').split('; '), MOST_PAYERS)}")
    if row["freed_jobs"]:
        count, waits = row["freed_jobs"], f" and wait {row['freed_wait_h']:,.2f} h on average" if has_figures else ""
        said.append(freed_words(count, waits))
    if row["jobs_wider_than_cluster"]:
        count = row["jobs_wider_than_cluster"]
        said.append(f"{_jobs(count)} wider than {row['procs']:,} processors {'is' if count == 1 else 'are'} left out")
    without = []
    if row["base_only_jobs"]:
        share = 100 * row["base_only_work_share"]
        without.append(
            f"{_jobs(row['base_only_jobs'])} of the base ({share:.{0 if share >= 10 else 1}f} % of its work)"
        )
    if row["scenario_only_jobs"]:
        without.append(f"{_jobs(row['scenario_only_jobs'])} of its own")
    if without:
        waits = (
            f": mean wait {row['paired_wait_h']:,.2f} h instead of {row['paired_base_wait_h']:,.2f} h"
            if has_figures
            else ""
        )
        said.append(
            f"* over the {_jobs(row['paired_jobs'])} in both, without {' and '.join(without)}{waits}. "
            f"Who is left out makes nobody wait"
        )
    return said


def _jobs(count: int) -> str:
    return f"{count:,} {'job' if count == 1 else 'jobs'}"
