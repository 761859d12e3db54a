"""Tests of tracehouse/cli/commands: run, report.

`tracehouse run` and `report`: what they refuse, and a source that fails beside one that does not.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.pipelines.command_line import call, fail, succeed, use_home
from tests.tiny import SOURCE, Home, swf_line
from tracehouse.cli.commands.run import _first_looks
from traces.catalogue.catalogue import load_catalogue, local_catalogue_path


def test_run_with_faults(catalogue: Path, tmp_path: Path) -> None:
    assert "unknown source 'nosuch'; known sources: birch, larch." in fail("run", "nosuch")
    assert "'nothing' is not one of" in fail("run", "--job", "nothing")
    assert "none.yaml' does not exist" in fail("run", "--config", tmp_path / "none.yaml")
    config = tmp_path / "config.yaml"
    for text, says in (("a: [1\n", "not valid YAML"), ("- 1\n", "expected a mapping")):
        config.write_text(text)
        assert re.search(rf"{re.escape(str(config))}: {says}", fail("run", "birch", "--config", config))


def test_run_with_a_configuration_that_dagster_refuses_ends_in_a_message(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("ops: {no_such_step: {config: {}}}\n")
    assert "no_such_step" in fail(
        "run", "birch", "--job", "ingest", "--config", tmp_path / "config.yaml"
    )  # fmt: skip


def test_a_source_that_fails_does_not_keep_the_others_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    with (home.folder / "sources.toml").open("a") as catalogue:
        catalogue.write('\n[sources.aaa-broken]\nformat = "swf"\npath = "missing.swf"\n')
    use_home(monkeypatch, home.folder)
    done = call("run", "aaa-broken", SOURCE, "--job", "ingest")
    assert done.exit_code != 0
    assert "missing.swf: no such log file" in done.stderr
    assert home.tables()["core.jobs"]["source"].unique().to_list() == [SOURCE]


def test_a_source_that_was_only_read_has_a_report(log: Path) -> None:
    """It says what happened, and that nothing was evaluated."""
    succeed("ingest", log, "--name", "mine")
    done = call("report")
    assert done.exit_code == 0, done.stderr
    assert "No recommendation yet." in done.stdout and "No scheduler was evaluated on this log yet" in done.stdout
    assert "mine.html" in done.stdout and "_index.html" in done.stdout
    part = succeed("report", "mine", "--from", "0", "--to", "86400")
    assert "mine@from-0_to-86400.html" in part and "No recommendation yet." in part
    assert "no job was submitted in this time" in fail("report", "mine", "--from", "2099-01-01")
    assert fail("report", "birch") == "source 'birch' has no jobs yet: `tracehouse run birch`\n"
    local_catalogue_path().write_text("")
    said = call("report").stderr
    assert "left out: mine, which is in no catalogue. Forget its jobs with `tracehouse remove mine`" in said
    assert "no source of the catalogue has jobs yet" in said
    succeed("remove", "mine", "--yes")
    assert "left out" not in call("report").stderr


def test_report_before_there_is_a_warehouse(catalogue: Path) -> None:
    assert "no warehouse yet" in fail("report")


def test_the_job_of_generated_jobs_needs_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    use_home(monkeypatch, home.folder)
    assert "is of no source: leave SOURCE out" in fail("run", SOURCE, "--job", "topology")
    config = tmp_path / "few.yaml"
    few = "{trees: [code], methods: [free], epochs: 1, windows: 3, jobs: 20}"
    config.write_text(f"ops: {{experiments__topology: {{config: {few}}}}}\n")
    done = call("run", "--job", "topology", "--config", config)
    assert done.exit_code == 0 and "experiments/topology" in done.stderr
    made = home.tables()["experiments.topology"]
    assert made.height == 5 and set(made["method"]) == {"sequential", "free", "ideal"}
    config.write_text("ops: {experiments__topology: {config: {trees: [torus]}}}\n")
    assert "torus" in fail("run", "--job", "topology", "--config", config)


def test_a_run_ends_without_noise_of_libraries(tmp_path: Path) -> None:
    """DuckDB prints pages about leaks where Python keeps one of its types to the end of a process, so this needs a process."""
    home = Home(tmp_path)
    code = f"from tracehouse.cli.main import main; main(['run', '{SOURCE}', '--select', '+core/jobs'])"
    environment = os.environ | {"TRACEHOUSE_HOME": str(home.folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    assert done.returncode == 0 and [line.split()[0] for line in lines] == [f"{SOURCE}:", "raw/log", "core/jobs"], lines


@pytest.mark.parametrize("adoptable", [0, 2])
def test_a_first_look_adopts_what_the_cluster_can_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, adoptable: int
) -> None:
    """It ended where the log of a bundled site shows an order alone, beside the site's own scheduler."""
    use_home(monkeypatch, tmp_path).write_text(
        '[sources.mine]\nformat = "slurm"\ngenerator = { site = "larch", seed = 1 }\n'
    )
    adopted: list[str] = []
    monkeypatch.setattr("pipelines.running.run_job", lambda job, names: {})
    monkeypatch.setattr(
        "tracehouse.identifying.log_rules.identify_cluster", lambda name: SimpleNamespace(adoptable=adoptable)
    )
    monkeypatch.setattr("tracehouse.identifying.log_rules.adopt_rules", adopted.append)
    monkeypatch.setattr("assets.pages.render.first_answer", lambda warehouse, name: [])
    assert _first_looks(load_catalogue(), ["mine"], False) == {}
    assert adopted == ["mine"] * bool(adoptable)


def test_a_run_that_grades_says_the_grade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, it printed how long that took."""
    use_home(monkeypatch, tmp_path / "home")
    log = tmp_path / "mine.swf"
    log.write_text(swf_line(1, 0, 5, 60, 4) + swf_line(2, 9, 5, 60, 4))
    succeed("ingest", log, "--name", "mine")
    assert "mine: no grade: " in call("run", "mine", "--select", "replay/fidelity").stderr
    assert "grade" not in call("run", "mine", "--select", "marts/operations").stderr
