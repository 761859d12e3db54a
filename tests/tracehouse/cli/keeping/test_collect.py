"""The script that the command prints is the one that tests/traces/collector runs."""

from click.testing import CliRunner

from tracehouse.cli.keeping.collect import collect
from traces.collector.script import collector_script


def test_the_script_is_printed_as_it_is() -> None:
    result = CliRunner().invoke(collect)
    assert result.exit_code == 0
    assert result.output == collector_script() and result.output.startswith("#!/bin/sh\n")
