"""Tests of assets/replaying/scenarios: base_configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from assets.replaying.scenarios.base_configuration import NOT_IN_LOG, base_configuration
from tests.assets.replaying.scenarios.examples import write_grade

# base_configuration: What scenarios are compared with, and why.


def test_a_grade_gives_the_scheduler_that_fits_best(busy: Path) -> None:
    write_grade("B", "SAF", 12)
    base = base_configuration("mine")
    assert (base.settings.policy, base.settings.backfill, base.settings.estimates, base.procs) == (
        "SAF",
        "none",
        "requested",
        12,
    )
    assert base.why == "the scheduler that fits the log best, with grade B"
    assert base.is_trusted and base.settings.drop_wider
    assert [said[:8] for said in base.trust] == ["grade B:"]


def test_a_cluster_that_grew_is_replayed_as_it_grew(busy: Path) -> None:
    write_grade("B", size_over_time="12 until 86400, then 16")
    base = base_configuration("mine")
    assert base.procs == 16
    assert [(each.start, each.end, each.procs) for each in base.settings.outages] == [(0, 86_400, 4)]
    assert "on a cluster whose size changes" in base.trust[0]


def test_queues_that_own_processors_own_them_in_the_base(busy: Path) -> None:
    write_grade("A", partitions='{"7": 4}')
    base = base_configuration("mine")
    assert base.settings.partitions == {"7": 4} and not base.settings.outages
    assert "SAF with backfilling none, with queues that own processors (7=4))" in base.trust[0]


def test_a_fit_that_gives_no_figures_is_no_base(busy: Path) -> None:
    before = base_configuration("mine")
    write_grade("D", "FCFS")
    with open_warehouse().write() as connection:
        connection.execute("UPDATE replay.configurations SET backfill = 'easy'")
    base = base_configuration("mine")
    assert base.settings == before.settings and base.grade is not None and not base.has_figures
    assert base.why.endswith("and none that was tried gives the log back")
    assert "in the replay of FCFS with backfilling easy, since no order gives it back" in base.trust[0]
    write_grade("D")  # by an earlier release, of a fit
    assert base_configuration("mine").settings == before.settings and not base_configuration("mine").has_figures


@pytest.mark.parametrize("grade", ["C"])
def test_a_poor_fit_is_the_base_too(busy: Path, grade: str) -> None:
    """Else the grade would be of another scheduler than the answer."""
    write_grade(grade)
    base = base_configuration("mine")
    assert (base.settings.policy, base.settings.backfill, base.procs) == ("SAF", "none", 16) and not base.is_trusted
    assert base.why == f"the scheduler that fits the log best, with grade {grade}"
    assert base.trust[0].startswith(f"grade {grade}: ") and base.trust[1] == NOT_IN_LOG
    assert base.has_figures == (grade == "C")


def test_without_a_grade_it_is_fcfs_with_easy_and_says_why(busy: Path) -> None:
    ungraded = base_configuration("mine")
    assert ungraded.trust[0] == ("no grade: `tracehouse run mine` gives it one")
    write_grade(None)
    refused = base_configuration("mine")
    assert refused.trust[0] == "no grade: hardly anybody waited"
    log = base_configuration("mine.swf")
    assert log.trust[0].startswith("no grade: `tracehouse ingest mine.swf --name NAME`")
    absent = base_configuration("birch")
    assert absent.trust[0].startswith("no grade: the source is not in the warehouse; `tracehouse run birch`")
    assert absent.settings.policy == "pbs"  # which its cluster describes
    for base in (ungraded, refused, log):
        assert (base.settings.policy, base.settings.backfill, base.settings.estimates) == ("FCFS", "easy", "requested")
        assert base.procs is None and base.trust[-1] == NOT_IN_LOG
        fitted = "the log has no waits to fit one to" if base is refused else "no order was fitted to the log yet"
        assert base.why == f"what most centres run, since neither catalogue nor header name a scheduler, and {fitted}"


# The site of a source: what somebody names, else what fits.


def test_catalogue_and_header_name_the_base(busy: Path) -> None:
    with open_warehouse().write() as connection:
        connection.execute("UPDATE raw.log_headers SET value = 'uses the EASY scheduler'")
    base = base_configuration("mine")
    assert (base.settings.policy, base.settings.backfill) == ("FCFS", "easy")
    assert base.why == "the scheduler that the log's header names"
    log = busy / "plan.swf"
    log.write_text("; Note: conservative backfilling\n" + (busy / "mine.swf").read_text())
    assert base_configuration(str(log)).settings.backfill == "conservative"
    write_grade("A")
    assert base_configuration("mine").settings.policy == "SAF"
    with (busy / "home" / "sources.toml").open("a") as catalogue:
        catalogue.write('scheduler = { policy = "SJF", backfill = "none" }\n')
    named = base_configuration("mine")
    assert (named.settings.policy, named.settings.backfill) == ("SJF", "none")
    assert named.why == "the scheduler that the catalogue names"
    assert named.trust[0].startswith("no grade: that of the source is of another scheduler: `tracehouse run mine --sel")
    write_grade("B", "SJF", procs=12)
    fitted = base_configuration("mine")
    assert (fitted.settings.policy, fitted.why, fitted.procs) == ("SJF", named.why, 12) and fitted.is_trusted
