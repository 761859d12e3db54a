"""Faults above the tables, and texts that are no TOML, have file, line and remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.traces.catalogue.catalogues import GOOD, fault
from traces.catalogue.checking import Checker

TOP_FAULTS = {
    "unknown key": (
        'timezone = "UTC"\n',
        "unknown key 'timezone': expected one of nightly_cron, readers, sources, time_zone",
    ),
    "time zone": ('time_zone = "Berlin"\n', "unknown time zone 'Berlin': expected an IANA name"),
    "time zone is a number": ("time_zone = 1\n", "unknown time zone 1"),
    "cron of words": ('nightly_cron = "at three"\n', "five cron fields"),
    "cron with seconds": ('nightly_cron = "0 0 3 * * *"\n', "five cron fields"),
    "cron nickname": ('nightly_cron = "@daily"\n', "five cron fields"),
    "cron is a number": ("nightly_cron = 3\n", "nightly_cron must be a str"),
    "cron of five words": ('nightly_cron = "every night at three please"\n', "cron"),
    "cron out of range": ('nightly_cron = "99 99 * * *"\n', "cron"),
    "empty cron": ('nightly_cron = ""\n', "cron"),
    "sources is a number": ("sources = 3\n", r"expected tables like \[sources.NAME\]"),
}


@pytest.mark.parametrize(("line", "says"), TOP_FAULTS.values(), ids=TOP_FAULTS)
def test_a_fault_above_the_sources_names_file_line_and_remedy(catalogue: Path, line: str, says: str) -> None:
    message = fault(catalogue, f"# a comment\n\n{line}")
    assert message.startswith(f"{catalogue}:3:"), message
    assert re.search(says, message), message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[sources.bad]\nformat = swf\n", 8),
        ('[sources.bad\nformat = "swf"\n', 7),
        ('[sources.bad]\nformat = "swf"\nformat = "pbs"\n', 9),
        ('[sources.good]\nformat = "swf"\n', 7),
        ('[sources.bad]\nformat = "swf\n', 8),
        ("just a sentence\n", 7),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(catalogue: Path, text: str, line: int) -> None:
    message = fault(catalogue, f"{GOOD}\n{text}")
    assert message.startswith(str(catalogue)) and "not valid TOML" in message
    assert re.search(rf"line {line}\b|:{line}:", message), message


def test_what_is_no_text_is_told(catalogue: Path) -> None:
    assert fault(catalogue, b"\xff\xfe\x00").startswith(f"{catalogue}: cannot be read as a UTF-8 text file")


def test_lines_of_keys_and_tables() -> None:
    lines = Checker(Path("x.toml"), "a = 1\n\n[sources.one]\nb = [\n  1,\n]\nc = { d = 2 }\n").lines
    assert lines == {
        ("a",): 1,
        ("sources",): 3,
        ("sources", "one"): 3,
        ("sources", "one", "b"): 4,
        ("sources", "one", "c"): 7,
        ("sources", "one", "c", "d"): 7,
    }
