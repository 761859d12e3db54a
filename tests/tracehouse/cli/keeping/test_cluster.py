"""`tracehouse cluster import` lists what became of each key, and `show` prints what the file has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.traces.slurm.configuration.slurm_configurations import written
from tracehouse.cli.keeping.cluster import cluster


def test_import_and_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    site = tmp_path / "site"
    site.mkdir()
    written(site)
    runner = CliRunner()
    assert runner.invoke(cluster, ["show"]).output == "no clusters yet\n"
    done = runner.invoke(cluster, ["import", str(site), "--name", "mine"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith(
        f"wrote {tmp_path / 'clusters' / 'mine.toml'}\n7 nodes with 192 CPUs and 4 GPUs, 3 partitions"
    )
    assert "slurm.conf:15: ColourOfJobs=blue: no table of ours has this key" in done.output
    assert (
        "slurm.conf:14: Prolog=/etc/slurm/prolog.sh: a job would start later by the time of this program" in done.output
    )
    shown = runner.invoke(cluster, ["show", "mine"])
    assert shown.exit_code == 0 and "n[01-04]" in shown.output and "ColourOfJobs" in shown.output
    described = json.loads(runner.invoke(cluster, ["show", "mine", "--json"]).output)
    assert described["description"]["nodes"][0]["name"] == "n01"
    again = runner.invoke(cluster, ["import", str(site), "--name", "mine"])
    assert again.exit_code == 1 and "give --replace to write it again" in again.output
    assert json.loads(runner.invoke(cluster, ["show", "--json"]).output) == ["mine"]
