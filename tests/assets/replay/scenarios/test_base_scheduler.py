"""What answers are compared with: a good fit, else what somebody names."""

from __future__ import annotations

from pathlib import Path

from assets.common.storage import open_warehouse
from assets.replay.scenarios.base_configuration import base_configuration
from tests.assets.replay.scenarios.examples import write_grade


def test_catalogue_and_header_name_the_base(busy: Path) -> None:
    with open_warehouse().write() as connection:
        connection.execute("UPDATE raw.log_headers SET value = 'uses the EASY scheduler'")
    write_grade("D")
    base = base_configuration("mine", is_log=False)
    assert (base.settings.policy, base.settings.backfill) == ("FCFS", "easy")
    assert base.why.startswith("the scheduler that the log's header names; the best fit, ")
    log = busy / "plan.swf"
    log.write_text("; Note: conservative backfilling\n" + (busy / "mine.swf").read_text())
    assert base_configuration(str(log), is_log=True).settings.backfill == "conservative"
    with (busy / "home" / "sources.toml").open("a") as catalogue:
        catalogue.write('scheduler = { policy = "SJF", backfill = "none" }\n')
    named = base_configuration("mine", is_log=False)
    assert (named.settings.policy, named.settings.backfill) == ("SJF", "none")
    assert named.why == "the scheduler that the catalogue names"
    write_grade("A")
    assert base_configuration("mine", is_log=False).settings.policy == "SAF"
